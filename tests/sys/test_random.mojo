"""Random octets: all of the room is filled, and never twice the same."""

from flare.sys.random import fill_random
from std.testing import assert_equal, assert_true


def test_every_part_of_the_room_is_filled() raises:
    for length in [0, 1, 16, 255, 256, 257, 1_000]:
        # An octet that is 0 each time in 20 was not filled.
        var seen = List[UInt8](length=length, fill=0)
        for _ in range(20):
            var room = List[UInt8](length=length, fill=0)
            fill_random(room)
            for index in range(length):
                seen[index] |= room[index]
        for octet in seen:
            assert_true(octet != 0)


def test_two_fillings_differ() raises:
    var first = List[UInt8](length=16, fill=0)
    var second = List[UInt8](length=16, fill=0)
    fill_random(first)
    fill_random(second)
    assert_true(first != second)
    assert_equal(len(first), 16)
