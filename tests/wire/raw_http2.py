"""A server of HTTP/2 that sends what a test says, frame for frame: its own
frames, and field blocks without compression."""

import struct
from collections.abc import Callable

from h2_frames import *
from raw_server import Connection


def text(octets: bytes) -> bytes:
    """Writes a string of HPACK as it stands (RFC 7541 section 5.2)."""
    if len(octets) < 127:
        return bytes([len(octets)]) + octets
    rest, more = len(octets) - 127, b""
    while rest >= 128:
        more += bytes([128 | rest & 127])
        rest >>= 7
    return b"\x7f" + more + bytes([rest]) + octets


def block(*fields: tuple[str, str]) -> bytes:
    """Encodes fields that nobody keeps (RFC 7541 section 6.2.2)."""
    return b"".join(
        b"\0" + text(name.encode()) + text(value.encode("latin-1"))
        for name, value in fields
    )


def settings(*pairs: tuple[int, int], flags: int = 0) -> bytes:
    payload = b"".join(struct.pack(">HI", *pair) for pair in pairs)
    return frame(SETTINGS, flags, 0, payload)


class Http2Peer:
    """The server's side of a connection, which keeps to the client's windows."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.window = DEFAULT_WINDOW
        self.stream_window = DEFAULT_WINDOW
        self.windows: dict[int, int] = {}
        self.seen: list[Frame] = []

    def begin(self, *pairs: tuple[int, int]) -> None:
        """Takes the preface, and sends SETTINGS."""
        assert self.connection.take(len(PREFACE)) == PREFACE
        self.send(settings(*pairs))

    def send(self, octets: bytes) -> None:
        self.connection.send(octets)

    def read(self) -> Frame:
        """Reads a frame, and does what has to be done with any."""
        head = self.connection.take(9)
        length = int.from_bytes(head[:3], "big")
        stream = int.from_bytes(head[5:], "big")
        got = Frame(head[3], head[4], stream, self.connection.take(length))
        self.seen.append(got)
        if got.kind == SETTINGS and not got.flags & ACK:
            for at in range(0, length, 6):
                name, value = struct.unpack(">HI", got.payload[at : at + 6])
                if name == INITIAL_WINDOW:
                    self.stream_window = value
            self.send(settings(flags=ACK))
        elif got.kind == WINDOW_UPDATE and stream == 0:
            self.window += got.number
        elif got.kind == WINDOW_UPDATE and stream in self.windows:
            self.windows[stream] += got.number
        elif got.kind == HEADERS:
            self.windows[stream] = self.stream_window
        return got

    def until(self, *kinds: int) -> Frame:
        """Reads up to a frame of one of these types."""
        while (got := self.read()).kind not in kinds:
            pass
        return got

    def request(self) -> int:
        """Reads up to the end of the next request's fields; its stream."""
        got = self.until(HEADERS)
        while not got.flags & END_HEADERS:
            got = self.until(CONTINUATION)
        return got.stream

    def content(self, stream: int, window: int = 0) -> int:
        """Reads a request's content to its end, opening windows; its length."""
        length = 0
        while True:
            got = self.until(DATA)
            assert got.stream == stream
            length += len(got.payload)
            if got.flags & END_STREAM:
                return length
            if window and got.payload:
                more = struct.pack(">I", len(got.payload))
                self.send(frame(WINDOW_UPDATE, 0, 0, more))
                self.send(frame(WINDOW_UPDATE, 0, stream, more))

    def head(self, stream: int, *fields, status: int = 200, ends=False) -> None:
        payload = block((":status", str(status)), *fields)
        flags = END_HEADERS | (END_STREAM if ends else 0)
        self.send(frame(HEADERS, flags, stream, payload))

    def data(self, stream: int, octets: bytes, ends: bool = True) -> None:
        self.send(frame(DATA, END_STREAM if ends else 0, stream, octets))

    def answer(self, stream: int, content: bytes = b"ok", *fields) -> None:
        self.head(stream, *fields)
        self.data(stream, content)

    def stream_out(self, stream: int, length: int) -> None:
        """Sends content as fast as the windows allow."""
        while length:
            room = min(self.window, self.windows[stream], 16_384, length)
            if room == 0:
                self.until(WINDOW_UPDATE)
                continue
            self.window -= room
            self.windows[stream] -= room
            length -= room
            self.data(stream, b"x" * room, ends=length == 0)

    def reset(self, stream: int, code: int) -> None:
        self.send(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))

    def goaway(self, last: int, code: int = NO_ERROR) -> None:
        self.send(frame(GOAWAY, 0, 0, struct.pack(">II", last, code)))

    def drain(self) -> list[Frame]:
        """Reads until the client closes; what it has sent in all."""
        try:
            while True:
                self.read()
        except (EOFError, OSError):
            return self.seen


class Tunnel:
    """A stream with the calls of a `Connection`."""

    def __init__(self, peer: Http2Peer, stream: int) -> None:
        self.peer, self.stream, self.buffer, self.has_end = peer, stream, b"", False

    def send(self, octets: bytes) -> None:
        for at in range(0, len(octets), 16_384):
            self.peer.data(self.stream, octets[at : at + 16_384], ends=False)

    def take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self.read()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read(self) -> None:
        got = self.peer.until(DATA, RST_STREAM, GOAWAY)
        if got.kind != DATA:
            raise EOFError("the stream is over")
        self.buffer += got.payload
        self.has_end = bool(got.flags & END_STREAM)
        if got.payload:
            more = struct.pack(">I", len(got.payload))
            self.peer.send(frame(WINDOW_UPDATE, 0, 0, more))
            self.peer.send(frame(WINDOW_UPDATE, 0, self.stream, more))

    def end(self) -> None:
        self.peer.data(self.stream, b"", ends=True)


def speaking(handle: Callable[[Http2Peer], None], *pairs) -> Callable:
    """Makes a handler of connections for `RawServer`: the preface is taken and
    the SETTINGS are sent."""

    def run(connection: Connection) -> None:
        peer = Http2Peer(connection)
        peer.begin(*pairs)
        handle(peer)

    return run


def answering_all(peer: Http2Peer) -> None:
    """Answers every request at once."""
    while True:
        peer.answer(peer.request())
