"""Who asks: each has one connection that it keeps, and one question.

`ask` sends it and waits for nothing; `is_answered` reads what has come meanwhile,
and says whether the answer is whole. An answer that is none of success is an error.
"""

import os
import socket
import struct
import time
from subprocess import Popen
from typing import Protocol

SILENT_S = 10
HEARD_S = 0.2
# As curl writes it.
GET = b"GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: walk/1\r\nAccept: */*\r\n\r\n"

# RFC 9113: the preface, kinds of frames and flags.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
ACK = END_STREAM = 0x1
END_HEADERS = 0x4
FRAME_HEAD_LEN = 9
# RFC 7541: GET, http and / are in the static table; the rest is added to the
# dynamic one by the first request, and named by two octets then.
STATIC_FIELDS = b"\x82\x86\x84"
NEW_FIELDS = b"\x41\x04walk\x7a\x06walk/1\x53\x03*/*"
# A head of the same octets as the last one is not decoded again, so the order changes.
KNOWN_FIELDS = b"\xc0\xbf\xbe", b"\xc0\xbe\xbf"
STATUS_200 = 0x88

MESSAGE = b"good morning"
UPGRADE = (
    b"GET /room HTTP/1.1\r\nHost: walk\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


class Asker(Protocol):
    def ask(self) -> None: ...

    def is_answered(self) -> bool: ...


class WrongAnswer(RuntimeError):
    """An answer that is not what a walk is about."""


class Peer:
    """A connection, and what has come over it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SILENT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def receive(self) -> None:
        """Takes what is there."""
        self.socket.setblocking(False)
        try:
            piece = self.socket.recv(65_536)
        except BlockingIOError:
            return
        if not piece:
            raise WrongAnswer(f"it closed behind {self.received!r}")
        self.received += piece


def is_whole_response(octets: bytes) -> bool:
    """Tells whether a response of HTTP/1.1 with a length is here."""
    head, end, content = octets.partition(b"\r\n\r\n")
    if not end:
        return False
    if not head.startswith(b"HTTP/1.1 200 "):
        raise WrongAnswer(f"{head!r}")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(content) >= int(line.split(b":")[1])
    raise WrongAnswer(f"no length: {head!r}")


class Http1Asker:
    """GETs over one connection of HTTP/1.1."""

    def __init__(self, port: int) -> None:
        self.peer = Peer(port)
        self.question = GET % f"127.0.0.1:{port}".encode()

    def ask(self) -> None:
        self.peer.received = b""
        self.peer.socket.sendall(self.question)

    def is_answered(self) -> bool:
        self.peer.receive()
        return is_whole_response(self.peer.received)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
    return head + struct.pack(">I", stream) + payload


def frames(octets: bytes) -> tuple[list[tuple[int, int, int, bytes]], bytes]:
    """Cuts octets into whole frames, and what is left over: each is a kind, flags,
    a stream and a payload."""
    found = []
    while len(octets) >= FRAME_HEAD_LEN:
        end = FRAME_HEAD_LEN + int.from_bytes(octets[:3], "big")
        if len(octets) < end:
            break
        stream = int.from_bytes(octets[5:9], "big")
        payload = octets[FRAME_HEAD_LEN:end]
        found.append((octets[3], octets[4], stream, payload))
        octets = octets[end:]
    return found, octets


class Http2Asker:
    """GETs over one connection of HTTP/2, begun without TLS."""

    def __init__(self, port: int) -> None:
        self.peer = Peer(port)
        self.peer.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        self.stream = -1

    def ask(self) -> None:
        self.stream += 2
        known = KNOWN_FIELDS[self.stream // 2 % 2] if self.stream > 1 else NEW_FIELDS
        flags = END_STREAM | END_HEADERS
        self.peer.socket.sendall(
            frame(HEADERS, flags, self.stream, STATIC_FIELDS + known)
        )

    def is_answered(self) -> bool:
        self.peer.receive()
        found, self.peer.received = frames(self.peer.received)
        for kind, flags, stream, payload in found:
            if kind in (RST_STREAM, GOAWAY):
                raise WrongAnswer(f"frame {kind} says {payload!r}")
            if kind == SETTINGS and not flags & ACK:
                self.peer.socket.sendall(frame(SETTINGS, ACK, 0, b""))
            if kind == HEADERS and STATUS_200 not in payload[:2]:
                raise WrongAnswer(f"fields are {payload!r}")
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return stream == self.stream
        return False


class LineAsker:
    """Has a client that is watched ask, by a line of its input."""

    def __init__(self, process: Popen) -> None:
        self.process = process
        os.set_blocking(process.stdout.fileno(), False)

    def ask(self) -> None:
        os.write(self.process.stdin.fileno(), b"\n")

    def is_answered(self) -> bool:
        try:
            line = os.read(self.process.stdout.fileno(), 100)
        except BlockingIOError:
            return False
        if line != b"200\n":
            raise WrongAnswer(f"it prints {line!r}")
        return True


def masked_text(payload: bytes) -> bytes:
    """Writes a text frame of a client (RFC 6455 section 5.2)."""
    key = b"mask"
    octets = bytes(x ^ key[i % 4] for i, x in enumerate(payload))
    return bytes([0x81, 0x80 | len(payload)]) + key + octets


class RoomAsker:
    """Says something in a room, of which members in other processes hear, too."""

    def __init__(self, ports: list[int]) -> None:
        self.peers = [Peer(port) for port in ports]
        self.heard = bytes([0x81, len(MESSAGE)]) + MESSAGE
        for peer in self.peers:
            peer.socket.sendall(UPGRADE)
            while b"\r\n\r\n" not in peer.received:
                peer.received += peer.socket.recv(1)
            if b" 101 " not in peer.received:
                raise WrongAnswer(f"{peer.received!r}")
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        """Speaks until all hear it: a process that has only just begun may not be
        told yet of what others say. Then waits for what was said in vain."""
        end = time.monotonic() + SILENT_S
        while True:
            self.ask()
            if self._hears_all():
                break
            if time.monotonic() > end:
                raise WrongAnswer("not all members hear what is said")
        while any(self._take(peer, HEARD_S) for peer in self.peers):
            pass

    def _hears_all(self) -> bool:
        return all([self._take(peer, HEARD_S) for peer in self.peers])

    @staticmethod
    def _take(peer: Peer, wait_s: float) -> bool:
        """Waits for something to hear, and throws it away."""
        peer.socket.settimeout(wait_s)
        try:
            return bool(peer.socket.recv(65_536))
        except TimeoutError:
            return False

    def ask(self) -> None:
        for peer in self.peers:
            peer.received = b""
        self.peers[0].socket.sendall(masked_text(MESSAGE))

    def is_answered(self) -> bool:
        for peer in self.peers:
            peer.receive()
            if not self.heard.startswith(peer.received):
                raise WrongAnswer(f"{peer.received!r}")
        return all(peer.received == self.heard for peer in self.peers)
