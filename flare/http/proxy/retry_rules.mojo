"""When a request is sent to an upstream once more, and how often that may be."""

from flare.http.client.retry import is_idempotent
from flare.http.proxy.group_config import GroupConfig
from flare.http.proxy.outcome import Outcome


@fieldwise_init
struct Attempt[m: ImmOrigin](Copyable, Movable):
    """What is known of an attempt that has ended.

    Parameters:
        m: Where the method lives.
    """

    var method: StringSpan[Self.m]
    """The request's method."""
    var outcome: Outcome
    """How it ended."""
    var was_sent: Bool
    """True if any octet of the request may have reached the upstream."""
    var content_is_kept: Bool
    """True if the request's content is still there from its start, or it has
    none."""
    var count: Int
    """How many attempts there were, this one included."""


@fieldwise_init
struct RetryDecision(Equatable, TrivialRegisterPassable):
    """Whether a request is sent once more, and if not, why."""

    var code: UInt8
    """A small number, distinct for each decision."""

    comptime AGAIN = RetryDecision(0)
    """It is sent once more."""
    comptime NOT_NEEDED = RetryDecision(1)
    """It has been answered, or nobody waits for an answer."""
    comptime BEGUN = RetryDecision(2)
    """The client has got a part of the response."""
    comptime NOT_IDEMPOTENT = RetryDecision(3)
    """The upstream may have acted on it, and acting twice is not the same."""
    comptime CONTENT_IS_GONE = RetryDecision(4)
    """A part of its content has been sent, and is not kept."""
    comptime TOO_MANY_ATTEMPTS = RetryDecision(5)
    """It has been sent as often as it may."""
    comptime NO_BUDGET = RetryDecision(6)
    """Too many requests are sent more than once."""
    comptime TIMEOUT = RetryDecision(7)
    """The upstream was slow, and may still be at it."""
    comptime NO_UPSTREAM = RetryDecision(8)
    """No upstream was to be had, for the first attempt or for another one."""

    def is_again(self) -> Bool:
        """Tells whether it is sent once more.

        Returns:
            True for AGAIN.
        """
        return self == Self.AGAIN

    def name(self) -> StaticString:
        """Names the decision, for figures.

        Returns:
            One word, or two with `_` between them.
        """
        if self == Self.AGAIN:
            return "again"
        if self == Self.NOT_NEEDED:
            return "not_needed"
        if self == Self.BEGUN:
            return "response_begun"
        if self == Self.NOT_IDEMPOTENT:
            return "not_idempotent"
        if self == Self.CONTENT_IS_GONE:
            return "content_gone"
        if self == Self.TOO_MANY_ATTEMPTS:
            return "attempts_used_up"
        if self == Self.NO_BUDGET:
            return "no_budget"
        if self == Self.TIMEOUT:
            return "timeout"
        return "no_upstream"


comptime DECISION_COUNT = 9
"""How many decisions there are."""


def decide_retry(attempt: Attempt, config: GroupConfig) -> RetryDecision:
    """Decides whether a request may be sent once more, but for the budget.

    Source: RFC 9110 section 9.2.2. What has never left may be sent in any case;
    what may have been acted on only if acting twice is the same as once.

    Args:
        attempt: How it ended.
        config: The rules.

    Returns:
        AGAIN, or why not.
    """
    var outcome = attempt.outcome
    if outcome == Outcome.NONE_AVAILABLE or outcome == Outcome.FULL:
        return RetryDecision.NO_UPSTREAM
    if outcome == Outcome.CANCELLED:
        return RetryDecision.NOT_NEEDED
    if outcome == Outcome.ANSWERED and not _is_retried_status(
        Int(outcome.status), config
    ):
        return RetryDecision.NOT_NEEDED
    if outcome.has_begun_to_answer():
        return RetryDecision.BEGUN
    if attempt.was_sent and not is_idempotent(attempt.method):
        return RetryDecision.NOT_IDEMPOTENT
    if not attempt.content_is_kept:
        return RetryDecision.CONTENT_IS_GONE
    if (
        attempt.was_sent
        and outcome.is_timeout()
        and not (config.retries_timeouts)
    ):
        return RetryDecision.TIMEOUT
    if attempt.count >= config.max_attempts:
        return RetryDecision.TOO_MANY_ATTEMPTS
    return RetryDecision.AGAIN


def _is_retried_status(status: Int, config: GroupConfig) -> Bool:
    for index in range(len(config.retried_statuses)):
        if config.retried_statuses[index] == status:
            return True
    return False


struct RetryBudget(Copyable, Movable):
    """How many repetitions there may be: a share of the requests, so that they
    cannot become the load that keeps upstreams from coming back."""

    var _window_start_ms: Int
    var _request_count: Int
    var _retry_count: Int
    # Of the window before, so that the first request of one is not alone.
    var _former_request_count: Int
    var _former_retry_count: Int

    def __init__(out self, now_ms: Int):
        """Makes a budget that nothing was taken from.

        Args:
            now_ms: The time.
        """
        self._window_start_ms = now_ms
        self._request_count = 0
        self._retry_count = 0
        self._former_request_count = 0
        self._former_retry_count = 0

    def _turn(mut self, window_ms: Int, now_ms: Int):
        var elapsed_ms = now_ms - self._window_start_ms
        if elapsed_ms < window_ms:
            return
        var is_next = elapsed_ms < 2 * window_ms
        self._former_request_count = self._request_count if is_next else 0
        self._former_retry_count = self._retry_count if is_next else 0
        self._request_count = 0
        self._retry_count = 0
        self._window_start_ms = now_ms

    def note_request(mut self, config: GroupConfig, now_ms: Int):
        """Counts a request, once however often it is sent.

        Args:
            config: The rules.
            now_ms: The time.
        """
        self._turn(config.failure_window_ms, now_ms)
        self._request_count += 1

    def has_left(mut self, config: GroupConfig, now_ms: Int) -> Bool:
        """Tells whether there may be a repetition.

        Args:
            config: The rules.
            now_ms: The time.

        Returns:
            True if so; then `take` counts it.
        """
        self._turn(config.failure_window_ms, now_ms)
        var request_count = self._request_count + self._former_request_count
        var retry_count = self._retry_count + self._former_retry_count
        var allowed = max(
            config.retry_min, request_count * config.retry_share_percent // 100
        )
        return retry_count < allowed

    def take(mut self):
        """Takes one repetition, of which `has_left` has just told."""
        self._retry_count += 1
