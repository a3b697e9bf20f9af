"""What tests of gRPC and its kin share."""

import struct


def frame(octets: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message behind its prefix, which may lie about the length."""
    return struct.pack(">BI", flag, len(octets) if length is None else length) + octets


def varint(number: int) -> bytes:
    """A number of Protocol Buffers (encoding document); 64 bits of it."""
    number &= 2**64 - 1
    octets = bytearray()
    while number > 127:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


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
