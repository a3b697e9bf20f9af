# Made by `flare proto` of greeter.proto; a change here is lost.
"""Callers of the services of greeter.proto."""

from flare.grpc import GrpcStatus
from flare.grpc.client import (
    ChannelStream,
    GrpcCallOptions,
    GrpcChannel,
    GrpcReply,
)
from .greeter_pb import HelloAgainRequest, HelloReply, HelloRequest


@fieldwise_init
struct GreeterClient(ImplicitlyCopyable):
    """Greets people. `flare proto greeter.proto --out app/messages` makes what the
    program has of it.
    """

    var channel: GrpcChannel

    def hello(
        self,
        request: HelloRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[HelloReply]:
        """Greets somebody."""
        return self.channel.unary[HelloReply](
            "/greeter.Greeter/Hello", request, options
        )

    def hello_again(
        self,
        request: HelloAgainRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) -> ChannelStream[HelloAgainRequest, HelloReply]:
        """Greets somebody several times."""
        return self.channel.server_stream[HelloReply](
            "/greeter.Greeter/HelloAgain", request, options
        )
