"""A call with a stream under way: at first an errand, which waits for what its
response begins with, and then the source of that response.

    begin, on_event, on_deadline --> OpenTask: the stream goes on
        |  a reply, the end, send_headers, or a second over
        v
    Completion.finish --> OpenCall, the source, which the task has asked again
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_reader import MessageReader, has_compressed
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.core.web import TextDecoder, append_text
from flare.grpc.server.call import GrpcCall, failure_of, late
from flare.grpc.server.call_bells import bell_for
from flare.grpc.server.interceptor import Interceptors
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.reply import (
    add_head,
    append_end,
    log_status,
    status_alone,
    trailers_of,
)
from flare.grpc.server.stream import AnyStream
from flare.http.handler.later import Completion, Errand, RequestContent
from flare.http.message.body import Body, BodySource, Poll, StreamWaker
from flare.http.message.body_reader import BodyError
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import monotonic_ns
from std.memory import ArcPointer

comptime _PIECE_LEN = 32 * 1024
# So much of replies is made before the caller has taken some.

comptime _ASKED_MS = 3_600_000
# A source with nothing to do is asked so seldom.

comptime _HEAD_MS = 1_000
# So long the head waits for a first reply, far below what the server gives a
# client for its content, and a handler for its answer.

comptime _MS = 1_000_000
# Nanoseconds.

comptime _LATE_MS = 1_000
# How often a call whose time is over is looked at, until it is gone.


@fieldwise_init
struct RequestsPhase(Equatable, TrivialRegisterPassable):
    """How far a stream has come with the requests for it."""

    var number: UInt8

    comptime ARRIVING = RequestsPhase(0)
    """More octets may come."""
    comptime HERE = RequestsPhase(1)
    """All have come, which the stream has not heard."""
    comptime HEARD = RequestsPhase(2)
    """The stream knows that there are no more."""


struct OpenCall(BodySource):
    """A stream, the requests that come for it, and the replies that go."""

    var call: GrpcCall
    var _stream: AnyStream
    var _reader: MessageReader
    var _kind: GrpcKind
    # What the loop knows of the call; nothing if it is not served on one.
    var _task: Optional[ArcPointer[OpenTask]]
    var _content: Optional[RequestContent]
    # Reads content in base64.
    var _text: TextDecoder
    var _requests: RequestsPhase
    # Whether the frame that ends the response was written.
    var _has_said_end: Bool
    var _interceptors: Interceptors
    var _is_over: Bool

    def __init__(
        out self,
        var call: GrpcCall,
        var stream: AnyStream,
        var reader: MessageReader,
        kind: GrpcKind,
        interceptors: Interceptors,
    ):
        """Makes a call all of whose requests the reader has."""
        self.call = call^
        self._stream = stream^
        self._reader = reader^
        self._kind = kind
        self._task = None
        self._content = None
        self._text = TextDecoder()
        self._requests = RequestsPhase.HERE
        self._has_said_end = False
        self._interceptors = interceptors.copy()
        self._is_over = False

    def __deinit__(deinit self):
        """Ends it; a stream that has not ended hears that."""
        if self._task:
            self._task.held()[].leave()
        if self._is_over:
            return
        if not self.call.status:
            self.call.is_cancelled = True
            self._stream.on_cancel()
            self.call.end(
                late() if self.call.is_late() else GrpcStatus(
                    GrpcCode.CANCELLED
                )
            )
        self._interceptors.after(self.call, self.call.status.held())

    def attach(
        mut self,
        task: ArcPointer[OpenTask],
        var content: Optional[RequestContent],
    ):
        """Makes it a call on a worker's loop, whose requests may go on arriving."""
        self._task = task.copy()
        self.call._waker = bell_for(task[].loop, task[].token)
        if content:
            self._requests = RequestsPhase.ARRIVING
            self._content = content^
            self._content.held().go_on(task[].token)

    def receive(mut self, content: Span[UInt8, _]) raises GrpcStatus:
        if not self.call.protocol().is_text():
            self._reader.receive(content)
        elif not self._text.receive(content, self._reader.room()):
            raise no_base64()

    def begin(mut self, var waker: StreamWaker):
        """Keeps what has the call asked again."""
        if self._task:
            self._task.held()[].source = waker^
        else:
            self.call._waker = waker^

    def poll_interval_ms(self) -> Int:
        """Tells when the deadline is over."""
        var left_ms = self.call.time_left_ms()
        return min(left_ms.held() + 1, _ASKED_MS) if left_ms else _ASKED_MS

    def has_given_up(self) -> Bool:
        """Tells whether the deadline is over, of a caller that does not even
        take what came before the status: who takes it has had the status since.
        """
        if self.call.status or not self._task:
            return False
        return self._task.held()[].late_count > 1

    def go_on(mut self):
        """Lets the stream go on, or ends the call if its deadline is over."""
        if self.call.status:
            return
        if self.call.is_late():
            self.cut_off(late())
        else:
            self._drive()

    def cut_off(mut self, var status: GrpcStatus):
        """Ends the call before its stream has, which hears that."""
        self._stream.on_cancel()
        self.call.end(status^)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Lets the stream go on, and gives what it replies."""
        self.go_on()
        if self._has_replies():
            if self.call.protocol().is_text():
                append_text(self.call.out.span(), out)
            elif len(out) == 0:
                swap(self.call.out, out)
                # As much may follow.
                self.call.out.reserve(len(out))
            else:
                out.append(self.call.out.span())
            self.call.out.clear()
            if not self.call.status:
                return Poll.READY
        if not self.call.status:
            return Poll.PENDING
        if not self._has_said_end:
            self._has_said_end = True
            append_end(
                self.call.protocol(),
                self.call.status.held(),
                self.call.trailers,
                out,
            )
        return Poll.DONE

    def _has_replies(self) -> Bool:
        """Tells whether there is something to send; one reply waits for the status,
        which may say that there is none."""
        return len(self.call.out) > 0 and (
            self._kind.gives_stream() or Bool(self.call.status)
        )

    def has_head(self) -> Bool:
        """Tells whether there is something that a response begins with."""
        return (
            self._has_replies()
            or Bool(self.call.status)
            or self.call._sends_headers
        )

    def respond(var self) -> Response:
        """Makes the response, of which the call is then the source, unless it is
        over without a reply."""
        if self.call.status and len(self.call.out) == 0:
            self._note_end()
            return status_alone(
                self.call.protocol(),
                self.call.status.held(),
                self.call.headers,
                self.call.trailers,
            )
        var response = Response(
            200, "", content_type=self.call.protocol().content_type()
        )
        try:
            add_head(response.headers, self.call, self._head_coding())
        except:
            self.call.status = head_too_long()
            self.call.headers = Metadata()
            self.call.out.clear()
            self._stream.on_cancel()
            return self^.respond()
        response.body = Body(self^)
        return response^

    def _head_coding(mut self) -> MessageCoding:
        """Decides what the head says of how replies are compressed. A machine may
        choose otherwise with each of them, and none may be compressed whose head
        does not say so."""
        if has_compressed(self.call.out.span()):
            return MessageCoding.GZIP
        var coding = self.call.coding()
        if coding == MessageCoding.IDENTITY:
            self.call.refuse_coding()
        return coding

    def _note_end(mut self):
        """Tells those who want to know how the call has ended."""
        self._is_over = True
        ref status = self.call.status.held()
        log_status(self.call.path, status)
        self._interceptors.after(self.call, status)

    def trailers(mut self) raises -> Trailers:
        """Ends the call with its status, if that is not in the content."""
        self._note_end()
        if not self.call.protocol().has_trailers():
            return Trailers()
        return trailers_of(self.call.status.held(), self.call.trailers)

    def _drive(mut self):
        """Gives the stream what there is for it, until it has replied enough."""
        try:
            self._take_requests()
            # One reply waits here for its status, however long it is.
            while not self.call.status and not self._is_behind():
                var before_len = len(self.call.out)
                self._stream.on_room(self.call)
                if len(self.call.out) == before_len:
                    break
            self._check_replies()
        except status:
            # What a stream raises is how its call ends, whatever it said before.
            self.call.status = failure_of(status, self.call)
        if (
            self.call.status
            and not self.call.status.held().is_ok()
            and not self._kind.gives_stream()
        ):
            # A caller that waits for one reply takes no other beside the status
            # that says why there is none.
            self.call.out.clear()

    def _take_requests(mut self) raises GrpcStatus:
        while (
            not self.call.status
            and not self._is_behind()
            and not self._stream.is_full(len(self._reader.message()))
        ):
            if self._reader.next():
                if (
                    self._reader.message_count > 1
                    and not self._kind.takes_stream()
                ):
                    raise too_many()
                self._stream.on_message(self._reader.message(), self.call)
            elif self._requests != RequestsPhase.ARRIVING:
                self._hear_end()
                return
            elif not self._take_content():
                return

    def _is_behind(self) -> Bool:
        """Tells whether the caller has to take replies before more is done."""
        return self._kind.gives_stream() and len(self.call.out) >= _PIECE_LEN

    def _hear_end(mut self) raises GrpcStatus:
        if self._requests == RequestsPhase.HEARD:
            return
        self._requests = RequestsPhase.HEARD
        if not self._text.is_whole():
            raise no_base64()
        self._reader.finish()
        if self._reader.message_count == 0 and not self._kind.takes_stream():
            raise too_few()
        self._stream.on_end(self.call)
        if not self._kind.gives_stream() and not self._stream.replies_later():
            self.call.end(GrpcStatus())

    def _take_content(mut self) raises GrpcStatus -> Bool:
        """Takes what has arrived; False if that is nothing."""
        var before_len = self._reader.waiting_len()
        var is_text = self.call.protocol().is_text()
        var text = Buffer()
        var has_all: Bool
        try:
            if is_text:
                has_all = self._content.held().take(text)
            else:
                has_all = self._content.held().take(self._reader.room())
        except error:
            self._stream.on_cancel()
            raise broken_off(error)
        if has_all:
            self._requests = RequestsPhase.HERE
        if not is_text:
            return has_all or self._reader.waiting_len() > before_len
        self.receive(text.span())
        return has_all or len(text) > 0

    def _check_replies(self) raises GrpcStatus:
        """Holds a stream to the one reply that its method has."""
        var count = self.call.reply_count
        var is_over = self.call.status and self.call.status.held().is_ok()
        if self._kind.gives_stream() or count == 1:
            return
        if count == 0 and not is_over:
            return
        raise GrpcStatus(
            GrpcCode.INTERNAL,
            note=String(
                "the method has one reply, and its stream gave ",
                count,
            ),
        )


struct OpenTask(Errand, LoopTask):
    """What a worker's loop knows of a call: before its response the call itself,
    then what has the response's source asked again."""

    var loop: ArcPointer[WorkerLoop]
    var token: UInt64
    var open: Optional[OpenCall]
    """The call, until its response begins."""
    var source: Optional[StreamWaker]
    """Has the source asked again, once there is one."""
    var late_count: Int
    """How often the source was told that the deadline is over."""
    var _completion: Optional[Completion]
    var _head_ms: Int
    # The call's, once its response has begun.
    var _deadline_ns: Int

    def __init__(out self, loop: ArcPointer[WorkerLoop]):
        self.loop = loop.copy()
        self.token = 0
        self.open = None
        self.source = None
        self.late_count = 0
        self._completion = None
        self._head_ms = 0
        self._deadline_ns = 0

    def __deinit__(deinit self):
        # It and its call know each other, which the compiler asks this for.
        pass

    @staticmethod
    def join(loop: ArcPointer[WorkerLoop]) -> ArcPointer[Self]:
        """Makes a task that the loop knows, until `leave`."""
        var task = ArcPointer(Self(loop))
        task[].token = loop[].add(task)
        return task^

    def leave(self):
        """Has the loop forget it."""
        self.loop[].remove(self.token)

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        errand[]._completion = completion^
        errand[]._head_ms = errand[].loop[].now_ms + _HEAD_MS
        errand[]._turn()

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        errand[]._turn()

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        errand[]._completion = None
        # The call ends, and leaves the loop.
        var gone = Optional[OpenCall](None)
        swap(gone, errand[].open)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        task[]._turn()

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[]._turn()
        if not task[].source:
            return
        # The loop's clock may be behind. Who begins to take the rest, and stops, is
        # met again.
        var left_ns = task[]._deadline_ns - monotonic_ns()
        task[].late_count += Int(left_ns <= 0)
        var pause_ms = left_ns // _MS + 1 if left_ns > 0 else _LATE_MS
        var next_ms = task[].loop[].now_ms + pause_ms
        task[].loop[].set_deadline(task[].token, next_ms)

    def _turn(mut self):
        """Lets the call go on, and begins its response if there is something."""
        if self.source:
            self.loop[].woken.append(self.source.held().place())
            return
        if not self.open or not self._completion:
            return
        self.open.held().go_on()
        var now_ms = self.loop[].now_ms
        var left_ms = self.open.held().call.time_left_ms()
        var end_ms = now_ms + left_ms.held() + 1 if left_ms else NEVER
        if not self.open.held().has_head() and now_ms < self._head_ms:
            self.loop[].set_deadline(self.token, min(self._head_ms, end_ms))
            return
        self.loop[].set_deadline(self.token, end_ms)
        self._deadline_ns = self.open.held().call._deadline_ns
        var open = self.open.take()
        var completion = self._completion.take()
        completion^.finish(open^.respond())


@no_inline
def no_base64() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL, "the content is said to be base64, and is not"
    )


@no_inline
def head_too_long() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL, note="the metadata of the head are too long"
    )


@no_inline
def too_many() -> GrpcStatus:
    """Source: statuscodes.md of gRPC, "Request cardinality violation"."""
    return GrpcStatus(
        GrpcCode.UNIMPLEMENTED, "the method takes one message, and more came"
    )


@no_inline
def too_few() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.UNIMPLEMENTED, "the method takes one message, and none came"
    )


@no_inline
def broken_off(error: BodyError) -> GrpcStatus:
    return GrpcStatus(GrpcCode.CANCELLED, error.reason)
