# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Services of route_guide.proto."""

from flare.grpc import GrpcCall, GrpcKind, GrpcServices, GrpcStatus, GrpcStream
from .route_guide_pb import Feature, Point, Rectangle, RouteNote, RouteSummary
from std.memory import ArcPointer

# route_guide.proto and what it imports, for reflection: a
# `FileDescriptorSet` in base64.
comptime _FILES = StaticString(
    """
Cu8EChFyb3V0ZV9ndWlkZS5wcm90bxIKcm91dGVndWlkZSIsCgVQb2ludBIQCghsYXRpdHVkZRgB
IAEoBRIRCglsb25naXR1ZGUYAiABKAUiSQoJUmVjdGFuZ2xlEh0KAmxvGAEgASgLMhEucm91dGVn
dWlkZS5Qb2ludBIdCgJoaRgCIAEoCzIRLnJvdXRlZ3VpZGUuUG9pbnQiPAoHRmVhdHVyZRIMCgRu
YW1lGAEgASgJEiMKCGxvY2F0aW9uGAIgASgLMhEucm91dGVndWlkZS5Qb2ludCJBCglSb3V0ZU5v
dGUSIwoIbG9jYXRpb24YASABKAsyES5yb3V0ZWd1aWRlLlBvaW50Eg8KB21lc3NhZ2UYAiABKAki
TAoMUm91dGVTdW1tYXJ5EhMKC3BvaW50X2NvdW50GAEgASgFEhUKDWZlYXR1cmVfY291bnQYAiAB
KAUSEAoIZGlzdGFuY2UYAyABKAUy/QEKClJvdXRlR3VpZGUSNAoKR2V0RmVhdHVyZRIRLnJvdXRl
Z3VpZGUuUG9pbnQaEy5yb3V0ZWd1aWRlLkZlYXR1cmUSPAoMTGlzdEZlYXR1cmVzEhUucm91dGVn
dWlkZS5SZWN0YW5nbGUaEy5yb3V0ZWd1aWRlLkZlYXR1cmUwARI8CgtSZWNvcmRSb3V0ZRIRLnJv
dXRlZ3VpZGUuUG9pbnQaGC5yb3V0ZWd1aWRlLlJvdXRlU3VtbWFyeSgBEj0KCVJvdXRlQ2hhdBIV
LnJvdXRlZ3VpZGUuUm91dGVOb3RlGhUucm91dGVndWlkZS5Sb3V0ZU5vdGUoATABYgZwcm90bzM=
"""
)


trait RouteGuide(Deinitable, Movable):
    """What is where, for travellers: the four kinds of methods."""

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
        """Tells what is at a place; a feature without a name if nothing is."""
        ...

    def list_features(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.ListFeatures:
        """Tells what is in a rectangle, one after the other."""
        ...

    def record_route(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.RecordRoute:
        """Takes the places of a route, and sums it up at its end."""
        ...

    def route_chat(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.RouteChat:
        """Takes notes of places, and gives what others have noted there."""
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
