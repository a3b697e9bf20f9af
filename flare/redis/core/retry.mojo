"""What may be sent again, and how long to wait before it is."""

from flare.redis.core.error import RedisError, RedisErrorKind


@fieldwise_init
struct Backoff(ImplicitlyCopyable):
    """Waits between attempts: twice as long each time, and a random part."""

    var first_ms: Int
    """Longest wait before the first repetition, in milliseconds."""
    var max_ms: Int
    """Longest wait of all, in milliseconds."""

    def wait_ms(self, attempt: Int, random: UInt64) -> Int:
        """Computes a wait: between half of the longest and all of it.

        Clients that lost one server do not come back all at once.

        Args:
            attempt: How many attempts have failed, from 1.
            random: Random bits.

        Returns:
            Milliseconds.
        """
        var longest = self.first_ms
        for _ in range(1, min(attempt, 32)):
            longest = min(longest * 2, self.max_ms)
        longest = max(min(longest, self.max_ms), 0)
        var half = longest // 2
        return half + Int(random % UInt64(longest - half + 1))


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
