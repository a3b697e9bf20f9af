"""What is sent once more (RFC 9110 section 9.2.2, RFC 9113 section 8.7)."""

from flare.http.exchange.retry_rules import (
    AttemptEnd,
    DECISION_COUNT,
    EndedAttempt,
    RetryDecision,
    RetryRules,
    decide_retry,
    is_idempotent,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_methods() raises:
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]:
        assert_true(is_idempotent(method), method)
    for method in ["POST", "PATCH", "CONNECT", "get", "PURGE", ""]:
        assert_false(is_idempotent(method), method)


comptime _ALL = RetryRules(3, True, True, True)
comptime _FEW = RetryRules(3, False, False, False)

comptime _LETTERS = StaticString("A-bmcx$tufN")
# By the codes of decisions: again; not needed, begun, method, content, attempts,
# budget, timeout, upstream, failure; anew.


@fieldwise_init
struct _Row(Copyable, Movable):
    """What is decided of one end. Each word has a letter for each of: unsent
    twice-is-once, unsent, sent twice-is-once, sent; and again where the content
    is gone."""

    var rule: StaticString
    var end: AttemptEnd
    var plain: StaticString
    """The first of three attempts, on a new connection."""
    var reused: StaticString
    """On a connection that had waited."""
    var last: StaticString
    """The third of three."""
    var unwanted: StaticString
    """By a program that repeats no failure that it may choose."""


def _rows() -> List[_Row]:
    return [
        _Row(
            "it is answered",
            AttemptEnd.ANSWERED,
            "--------",
            "--------",
            "--------",
            "--------",
        ),
        _Row(
            "an answer cannot be taken back",
            AttemptEnd.BEGUN,
            "bbbbbbbb",
            "bbbbbbbb",
            "bbbbbbbb",
            "bbbbbbbb",
        ),
        _Row(
            "it would be the same again",
            AttemptEnd.HOPELESS,
            "ffffffff",
            "ffffffff",
            "ffffffff",
            "ffffffff",
        ),
        _Row(
            "9110-9.2.2 a status is no promise that nothing was done",
            AttemptEnd.TURNED_AWAY,
            "AAAmcccm",
            "AAAmcccm",
            "xxxmcccm",
            "AAAmcccm",
        ),
        _Row(
            "9110-9.2.2 what never left was not acted on",
            AttemptEnd.NO_CONNECTION,
            "AAAmcccm",
            "AAAmcccm",
            "xxxmcccm",
            "fffmcccm",
        ),
        _Row(
            "9112-9.3 a connection that waited may close at any time",
            AttemptEnd.LOST,
            "AAAmcccm",
            "NNNmcccm",
            "xxxmcccm",
            "fffmcccm",
        ),
        _Row(
            "9110-9.2.2 the server knows of it",
            AttemptEnd.SPOILED,
            "AAAmcccm",
            "AAAmcccm",
            "xxxmcccm",
            "fffmcccm",
        ),
        _Row(
            "9110-9.2.2 the server may be at it",
            AttemptEnd.SILENT,
            "AAAmcccm",
            "AAAmcccm",
            "xxxmcccm",
            "tttmcccm",
        ),
        _Row(
            "9113-8.7 REFUSED_STREAM, whatever the method",
            AttemptEnd.UNTOUCHED,
            "AAAAcccc",
            "AAAAcccc",
            "xxxxcccc",
            "AAAAcccc",
        ),
        _Row(
            "9113-6.8 beyond the last stream of a connection that served",
            AttemptEnd.LEFT_BEHIND,
            "NNNNcccc",
            "NNNNcccc",
            "NNNNcccc",
            "NNNNcccc",
        ),
        _Row(
            "9113-7 HTTP_1_1_REQUIRED",
            AttemptEnd.NEEDS_HTTP_1_1,
            "NNNNcccc",
            "NNNNcccc",
            "NNNNcccc",
            "NNNNcccc",
        ),
    ]


def _check(
    row: _Row,
    word: StaticString,
    rules: RetryRules,
    *,
    was_reused: Bool = False,
    count: Int = 1,
) raises:
    for index in range(8):
        var attempt = EndedAttempt(
            row.end,
            index & 2 != 0,
            index & 1 == 0,
            index & 4 == 0,
            was_reused,
            count,
        )
        var decided = decide_retry(attempt, rules)
        assert_equal(
            Int(_LETTERS.as_bytes()[Int(decided.code)]),
            Int(word.as_bytes()[index]),
            String(row.rule, ": ", decided.name(), " at ", index),
        )
        assert_equal(decided.is_again(), decided == RetryDecision.AGAIN)


def test_each_end_with_all_facts() raises:
    for row in _rows():
        _check(row, row.plain, _ALL)
        _check(row, row.plain, _ALL, count=2)
        _check(row, row.reused, _ALL, was_reused=True)
        _check(row, row.last, _ALL, count=3)
        _check(row, row.last, _ALL, count=4)
        _check(row, row.unwanted, _FEW)


def test_each_choice_is_its_own() raises:
    var ends = [AttemptEnd.NO_CONNECTION, AttemptEnd.LOST, AttemptEnd.SILENT]
    for chosen in range(3):
        var rules = RetryRules(3, chosen == 0, chosen == 1, chosen == 2)
        for index in range(3):
            var attempt = EndedAttempt(ends[index], True, True, True, False, 1)
            assert_equal(rules.covers(ends[index]), index == chosen)
            assert_equal(
                decide_retry(attempt, rules).is_again(), index == chosen
            )
    assert_equal(
        RetryRules(3, False, True, False).covers(AttemptEnd.SPOILED), True
    )


@fieldwise_init
struct _Safe(Copyable, Movable):
    var rule: StaticString
    var was_sent: Bool
    var has_response: Bool
    var is_idempotent: Bool
    var is_replayable: Bool
    var may_repeat: Bool


def test_what_is_safe() raises:
    var rows: List[_Safe] = [
        _Safe("never left", False, False, False, True, True),
        _Safe(
            "never left, but the source is used up",
            False,
            False,
            True,
            False,
            False,
        ),
        _Safe(
            "9110-9.2.2 POST may have been acted on",
            True,
            False,
            False,
            True,
            False,
        ),
        _Safe(
            "9110-9.2.2 GET twice is GET once", True, False, True, True, True
        ),
        _Safe("the server has answered", True, True, True, True, False),
        _Safe("the source is used up", True, False, True, False, False),
    ]
    for row in rows:
        var end = AttemptEnd.BEGUN if row.has_response else AttemptEnd.LOST
        for was_reused in [False, True]:
            var attempt = EndedAttempt(
                end,
                row.was_sent,
                row.is_idempotent,
                row.is_replayable,
                was_reused,
                1,
            )
            var decided = decide_retry(attempt, _ALL)
            var wanted = (
                RetryDecision.ANEW if was_reused else RetryDecision.AGAIN
            )
            assert_equal(decided == wanted, row.may_repeat, row.rule)


def test_statuses_that_ask_for_another_attempt() raises:
    for status in [429, 502, 503, 504]:
        var end = AttemptEnd.of_status(status, [504, 503, 502, 429])
        assert_true(end == AttemptEnd.TURNED_AWAY, String(status))
    for status in [200, 304, 404, 500, 501, 505]:
        var end = AttemptEnd.of_status(status, [504, 503, 502, 429])
        assert_true(end == AttemptEnd.ANSWERED, String(status))
    assert_true(AttemptEnd.of_status(503, []) == AttemptEnd.ANSWERED)


def test_each_decision_has_a_name_of_its_own() raises:
    var names = List[String]()
    for code in range(DECISION_COUNT):
        var name = String(RetryDecision(UInt8(code)).name())
        assert_true(name.byte_length() > 0 and name not in names, name)
        names.append(name^)
    assert_equal(RetryDecision.NO_UPSTREAM.name(), "no_upstream")
    assert_equal(RetryDecision.NO_BUDGET.name(), "no_budget")
    assert_equal(RetryDecision.NOT_IDEMPOTENT.name(), "not_idempotent")
    assert_equal(RetryDecision.BEGUN.name(), "response_begun")
