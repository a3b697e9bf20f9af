"""Frames of HTTP/2 as octets, for tests that break every rule: numbers of RFC 9113,
RFC 8441 and RFC 9218, and what makes and names a frame."""

import struct
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9
PRIORITY_UPDATE = 16
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 1, 1, 4, 8, 32
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW = 1, 2, 3, 4
MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, ENABLE_CONNECT = 5, 6, 8
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM = 4, 5, 6, 7
CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 8, 9, 11, 13
DEFAULT_WINDOW = 65_535
LAST_ID = (1 << 31) - 1


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(
        ">BBI", kind, flags, stream
    ) + payload


@dataclass
class Frame:
    """A frame as it came."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of RST_STREAM or GOAWAY."""
        return int.from_bytes(self.payload[-4:] if self.kind == RST_STREAM else self.payload[4:8])

    @property
    def number(self) -> int:
        """The number that the payload ends with."""
        return int.from_bytes(self.payload[-4:])

    @property
    def last_id(self) -> int:
        """The last stream that counts, of GOAWAY."""
        return int.from_bytes(self.payload[:4]) & LAST_ID
