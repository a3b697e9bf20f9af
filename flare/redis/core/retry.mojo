"""What may be sent again."""

from flare.redis.core.error import RedisError, RedisErrorKind


def may_repeat(error: RedisError, is_repeatable: Bool) -> Bool:
    """Decides whether a command may be sent again without being asked for.

    It may if the server has not carried it out, or if that would change nothing
    (`is_repeatable`). One whose answer was lost may have been carried out.
    """
    var kind = error.kind
    if (
        kind == RedisErrorKind.CONNECT_FAILED
        or kind == RedisErrorKind.CONNECTION_LOST
        or kind == RedisErrorKind.LOADING
        or kind == RedisErrorKind.TRY_AGAIN
        or kind == RedisErrorKind.CLUSTER_DOWN
        or kind == RedisErrorKind.MASTER_DOWN
        or kind == RedisErrorKind.NO_MASTER
    ):
        return True
    return kind == RedisErrorKind.ANSWER_LOST and is_repeatable
