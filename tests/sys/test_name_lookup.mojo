"""Tests of the system's resolver; names that need no network."""

from flare.bytes.checked import *
from flare.sys.clock import Deadline
from flare.sys.sockets.name_lookup import (
    ADDRESS_COUNT_MAX,
    LOOKUP_COUNT_MAX,
    Lookup,
    LookupPlace,
    LookupStatus,
    look_up,
    look_up_until,
)
from flare.sys.sockets.sock_addr import AF_INET, AF_INET6
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.lookup_places import all_lookup_places


def test_look_up_a_text_address() raises:
    var lookup = look_up("127.0.0.1", 0)
    assert_true(lookup.status == LookupStatus.FOUND)
    assert_equal(len(lookup.addresses), 1)
    assert_equal(lookup.addresses.at(0).family(), AF_INET)
    assert_equal(lookup.addresses.at(0).inet_octets()[3], 1)
    assert_equal(Int(lookup.addresses.at(0).length), 16)
    lookup = look_up("::1", AF_INET6)
    assert_equal(lookup.addresses.at(0).family(), AF_INET6)
    assert_equal(lookup.addresses.at(0).inet6_octets()[15], 1)


def test_look_up_of_the_other_family_finds_nothing() raises:
    var lookup = look_up("127.0.0.1", AF_INET6)
    assert_true(lookup.status == LookupStatus.NOT_FOUND)
    assert_true(lookup.code != 0)
    assert_equal(len(lookup.addresses), 0)


def test_look_up_on_a_thread() raises:
    var lookup = look_up_until("localhost", AF_INET, Deadline(10_000))
    assert_true(lookup.status == LookupStatus.FOUND)
    assert_equal(lookup.addresses.at(0).inet_octets()[0], 127)


def test_look_up_that_comes_too_late_is_left_behind() raises:
    # No time at all: whether the thread is quicker is its own affair, but
    # neither outcome may crash, hang or give anything but these two.
    for _ in range(50):
        var lookup = look_up_until("localhost", AF_INET, Deadline(0))
        var is_late = lookup.status == LookupStatus.TIMED_OUT
        assert_true(is_late or lookup.status == LookupStatus.FOUND)
        assert_equal(len(lookup.addresses) == 0, is_late)


def test_each_family_of_a_long_answer_has_its_room() raises:
    """RFC 8305 section 4: both families are tried in turn, so hundreds of
    addresses of one leave those of the other in."""
    var lookup = Lookup(LookupStatus.FOUND)
    var first = look_up("::1", AF_INET6)
    var second = look_up("127.0.0.1", AF_INET)
    for _ in range(300):
        lookup.add(first.addresses.at(0).copy())
    lookup.add(second.addresses.at(0).copy())
    assert_equal(len(lookup.addresses), ADDRESS_COUNT_MAX + 1)
    assert_equal(lookup.addresses.at(ADDRESS_COUNT_MAX).family(), AF_INET)


def test_a_process_asks_for_so_many_names_at_once() raises:
    """A resolver that hangs holds a thread for each, which nothing can end."""
    var places = all_lookup_places()
    assert_false(LookupPlace().is_there)
    for _ in range(3):
        var lookup = look_up_until("localhost", AF_INET, Deadline(10_000))
        assert_true(lookup.status == LookupStatus.CROWDED)
        assert_equal(len(lookup.addresses), 0)
    places.clear()
    var lookup = look_up_until("localhost", AF_INET, Deadline(10_000))
    assert_true(lookup.status == LookupStatus.FOUND)
    # One after the other needs one place, which the thread gives back.
    for _ in range(LOOKUP_COUNT_MAX + 8):
        lookup = look_up_until("localhost", AF_INET, Deadline(10_000))
        assert_true(lookup.status == LookupStatus.FOUND)
