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
    return decide_retry(
        EndedAttempt(
            _end_of(outcome, attempt.was_sent, config),
            attempt.was_sent,
            is_idempotent(attempt.method),
            attempt.content_is_kept,
            False,
            attempt.count,
        ),
        RetryRules(config.max_attempts, True, True, config.retries_timeouts),
    )


def _end_of(
    outcome: Outcome, was_sent: Bool, config: GroupConfig
) -> AttemptEnd:
    """Tells what has come of an attempt at an upstream, for the rules."""
    if outcome == Outcome.ANSWERED:
        return AttemptEnd.of_status(
            Int(outcome.status), config.retried_statuses
        )
    if outcome == Outcome.CANCELLED:
        return AttemptEnd.CANCELLED
    if outcome.has_begun_to_answer():
        return AttemptEnd.BEGUN
    if outcome == Outcome.RESET:
        return AttemptEnd.LOST
    if outcome == Outcome.REFUSED:
        return AttemptEnd.UNTOUCHED
    if outcome == Outcome.BAD_RESPONSE:
        return AttemptEnd.SPOILED
    if outcome.is_timeout() and was_sent:
        return AttemptEnd.SILENT
    return AttemptEnd.NO_CONNECTION
