"""How long an upstream is waited for, and what is said of one that takes longer.
"""

from flare.bytes.never import NEVER
from flare.http.exchange.request_phase import (
    CONTINUE_TIMEOUT_MS,
    RequestPhase,
)
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.proxy_config import ProxyConfig
from flare.sys.clock import coarse_monotonic_ms

comptime UNBOUNDED_MS = -1
"""No time of one's own: somebody else's ends it, if any."""


struct HeadTime(TrivialRegisterPassable):
    """When the head of a response has to be there: counted from when all of the
    request was sent for the first time, on however many connections."""

    var _due_ms: Int

    def __init__(out self):
        self._due_ms = NEVER

    def begin(mut self, head_timeout_ms: Int):
        """Begins, unless it has."""
        if self._due_ms == NEVER:
            self._due_ms = coarse_monotonic_ms() + head_timeout_ms

    def late_phase(self, phase: RequestPhase, now_ms: Int) -> RequestPhase:
        """Tells what a request in a phase has waited for whose deadline is over:
        the head of the response if this time is over, whatever it does just now.
        """
        if now_ms >= self._due_ms:
            return RequestPhase.AWAITING
        return phase

    def deadline_ms(self, wait_ms: Int) -> Int:
        """Tells until when something may be waited for before: for `wait_ms`, or
        `UNBOUNDED_MS`, but not beyond this time."""
        if wait_ms == UNBOUNDED_MS:
            return self._due_ms
        return min(self._due_ms, coarse_monotonic_ms() + wait_ms)


def wait_ms(phase: RequestPhase, config: ProxyConfig) -> Int:
    """Tells how long a request may wait in a phase, but for what `HeadTime`
    says; `UNBOUNDED_MS` where somebody else has a time for it: the connection that
    is being opened, or the client."""
    if phase == RequestPhase.SENDING:
        return config.write_timeout_ms
    if phase == RequestPhase.ASKING:
        return min(CONTINUE_TIMEOUT_MS, config.head_timeout_ms)
    return UNBOUNDED_MS


def outcome_of_late(phase: RequestPhase) -> Outcome:
    """Tells how an attempt has ended whose time is over."""
    if phase == RequestPhase.CONNECTING:
        return Outcome.CONNECT_TIMEOUT
    if phase == RequestPhase.SENDING:
        return Outcome.SEND_TIMEOUT
    return Outcome.HEAD_TIMEOUT


def reason_of_late(phase: RequestPhase, config: ProxyConfig) -> String:
    """Explains it, for the log."""
    if phase == RequestPhase.CONNECTING:
        return String("no stream within ", config.connect_timeout_ms, " ms")
    if phase == RequestPhase.SENDING:
        return String("it took nothing for ", config.write_timeout_ms, " ms")
    return String("no answer within ", config.head_timeout_ms, " ms")
