# Made by `flare proto` of names.proto; a change here is lost.
"""Services of names.proto."""

from flare.grpc import GrpcCall, GrpcServices, GrpcStatus
from .names_pb import Outer, Outer_Inner
from std.memory import ArcPointer

# names.proto and what it imports, for reflection: a
# `FileDescriptorSet` in base64.
comptime _FILES = StaticString(
    """
Cu8BCh9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvEg9nb29nbGUucHJvdG9idWYiKwoJ
VGltZXN0YW1wEg8KB3NlY29uZHMYASABKAMSDQoFbmFub3MYAiABKAVChQEKE2NvbS5nb29nbGUu
cHJvdG9idWZCDlRpbWVzdGFtcFByb3RvUAFaMmdvb2dsZS5nb2xhbmcub3JnL3Byb3RvYnVmL3R5
cGVzL2tub3duL3RpbWVzdGFtcHBi+AEBogIDR1BCqgIeR29vZ2xlLlByb3RvYnVmLldlbGxLbm93
blR5cGVzYgZwcm90bzMK6wEKHmdvb2dsZS9wcm90b2J1Zi9kdXJhdGlvbi5wcm90bxIPZ29vZ2xl
LnByb3RvYnVmIioKCER1cmF0aW9uEg8KB3NlY29uZHMYASABKAMSDQoFbmFub3MYAiABKAVCgwEK
E2NvbS5nb29nbGUucHJvdG9idWZCDUR1cmF0aW9uUHJvdG9QAVoxZ29vZ2xlLmdvbGFuZy5vcmcv
cHJvdG9idWYvdHlwZXMva25vd24vZHVyYXRpb25wYvgBAaICA0dQQqoCHkdvb2dsZS5Qcm90b2J1
Zi5XZWxsS25vd25UeXBlc2IGcHJvdG8zCtMDCgtuYW1lcy5wcm90bxIKdGVzdC5uYW1lcxofZ29v
Z2xlL3Byb3RvYnVmL3RpbWVzdGFtcC5wcm90bxoeZ29vZ2xlL3Byb3RvYnVmL2R1cmF0aW9uLnBy
b3RvIukBCgVPdXRlchIqCgR0aW1lGAEgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEgA
EhoKCnRleHRfb2ZfaXQYAiABKAlIAFIEdGV4dBpKCgVJbm5lchIuCgZjb2xvdXIYASABKA4yHi50
ZXN0Lm5hbWVzLk91dGVyLklubmVyLkNvbG91ciIRCgZDb2xvdXISBwoDUkVEEAEqBQhkEMkBMjsK
BndpdGhpbhIRLnRlc3QubmFtZXMuT3V0ZXIYlgEgASgLMhcudGVzdC5uYW1lcy5PdXRlci5Jbm5l
ckIICgZjaG9pY2UqEQoEU2l6ZRIJCgVTTUFMTBABMjoKBU5hbWVzEjEKA0dldBIRLnRlc3QubmFt
ZXMuT3V0ZXIaFy50ZXN0Lm5hbWVzLk91dGVyLklubmVyOjwKBmJlc2lkZRIRLnRlc3QubmFtZXMu
T3V0ZXIYZSABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24=
"""
)


trait Names(Deinitable, Movable):
    def get(
        self, request: Outer, mut call: GrpcCall
    ) raises GrpcStatus -> Outer_Inner:
        ...


def add_names[S: Names](mut services: GrpcServices, var service: S) raises:
    """Adds the methods of test.names.Names."""
    var shared = ArcPointer(service^)
    services.describe("test.names.Names", _FILES)
    services.unary_method[S.get]("/test.names.Names/Get", shared)
