"""Requests that wait until an upstream has room: order, bounds, and when none may."""

from flare.bytes.never import NEVER
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import (
    MemberId,
    UpstreamGroup,
    Waiter,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.upstreams import fail_at, group_of, quiet_config


def _full_group(
    count: Int, *, queue_max: Int = 8, timeout_ms: Int = 1_000
) raises -> UpstreamGroup:
    """So many upstreams, each with the one request that it may have."""
    var config = quiet_config()
    config.max_requests = 1
    config.queue_timeout_ms = timeout_ms
    config.max_queued_requests = queue_max
    config.failures_to_open = 1
    var group = group_of(config^, List[Int](length=count, fill=1))
    for _ in range(count):
        assert_true(group.choose(0, 0, 0).is_member())
    assert_true(group.choose(0, 0, 0).refusal == Outcome.FULL)
    return group^


def _member(group: UpstreamGroup, slot: Int) -> MemberId:
    return MemberId(UInt16(slot), False, UInt32(slot + 1))


def _wait(mut group: UpstreamGroup, token: Int) -> Bool:
    return group.wait(Waiter(0, UInt64(token), 0), 0)


def _placed(mut group: UpstreamGroup) -> String:
    """Who has left the queue, and to which upstream."""
    var text = String()
    for placed in group.take_placed():
        text.write(placed.waiter.token, ":")
        if placed.choice.is_member():
            text.write(placed.choice.member.slot, " ")
        else:
            text.write(placed.choice.refusal.name(), " ")
    return text^


def test_first_come_first_served() raises:
    var group = _full_group(2)
    for token in range(1, 4):
        assert_true(_wait(group, token))
    assert_equal(_placed(group), "")
    group.finish(_member(group, 1), Outcome.answered(200), 0)
    assert_equal(_placed(group), "1:1 ")
    # Nobody overtakes those that wait.
    assert_true(group.choose(0, 0, 0).refusal == Outcome.FULL)
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    group.finish(_member(group, 1), Outcome.answered(200), 0)
    assert_equal(_placed(group), "2:0 3:1 ")
    assert_equal(group.waiting_count(), 0)
    # What was placed is counted where it goes.
    assert_equal(group.figures(0)[0].active_count, 1)
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    assert_true(group.choose(0, 0, 0).is_member())


def test_who_leaves_is_taken_out() raises:
    var group = _full_group(1)
    for token in range(1, 4):
        assert_true(_wait(group, token))
    assert_true(group.stop_waiting(0, 1))
    assert_false(group.stop_waiting(0, 1))
    assert_false(group.stop_waiting(1, 2))
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    assert_equal(_placed(group), "2:0 ")
    assert_true(group.wait(Waiter(1, 2, 0), 0))
    group.stop_line(0)
    assert_equal(group.waiting_count(), 1)
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    assert_equal(_placed(group), "2:0 ")


def test_bounds() raises:
    var group = _full_group(1, queue_max=2)
    assert_true(_wait(group, 1) and _wait(group, 2))
    assert_false(_wait(group, 3))
    assert_true(group.stop_waiting(0, 1))
    assert_true(_wait(group, 3))
    group = _full_group(1, timeout_ms=0)
    assert_false(_wait(group, 1))
    # Room that has come meanwhile is taken.
    group = _full_group(1)
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    assert_true(_wait(group, 1))
    assert_equal(_placed(group), "1:0 ")


def test_nobody_waits_for_what_does_not_work() raises:
    # Its circuit opens: it is spared at once.
    var group = _full_group(1)
    assert_true(_wait(group, 1))
    group.finish(_member(group, 0), Outcome.RESET, 0)
    assert_equal(_placed(group), "1:full ")
    assert_false(_wait(group, 2))
    # It is the last to be drained.
    group = _full_group(2)
    assert_true(_wait(group, 1))
    assert_true(group.drain("a", now_ms=0))
    group.finish(_member(group, 0), Outcome.answered(200), 0)
    assert_equal(_placed(group), "")
    # At once, not when its last request has ended.
    assert_true(group.drain("b", now_ms=0))
    assert_equal(_placed(group), "1:none_available ")
    group.finish(_member(group, 1), Outcome.answered(200), 0)
    assert_equal(_placed(group), "")


def test_an_upstream_that_is_added_takes_them() raises:
    var group = _full_group(1)
    for token in range(1, 3):
        assert_true(_wait(group, token))
    _ = group.add("b", now_ms=0)
    assert_equal(_placed(group), "1:1 ")


def test_a_removal_moves_those_that_wait() raises:
    for removes in [False, True]:
        var group = _full_group(2)
        assert_true(_wait(group, 1) and _wait(group, 2))
        _ = _leave(group, "a", removes)
        assert_equal(_placed(group), "")
        group.finish(_member(group, 1), Outcome.answered(200), 0)
        assert_equal(_placed(group), "1:1 ")
        _ = _leave(group, "b", removes)
        assert_equal(_placed(group), "2:none_available ")
        assert_equal(group.waiting_count(), 0)
        assert_false(_wait(group, 3))


def test_one_that_leaves_makes_room_at_one_that_is_ejected() raises:
    """Where none works, all are tried."""
    for removes in [False, True]:
        var config = quiet_config()
        config.max_requests = 1
        config.failures_to_eject = 1
        var group = group_of(config^, [1, 1])
        fail_at(group, 1, 1)
        assert_equal(Int(group.choose(0, 0, 0).member.slot), 0)
        assert_true(_wait(group, 1))
        assert_true(_leave(group, "a", removes))
        assert_equal(_placed(group), "1:1 ")


def _leave(
    mut group: UpstreamGroup, address: String, removes: Bool
) raises -> Bool:
    if removes:
        return group.remove(address, now_ms=0)
    return group.drain(address, now_ms=0)


def _group_with_one_left_out(opens: Bool) raises -> UpstreamGroup:
    """Two upstreams: one has the one request that it may have, the other one has
    failed, and is asked again at 500."""
    var config = quiet_config()
    config.max_requests = 1
    if opens:
        config.failures_to_open = 1
        config.open_ms = 500
    else:
        config.failures_to_eject = 1
        config.ejection_ms = 500
    var group = group_of(config^, [1, 1])
    fail_at(group, 1, 1)
    assert_equal(Int(group.choose(0, 0, 0).member.slot), 0)
    return group^


def test_time_alone_makes_room() raises:
    for opens in [False, True]:
        var group = _group_with_one_left_out(opens)
        assert_equal(group.next_place_ms(0), NEVER)
        assert_equal(group.first_line(), -1)
        assert_true(group.wait(Waiter(3, 1, 0), 0))
        assert_true(group.wait(Waiter(4, 2, 0), 0))
        assert_equal(group.first_line(), 3)
        assert_equal(group.next_place_ms(0), 500)
        assert_equal(group.next_place_ms(499), 500)
        group.place_waiting(499)
        assert_equal(_placed(group), "")
        group.place_waiting(500)
        assert_equal(_placed(group), "1:1 ")
        # There is nothing more that time will do.
        assert_equal(group.first_line(), 4)
        assert_equal(group.next_place_ms(500), NEVER)


def test_time_makes_no_room_at_one_that_leaves() raises:
    var group = _group_with_one_left_out(False)
    assert_true(_wait(group, 1))
    assert_true(group.drain("b", now_ms=0))
    assert_equal(group.next_place_ms(0), NEVER)
