"""What is repeated, and after how long."""

from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.retry import may_repeat
from tests.support.assertions import assert_false, assert_true


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


def test_whether_it_may_have_run() raises:
    var lost = _error(RedisErrorKind.ANSWER_LOST)
    assert_false(lost.may_have_run())
    lost.was_sent = True
    assert_true(lost.may_have_run())
    var refused = _error(RedisErrorKind.WRONG_TYPE)
    refused.was_sent = True
    assert_false(refused.may_have_run(), "the server said that it did not")
