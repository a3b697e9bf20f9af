"""A call as its method sees it: who asks, for how long, and what is said beside
messages."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.grpc.core.codec import encode_as, read_as
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_writer import begin_message, end_message
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.call_threads import CallThreads
from flare.http.message.body import StreamWaker
from flare.http.message.fields import Fields
from flare.http.message.request import CancelFlag
from flare.net.socket_addr import SocketAddr
from flare.protobuf.error import ProtobufError
from flare.protobuf.json_settings import ProtobufJson
from flare.protobuf.message import Message
from flare.sys.clock import monotonic_ns
from std.memory import ArcPointer


struct GrpcCall(Movable):
    """One call of a method.

    A unary method is lent it while it runs, a stream as long as it lives; it
    belongs to the thread that runs the method.
    """

    var path: String
    """The method, such as `/routeguide.RouteGuide/GetFeature`."""
    var peer: SocketAddr
    """Where the call came from."""
    var headers: Metadata
    """What is sent before the replies: with the first one, or the status, or
    what `send_headers` asks for."""
    var trailers: Metadata
    """What is sent beside the status."""
    var compresses: Bool
    """Whether replies are compressed; nothing comes of it if the caller does
    not read gzip, or if the head of a stream has gone before this was true."""
    var is_cancelled: Bool
    """Whether the caller has gone; see `is_wanted`."""
    var _metadata: Metadata
    # SAFETY: the request's own, for as long as the method runs; `keep_metadata`
    # ends that for a stream.
    var _fields: Optional[Fields[ImmUntrackedOrigin]]
    var _cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin]
    var _waker: Optional[StreamWaker]
    var _deadline_ns: Int
    var _threads: Optional[CallThreads]
    var _accepts_gzip: Bool
    var _send_len_max: Int
    var _protocol: CallProtocol
    # What is chosen about JSON, if messages are written so.
    var _json: Optional[ArcPointer[ProtobufJson]]
    # Whether the head is not to wait for a reply.
    var _sends_headers: Bool
    # Memory for octets of the request of a unary call.
    var _room: List[UInt8]
    var out: Buffer
    """Replies that are not sent, with their prefixes."""
    var reply_count: Int
    """How many replies were written."""
    var status: Optional[GrpcStatus]
    """How the call has ended, if it has."""

    def __init__(
        out self,
        path: String,
        peer: SocketAddr,
        fields: Optional[Fields[ImmUntrackedOrigin]] = None,
        cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin] = None,
        *,
        deadline_ns: Int = NEVER,
        send_len_max: Int = Int.MAX,
        protocol: CallProtocol = CallProtocol.GRPC,
    ):
        """Makes the call of a request.

        Args:
            fields: The request's own, which outlive the call, or
                `keep_metadata`.
            cancel: The flag of the request, which does so, too.
            deadline_ns: When the caller does not wait any more, as
                `monotonic_ns`.
            send_len_max: Longest reply, in bytes.
            protocol: How it goes over HTTP.
        """
        self.path = path
        self.peer = peer
        self.headers = Metadata()
        self.trailers = Metadata()
        self.compresses = False
        self.is_cancelled = False
        self._metadata = Metadata()
        self._fields = fields.copy()
        self._cancel = cancel
        self._waker = None
        self._deadline_ns = deadline_ns
        self._threads = None
        self._accepts_gzip = False
        self._send_len_max = send_len_max
        self._protocol = protocol
        self._json = None
        self._sends_headers = False
        self._room = []
        self.out = Buffer(0)
        self.reply_count = 0
        self.status = None

    @no_inline
    def __deinit__(deinit self):
        return

    def metadata(mut self) -> ref[self._metadata] Metadata:
        """Lends what the caller has sent beside messages, without what belongs
        to gRPC or HTTP."""
        if self._fields:
            var fields = self._fields.take()
            self._metadata.take_fields(fields)
        return self._metadata

    def keep_metadata(mut self):
        """Copies what would go with the request."""
        _ = len(self.metadata())
        self._cancel = None

    def time_left_ms(self) -> Optional[Int]:
        """Tells how many milliseconds the caller still waits, 0 if its time is
        over; nothing if it has named no deadline."""
        return left_until_ms(self._deadline_ns)

    def is_late(self) -> Bool:
        """Tells whether the caller's deadline is over, if it has named one."""
        return (
            self._deadline_ns != NEVER and monotonic_ns() >= self._deadline_ns
        )

    def is_wanted(self) -> Bool:
        """Tells whether anybody waits for the reply, for methods that take long
        to ask now and then: the caller has not gone, and its deadline is not
        over. On the worker's own thread nobody is seen to go while the method
        runs."""
        if self.is_cancelled or self.is_late():
            return False
        # SAFETY: the flag outlives the method.
        return not (self._cancel and self._cancel.held()[].is_set())

    def waker(self) -> Optional[StreamWaker]:
        """Gives what has a stream asked again, from any thread, and may be
        kept; `GrpcStream.on_room` follows its ring. Nothing before the first
        message, and none of a unary method."""
        return self._waker.copy()

    def protocol(self) -> CallProtocol:
        """Tells how the call goes over HTTP: as gRPC, gRPC-Web or Connect, and
        how messages are written."""
        return self._protocol

    def send_headers(mut self):
        """Has `headers` sent now; later changes to them are lost. Without this
        they wait for the first reply, or for a second."""
        self._sends_headers = True

    def coding(self) -> MessageCoding:
        """Tells how replies are compressed, by `grpc-encoding` or its like."""
        if self.compresses and self._accepts_gzip:
            return MessageCoding.GZIP
        return MessageCoding.IDENTITY

    def refuse_coding(mut self):
        """Has no reply compressed from now on, as the head says that none is."""
        self._accepts_gzip = False

    def end(mut self, var status: GrpcStatus):
        """Ends the call; what ended it first stays.

        Args:
            status: How.
        """
        if not self.status:
            self.status = status^


def left_until_ms(deadline_ns: Int) -> Optional[Int]:
    """Tells how long it is until a deadline; nothing if it is none."""
    if deadline_ns == NEVER:
        return None
    return max(0, (deadline_ns - monotonic_ns()) // 1_000_000)


def write_reply[M: Message](mut call: GrpcCall, message: M) raises GrpcStatus:
    """Writes a reply after those that are not sent yet."""
    if call.status:
        raise GrpcStatus(
            GrpcCode.INTERNAL, note="a reply behind the end of its call"
        )
    var start = begin_message(call.out)
    try:
        encode_as(message, call._protocol.codec(), call._json, call.out)
    except error:
        call.out.truncate(start)
        raise unwritable(error)
    end_reply(call, start)


@no_inline
def end_reply(mut call: GrpcCall, start: Int) raises GrpcStatus:
    end_message(call.out, start, call.coding(), call._send_len_max)
    call.reply_count += 1


@no_inline
def failure_of(status: GrpcStatus, call: GrpcCall) -> GrpcStatus:
    """Gives the status of a method that has raised one: no success, since there
    is no reply, and not CANCELLED behind the deadline, which says that the method
    has heard of that and given up."""
    if status.code == GrpcCode.CANCELLED and call.is_late():
        return late()
    if not status.is_ok():
        return status.copy()
    return GrpcStatus(
        GrpcCode.INTERNAL, note="the method has raised a status that is OK"
    )


@no_inline
def late() -> GrpcStatus:
    return GrpcStatus(GrpcCode.DEADLINE_EXCEEDED, "the deadline is over")


@always_inline
def read_request[
    M: Message
](
    mut message: M, octets: Span[UInt8, ImmUntrackedOrigin], call: GrpcCall
) raises GrpcStatus:
    """Reads a message of a caller into one that is empty."""
    try:
        read_as(message, octets, call._protocol.codec(), call._json)
    except error:
        raise malformed(error)


@no_inline
def malformed(error: ProtobufError) -> GrpcStatus:
    """Says what is wrong with a caller's message, with field and offset."""
    return GrpcStatus(GrpcCode.INVALID_ARGUMENT, String(error))


@no_inline
def unwritable(error: ProtobufError) -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL,
        "the reply cannot be written",
        note=String(error),
    )
