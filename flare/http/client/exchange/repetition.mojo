"""Whether a request that has failed is sent once more: all rules, in their
order."""

from flare.bytes.checked import *
from flare.http.client.exchange.attempt import Attempt
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    ClientError,
    Phase,
    ProxyRefused,
    SourceFailed,
    StreamReset,
)
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    decide_retry,
    RetryDecision,
    RetryRules,
)
from flare.sys.backoff import Backoff
from flare.sys.random import random_word
from flare.http.message.status import Status
from flare.net.error import NameNotFound, NameRefused, Timeout
from flare.tls.error import ClosedEarly

comptime REFUSAL_COUNT_MAX = 2
"""Most repetitions of a request with which servers do not begin, unless a policy
or `ClientConfig.max_retries` says otherwise: the first at once, the second after
a pause."""

comptime _NO = -1


@fieldwise_init
struct Repetition(TrivialRegisterPassable):

    var pause_ms: Int
    """How long to wait before the next attempt, in milliseconds; negative if
    there is none."""
    var is_fresh: Bool
    """True if it takes a new connection: an idle one has failed."""

    def is_planned(self) -> Bool:
        """Tells whether there is another attempt; if not, the request has
        failed for good."""
        return self.pause_ms >= 0


def plan_repetition(
    mut request: PreparedRequest,
    attempt: Attempt,
    fate: AttemptEnd,
    error: ClientError,
    config: ClientConfig,
    *,
    was_reused: Bool,
) -> Repetition:
    """Decides whether a request that has failed is sent once more.

    A connection that went stale in the pool is replaced at once, and so is one
    of HTTP/2 that goes away though others were served on it: always if nothing
    was sent, else once. All else counts: in the policy, with attempts and
    budget, or up to a small bound.
    """
    if fate == AttemptEnd.NEEDS_HTTP_1_1:
        request.give_up_http2()
    var end = end_of(error, has_response=attempt.has_response(), fate=fate)
    var is_left_behind = end == AttemptEnd.LEFT_BEHIND
    var counts = attempt.was_sent() or not is_left_behind
    if is_left_behind and counts and request.was_left_behind:
        end = AttemptEnd.UNTOUCHED
    var is_refused = end.is_untouched()
    if is_refused and request.timeouts.total.left_ms() == 0:
        return Repetition(_NO, False)
    if error.phase == Phase.TLS and not request.has_policy():
        end = AttemptEnd.HOPELESS
    var ended = request.describe(attempt, end, was_reused)
    var decision = decide_retry(ended, _rules(request, config, is_refused))
    if decision == RetryDecision.ANEW:
        if is_refused:
            request.was_left_behind |= is_left_behind and counts
            request.refusal_count += Int(counts)
        return Repetition(0, not is_refused)
    var is_at_once = is_refused and not request.was_refused
    request.was_refused |= is_refused
    if request.has_policy():
        var left_ms = request.timeouts.total.left_ms()
        ref plan = request.plan()
        if not plan.after_failure(ended, left_ms, at_once=is_at_once):
            return Repetition(_NO, False)
        return Repetition(request.begin_retry(), False)
    if not decision.is_again():
        return Repetition(_NO, False)
    var number = request.refusal_count if is_refused else (
        request.retry_count + 1
    )
    request.refusal_count += Int(is_refused)
    request.retry_count += Int(not is_refused)
    if is_at_once:
        return Repetition(0, False)
    return Repetition(_pause_ms(request, number, config), False)


def _rules(
    request: PreparedRequest, config: ClientConfig, is_refused: Bool
) -> RetryRules:
    """What the policy has chosen, or stands in for it."""
    if request.has_policy():
        return request.plan().rules()
    var most = config.max_retries
    if is_refused:
        most = max(REFUSAL_COUNT_MAX, most)
    return RetryRules(most + 1, True, True, True)


def _pause_ms(
    request: PreparedRequest, number: Int, config: ClientConfig
) -> Int:
    """Decides how long to wait before a repetition; `_NO` if the request would
    be over before."""
    var backoff = Backoff(config.retry_base_ms, config.retry_max_ms)
    var pause_ms = backoff.wait_ms(number, random_word())
    var left_ms = request.timeouts.total.left_ms()
    return _NO if left_ms >= 0 and pause_ms >= left_ms else pause_ms


def end_of(
    error: ClientError, *, has_response: Bool, fate: AttemptEnd
) -> AttemptEnd:
    """Tells what has come of an attempt that failed, for the rules."""
    var phase = error.phase
    if phase == Phase.REQUEST:
        # What cannot be sent is not sent again, whatever the connection does.
        return AttemptEnd.HOPELESS
    if fate.is_untouched():
        return fate
    if phase == Phase.QUEUE:
        # What is known of an attempt is of the one before.
        return AttemptEnd.HOPELESS
    if has_response or fate == AttemptEnd.BEGUN:
        return AttemptEnd.BEGUN
    var is_cut_off = phase == Phase.TLS and (
        not error.tls_kind or error.tls_kind.value() == ClosedEarly
    )
    if error.kind == SourceFailed or not (is_cut_off or is_transient(error)):
        return AttemptEnd.HOPELESS
    if phase != Phase.WRITE and phase != Phase.READ_HEAD:
        return AttemptEnd.NO_CONNECTION
    if error.kind == Timeout:
        return AttemptEnd.SILENT
    if error.kind == StreamReset:
        return AttemptEnd.SPOILED
    return AttemptEnd.LOST


def is_transient(error: ClientError) -> Bool:
    """Tells whether a failure may be gone on the next attempt. A name that does
    not exist is none, and what a proxy does not allow it does not allow then."""
    if error.detail == NameNotFound or error.detail == NameRefused:
        return False
    if error.kind == ProxyRefused and not _may_pass(error.status):
        return False
    var phase = error.phase
    return (
        phase == Phase.RESOLVE
        or phase == Phase.CONNECT
        or phase == Phase.PROXY
        or phase == Phase.WRITE
        or phase == Phase.READ_HEAD
    )


def _may_pass(status: Status) -> Bool:
    """Tells whether a refusal may be about the moment: one of the class that
    blames the client is not, but for 408, 425 and 429 (RFC 9110 section 15.5)."""
    return (
        status < 400
        or status >= 500
        or status == 408
        or status == 425
        or status == 429
    )
