"""The interop cases of gRPC by grpcio: `interop_python.py serve` prints its port and
answers, `interop_python.py PORT CASE` makes the calls of a case."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).parent))
p, services = grpc.protos_and_services("interop.proto")

HEADER, TRAILER = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
ECHOED = ((HEADER, "test_initial_metadata_value"), (TRAILER, b"\xab\xab\xab"))
REQUEST_SIZES, RESPONSE_SIZES = (27182, 8, 1828, 45904), (31415, 9, 2653, 58979)
PLAIN_TEXT = "test status message"
SPECIAL_TEXT = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
SOAK_COUNT = 100
TIMEOUT_S = 20


def payload(size: int):
    return p.Payload(body=bytes(size))


def output_request(response_size: int, request_size: int):
    return p.StreamingOutputCallRequest(
        response_parameters=[p.ResponseParameters(size=response_size)],
        payload=payload(request_size),
    )


class Service(services.TestServiceServicer):
    def echo(self, context) -> None:
        sent = dict(context.invocation_metadata())
        if HEADER in sent:
            context.send_initial_metadata(((HEADER, sent[HEADER]),))
        if TRAILER in sent:
            context.set_trailing_metadata(((TRAILER, sent[TRAILER]),))

    def end(self, request, context) -> None:
        if request.HasField("response_status") and request.response_status.code:
            code = next(
                one for one in grpc.StatusCode if one.value[0] == request.response_status.code
            )
            context.abort(code, request.response_status.message)

    def EmptyCall(self, request, context):
        return p.Empty()

    def UnaryCall(self, request, context):
        self.echo(context)
        self.end(request, context)
        return p.SimpleResponse(payload=payload(request.response_size))

    def StreamingOutputCall(self, request, context):
        yield from self.FullDuplexCall(iter([request]), context)

    def StreamingInputCall(self, requests, context):
        total = sum(len(one.payload.body) for one in requests)
        return p.StreamingInputCallResponse(aggregated_payload_size=total)

    def FullDuplexCall(self, requests, context):
        self.echo(context)
        for request in requests:
            self.end(request, context)
            for wanted in request.response_parameters:
                yield p.StreamingOutputCallResponse(payload=payload(wanted.size))


class Cases:
    def __init__(self, port: int) -> None:
        self.port = port
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.caller = services.TestServiceStub(self.channel)

    def empty_unary(self) -> None:
        assert self.caller.EmptyCall(p.Empty(), timeout=TIMEOUT_S) == p.Empty()

    def large_unary(self) -> None:
        request = p.SimpleRequest(response_size=314159, payload=payload(271828))
        reply = self.caller.UnaryCall(request, timeout=TIMEOUT_S)
        assert len(reply.payload.body) == 314159

    def client_streaming(self) -> None:
        requests = (p.StreamingInputCallRequest(payload=payload(size)) for size in REQUEST_SIZES)
        reply = self.caller.StreamingInputCall(requests, timeout=TIMEOUT_S)
        assert reply.aggregated_payload_size == sum(REQUEST_SIZES)

    def server_streaming(self) -> None:
        request = p.StreamingOutputCallRequest(
            response_parameters=[p.ResponseParameters(size=size) for size in RESPONSE_SIZES]
        )
        replies = self.caller.StreamingOutputCall(request, timeout=TIMEOUT_S)
        assert tuple(len(one.payload.body) for one in replies) == RESPONSE_SIZES

    def ping_pong(self) -> None:
        pairs = list(zip(RESPONSE_SIZES, REQUEST_SIZES))
        taken = []

        more = threading.Semaphore(0)

        def requests():
            for response_size, request_size in pairs:
                yield output_request(response_size, request_size)
                # The next one goes when the reply to the last one is there.
                more.acquire(timeout=TIMEOUT_S)

        for reply in self.caller.FullDuplexCall(requests(), timeout=TIMEOUT_S):
            taken.append(len(reply.payload.body))
            more.release()
        assert tuple(taken) == RESPONSE_SIZES

    def empty_stream(self) -> None:
        assert not list(self.caller.FullDuplexCall(iter([]), timeout=TIMEOUT_S))

    def timeout_on_sleeping_server(self) -> None:
        with self.silent(p.StreamingOutputCallRequest(payload=payload(27182))) as requests:
            self.fails(
                lambda: list(self.caller.FullDuplexCall(requests, timeout=0.001)),
                grpc.StatusCode.DEADLINE_EXCEEDED,
            )

    def cancel_after_begin(self) -> None:
        call = self.caller.StreamingInputCall.future(iter([]), timeout=TIMEOUT_S)
        call.cancel()
        assert call.code() is grpc.StatusCode.CANCELLED

    def cancel_after_first_response(self) -> None:
        with self.silent(output_request(31415, 27182)) as requests:
            call = self.caller.FullDuplexCall(requests, timeout=TIMEOUT_S)
            assert len(next(call).payload.body) == 31415
            call.cancel()
            self.fails(lambda: next(call), grpc.StatusCode.CANCELLED)

    def status_code_and_message(self) -> None:
        self.status(PLAIN_TEXT)
        request = p.StreamingOutputCallRequest(
            response_status=p.EchoStatus(code=2, message=PLAIN_TEXT)
        )
        self.fails(
            lambda: list(self.caller.FullDuplexCall(iter([request]), timeout=TIMEOUT_S)),
            grpc.StatusCode.UNKNOWN,
            PLAIN_TEXT,
        )

    def special_status_message(self) -> None:
        self.status(SPECIAL_TEXT)

    def custom_metadata(self) -> None:
        request = p.SimpleRequest(response_size=1, payload=payload(1))
        _, call = self.caller.UnaryCall.with_call(request, metadata=ECHOED, timeout=TIMEOUT_S)
        self.check_echo(call)
        stream = self.caller.FullDuplexCall(
            iter([output_request(1, 1)]), metadata=ECHOED, timeout=TIMEOUT_S
        )
        assert len(list(stream)) == 1
        self.check_echo(stream)

    def unimplemented_method(self) -> None:
        self.unimplemented("TestService")

    def unimplemented_service(self) -> None:
        self.unimplemented("UnimplementedService")

    def rpc_soak(self) -> None:
        for _ in range(SOAK_COUNT):
            self.large_unary()

    def channel_soak(self) -> None:
        for _ in range(SOAK_COUNT):
            fresh = Cases(self.port)
            fresh.large_unary()
            fresh.channel.close()

    @contextmanager
    def silent(self, request) -> Iterator[Iterator]:
        """Gives a request, and nothing more as long as the call is tried."""
        over = threading.Event()

        def requests():
            yield request
            over.wait(TIMEOUT_S)

        yield requests()
        over.set()

    def check_echo(self, call) -> None:
        assert ECHOED[0] in [tuple(one) for one in call.initial_metadata()]
        assert ECHOED[1] in [tuple(one) for one in call.trailing_metadata()]

    def status(self, text: str) -> None:
        request = p.SimpleRequest(response_status=p.EchoStatus(code=2, message=text))
        self.fails(
            lambda: self.caller.UnaryCall(request, timeout=TIMEOUT_S), grpc.StatusCode.UNKNOWN, text
        )

    def unimplemented(self, service: str) -> None:
        call = self.channel.unary_unary(
            f"/grpc.testing.{service}/UnimplementedCall",
            request_serializer=p.Empty.SerializeToString,
            response_deserializer=p.Empty.FromString,
        )
        self.fails(lambda: call(p.Empty(), timeout=TIMEOUT_S), grpc.StatusCode.UNIMPLEMENTED)

    def fails(self, call, code: grpc.StatusCode, text: str | None = None) -> None:
        try:
            call()
        except grpc.RpcError as error:
            assert error.code() is code, error
            assert text is None or error.details() == text, error
        else:
            raise AssertionError(f"no {code}")


def serve() -> None:
    server = grpc.server(ThreadPoolExecutor(8))
    services.add_TestServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        getattr(Cases(int(sys.argv[1])), sys.argv[2])()
