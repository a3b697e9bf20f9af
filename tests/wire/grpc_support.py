"""What tests of gRPC and its kin share."""

import struct


def frame(octets: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message behind its prefix, which may lie about the length."""
    return struct.pack(">BI", flag, len(octets) if length is None else length) + octets


class Caller:
    """The client under test, a program that is told what to do."""

    def __init__(self, program) -> None:
        self.program = program

    def ask(self, **command) -> dict:
        answer = self.program.ask(**command)
        assert "error" not in answer, answer
        return answer

    def begin(self, path: str, kind: int, **more) -> int:
        """Begins a call, and gives its number."""
        return self.ask(do="begin", path=path, kind=kind, **more)["id"]
