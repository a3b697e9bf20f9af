"""What a request to another server waits for, from its beginning to its end.

    NEW --> QUEUED --> CONNECTING --> SENDING <--> FEEDING --> AWAITING --head--+
     |                  ^  ^            |  ^          |                         |
     +------------------+  |            v  | 100,     +--head--> BOTH_WAYS      |
                           |          ASKING no answer               |          v
      PAUSED --------------+                                         +--> CONTENT
        ^-- any attempt that is made anew              any of them, at last --> OVER

A response that begins before all of the request is sent does not end that: both go
on, unless the server wants no more of it. One that comes in place of 100 is all that
there will be, as it is after a request whose sending has broken off.
"""

from flare.bytes.checked import *
from std.builtin.globals import global_constant

comptime CONTINUE_TIMEOUT_MS = 1_000
"""How long 100 (Continue) is waited for, in milliseconds (RFC 9110 section
10.1.1: not for ever)."""

comptime STATUS_MAX = 599
"""The largest status of a class that there is (RFC 9110 section 15)."""


@fieldwise_init
struct RequestPhase(Equatable, TrivialRegisterPassable):
    """What a request waits for."""

    var number: UInt8

    comptime NEW = RequestPhase(0)
    """For its beginning."""
    comptime QUEUED = RequestPhase(1)
    """For a server that has room."""
    comptime PAUSED = RequestPhase(2)
    """For the next attempt."""
    comptime CONNECTING = RequestPhase(3)
    """For a connection, or a stream of one."""
    comptime SENDING = RequestPhase(4)
    """For the server, to take the request."""
    comptime FEEDING = RequestPhase(5)
    """For more content to send."""
    comptime ASKING = RequestPhase(6)
    """For 100 (Continue)."""
    comptime AWAITING = RequestPhase(7)
    """For the response."""
    comptime BOTH_WAYS = RequestPhase(8)
    """For content of the response, and for the rest of the request to go."""
    comptime CONTENT = RequestPhase(9)
    """For content of the response, or somebody to take it."""
    comptime OVER = RequestPhase(10)
    """For nothing."""

    comptime COUNT = 11

    def is_sending(self) -> Bool:
        """Tells whether more of the request is to be sent, and nothing of the
        response is known.
        """
        return self == Self.SENDING or self == Self.FEEDING

    def may_have_head(self) -> Bool:
        """Tells whether the head of the response may come: once the request has
        a connection, until the head is there."""
        return Self.SENDING.number <= self.number <= Self.AWAITING.number

    def may_be_late(self) -> Bool:
        """Tells whether the server is waited for, so that the end of the time
        is the end of the attempt: from the connection to the head of the
        response, while nobody else is waited for."""
        return (
            self == Self.CONNECTING
            or self == Self.SENDING
            or self == Self.AWAITING
        )

    def has_head(self) -> Bool:
        """Tells whether content of the response comes: after its head, until
        it is complete."""
        return self == Self.BOTH_WAYS or self == Self.CONTENT


@fieldwise_init
struct RequestEvent(Equatable, TrivialRegisterPassable):
    """What happens to a request."""

    var number: UInt8

    comptime QUEUE = RequestEvent(0)
    """No server has room for it."""
    comptime BEGIN = RequestEvent(1)
    """An attempt begins."""
    comptime PAUSE = RequestEvent(2)
    """The next attempt begins in a moment."""
    comptime OPEN = RequestEvent(3)
    """There is a connection, or a stream."""
    comptime BLOCKED = RequestEvent(4)
    """The server takes no more now."""
    comptime DRY = RequestEvent(5)
    """All that is there is sent, and more content will come."""
    comptime ASKED = RequestEvent(6)
    """The head is sent, and no content, which waits for 100 (Continue)."""
    comptime SENT = RequestEvent(7)
    """All of it is sent, or no more is wanted."""
    comptime CONTINUE = RequestEvent(8)
    """The server wants the content, or has not said so in time."""
    comptime HEAD = RequestEvent(9)
    """The head of the response has come, and content will."""
    comptime REFUSAL = RequestEvent(10)
    """The same, and the server wants no more of the request."""
    comptime END = RequestEvent(11)
    """The response is complete, or nobody waits for it any more."""
    comptime BROKEN = RequestEvent(12)
    """The connection takes nothing any more; a response may be there all the
    same (RFC 9112 section 9.5)."""

    comptime COUNT = 13


comptime _NEVER = UInt8(255)


struct _Table:
    """The phase after each event, by the phase before."""

    var after: Array[UInt8, RequestPhase.COUNT * RequestEvent.COUNT]

    def __init__(out self):
        self.after = Array[UInt8, RequestPhase.COUNT * RequestEvent.COUNT](
            fill=_NEVER
        )

    def row(
        mut self, before: RequestPhase, event: RequestEvent, after: RequestPhase
    ):
        self.after[_place(before, event)] = after.number


def _place(phase: RequestPhase, event: RequestEvent) -> Int:
    return Int(phase.number) * RequestEvent.COUNT + Int(event.number)


def _made_table() -> Array[UInt8, RequestPhase.COUNT * RequestEvent.COUNT]:
    comptime P = RequestPhase
    comptime E = RequestEvent
    var table = _Table()
    table.row(P.NEW, E.QUEUE, P.QUEUED)
    table.row(P.NEW, E.BEGIN, P.CONNECTING)
    table.row(P.QUEUED, E.BEGIN, P.CONNECTING)
    table.row(P.PAUSED, E.BEGIN, P.CONNECTING)
    table.row(P.CONNECTING, E.OPEN, P.SENDING)
    # What was sent to one server, or not even that, goes to another.
    for number in range(Int(P.CONNECTING.number), Int(P.AWAITING.number) + 1):
        var phase = P(UInt8(number))
        table.row(phase, E.BEGIN, P.CONNECTING)
        table.row(phase, E.PAUSE, P.PAUSED)
    for phase in [P.SENDING, P.FEEDING]:
        table.row(phase, E.BLOCKED, P.SENDING)
        table.row(phase, E.DRY, P.FEEDING)
        table.row(phase, E.ASKED, P.ASKING)
        table.row(phase, E.SENT, P.AWAITING)
        table.row(phase, E.BROKEN, P.AWAITING)
        table.row(phase, E.CONTINUE, phase)
        table.row(phase, E.HEAD, P.BOTH_WAYS)
        table.row(phase, E.REFUSAL, P.CONTENT)
    table.row(P.ASKING, E.CONTINUE, P.SENDING)
    for phase in [P.ASKING, P.AWAITING]:
        table.row(phase, E.HEAD, P.CONTENT)
        table.row(phase, E.REFUSAL, P.CONTENT)
    table.row(P.AWAITING, E.CONTINUE, P.AWAITING)
    table.row(P.BOTH_WAYS, E.BLOCKED, P.BOTH_WAYS)
    table.row(P.BOTH_WAYS, E.DRY, P.BOTH_WAYS)
    table.row(P.BOTH_WAYS, E.SENT, P.CONTENT)
    # The server has answered without the content that it was asked about.
    table.row(P.BOTH_WAYS, E.ASKED, P.CONTENT)
    table.row(P.BOTH_WAYS, E.BROKEN, P.CONTENT)
    for number in range(RequestPhase.COUNT):
        table.row(P(UInt8(number)), E.END, P.OVER)
    return table.after.copy()


comptime _TABLE = _made_table()


def phase_after(phase: RequestPhase, event: RequestEvent) -> RequestPhase:
    """Tells what a request waits for after an event; `happens` tells whether
    that may be. The phase is the same if it does not happen in it."""
    var number = global_constant[_TABLE]().at(_place(phase, event))
    debug_assert(number != _NEVER, "not in this phase")
    return phase if number == _NEVER else RequestPhase(number)


def happens(phase: RequestPhase, event: RequestEvent) -> Bool:
    """Tells whether an event may happen while a request waits so."""
    return global_constant[_TABLE]().at(_place(phase, event)) != _NEVER
