"""A call with a stream under way, as the source of its response."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.interceptor import Interceptors
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.reply import log_status, trailers_of
from flare.grpc.server.stream import AnyStream
from flare.http.handler.later import RequestContent
from flare.http.message.body import BodySource, Poll, StreamWaker
from flare.http.message.body_reader import BodyError
from flare.http.message.trailers import Trailers
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import monotonic_ms
from std.memory import ArcPointer

comptime _PIECE_LEN = 32 * 1024
# So much of replies is made before the caller has taken some.

comptime _ASKED_MS = 3_600_000
# A source with nothing to do is asked so seldom.


struct _Ear(LoopTask):
    """Hears of content that has come, and of the deadline."""

    var loop: ArcPointer[WorkerLoop]
    var waker: Optional[StreamWaker]

    def __init__(out self, loop: ArcPointer[WorkerLoop]):
        self.loop = loop.copy()
        self.waker = None

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        task[].ring()

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].ring()

    def ring(self):
        if self.waker:
            self.loop[].woken.append(self.waker.held().place())


struct _Arriving(Movable):
    """Content of a request that goes on arriving behind the head."""

    var content: RequestContent
    var ear: ArcPointer[_Ear]
    var token: UInt64

    def __init__(
        out self,
        var content: RequestContent,
        loop: ArcPointer[WorkerLoop],
        time_left_ms: Optional[Int],
    ):
        self.content = content^
        self.ear = ArcPointer(_Ear(loop))
        self.token = loop[].add(self.ear)
        self.content.go_on(self.token)
        if time_left_ms:
            loop[].set_deadline(self.token, loop[].now_ms + time_left_ms.held())

    def __deinit__(deinit self):
        self.ear[].loop[].remove(self.token)


struct OpenCall(BodySource):
    """A stream, the requests that come for it, and the replies that go."""

    var call: GrpcCall
    var _stream: AnyStream
    var _reader: MessageReader
    var _kind: GrpcKind
    var _arriving: Optional[_Arriving]
    # Whether there are no more octets of requests.
    var _has_all: Bool
    # Whether the stream knows that.
    var _has_ended: Bool
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
        self._arriving = None
        self._has_all = True
        self._has_ended = False
        self._interceptors = interceptors.copy()
        self._is_over = False

    def __deinit__(deinit self):
        """Ends it; a stream that has not ended hears that."""
        if self._is_over:
            return
        if not self.call.status:
            self.call.is_cancelled = True
            self._stream.on_cancel()
            self.call.end(GrpcStatus(GrpcCode.CANCELLED))
        self._interceptors.after(self.call, self.call.status.held())

    def await_content(
        mut self,
        var content: RequestContent,
        loop: ArcPointer[WorkerLoop],
    ):
        """Takes requests that go on arriving."""
        self._has_all = False
        self._arriving = _Arriving(content^, loop, self.call.time_left_ms())

    def begin(mut self, var waker: StreamWaker):
        """Keeps what has the call asked again."""
        if self._arriving:
            self._arriving.held().ear[].waker = waker.copy()
        self.call._waker = waker^

    def poll_interval_ms(self) -> Int:
        """Tells when the deadline is over."""
        var left_ms = self.call.time_left_ms()
        return min(left_ms.held() + 1, _ASKED_MS) if left_ms else _ASKED_MS

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Lets the stream go on, and gives what it replies."""
        if not self.call.status:
            if self.call.is_late():
                self._stream.on_cancel()
                self.call.end(late())
            else:
                self._drive()
        if len(self.call.out) > 0:
            out.append(self.call.out.span())
            self.call.out.clear()
            if not self.call.status:
                return Poll.READY
        return Poll.DONE if self.call.status else Poll.PENDING

    def trailers(mut self) raises -> Trailers:
        """Ends the call with its status."""
        self._is_over = True
        ref status = self.call.status.held()
        log_status(self.call.path, status)
        self._interceptors.after(self.call, status)
        return trailers_of(status, self.call.trailers)

    def _drive(mut self):
        """Gives the stream what there is for it, until it has replied enough."""
        try:
            self._take_requests()
            while not self.call.status and len(self.call.out) < _PIECE_LEN:
                var before_len = len(self.call.out)
                self._stream.on_room(self.call)
                if len(self.call.out) == before_len:
                    break
            self._check_replies()
        except status:
            # What a stream raises is how its call ends, whatever it said before.
            self.call.status = status.copy()
            if not self._kind.gives_stream():
                # A caller that waits for one reply takes no other beside the
                # status that says why there is none.
                self.call.out.clear()

    def _take_requests(mut self) raises GrpcStatus:
        while (
            not self.call.status
            and len(self.call.out) < _PIECE_LEN
            and not self._stream.is_full()
        ):
            if self._reader.next():
                if (
                    self._reader.message_count > 1
                    and not self._kind.takes_stream()
                ):
                    raise too_many()
                self._stream.on_message(self._reader.message(), self.call)
            elif self._has_all:
                self._hear_end()
                return
            elif not self._take_content():
                return

    def _hear_end(mut self) raises GrpcStatus:
        if self._has_ended:
            return
        self._has_ended = True
        self._reader.finish()
        if self._reader.message_count == 0 and not self._kind.takes_stream():
            raise too_few()
        self._stream.on_end(self.call)
        if not self._kind.gives_stream():
            self.call.end(GrpcStatus())

    def _take_content(mut self) raises GrpcStatus -> Bool:
        """Takes what has arrived; False if that is nothing."""
        var before_len = self._reader.waiting_len()
        try:
            self._has_all = self._arriving.held().content.take(
                self._reader.room()
            )
        except error:
            raise broken_off(error)
        return self._has_all or self._reader.waiting_len() > before_len

    def _check_replies(self) raises GrpcStatus:
        """Holds a stream to the one reply that its method has."""
        if (
            self._kind.gives_stream()
            or not self.call.status
            or not self.call.status.held().is_ok()
            or self.call.reply_count == 1
        ):
            return
        raise GrpcStatus(
            GrpcCode.INTERNAL,
            note=String(
                "the method has one reply, and its stream gave ",
                self.call.reply_count,
            ),
        )


@no_inline
def late() -> GrpcStatus:
    return GrpcStatus(GrpcCode.DEADLINE_EXCEEDED, "the deadline is over")


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
