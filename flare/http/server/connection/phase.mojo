"""The life of a connection as a table: `(phase, event) -> (phase, action)`.

The table is pure. `Connection` alone goes by it, and a build with
`-D ASSERT=all` aborts where something happens that the table does not know.
"""

from flare.bytes.checked import *
from std.sys import get_defined_string

comptime CHECKS_PHASES = get_defined_string["ASSERT", "safe"]() == "all"
"""True in a build with `-D ASSERT=all`."""

comptime NEVER_MS = Int.MAX
"""A time that never comes."""

comptime FRESH_GRACE_MS = 1_000
"""How long a connection that is to end waits for a request which may be on its
way."""


struct Phase(Equatable, TrivialRegisterPassable, Writable):
    """What a connection waits for."""

    var number: UInt8
    """The row of the table."""

    comptime IDLE = Phase(0)
    """The next request; none is here."""
    comptime HEAD = Phase(1)
    """A request's head: the first, or one of which a part is here."""
    comptime BODY = Phase(2)
    """A request's content."""
    comptime WRITE = Phase(3)
    """The client, to take what is to be sent."""
    comptime HANDLER = Phase(4)
    """A handler on another thread, which has the request."""
    comptime HANDSHAKE = Phase(5)
    """The TLS handshake."""
    comptime SOURCE = Phase(6)
    """The source of a response's content, which has nothing yet."""
    comptime LINGER = Phase(7)
    """The client, to read what was sent last. All is sent and the own direction
    ended: from here on, what comes is no request."""
    comptime PROXY = Phase(8)
    """The header in which a proxy announces its client."""
    comptime CLOSED = Phase(9)
    """Nothing: there is no connection."""
    comptime STREAMS = Phase(10)
    """Whatever its streams wait for, of a connection that speaks HTTP/2."""

    comptime COUNT = 11
    """How many phases there are."""

    @always_inline
    def __init__(out self, number: UInt8):
        self.number = number

    @always_inline
    def reads_requests(self) -> Bool:
        """Tells whether octets that come are a request's, or belong to the
        protocol that follows one."""
        return self.number < Self.LINGER.number

    def write_to(self, mut writer: Some[Writer]):
        comptime NAMES = StaticString(
            "idle     head     body     write    handler  handshakesource  "
            " linger   proxy    closed   streams  "
        )
        var start = Int(self.number) * 9
        writer.write(NAMES[byte = start : start + 9].strip())


struct Event(Equatable, TrivialRegisterPassable):
    """What happens to a connection."""

    var number: UInt8
    """The column of the table."""

    comptime ACCEPTED = Event(0)
    """A client has come."""
    comptime TLS_BEGUN = Event(1)
    """TLS is spoken, beginning with the handshake."""
    comptime PROXY_NAMED = Event(2)
    """The client is a proxy, and its header comes before anything else."""
    comptime PROXY_READ = Event(3)
    """That header is read, and plain HTTP follows."""
    comptime HANDSHAKE_DONE = Event(4)
    """The TLS handshake is complete."""
    comptime HEAD_STARTED = Event(5)
    """A part of a request's head is here."""
    comptime BODY_AWAITED = Event(6)
    """The head is here, and content is to follow."""
    comptime ALL_ANSWERED = Event(7)
    """All that came is answered, and sent."""
    comptime WRITE_BLOCKED = Event(8)
    """The client takes no more now."""
    comptime SOURCE_EMPTY = Event(9)
    """The source of a response's content has nothing yet."""
    comptime OFFLOADED = Event(10)
    """It is a handler's turn on another thread."""
    comptime LAST_SENT = Event(11)
    """The last response is sent, and the client may still have to read it."""
    comptime CLOSED = Event(12)
    """The socket is closed."""
    comptime TIMED_OUT = Event(13)
    """The phase has taken too long."""
    comptime DRAIN_BEGUN = Event(14)
    """The server is to stop."""
    comptime HTTP2_BEGUN = Event(15)
    """The client has begun to speak HTTP/2."""

    comptime COUNT = 16
    """How many events there are."""

    @always_inline
    def __init__(out self, number: UInt8):
        self.number = number


struct NextAction(Equatable, TrivialRegisterPassable):
    """What is to be done with a connection."""

    var number: UInt8
    """The case."""

    comptime WAIT = NextAction(0)
    """Nothing, until its client or its deadline says more."""
    comptime CLOSE = NextAction(1)
    """Close it."""
    comptime YIELD = NextAction(2)
    """Go on in the next round; others have their turn before."""
    comptime SHUTDOWN = NextAction(3)
    """End it: the last response is sent, or waits to be taken."""
    comptime OFFLOAD = NextAction(4)
    """Give the request in its parser to a handler thread: it is complete, or
    has content that the handler reads while it arrives."""
    comptime REFUSE = NextAction(5)
    """Answer in place of the handler what has come too late, and end it."""
    comptime MEASURE = NextAction(6)
    """Look whether the client has earned more time by what it took."""
    comptime ASK = NextAction(7)
    """Ask the source of its content again."""
    comptime HASTEN = NextAction(8)
    """Wait for a request only for a moment, or not at all if there was a long
    pause."""
    comptime NONE = NextAction(255)
    """This does not happen in this phase."""

    @always_inline
    def __init__(out self, number: UInt8):
        self.number = number


# Where an event leads, whatever the phase: one letter an event, in the order of
# their numbers. `=` is the phase in which it happens.
#
# I idle, H head, B body, W write, O handler (offloaded), T handshake (TLS),
# S source, L linger, P proxy, C closed, M streams (multiplexed)
comptime _TARGETS = StaticString("HTPHHHBIWSOLC==M")
comptime _PHASES = StaticString("IHBWOTSLPCM")

# What an event asks for in each phase: one letter an event again, a row a
# phase. `.` does not happen.
#
# w wait, c close, y yield, r refuse, m measure, a ask, h hasten
comptime _ACTIONS = StaticString(
    # ACCEPTED, TLS_BEGUN, PROXY_NAMED, PROXY_READ, HANDSHAKE_DONE,
    #     HEAD_STARTED, BODY_AWAITED, ALL_ANSWERED, WRITE_BLOCKED, SOURCE_EMPTY,
    #          OFFLOADED, LAST_SENT, CLOSED, TIMED_OUT, DRAIN_BEGUN, HTTP2_BEGUN
    "....."
    "wwwww"
    "wycchw"  # IDLE
    ".ww.."
    "wwwww"
    "wycrhw"  # HEAD
    "....."
    "wwwww"
    "wycrw."  # BODY
    "....."
    "wwwww"
    "wycma."  # WRITE
    "....."
    "wwwww"
    "wycrw."  # HANDLER
    "..w.w"
    "....."
    ".ycch."  # HANDSHAKE
    "....."
    "wwwww"
    "wycaa."  # SOURCE
    "....."
    "....."
    "..ccw."  # LINGER
    ".y.y."
    "...w."
    ".ycch."  # PROXY
    "w...."
    "....."
    "......"  # CLOSED
    "....."
    "...w."
    ".ycaa."  # STREAMS
)
comptime _LETTERS = StaticString("wcysormah")


@always_inline
def phase_after(phase: Phase, event: Event) -> Phase:
    """Tells which phase follows.

    Args:
        phase: The phase before.
        event: What happens in it; see `action_after` for whether it can.

    Returns:
        The phase; the same if the event changes none.
    """
    var letter = _TARGETS.as_bytes()[Int(event.number)]
    for number in range(Phase.COUNT):
        if _PHASES.as_bytes()[number] == letter:
            return Phase(UInt8(number))
    return phase


def action_after(phase: Phase, event: Event) -> NextAction:
    """Tells what an event asks for.

    Args:
        phase: The phase before.
        event: What happens in it.

    Returns:
        The action; NONE if it does not happen in that phase.
    """
    var index = Int(phase.number) * Event.COUNT + Int(event.number)
    var letter = _ACTIONS.as_bytes().at(index)
    for number in range(_LETTERS.byte_length()):
        if _LETTERS.as_bytes().at(number) == letter:
            return NextAction(UInt8(number))
    return NextAction.NONE
