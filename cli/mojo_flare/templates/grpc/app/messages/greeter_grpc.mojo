# Made by `flare proto` of greeter.proto; a change here is lost.
"""Services of greeter.proto."""

from flare.grpc import GrpcCall, GrpcKind, GrpcServices, GrpcStatus, GrpcStream
from .greeter_pb import HelloAgainRequest, HelloReply, HelloRequest
from std.memory import ArcPointer

# greeter.proto and what it imports, for reflection: a
# `FileDescriptorSet` in base64.
comptime _FILES = StaticString(
    """
CpACCg1ncmVldGVyLnByb3RvEgdncmVldGVyIhwKDEhlbGxvUmVxdWVzdBIMCgRuYW1lGAEgASgJ
IjAKEUhlbGxvQWdhaW5SZXF1ZXN0EgwKBG5hbWUYASABKAkSDQoFY291bnQYAiABKAUiHQoKSGVs
bG9SZXBseRIPCgdtZXNzYWdlGAEgASgJMn8KB0dyZWV0ZXISMwoFSGVsbG8SFS5ncmVldGVyLkhl
bGxvUmVxdWVzdBoTLmdyZWV0ZXIuSGVsbG9SZXBseRI/CgpIZWxsb0FnYWluEhouZ3JlZXRlci5I
ZWxsb0FnYWluUmVxdWVzdBoTLmdyZWV0ZXIuSGVsbG9SZXBseTABYgZwcm90bzM=
"""
)


trait Greeter(Deinitable, Movable):
    """Greets people. `flare proto greeter.proto --out app/messages` makes what the
    program has of it.
    """

    comptime HelloAgain: GrpcStream
    """The machine of a call of `hello_again`: it takes `HelloAgainRequest`,
    and replies with `HelloReply`."""

    def hello(
        self, request: HelloRequest, mut call: GrpcCall
    ) raises GrpcStatus -> HelloReply:
        """Greets somebody."""
        ...

    def hello_again(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Self.HelloAgain:
        """Greets somebody several times."""
        ...


def add_greeter[S: Greeter](mut services: GrpcServices, var service: S) raises:
    """Adds the methods of greeter.Greeter."""
    var shared = ArcPointer(service^)
    services.describe("greeter.Greeter", _FILES)
    services.unary_method[S.hello]("/greeter.Greeter/Hello", shared)
    services.stream_method[S.hello_again, HelloAgainRequest, HelloReply](
        GrpcKind.SERVER_STREAM, "/greeter.Greeter/HelloAgain", shared
    )
