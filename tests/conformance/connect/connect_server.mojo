"""The server under test of the conformance suite of Connect.

It reads a `ServerCompatRequest` from the standard input, with its length in four
octets before it, says in the same way where it listens, and answers
`ConformanceService` until it is told to end. `tools/connect_conformance.py` builds
and runs it; the messages are made of the suite's own files.
"""

from conformance_messages.connectrpc.conformance.v1.server_compat_pb import (
    ServerCompatRequest,
    ServerCompatResponse,
)
from conformance_messages.connectrpc.conformance.v1.service_grpc import (
    ConformanceService,
    add_conformance_service,
)
from conformance_messages.connectrpc.conformance.v1.service_pb import (
    BidiStreamRequest,
    BidiStreamResponse,
    ClientStreamRequest,
    ClientStreamResponse,
    ConformancePayload,
    ConformancePayload_RequestInfo,
    Error_,
    Header,
    IdempotentUnaryRequest,
    IdempotentUnaryResponse,
    ServerStreamRequest,
    ServerStreamResponse,
    StreamResponseDefinition,
    UnaryRequest,
    UnaryResponse,
    UnaryResponseDefinition,
    UnimplementedRequest,
    UnimplementedResponse,
)
from flare.grpc import (
    Blocking,
    BlockingCall,
    Conversation,
    GrpcCall,
    GrpcCode,
    GrpcConfig,
    GrpcServices,
    GrpcStatus,
    Metadata,
)
from flare.http import HttpServer, ServerConfig
from flare.net import SocketAddr
from flare.protobuf import Any, Message, encode
from flare.tls import TlsIdentity, TlsServerConfig
from tests.conformance.connect.framed_stdio import read_message, write_message
from tests.conformance.connect.metadata_headers import add_all, seen
from std.time import sleep

comptime HANDLER_THREADS = 32
comptime ANY_PREFIX = "type.googleapis.com/"


def any_of[M: Message](message: M) raises GrpcStatus -> Any:
    return Any(type_url=ANY_PREFIX + M.NAME, value=encode(message))


def info_of(
    metadata: Metadata, time_left_ms: Optional[Int], var requests: List[Any]
) -> ConformancePayload_RequestInfo:
    var info = ConformancePayload_RequestInfo(
        request_headers=seen(metadata), requests=requests^
    )
    if time_left_ms:
        info.timeout_ms = Int64(time_left_ms.value())
    return info^


def status_of(error: Error_) -> GrpcStatus:
    var status = GrpcStatus(
        GrpcCode.from_number(Int(error.code.number)),
        error.message.or_else(""),
    )
    status.details = error.details.copy()
    return status^


def pause(delay_ms: UInt32):
    if delay_ms > 0:
        sleep(Float64(delay_ms) / 1_000)


def payload_of(
    definition: UnaryResponseDefinition,
    var info: ConformancePayload_RequestInfo,
) raises GrpcStatus -> ConformancePayload:
    """Gives the one reply that was asked for, or raises the error."""
    pause(definition.response_delay_ms)
    if definition.error:
        var status = status_of(definition.error.value())
        status.details.append(any_of(info))
        raise status^
    var payload = ConformancePayload(request_info=info^)
    if definition.response_data:
        payload.data = definition.response_data.value().copy()
    return payload^


def answer(
    definition: Optional[UnaryResponseDefinition],
    var request: Any,
    mut call: GrpcCall,
) raises GrpcStatus -> ConformancePayload:
    var left_ms = call.time_left_ms()
    var info = info_of(call.metadata(), left_ms, [request^])
    if not definition:
        return ConformancePayload(request_info=info^)
    add_all(call.headers, definition.value().response_headers)
    add_all(call.trailers, definition.value().response_trailers)
    return payload_of(definition.value(), info^)


@fieldwise_init
struct Replies(BlockingCall):
    """Replies to one request."""

    comptime Request = ServerStreamRequest
    comptime Reply = ServerStreamResponse

    def run(
        mut self,
        mut conversation: Conversation[
            ServerStreamRequest, ServerStreamResponse
        ],
    ) raises GrpcStatus:
        var left_ms = conversation.time_left_ms()
        var request = conversation.read()
        if not request or not request.value().response_definition:
            return
        ref wanted = request.value().response_definition.value()
        add_all(conversation.headers, wanted.response_headers)
        add_all(conversation.trailers, wanted.response_trailers)
        var info = info_of(
            conversation.metadata, left_ms, [any_of(request.value())]
        )
        if len(wanted.response_data) > 0:
            conversation.send_headers()
        for index in range(len(wanted.response_data)):
            pause(wanted.response_delay_ms)
            var payload = ConformancePayload(
                data=wanted.response_data[index].copy()
            )
            if index == 0:
                payload.request_info = info.copy()
            conversation.write(ServerStreamResponse(payload=payload^))
        end_as_wanted(wanted, len(wanted.response_data) == 0, info)


def end_as_wanted(
    wanted: StreamResponseDefinition,
    is_first: Bool,
    info: ConformancePayload_RequestInfo,
) raises GrpcStatus:
    """Raises the error that a stream is to end with, if any."""
    if not wanted.error:
        return
    var status = status_of(wanted.error.value())
    if is_first:
        status.details.append(any_of(info))
    raise status^


@fieldwise_init
struct Requests(BlockingCall):
    """Takes requests, and replies once."""

    comptime Request = ClientStreamRequest
    comptime Reply = ClientStreamResponse

    def run(
        mut self,
        mut conversation: Conversation[
            ClientStreamRequest, ClientStreamResponse
        ],
    ) raises GrpcStatus:
        var left_ms = conversation.time_left_ms()
        var wanted = Optional[UnaryResponseDefinition](None)
        var requests = List[Any]()
        while True:
            var request = conversation.read()
            if not request:
                break
            if len(requests) == 0:
                wanted = request.value().response_definition.copy()
            requests.append(any_of(request.value()))
        var info = info_of(conversation.metadata, left_ms, requests^)
        if not wanted:
            var payload = ConformancePayload(request_info=info^)
            conversation.write(ClientStreamResponse(payload=payload^))
            return
        add_all(conversation.headers, wanted.value().response_headers)
        add_all(conversation.trailers, wanted.value().response_trailers)
        var payload = payload_of(wanted.value(), info^)
        conversation.write(ClientStreamResponse(payload=payload^))


struct Both(BlockingCall):
    """Takes requests, and replies to each, or to all behind the last one."""

    comptime Request = BidiStreamRequest
    comptime Reply = BidiStreamResponse
    var wanted: StreamResponseDefinition
    var requests: List[Any]
    var reply_count: Int
    var left_ms: Optional[Int]

    def __init__(out self):
        self.wanted = StreamResponseDefinition()
        self.requests = []
        self.reply_count = 0
        self.left_ms = None

    def run(
        mut self,
        mut conversation: Conversation[BidiStreamRequest, BidiStreamResponse],
    ) raises GrpcStatus:
        self.left_ms = conversation.time_left_ms()
        var is_first = True
        var is_full_duplex = False
        while True:
            var request = conversation.read()
            if not request:
                break
            self.requests.append(any_of(request.value()))
            if is_first:
                is_first = False
                is_full_duplex = request.value().full_duplex
                self.begin(request.value(), conversation)
                if is_full_duplex and self.left_count() > 0:
                    conversation.send_headers()
            if is_full_duplex:
                if self.left_count() == 0:
                    break
                self.reply(conversation, True)
        if self.left_count() > 0:
            conversation.send_headers()
        while self.left_count() > 0:
            self.reply(conversation, False)
        var info = info_of(
            conversation.metadata, self.left_ms, self.requests.copy()
        )
        end_as_wanted(self.wanted, self.reply_count == 0, info)

    def left_count(self) -> Int:
        return len(self.wanted.response_data) - self.reply_count

    def begin(
        mut self,
        request: BidiStreamRequest,
        mut conversation: Conversation[BidiStreamRequest, BidiStreamResponse],
    ) raises GrpcStatus:
        if not request.response_definition:
            return
        self.wanted = request.response_definition.value().copy()
        add_all(conversation.headers, self.wanted.response_headers)
        add_all(conversation.trailers, self.wanted.response_trailers)

    def reply(
        mut self,
        mut conversation: Conversation[BidiStreamRequest, BidiStreamResponse],
        is_to_one: Bool,
    ) raises GrpcStatus:
        pause(self.wanted.response_delay_ms)
        var payload = ConformancePayload(
            data=self.wanted.response_data[self.reply_count].copy()
        )
        if self.reply_count == 0:
            payload.request_info = info_of(
                conversation.metadata, self.left_ms, self.requests.copy()
            )
        elif is_to_one:
            payload.request_info = ConformancePayload_RequestInfo(
                requests=self.requests.copy()
            )
        if is_to_one:
            self.requests = []
        self.reply_count += 1
        conversation.write(BidiStreamResponse(payload=payload^))


struct Service(ConformanceService):
    comptime ServerStream = Blocking[Replies]
    comptime ClientStream = Blocking[Requests]
    comptime BidiStream = Blocking[Both]

    def __init__(out self):
        pass

    def unary(
        self, request: UnaryRequest, mut call: GrpcCall
    ) raises GrpcStatus -> UnaryResponse:
        var payload = answer(request.response_definition, any_of(request), call)
        return UnaryResponse(payload=payload^)

    def idempotent_unary(
        self, request: IdempotentUnaryRequest, mut call: GrpcCall
    ) raises GrpcStatus -> IdempotentUnaryResponse:
        var payload = answer(request.response_definition, any_of(request), call)
        return IdempotentUnaryResponse(payload=payload^)

    def unimplemented(
        self, request: UnimplementedRequest, mut call: GrpcCall
    ) raises GrpcStatus -> UnimplementedResponse:
        raise GrpcStatus(GrpcCode.UNIMPLEMENTED, "on purpose")

    def server_stream(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Replies]:
        return Blocking(Replies())

    def client_stream(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Requests]:
        return Blocking(Requests())

    def bidi_stream(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Both]:
        return Blocking(Both())


def services_for(request: ServerCompatRequest) raises -> GrpcServices:
    var config = GrpcConfig(compresses=True)
    if request.message_receive_limit > 0:
        config.receive_len_max = Int(request.message_receive_limit)
    var services = GrpcServices(config)
    ref types = services.json().types
    types.add[UnaryRequest]()
    types.add[IdempotentUnaryRequest]()
    types.add[ServerStreamRequest]()
    types.add[ClientStreamRequest]()
    types.add[BidiStreamRequest]()
    types.add[ConformancePayload_RequestInfo]()
    types.add[Header]()
    add_conformance_service(services, Service())
    return services^


def bind(request: ServerCompatRequest) raises -> HttpServer:
    var config = ServerConfig(handler_threads=HANDLER_THREADS)
    var address = SocketAddr.localhost(0)
    if not request.use_tls:
        return HttpServer.bind(address, config^)
    ref creds = request.server_creds.value()
    var identity = TlsIdentity.from_pem(
        String(from_utf8=creds.cert), String(from_utf8=creds.key)
    )
    return HttpServer.bind_tls(address, TlsServerConfig(identity^), config^)


def main() raises:
    var input = open("/dev/stdin", "r")
    var asked = read_message[ServerCompatRequest](input)
    if not asked:
        raise Error("nothing is asked for")
    var request = asked.take()
    var server = bind(request)
    var said = ServerCompatResponse(
        host="127.0.0.1", port=UInt32(server.local_addr().port)
    )
    if request.use_tls:
        said.pem_cert = request.server_creds.value().cert.copy()
    var output = open("/dev/stdout", "w")
    write_message(output, said)
    output.close()
    server.serve(services_for(request))
