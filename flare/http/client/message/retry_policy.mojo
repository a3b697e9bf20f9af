"""How often a request is sent again, when, and why not, by the program's choice.
"""

from flare.bytes.checked import *
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryDecision,
    RetryRules,
    decide_retry,
    RetryBudget,
)
from flare.http.message.date import parse_retry_after
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status
from flare.sys.backoff import Backoff
from flare.sys.clock import unix_seconds
from flare.sys.random import random_word
from std.atomic import Atomic
from std.builtin.globals import global_constant
from std.memory import ArcPointer

comptime ATTEMPTS_MAX = 100
"""Most attempts that a policy may allow."""

comptime PAUSE_MS_MAX = 86_400_000
"""Longest pause that a policy may allow, in milliseconds: a day. Two of them
together, with what a server asks for, are still a time that a clock counts."""

comptime RETRY_AFTER_MS_MAX = 30_000
"""Longest Retry-After that is waited for unless it is said otherwise, in
milliseconds: as long as a person waits, and more than most servers ask for."""

comptime _GOLDEN = UInt64(0x9E3779B97F4A7C15)


struct JitterSource(ImplicitlyCopyable):
    """Random numbers for pauses, and for no secrets. Copies draw from the same
    numbers, on all threads."""

    var _state: ArcPointer[Atomic[UInt64]]

    def __init__(out self, seed: UInt64):
        """Begins with a seed, so that tests can foretell the pauses.

        Args:
            seed: Any number.
        """
        self._state = ArcPointer(Atomic[UInt64](seed))

    @staticmethod
    def from_system() -> Self:
        """Begins with random octets of the system.

        Returns:
            A source that differs from all others.
        """
        return Self(random_word())

    def next(self) -> UInt64:
        """Gives the next number, of any bits (SplitMix64)."""
        var mixed = self._state[].fetch_add(_GOLDEN) + _GOLDEN
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
        return mixed ^ (mixed >> 31)


struct RetryPolicy(Copyable, Movable):
    """When a request is sent again that has failed, or was answered with a
    status that asks for it.

        var config = ClientConfig()
        config.retries = RetryPolicy(max_attempts=4)
        var client = SharedClient("https://api.example.com", config=config^)

    A request with which a server has not begun (REFUSED_STREAM, or beyond the last
    stream of a GOAWAY: RFC 9113 section 8.7) is repeated whatever its method, the
    first time at once; that counts as an attempt and in the budget. Where a
    connection goes away on which others were served, a request is sent anew
    once without that, as one on a connection that went stale in the pool.

    Whatever the numbers say: else a request is repeated only if its method is
    idempotent (RFC 9110 section 9.2.2), or nothing of it was sent, or
    `ClientRequest.is_repeatable` says that twice means once; never when its
    content came from a source that has been read from, nor once the caller has
    the head of a response, nor beyond the total time of the request, which all
    attempts share. Copies of a policy have the same budget and the same source
    of jitter.
    """

    var max_attempts: Int
    """Most times that the request is sent, the first included; 1 to 100.
    Default 3."""
    var base_pause_ms: Int
    """Longest pause before the second attempt; it doubles for each other. How
    long it is, from 0 up to that, is random ("full jitter"). Default 200 ms."""
    var max_pause_ms: Int
    """Longest pause before any attempt, without Retry-After. Default 5 s."""
    var max_retry_after_ms: Int
    """Longest Retry-After (RFC 9110 section 10.2.3) that is waited for: a pause
    is so long and then a random part. A response that asks for more is the
    final one. Default 30 s."""
    var retried_statuses: List[Int]
    """Statuses that are no final answer while another attempt is allowed.
    Default 429, 502, 503 and 504."""
    var retries_connects: Bool
    """True to repeat what did not get as far as a connection: names of which no
    server tells, hosts and proxies that cannot be reached, a TLS handshake that
    was cut off. What a certificate does wrong is not repeated, nor a name that
    does not exist, nor what a proxy does not allow (4xx but for 408, 425 and
    429). Default True."""
    var retries_losses: Bool
    """True to repeat what was sent, when the connection or the stream ended
    before any octet of an answer. Default True."""
    var retries_timeouts: Bool
    """True to repeat what was sent, when no octet of an answer came in
    `read_timeout_ms`. The server may still be at it. Default True."""
    var trusts_idempotency_key: Bool
    """True if servers act once on requests with the same Idempotency-Key field:
    then such a request may be repeated, whatever its method. Default False."""
    var budget: RetryBudget
    """How many repetitions all requests with this policy have together. Default
    20 for 100 requests, and 10 beyond that."""
    var jitter: JitterSource
    """Where the random part of pauses comes from."""

    def __init__(
        out self,
        max_attempts: Int = 3,
        *,
        budget: Optional[RetryBudget] = None,
        jitter: Optional[JitterSource] = None,
    ):
        """Makes a policy: 429, 502, 503, 504 and all failures that may pass are
        repeated, with pauses of up to 200 ms, 400 ms and so on. Unless they are
        given, it has a budget of its own, and a source of jitter that begins
        with random octets of the system."""
        self.max_attempts = max_attempts
        self.base_pause_ms = 200
        self.max_pause_ms = 5_000
        self.max_retry_after_ms = RETRY_AFTER_MS_MAX
        self.retried_statuses = [429, 502, 503, 504]
        self.retries_connects = True
        self.retries_losses = True
        self.retries_timeouts = True
        self.trusts_idempotency_key = False
        self.budget = budget.value() if budget else RetryBudget()
        self.jitter = jitter.value() if jitter else JitterSource.from_system()

    @no_inline
    def __deinit__(deinit self):
        return

    def knows_repetition(self, headers: HeaderMap) -> Bool:
        """Tells whether the server knows a request by its key when it comes
        again: it has an Idempotency-Key, not empty, and that is trusted.

        Args:
            headers: The request's fields.
        """
        if not self.trusts_idempotency_key:
            return False
        var key = headers.find("idempotency-key")
        return key >= 0 and headers.value(key).byte_length() > 0

    def problem(self) -> String:
        """Tells which numbers cannot work; the rest is as for
        `ClientConfig.problem`."""
        if self.max_attempts < 1 or self.max_attempts > ATTEMPTS_MAX:
            return String(
                "RetryPolicy.max_attempts: ",
                self.max_attempts,
                "; allow 1 (for none but the first) to ",
                ATTEMPTS_MAX,
            )
        for pause_ms in [
            self.base_pause_ms,
            self.max_pause_ms,
            self.max_retry_after_ms,
        ]:
            if pause_ms < 0 or pause_ms > PAUSE_MS_MAX:
                return String(
                    "RetryPolicy: one of the pauses is ",
                    pause_ms,
                    " ms; allow 0 to ",
                    PAUSE_MS_MAX,
                    ", a day",
                )
        for status in self.retried_statuses:
            if status < 400 or status > 599:
                return String(
                    "RetryPolicy.retried_statuses: ",
                    status,
                    " is no refusal; allow 400 to 599",
                )
        return self.budget.problem()


@fieldwise_init
struct RetryEnd(Equatable, TrivialRegisterPassable):
    """Why a request was not sent again."""

    var number: UInt8
    """The case."""

    comptime NONE = RetryEnd(0)
    """There was no need."""
    comptime ATTEMPTS = RetryEnd(1)
    """It was sent as often as it may."""
    comptime METHOD = RetryEnd(2)
    """The server may have acted on it, and acting twice is not the same."""
    comptime CONTENT = RetryEnd(3)
    """Its content came from a source, and is not there any more."""
    comptime BUDGET = RetryEnd(4)
    """Too many requests are sent more than once."""
    comptime TIME = RetryEnd(5)
    """Its total time would be over before the next attempt."""
    comptime RETRY_AFTER = RetryEnd(6)
    """The server asks for a longer pause than is allowed."""
    comptime FAILURE = RetryEnd(7)
    """Such a failure is not repeated."""
    comptime ANSWERED = RetryEnd(8)
    """The server had begun to answer."""

    def reason(self) -> StaticString:
        """Tells in words why, and what would allow more; empty for NONE."""
        return global_constant[_REASONS]().at(Int(self.number))


comptime _REASONS: Array[StaticString, 9] = [
    "",
    "RetryPolicy.max_attempts allows no more",
    (
        "the server may have acted on it, and the method is not idempotent; see"
        " ClientRequest.is_repeatable"
    ),
    "its streamed content cannot be sent again",
    "RetryPolicy.budget has no repetition left",
    "the total time would be over before another",
    "Retry-After is more than RetryPolicy.max_retry_after_ms",
    "RetryPolicy does not repeat such a failure",
    "the server had begun to answer",
]

comptime NOT_PLANNED = -1
"""No repetition is planned."""


struct RetryPlan(Movable):
    """What a policy says of one request: no clock of its own, and no socket."""

    var policy: RetryPolicy
    var attempt_count: Int
    """How many attempts there were, the one under way included."""
    var end: RetryEnd
    """Why it is not sent again."""
    var pause_ms: Int
    """How long to wait before the attempt that is planned, in milliseconds, or
    `NOT_PLANNED`."""

    def __init__(out self, var policy: RetryPolicy):
        """Begins with the first attempt, which the budget counts."""
        policy.budget.note_request()
        self.policy = policy^
        self.attempt_count = 1
        self.end = RetryEnd.NONE
        self.pause_ms = NOT_PLANNED

    def rules(self) -> RetryRules:
        return RetryRules(
            self.policy.max_attempts,
            self.policy.retries_connects,
            self.policy.retries_losses,
            self.policy.retries_timeouts,
        )

    def after_response(
        mut self,
        var attempt: EndedAttempt,
        status: Status,
        headers: HeaderMap,
        left_ms: Int,
    ) -> Bool:
        """Decides whether a request that was answered is sent again: an attempt
        is planned, and the response is not the final one. `attempt` is what is
        known of it, whatever has come of it; `left_ms` is as for
        `after_failure`."""
        attempt.end = AttemptEnd.of_status(
            Int(status.code), self.policy.retried_statuses
        )
        if attempt.end == AttemptEnd.ANSWERED:
            return self._ends(RetryEnd.NONE)
        var after_ms = retry_after_ms(headers, unix_seconds())
        if after_ms > self.policy.max_retry_after_ms:
            return self._ends(RetryEnd.RETRY_AFTER)
        return self.after_failure(attempt, left_ms, least_ms=max(after_ms, 0))

    def _ends(mut self, end: RetryEnd) -> Bool:
        self.end = end
        return False

    def after_failure(
        mut self,
        attempt: EndedAttempt,
        left_ms: Int,
        *,
        least_ms: Int = 0,
        at_once: Bool = False,
    ) -> Bool:
        """Decides whether a request is sent again: an attempt is planned, after
        a pause of `least_ms` and a random part. `left_ms` is what is left of the
        request's time, negative for ever."""
        var decision = decide_retry(attempt, self.rules())
        if not decision.is_again():
            return self._ends(self._reason(decision, attempt))
        var backoff = Backoff(
            self.policy.base_pause_ms, self.policy.max_pause_ms
        )
        var pause_ms = least_ms + backoff.spread_ms(
            self.attempt_count, self.policy.jitter.next()
        )
        if at_once:
            pause_ms = 0
        if left_ms >= 0 and pause_ms >= left_ms:
            return self._ends(RetryEnd.TIME)
        if not self.policy.budget.take():
            return self._ends(RetryEnd.BUDGET)
        self.pause_ms = pause_ms
        return True

    def _reason(
        self, decision: RetryDecision, attempt: EndedAttempt
    ) -> RetryEnd:
        """Says why there is no attempt; what the program can choose is said
        before what it cannot."""
        if decision == RetryDecision.BEGUN:
            return RetryEnd.ANSWERED
        if decision == RetryDecision.TOO_MANY_ATTEMPTS:
            return RetryEnd.ATTEMPTS
        if decision == RetryDecision.FAILURE:
            return RetryEnd.FAILURE
        if not self.rules().covers(attempt.end):
            return RetryEnd.FAILURE
        return RetryEnd.METHOD if attempt.is_kept else RetryEnd.CONTENT

    def is_planned(self) -> Bool:
        """Tells whether another attempt follows, until `begin_pause`."""
        return self.pause_ms != NOT_PLANNED

    def begin_pause(mut self) -> Int:
        """Counts the attempt that was planned. Returns how many milliseconds to
        wait before it."""
        var pause_ms = self.pause_ms
        self.pause_ms = NOT_PLANNED
        self.attempt_count += 1
        return pause_ms


def retry_after_ms(headers: HeaderMap, now_s: Int) -> Int:
    """Reads Retry-After (RFC 9110 section 10.2.3) as milliseconds from now,
    which is in seconds since 1970-01-01 00:00:00 UTC; -1 if the server does not
    say."""
    var index = headers.find("retry-after")
    if index < 0:
        return -1
    var after_s = parse_retry_after(headers.value(index).as_bytes(), now_s)
    return after_s * 1_000 if after_s >= 0 else -1
