"""Calls the route guide of the tests by what `flare proto` makes: all four kinds."""

from flare.grpc.client import GrpcCallOptions, GrpcChannel
from flare.protobuf import Empty
from std.sys import argv
from tests.grpc.messages.route_guide_client import RouteGuideClient
from tests.grpc.messages.route_guide_pb import Point, Rectangle, RouteNote


def main() raises:
    var guide = RouteGuideClient(GrpcChannel(String(argv()[1])))
    var feature = guide.get_feature(Point(latitude=4, longitude=2))
    print(
        "unary",
        feature.message.name,
        feature.message.location.value().longitude,
    )

    var options = GrpcCallOptions(timeout_ms=10_000)
    var listing = guide.list_features(
        Rectangle(lo=Point(latitude=3), hi=Point()), options
    )
    var count = 0
    while listing.next():
        count += 1
    print("server stream", count)

    var route = guide.record_route(options)
    for place in range(3):
        _ = route.send(Point(latitude=Int32(place)))
    print("client stream", route.reply().message.point_count)

    var chat = guide.route_chat(options)
    for word in ["one", "two"]:
        _ = chat.send(RouteNote(message=word))
        print("both", chat.next().value().message)
    chat.finish_sending()
    print("end", Bool(chat.next()))

    print("empty", "before" in guide.ping(Empty()).trailers)
    try:
        _ = guide.get_feature(Point(latitude=-1))
    except status:
        print("status", status.code)
