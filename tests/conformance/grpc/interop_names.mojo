"""Metadata of the interop cases, which a server sends back."""

comptime ECHO_HEADER = StaticString("x-grpc-test-echo-initial")
comptime ECHO_TRAILER = StaticString("x-grpc-test-echo-trailing-bin")
