"""When calls begin anew: A6 of gRPC."""

from flare.grpc.client.call_response import NEVER_AGAIN, NO_PUSHBACK
from flare.grpc.client.retries import (
    GrpcRetryPolicy,
    RetryThrottle,
    RetryTurn,
)
from flare.grpc.core.status import GrpcCode
from tests.support.assertions import assert_equal, assert_false, assert_true


def _policy(max_attempts: Int = 4) -> GrpcRetryPolicy:
    return GrpcRetryPolicy(
        max_attempts,
        [GrpcCode.UNAVAILABLE],
        initial_backoff_ms=100,
        max_backoff_ms=300,
        backoff_multiplier=2.0,
    )


def test_attempts_are_counted() raises:
    for row in [(2, 2), (4, 4), (5, 5), (9, 5)]:
        var turn = RetryTurn(_policy(row[0]))
        var count = 1
        while turn.plan(GrpcCode.UNAVAILABLE, NO_PUSHBACK, 0, RetryThrottle()):
            count += 1
        assert_equal(count, row[1])


def test_what_is_not_named_is_not_repeated() raises:
    var turn = RetryTurn(_policy())
    for code in [GrpcCode.INTERNAL, GrpcCode.UNKNOWN, GrpcCode.ABORTED]:
        assert_false(
            Bool(turn.plan(code, NO_PUSHBACK, 0, RetryThrottle())),
            code.name(),
        )
    assert_equal(turn.attempt_count, 1)
    var none = RetryTurn(None)
    assert_false(
        Bool(none.plan(GrpcCode.UNAVAILABLE, NO_PUSHBACK, 0, RetryThrottle())),
        "without a policy",
    )


def test_pauses_grow_to_a_bound() raises:
    """A6: each is the next of the row, 0.8 to 1.2 times, so that none begins anew
    at once."""
    var policy = _policy()
    var row = [100, 200, 300, 300]
    for index in range(len(row)):
        var pause_ms = row[index]
        assert_equal(policy.pause_ms(index + 1, 0), pause_ms * 4 // 5)
        # The largest that can be chosen, and the one behind it.
        var bits = UInt64(pause_ms * 2 // 5) << 1
        assert_equal(policy.pause_ms(index + 1, bits), pause_ms * 6 // 5)
        assert_equal(policy.pause_ms(index + 1, bits + 2), pause_ms * 4 // 5)


def test_the_server_says_when() raises:
    var turn = RetryTurn(_policy())
    var pause_ms = turn.plan(GrpcCode.UNAVAILABLE, 1234, 0, RetryThrottle())
    assert_equal(pause_ms.value(), 1234)
    # Its own pauses begin again behind that.
    pause_ms = turn.plan(
        GrpcCode.UNAVAILABLE, NO_PUSHBACK, UInt64(20) << 1, RetryThrottle()
    )
    assert_equal(pause_ms.value(), 100)
    assert_false(
        Bool(turn.plan(GrpcCode.UNAVAILABLE, NEVER_AGAIN, 0, RetryThrottle())),
        "never again",
    )


def test_failures_of_most_calls_end_repetitions() raises:
    """`retryThrottling`: half of the tokens have to be left."""
    var throttle = RetryThrottle(4, 0.5)
    assert_true(throttle.note_failure(), "3 of 4")
    assert_false(throttle.note_failure(), "2 of 4")
    throttle.note_success()
    throttle.note_success()
    assert_false(throttle.note_failure(), "3 - 1 of 4")
    for _ in range(20):
        throttle.note_success()
    var copy = throttle
    assert_true(copy.note_failure(), "3 of 4 again")
    assert_false(throttle.note_failure(), "a copy is the same")
    var turn = RetryTurn(_policy())
    assert_false(
        Bool(turn.plan(GrpcCode.UNAVAILABLE, NO_PUSHBACK, 0, throttle)),
        "none is left",
    )


def test_policies_that_cannot_work() raises:
    assert_equal(_policy().problem(), "")
    assert_true("maxAttempts" in _policy(1).problem(), "one attempt")
    var policy = _policy()
    policy.retryable_codes = []
    assert_true("retryableStatusCodes" in policy.problem(), "no code")
    policy = _policy()
    policy.initial_backoff_ms = 0
    assert_true("initialBackoff" in policy.problem(), "no pause")
    policy = _policy()
    policy.backoff_multiplier = 0
    assert_true("backoffMultiplier" in policy.problem(), "no multiplier")
