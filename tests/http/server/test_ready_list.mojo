"""Who gave way, and when it has its next turn."""

from flare.http.server.connection_table import ReadyList
from tests.support.assertions import assert_equal


def test_who_gives_way_goes_on_in_the_next_round() raises:
    var ready = ReadyList()
    ready.add(1)
    ready.begin_round()
    ready.add(2)
    assert_equal(len(ready), 2)
    assert_equal(ready.take(), [UInt64(1)])
    ready.add(3)
    assert_equal(len(ready.take()), 0)
    assert_equal(len(ready), 2)
    ready.begin_round()
    assert_equal(ready.take(), [UInt64(2), UInt64(3)])
    ready.begin_round()
    assert_equal(len(ready), 0)


def test_nobody_is_lost_if_a_round_takes_none() raises:
    var ready = ReadyList()
    ready.add(1)
    ready.begin_round()
    ready.add(2)
    ready.begin_round()
    assert_equal(ready.take(), [UInt64(1), UInt64(2)])
