"""The server of the interop cases of gRPC: it prints its port, and answers until it is
told to end. `tools/grpc_interop.py` builds and runs it."""

from flare.grpc import (
    Blocking,
    BlockingCall,
    Conversation,
    GrpcCall,
    GrpcCode,
    GrpcServices,
    GrpcStatus,
    Metadata,
)
from flare.http import HttpServer, ServerConfig
from flare.net import SocketAddr
from interop_messages.interop_grpc import TestService, add_test_service
from interop_messages.interop_pb import (
    EchoStatus,
    Empty,
    Payload,
    SimpleRequest,
    SimpleResponse,
    StreamingInputCallRequest,
    StreamingInputCallResponse,
    StreamingOutputCallRequest,
    StreamingOutputCallResponse,
)
from std.time import sleep
from tests.conformance.grpc.interop_names import ECHO_HEADER, ECHO_TRAILER

comptime HANDLER_THREADS = 8


def payload_of(size: Int32) raises GrpcStatus -> Payload:
    if size < 0:
        raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "a size below 0")
    return Payload(body=List[UInt8](length=Int(size), fill=0))


def check_status(status: Optional[EchoStatus]) raises GrpcStatus:
    """Raises what a caller wants to hear, if it is not OK."""
    if status and status.value().code != 0:
        raise GrpcStatus(
            GrpcCode.from_number(Int(status.value().code)),
            status.value().message,
        )


def echo_metadata(
    sent: Metadata, mut headers: Metadata, mut trailers: Metadata
) raises:
    """Gives a caller the metadata that it wants back."""
    var header = sent.get(ECHO_HEADER)
    if header:
        headers.add(ECHO_HEADER, header.value())
    var trailer = sent.get_binary(ECHO_TRAILER)
    if trailer:
        trailers.add_binary(ECHO_TRAILER, trailer.value())


struct Outputs(BlockingCall):
    """Sends the payloads that each request asks for."""

    comptime Request = StreamingOutputCallRequest
    comptime Reply = StreamingOutputCallResponse

    def __init__(out self):
        pass

    def run(
        mut self,
        mut conversation: Conversation[
            StreamingOutputCallRequest, StreamingOutputCallResponse
        ],
    ) raises GrpcStatus:
        try:
            echo_metadata(
                conversation.metadata,
                conversation.headers,
                conversation.trailers,
            )
        except error:
            raise GrpcStatus(GrpcCode.INTERNAL, String(error))
        while True:
            var request = conversation.read()
            if not request:
                return
            check_status(request.value().response_status)
            for wanted in request.value().response_parameters:
                if wanted.interval_us > 0:
                    sleep(Float64(wanted.interval_us) / 1_000_000)
                conversation.write(
                    StreamingOutputCallResponse(payload=payload_of(wanted.size))
                )


struct Inputs(BlockingCall):
    """Sums up the sizes of the payloads that come."""

    comptime Request = StreamingInputCallRequest
    comptime Reply = StreamingInputCallResponse

    def __init__(out self):
        pass

    def run(
        mut self,
        mut conversation: Conversation[
            StreamingInputCallRequest, StreamingInputCallResponse
        ],
    ) raises GrpcStatus:
        var sum = Int32(0)
        while True:
            var request = conversation.read()
            if not request:
                break
            if request.value().payload:
                sum += Int32(len(request.value().payload.value().body))
        conversation.write(
            StreamingInputCallResponse(aggregated_payload_size=sum)
        )


@fieldwise_init
struct Service(TestService):
    comptime StreamingOutputCall = Blocking[Outputs]
    comptime StreamingInputCall = Blocking[Inputs]
    comptime FullDuplexCall = Blocking[Outputs]

    var name: String

    def empty_call(
        self, request: Empty, mut call: GrpcCall
    ) raises GrpcStatus -> Empty:
        return Empty()

    def unary_call(
        self, request: SimpleRequest, mut call: GrpcCall
    ) raises GrpcStatus -> SimpleResponse:
        try:
            echo_metadata(call.metadata(), call.headers, call.trailers)
        except error:
            raise GrpcStatus(GrpcCode.INTERNAL, String(error))
        check_status(request.response_status)
        if request.response_compressed:
            call.compresses = request.response_compressed.value().value
        var response = SimpleResponse(payload=payload_of(request.response_size))
        if request.fill_server_id:
            response.server_id = self.name
        return response^

    def streaming_output_call(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Outputs]:
        return Blocking(Outputs())

    def streaming_input_call(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Inputs]:
        return Blocking(Inputs())

    def full_duplex_call(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[Outputs]:
        return Blocking(Outputs())


def main() raises:
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(handler_threads=HANDLER_THREADS)
    )
    var port = server.local_addr().port
    var services = GrpcServices()
    add_test_service(services, Service(String("flare at ", port)))
    print(port, flush=True)
    server.serve(services^)
