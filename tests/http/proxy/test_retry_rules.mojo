"""What is sent once more, and how often."""

from flare.bytes.checked import *
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryDecision,
    is_idempotent,
)
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.next_attempt import end_of_failure
from flare.http.proxy.upstreams.upstream_group import (
    MemberId,
    UpstreamGroup,
    Waiter,
)
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.upstreams import group_of, next_slot, quiet_config


comptime _RETRIED = 503


def _ended(
    method: StringSpan,
    outcome: Outcome,
    was_sent: Bool,
    is_kept: Bool,
    count: Int,
) -> EndedAttempt:
    var end = end_of_failure(outcome, was_sent)
    if outcome == Outcome.ANSWERED:
        end = AttemptEnd.of_status(Int(outcome.status), [_RETRIED])
    return EndedAttempt(
        end, was_sent, is_idempotent(method), is_kept, False, count
    )


def _once(outcome: Outcome) -> EndedAttempt:
    """A GET that was sent to one upstream."""
    return _ended("GET", outcome, True, True, 1)


@fieldwise_init
struct _Retry(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var outcome: Outcome
    var was_sent: Bool
    var is_kept: Bool
    var count: Int
    var decision: RetryDecision


def test_retries_only_when_safe() raises:
    comptime AGAIN = RetryDecision.AGAIN
    var rows: List[_Retry] = [
        _Retry(
            "nothing was sent",
            "POST",
            Outcome.CONNECT_FAILED,
            False,
            True,
            1,
            AGAIN,
        ),
        _Retry(
            "nor in time",
            "POST",
            Outcome.CONNECT_TIMEOUT,
            False,
            True,
            1,
            AGAIN,
        ),
        _Retry(
            "9110-9.2.2 idempotent", "GET", Outcome.RESET, True, True, 1, AGAIN
        ),
        _Retry("with content", "PUT", Outcome.RESET, True, True, 1, AGAIN),
        _Retry(
            "9110-9.2.2 not",
            "POST",
            Outcome.RESET,
            True,
            True,
            1,
            RetryDecision.NOT_IDEMPOTENT,
        ),
        _Retry(
            "nor unknown ones",
            "FOO",
            Outcome.RESET,
            True,
            True,
            1,
            RetryDecision.NOT_IDEMPOTENT,
        ),
        _Retry(
            "content that is gone",
            "PUT",
            Outcome.RESET,
            True,
            False,
            1,
            RetryDecision.CONTENT_IS_GONE,
        ),
        _Retry(
            "also unsent",
            "POST",
            Outcome.CONNECT_FAILED,
            False,
            False,
            1,
            RetryDecision.CONTENT_IS_GONE,
        ),
        _Retry(
            "bad responses", "GET", Outcome.BAD_RESPONSE, True, True, 1, AGAIN
        ),
        _Retry(
            "slow ones are not",
            "GET",
            Outcome.HEAD_TIMEOUT,
            True,
            True,
            1,
            RetryDecision.TIMEOUT,
        ),
        _Retry(
            "answered",
            "GET",
            Outcome.answered(200),
            True,
            True,
            1,
            RetryDecision.NOT_NEEDED,
        ),
        _Retry(
            "a status that is not retried",
            "GET",
            Outcome.answered(502),
            True,
            True,
            1,
            RetryDecision.NOT_NEEDED,
        ),
        _Retry(
            "one that is", "GET", Outcome.answered(503), True, True, 1, AGAIN
        ),
        _Retry(
            "but not for all",
            "POST",
            Outcome.answered(503),
            True,
            True,
            1,
            RetryDecision.NOT_IDEMPOTENT,
        ),
        _Retry(
            "as often as it may", "GET", Outcome.RESET, True, True, 2, AGAIN
        ),
        _Retry(
            "and no more",
            "GET",
            Outcome.RESET,
            True,
            True,
            3,
            RetryDecision.TOO_MANY_ATTEMPTS,
        ),
    ]
    for row in rows:
        var config = quiet_config()
        var group = group_of(config^, [1])
        var ended = _ended(
            row.method, row.outcome, row.was_sent, row.is_kept, row.count
        )
        var decision = group.repeat(row.outcome, ended, 0, 1, 0).decision
        assert_equal(decision.name(), row.decision.name(), String(row.rule))
        # What is not sent again counts as failed, and why.
        var is_failed = (
            decision != AGAIN and decision != RetryDecision.NOT_NEEDED
        )
        assert_equal(
            group.failed_count(row.outcome, decision), 1 if is_failed else 0
        )
        assert_equal(group.retry_count(), 1 if decision == AGAIN else 0)
    var config = quiet_config()
    config.retries_timeouts = True
    var group = group_of(config^, [1])
    assert_true(_goes_again(group, Outcome.HEAD_TIMEOUT, 0))


comptime _LETTERS = StaticString("A-bmcxBtuf")
# Again; not needed, begun, method, content, attempts, budget, timeout, upstream,
# failure.


@fieldwise_init
struct _Ends(Copyable, Movable):
    """What is decided of one outcome: of GET and POST in turn, unsent and then
    sent, with its content and then without."""

    var outcome: Outcome
    var decisions: StaticString


def test_each_outcome_with_all_facts() raises:
    var rows: List[_Ends] = [
        _Ends(Outcome.answered(200), "--------"),
        _Ends(Outcome.answered(503), "AAAmcccm"),
        _Ends(Outcome.CONNECT_FAILED, "AAAmcccm"),
        _Ends(Outcome.CONNECT_TIMEOUT, "AAtmcccm"),
        _Ends(Outcome.RESET, "AAAmcccm"),
        _Ends(Outcome.HEAD_TIMEOUT, "AAtmcccm"),
        _Ends(Outcome.BAD_RESPONSE, "AAAmcccm"),
        _Ends(Outcome.SEND_TIMEOUT, "AAtmcccm"),
        _Ends(Outcome.BAD_CERTIFICATE, "AAAmcccm"),
        _Ends(Outcome.TLS_FAILED, "AAAmcccm"),
        _Ends(Outcome.DNS_FAILED, "AAAmcccm"),
        _Ends(Outcome.DNS_TIMEOUT, "AAtmcccm"),
        # RFC 9113 section 8.7: not begun with, so that acting twice cannot be.
        _Ends(Outcome.REFUSED, "AAAAcccc"),
    ]
    for row in rows:
        for index in range(8):
            var ended = _ended(
                "POST" if index & 1 else "GET",
                row.outcome,
                index & 2 != 0,
                index & 4 == 0,
                2,
            )
            var name = String(row.outcome.name(), " ", index)
            var wanted = row.decisions.as_bytes().at(index)
            var decided = _decide(row.outcome, ended)
            assert_equal(
                Int(_LETTERS.as_bytes().at(Int(decided.code))),
                Int(wanted),
                name,
            )
            # The last attempt, and what a program may choose.
            ended.count = 3
            decided = _decide(row.outcome, ended, retries_timeouts=True)
            if wanted == _LETTERS.as_bytes().at(0) or (
                wanted == _LETTERS.as_bytes().at(7)
            ):
                assert_true(decided == RetryDecision.TOO_MANY_ATTEMPTS, name)


def _decide(
    outcome: Outcome, ended: EndedAttempt, *, retries_timeouts: Bool = False
) raises -> RetryDecision:
    var config = quiet_config()
    config.retries_timeouts = retries_timeouts
    var group = group_of(config^, [1])
    return group.repeat(outcome, ended, 0, 1, 0).decision


def test_a_budget_of_retries() raises:
    var config = quiet_config()
    config.retry_min = 2
    config.retry_share_percent = 10
    config.failure_window_ms = 1_000
    var group = group_of(config^, [1])
    for wanted in [True, True, False]:
        assert_equal(_goes_again(group, Outcome.RESET, 0), wanted)
    assert_equal(group.failed_count(Outcome.RESET, RetryDecision.NO_BUDGET), 1)
    for _ in range(50):
        _ = next_slot(group)
    # Five in fifty, of which two are gone; a repetition is no request.
    for wanted in [True, True, True, False]:
        _ = group.choose(0, 1, 0)
        assert_equal(_goes_again(group, Outcome.RESET, 0), wanted)
    # The window before counts, and the one before that does not.
    assert_false(_goes_again(group, Outcome.RESET, 1_500))
    for wanted in [True, True, False]:
        assert_equal(_goes_again(group, Outcome.RESET, 4_000), wanted)


def test_what_has_never_left_takes_nothing_of_the_budget() raises:
    var config = quiet_config()
    config.retry_min = 1
    config.retry_share_percent = 0
    var group = group_of(config^, [1])
    var late = Outcome.CONNECT_TIMEOUT
    var unsent = _ended("POST", late, False, True, 1)
    for _ in range(20):
        assert_true(group.repeat(late, unsent, 0, 1, 0).decision.is_again())
    assert_true(_goes_again(group, Outcome.RESET, 0))
    assert_false(_goes_again(group, Outcome.RESET, 0))


def _goes_again(
    mut group: UpstreamGroup, outcome: Outcome, now_ms: Int
) -> Bool:
    return group.repeat(
        outcome, _once(outcome), 0, 1, now_ms
    ).decision.is_again()


def _two_with_one_full(opens: Bool) raises -> UpstreamGroup:
    """Two upstreams that may have one request each: a has one, b another, and an
    upstream that fails is spared at once, if that is wanted."""
    var config = quiet_config()
    config.max_requests = 1
    config.queue_timeout_ms = 1_000
    config.retry_min = 1
    config.retry_share_percent = 0
    config.failures_to_open = Int(opens)
    var group = group_of(config^, [1, 1])
    for slot in range(2):
        assert_equal(Int(group.choose(0, 0, 0).member.slot), slot)
    return group^


comptime _A = MemberId(0, False, 1)
comptime _B = MemberId(1, False, 2)


def test_a_repetition_that_nobody_takes_is_none() raises:
    var group = _two_with_one_full(True)
    var failed = _once(Outcome.RESET)
    group.finish(_A, Outcome.RESET, 0)
    for count in range(1, 4):
        var found = group.repeat(Outcome.RESET, failed, 0, _A.bit(), 0)
        assert_true(found.decision == RetryDecision.NO_UPSTREAM)
        assert_false(found.choice.is_member())
        assert_equal(group.retry_count(), 0)
        assert_equal(group.failed_count(Outcome.RESET, found.decision), count)
    # It has taken nothing of the budget, which is one.
    group.finish(_B, Outcome.answered(200), 0)
    var found = group.repeat(Outcome.RESET, failed, 0, _A.bit(), 0)
    assert_equal(Int(found.choice.member.slot), 1)
    assert_equal(group.retry_count(), 1)
    group.finish(_B, Outcome.answered(200), 0)
    found = group.repeat(Outcome.RESET, failed, 0, _A.bit(), 0)
    assert_true(found.decision == RetryDecision.NO_BUDGET)


def test_an_answer_ends_its_attempt_only_for_another_one() raises:
    var group = _two_with_one_full(True)
    var answer = Outcome.answered(_RETRIED)
    var busy = _once(answer)
    var found = group.replace(_A, answer, busy, 0, _A.bit(), 0)
    assert_true(found.decision == RetryDecision.NO_UPSTREAM)
    assert_false(found.choice.is_member())
    assert_equal(group.retry_count(), 0)
    assert_equal(group.failed_count(Outcome.ANSWERED, found.decision), 1)
    # Nothing has changed: it goes on, and its end is yet to be told.
    var figures = group.figures(0)
    assert_equal(figures.at(0).active_count, 1)
    assert_equal(figures.at(0).outcome_counts.at(0), 0)
    assert_true(figures.at(0).state == MemberState.UP)
    group.finish(_A, Outcome.answered(503), 0)
    assert_true(group.figures(0).at(0).state == MemberState.OPEN)
    # With room at the other one it ends.
    group = _two_with_one_full(True)
    group.finish(_B, Outcome.answered(200), 0)
    found = group.replace(_A, answer, busy, 0, _A.bit(), 0)
    assert_true(found.decision.is_again())
    assert_equal(Int(found.choice.member.slot), 1)
    figures = group.figures(0)
    assert_equal(figures.at(0).active_count, 0)
    assert_equal(figures.at(0).outcome_counts.at(0), 1)
    assert_true(figures.at(0).state == MemberState.OPEN)
    assert_equal(figures.at(1).active_count, 1)
    assert_equal(group.retry_count(), 1)


def test_where_no_other_one_has_room_the_same_is_asked_again() raises:
    """With the place that the attempt has had, unless somebody waits for it."""
    var answer = Outcome.answered(_RETRIED)
    var busy = _once(answer)
    var group = _two_with_one_full(False)
    var found = group.replace(_A, answer, busy, 0, _A.bit(), 0)
    assert_equal(Int(found.choice.member.slot), 0)
    assert_equal(group.figures(0).at(0).active_count, 1)
    group = _two_with_one_full(False)
    assert_true(group.wait(Waiter(0, 1, 0), 0))
    found = group.replace(_A, answer, busy, 0, _A.bit(), 0)
    assert_true(found.decision == RetryDecision.NO_UPSTREAM)
    assert_equal(len(group.take_placed()), 0)
    group.finish(_A, Outcome.answered(503), 0)
    assert_equal(len(group.take_placed()), 1)


def test_what_may_not_be_repeated_is_passed_on() raises:
    var group = _two_with_one_full(False)
    group.finish(_B, Outcome.answered(200), 0)
    for row in [
        ("POST", 503, RetryDecision.NOT_IDEMPOTENT),
        ("GET", 200, RetryDecision.NOT_NEEDED),
    ]:
        var answer = Outcome.answered(row[1])
        var ended = _ended(row[0], answer, True, True, 1)
        var found = group.replace(_A, answer, ended, 0, _A.bit(), 0)
        assert_true(found.decision == row[2])
        assert_equal(group.figures(0).at(0).active_count, 1)
        assert_equal(group.figures(0).at(1).active_count, 0)


def test_bad_rules() raises:
    var config = GroupConfig()
    config.ejection_max_ms = 1
    with assert_raises(contains="ejection_max_ms is 1; it may be from 10000"):
        config.check()
    for value in [-1, 86_400_001]:
        config = GroupConfig()
        config.queue_timeout_ms = value
        with assert_raises(contains=String("queue_timeout_ms is ", value)):
            config.check()
        config = GroupConfig()
        config.max_queued_requests = value
        with assert_raises(contains=String("max_queued_requests is ", value)):
            config.check()
        config = GroupConfig()
        config.lookup_interval_ms = value
        with assert_raises(contains=String("lookup_interval_ms is ", value)):
            config.check()
        config = GroupConfig()
        config.max_connection_age_ms = value
        with assert_raises(contains=String("max_connection_age_ms is ", value)):
            config.check()
    config = GroupConfig()
    config.health_path = "health"
    with assert_raises(contains="begins with a slash"):
        config.check()
    config = GroupConfig()
    config.retried_statuses = [200]
    with assert_raises(contains="from 400 to 599"):
        _ = UpstreamGroup(config^, seed=0, now_ms=0)
