"""Calls of gRPC, gRPC-Web and Connect, on the client's side."""

from flare.grpc.client.call import ChannelCall
from flare.grpc.client.call_options import (
    AnyCredentials,
    CallCredentials,
    GrpcCallOptions,
)
from flare.grpc.client.channel import GrpcChannel
from flare.grpc.client.channel_core import GrpcChannelConfig
from flare.grpc.client.retries import GrpcRetryPolicy
from flare.grpc.client.service_config import GrpcMethodConfig, GrpcServiceConfig
from flare.grpc.client.stream import GrpcReply, ChannelStream
