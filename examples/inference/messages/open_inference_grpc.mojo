# Made by `flare proto` of open_inference.proto; a change here is lost.
"""Services of open_inference.proto."""

from flare.grpc import GrpcCall, GrpcServices, GrpcStatus
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
from std.memory import ArcPointer

# open_inference.proto and what it imports, for reflection: a
# `FileDescriptorSet` in base64.
comptime _FILES = StaticString(
    """
Cs8XChRvcGVuX2luZmVyZW5jZS5wcm90bxIJaW5mZXJlbmNlIhMKEVNlcnZlckxpdmVSZXF1ZXN0
IiIKElNlcnZlckxpdmVSZXNwb25zZRIMCgRsaXZlGAEgASgIIhQKElNlcnZlclJlYWR5UmVxdWVz
dCIkChNTZXJ2ZXJSZWFkeVJlc3BvbnNlEg0KBXJlYWR5GAEgASgIIjIKEU1vZGVsUmVhZHlSZXF1
ZXN0EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCSIjChJNb2RlbFJlYWR5UmVzcG9uc2US
DQoFcmVhZHkYASABKAgiFwoVU2VydmVyTWV0YWRhdGFSZXF1ZXN0IksKFlNlcnZlck1ldGFkYXRh
UmVzcG9uc2USDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJEhIKCmV4dGVuc2lvbnMYAyAD
KAkiNQoUTW9kZWxNZXRhZGF0YVJlcXVlc3QSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJ
Io0CChVNb2RlbE1ldGFkYXRhUmVzcG9uc2USDAoEbmFtZRgBIAEoCRIQCgh2ZXJzaW9ucxgCIAMo
CRIQCghwbGF0Zm9ybRgDIAEoCRI/CgZpbnB1dHMYBCADKAsyLy5pbmZlcmVuY2UuTW9kZWxNZXRh
ZGF0YVJlc3BvbnNlLlRlbnNvck1ldGFkYXRhEkAKB291dHB1dHMYBSADKAsyLy5pbmZlcmVuY2Uu
TW9kZWxNZXRhZGF0YVJlc3BvbnNlLlRlbnNvck1ldGFkYXRhGj8KDlRlbnNvck1ldGFkYXRhEgwK
BG5hbWUYASABKAkSEAoIZGF0YXR5cGUYAiABKAkSDQoFc2hhcGUYAyADKAMi7gYKEU1vZGVsSW5m
ZXJSZXF1ZXN0EhIKCm1vZGVsX25hbWUYASABKAkSFQoNbW9kZWxfdmVyc2lvbhgCIAEoCRIKCgJp
ZBgDIAEoCRJACgpwYXJhbWV0ZXJzGAQgAygLMiwuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0
LlBhcmFtZXRlcnNFbnRyeRI9CgZpbnB1dHMYBSADKAsyLS5pbmZlcmVuY2UuTW9kZWxJbmZlclJl
cXVlc3QuSW5mZXJJbnB1dFRlbnNvchJICgdvdXRwdXRzGAYgAygLMjcuaW5mZXJlbmNlLk1vZGVs
SW5mZXJSZXF1ZXN0LkluZmVyUmVxdWVzdGVkT3V0cHV0VGVuc29yEhoKEnJhd19pbnB1dF9jb250
ZW50cxgHIAMoDBqUAgoQSW5mZXJJbnB1dFRlbnNvchIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBl
GAIgASgJEg0KBXNoYXBlGAMgAygDElEKCnBhcmFtZXRlcnMYBCADKAsyPS5pbmZlcmVuY2UuTW9k
ZWxJbmZlclJlcXVlc3QuSW5mZXJJbnB1dFRlbnNvci5QYXJhbWV0ZXJzRW50cnkSMAoIY29udGVu
dHMYBSABKAsyHi5pbmZlcmVuY2UuSW5mZXJUZW5zb3JDb250ZW50cxpMCg9QYXJhbWV0ZXJzRW50
cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVy
OgI4ARrVAQoaSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3ISDAoEbmFtZRgBIAEoCRJbCgpwYXJh
bWV0ZXJzGAIgAygLMkcuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0LkluZmVyUmVxdWVzdGVk
T3V0cHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEg
ASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ARpMCg9QYXJh
bWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVy
UGFyYW1ldGVyOgI4ASLVBAoSTW9kZWxJbmZlclJlc3BvbnNlEhIKCm1vZGVsX25hbWUYASABKAkS
FQoNbW9kZWxfdmVyc2lvbhgCIAEoCRIKCgJpZBgDIAEoCRJBCgpwYXJhbWV0ZXJzGAQgAygLMi0u
aW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5QYXJhbWV0ZXJzRW50cnkSQAoHb3V0cHV0cxgF
IAMoCzIvLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVzcG9uc2UuSW5mZXJPdXRwdXRUZW5zb3ISGwoT
cmF3X291dHB1dF9jb250ZW50cxgGIAMoDBqXAgoRSW5mZXJPdXRwdXRUZW5zb3ISDAoEbmFtZRgB
IAEoCRIQCghkYXRhdHlwZRgCIAEoCRINCgVzaGFwZRgDIAMoAxJTCgpwYXJhbWV0ZXJzGAQgAygL
Mj8uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5JbmZlck91dHB1dFRlbnNvci5QYXJhbWV0
ZXJzRW50cnkSMAoIY29udGVudHMYBSABKAsyHi5pbmZlcmVuY2UuSW5mZXJUZW5zb3JDb250ZW50
cxpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJl
bmNlLkluZmVyUGFyYW1ldGVyOgI4ARpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigK
BXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ASKZAQoOSW5mZXJQYXJh
bWV0ZXISFAoKYm9vbF9wYXJhbRgBIAEoCEgAEhUKC2ludDY0X3BhcmFtGAIgASgDSAASFgoMc3Ry
aW5nX3BhcmFtGAMgASgJSAASFgoMZG91YmxlX3BhcmFtGAQgASgBSAASFgoMdWludDY0X3BhcmFt
GAUgASgESABCEgoQcGFyYW1ldGVyX2Nob2ljZSLQAQoTSW5mZXJUZW5zb3JDb250ZW50cxIVCg1i
b29sX2NvbnRlbnRzGAEgAygIEhQKDGludF9jb250ZW50cxgCIAMoBRIWCg5pbnQ2NF9jb250ZW50
cxgDIAMoAxIVCg11aW50X2NvbnRlbnRzGAQgAygNEhcKD3VpbnQ2NF9jb250ZW50cxgFIAMoBBIV
Cg1mcDMyX2NvbnRlbnRzGAYgAygCEhUKDWZwNjRfY29udGVudHMYByADKAESFgoOYnl0ZXNfY29u
dGVudHMYCCADKAwy8AMKFEdSUENJbmZlcmVuY2VTZXJ2aWNlEkkKClNlcnZlckxpdmUSHC5pbmZl
cmVuY2UuU2VydmVyTGl2ZVJlcXVlc3QaHS5pbmZlcmVuY2UuU2VydmVyTGl2ZVJlc3BvbnNlEkwK
C1NlcnZlclJlYWR5Eh0uaW5mZXJlbmNlLlNlcnZlclJlYWR5UmVxdWVzdBoeLmluZmVyZW5jZS5T
ZXJ2ZXJSZWFkeVJlc3BvbnNlEkkKCk1vZGVsUmVhZHkSHC5pbmZlcmVuY2UuTW9kZWxSZWFkeVJl
cXVlc3QaHS5pbmZlcmVuY2UuTW9kZWxSZWFkeVJlc3BvbnNlElUKDlNlcnZlck1ldGFkYXRhEiAu
aW5mZXJlbmNlLlNlcnZlck1ldGFkYXRhUmVxdWVzdBohLmluZmVyZW5jZS5TZXJ2ZXJNZXRhZGF0
YVJlc3BvbnNlElIKDU1vZGVsTWV0YWRhdGESHy5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlcXVl
c3QaIC5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlc3BvbnNlEkkKCk1vZGVsSW5mZXISHC5pbmZl
cmVuY2UuTW9kZWxJbmZlclJlcXVlc3QaHS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlYgZw
cm90bzM=
"""
)


trait GRPCInferenceService(Deinitable, Movable):
    """What a server of models answers."""

    def server_live(
        self, request: ServerLiveRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerLiveResponse:
        """Tells whether the server can be asked."""
        ...

    def server_ready(
        self, request: ServerReadyRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerReadyResponse:
        """Tells whether all models can be asked."""
        ...

    def model_ready(
        self, request: ModelReadyRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelReadyResponse:
        """Tells whether a model can be asked."""
        ...

    def server_metadata(
        self, request: ServerMetadataRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerMetadataResponse:
        """Tells which server this is."""
        ...

    def model_metadata(
        self, request: ModelMetadataRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelMetadataResponse:
        """Tells what a model takes and gives."""
        ...

    def model_infer(
        self, request: ModelInferRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelInferResponse:
        """Asks a model."""
        ...


def add_grpc_inference_service[
    S: GRPCInferenceService
](mut services: GrpcServices, var service: S) raises:
    """Adds the methods of inference.GRPCInferenceService."""
    var shared = ArcPointer(service^)
    services.describe("inference.GRPCInferenceService", _FILES)
    services.unary_method[S.server_live](
        "/inference.GRPCInferenceService/ServerLive", shared
    )
    services.unary_method[S.server_ready](
        "/inference.GRPCInferenceService/ServerReady", shared
    )
    services.unary_method[S.model_ready](
        "/inference.GRPCInferenceService/ModelReady", shared
    )
    services.unary_method[S.server_metadata](
        "/inference.GRPCInferenceService/ServerMetadata", shared
    )
    services.unary_method[S.model_metadata](
        "/inference.GRPCInferenceService/ModelMetadata", shared
    )
    services.unary_method[S.model_infer](
        "/inference.GRPCInferenceService/ModelInfer", shared
    )
