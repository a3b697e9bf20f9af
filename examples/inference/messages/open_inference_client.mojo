# Made by `flare proto` of open_inference.proto; a change here is lost.
"""Callers of the services of open_inference.proto."""

from flare.grpc import GrpcStatus
from flare.grpc.client import GrpcCallOptions, GrpcChannel, GrpcReply
from .open_inference_pb import (
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
    ModelReadyRequest,
    ModelReadyResponse,
    ServerLiveRequest,
    ServerLiveResponse,
    ServerMetadataRequest,
    ServerMetadataResponse,
    ServerReadyRequest,
    ServerReadyResponse,
)


@fieldwise_init
struct GRPCInferenceServiceClient(ImplicitlyCopyable):
    """What a server of models answers."""

    var channel: GrpcChannel

    def server_live(
        self,
        request: ServerLiveRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ServerLiveResponse]:
        """Tells whether the server can be asked."""
        return self.channel.unary[ServerLiveResponse](
            "/inference.GRPCInferenceService/ServerLive", request, options
        )

    def server_ready(
        self,
        request: ServerReadyRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ServerReadyResponse]:
        """Tells whether all models can be asked."""
        return self.channel.unary[ServerReadyResponse](
            "/inference.GRPCInferenceService/ServerReady", request, options
        )

    def model_ready(
        self,
        request: ModelReadyRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ModelReadyResponse]:
        """Tells whether a model can be asked."""
        return self.channel.unary[ModelReadyResponse](
            "/inference.GRPCInferenceService/ModelReady", request, options
        )

    def server_metadata(
        self,
        request: ServerMetadataRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ServerMetadataResponse]:
        """Tells which server this is."""
        return self.channel.unary[ServerMetadataResponse](
            "/inference.GRPCInferenceService/ServerMetadata", request, options
        )

    def model_metadata(
        self,
        request: ModelMetadataRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ModelMetadataResponse]:
        """Tells what a model takes and gives."""
        return self.channel.unary[ModelMetadataResponse](
            "/inference.GRPCInferenceService/ModelMetadata", request, options
        )

    def model_infer(
        self,
        request: ModelInferRequest,
        options: GrpcCallOptions = GrpcCallOptions(),
    ) raises GrpcStatus -> GrpcReply[ModelInferResponse]:
        """Asks a model."""
        return self.channel.unary[ModelInferResponse](
            "/inference.GRPCInferenceService/ModelInfer", request, options
        )
