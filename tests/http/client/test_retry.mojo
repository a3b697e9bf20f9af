"""When a request may be sent once more (RFC 9110 section 9.2.2)."""

from flare.http.client.error import (
    ClientError,
    NoResponse,
    Phase,
    SourceFailed,
)
from flare.http.client.retry import (
    FailedAttempt,
    backoff_ms,
    is_idempotent,
    is_stale,
    is_transient,
    may_retry,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_methods() raises:
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]:
        assert_true(is_idempotent(method), method)
    for method in ["POST", "PATCH", "CONNECT", "get", "PURGE", ""]:
        assert_false(is_idempotent(method), method)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var was_sent: Bool
    var has_response: Bool
    var is_idempotent: Bool
    var is_replayable: Bool
    var may_repeat: Bool


def test_what_is_safe() raises:
    var rows: List[_Row] = [
        _Row("never left", False, False, False, True, True),
        _Row(
            "never left, but the source is used up",
            False,
            False,
            True,
            False,
            False,
        ),
        _Row(
            "9110-9.2.2 POST may have been acted on",
            True,
            False,
            False,
            True,
            False,
        ),
        _Row("9110-9.2.2 GET twice is GET once", True, False, True, True, True),
        _Row("the server has answered", True, True, True, True, False),
        _Row("the source is used up", True, False, True, False, False),
    ]
    for row in rows:
        var failed = FailedAttempt(
            row.was_sent,
            row.has_response,
            row.is_idempotent,
            row.is_replayable,
        )
        assert_equal(failed.may_repeat(), row.may_repeat, row.rule)


def test_what_may_pass() raises:
    assert_true(is_transient(Phase.CONNECT))
    assert_true(is_transient(Phase.READ_HEAD))
    assert_false(is_transient(Phase.REQUEST))
    assert_false(is_transient(Phase.TLS))
    assert_false(is_transient(Phase.READ_BODY))
    assert_false(is_transient(Phase.TOTAL))


def test_a_source_that_has_failed_is_not_asked_again() raises:
    var failed = FailedAttempt(True, False, True, True)
    var broken = ClientError(Phase.WRITE, materialize[NoResponse](), "reset")
    assert_true(may_retry(failed, broken) and is_stale(failed, broken))
    var gone = ClientError(Phase.WRITE, materialize[SourceFailed](), "gone")
    assert_false(may_retry(failed, gone) or is_stale(failed, gone))


def test_backoff_doubles_up_to_its_bound() raises:
    var expected = [100, 200, 400, 800, 1000, 1000]
    for attempt in range(1, 7):
        var longest = expected[attempt - 1]
        for random in range(0, 3_000, 7):
            var pause = backoff_ms(attempt, 100, 1_000, UInt64(random))
            assert_true(pause >= longest // 2 and pause <= longest)
    assert_equal(backoff_ms(1_000, 0, 1_000, 5), 0)
    assert_true(backoff_ms(1_000, 100, 1 << 40, 0) > 0)
