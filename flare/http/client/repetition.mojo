"""Whether a request that has failed is sent once more: all rules, in their
order."""

from flare.http.client.attempt import Attempt
from flare.http.client.config import ClientConfig
from flare.http.client.error import ClientError
from flare.http.client.http2_flight import StreamFate
from flare.http.client.prepared_request import PreparedRequest
from flare.http.client.retry import is_stale, may_retry

comptime _NO = -1


@fieldwise_init
struct Repetition(TrivialRegisterPassable):
    """What follows a failure."""

    var pause_ms: Int
    """How long to wait before the next attempt, in milliseconds; negative if
    there is none."""
    var is_fresh: Bool
    """True if it takes a new connection: an idle one has failed."""

    def is_planned(self) -> Bool:
        """Tells whether there is another attempt.

        Returns:
            False if the request has failed for good.
        """
        return self.pause_ms >= 0


@fieldwise_init
struct EndedAttempt(TrivialRegisterPassable):
    """How the connection of an attempt was left."""

    var fate: StreamFate
    """What is known of its stream, if it had one."""
    var was_reused: Bool
    """True if the connection had been used before."""


def plan_repetition(
    mut request: PreparedRequest,
    attempt: Attempt,
    ended: EndedAttempt,
    error: ClientError,
    config: ClientConfig,
) -> Repetition:
    """Decides whether a request that has failed is sent once more.

    Args:
        request: The request.
        attempt: The attempt that has failed.
        ended: How its connection was left.
        error: How it has failed.
        config: The client's configuration.

    Returns:
        What follows.
    """
    if request.is_retry_planned():
        # Nobody wants the content of a response that is not the final one.
        if request.timeouts.total.left_ms() == 0:
            return Repetition(_NO, False)
        return Repetition(request.begin_retry(), False)
    if ended.fate == StreamFate.NEEDS_HTTP_1_1:
        request.endpoint.offers_http2 = False
    if (
        ended.fate == StreamFate.NEEDS_HTTP_1_1
        or ended.fate == StreamFate.UNTOUCHED
    ):
        # No server has begun with it: it is sent again whatever its method.
        var pause_ms = request.plan_refused(config, attempt.content_len)
        return Repetition(pause_ms, False)
    var failed = request.describe_failure(attempt)
    if ended.was_reused and is_stale(failed, error):
        return Repetition(0, True)
    if request.has_policy():
        if not request.plan_after_failure(failed, error):
            return Repetition(_NO, False)
        return Repetition(request.begin_retry(), False)
    if not may_retry(failed, error):
        return Repetition(_NO, False)
    return Repetition(request.plan_retry(config), False)
