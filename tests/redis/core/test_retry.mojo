"""What is repeated, and after how long."""

from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.retry import Backoff, may_repeat
from tests.support.assertions import assert_equal, assert_false, assert_true


def _error(kind: RedisErrorKind) -> RedisError:
    return RedisError(kind, String())


def test_an_answer_that_is_lost() raises:
    var lost = _error(RedisErrorKind.ANSWER_LOST)
    assert_true(may_repeat(lost, True))
    assert_false(may_repeat(lost, False), "it may have been carried out")


def test_what_was_not_carried_out() raises:
    for kind in [
        RedisErrorKind.CONNECT_FAILED,
        RedisErrorKind.CONNECTION_LOST,
        RedisErrorKind.LOADING,
        RedisErrorKind.TRY_AGAIN,
        RedisErrorKind.CLUSTER_DOWN,
        RedisErrorKind.MASTER_DOWN,
        RedisErrorKind.NO_MASTER,
    ]:
        assert_true(may_repeat(_error(kind), False), kind.name)


def test_what_would_only_fail_again() raises:
    for kind in [
        RedisErrorKind.TIMEOUT,
        RedisErrorKind.AUTH_FAILED,
        RedisErrorKind.WRONG_TYPE,
        RedisErrorKind.OUT_OF_MEMORY,
        RedisErrorKind.PROTOCOL,
        RedisErrorKind.REPLY_TOO_LARGE,
        RedisErrorKind.NO_PERMISSION,
    ]:
        assert_false(may_repeat(_error(kind), True), kind.name)


def test_waits_double_up_to_the_longest() raises:
    var backoff = Backoff(50, 2_000)
    var longest: List[Int] = [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]
    for index in range(len(longest)):
        var seen_min = Int.MAX
        var seen_max = 0
        for random in range(4_000):
            var wait_ms = backoff.wait_ms(index + 1, UInt64(random))
            seen_min = min(seen_min, wait_ms)
            seen_max = max(seen_max, wait_ms)
        assert_equal(seen_min, longest[index] // 2)
        assert_equal(seen_max, longest[index])
    assert_equal(Backoff(0, 0).wait_ms(1_000_000, 7), 0)


def test_whether_it_may_have_run() raises:
    var lost = _error(RedisErrorKind.ANSWER_LOST)
    assert_false(lost.may_have_run())
    lost.was_sent = True
    assert_true(lost.may_have_run())
    var refused = _error(RedisErrorKind.WRONG_TYPE)
    refused.was_sent = True
    assert_false(refused.may_have_run(), "the server said that it did not")
