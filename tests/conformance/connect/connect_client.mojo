"""The client under test of the conformance suite of Connect: gRPC, by `GrpcChannel`.

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
    Compression,
    StreamType,
)
from conformance_messages.connectrpc.conformance.v1.service_pb import (
    ConformancePayload,
    Error_,
    UnaryResponse,
)
from flare.grpc import GrpcKind, GrpcStatus
from flare.grpc.client import (
    ChannelCall,
    GrpcCallOptions,
    GrpcChannel,
    GrpcChannelConfig,
)
from flare.grpc.core.coding import MessageCoding
from flare.http.client import CancelToken
from flare.protobuf import decode
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


def channel_of(asked: ClientCompatRequest) raises -> GrpcChannel:
    var config = GrpcChannelConfig()
    config.timeout_ms = -1
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


struct Invocation(Movable):
    """A call, and what has come of it."""

    var call: ChannelCall
    var cancel: CancelToken
    var result: ClientResponseResult
    # After how many replies it is cancelled; 0 for never.
    var reply_count_max: Int
    var is_over: Bool

    def __init__(out self, var call: ChannelCall, cancel: CancelToken):
        self.call = call^
        self.cancel = cancel
        self.result = ClientResponseResult()
        self.reply_count_max = 0
        self.is_over = False

    def receive(mut self) raises:
        """Waits for a reply, or for the end."""
        if self.is_over:
            return
        try:
            if not self.call.next():
                self.is_over = True
                return
        except status:
            self.result.error = error_of(status)
            self.is_over = True
            return
        var reply = decode[UnaryResponse](self.call.message())
        if not reply.payload:
            reply.payload = ConformancePayload()
        self.result.payloads.append(reply.payload.take())
        var count = len(self.result.payloads)
        if count > 0 and count == self.reply_count_max:
            self.cancel.cancel()

    def finish(mut self, kind: GrpcKind) -> ClientResponseResult:
        if self.result.error and not kind.gives_stream():
            # As `GrpcChannel.unary` has it, which raises then.
            self.result.payloads = []
        self.result.response_headers = seen(self.call.response.headers)
        self.result.response_trailers = seen(self.call.response.trailers)
        return self.result.copy()


def error_of(status: GrpcStatus) -> Error_:
    var error = Error_(
        code=Code(Int32(Int(status.code.number))), message=status.message
    )
    error.details = status.details.copy()
    return error^


def invoke(asked: ClientCompatRequest) raises -> ClientResponseResult:
    var cancel = CancelToken()
    var kind = kind_of(asked.stream_type)
    var path = String(
        "/", asked.service.or_else(""), "/", asked.method.or_else("")
    )
    var channel = channel_of(asked)
    var invocation = Invocation(
        channel.call(path, kind, options_of(asked, cancel)), cancel
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
        invocation.call.finish_sending()
    while not invocation.is_over:
        invocation.receive()
    while len(threads) > 0:
        threads.pop().join()
    return invocation.finish(kind)


def send_all(
    asked: ClientCompatRequest, kind: GrpcKind, mut invocation: Invocation
) raises:
    var is_full_duplex = (
        asked.stream_type == StreamType.STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM
    )
    var count = len(asked.request_messages)
    for index in range(count):
        if kind.takes_stream() and asked.request_delay_ms > 0:
            sleep(Float64(asked.request_delay_ms) / 1_000)
        if not invocation.call.send(asked.request_messages[index].value):
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
