# 42 Route guide: a service of gRPC from a .proto file with the four kinds of
# methods, and its caller, both of what `flare proto` makes.
#
#   42_route_guide [PORT]
#
# With a port it serves until it is stopped, for any client; the service is
# examples/route_guide/guide.mojo. Else it calls itself.
#
# Expected output:
#   listening on 127.0.0.1:*
#   at a place: Berkshire Valley
#   in a rectangle: Berkshire Valley, Patriots Path
#   a route of 3 points, 2 features, 145 km
#   noted before: nothing
#   noted before: first
#   a status: INVALID_ARGUMENT give both corners

from examples.route_guide.guide import Guide
from examples.route_guide.messages.route_guide_client import RouteGuideClient
from examples.route_guide.messages.route_guide_grpc import add_route_guide
from examples.route_guide.messages.route_guide_pb import (
    Point,
    Rectangle,
    RouteNote,
)
from flare.grpc import GrpcServices, GrpcStatus
from flare.grpc.client import GrpcChannel
from flare.grpc.reflection import add_reflection
from flare.http import HttpServer
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from std.sys import argv


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        var services = GrpcServices()
        add_route_guide(services, Guide())
        # Tools such as grpcurl need no .proto file then.
        add_reflection(services)
        self.server.serve(services^)


def travel(guide: RouteGuideClient) raises GrpcStatus:
    var valley = Point(latitude=409146138, longitude=-746188906)
    print("at a place:", guide.get_feature(valley).message.name)

    var area = Rectangle(
        lo=Point(latitude=400000000, longitude=-747000000),
        hi=Point(latitude=410000000, longitude=-745000000),
    )
    var found = guide.list_features(area)
    print("in a rectangle:", found.next().value().name, end="")
    while True:
        var feature = found.next()
        if not feature:
            break
        print(",", feature.value().name, end="")
    print()

    var route = guide.record_route()
    for tenth in range(3):
        # The second one is nowhere in particular.
        var latitude = 409146138 - 6_538_893 * (tenth % 2)
        _ = route.send(Point(latitude=Int32(latitude), longitude=-746188906))
    var summary = route.reply()
    ref sum = summary.message
    print("a route of", sum.point_count, end=" points, ")
    print(sum.feature_count, "features,", sum.distance // 1000, "km")

    for word in ["first", "second"]:
        var chat = guide.route_chat()
        _ = chat.send(RouteNote(location=valley.copy(), message=word))
        chat.finish_sending()
        var before = chat.next()
        print("noted before:", before.value().message if before else "nothing")

    var bad = guide.list_features(Rectangle())
    try:
        _ = bad.next()
    except status:
        print("a status:", status.code, status.message)


def main() raises:
    var words = argv()
    var port = String(words[1]) if len(words) > 1 else String("0")
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:" + port))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    print("listening on ", server.local_addr(), sep="", flush=True)
    var serving = Serving(server^)
    if len(words) > 1:
        serving.run()
        return
    var thread = Thread(serving^)
    travel(RouteGuideClient(GrpcChannel(url)))
    stopper.shutdown()
    thread^.join()
