"""Where one request is, of all upstreams, and where it has been."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.client.connect.error import (
    ClientError,
    MalformedResponse,
    Phase,
    ResponseTooLarge,
)
from flare.http.message.response import Response
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.next_attempt import as_counted
from flare.http.proxy.upstreams.proxy_config import ProxyShared
from flare.http.proxy.upstreams.upstream_group import MemberId, Waiter
from flare.http.proxy.upstreams.upstreams import Pick, Upstream
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryDecision,
    is_idempotent,
)
from flare.http.handler.failure import refusal
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.net.error import ConnectionTimeout, Timeout
from flare.sys.clock import monotonic_ns
from flare.sys.log import log_line
from flare.tls.error import (
    CertificateExpired,
    CertificateNotYetValid,
    CertificateRejected,
    CertificateRevoked,
    IncompleteChain,
    RevocationUnknown,
    SelfSigned,
    TlsErrorKind,
    UnknownIssuer,
    WrongHost,
)
from std.memory import ArcPointer


@fieldwise_init
struct PlaceState(Equatable, TrivialRegisterPassable):
    """Where a request is."""

    var _number: UInt8

    comptime NOWHERE = PlaceState(0)
    """At no upstream: none was chosen yet, or the last attempt has ended."""
    comptime WAITING = PlaceState(1)
    """In the line of a worker, until an upstream has room."""
    comptime THERE = PlaceState(2)
    """At an upstream, which has to be told how the attempt ends."""


struct Placement(Movable):
    """An upstream that is chosen for a request, and told of how it ends."""

    var method_name: String
    var key: UInt64
    """What the upstream is chosen by, if it is by a key."""
    var member: MemberId
    var upstream: Optional[ArcPointer[Upstream]]
    """Where it is; nothing before the first choice."""
    var facts: ArcPointer[UpstreamFacts]
    """What is to be told of the upstream."""
    var logs_errors: Bool
    var _shared: ArcPointer[ProxyShared]
    # Those that have failed the request, the present one included.
    var _tried: UInt64
    var _state: PlaceState
    var _refusal: Outcome
    # Where it waits for an upstream, and as whom.
    var _line: Int
    var _token: UInt64
    # When the attempt has begun.
    var _began_ns: Int

    def __init__(
        out self,
        shared: ArcPointer[ProxyShared],
        method_name: StringSpan,
        var facts: ArcPointer[UpstreamFacts],
    ):
        """Takes facts that nobody else has."""
        self.method_name = text_of(method_name.as_bytes())
        self.key = 0
        self.member = MemberId(0, False, 0)
        self.upstream = None
        self.facts = facts^
        self.logs_errors = True
        self._shared = shared.copy()
        self._tried = 0
        self._state = PlaceState.NOWHERE
        self._refusal = Outcome.ANSWERED
        self._line = 0
        self._token = 0
        self._began_ns = 0

    def __deinit__(deinit self):
        """Tells the upstream of a request that nobody has waited for."""
        if self._state == PlaceState.WAITING:
            self._shared[].upstreams.stop_waiting(self._line, self._token)
        elif self._state == PlaceState.THERE:
            self._shared[].upstreams.finish(self.member, Outcome.CANCELLED, 0)

    def choose(mut self) -> Bool:
        """Chooses an upstream for the next attempt; False if there is none, and
        `no_upstream` answers."""
        return self.take(self._shared[].upstreams.choose(self.key, self._tried))

    def is_full(self) -> Bool:
        """Tells whether there was no upstream since all are busy, so that it
        may be worth to `wait`."""
        return self._refusal == Outcome.FULL

    def wait(mut self, line: Int, token: UInt64) -> Bool:
        """Waits until an upstream has room, in the line of a worker that knows
        the request by a token. False if it may not; else `take` or
        `stop_waiting` ends it."""
        if not self._shared[].upstreams.wait(Waiter(line, token, self.key)):
            return False
        self._state = PlaceState.WAITING
        self._line = line
        self._token = token
        return True

    def end_wait(mut self) -> Bool:
        """Ends the wait, whose time is over, with a last try; False if there is
        no upstream even now, and `no_upstream` answers."""
        return self.take(
            self._shared[].upstreams.end_wait(self._line, self._token)
        )

    def stop_waiting(mut self):
        """Ends the wait, if there is one."""
        if self._state == PlaceState.WAITING:
            self._shared[].upstreams.stop_waiting(self._line, self._token)
            self._state = PlaceState.NOWHERE

    def take(mut self, var pick: Pick) -> Bool:
        """Goes where a pick says, which may be one that was waited for; False if
        that is nowhere, and `no_upstream` answers."""
        if not pick.choice.is_member():
            self._state = PlaceState.NOWHERE
            self._refusal = pick.choice.refusal
            return False
        self.member = pick.choice.member
        self.upstream = pick.upstream.copy()
        self._tried |= self.member.bit()
        self._state = PlaceState.THERE
        self._began_ns = monotonic_ns()
        ref facts = self.facts[]
        facts.upstream = self.upstream.held()[].name
        facts.status = 0
        facts.attempt_count += 1
        facts.connect_us = 0
        facts.head_us = -1
        return True

    def note_connected(mut self):
        """Takes note of a connection that the attempt has waited for."""
        self.facts[].connect_us = self._elapsed_us()

    def note_head(mut self, status: Int):
        self.facts[].status = status
        self.facts[].head_us = self._elapsed_us()

    def _elapsed_us(self) -> Int:
        return (monotonic_ns() - self._began_ns) // 1_000

    def authority(self) -> String:
        """Tells host and port of the upstream; empty before the first choice."""
        return self.upstream.held()[].authority if self.upstream else String()

    def no_upstream(self) -> Response:
        """Answers in place of upstreams of which none is to be had, and counts
        the request as failed.
        """
        self._shared[].upstreams.count_failed(
            self._refusal, RetryDecision.NO_UPSTREAM
        )
        return gateway_failure(self._refusal, self._shared[].config.rules.via)

    def failed(
        self, outcome: Outcome, decision: RetryDecision, reason: String
    ) -> Response:
        """Makes what is answered in place of the upstream, 502, 503 or 504, and
        logs why there is no other attempt."""
        if self.logs_errors:
            var told_as = String()
            if self.upstream:
                told_as = self.upstream.held()[].told_as
            log_line(
                String(
                    "proxy: ",
                    told_as,
                    ": ",
                    reason,
                    "; not sent again: ",
                    decision.name(),
                    "; answered with ",
                    outcome.client_status(),
                )
            )
        return gateway_failure(outcome, self._shared[].config.rules.via)

    def report(mut self, outcome: Outcome) -> Bool:
        """Tells the upstream how the attempt has ended; only the first time
        counts, and is True."""
        if self._state != PlaceState.THERE:
            return False
        self._state = PlaceState.NOWHERE
        self._shared[].upstreams.finish(
            self.member, outcome, self._elapsed_us()
        )
        return True

    def choose_next(
        mut self, outcome: Outcome, ended: EndedAttempt
    ) -> RetryDecision:
        """Chooses an upstream for another attempt, after `report` of one that
        has ended without an answer. Returns AGAIN if there is one, or why not.
        """
        var counted = as_counted(ended, outcome, self.facts[].attempt_count)
        var repeated = self._shared[].upstreams.repeat(
            outcome, counted, self.key, self._tried
        )
        var decision = repeated.decision
        if decision.is_again():
            _ = self.take(repeated.pick.copy())
        return decision

    def may_lack(self, upgrade: StringSpan) -> Bool:
        """Tells whether the upstream is known to speak HTTP/2 without TLS, and
        may not understand the HTTP/1.1 that a change of the protocol needs. The
        protocol is empty if none is asked for."""
        var is_tls = self.upstream.held()[].endpoint.is_tls
        var is_known = not is_tls and (
            self._shared[].config.http2_prior_knowledge
        )
        return upgrade.byte_length() > 0 and is_known

    def choose_by_status(
        mut self, status: Int, *, content_is_kept: Bool
    ) -> Bool:
        """Tells whether an answer has the request sent again, to an upstream
        that is chosen, which ends the attempt. An answer for which there is no
        other upstream is passed on: better than one of the gateway's own.
        `content_is_kept` if the content is there from its start."""
        ref retried = self._shared[].group.retried_statuses
        if len(retried) == 0:
            return False
        var ended = EndedAttempt(
            AttemptEnd.of_status(status, retried),
            True,
            self.is_idempotent(),
            content_is_kept,
            False,
            self.facts[].attempt_count,
        )
        var repeated = self._shared[].upstreams.replace(
            self.member,
            Outcome.answered(status),
            ended,
            self.key,
            self._tried,
            self._elapsed_us(),
        )
        if not repeated.decision.is_again():
            return False
        return self.take(repeated.pick.copy())

    def note_broken(mut self, outcome: Outcome):
        """Takes note of content that has broken off, of which the client has a
        part; only the first time counts.
        """
        if self.report(outcome):
            self._shared[].upstreams.count_failed(outcome, RetryDecision.BEGUN)

    def is_idempotent(self) -> Bool:
        """Tells whether acting on the request twice is the same as once (RFC
        9110 section 9.2.2)."""
        return is_idempotent(self.method_name)


def reason_over_http1(reason: String) -> String:
    """Explains, for the log, how HTTP/1.1 has failed at an upstream that is
    known to speak HTTP/2."""
    return String(
        "it takes no WebSocket over HTTP/2 (RFC 8441), nor is there another"
        " way over HTTP/1.1: ",
        reason,
    )


def outcome_of_refusal(error: ClientError) -> Outcome:
    """Tells how an attempt has ended that has got no connection, so that
    nothing was sent."""
    var is_late = error.kind == Timeout or error.kind == ConnectionTimeout
    if error.phase == Phase.RESOLVE:
        return Outcome.DNS_TIMEOUT if is_late else Outcome.DNS_FAILED
    if is_late:
        return Outcome.CONNECT_TIMEOUT
    if not error.tls_kind:
        return Outcome.CONNECT_FAILED
    if _is_of_certificate(error.tls_kind.held()):
        return Outcome.BAD_CERTIFICATE
    return Outcome.TLS_FAILED


def outcome_of_failure(error: ClientError, is_silent: Bool) -> Outcome:
    """Tells how an attempt over HTTP/2 has ended that has got no response:
    BAD_RESPONSE for what breaks the rules, HEAD_TIMEOUT for silence, else
    RESET. An upstream that is silent, and does not answer PING, may still be at
    it, as one that takes too long."""
    if is_silent:
        return Outcome.HEAD_TIMEOUT
    if error.kind == MalformedResponse or error.kind == ResponseTooLarge:
        return Outcome.BAD_RESPONSE
    return Outcome.RESET


def _is_of_certificate(kind: TlsErrorKind) -> Bool:
    for one in [
        materialize[CertificateExpired](),
        materialize[CertificateNotYetValid](),
        materialize[CertificateRejected](),
        materialize[CertificateRevoked](),
        materialize[IncompleteChain](),
        materialize[RevocationUnknown](),
        materialize[SelfSigned](),
        materialize[UnknownIssuer](),
        materialize[WrongHost](),
    ]:
        if kind == one:
            return True
    return False


def gateway_failure(outcome: Outcome, via: StringSpan) -> Response:
    """Makes what is answered in place of an upstream, 502, 503 or 504; `via` is
    the gateway's name, for Proxy-Status (RFC 9209)."""
    var response = refusal(
        outcome.client_status(), String(outcome.reason(), "\n")
    )
    try:
        response.headers.set(
            "Proxy-Status", String(via, "; error=", outcome.proxy_error())
        )
    except error:
        # Only for a name of the gateway that is no token.
        log_line(String(error))
    return response^
