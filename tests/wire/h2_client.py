"""An HTTP/2 client that sends what a test says, and checks what comes.

Frames are written and read here, and field blocks by `h2_hpack`, so that tests may
break every rule. What the server sends is held to its own: frames on streams that
are open, content within the windows, fields that decode.
"""

import socket
import ssl
import struct
import time
from dataclasses import dataclass, field

from h2_frames import *
from h2_hpack import Decoder, Field, encode


def settings(values: dict[int, int]) -> bytes:
    payload = b"".join(struct.pack(">HI", *item) for item in values.items())
    return frame(SETTINGS, 0, 0, payload)


def window_update(stream: int, count: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", count))


def reset(stream: int, code: int = CANCEL) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


@dataclass
class Answer:
    """What has come on a stream."""

    status: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    lines: list[Field] = field(default_factory=list)
    body: bytes = b""
    trailers: list[Field] | None = None
    informational: list[int] = field(default_factory=list)
    ended: bool = False
    # The code of RST_STREAM, if the server sent it.
    reset: int | None = None

    @property
    def is_over(self) -> bool:
        return self.ended or self.reset is not None


class Closed(Exception):
    """The server has closed the connection."""


class H2Client:
    """A connection; frames that come are noted until a test asks for them."""

    def __init__(
        self,
        server,
        values: dict[int, int] | None = None,
        *,
        tls: ssl.SSLContext | bool = False,
        timeout: float = 10.0,
        room: int = 0,
        begins: bool = True,
        before: bytes = b"",
    ) -> None:
        self.sock = self._connect(server.port, timeout, room)
        if before:
            self.sock.sendall(before)
        if tls:
            self.sock = over_tls(self.sock, tls)
        self.timeout = timeout
        self.buffer = b""
        self.decoder = Decoder()
        self.answers: dict[int, Answer] = {}
        # DATA in the order in which it came: stream and length.
        self.order: list[tuple[int, int]] = []
        self.goaways: list[Frame] = []
        self.pongs: list[bytes] = []
        self.settings: dict[int, int] = {}
        self.acked = 0
        self.next_id = 1
        self.grants = True
        self.answers_pings = True
        self.acknowledges = True
        values = values or {}
        self.initial_window = values.get(INITIAL_WINDOW, DEFAULT_WINDOW)
        self.window = DEFAULT_WINDOW
        self.windows: dict[int, int] = {}
        # What the server lets us send.
        self.room = DEFAULT_WINDOW
        self.rooms: dict[int, int] = {}
        self._block: tuple[Frame, bytes] | None = None
        if begins:
            self.send(PREFACE + settings(values))

    @staticmethod
    def _connect(port: int, timeout: float, room: int) -> socket.socket:
        sock = socket.socket()
        sock.settimeout(timeout)
        if room:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        sock.connect(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def __enter__(self) -> "H2Client":
        return self

    def __exit__(self, *_) -> None:
        self.sock.close()

    def send(self, octets: bytes) -> None:
        self.sock.sendall(octets)

    def fields(self, method: str, path: str) -> list[Field]:
        return [
            (":method", method), (":scheme", "http"), (":path", path),
            (":authority", "test"),
        ]  # fmt: skip

    def request(
        self,
        path: str = "/",
        method: str = "GET",
        fields: list[Field] | None = None,
        ends: bool = True,
    ) -> int:
        """Begins a request; gives its stream."""
        block = encode(self.fields(method, path) + (fields or []))
        return self.headers(block, ends)

    def headers(self, block: bytes, ends: bool = True, stream: int = 0) -> int:
        """Sends a field block, on a new stream unless one is named."""
        if not stream:
            stream = self.next_id
            self.next_id += 2
        flags = END_HEADERS | (END_STREAM if ends else 0)
        self.send(frame(HEADERS, flags, stream, block))
        return stream

    def data(self, stream: int, octets: bytes, ends: bool = False) -> None:
        """Sends content in one frame, whatever the windows say."""
        self.send(frame(DATA, END_STREAM if ends else 0, stream, octets))
        self.room -= len(octets)
        self.rooms[stream] = self.room_of(stream) - len(octets)

    def room_of(self, stream: int) -> int:
        first = self.settings.get(INITIAL_WINDOW, DEFAULT_WINDOW)
        return self.rooms.get(stream, first)

    def upload(self, stream: int, content: bytes) -> None:
        """Sends all of a request's content as the server's windows allow."""
        sent = 0
        while sent < len(content) or sent == 0:
            room = min(self.room, self.room_of(stream), 16_384)
            if room <= 0:
                self.take_frame()
                continue
            piece = content[sent : sent + room]
            sent += len(piece)
            self.data(stream, piece, sent == len(content))
            if not content:
                return

    def take_frame(self) -> Frame:
        """Receives a frame, and takes note of it."""
        found = self._receive()
        take = {
            DATA: self._take_data,
            HEADERS: self._take_headers,
            CONTINUATION: self._take_headers,
            RST_STREAM: self._take_reset,
            SETTINGS: self._take_settings,
            PING: self._take_ping,
            GOAWAY: self.goaways.append,
            WINDOW_UPDATE: self._take_window,
        }[found.kind]
        if self._block:
            assert found.kind == CONTINUATION
        take(found)
        return found

    def answer(self, stream: int) -> Answer:
        """Waits until a stream is over."""
        while not (self.answers.get(stream) or Answer()).is_over:
            self.take_frame()
        return self.answers[stream]

    def reset_of(self, stream: int) -> Answer:
        """Waits for RST_STREAM, behind an answer or in place of one."""
        self.until(lambda: stream in self.answers and self.answers[stream].reset is not None)
        return self.answers[stream]

    def get(self, path: str, method: str = "GET", fields: list[Field] | None = None) -> Answer:
        return self.answer(self.request(path, method, fields))

    def post(self, path: str, content: bytes, fields: list[Field] | None = None) -> Answer:
        stream = self.request(path, "POST", fields, ends=False)
        self.upload(stream, content)
        return self.answer(stream)

    def until(self, condition) -> None:
        """Takes frames until something has come."""
        end = time.monotonic() + self.timeout
        while not condition():
            assert time.monotonic() < end, "it did not come in time"
            self.take_frame()

    def settle(self) -> None:
        """Takes all that the server says to what it was sent before: content
        goes behind what answers the same frames, so it is asked twice."""
        self.ping(b"settle!1")
        self.ping(b"settle!2")

    def ping(self, mark: bytes) -> None:
        """Asks whether the server is there, and waits for its answer."""
        self.send(frame(PING, 0, 0, mark))
        self.until(lambda: mark in self.pongs)
        self.pongs.remove(mark)

    def goaway(self) -> Frame:
        """Waits for the server's GOAWAY with an error."""
        self.until(lambda: self.goaways)
        return self.goaways[-1]

    def end(self) -> Frame | None:
        """Reads to the end of the connection; gives the last GOAWAY."""
        try:
            while True:
                self.take_frame()
        except (Closed, ConnectionResetError, BrokenPipeError):
            return self.goaways[-1] if self.goaways else None

    def grant(self, stream: int, count: int) -> None:
        """Opens a window, of the connection if the stream is 0."""
        if stream:
            self.windows[stream] = self._window_of(stream) + count
        else:
            self.window += count
        self.send(window_update(stream, count))

    def _window_of(self, stream: int) -> int:
        return self.windows.get(stream, self.initial_window)

    def _receive(self) -> Frame:
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(
            self.buffer[:3]
        ):
            piece = self.sock.recv(65_536)
            if not piece:
                raise Closed(f"after {self.buffer!r}")
            self.buffer += piece
        length = int.from_bytes(self.buffer[:3])
        kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
        payload = self.buffer[9 : 9 + length]
        self.buffer = self.buffer[9 + length :]
        assert length <= 16_384, "larger than every client takes"
        return Frame(kind, flags, stream & LAST_ID, payload)

    def _open(self, stream: int) -> Answer:
        assert stream % 2 == 1 and stream < self.next_id, f"no stream {stream}"
        found = self.answers.setdefault(stream, Answer())
        assert not found.is_over, f"a frame behind the end of stream {stream}"
        return found

    def _take_data(self, found: Frame) -> None:
        answer = self._open(found.stream)
        assert answer.status >= 200, "content without a header section"
        answer.body += found.payload
        length = len(found.payload)
        self.order.append((found.stream, length))
        self.window -= length
        self.windows[found.stream] = self._window_of(found.stream) - length
        if length:
            assert self.window >= 0, "beyond the connection's window"
            assert self.windows[found.stream] >= 0, "beyond the stream's window"
        answer.ended = bool(found.flags & END_STREAM)
        if self.grants and length:
            self.grant(0, length)
            if not answer.ended:
                self.grant(found.stream, length)

    def _take_headers(self, found: Frame) -> None:
        first, block = self._block or (found, b"")
        block += found.payload
        self._block = (first, block)
        if not found.flags & END_HEADERS:
            return
        self._block = None
        answer = self._open(first.stream)
        lines = self.decoder.decode(block)
        answer.ended = bool(first.flags & END_STREAM)
        if answer.status >= 200:
            assert answer.ended, "trailers that do not end the stream"
            answer.trailers = lines
            return
        assert lines[0][0] == ":status", lines
        status = int(lines[0][1])
        if status < 200:
            answer.informational.append(status)
            return
        answer.status, answer.lines = status, lines[1:]
        for name, value in answer.lines:
            assert name == name.lower() and not name.startswith(":"), name
        answer.fields = dict(answer.lines)

    def _take_reset(self, found: Frame) -> None:
        assert len(found.payload) == 4
        answer = self.answers.setdefault(found.stream, Answer())
        assert answer.reset is None, "reset twice"
        answer.reset = found.code

    def _take_settings(self, found: Frame) -> None:
        if found.flags & ACK:
            self.acked += 1
            return
        for at in range(0, len(found.payload), 6):
            name, value = struct.unpack(">HI", found.payload[at : at + 6])
            self.settings[name] = value
        if self.acknowledges:
            self.send(frame(SETTINGS, ACK, 0))

    def _take_ping(self, found: Frame) -> None:
        if found.flags & ACK:
            self.pongs.append(found.payload)
        elif self.answers_pings:
            self.send(frame(PING, ACK, 0, found.payload))

    def _take_window(self, found: Frame) -> None:
        count = int.from_bytes(found.payload)
        assert count > 0
        if found.stream:
            self.rooms[found.stream] = self.room_of(found.stream) + count
        else:
            self.room += count


def over_tls(sock: socket.socket, context: ssl.SSLContext | bool) -> ssl.SSLSocket:
    """Agrees on HTTP/2, with a context of the caller's or without checks."""
    if isinstance(context, bool):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    sealed = context.wrap_socket(sock)
    assert sealed.selected_alpn_protocol() == "h2"
    return sealed
