"""What becomes of transactions of which a server refuses a part."""

from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.pipeline import transaction_replies
from tests.support.assertions import assert_equal, assert_true
from tests.support.redis_log import kept_reply

comptime NO_MULTI = StaticString(
    "-NOPERM User u has no permissions to run the 'multi' command\r\n"
)
comptime NO_EXEC = StaticString("-ERR EXEC without MULTI\r\n")
comptime UNGUARDED = StaticString("were carried out all the same")


def _refusal(text: StringSpan) raises -> RedisError:
    var kept = kept_reply(text)
    try:
        _ = transaction_replies(kept.view())
    except error:
        return error.copy()
    raise Error("nothing was refused")


def test_what_is_refused_before_exec_is_carried_out_by_none() raises:
    """Redis, Transactions: an error while commands are queued has EXEC refuse
    all of them."""
    var error = _refusal(
        "*4\r\n+OK\r\n-ERR wrong number of arguments\r\n+QUEUED\r\n"
        "-EXECABORT Transaction discarded\r\n"
    )
    assert_equal(error.message, "ERR wrong number of arguments")


def test_commands_without_their_multi_are_told_of() raises:
    """Redis, ACL: a user may lack MULTI, and have what stands behind it."""
    var error = _refusal(String("*4\r\n", NO_MULTI, "+OK\r\n:1\r\n", NO_EXEC))
    assert_true(error.kind == RedisErrorKind.NO_PERMISSION)
    assert_true(UNGUARDED in error.message, error.message)
    assert_true("'multi'" in error.message, error.message)
    # One of them is enough.
    error = _refusal(
        String("*4\r\n", NO_MULTI, "-NOPERM no\r\n:1\r\n", NO_EXEC)
    )
    assert_true(UNGUARDED in error.message, error.message)


def test_a_multi_refused_for_now_is_not_repeated() raises:
    """The commands behind it would be carried out twice."""
    var error = _refusal(String("*3\r\n-LOADING not yet\r\n:1\r\n", NO_EXEC))
    assert_true(error.kind == RedisErrorKind.REFUSED)
    assert_true(UNGUARDED in error.message, error.message)
    # Where nothing was carried out, it may be.
    error = _refusal("*3\r\n-LOADING 1\r\n-LOADING 2\r\n-LOADING 3\r\n")
    assert_true(error.kind == RedisErrorKind.LOADING)


def test_a_multi_within_another_is_told_of() raises:
    """EXEC then carries all out: what was queued before, too."""
    var error = _refusal(
        "*3\r\n-ERR MULTI calls can not be nested\r\n+QUEUED\r\n"
        "*2\r\n:1\r\n:2\r\n"
    )
    assert_true(UNGUARDED in error.message, error.message)
