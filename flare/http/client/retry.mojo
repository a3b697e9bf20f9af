"""When a request may be sent once more."""

from flare.http.client.error import (
    ClientError,
    Phase,
    SourceFailed,
    StreamReset,
)
from flare.net.error import Timeout

comptime BACKOFF_SHIFT_MAX = 16
"""Most doublings of a backoff; more would be days."""


def is_idempotent(method: StringSpan) -> Bool:
    """Tells whether sending a request twice means the same as once.

    Source: RFC 9110 section 9.2.2.

    Args:
        method: The method; one that is not known counts as not idempotent.

    Returns:
        True for GET, HEAD, PUT, DELETE, OPTIONS and TRACE.
    """
    return (
        method == "GET"
        or method == "HEAD"
        or method == "PUT"
        or method == "DELETE"
        or method == "OPTIONS"
        or method == "TRACE"
    )


@fieldwise_init
struct FailedAttempt(TrivialRegisterPassable):
    """What is known of an attempt that failed."""

    var was_sent: Bool
    """True if any octet of the request may have left."""
    var has_response: Bool
    """True if any octet of a response has arrived."""
    var is_idempotent: Bool
    """True if the method is."""
    var is_replayable: Bool
    """True if the content is still there from its start."""

    def may_repeat(self) -> Bool:
        """Decides whether the request may be sent again.

        Source: RFC 9110 section 9.2.2. What never left may be sent in any
        case. Once the server has begun to answer, it has acted on the request.

        Returns:
            True if the server cannot act on it twice, or that does not matter.
        """
        if self.has_response or not self.is_replayable:
            return False
        return self.is_idempotent or not self.was_sent


def is_transient(phase: Phase) -> Bool:
    """Tells whether a failure may be gone on the next attempt.

    Args:
        phase: When the attempt failed.

    Returns:
        True for failures between the lookup of the name and the first octet of
        the response.
    """
    return (
        phase == Phase.RESOLVE
        or phase == Phase.CONNECT
        or phase == Phase.PROXY
        or phase == Phase.WRITE
        or phase == Phase.READ_HEAD
    )


def is_stale(failed: FailedAttempt, error: ClientError) -> Bool:
    """Tells whether an idle connection failed because it was idle.

    That says nothing of the server, so a new connection may be tried at once.

    Args:
        failed: The attempt, on a connection that was used before.
        error: How it failed.

    Returns:
        True if the request may be sent again.
    """
    return (
        failed.may_repeat()
        and error.kind != Timeout
        and error.kind != SourceFailed
        and error.kind != StreamReset
        and is_transient(error.phase)
    )


def may_retry(failed: FailedAttempt, error: ClientError) -> Bool:
    """Tells whether a failed request may be sent again, after a pause.

    Args:
        failed: The attempt.
        error: How it failed.

    Returns:
        True if that is safe and may help.
    """
    return (
        failed.may_repeat()
        and error.kind != SourceFailed
        and is_transient(error.phase)
    )


def backoff_ms(attempt: Int, base_ms: Int, max_ms: Int, random: UInt64) -> Int:
    """Decides how long to wait before an attempt.

    The wait doubles with each attempt, and half of it is random ("equal
    jitter"), so that clients that failed together do not return together.

    Args:
        attempt: Which repetition it is, 1 for the first.
        base_ms: Longest wait before the first, in milliseconds.
        max_ms: Longest wait of all, in milliseconds.
        random: Any bits.

    Returns:
        Milliseconds, from half of the doubled wait up to all of it.
    """
    var shift = min(max(attempt - 1, 0), BACKOFF_SHIFT_MAX)
    var longest = min(max(base_ms, 0) << shift, max(max_ms, 0))
    var half = longest // 2
    return half + Int(random % UInt64(longest - half + 1))
