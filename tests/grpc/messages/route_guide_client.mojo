# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Callers of the services of route_guide.proto."""

from flare.grpc import GrpcStatus
from flare.grpc.client import (
    ChannelStream,
    GrpcCallOptions,
    GrpcChannel,
    GrpcReply,
)
from flare.protobuf import Empty
from .route_guide_pb import Feature, Point, Rectangle, RouteNote, RouteSummary


@fieldwise_init
struct RouteGuideClient(ImplicitlyCopyable):
    """A guide for travellers.

    All four kinds of methods.
    """

    var channel: GrpcChannel

    def get_feature(
        self, request: Point, options: GrpcCallOptions = GrpcCallOptions()
    ) raises GrpcStatus -> GrpcReply[Feature]:
        """Finds what is at a place."""
        return self.channel.unary[Feature](
            "/routeguide.RouteGuide/GetFeature", request, options
        )

    def list_features(
        self, request: Rectangle, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[Rectangle, Feature]:
        """Lists what is in a rectangle."""
        return self.channel.server_stream[Feature](
            "/routeguide.RouteGuide/ListFeatures", request, options
        )

    def record_route(
        self, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[Point, RouteSummary]:
        """Sums a route up."""
        return self.channel.client_stream[Point, RouteSummary](
            "/routeguide.RouteGuide/RecordRoute", options
        )

    def route_chat(
        self, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[RouteNote, RouteNote]:
        """Talks while a route is taken."""
        return self.channel.stream[RouteNote, RouteNote](
            "/routeguide.RouteGuide/RouteChat", options
        )

    def ping(
        self, request: Empty, options: GrpcCallOptions = GrpcCallOptions()
    ) raises GrpcStatus -> GrpcReply[Empty]:
        return self.channel.unary[Empty](
            "/routeguide.RouteGuide/Ping", request, options
        )


@fieldwise_init
struct NothingClient(ImplicitlyCopyable):
    """Has no method."""

    var channel: GrpcChannel
