# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Services of route_guide.proto."""

from flare.grpc import GrpcCall, GrpcKind, GrpcServices, GrpcStatus, GrpcStream
from flare.protobuf import Empty
from .route_guide_pb import Feature, Point, Rectangle, RouteNote, RouteSummary
from std.memory import ArcPointer

# route_guide.proto and what it imports, for reflection: a
# `FileDescriptorSet` in base64.
comptime _FILES = StaticString(
    """
Cr4BChtnb29nbGUvcHJvdG9idWYvZW1wdHkucHJvdG8SD2dvb2dsZS5wcm90b2J1ZiIHCgVFbXB0
eUJ9ChNjb20uZ29vZ2xlLnByb3RvYnVmQgpFbXB0eVByb3RvUAFaLmdvb2dsZS5nb2xhbmcub3Jn
L3Byb3RvYnVmL3R5cGVzL2tub3duL2VtcHR5cGL4AQGiAgNHUEKqAh5Hb29nbGUuUHJvdG9idWYu
V2VsbEtub3duVHlwZXNiBnByb3RvMwrVBQoRcm91dGVfZ3VpZGUucHJvdG8SCnJvdXRlZ3VpZGUa
G2dvb2dsZS9wcm90b2J1Zi9lbXB0eS5wcm90byIsCgVQb2ludBIQCghsYXRpdHVkZRgBIAEoBRIR
Cglsb25naXR1ZGUYAiABKAUiSQoJUmVjdGFuZ2xlEh0KAmxvGAEgASgLMhEucm91dGVndWlkZS5Q
b2ludBIdCgJoaRgCIAEoCzIRLnJvdXRlZ3VpZGUuUG9pbnQiPAoHRmVhdHVyZRIMCgRuYW1lGAEg
ASgJEiMKCGxvY2F0aW9uGAIgASgLMhEucm91dGVndWlkZS5Qb2ludCJBCglSb3V0ZU5vdGUSIwoI
bG9jYXRpb24YASABKAsyES5yb3V0ZWd1aWRlLlBvaW50Eg8KB21lc3NhZ2UYAiABKAkiTAoMUm91
dGVTdW1tYXJ5EhMKC3BvaW50X2NvdW50GAEgASgFEhUKDWZlYXR1cmVfY291bnQYAiABKAUSEAoI
ZGlzdGFuY2UYAyABKAUyuwIKClJvdXRlR3VpZGUSNAoKR2V0RmVhdHVyZRIRLnJvdXRlZ3VpZGUu
UG9pbnQaEy5yb3V0ZWd1aWRlLkZlYXR1cmUSPgoMTGlzdEZlYXR1cmVzEhUucm91dGVndWlkZS5S
ZWN0YW5nbGUaEy5yb3V0ZWd1aWRlLkZlYXR1cmUiADABEj4KC1JlY29yZFJvdXRlEhEucm91dGVn
dWlkZS5Qb2ludBoYLnJvdXRlZ3VpZGUuUm91dGVTdW1tYXJ5IgAoARI/CglSb3V0ZUNoYXQSFS5y
b3V0ZWd1aWRlLlJvdXRlTm90ZRoVLnJvdXRlZ3VpZGUuUm91dGVOb3RlIgAoATABEjYKBFBpbmcS
Fi5nb29nbGUucHJvdG9idWYuRW1wdHkaFi5nb29nbGUucHJvdG9idWYuRW1wdHkyCQoHTm90aGlu
Z2IGcHJvdG8z
"""
)


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
    services.describe("routeguide.RouteGuide", _FILES)
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
    services.describe("routeguide.Nothing", _FILES)
    _ = shared^
