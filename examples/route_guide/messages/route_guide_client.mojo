# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Callers of the services of route_guide.proto."""

from flare.grpc import GrpcStatus
from flare.grpc.client import (
    ChannelStream,
    GrpcCallOptions,
    GrpcChannel,
    GrpcReply,
)
from .route_guide_pb import Feature, Point, Rectangle, RouteNote, RouteSummary


@fieldwise_init
struct RouteGuideClient(ImplicitlyCopyable):
    """What is where, for travellers: the four kinds of methods."""

    var channel: GrpcChannel

    def get_feature(
        self, request: Point, options: GrpcCallOptions = GrpcCallOptions()
    ) raises GrpcStatus -> GrpcReply[Feature]:
        """Tells what is at a place; a feature without a name if nothing is."""
        return self.channel.unary[Feature](
            "/routeguide.RouteGuide/GetFeature", request, options
        )

    def list_features(
        self, request: Rectangle, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[Rectangle, Feature]:
        """Tells what is in a rectangle, one after the other."""
        return self.channel.server_stream[Feature](
            "/routeguide.RouteGuide/ListFeatures", request, options
        )

    def record_route(
        self, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[Point, RouteSummary]:
        """Takes the places of a route, and sums it up at its end."""
        return self.channel.client_stream[Point, RouteSummary](
            "/routeguide.RouteGuide/RecordRoute", options
        )

    def route_chat(
        self, options: GrpcCallOptions = GrpcCallOptions()
    ) -> ChannelStream[RouteNote, RouteNote]:
        """Takes notes of places, and gives what others have noted there."""
        return self.channel.stream[RouteNote, RouteNote](
            "/routeguide.RouteGuide/RouteChat", options
        )
