"""Random octets: all of the room is filled, and never twice the same."""

from flare.bytes.checked import *
from flare.sys.clock import thread_cpu_ns
from flare.sys.random import KeyedHasher, fill_random, process_key
from std.hash import Hasher
from tests.support.assertions import assert_equal, assert_true


def test_every_part_of_the_room_is_filled() raises:
    for length in [0, 1, 16, 255, 256, 257, 1_000]:
        # An octet that is 0 each time in 20 was not filled.
        var seen = List[UInt8](length=length, fill=0)
        for _ in range(20):
            var room = List[UInt8](length=length, fill=0)
            fill_random(room)
            for index in range(length):
                seen.at(index) |= room.at(index)
        for octet in seen:
            assert_true(octet != 0)


def test_two_fillings_differ() raises:
    var first = List[UInt8](length=16, fill=0)
    var second = List[UInt8](length=16, fill=0)
    fill_random(first)
    fill_random(second)
    assert_true(first != second)
    assert_equal(len(first), 16)


comptime _COUNT = 20_000
comptime _BITS = 11


def _meeting() -> List[String]:
    """Makes names that meet in a table with the hash that anybody can compute."""
    var names = List[String]()
    var number = 0
    while len(names) < _COUNT:
        var name = String(number)
        if hash(name) & ((1 << _BITS) - 1) == 5:
            names.append(name)
        number += 1
    return names^


def _most_in_a_place[
    H: Defaultable & Hasher & Deinitable
](names: List[String]) -> Int:
    """Counts the names in the fullest of 2,048 places: what each of them has to
    be held against."""
    var counts = List[Int](length=1 << _BITS, fill=0)
    var most = 0
    for name in names:
        var place = Int(hash[H](name) & ((1 << _BITS) - 1))
        counts.at(place) += 1
        most = max(most, counts.at(place))
    return most


def _cost_ns(names: List[String]) raises -> Int:
    var began_ns = thread_cpu_ns()
    var table = Dict[String, Int, KeyedHasher]()
    for name in names:
        table[name] = 1
    assert_equal(len(table), len(names))
    return thread_cpu_ns() - began_ns


def test_names_that_were_made_to_meet_do_not() raises:
    var names = _meeting()
    # The mean is 9.8.
    var most = _most_in_a_place[KeyedHasher](names)
    assert_true(most < 50, String(most))
    # Without a key they do, or this test shows nothing.
    var unkeyed = _most_in_a_place[type_of(Dict[String, Int]()).H](names)
    assert_equal(unkeyed, _COUNT)


def test_cost_is_that_of_other_names() raises:
    var others = List[String]()
    for number in range(_COUNT):
        others.append(String(number * 1_000))
    _ = _cost_ns(others)
    var usual_ns = _cost_ns(others)
    var made_ns = _cost_ns(_meeting())
    assert_true(made_ns < 10 * usual_ns, String(made_ns, " ", usual_ns))


def test_equal_keys_have_equal_hashes() raises:
    assert_equal(hash[KeyedHasher](String("a")), hash[KeyedHasher](String("a")))
    assert_true(
        hash[KeyedHasher](String("a")) != hash[KeyedHasher](String("b"))
    )
    assert_equal(hash[KeyedHasher](UInt64(7)), hash[KeyedHasher](UInt64(7)))
    assert_true(hash[KeyedHasher](UInt64(7)) != hash[KeyedHasher](UInt64(8)))
    var table = Dict[UInt8, String, KeyedHasher]()
    for number in range(256):
        table[UInt8(number)] = String(number)
    for number in range(256):
        assert_equal(table[UInt8(number)], String(number))


def test_the_key_stays() raises:
    var key = process_key()
    assert_equal(process_key().low, key.low)
    assert_equal(process_key().high, key.high)
    assert_true(key.low != 0 or key.high != 0)
