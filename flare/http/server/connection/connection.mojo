"""One connection of a worker: what is kept of it between events."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.exchange.outgoing_body import BodyState, OutgoingBody
from flare.http.h1.body_decoder import DetachedBody
from flare.http.h1.request_parser import RequestParser
from flare.http.message.body import Body
from flare.http.message.request import TlsPeer
from flare.http.server.config import ServerConfig
from flare.http.server.connection.deadlines import (
    TakingClock,
    Wait,
    deadline_of,
    wait_of,
)
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.phase import (
    CHECKS_PHASES,
    Event,
    NextAction,
    Phase,
    action_after,
    phase_of,
)
from flare.http.server.connection.request_call import (
    Intake,
    Refusal,
    RequestCall,
)
from flare.http.server.connection.sides import (
    Backlog,
    ClientSide,
    Ending,
    RequestRow,
)
from flare.http.server.connection.tls import TlsLink
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.timer_wheel import TimerId
from flare.sys.errno import EINTR, EINVAL, ENOSYS, ENOTSUP
from std.memory import OwnedPointer
from std.sys.intrinsics import unlikely


struct WritePace(ImplicitlyCopyable):
    """Counts what a client takes while it keeps the server waiting, which gives it
    more time."""

    var clock: TakingClock
    var start_ms: Int
    var sent_len: Int
    """Octets handed to the system since the wait began."""
    var _queued_len: Int
    var _taken_len: Int

    def __init__(out self):
        self.clock = TakingClock()
        self.start_ms = 0
        self.sent_len = 0
        self._queued_len = 0
        self._taken_len = 0

    def begin(mut self, queued_len: Int, now_ms: Int, config: ServerConfig):
        """Begins to count, from what the system has still to deliver."""
        self = Self()
        self.clock = TakingClock(deadline_of(Wait.CLIENT, now_ms, config))
        self.start_ms = now_ms
        self._queued_len = queued_len

    def taken_len(mut self, queued_len: Int) -> Int:
        """Tells how many octets the client has taken since the wait began, by
        what the system has still to deliver now; never less than before."""
        var taken = self.sent_len + self._queued_len - queued_len
        self._taken_len = max(taken, self._taken_len)
        return self._taken_len

    def prolong(
        mut self, queued_len: Int, now_ms: Int, config: ServerConfig
    ) -> Bool:
        """Gives the client the time that it has earned; False if none is left."""
        var taken_len = self.taken_len(queued_len)
        return self.clock.prolong(Wait.CLIENT, taken_len, now_ms, config)


struct PendingWrite(Movable):
    """What a client was not ready to take: octets, then content."""

    var _padding: Padding[8]
    var octets: Buffer
    var body: OutgoingBody
    var is_chunked: Bool
    """True if pieces of a source are sent as chunks."""
    var gives_way: Bool
    """True if it was interrupted for the sake of others."""
    var pace: WritePace
    var taken_len: Int
    """What the client had taken when it was last seen to take something, in bytes;
    -1 before."""
    var taken_ms: Int
    var ended_len: Int
    """What the client had been sent when it was first seen to have ended its side
    while its source had nothing more, in bytes; -1 before."""
    var ended_ms: Int

    def __init__(out self, var body: OutgoingBody = OutgoingBody()):
        """Keeps content, and nothing before it."""
        self._padding = {}
        self.octets = Buffer(0)
        self.body = body^
        self.is_chunked = False
        self.gives_way = False
        self.pace = WritePace()
        self.taken_len = -1
        self.taken_ms = 0
        self.ended_len = -1
        self.ended_ms = 0

    def __init__(out self, var body: Body, octets: Span[UInt8, _], taken: Int):
        """Keeps what is left of octets and content after them, when `taken` of
        both have been taken."""
        var first = min(taken, len(octets))
        self = Self(OutgoingBody(body^, offset=taken - first))
        self.octets.reserve(len(octets) - first)
        self.octets.append(octets.after(first))

    def drop(mut self, count: Int):
        """Drops what was taken, of both together."""
        var first = min(count, len(self.octets))
        self.octets.consume(first)
        self.body.offset += count - first

    def send_to(mut self, mut socket: RawSocket) -> Int:
        """Sends once. Returns how many octets were taken, 0 if the file of the
        region has become shorter, or a negative errno."""
        if self.body.state == BodyState.FILE:
            return self._send_to_region(socket)
        var rest = self.body.rest()
        var count: Int
        if len(rest) == 0:
            count = socket.send(self.octets.span())
        elif len(self.octets) == 0:
            count = socket.send(rest)
        else:
            count = socket.send_two(self.octets.span(), rest)
        if count > 0:
            self.drop(count)
            self.pace.sent_len += count
        return count

    def _send_to_region(mut self, mut socket: RawSocket) -> Int:
        """Sends what stands before the region, or else of the region."""
        if len(self.octets) > 0:
            var count = socket.send_ahead(self.octets.span())
            self.octets.consume(max(count, 0))
            self.pace.sent_len += max(count, 0)
            return count
        var region = self.body.region
        var count = socket.send_file(
            region.number, region.offset, region.length
        )
        if count > 0:
            self.pace.sent_len += count
            _ = self.body.note_region_sent(count)
        elif count == 0:
            self.body.note_file_cut()
        elif count == -EINVAL or count == -ENOSYS or count == -ENOTSUP:
            # Some file systems cannot send.
            self.body.note_region_refused()
            return -EINTR
        return count

    def has_more_to_say(self) -> Bool:
        """Tells whether a conversation has more to say at once, before it hears
        anything else."""
        return self.body.state == BodyState.READY and self.body.listens()

    def is_empty(self) -> Bool:
        """Tells whether all that is here is sent, but for what a stream will
        make."""
        return len(self.octets) == 0 and self.body.is_sent()


struct StreamedContent(Movable):
    """Content that a handler elsewhere reads while it arrives."""

    var body: DetachedBody
    """Takes off the framing."""
    var is_paused: Bool
    """True if nothing is received until the handler has asked for content, or
    made room for it, which `BodyPipe.has_room` tells."""
    var has_response: Bool
    """True once the response has begun, after whose head it goes on."""

    def __init__(out self, var body: DetachedBody, is_paused: Bool):
        """Makes content of which nothing was handed on."""
        self.body = body^
        self.is_paused = is_paused
        self.has_response = False


struct RequestState(Movable):
    """One request under way, from its first octet to the last of its response.

    A connection of HTTP/1.1 has one at a time, and so one of these.
    """

    var parser: Optional[OwnedPointer[RequestParser]]
    """The part of it that has arrived, if it waits for more."""
    var pending: Optional[OwnedPointer[PendingWrite]]
    """What of its response the client has not taken."""
    var call: RequestCall
    """Who has it, if it is not answered at once."""
    var content: Optional[OwnedPointer[StreamedContent]]
    """Its content, if a handler elsewhere reads it while it arrives."""
    var row: RequestRow
    """Where it stands among requests that came together."""

    def __init__(out self):
        self.parser = None
        self.pending = None
        self.call = RequestCall()
        self.content = None
        self.row = RequestRow.ALONE

    def has_all_content(self) -> Bool:
        """Tells whether nothing more is to be received for a handler."""
        return self.call.intake == Intake.WHOLE

    @always_inline
    def is_elsewhere(self) -> Bool:
        """Tells whether a handler elsewhere has it, or somebody reads on in its
        content while the response goes out."""
        return self.call.job.__bool__() or self.content.__bool__()

    def goes_both_ways(self) -> Bool:
        """Tells whether content arrives while the response goes out."""
        return self.content.__bool__() and self.content.held()[].has_response

    def end_content(mut self):
        """Takes no more content for a handler, which has heard why."""
        self.content = None
        self.call.charge = None
        self.call.intake = Intake.WHOLE

    def cancel(mut self):
        """Tells a handler elsewhere that nobody waits for it, if there
        is one; what it answers is dropped."""
        if self.content:
            self.end_content()
        self.call.cancel(Refusal.NOT_WANTED)

    def drop(mut self):
        """Ends the request, whatever has become of it."""
        self.cancel()
        self = Self()


struct Connection(Movable):
    """One client, with as little memory as its state needs.

    Between requests there is neither input nor output here: the worker lends
    its own buffers. A part of a request and a pending write have boxes.
    """

    var socket: RawSocket
    """The socket; not open in a free slot."""
    var peer: SocketAddr
    var generation: UInt32
    """Counts the connections that had this slot."""
    var token: UInt64
    """What events and timers know the connection by."""
    var phase: Phase
    """What is waited for; `enter` changes it."""
    var client: ClientSide
    """What is known of the client's direction."""
    var backlog: Backlog
    """What of the client's has come, and was not looked at."""
    var ending: Ending
    """Whether and how the connection ends."""
    # Two lists of the worker, on each of which it may be whether or not it is on
    # the other.
    var is_ready: Bool
    """True if the connection is on the worker's ready list."""
    var is_woken: Bool
    """True if a source of it has rung, and the worker is about to look at it."""
    var request_count: UInt64
    var phase_request: UInt64
    """`request_count` when the phase began: tells two heads apart."""
    var retire_ms: Int
    """From when on a response is the connection's last."""
    var deadline_ms: Int
    """When the phase must be over."""
    var armed_ms: Int
    """When the timer will look at the deadline; never after it."""
    var timer: TimerId
    var tls: Optional[OwnedPointer[TlsLink]]
    """The TLS side; nothing for plain HTTP."""
    # SAFETY: points into `tls`, behind its counted pointer; ends with it.
    var tls_peer: OptionalPointer[TlsPeer, ImmUntrackedOrigin]
    """What TLS tells about the client, once the handshake is complete."""
    var http2: Optional[OwnedPointer[Http2Link]]
    """The HTTP/2 side; nothing for HTTP/1.1."""
    # Not in a box: a struct of at most 256 octets is passed by its fields across
    # calls, a larger one by its address, which costs each request less.
    var request: RequestState

    def __init__(out self):
        self.socket = RawSocket(owned=-1)
        self.peer = SocketAddr.any(0)
        self.generation = 0
        self.token = 0
        self.phase = Phase.CLOSED
        self.client = ClientSide.OPEN
        self.backlog = Backlog.NONE
        self.ending = Ending.OPEN
        self.is_ready = False
        self.is_woken = False
        self.request_count = 0
        self.phase_request = 0
        self.retire_ms = NEVER
        self.deadline_ms = NEVER
        self.armed_ms = NEVER
        self.timer = TimerId.NONE
        self.tls = None
        self.tls_peer = None
        self.http2 = None
        self.request = RequestState()

    @no_inline
    def __deinit__(deinit self):
        return

    def open(mut self, var socket: RawSocket, peer: SocketAddr):
        var fresh = Self()
        fresh.generation = self.generation
        self = fresh^
        self.socket = socket^
        self.peer = peer
        self.enter[Event.ACCEPTED]()

    @always_inline
    def enter[event: Event](mut self):
        """Goes where an event leads; nothing else changes the phase. With `-D
        ASSERT=all` the program aborts if the table does not know it in this
        phase."""
        comptime NEXT = phase_of(event)
        comptime if CHECKS_PHASES:
            debug_assert(
                action_after(self.phase, event) != NextAction.NONE,
                "no edge of a connection's life: event ",
                event.number,
                " while ",
                self.phase,
            )
        self.phase = NEXT

    def decide(self, event: Event) -> NextAction:
        """Tells what an event asks for that leaves the phase as it is."""
        return action_after(self.phase, event)

    @always_inline
    def begins[event: Event](self) -> Bool:
        """Tells whether an event leads to another phase, or to the same one of
        another request."""
        comptime NEXT = phase_of(event)
        return self.phase != NEXT or self.phase_request != self.request_count

    @always_inline
    def begin[
        event: Event
    ](mut self, now_ms: Int, config: ServerConfig, own_ms: Int = NEVER):
        """Goes where an event leads, with the deadline of what is waited for there
        (`own_ms` as for `limit_ms`); unless the connection is there already for
        the same request."""
        if not self.begins[event]():
            return
        self.enter[event]()
        self.phase_request = self.request_count
        self.deadline_ms = deadline_of(
            wait_of(phase_of(event)), now_ms, config, own_ms=own_ms
        )

    def hasten(mut self, now_ms: Int, config: ServerConfig):
        """Waits for a request that may be on its way no longer than shortly."""
        self.deadline_ms = min(
            self.deadline_ms, deadline_of(Wait.LAST_REQUEST, now_ms, config)
        )

    @always_inline
    def begin_idling(mut self, now_ms: Int, config: ServerConfig):
        """Begins to wait for the next request, if the connection may get so old."""
        self.enter[Event.ALL_ANSWERED]()
        self.request.row = RequestRow.ALONE
        self.deadline_ms = deadline_of(Wait.NEXT_REQUEST, now_ms, config)
        if unlikely(self.deadline_ms > self.retire_ms):
            # The next request may be on its way: it is answered as the last.
            var last_ms = deadline_of(Wait.LAST_REQUEST, now_ms, config)
            self.deadline_ms = min(
                self.deadline_ms, max(self.retire_ms, last_ms)
            )

    def may_have_job(self) -> Bool:
        """Tells whether a handler elsewhere may have to hear that it ends."""
        return self.request.call.job.__bool__() or self.http2.__bool__()

    def tell_end(mut self):
        """Over TLS, tells the client that nothing follows; there is no pending
        write before, and one afterwards if the client has to read first."""
        if self.tls:
            ref link = self.tls.held()[]
            link.send_close_notify(self.socket)
            if len(link.unsent) > 0:
                self.request.pending = OwnedPointer(PendingWrite())

    def drop_tls(mut self):
        self.tls_peer = None
        self.tls = None

    def close(mut self):
        """Closes the socket, and drops what belongs to the connection.

        Over TLS the client is told that nothing follows, unless something was
        still to be sent: it can tell a cut response from a whole one.
        """
        if self.tls and not self.request.pending:
            self.tls.held()[].send_close_notify(self.socket)
        self.enter[Event.CLOSED]()
        self.socket.close()
        if self.http2:
            self.http2.held()[].cancel()
            self.http2 = None
        self.request.drop()
        self.drop_tls()
