"""The service of the gRPC benchmarks, and what HTTP/2 alone costs beside it.

Usage: flare_grpc PORT [plain]
"""

from bench.servers.hello_routes import Page, address
from flare.grpc import (
    GrpcCall,
    GrpcKind,
    GrpcServices,
    GrpcStatus,
    GrpcStream,
    Replies,
)
from flare.http import HttpServer, Router
from flare.protobuf import BytesValue
from std.sys import argv

comptime _STREAM_COUNT = 1_000
# Replies of a call of `Pour`.

comptime _BATCH_COUNT = 100
# Replies that are made before the caller has taken those before.


def echo(
    request: BytesValue, mut call: GrpcCall
) raises GrpcStatus -> BytesValue:
    return request.copy()


struct Pour(GrpcStream):
    """Replies with its request many times."""

    comptime Request = BytesValue
    comptime Reply = BytesValue
    var _reply: BytesValue
    var _left: Int

    def __init__(out self):
        self._reply = BytesValue()
        self._left = _STREAM_COUNT

    def on_message(
        mut self, var request: BytesValue, mut replies: Replies[BytesValue]
    ) raises GrpcStatus:
        self._reply = request^

    def on_end(mut self, mut replies: Replies[BytesValue]) raises GrpcStatus:
        self.on_room(replies)

    def on_room(mut self, mut replies: Replies[BytesValue]) raises GrpcStatus:
        for _ in range(min(self._left, _BATCH_COUNT)):
            replies.send(self._reply)
        self._left -= min(self._left, _BATCH_COUNT)
        if self._left == 0:
            replies.end()


def pour(mut call: GrpcCall) raises GrpcStatus -> Pour:
    return Pour()


@fieldwise_init
struct EchoAll(GrpcStream):
    """Replies to each request with it."""

    comptime Request = BytesValue
    comptime Reply = BytesValue

    def on_message(
        mut self, var request: BytesValue, mut replies: Replies[BytesValue]
    ) raises GrpcStatus:
        replies.send(request)


def echo_all(mut call: GrpcCall) raises GrpcStatus -> EchoAll:
    return EchoAll()


def main() raises:
    var server = HttpServer.bind(address(String(argv()[1])))
    if len(argv()) > 2:
        var router = Router()
        router.get("/100", Page("x" * 100))
        server.serve(router^)
        return
    var services = GrpcServices()
    services.unary[echo]("/bench.Echo/Unary")
    services.stream[pour](GrpcKind.SERVER_STREAM, "/bench.Echo/Pour")
    services.stream[echo_all](GrpcKind.BIDI_STREAM, "/bench.Echo/EchoAll")
    server.serve(services^)
