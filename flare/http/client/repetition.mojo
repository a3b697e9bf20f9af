"""Whether a request that has failed is sent once more: all rules, in their
order."""

from flare.http.client.attempt import Attempt
from flare.http.client.config import ClientConfig
from flare.http.client.error import ClientError, Phase
from flare.http.client.http2_flight import StreamFate
from flare.http.client.prepared_request import PreparedRequest
from flare.http.client.retry import backoff_ms, is_stale, may_retry
from flare.sys.clock import monotonic_ns

comptime REFUSAL_COUNT_MAX = 2
"""Most repetitions of a request with which servers do not begin, unless a policy
or `ClientConfig.max_retries` says otherwise: the first at once, the second after
a pause."""

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
    # What cannot be sent is not sent again, whatever the connection does.
    if ended.fate.is_safe() and error.phase != Phase.REQUEST:
        # No server has begun with it: that is safe whatever its method.
        return Repetition(
            _plan_refused(request, ended.fate, attempt, config), False
        )
    var failed = request.describe_failure(attempt)
    if ended.was_reused and is_stale(failed, error):
        return Repetition(0, True)
    if request.has_policy():
        if not request.plan_after_failure(failed, error):
            return Repetition(_NO, False)
        return Repetition(request.begin_retry(), False)
    if not may_retry(failed, error):
        return Repetition(_NO, False)
    if request.retry_count >= config.max_retries:
        return Repetition(_NO, False)
    request.retry_count += 1
    return Repetition(_pause_ms(request, request.retry_count, config), False)


def _plan_refused(
    mut request: PreparedRequest,
    fate: StreamFate,
    attempt: Attempt,
    config: ClientConfig,
) -> Int:
    """Decides whether a request with which a server has not begun is sent again,
    and when (RFC 9113 section 8.7).

    A connection that goes away with it, though others were served on it, is
    replaced at once, as one that went stale in the pool: always if nothing was
    sent, else once. All else counts: in the policy, with attempts and budget, or
    up to a small bound.
    """
    var is_lost = request.has_lost_content(attempt.content_len)
    if request.timeouts.total.left_ms() == 0:
        return _NO
    if fate == StreamFate.LEFT_BEHIND and not is_lost:
        if not attempt.was_sent:
            return 0
        if not request.was_left_behind:
            request.was_left_behind = True
            request.refusal_count += 1
            return 0
    if fate == StreamFate.NEEDS_HTTP_1_1 and not is_lost:
        # It is not offered again.
        request.refusal_count += 1
        return 0
    var is_first = not request.was_refused
    request.was_refused = True
    if request.has_policy():
        if not request.plan_after_refusal(is_lost, is_first):
            return _NO
        return request.begin_retry()
    if is_lost or (
        request.refusal_count >= max(REFUSAL_COUNT_MAX, config.max_retries)
    ):
        return _NO
    request.refusal_count += 1
    if is_first:
        return 0
    return _pause_ms(request, request.refusal_count - 1, config)


def _pause_ms(
    request: PreparedRequest, number: Int, config: ClientConfig
) -> Int:
    """Decides how long to wait before a repetition; `_NO` if the request would
    be over before."""
    var pause_ms = backoff_ms(
        number, config.retry_base_ms, config.retry_max_ms, _random_bits()
    )
    var left_ms = request.timeouts.total.left_ms()
    return _NO if left_ms >= 0 and pause_ms >= left_ms else pause_ms


def _random_bits() -> UInt64:
    """Makes bits that differ from call to call, for jitter and no secrets."""
    return (UInt64(monotonic_ns()) * 0x9E3779B97F4A7C15) >> 32
