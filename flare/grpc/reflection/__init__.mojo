"""What services there are, and what describes them, as `grpc.reflection` asks."""

from flare.grpc.reflection.reflection import add_reflection
