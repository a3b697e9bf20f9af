"""Clients and upstreams that send while they receive, over HTTP/1.1 and HTTP/2:
each says piece by piece what goes out, and reads piece by piece what has come."""

import re
import socket
import ssl
import struct
import time

from h2_client import Answer, H2Client
from h2_frames import *
from raw_http2 import Http2Peer
from raw_server import Connection
from ready import ready

HEAD = b"POST /echo HTTP/1.1\r\nHost: shop.example\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WAIT_S = 20


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def at_once(sock: socket.socket) -> None:
    """Sends small pieces without waiting for more."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Chunks:
    """Reads content in chunks off a socket."""

    def __init__(self, sock: socket.socket, buffer: bytes = b"") -> None:
        self.sock, self.buffer = sock, buffer

    def until(self, end: bytes) -> bytes:
        while end not in self.buffer:
            self._more()
        found, self.buffer = self.buffer.split(end, 1)
        return found

    def take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self._more()
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def _more(self) -> None:
        piece = self.sock.recv(65_536)
        if not piece:
            raise EOFError(f"the end of the stream came after {self.buffer[-80:]!r}")
        self.buffer += piece

    def chunk(self) -> bytes:
        """Reads a chunk; nothing at the end of the content."""
        count = int(self.until(b"\r\n"), 16)
        piece = self.take(count)
        if count:
            assert self.take(2) == b"\r\n"
            return piece
        self.trailers = []
        while line := self.until(b"\r\n"):
            self.trailers.append(line)
        return b""


class PlainUpstream:
    """An upstream of HTTP/1.1."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.chunks = Chunks(connection.sock)
        at_once(connection.sock)

    def request(self) -> str:
        """Reads the head of a request."""
        self.connection.buffer = self.chunks.buffer
        self.head = self.connection.head()
        self.chunks = Chunks(self.connection.sock, self.connection.buffer)
        self.connection.buffer = b""
        return self.head

    def respond(self, status: bytes = b"200 OK") -> None:
        self.connection.send(ANSWER.replace(b"200 OK", status))

    def read(self) -> bytes:
        return self.chunks.chunk()

    def send(self, piece: bytes) -> None:
        self.connection.send(chunk(piece))

    def finish(self) -> None:
        self.connection.send(b"0\r\n\r\n")

    def sees_end(self) -> bool:
        """Tells whether the request breaks off."""
        try:
            while self.read():
                pass
        except (EOFError, OSError):
            return True
        return False


class StreamUpstream:
    """An upstream of HTTP/2, without TLS."""

    def __init__(self, connection: Connection) -> None:
        at_once(connection.sock)
        self.peer = Http2Peer(connection)
        self.peer.begin()
        # What has come while there was no window.
        self.waiting: list[Frame] = []

    def request(self) -> str:
        self.stream, self.has_all = self.peer.request(), False
        return "HEADERS"

    def respond(self, status: bytes = b"200 OK") -> None:
        self.peer.head(self.stream, status=int(status.split()[0]))

    def read(self) -> bytes:
        """Reads a piece; nothing at the end of the content."""
        while not self.has_all:
            got = self.waiting.pop(0) if self.waiting else self.peer.until(DATA, RST_STREAM)
            if got.kind == RST_STREAM:
                raise EOFError(f"RST_STREAM {got.code}")
            if got.payload:
                self.grant(len(got.payload))
            self.has_all = bool(got.flags & END_STREAM)
            if got.payload:
                return got.payload
        return b""

    def grant(self, count: int) -> None:
        more = struct.pack(">I", count)
        update = frame(WINDOW_UPDATE, 0, 0, more)
        self.peer.send(update + frame(WINDOW_UPDATE, 0, self.stream, more))

    def send(self, piece: bytes) -> None:
        """Sends a piece as the windows allow."""
        while piece:
            room = min(self.peer.window, self.peer.windows[self.stream], 16_384)
            if room <= 0:
                got = self.peer.until(WINDOW_UPDATE, DATA, RST_STREAM)
                if got.kind != WINDOW_UPDATE:
                    self.waiting.append(got)
                continue
            self.peer.data(self.stream, piece[:room], ends=False)
            count = min(room, len(piece))
            self.peer.window -= count
            self.peer.windows[self.stream] -= count
            piece = piece[room:]

    def finish(self) -> None:
        self.peer.data(self.stream, b"")

    def sees_end(self) -> bool:
        try:
            while self.read():
                pass
        except (EOFError, OSError):
            return True
        return False


class Reader:
    """What reads piece by piece, with `read`."""

    def rest(self) -> bytes:
        """Reads the content to its end."""
        pieces = []
        while piece := self.read():
            pieces.append(piece)
        return b"".join(pieces)

    def sees_break(self) -> bool:
        """Tells whether the response breaks off."""
        try:
            self.rest()
        except (EOFError, OSError):
            return True
        return False


class PlainClient(Reader):
    """A client of HTTP/1.1."""

    def __init__(self, server, context: ssl.SSLContext | None = None) -> None:
        self.sock = server.connect(WAIT_S)
        at_once(self.sock)
        if context:
            self.sock = context.wrap_socket(self.sock)
        self.chunks = Chunks(self.sock)

    def ask(self, more: bytes = b"") -> None:
        self.sock.sendall(HEAD + more)

    def respond(self) -> int:
        """Reads the head of the response; its status."""
        self.head = self.chunks.until(b"\r\n\r\n")
        # A response that is there as a whole says its length.
        found = re.search(rb"\ncontent-length: (\d+)", self.head.lower())
        self.left = int(found[1]) if found else None
        return int(self.head.split()[1])

    def send(self, piece: bytes) -> None:
        self.sock.sendall(chunk(piece))

    def finish(self) -> None:
        self.sock.sendall(b"0\r\n\r\n")

    def exchange(self, content: bytes) -> bytes:
        """Sends content while it reads what comes back, all on one thread, as TLS
        has to be spoken; the content that has come."""
        out = memoryview(
            b"".join(chunk(content[at : at + 50_000]) for at in range(0, len(content), 50_000))
            + b"0\r\n\r\n"
        )
        end = time.monotonic() + WAIT_S
        self.sock.setblocking(False)
        while not self.chunks.buffer.endswith(b"\r\n0\r\n\r\n"):
            assert time.monotonic() < end, "it did not come in time"
            ready([self.sock], 1, writes=bool(out))
            for step in (self._send_some, self._read_some):
                try:
                    out = step(out)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    continue
        assert not out
        self.sock.settimeout(WAIT_S)
        return self.rest()

    def _send_some(self, out: memoryview) -> memoryview:
        return out[self.sock.send(out[:65_536]) :] if out else out

    def _read_some(self, out: memoryview) -> memoryview:
        piece = self.sock.recv(65_536)
        if not piece:
            raise EOFError("the end of the stream")
        self.chunks.buffer += piece
        return out

    def read(self) -> bytes:
        """Reads a piece; nothing at the end of the content."""
        if self.left is None:
            return self.chunks.chunk()
        piece = self.chunks.take(self.left)
        self.left = 0
        return piece

    def close(self) -> None:
        self.sock.close()


class ThriftyClient(H2Client):
    """Opens windows when half of them is used, as clients do: each frame that does
    so counts as work of which nothing comes."""

    def _take_data(self, found: Frame) -> None:
        self.grants = False
        super()._take_data(found)
        streams = [0] if self.answers[found.stream].ended else [0, found.stream]
        for stream in streams:
            window = self._window_of(stream) if stream else self.window
            if window < DEFAULT_WINDOW // 2:
                self.grant(stream, DEFAULT_WINDOW - window)


class StreamClient(Reader):
    """A client of HTTP/2."""

    def __init__(self, server, context: ssl.SSLContext | None = None) -> None:
        self.h2 = ThriftyClient(server, tls=context or False, timeout=WAIT_S)
        self.taken = 0

    def ask(self) -> None:
        self.stream = self.h2.request("/echo", "POST", ends=False)

    @property
    def answer(self) -> Answer:
        return self.h2.answers.get(self.stream) or Answer()

    def respond(self) -> int:
        self.h2.until(lambda: self.answer.status)
        return self.answer.status

    def send(self, piece: bytes) -> None:
        while piece:
            room = min(self.h2.room, self.h2.room_of(self.stream), 16_384)
            if room <= 0:
                self.h2.take_frame()
                continue
            self.h2.data(self.stream, piece[:room])
            piece = piece[room:]

    def finish(self) -> None:
        self.h2.data(self.stream, b"", ends=True)

    def read(self) -> bytes:
        self.h2.until(lambda: len(self.answer.body) > self.taken or self.answer.is_over)
        piece = self.answer.body[self.taken :]
        self.taken += len(piece)
        if not piece and not self.answer.ended:
            raise EOFError(f"RST_STREAM {self.answer.reset}")
        return piece

    def close(self) -> None:
        self.h2.sock.close()


class GenerousClient(StreamClient):
    """Gives back each frame by itself."""

    def __init__(self, server) -> None:
        super().__init__(server)
        self.h2.sock.close()
        self.h2 = H2Client(server, timeout=WAIT_S)
