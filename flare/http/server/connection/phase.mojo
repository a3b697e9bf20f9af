"""The life of a connection as a table: `(phase, event) -> (phase, action)`.

The table is pure. `Connection` alone goes by it, and a build with
`-D ASSERT=all` aborts where something happens that the table does not know.
Streams of HTTP/2 have a smaller one, of pairs of phases, and `StreamTask` goes by
that.
"""

from std.sys import get_defined_string

comptime CHECKS_PHASES = get_defined_string["ASSERT", "safe"]() == "all"
"""True in a build with `-D ASSERT=all`."""

comptime FRESH_GRACE_MS = 1_000
"""How long a connection that is to end waits for a request which may be on its
way."""


@fieldwise_init
struct Phase(Equatable, TrivialRegisterPassable, Writable):

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
    """A handler elsewhere, which has the request."""
    comptime HANDSHAKE = Phase(5)
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

    @always_inline
    def is_driven_as_http1(self) -> Bool:
        """Tells whether octets that come are those of HTTP/1.1: a handshake, a
        request, or the protocol that follows one."""
        return self.number < Self.LINGER.number

    def write_to(self, mut writer: Some[Writer]):
        comptime NAMES = [
            "idle",
            "head",
            "body",
            "write",
            "handler",
            "handshake",
            "source",
            "linger",
            "proxy",
            "closed",
            "streams",
        ]
        comptime for number in range(len(NAMES)):
            if self.number == UInt8(number):
                comptime NAME = NAMES[number]
                writer.write(NAME)


@fieldwise_init
struct Event(Equatable, TrivialRegisterPassable):

    var number: UInt8
    """The column of the table."""

    comptime ACCEPTED = Event(0)
    comptime TLS_BEGUN = Event(1)
    """TLS is spoken, beginning with the handshake."""
    comptime PROXY_NAMED = Event(2)
    """The client is a proxy, and its header comes before anything else."""
    comptime PROXY_READ = Event(3)
    """That header is read, and plain HTTP follows."""
    comptime HANDSHAKE_DONE = Event(4)
    comptime HEAD_STARTED = Event(5)
    comptime BODY_AWAITED = Event(6)
    """The head is here, and content is to follow."""
    comptime ALL_ANSWERED = Event(7)
    """All that came is answered, and sent."""
    comptime WRITE_BLOCKED = Event(8)
    """The client takes no more now."""
    comptime SOURCE_EMPTY = Event(9)
    """The source of a response's content has nothing yet."""
    comptime OFFLOADED = Event(10)
    """It is a handler's turn elsewhere: on another thread, or as an errand."""
    comptime LAST_SENT = Event(11)
    """The last response is sent, and the client may still have to read it."""
    comptime CLOSED = Event(12)
    comptime TIMED_OUT = Event(13)
    """The phase has taken too long."""
    comptime DRAIN_BEGUN = Event(14)
    comptime HTTP2_BEGUN = Event(15)

    comptime COUNT = 16


@fieldwise_init
struct NextAction(Equatable, TrivialRegisterPassable):

    var number: UInt8

    comptime WAIT = NextAction(0)
    """Nothing, until its client or its deadline says more."""
    comptime CLOSE = NextAction(1)
    comptime YIELD = NextAction(2)
    """Go on in the next round; others have their turn before."""
    comptime SHUTDOWN = NextAction(3)
    """End it: the last response is sent, or waits to be taken."""
    comptime OFFLOAD = NextAction(4)
    """Give requests to handlers elsewhere: they are complete, or have content
    that the handler reads while it arrives."""
    comptime REFUSE = NextAction(5)
    """Answer in place of the handler what has come too late, and end it."""
    comptime MEASURE = NextAction(6)
    """Look whether the client has earned more time by what it took."""
    comptime ASK = NextAction(7)
    """Ask the source of its content again; of HTTP/2, look at what is late on
    each of its streams."""
    comptime HASTEN = NextAction(8)
    """Wait for a request only for a moment, or not at all if there was a long
    pause."""
    comptime NONE = NextAction(255)
    """This does not happen in this phase."""


@fieldwise_init
struct _Row(TrivialRegisterPassable):
    """What an event does in some phases."""

    var event: Event
    var phases: Int
    """A bit for each."""
    var next: Phase
    var action: NextAction


def _in(*phases: Phase) -> Int:
    var bits = 0
    for index in range(len(phases)):
        bits |= 1 << Int(phases[index].number)
    return bits


comptime _STAYS = Phase(255)
# In place of the next phase: the event leaves it as it is.

comptime _HEAD = _in(Phase.HEAD)
comptime _PROXY = _in(Phase.PROXY)
comptime _HANDSHAKE = _in(Phase.HANDSHAKE)
comptime _LINGER = _in(Phase.LINGER)
comptime _STREAMS = _in(Phase.STREAMS)
# Requests come and are answered, in whatever portions and on whatever threads.
comptime _SERVED = _in(Phase.IDLE, Phase.BODY, Phase.HANDLER) | _HEAD | _SENDING
comptime _SENDING = _in(Phase.WRITE, Phase.SOURCE)
comptime _OPEN = _SERVED | _HANDSHAKE | _PROXY | _STREAMS
# Who comes has sent nothing, or a part of it that nobody needs to answer.
comptime _SILENT = _in(Phase.IDLE) | _HANDSHAKE | _PROXY

# What is not here does not happen. An event that leads to a phase leads to the
# same one from wherever it comes, so that a step is a plain write.
comptime _ROWS = [
    _Row(Event.ACCEPTED, _in(Phase.CLOSED), Phase.HEAD, NextAction.WAIT),
    _Row(Event.TLS_BEGUN, _HEAD, Phase.HANDSHAKE, NextAction.WAIT),
    _Row(Event.TLS_BEGUN, _PROXY, Phase.HANDSHAKE, NextAction.YIELD),
    _Row(Event.PROXY_NAMED, _HEAD | _HANDSHAKE, Phase.PROXY, NextAction.WAIT),
    _Row(Event.PROXY_READ, _PROXY, Phase.HEAD, NextAction.YIELD),
    _Row(Event.HANDSHAKE_DONE, _HANDSHAKE, Phase.HEAD, NextAction.WAIT),
    _Row(Event.HEAD_STARTED, _SERVED, Phase.HEAD, NextAction.WAIT),
    _Row(Event.BODY_AWAITED, _SERVED, Phase.BODY, NextAction.WAIT),
    _Row(Event.ALL_ANSWERED, _SERVED, Phase.IDLE, NextAction.WAIT),
    # One too many is refused before its proxy has said anything; of HTTP/2 it is
    # the end that is not taken.
    _Row(
        Event.WRITE_BLOCKED,
        _SERVED | _PROXY | _STREAMS,
        Phase.WRITE,
        NextAction.WAIT,
    ),
    _Row(Event.SOURCE_EMPTY, _SERVED, Phase.SOURCE, NextAction.WAIT),
    _Row(Event.OFFLOADED, _SERVED, Phase.HANDLER, NextAction.WAIT),
    _Row(Event.LAST_SENT, _OPEN, Phase.LINGER, NextAction.YIELD),
    _Row(Event.CLOSED, _OPEN | _LINGER, Phase.CLOSED, NextAction.CLOSE),
    _Row(
        Event.HTTP2_BEGUN,
        _in(Phase.IDLE) | _HEAD,
        Phase.STREAMS,
        NextAction.WAIT,
    ),
    # Only who waits for an answer gets one.
    _Row(Event.TIMED_OUT, _SILENT | _LINGER, _STAYS, NextAction.CLOSE),
    _Row(
        Event.TIMED_OUT,
        _in(Phase.BODY, Phase.HANDLER) | _HEAD,
        _STAYS,
        NextAction.REFUSE,
    ),
    _Row(Event.TIMED_OUT, _in(Phase.WRITE), _STAYS, NextAction.MEASURE),
    _Row(
        Event.TIMED_OUT,
        _in(Phase.SOURCE) | _STREAMS,
        _STAYS,
        NextAction.ASK,
    ),
    # The server stops: what is under way is finished.
    _Row(
        Event.DRAIN_BEGUN,
        _in(Phase.BODY, Phase.HANDLER) | _LINGER,
        _STAYS,
        NextAction.WAIT,
    ),
    _Row(Event.DRAIN_BEGUN, _SILENT | _HEAD, _STAYS, NextAction.HASTEN),
    _Row(Event.DRAIN_BEGUN, _SENDING | _STREAMS, _STAYS, NextAction.ASK),
]


def phase_of(event: Event) -> Phase:
    """Tells where an event that changes the phase leads, wherever it comes
    from."""
    comptime for index in range(len(_ROWS)):
        comptime ROW = _ROWS[index]
        if event == ROW.event:
            return ROW.next
    return _STAYS


def action_after(phase: Phase, event: Event) -> NextAction:
    """Tells what an event asks for; NONE if it does not happen in that phase."""
    comptime for index in range(len(_ROWS)):
        comptime ROW = _ROWS[index]
        if event == ROW.event and (ROW.phases >> Int(phase.number)) & 1 == 1:
            return ROW.action
    return NextAction.NONE


@fieldwise_init
struct StreamPhase(Equatable, TrivialRegisterPassable):
    """What a stream of HTTP/2 waits for, of a connection in STREAMS."""

    var number: UInt8

    comptime CLIENT = StreamPhase(0)
    """Content of the request, before its handler is called."""
    comptime QUEUED = StreamPhase(1)
    """To be given to a handler elsewhere."""
    comptime PARKED = StreamPhase(2)
    """More of other responses to leave, before its handler is called."""
    comptime HANDLER = StreamPhase(3)
    """A handler elsewhere, which has the request."""
    comptime READER = StreamPhase(4)
    """Content of the request, for such a handler to read."""
    comptime SENDS = StreamPhase(5)
    """Its turn to send of the response, or the source of that."""
    comptime SHUT = StreamPhase(6)
    """The client, which has not taken all since its window was shut."""
    comptime OVER = StreamPhase(7)
    """Nothing: all is sent, or the source has failed."""

    comptime COUNT = 8


comptime _EDGES = [
    (StreamPhase.CLIENT, StreamPhase.QUEUED),
    (StreamPhase.CLIENT, StreamPhase.PARKED),
    (StreamPhase.CLIENT, StreamPhase.SENDS),
    (StreamPhase.QUEUED, StreamPhase.PARKED),
    (StreamPhase.QUEUED, StreamPhase.HANDLER),
    (StreamPhase.QUEUED, StreamPhase.READER),
    (StreamPhase.PARKED, StreamPhase.QUEUED),
    (StreamPhase.HANDLER, StreamPhase.HANDLER),
    (StreamPhase.HANDLER, StreamPhase.READER),
    (StreamPhase.READER, StreamPhase.READER),
    (StreamPhase.READER, StreamPhase.HANDLER),
    (StreamPhase.SENDS, StreamPhase.SENDS),
    (StreamPhase.SENDS, StreamPhase.SHUT),
    (StreamPhase.SENDS, StreamPhase.OVER),
    (StreamPhase.SHUT, StreamPhase.SENDS),
    (StreamPhase.SHUT, StreamPhase.OVER),
]


def may_follow(phase: StreamPhase, next: StreamPhase) -> Bool:
    comptime for index in range(len(_EDGES)):
        comptime EDGE = _EDGES[index]
        if phase == EDGE[0] and next == EDGE[1]:
            return True
    return False
