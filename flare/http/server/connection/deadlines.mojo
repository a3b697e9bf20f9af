"""Until when a connection, or a stream of one, waits: by what it waits for, whichever
version it speaks. Neither socket nor clock is known here.

Each wait has one limit, named as in `ServerConfig`. What moves meanwhile gives the
peer more time by one rule, over either version.
"""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.phase import (
    FRESH_GRACE_MS,
    Phase,
    StreamPhase,
)

comptime HALF_CLOSED_MS = 2_000
"""How long one who has ended its own side after a single request may wait for
the head of a deferred answer, or for the next of content that has to be waited
for. Those who leave look the same until something is sent to them, and an upstream
works for them meanwhile."""

comptime WAIT_FACTOR = 4
"""The total is this many times `write_timeout_ms`: a client may let several
streams run into that one after the other, as a browser does whose user pauses
videos, and goes on by taking something else."""


@fieldwise_init
struct Wait(Equatable, TrivialRegisterPassable):
    """What is waited for."""

    var number: UInt8

    comptime NOTHING = Wait(0)
    """Nothing that could be late: our own turn, what others wait for, or a
    source, which is asked when it wants to be."""
    comptime HANDSHAKE = Wait(1)
    comptime HEAD = Wait(2)
    """The rest of a head; over HTTP/2 of a frame, or of a field block."""
    comptime CONTENT = Wait(3)
    comptime HANDLER = Wait(4)
    comptime CLIENT = Wait(5)
    """The client, to take what it is sent, or to open a window for it."""
    comptime CLIENT_IN_ALL = Wait(6)
    """The same, over all streams of a connection together."""
    comptime NEXT_REQUEST = Wait(7)
    comptime LAST_REQUEST = Wait(8)
    """One that may be on its way to a connection that is to end."""
    comptime GOODBYE = Wait(9)
    """The client, to read the last response."""
    comptime SETTINGS = Wait(10)
    """The client, to acknowledge ours."""
    comptime HALF_CLOSED = Wait(11)
    """A handler that answers later, where the client may have gone."""

    comptime COUNT = 12


@always_inline
def wait_of(phase: Phase) -> Wait:
    """Tells what a connection waits for; that of HTTP/2 for what its streams do."""
    if phase == Phase.IDLE:
        return Wait.NEXT_REQUEST
    if phase == Phase.HEAD or phase == Phase.PROXY:
        return Wait.HEAD
    if phase == Phase.BODY:
        return Wait.CONTENT
    if phase == Phase.WRITE:
        return Wait.CLIENT
    if phase == Phase.HANDLER:
        return Wait.HANDLER
    if phase == Phase.HANDSHAKE:
        return Wait.HANDSHAKE
    if phase == Phase.LINGER:
        return Wait.GOODBYE
    return Wait.NOTHING


@always_inline
def wait_of(phase: StreamPhase) -> Wait:
    """Tells what a stream of HTTP/2 waits for."""
    if phase == StreamPhase.CLIENT or phase == StreamPhase.READER:
        return Wait.CONTENT
    if phase == StreamPhase.HANDLER:
        return Wait.HANDLER
    if phase == StreamPhase.SHUT:
        return Wait.CLIENT
    return Wait.NOTHING


@always_inline
def limit_ms(wait: Wait, config: ServerConfig, own_ms: Int = NEVER) -> Int:
    """Tells how long something is waited for, if nothing moves. `own_ms` is what
    a handler's policy, or the configuration of TLS, says of it."""
    if wait == Wait.HEAD:
        return config.header_timeout_ms
    if wait == Wait.CONTENT:
        return config.body_timeout_ms
    if wait == Wait.CLIENT:
        return config.write_timeout_ms
    if wait == Wait.CLIENT_IN_ALL:
        return WAIT_FACTOR * config.write_timeout_ms
    if wait == Wait.NEXT_REQUEST:
        return config.idle_timeout_ms
    if wait == Wait.LAST_REQUEST:
        return FRESH_GRACE_MS
    if wait == Wait.GOODBYE:
        return config.linger_timeout_ms
    if wait == Wait.SETTINGS:
        return config.http2_limits.settings_timeout_ms
    if wait == Wait.HALF_CLOSED:
        return HALF_CLOSED_MS
    if wait == Wait.HANDLER or wait == Wait.HANDSHAKE:
        return own_ms
    return NEVER


@always_inline
def deadline_of(
    wait: Wait,
    start_ms: Int,
    config: ServerConfig,
    *,
    received_len: Int = 0,
    own_ms: Int = NEVER,
) -> Int:
    """Tells until when something is waited for that is waited for since
    `start_ms`, and of which, if it is content, so much has come; `own_ms` as for
    `limit_ms`."""
    var limit = limit_ms(wait, config, own_ms)
    if limit == NEVER:
        return NEVER
    if wait == Wait.CONTENT:
        limit += earned_ms(received_len, config.min_body_rate)
    return start_ms + limit


def earned_ms(moved_len: Int, rate: Int) -> Int:
    """Tells how much longer a peer may take for octets that have moved, rounded
    down. A rate, in octets a second, of 0 gives no time."""
    if moved_len == 0 or rate <= 0:
        # Most often nothing has come when a request begins: no division then.
        return 0
    return moved_len * 1_000 // rate


struct TakingClock(TrivialRegisterPassable):
    """Until when a client must have taken what waits for it. What it takes puts
    that off, at `min_send_rate`, so that nobody saves time up: no further than a
    wait that begins now would last."""

    var end_ms: Int
    """When it is over; `NEVER` while nothing waits."""
    var _counted_len: Int
    """What has earned time already, in bytes."""

    def __init__(out self, end_ms: Int = NEVER):
        self.end_ms = end_ms
        self._counted_len = 0

    @always_inline
    def waits(self) -> Bool:
        return self.end_ms != NEVER

    def prolong(
        mut self, wait: Wait, taken_len: Int, now_ms: Int, config: ServerConfig
    ) -> Bool:
        """Gives the client the time that it has earned by what it has taken since
        the clock was made; False if none is left. An octet earns time once."""
        var rate = config.min_send_rate
        var fresh_ms = earned_ms(max(taken_len - self._counted_len, 0), rate)
        # Rounded up: time is not earned twice for one octet.
        self._counted_len += (fresh_ms * rate + 999) // 1_000
        self.end_ms = min(
            self.end_ms + fresh_ms, deadline_of(wait, now_ms, config)
        )
        return self.end_ms > now_ms
