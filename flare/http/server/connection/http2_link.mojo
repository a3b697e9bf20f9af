"""What a connection has beside its socket if it speaks HTTP/2: the session, and
what is under way on each of its streams.
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.field_section import Http2FieldSection
from flare.http.h2.session import Http2Session
from flare.http.message.body import Body, BodyStream
from flare.http.message.body_reader import BodyError
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.method import Method
from flare.http.message.request import (
    CancelFlag,
    PathParams,
    Request,
    TlsPeer,
    no_route,
)
from flare.http.message.trailers import Trailers
from flare.http.routing.handler import RequestPolicy
from flare.http.routing.route_tree import RouteMemo
from flare.http.server.connection.body_pipe import BodyCharge, BodyPipe
from flare.http.server.connection.phase import NEVER_MS
from flare.http.server.worker_state import WorkerState
from flare.net.socket_addr import SocketAddr
from std.memory import ArcPointer, OwnedPointer


struct Http2Request(Movable):
    """A request that waits, for content or for a thread."""

    var section: Http2FieldSection
    """Its header section."""
    var content: Buffer
    """Its content."""
    var trailers: Optional[OwnedPointer[Http2FieldSection]]
    """Its trailers, if there are some."""

    def __init__(out self):
        """Makes a request without anything."""
        self.section = Http2FieldSection()
        self.content = Buffer(0)
        self.trailers = None

    def is_head(self) -> Bool:
        """Tells whether its method is HEAD.

        Returns:
            True if so.
        """
        return self.section.method == Method.HEAD

    def unsafe_request[
        o: ImmOrigin
    ](
        self,
        peer: SocketAddr,
        params: Pointer[PathParams, MutUntrackedOrigin],
        cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin] = None,
        tls: OptionalPointer[TlsPeer, ImmUntrackedOrigin] = None,
    ) -> Request[o]:
        """Lends the request.

        Parameters:
            o: The lifetime to lend for; ends before this changes.

        Args:
            peer: Where it came from.
            params: Storage for path parameters that outlives the request.
            cancel: A flag that outlives the request, if there is one.
            tls: What TLS tells about the client; outlives the request.

        Returns:
            The request.
        """
        # SAFETY: the caller ends the loan before this changes.
        var content = unsafe_lend[o](
            self.content.unsafe_base(), len(self.content)
        )
        var trailers = Fields[o](content.before(0), Span[FieldLine, o](), True)
        if self.trailers:
            trailers = self.trailers.held()[].unsafe_fields[o]()
        return Request[o](
            self.section.unsafe_request_line[o](),
            self.section.unsafe_fields[o](),
            content,
            trailers,
            peer=peer,
            params=params,
            cancel=cancel,
            tls=tls,
        )


struct StreamTask(Movable):
    """A stream of a server on which something is under way."""

    var id: Int
    """The stream's number."""
    var request: Optional[OwnedPointer[Http2Request]]
    """The request, while it is here."""
    var policy: RequestPolicy
    """How it is to be treated."""
    var memo: Optional[OwnedPointer[RouteMemo]]
    """The route that was found for it."""
    var charge: Optional[BodyCharge]
    """The memory that its content takes here."""
    var is_offloading: Bool
    """True if it is to be given to a handler thread."""
    var job: Optional[ArcPointer[CancelFlag]]
    """The flag of the handler that has it."""
    var pipe: Optional[BodyPipe]
    """Where its content goes, if that handler reads it while it arrives."""
    var piped_len: Int
    """What went there and is not given back to the client's window, in bytes."""
    var received_len: Int
    """How much content has come, in bytes."""
    var has_all: Bool
    """True if all of the request has come."""
    var is_head: Bool
    """True if it is a HEAD."""
    var owes_continue: Bool
    """True if the client waits for 100 (Continue)."""
    var has_response: Bool
    """True if the header section of the response is sent."""
    var body: Body
    """The content of the response that is in memory."""
    var body_offset: Int
    """How much of it is sent, in bytes."""
    var source: Optional[ArcPointer[BodyStream]]
    """What makes the content, if something does."""
    var piece: Buffer
    """What it has made, and is not sent."""
    var trailers: Trailers
    """What follows the content."""
    var missing_len: Int
    """What it has still to make, if that is known, in bytes."""
    var waits_for_source: Bool
    """True if it has nothing yet."""
    var deadline_ms: Int
    """When what is waited for must have come."""
    var phase_start_ms: Int
    """When that began."""
    var is_shut: Bool
    """True if the client has not taken all since its window was shut first."""
    var sent_len: Int
    """What was sent since then and has not earned it time, in bytes."""
    var left_ms: Int
    """What it has left of its time while others keep it waiting."""
    var is_client_turn: Bool
    """True if a handler that reads content waits for the client."""
    var client_ms: Int
    """How long it has waited for it, but for the current wait."""
    var route: StringSpan[ImmUntrackedOrigin]
    """The route whose handler made the source. It is lent by the router, which
    outlives all connections."""
    var request_id: String
    """The id of its request, if anybody asked for it."""

    def __init__(out self, id: Int):
        """Makes the task of a stream that has just begun.

        Args:
            id: The stream's number.
        """
        self.id = id
        self.request = None
        self.policy = RequestPolicy()
        self.memo = None
        self.charge = None
        self.is_offloading = False
        self.job = None
        self.pipe = None
        self.piped_len = 0
        self.received_len = 0
        self.has_all = False
        self.is_head = False
        self.owes_continue = False
        self.has_response = False
        self.body = Body()
        self.body_offset = 0
        self.source = None
        self.piece = Buffer(0)
        self.trailers = Trailers()
        self.missing_len = -1
        self.waits_for_source = False
        self.deadline_ms = NEVER_MS
        self.phase_start_ms = 0
        self.is_shut = False
        self.sent_len = 0
        self.left_ms = 0
        self.is_client_turn = False
        self.client_ms = 0
        self.route = no_route()
        self.request_id = String()

    def renew(mut self, id: Int):
        """Makes it the task of another stream, as if it were new; what it has
        allocated stays, but for the request.

        Args:
            id: The stream's number.
        """
        self.id = id
        self.request = None
        self.policy = RequestPolicy()
        self.memo = None
        self.charge = None
        self.is_offloading = False
        self.job = None
        self.pipe = None
        self.piped_len = 0
        self.received_len = 0
        self.has_all = False
        self.is_head = False
        self.owes_continue = False
        self.has_response = False
        self.body = Body()
        self.body_offset = 0
        self.source = None
        self.piece.clear()
        self.trailers = Trailers()
        self.missing_len = -1
        self.waits_for_source = False
        self.deadline_ms = NEVER_MS
        self.phase_start_ms = 0
        self.is_shut = False
        self.sent_len = 0
        self.left_ms = 0
        self.is_client_turn = False
        self.client_ms = 0
        self.route = no_route()
        self.request_id = String()

    def has_content(self) -> Bool:
        """Tells whether there is content of the response to send now.

        Returns:
            False if all is sent, or its source has nothing yet.
        """
        if not self.has_response:
            return False
        if self.source:
            return not self.waits_for_source or len(self.piece) > 0
        return len(self.piece) > 0 or self.body_offset < len(self.body)

    def cancel(mut self, status: Int, reason: StaticString):
        """Tells a handler on another thread that nobody waits for it.

        Args:
            status: What its reads of content say.
            reason: The same in words.
        """
        if self.pipe:
            self.pipe.take().fail(BodyError(status, String(reason)))
        if self.job:
            self.job.take()[].set()


comptime _POOLED_COUNT_MAX = 128
comptime _POOLED_LEN_MAX = 32_768
# A quarter of a stream's window: with the most of both, 4 MiB of a worker.


struct StreamPool(Movable):
    """Boxes of streams that are over, for those that begin."""

    var _tasks: List[OwnedPointer[StreamTask]]
    var _requests: List[OwnedPointer[Http2Request]]

    def __init__(out self):
        """Makes an empty pool."""
        self._tasks = []
        self._requests = []

    def take_task(mut self, id: Int) -> OwnedPointer[StreamTask]:
        """Takes a task as a new one.

        Args:
            id: The number of its stream.

        Returns:
            Its box.
        """
        if len(self._tasks) == 0:
            return OwnedPointer(StreamTask(id))
        var task = self._tasks.pop()
        task[].id = id
        return task^

    def take_request(mut self) -> OwnedPointer[Http2Request]:
        """Takes a request without anything.

        Returns:
            Its box.
        """
        if len(self._requests) == 0:
            return OwnedPointer(Http2Request())
        return self._requests.pop()

    def give(mut self, var task: OwnedPointer[StreamTask]):
        """Takes the task of a stream that is over, and its request; what has
        grown large is freed.

        Args:
            task: Its box.
        """
        if task[].request:
            var request = task[].request.take()
            if (
                len(self._requests) < _POOLED_COUNT_MAX
                and request[].content.capacity() <= _POOLED_LEN_MAX
            ):
                request[].content.clear()
                request[].trailers = None
                self._requests.append(request^)
        # What it holds of others is let go at once.
        task[].renew(0)
        if (
            len(self._tasks) < _POOLED_COUNT_MAX
            and task[].piece.capacity() <= _POOLED_LEN_MAX
        ):
            self._tasks.append(task^)


struct Http2Link(Movable):
    """The HTTP/2 side of a connection."""

    var session: Http2Session
    """The protocol."""
    var input: Buffer
    """A part of a frame, or more while the client does not take what it is
    sent."""
    var tasks: List[OwnedPointer[StreamTask]]
    """What is under way, in the order in which it began."""
    var partial_end_ms: Int
    """When a frame or a field block that has begun must be complete."""
    var partial_frame: Int
    """How many frames there were before it."""
    var settings_end_ms: Int
    """When our SETTINGS must be acknowledged."""
    var idle_end_ms: Int
    """When a connection without streams ends."""
    var idle_count: UInt64
    """How many requests were answered when that was set: other frames do not
    prolong it."""
    var write_end_ms: Int
    """When the client must have taken what waits in the socket's way."""
    var window_end_ms: Int
    """When the client must have opened the connection's window, if content waits
    for that."""
    var window_sent_len: Int
    """What it has let through since that was set, in bytes."""
    var deadline_ms: Int
    """The earliest of all."""
    var goaway_end_ms: Int
    """When no more streams are taken, once the end was announced."""
    var is_ending: Bool
    """True if the end was announced."""
    var is_over: Bool
    """True if no more streams are taken."""
    var has_cancelled: Bool
    """True if the pool is to look for requests that nobody waits for."""
    var completed: List[Int]
    """Streams whose content is complete, which the pool does not know yet."""
    var name: Buffer
    """Room for the name of a field."""

    def __init__(out self, limits: Http2Limits, now_ms: Int):
        """Makes the link of a connection that begins.

        Args:
            limits: What the client may ask for.
            now_ms: The time now.
        """
        self.session = Http2Session(Http2Role.SERVER, limits, now_ms)
        self.input = Buffer(0)
        self.tasks = []
        self.partial_end_ms = NEVER_MS
        self.partial_frame = 0
        self.settings_end_ms = NEVER_MS
        self.idle_end_ms = NEVER_MS
        self.idle_count = 0
        self.write_end_ms = NEVER_MS
        self.window_end_ms = NEVER_MS
        self.window_sent_len = 0
        self.deadline_ms = NEVER_MS
        self.goaway_end_ms = NEVER_MS
        self.is_ending = False
        self.is_over = False
        self.has_cancelled = False
        self.completed = []
        self.name = Buffer(0)

    @staticmethod
    def begin(mut state: WorkerState) -> OwnedPointer[Self]:
        """Makes the link of a connection that begins, and its first frames.

        Args:
            state: The worker's state; its output gets our SETTINGS.

        Returns:
            The link.
        """
        ref config = state.config
        var link = OwnedPointer(
            Self(
                config.http2_limits.session_limits(
                    config.max_header_size,
                    config.max_fields,
                    config.max_target_size,
                ),
                state.now_ms,
            )
        )
        link[].session.begin(state.out)
        link[].settings_end_ms = (
            state.now_ms + config.http2_limits.settings_timeout_ms
        )
        link[].partial_end_ms = state.now_ms + config.header_timeout_ms
        return link^

    def cancel(mut self):
        """Tells all handlers that nobody waits for them."""
        for index in range(len(self.tasks)):
            self.tasks.at(index)[].cancel(
                503, "nobody waits for the response any more"
            )

    def find(self, id: Int) -> Int:
        """Finds the task of a stream.

        Args:
            id: The stream's number.

        Returns:
            Its index, or -1.
        """
        for index in range(len(self.tasks)):
            if self.tasks.at(index)[].id == id:
                return index
        return -1

    def drop_all(mut self):
        """Gives up all that is under way."""
        self.cancel()
        self.tasks.clear()
        self.has_cancelled = True

    def drop(mut self, index: Int, mut out: Buffer) -> OwnedPointer[StreamTask]:
        """Takes a task out.

        Args:
            index: Which one.
            out: Gets WINDOW_UPDATE: what nobody will read of its content is the
                connection's room again.

        Returns:
            The task; a handler that has it counts until it has answered.
        """
        var task = self.tasks.pop(index)
        self.session.state.owe(task[].piped_len, out)
        if task[].job:
            self.session.foreign_count += 1
            self.has_cancelled = True
        return task^
