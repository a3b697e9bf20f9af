"""What is under way on a stream of HTTP/2, and boxes for that."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.exchange.outgoing_body import BodyState, OutgoingBody
from flare.http.h2.field_section import Http2FieldSection
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.request import (
    CancelFlag,
    PathParams,
    Request,
    TlsPeer,
)
from flare.http.server.connection.deadlines import TakingClock
from flare.http.server.connection.phase import (
    CHECKS_PHASES,
    StreamPhase,
    may_follow,
)
from flare.http.server.connection.request_call import Intake, RequestCall
from flare.net.socket_addr import SocketAddr
from std.memory import OwnedPointer


struct ReceivedRequest(Movable):
    """A request that waits, for content or for a thread."""

    var section: OwnedPointer[Http2FieldSection]
    var content: Buffer
    var trailers: Optional[OwnedPointer[Http2FieldSection]]

    def __init__(out self):
        self.section = OwnedPointer(Http2FieldSection())
        self.content = Buffer(0)
        self.trailers = None

    def unsafe_request[
        o: ImmOrigin
    ](
        self,
        peer: SocketAddr,
        params: Pointer[PathParams, MutUntrackedOrigin],
        cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin] = None,
        tls: OptionalPointer[TlsPeer, ImmUntrackedOrigin] = None,
    ) -> Request[o]:
        """Lends the request, until this changes; all that is pointed to
        outlives the request."""
        # SAFETY: the caller ends the loan before this changes.
        var content = unsafe_lend[o](
            self.content.unsafe_base(), len(self.content)
        )
        var trailers = Fields[o](content.before(0), Span[FieldLine, o](), True)
        if self.trailers:
            trailers = self.trailers.held()[].unsafe_fields[o]()
        return Request[o](
            self.section[].unsafe_request_line[o](),
            self.section[].unsafe_fields[o](),
            content,
            trailers,
            peer=peer,
            params=params,
            cancel=cancel,
            tls=tls,
        )


@fieldwise_init
struct StreamPace(TrivialRegisterPassable):
    """How long what a stream waits for may take."""

    var turn: Int
    """When it has sent last, or begun: the lowest goes first."""
    var clock: TakingClock
    """When what is waited for must have come."""
    var sent_len: Int
    """What was sent since its window was shut, in bytes."""
    var left_ms: Int
    """What it has left of its time while others keep it waiting."""

    def await_window(mut self, end_ms: Int):
        """Begins to wait for a window that is shut."""
        self.sent_len = 0
        self.clock = TakingClock(end_ms)

    def pause(mut self, now_ms: Int):
        """Stops the clock of one that waits for its window: something else is
        waited for."""
        if self.clock.waits():
            self.left_ms = max(1, self.clock.end_ms - now_ms)
        self.clock.end_ms = NEVER

    def go_on(mut self, now_ms: Int):
        """Lets the clock go on, if it was stopped."""
        if not self.clock.waits():
            self.clock.end_ms = now_ms + self.left_ms


struct StreamTask(Movable):
    """A stream of a server on which something is under way."""

    var id: Int
    var phase: StreamPhase
    """What is waited for; `enter` changes it."""
    var is_tunnel: Bool
    """True if the request is an extended CONNECT (RFC 8441)."""
    var call: RequestCall
    var expected_len: Int
    """How much content its handler is expected to make, in bytes."""
    var piped_len: Int
    """Content that waits for its reader, and is not given back to the client's
    window, in bytes."""
    var received_len: Int
    """How much content has come, in bytes."""
    var request: Optional[OwnedPointer[ReceivedRequest]]
    """The request, while it is here."""
    var body: OutgoingBody
    var piece: Buffer
    """What its source has made, and is not sent."""
    var unheard: Buffer
    """What came for its conversation, and waits to be heard."""
    var pace: StreamPace

    def __init__(out self, id: Int):
        self.id = id
        self.phase = StreamPhase.CLIENT
        self.is_tunnel = False
        self.call = RequestCall()
        self.expected_len = 0
        self.piped_len = 0
        self.received_len = 0
        self.request = None
        self.body = OutgoingBody()
        self.piece = Buffer(0)
        self.unheard = Buffer(0)
        self.pace = StreamPace(0, TakingClock(), 0, 0)

    @no_inline
    def __deinit__(deinit self):
        return

    def renew(mut self, id: Int):
        """Makes it the task of another stream, as if it were new; what it has
        allocated stays."""
        self.id = id
        # Without a response it is as new.
        if self.has_response():
            self.body = OutgoingBody()
        self.phase = StreamPhase.CLIENT
        self.is_tunnel = False
        self.call.renew()
        self.expected_len = 0
        self.piped_len = 0
        self.received_len = 0
        if self.request:
            ref request = self.request.held()[]
            request.content.clear()
            request.trailers = None
        self.piece.clear()
        self.unheard.clear()
        self.pace = StreamPace(0, TakingClock(), 0, 0)

    @always_inline
    def enter[next: StreamPhase](mut self):
        """Goes to a phase which `may_follow` the one before; nothing else
        changes it."""
        comptime if CHECKS_PHASES:
            debug_assert(
                may_follow(self.phase, next),
                "no edge of a stream's life: from ",
                self.phase.number,
                " to ",
                next.number,
            )
        self.phase = next

    @always_inline
    def has_response(self) -> Bool:
        """Tells whether the header section of the response is sent."""
        return self.phase.number >= StreamPhase.SENDS.number

    def has_content(self) -> Bool:
        """Tells whether there is content of the response to send now: not if
        all is sent, or its source has nothing yet."""
        if not self.has_response():
            return False
        if self.body.source:
            return (
                self.body.state == BodyState.READY
                or len(self.piece) > 0
                or self.hears()
            )
        return len(self.piece) > 0 or not self.body.is_sent()

    def unsent_len(self) -> Int:
        """Counts the content of the response that is here; what a source has
        not made does not count."""
        if not self.has_response():
            return 0
        return len(self.body.rest()) + len(self.piece)

    def called_len(self) -> Int:
        """Counts the content that a handler elsewhere is about to make."""
        return self.expected_len if self.call.job else 0

    def hears(self) -> Bool:
        """Tells whether a conversation is to hear of its client: it has
        answered all that it has heard, and that is taken."""
        return (
            self.is_tunnel
            and self.body.state == BodyState.WAITING
            and self.may_turn()
        )

    @always_inline
    def may_turn(self) -> Bool:
        """Tells whether a conversation has something to do though its client
        may take nothing now: what it has said is taken."""
        if not self.is_tunnel or not self.body.source or len(self.piece) > 0:
            return False
        if self.body.state == BodyState.READY:
            return True
        return (
            len(self.unheard) > 0 or self.call.intake == Intake.WHOLE
        ) and not (self.body.source.held()[].is_full())

    def has_dropped_content(self) -> Bool:
        """Tells whether nobody takes content of the request: it is answered,
        and no content goes on arriving."""
        return self.has_response() and not self.call.pipe

    def take_content_of(mut self, mut other: Self):
        """Takes the content that goes on arriving from the same stream before
        it had a response."""
        swap(self.call, other.call)
        swap(self.piped_len, other.piped_len)
        swap(self.received_len, other.received_len)


comptime _POOLED_COUNT_MAX = 128
comptime _POOLED_LEN_MAX = 32_768
# Half of a stream's window; 128 of them are 4 MiB of a worker.


struct StreamPool(Defaultable, Movable):
    """Boxes of streams that are over, for those that begin."""

    var _tasks: List[OwnedPointer[StreamTask]]

    def take(mut self, id: Int) -> OwnedPointer[StreamTask]:
        """Takes a task as a new one; it may have a request without anything."""
        if len(self._tasks) == 0:
            return OwnedPointer(StreamTask(id))
        var task = self._tasks.pop()
        task[].id = id
        return task^

    def give(mut self, var task: OwnedPointer[StreamTask]):
        """Takes the task of a stream that is over; what has grown large is
        freed."""
        var length = task[].piece.capacity() + task[].unheard.capacity()
        if task[].request:
            ref request = task[].request.held()[]
            length += request.content.capacity()
            length += request.section[].octets.capacity()
        if len(self._tasks) == _POOLED_COUNT_MAX or length > _POOLED_LEN_MAX:
            return
        # What it holds of others is let go at once.
        task[].renew(0)
        self._tasks.append(task^)
