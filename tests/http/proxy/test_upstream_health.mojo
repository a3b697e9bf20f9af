"""When an upstream is left out, and comes back: ejections, circuits, checks."""

from flare.bytes.checked import *
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import Outcome
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.upstreams import fail_at, group_of, next_slot, quiet_config


def test_failures_in_a_row_eject() raises:
    var config = quiet_config()
    config.failures_to_eject = 3
    config.ejection_ms = 1_000
    var group = group_of(config^, [1, 1])
    fail_at(group, 0, 2)
    assert_true(group.figures(0).at(0).state == MemberState.UP)
    _ = next_slot(group)
    _ = next_slot(group)
    # A success between them begins the count anew.
    fail_at(group, 0, 2)
    assert_true(group.figures(0).at(0).state == MemberState.UP)
    fail_at(group, 0, 1)
    assert_true(group.figures(0).at(0).state == MemberState.EJECTED)
    for _ in range(10):
        assert_equal(next_slot(group, 0, 999), 1)
    # Its time is over.
    assert_true(group.figures(1_000).at(0).state == MemberState.UP)
    var seen = next_slot(group, 0, 1_000) + next_slot(group, 0, 1_000)
    assert_equal(seen, 1)


def test_ejections_grow_and_are_forgotten() raises:
    var config = quiet_config()
    config.failures_to_eject = 1
    config.ejection_ms = 1_000
    config.ejection_max_ms = 2_500
    config.failure_window_ms = 10_000
    var group = group_of(config^, [1, 1])
    var now_ms = 0
    for length_ms in [1_000, 2_000, 2_500, 2_500]:
        fail_at(group, 0, 1, now_ms)
        now_ms += length_ms
        assert_true(
            group.figures(now_ms - 1).at(0).state == MemberState.EJECTED
        )
        assert_true(group.figures(now_ms).at(0).state == MemberState.UP)
    assert_equal(group.figures(now_ms).at(0).ejection_count, 4)
    # Four windows without one, and it is as if there had been none.
    _ = next_slot(group, 0, now_ms)
    _ = next_slot(group, 0, now_ms)
    now_ms += 40_000
    fail_at(group, 0, 1, now_ms)
    assert_true(group.figures(now_ms + 999).at(0).state == MemberState.EJECTED)
    assert_true(group.figures(now_ms + 1_000).at(0).state == MemberState.UP)


def test_a_share_of_failures_ejects() raises:
    var config = quiet_config()
    config.failure_share_percent = 50
    config.failure_share_requests = 10
    var group = group_of(config^, [1, 1])
    for _ in range(4):
        fail_at(group, 0, 1)
        var choice = group.choose(0, ~UInt64(1), 0)
        group.finish(choice.member, Outcome.answered(200), 0)
    fail_at(group, 0, 1)
    # 5 of 9 is too few to tell.
    assert_true(group.figures(0).at(0).state == MemberState.UP)
    fail_at(group, 0, 1)
    assert_true(group.figures(0).at(0).state == MemberState.EJECTED)


def test_a_window_forgets_failures() raises:
    var config = quiet_config()
    config.failure_share_percent = 50
    config.failure_share_requests = 10
    config.failure_window_ms = 1_000
    var group = group_of(config^, [1, 1])
    fail_at(group, 0, 9, 0)
    fail_at(group, 0, 9, 1_000)
    assert_true(group.figures(1_000).at(0).state == MemberState.UP)
    fail_at(group, 0, 1, 1_999)
    assert_true(group.figures(1_999).at(0).state == MemberState.EJECTED)


def test_statuses_that_count() raises:
    for counts_all in [False, True]:
        for status in [200, 404, 500, 501, 502, 503, 504, 505]:
            var config = quiet_config()
            config.failures_to_eject = 1
            config.counts_all_5xx = counts_all
            var group = group_of(config^, [1, 1])
            var choice = group.choose(0, 0, 0)
            group.finish(choice.member, Outcome.answered(status), 0)
            var is_ejected = group.figures(0).at(0).state == MemberState.EJECTED
            var wanted = (502 <= status <= 504) or (
                counts_all and status >= 500
            )
            assert_equal(is_ejected, wanted, String(status))


def test_a_client_that_leaves_says_nothing() raises:
    var config = quiet_config()
    config.failures_to_eject = 1
    var group = group_of(config^, [1, 1])
    var choice = group.choose(0, 0, 0)
    group.finish(choice.member, Outcome.CANCELLED, 0)
    assert_true(group.figures(0).at(0).state == MemberState.UP)
    assert_equal(group.figures(0).at(0).active_count, 0)


def test_a_share_alone_is_ejected_at_a_time() raises:
    for share in [0, 30, 50, 100]:
        var config = quiet_config()
        config.failures_to_eject = 1
        config.ejected_share_max_percent = share
        var group = group_of(config^, [1, 1, 1, 1])
        for slot in range(4):
            var choice = group.choose(0, ~(UInt64(1) << UInt64(slot)), 0)
            group.finish(choice.member, Outcome.RESET, 0)
        var ejected = 0
        for member in group.figures(0):
            if member.state == MemberState.EJECTED:
                ejected += 1
        assert_equal(ejected, 0 if share == 0 else max(4 * share // 100, 1))


def test_the_only_one_is_never_ejected() raises:
    var config = quiet_config()
    config.failures_to_eject = 1
    config.ejected_share_max_percent = 100
    var group = group_of(config^, [1])
    fail_at(group, 0, 50)
    assert_equal(next_slot(group), 0)


def test_if_none_works_all_are_tried() raises:
    var config = quiet_config()
    config.failures_to_eject = 1
    config.ejected_share_max_percent = 100
    var group = group_of(config^, [1, 1])
    fail_at(group, 0, 1)
    fail_at(group, 1, 1)
    var seen: UInt64 = 0
    for _ in range(4):
        seen |= UInt64(1) << UInt64(next_slot(group))
    assert_equal(Int(seen), 3)


def test_a_circuit_opens_and_one_request_tries() raises:
    var config = quiet_config()
    config.failures_to_open = 3
    config.open_ms = 1_000
    var group = group_of(config^, [1])
    # One from before the failures, whose good end closes nothing.
    var old = group.choose(0, 0, 0).member
    fail_at(group, 0, 3)
    assert_true(group.figures(0).at(0).state == MemberState.OPEN)
    assert_true(group.choose(0, 0, 999).refusal == Outcome.FULL)
    group.finish(old, Outcome.answered(200), 999)
    assert_true(group.choose(0, 0, 999).refusal == Outcome.FULL)
    # Half-open: one alone.
    var trial = group.choose(0, 0, 1_000).member
    assert_true(trial.is_trial)
    assert_true(group.choose(0, 0, 1_000).refusal == Outcome.FULL)
    group.finish(trial, Outcome.CONNECT_FAILED, 1_100)
    assert_true(group.choose(0, 0, 2_099).refusal == Outcome.FULL)
    trial = group.choose(0, 0, 2_100).member
    # Nobody has waited for it: another tries.
    group.finish(trial, Outcome.CANCELLED, 2_100)
    trial = group.choose(0, 0, 2_100).member
    group.finish(trial, Outcome.answered(404), 2_200)
    assert_true(group.figures(2_200).at(0).state == MemberState.UP)
    for _ in range(3):
        assert_true(group.choose(0, 0, 2_200).is_member())


def _checked() -> GroupConfig:
    var config = quiet_config()
    config.health_path = "/health"
    config.health_interval_ms = 100
    config.healthy_after = 2
    config.unhealthy_after = 3
    return config^


def test_checks_take_down_and_bring_back() raises:
    var group = group_of(_checked(), [1, 1])
    var now_ms = 0
    for _ in range(3):
        var first = group.next_check(now_ms).value()
        var second = group.next_check(now_ms).value()
        assert_false(Bool(group.next_check(now_ms)))
        assert_true(group.figures(now_ms).at(0).state == MemberState.UP)
        group.end_check(first, False, now_ms)
        group.end_check(second, True, now_ms)
        assert_false(Bool(group.next_check(now_ms + 99)))
        now_ms += 100
    assert_true(group.figures(now_ms).at(0).state == MemberState.DOWN)
    for _ in range(5):
        assert_equal(next_slot(group, 0, now_ms), 1)
    for _ in range(2):
        assert_true(group.figures(now_ms).at(0).state == MemberState.DOWN)
        group.end_check(group.next_check(now_ms).value(), True, now_ms)
        now_ms += 100
    assert_true(group.figures(now_ms).at(0).state == MemberState.UP)


def test_nothing_is_checked_without_a_path() raises:
    var group = group_of(quiet_config(), [1])
    assert_false(Bool(group.next_check(1_000_000)))
