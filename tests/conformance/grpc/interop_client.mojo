"""The client of the interop cases of gRPC: `interop_client PORT CASE` makes the calls
of a case, and fails if an answer is another one than it says."""

from flare.grpc import GrpcCode, GrpcStatus, Metadata
from flare.grpc.client import GrpcCallOptions, GrpcChannel
from flare.grpc.core.coding import MessageCoding
from interop_messages.interop_client import TestServiceClient
from interop_messages.interop_pb import (
    EchoStatus,
    Empty,
    Payload,
    ResponseParameters,
    SimpleRequest,
    StreamingInputCallRequest,
    StreamingOutputCallRequest,
)
from std.sys import argv
from tests.conformance.grpc.interop_names import ECHO_HEADER, ECHO_TRAILER

comptime LARGE_REQUEST = 271828
comptime LARGE_RESPONSE = 314159
comptime REQUEST_SIZES: List[Int] = [27182, 8, 1828, 45904]
comptime RESPONSE_SIZES: List[Int] = [31415, 9, 2653, 58979]
comptime PLAIN_TEXT = StaticString("test status message")
comptime SPECIAL_TEXT = StaticString(
    "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
)
comptime SOAK_COUNT = 100


def expect(is_so: Bool, what: String) raises:
    if not is_so:
        raise Error(what)


def payload(size: Int) -> Payload:
    return Payload(body=List[UInt8](length=size, fill=0))


def large_request() -> SimpleRequest:
    return SimpleRequest(
        response_size=LARGE_RESPONSE, payload=payload(LARGE_REQUEST)
    )


def output_request(
    response_size: Int, request_size: Int
) -> StreamingOutputCallRequest:
    return StreamingOutputCallRequest(
        response_parameters=[ResponseParameters(size=Int32(response_size))],
        payload=payload(request_size),
    )


def empty_unary(client: TestServiceClient) raises:
    _ = client.empty_call(Empty())


def large_unary(
    client: TestServiceClient, options: GrpcCallOptions = GrpcCallOptions()
) raises:
    var reply = client.unary_call(large_request(), options)
    var size = len(reply.message.payload.value().body)
    expect(size == LARGE_RESPONSE, String(size, " octets"))


def compressed_unary(client: TestServiceClient) raises:
    var options = GrpcCallOptions()
    options.coding = MessageCoding.GZIP
    large_unary(client, options)


def client_streaming(client: TestServiceClient) raises:
    var stream = client.streaming_input_call()
    for size in materialize[REQUEST_SIZES]():
        expect(
            stream.send(StreamingInputCallRequest(payload=payload(size))),
            "the call is over",
        )
    stream.finish_sending()
    var sum = stream.reply().message.aggregated_payload_size
    expect(sum == 74922, String("a sum of ", sum))


def server_streaming(client: TestServiceClient) raises:
    var request = StreamingOutputCallRequest()
    for size in materialize[RESPONSE_SIZES]():
        request.response_parameters.append(ResponseParameters(size=Int32(size)))
    var stream = client.streaming_output_call(request)
    for size in materialize[RESPONSE_SIZES]():
        var got = len(stream.next().value().payload.value().body)
        expect(got == size, String(got, " octets"))
    expect(not stream.next(), "one more than asked for")


def ping_pong(client: TestServiceClient) raises:
    var stream = client.full_duplex_call()
    var requests = materialize[REQUEST_SIZES]()
    var responses = materialize[RESPONSE_SIZES]()
    for index in range(len(requests)):
        _ = stream.send(output_request(responses[index], requests[index]))
        var got = len(stream.next().value().payload.value().body)
        expect(got == responses[index], String(got, " octets"))
    stream.finish_sending()
    expect(not stream.next(), "one more than asked for")


def empty_stream(client: TestServiceClient) raises:
    var stream = client.full_duplex_call()
    stream.finish_sending()
    expect(not stream.next(), "a message")


def timeout_on_sleeping_server(client: TestServiceClient) raises:
    var options = GrpcCallOptions()
    options.timeout_ms = 1
    var stream = client.full_duplex_call(options)
    _ = stream.send(StreamingOutputCallRequest(payload=payload(27182)))
    while True:
        try:
            expect(Bool(stream.next()), "OK")
        except error:
            break
    expect_status(stream.status(), GrpcCode.DEADLINE_EXCEEDED)


def cancel_after_begin(client: TestServiceClient) raises:
    var stream = client.streaming_input_call()
    stream.cancel()
    expect_status(stream.status(), GrpcCode.CANCELLED)


def cancel_after_first_response(client: TestServiceClient) raises:
    var stream = client.full_duplex_call()
    _ = stream.send(output_request(31415, 27182))
    expect(Bool(stream.next()), "no message")
    stream.cancel()
    expect_status(stream.status(), GrpcCode.CANCELLED)


def custom_metadata(client: TestServiceClient) raises:
    var options = GrpcCallOptions()
    options.metadata.add(ECHO_HEADER, "test_initial_metadata_value")
    options.metadata.add_binary(ECHO_TRAILER, [UInt8(0xAB), 0xAB, 0xAB])
    var reply = client.unary_call(
        SimpleRequest(response_size=1, payload=payload(1)), options
    )
    check_echo(reply.headers, reply.trailers)
    var stream = client.full_duplex_call(options)
    _ = stream.send(output_request(1, 1))
    expect(Bool(stream.next()), "no message")
    stream.finish_sending()
    expect(not stream.next(), "one more than asked for")
    check_echo(stream.headers(), stream.trailers())


def check_echo(headers: Metadata, trailers: Metadata) raises:
    var header = headers.get(ECHO_HEADER)
    expect(
        header and header.value() == "test_initial_metadata_value", "no header"
    )
    var trailer = trailers.get_binary(ECHO_TRAILER)
    expect(Bool(trailer), "no trailer")
    expect(trailer.value() == [UInt8(0xAB), 0xAB, 0xAB], "another trailer")


def expect_status(
    status: GrpcStatus, code: GrpcCode, message: StringSpan = ""
) raises:
    expect(status.code == code, String(status.code, ": ", status.message))
    if message.byte_length() > 0:
        expect(status.message == message, status.message)


def unary_status(client: TestServiceClient, text: StaticString) raises:
    var request = SimpleRequest(
        response_status=EchoStatus(code=2, message=String(text))
    )
    var status = GrpcStatus(GrpcCode.OK, "")
    try:
        _ = client.unary_call(request)
    except error:
        status = error.copy()
    expect_status(status, GrpcCode.UNKNOWN, text)


def status_code_and_message(client: TestServiceClient) raises:
    unary_status(client, PLAIN_TEXT)
    var stream = client.full_duplex_call()
    _ = stream.send(
        StreamingOutputCallRequest(
            response_status=EchoStatus(code=2, message=String(PLAIN_TEXT))
        )
    )
    stream.finish_sending()
    expect_status(stream.status(), GrpcCode.UNKNOWN, PLAIN_TEXT)


def special_status_message(client: TestServiceClient) raises:
    unary_status(client, SPECIAL_TEXT)


def unimplemented(client: TestServiceClient, service: StaticString) raises:
    var status = GrpcStatus(GrpcCode.OK, "")
    try:
        _ = client.channel.unary[Empty](
            String("/grpc.testing.", service, "/UnimplementedCall"), Empty()
        )
    except error:
        status = error.copy()
    expect_status(status, GrpcCode.UNIMPLEMENTED)


def rpc_soak(client: TestServiceClient) raises:
    for _ in range(SOAK_COUNT):
        large_unary(client)


def channel_soak(port: Int) raises:
    for _ in range(SOAK_COUNT):
        large_unary(client_of(port))


def client_of(port: Int) raises -> TestServiceClient:
    return TestServiceClient(GrpcChannel(String("http://127.0.0.1:", port)))


def run(name: StringSpan, port: Int) raises:
    var client = client_of(port)
    if name == "empty_unary":
        empty_unary(client)
    elif name == "large_unary":
        large_unary(client)
    elif name == "client_streaming":
        client_streaming(client)
    elif name == "server_streaming":
        server_streaming(client)
    elif name == "ping_pong":
        ping_pong(client)
    elif name == "empty_stream":
        empty_stream(client)
    elif name == "timeout_on_sleeping_server":
        timeout_on_sleeping_server(client)
    elif name == "cancel_after_begin":
        cancel_after_begin(client)
    elif name == "cancel_after_first_response":
        cancel_after_first_response(client)
    elif name == "status_code_and_message":
        status_code_and_message(client)
    elif name == "special_status_message":
        special_status_message(client)
    elif name == "custom_metadata":
        custom_metadata(client)
    elif name == "unimplemented_method":
        unimplemented(client, "TestService")
    elif name == "unimplemented_service":
        unimplemented(client, "UnimplementedService")
    elif name == "rpc_soak":
        rpc_soak(client)
    elif name == "channel_soak":
        channel_soak(port)
    elif name == "compressed_unary":
        compressed_unary(client)
    else:
        raise Error("no case ", name)


def main() raises:
    if len(argv()) != 3:
        raise Error("usage: interop_client PORT CASE")
    run(argv()[2], Int(argv()[1]))
