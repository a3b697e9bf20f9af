# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Services of route_guide.proto."""

from flare.grpc import GrpcCall, GrpcKind, GrpcServices, GrpcStatus, GrpcStream
from flare.protobuf import Empty
from .route_guide_pb import Feature, Point, Rectangle, RouteNote, RouteSummary
from std.memory import ArcPointer


trait RouteGuide(Deinitable, Movable):
    """A guide for travellers.

    All four kinds of methods.
    """

    comptime ListFeatures: GrpcStream
    """The machine of a call of `list_features`: it takes `Rectangle`,
    and replies with `Feature`."""
    comptime RecordRoute: GrpcStream
    """The machine of a call of `record_route`: it takes `Point`,
    and replies with `RouteSummary`."""
    comptime RouteChat: GrpcStream
    """The machine of a call of `route_chat`: it takes `RouteNote`,
    and replies with `RouteNote`."""

    def get_feature(
        self, request: Point, mut call: GrpcCall
    ) raises GrpcStatus -> Feature:
        """Finds what is at a place."""
        ...

    def list_features(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.ListFeatures:
        """Lists what is in a rectangle."""
        ...

    def record_route(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.RecordRoute:
        """Sums a route up."""
        ...

    def route_chat(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.RouteChat:
        """Talks while a route is taken."""
        ...

    def ping(
        self, request: Empty, mut call: GrpcCall
    ) raises GrpcStatus -> Empty:
        ...


def add_route_guide[
    S: RouteGuide
](mut services: GrpcServices, var service: S) raises:
    """Adds the methods of routeguide.RouteGuide."""
    var shared = ArcPointer(service^)
    services.unary_method[S.get_feature](
        "/routeguide.RouteGuide/GetFeature", shared
    )
    services.stream_method[S.list_features, Rectangle, Feature](
        GrpcKind.SERVER_STREAM, "/routeguide.RouteGuide/ListFeatures", shared
    )
    services.stream_method[S.record_route, Point, RouteSummary](
        GrpcKind.CLIENT_STREAM, "/routeguide.RouteGuide/RecordRoute", shared
    )
    services.stream_method[S.route_chat, RouteNote, RouteNote](
        GrpcKind.BIDI_STREAM, "/routeguide.RouteGuide/RouteChat", shared
    )
    services.unary_method[S.ping]("/routeguide.RouteGuide/Ping", shared)


trait Nothing(Deinitable, Movable):
    """Has no method."""

    pass


def add_nothing[S: Nothing](mut services: GrpcServices, var service: S) raises:
    """Adds the methods of routeguide.Nothing."""
    var shared = ArcPointer(service^)
    _ = shared^
