"""When a request is sent to an upstream once more."""

from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryDecision,
    RetryRules,
    decide_retry,
    is_idempotent,
)
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.next_attempt import end_of_failure
from flare.http.proxy.upstreams.outcome import Outcome


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


def decide(attempt: Attempt, config: GroupConfig) -> RetryDecision:
    """Decides whether a request may be sent once more, but for the budget."""
    var outcome = attempt.outcome
    if outcome == Outcome.NONE_AVAILABLE or outcome == Outcome.FULL:
        return RetryDecision.NO_UPSTREAM
    var end = end_of_failure(outcome, attempt.was_sent)
    if outcome == Outcome.ANSWERED:
        end = AttemptEnd.of_status(Int(outcome.status), config.retried_statuses)
    return decide_retry(
        EndedAttempt(
            end,
            attempt.was_sent,
            is_idempotent(attempt.method),
            attempt.content_is_kept,
            False,
            attempt.count,
        ),
        RetryRules(config.max_attempts, True, True, config.retries_timeouts),
    )
