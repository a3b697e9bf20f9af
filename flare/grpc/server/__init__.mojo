"""gRPC services as a handler of the ordinary server."""
