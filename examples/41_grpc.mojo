# 41 gRPC: a service beside ordinary routes: one request and one reply, and a
# conversation whose machine lives on the loop. `flare proto` makes such messages,
# and a trait for the service, of a .proto file; here they are well-known types.
#
# Expected output:
#   content-type: application/grpc
#   Hello, Ada
#   grpc-status: 0
#   content-type: application/grpc
#   one
#   two
#   grpc-status: 0
#   content-type: application/grpc
#   grpc-status: 3
#   grpc-message: a name, please

from flare.grpc import GrpcCall, GrpcCode, GrpcKind, GrpcServices, GrpcStatus
from flare.grpc import GrpcStream, Replies
from flare.http import HttpServer
from flare.net import SocketAddr
from flare.protobuf import StringValue
from std.os import Process


def hello(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    if request.value == "":
        raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "a name, please")
    return StringValue(value="Hello, " + request.value)


@fieldwise_init
struct Echo(GrpcStream):
    """Gives back what comes, as it comes."""

    comptime Request = StringValue
    comptime Reply = StringValue

    def on_message(
        mut self, var request: StringValue, mut replies: Replies[StringValue]
    ) raises GrpcStatus:
        replies.send(request)


def echo(mut call: GrpcCall) raises GrpcStatus -> Echo:
    return Echo()


def main() raises:
    var services = GrpcServices()
    services.unary[hello]("/hello.Greeter/Hello")
    services.stream[echo](GrpcKind.BIDI_STREAM, "/hello.Greeter/Echo")
    var server = HttpServer.bind(SocketAddr.localhost(0))
    # Any client of gRPC will do. Here curl sends messages with their prefixes of
    # five octets, and shows what comes.
    var script = String(
        """ask() { printf "$2" | curl -si --http2-prior-knowledge --data-binary @- \\
        -H content-type:application/grpc http://$0/hello.Greeter/$1 |
        tr -dc '[:print:]\n' | sed 's/grpc-status/\\n&/' |
        grep -Ev '^(HTTP|date|content-length|$)'; }
        ask Hello '\\0\\0\\0\\0\\5\\n\\3Ada'
        ask Echo '\\0\\0\\0\\0\\5\\n\\3one\\0\\0\\0\\0\\5\\n\\3two'
        ask Hello '\\0\\0\\0\\0\\0'
        kill -TERM $PPID"""
    )
    var client = Process.run(
        "/bin/sh", ["-c", script, String(server.local_addr())]
    )
    server.serve(services^)
    _ = client.wait()
