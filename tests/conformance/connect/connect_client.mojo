"""The client under test of the conformance suite of Connect: `GrpcChannel`, in all of
its protocols.

It reads a `ClientCompatRequest` after the other from the standard input, makes the
call, and says what has become of it by a `ClientCompatResponse`. See
`connect_server.mojo`.
"""

from conformance_messages.connectrpc.conformance.v1.client_compat_pb import (
    ClientCompatRequest,
    ClientCompatResponse,
    ClientErrorResult,
    ClientResponseResult,
)
from conformance_messages.connectrpc.conformance.v1.config_pb import (
    Code,
    Codec,
    Compression,
    HTTPVersion,
    Protocol,
    StreamType,
)
from conformance_messages.connectrpc.conformance.v1.service_pb import (
    BidiStreamRequest,
    ClientStreamRequest,
    ConformancePayload,
    ConformancePayload_RequestInfo,
    Error_,
    Header,
    IdempotentUnaryRequest,
    ServerStreamRequest,
    UnaryRequest,
    UnaryResponse,
    UnimplementedRequest,
)
from flare.grpc import CallProtocol, GrpcKind, GrpcStatus
from flare.grpc.client import (
    ChannelStream,
    GrpcCallOptions,
    GrpcChannel,
    GrpcChannelConfig,
)
from flare.grpc.core.coding import MessageCoding
from flare.http.client import CancelToken
from flare.protobuf import Message, ProtobufJson, decode
from flare.sys.thread import Task, Thread
from flare.tls import TlsConfig
from tests.conformance.connect.framed_stdio import read_message, write_message
from tests.conformance.connect.metadata_headers import add_all, seen
from std.time import sleep


@fieldwise_init
struct CancelLater(Task):
    """Cancels a call after a time, while another thread waits for it."""

    var cancel: CancelToken
    var delay_ms: Int

    def run(mut self) raises:
        sleep(Float64(self.delay_ms) / 1_000)
        self.cancel.cancel()


def protocol_of(asked: ClientCompatRequest) raises -> CallProtocol:
    var is_json = asked.codec == Codec.CODEC_JSON
    if asked.protocol == Protocol.PROTOCOL_CONNECT:
        return CallProtocol.CONNECT_JSON if is_json else CallProtocol.CONNECT
    var is_web = asked.protocol == Protocol.PROTOCOL_GRPC_WEB
    if not is_json:
        return CallProtocol.GRPC_WEB if is_web else CallProtocol.GRPC
    var type = String("application/grpc", "-web" if is_web else "", "+json")
    return CallProtocol.of_content_type(type.as_bytes()).value()


def add_types(mut json: ProtobufJson):
    json.types.add[UnaryRequest]()
    json.types.add[IdempotentUnaryRequest]()
    json.types.add[ServerStreamRequest]()
    json.types.add[ClientStreamRequest]()
    json.types.add[BidiStreamRequest]()
    json.types.add[ConformancePayload_RequestInfo]()
    json.types.add[Header]()


def channel_of(asked: ClientCompatRequest) raises -> GrpcChannel:
    var config = GrpcChannelConfig()
    config.timeout_ms = -1
    config.protocol = protocol_of(asked)
    config.http2 = asked.http_version != HTTPVersion.HTTP_VERSION_1
    config.uses_get = asked.use_get_http_method
    add_types(config.json)
    var scheme = "http"
    if len(asked.server_tls_cert) > 0:
        scheme = "https"
        config.tls = TlsConfig(ca_pem=String(from_utf8=asked.server_tls_cert))
    if asked.message_receive_limit > 0:
        config.max_receive_len = Int(asked.message_receive_limit)
    return GrpcChannel(
        String(scheme, "://", asked.host, ":", asked.port), config^
    )


def options_of(
    asked: ClientCompatRequest, cancel: CancelToken
) raises -> GrpcCallOptions:
    var options = GrpcCallOptions()
    options.cancel = cancel
    if asked.timeout_ms:
        options.timeout_ms = Int(asked.timeout_ms.value())
    if asked.compression == Compression.COMPRESSION_GZIP:
        options.coding = MessageCoding.GZIP
    add_all(options.metadata, asked.request_headers)
    return options^


def kind_of(type: StreamType) -> GrpcKind:
    if type == StreamType.STREAM_TYPE_UNARY:
        return GrpcKind.UNARY
    if type == StreamType.STREAM_TYPE_SERVER_STREAM:
        return GrpcKind.SERVER_STREAM
    if type == StreamType.STREAM_TYPE_CLIENT_STREAM:
        return GrpcKind.CLIENT_STREAM
    return GrpcKind.BIDI_STREAM


struct Invocation[Req: Message](Movable):
    """A call, and what has come of it. Replies of all methods have one form."""

    var stream: ChannelStream[Self.Req, UnaryResponse]
    var cancel: CancelToken
    var result: ClientResponseResult
    # After how many replies it is cancelled; 0 for never.
    var reply_count_max: Int
    var is_over: Bool

    def __init__(
        out self,
        var stream: ChannelStream[Self.Req, UnaryResponse],
        cancel: CancelToken,
    ):
        self.stream = stream^
        self.cancel = cancel
        self.result = ClientResponseResult()
        self.reply_count_max = 0
        self.is_over = False

    def receive(mut self) raises:
        """Waits for a reply, or for the end."""
        if self.is_over:
            return
        var reply = Optional[UnaryResponse](None)
        try:
            reply = self.stream.next()
        except status:
            self.result.error = error_of(status)
        if not reply:
            self.is_over = True
            return
        if not reply.value().payload:
            reply.value().payload = ConformancePayload()
        self.result.payloads.append(reply.value().payload.take())
        var count = len(self.result.payloads)
        if count > 0 and count == self.reply_count_max:
            self.cancel.cancel()

    def finish(mut self, kind: GrpcKind) -> ClientResponseResult:
        if self.result.error and not kind.gives_stream():
            # As `GrpcChannel.unary` has it, which raises then.
            self.result.payloads = []
        ref response = self.stream.call.response
        self.result.response_headers = seen(response.headers)
        self.result.response_trailers = seen(response.trailers)
        return self.result.copy()


def error_of(status: GrpcStatus) -> Error_:
    var error = Error_(
        code=Code(Int32(Int(status.code.number))), message=status.message
    )
    error.details = status.details.copy()
    return error^


def invoke(asked: ClientCompatRequest) raises -> ClientResponseResult:
    var method = asked.method.or_else("")
    if method == "IdempotentUnary":
        return invoke_as[IdempotentUnaryRequest](asked)
    if method == "Unimplemented":
        return invoke_as[UnimplementedRequest](asked)
    if method == "ServerStream":
        return invoke_as[ServerStreamRequest](asked)
    if method == "ClientStream":
        return invoke_as[ClientStreamRequest](asked)
    if method == "BidiStream":
        return invoke_as[BidiStreamRequest](asked)
    return invoke_as[UnaryRequest](asked)


def invoke_as[
    Req: Message
](asked: ClientCompatRequest) raises -> ClientResponseResult:
    var cancel = CancelToken()
    var kind = kind_of(asked.stream_type)
    var path = String(
        "/", asked.service.or_else(""), "/", asked.method.or_else("")
    )
    var channel = channel_of(asked)
    var call = channel.call(
        path,
        kind,
        options_of(asked, cancel),
        is_safe=asked.use_get_http_method,
    )
    var invocation = Invocation(
        ChannelStream[Req, UnaryResponse](call^), cancel
    )
    if asked.cancel and asked.cancel.value().after_num_responses:
        invocation.reply_count_max = Int(
            asked.cancel.value().after_num_responses.value()
        )
    send_all(asked, kind, invocation)
    var threads = List[Thread]()
    if asked.cancel:
        ref timing = asked.cancel.value()
        if timing.before_close_send:
            cancel.cancel()
        elif timing.after_close_send_ms:
            var later = CancelLater(
                cancel, Int(timing.after_close_send_ms.value())
            )
            threads.append(Thread(later^))
    if kind.takes_stream():
        invocation.stream.finish_sending()
    while not invocation.is_over:
        invocation.receive()
    while len(threads) > 0:
        threads.pop().join()
    return invocation.finish(kind)


def send_all[
    Req: Message
](
    asked: ClientCompatRequest,
    kind: GrpcKind,
    mut invocation: Invocation[Req],
) raises:
    var is_full_duplex = (
        asked.stream_type == StreamType.STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM
    )
    var count = len(asked.request_messages)
    for index in range(count):
        if kind.takes_stream() and asked.request_delay_ms > 0:
            sleep(Float64(asked.request_delay_ms) / 1_000)
        var request = decode[Req](asked.request_messages[index].value)
        if not invocation.stream.send(request):
            invocation.result.num_unsent_requests = Int32(count - index)
            return
        if is_full_duplex:
            invocation.receive()
            if invocation.is_over:
                invocation.result.num_unsent_requests = Int32(count - index - 1)
                return


def main() raises:
    var input = open("/dev/stdin", "r")
    var output = open("/dev/stdout", "w")
    while True:
        var asked = read_message[ClientCompatRequest](input)
        if not asked:
            return
        var said = ClientCompatResponse(test_name=asked.value().test_name)
        try:
            said.response = invoke(asked.value())
        except error:
            said.error = ClientErrorResult(message=String(error))
        write_message(output, said)
