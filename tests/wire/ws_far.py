"""A WebSocket server that says what a row wants, octet for octet, over HTTP/1.1 and
HTTP/2 on one port, and notes what its client has sent: the path names the row."""

import ssl
import struct
import threading
from dataclasses import dataclass, field

from cell_server import CellPeer, VersionsServer
from h2_frames import *
from raw_http2 import Tunnel
from raw_server import Connection
from test_ws_client import accept, read_frame

CLOSE, TEXT, BINARY, FIN, RSV1, PING, PONG = 0x88, 1, 2, 0x80, 0x40, 0x89, 0x8A


def unmasked(first: int, payload: bytes) -> bytes:
    length = len(payload)
    if length < 126:
        head = bytes([first, length])
    elif length < 65_536:
        head = bytes([first, 126]) + struct.pack("!H", length)
    else:
        head = bytes([first, 127]) + struct.pack("!Q", length)
    return head + payload


def closing(code: int, reason: bytes = b"") -> bytes:
    return unmasked(CLOSE, struct.pack("!H", code) + reason)


@dataclass
class FarRow:
    """What the server does once the handshake is over, and what the client makes of
    it."""

    rule: str
    sends: bytes = b""
    # Each message as its text, or as its length if it is binary.
    hears: list = field(default_factory=list)
    # Kind, code and reason of the error behind them.
    end: tuple = ("WsClosed", 1000, "")
    # The code that the client closes with; 0 for none in its frame, None for no close
    # frame.
    reply: int | None = 1000
    # What of the client's frames comes before that.
    got: list = field(default_factory=list)
    # What follows what is sent: nothing, "end" or "reset".
    then: str = ""
    # What the client does first: its texts, or its close.
    says: list = field(default_factory=list)
    closes: tuple | None = None
    # What the server waits for behind the client's texts.
    gate: threading.Event | None = None
    fields: str = ""
    config: dict = field(default_factory=dict)


@dataclass
class _Meeting:
    row: FarRow
    frames: list = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)


class FarEnd(Tunnel):
    """A stream whose connection carries others before and behind it."""

    def read(self) -> None:
        got = self.peer.until(DATA, RST_STREAM)
        while got.stream != self.stream:
            got = self.peer.until(DATA, RST_STREAM)
        if got.kind == RST_STREAM:
            raise EOFError("the stream is over")
        self.buffer += got.payload
        if got.payload:
            more = struct.pack(">I", len(got.payload))
            self.peer.send(frame(WINDOW_UPDATE, 0, 0, more))
            self.peer.send(frame(WINDOW_UPDATE, 0, self.stream, more))
        if got.flags & END_STREAM:
            self.has_end = True

    def take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            if self.has_end:
                raise EOFError("the end of the stream")
            self.read()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data


class Far(VersionsServer):
    """The server; `meet` adds a row."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.meetings: list[_Meeting] = []
        super().__init__(context)
        self.url, self.port = self.server.url, self.server.port

    def meet(self, row: FarRow) -> tuple[str, _Meeting]:
        self.meetings.append(_Meeting(row))
        return f"/{len(self.meetings) - 1}", self.meetings[-1]

    def _http2(self, peer: CellPeer) -> None:
        peer.begin((ENABLE_CONNECT, 1), (INITIAL_WINDOW, 1 << 20))
        while True:
            stream, asked, _ = peer.asked()
            meeting = self.meetings[int(asked.target[1:])]
            fields = [line.split(": ") for line in meeting.row.fields.split("\r\n") if line]
            peer.head(stream, *[(name.lower(), value) for name, value in fields])
            self._talk(meeting, FarEnd(peer, stream))

    def _http1(self, connection: Connection) -> None:
        head = connection.head()
        meeting = self.meetings[int(head.split(" ")[1][1:])]
        connection.send(
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Accept: {accept(head)}\r\n"
                f"{meeting.row.fields}\r\n"
            ).encode()
        )
        self._talk(meeting, connection)

    def _talk(self, meeting: _Meeting, line) -> None:
        """Says its part, and hears the client's up to its close frame."""
        row = meeting.row
        try:
            for _ in row.says:
                meeting.frames.append(read_frame(line))
            if row.gate:
                row.gate.wait(10)
            line.send(row.sends)
            if row.then == "reset":
                if isinstance(line, FarEnd):
                    line.peer.reset(line.stream, CANCEL)
                else:
                    line.reset()
                return
            if row.then == "end":
                if isinstance(line, FarEnd):
                    line.end()
                elif not self.context:
                    line.sock.shutdown(1)
                else:
                    return
            while not meeting.frames or meeting.frames[-1][0] != CLOSE:
                meeting.frames.append(read_frame(line))
            if not row.then:
                if not any(first == CLOSE for first in firsts_of(row.sends)):
                    line.send(unmasked(CLOSE, meeting.frames[-1][1]))
                if isinstance(line, FarEnd):
                    line.end()
        except EOFError:
            if isinstance(line, FarEnd) and line.has_end and not row.then:
                # A client that has ended its direction waits for the other one.
                line.end()
        finally:
            meeting.is_over.set()

    def close(self) -> None:
        self.server.close()


def firsts_of(octets: bytes) -> list[int]:
    """The first octets of frames that are whole."""
    firsts = []
    while len(octets) >= 2:
        length, start = octets[1] & 0x7F, 2
        if length == 126:
            length, start = int.from_bytes(octets[2:4]), 4
        elif length == 127:
            length, start = int.from_bytes(octets[2:10]), 10
        if len(octets) < start + length:
            break
        firsts.append(octets[0])
        octets = octets[start + length :]
    return firsts
