"""Where a request goes behind an attempt without an answer."""

from flare.bytes.checked import *
from flare.http.exchange.retry_rules import AttemptEnd, EndedAttempt
from flare.http.proxy.upstreams.next_attempt import (
    NextAttempt,
    SAME_COUNT_MAX,
    as_counted,
    end_of_failure,
    next_attempt,
    pause_ms,
    says_nothing,
)
from flare.http.proxy.upstreams.outcome import Outcome
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var end: AttemptEnd
    var was_sent: Bool
    var may_be_twice: Bool
    var is_kept: Bool
    var was_idle: Bool
    var next: NextAttempt

    def ended(self, count: Int = 1) -> EndedAttempt:
        return EndedAttempt(
            self.end,
            self.was_sent,
            self.may_be_twice,
            self.is_kept,
            self.was_idle,
            count,
        )


# fmt: off
def _rows() -> List[_Row]:
    comptime E = AttemptEnd
    comptime SAME = NextAttempt.SAME
    comptime CHOSEN = NextAttempt.CHOSEN
    comptime HTTP_1_1 = NextAttempt.OVER_HTTP_1_1
    return [
        # rule, end, was sent, may be twice, is kept, was idle
        _Row("9112-9.3 a stale connection", E.LOST, True, True, True, True, SAME),
        _Row("9112-9.3 with nothing sent", E.LOST, False, False, True, True, SAME),
        _Row("9110-9.2.2 not twice", E.LOST, True, False, True, True, CHOSEN),
        _Row("content that is gone", E.LOST, True, True, False, True, CHOSEN),
        _Row("a new connection", E.LOST, True, True, True, False, CHOSEN),
        _Row("9113-8.7 untouched", E.UNTOUCHED, True, True, True, False, SAME),
        _Row("9113-8.7 of any method", E.UNTOUCHED, True, False, True, False, SAME),
        _Row("9113-8.7 with nothing to send", E.UNTOUCHED, True, True, False, False, CHOSEN),
        _Row("9113-6.8 no more streams", E.LEFT_BEHIND, False, False, True, False, SAME),
        _Row("9113-6.8 and no content", E.LEFT_BEHIND, False, False, False, False, CHOSEN),
        _Row("9113-7 the other version", E.NEEDS_HTTP_1_1, True, False, True, False, HTTP_1_1),
        _Row("9113-7 and no content", E.NEEDS_HTTP_1_1, True, True, False, False, CHOSEN),
        _Row("no connection", E.NO_CONNECTION, False, True, True, True, CHOSEN),
        _Row("no answer", E.SPOILED, True, True, True, True, CHOSEN),
        _Row("a part of one", E.BEGUN, True, True, True, True, CHOSEN),
        _Row("none in time", E.SILENT, True, True, True, True, CHOSEN),
        _Row("hopeless", E.HOPELESS, True, True, True, True, CHOSEN),
    ]
# fmt: on


def test_the_same_upstream_is_asked_for_what_it_is_not_to_blame_for() raises:
    for row in _rows():
        assert_equal(
            next_attempt(row.ended()).number, row.next.number, row.rule
        )


def test_it_is_asked_so_often_and_no_more() raises:
    for row in _rows():
        var last = next_attempt(row.ended(SAME_COUNT_MAX))
        assert_equal(last.number, row.next.number, row.rule)
        var next = next_attempt(row.ended(SAME_COUNT_MAX + 1))
        # RFC 9113 section 7: over HTTP/1.1 it goes once, which ends that.
        var is_other = row.next == NextAttempt.OVER_HTTP_1_1
        var wanted = row.next if is_other else NextAttempt.CHOSEN
        assert_equal(next.number, wanted.number, row.rule)


def test_a_connection_that_was_idle_says_nothing_of_the_upstream() raises:
    for row in _rows():
        var is_idle = row.end == AttemptEnd.LOST and row.was_idle
        assert_equal(says_nothing(row.ended()), is_idle, row.rule)
        assert_false(says_nothing(row.ended(SAME_COUNT_MAX + 1)), row.rule)


def test_pauses_grow() raises:
    assert_equal(pause_ms(1), 0)
    assert_equal(pause_ms(2), 10)
    assert_equal(pause_ms(3), 20)
    assert_equal(pause_ms(SAME_COUNT_MAX), 80)


def test_what_outcomes_are_to_the_rules() raises:
    comptime E = AttemptEnd
    comptime O = Outcome
    assert_true(end_of_failure(O.RESET, True) == E.LOST)
    assert_true(end_of_failure(O.REFUSED, True) == E.UNTOUCHED)
    assert_true(end_of_failure(O.BAD_RESPONSE, True) == E.SPOILED)
    assert_true(end_of_failure(O.HEAD_TIMEOUT, True) == E.SILENT)
    assert_true(end_of_failure(O.SEND_TIMEOUT, True) == E.SILENT)
    # Over HTTP/2 the window for content may have been shut from the start.
    assert_true(end_of_failure(O.SEND_TIMEOUT, False) == E.NO_CONNECTION)
    assert_true(end_of_failure(O.CONNECT_TIMEOUT, False) == E.NO_CONNECTION)
    assert_true(end_of_failure(O.CONNECT_FAILED, False) == E.NO_CONNECTION)


def test_what_the_group_counts_of_an_attempt() raises:
    comptime E = AttemptEnd
    for row in _rows():
        # RFC 9113 section 6.8, again and again.
        var end = E.UNTOUCHED if row.end == E.LEFT_BEHIND else row.end
        var counted = as_counted(row.ended(), Outcome.RESET, 3)
        assert_true(counted.end == end, row.rule)
        assert_equal(counted.count, 3, row.rule)
        assert_false(counted.was_reused, row.rule)
        assert_equal(counted.is_kept, row.is_kept, row.rule)
        assert_equal(counted.was_sent, row.was_sent, row.rule)
        var silent = as_counted(row.ended(), Outcome.HEAD_TIMEOUT, 3)
        assert_true(silent.end == E.SILENT, row.rule)
