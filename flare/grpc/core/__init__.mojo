"""gRPC as values: status, metadata, timeouts, messages; without a socket or a clock."""
