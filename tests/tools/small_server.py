"""A small HTTP/1.1 server for the tests of the gate, with faults to choose."""

import re
import socket
import threading
from collections.abc import Callable

GOOD = b"HTTP/1.1 200 OK\r\nDate: x\r\ncontent-type: a/b\r\nContent-Length: 5\r\n\r\nHello"
DONE = b"HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nContent-Length: 2\r\n\r\nOK"
ABSENT = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
BAD = b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"
# What is answered, and what is kept for later: None closes the connection.
Answering = Callable[[bytes], tuple[bytes, bytes | None]]


class Peer:
    """Answers each connection with a function of all that came, until it is enough."""

    def __init__(self, answer: Answering) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = self.listener.getsockname()
        self.answer = answer
        self.thread = threading.Thread(target=self.run)

    def __enter__(self) -> "Peer":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def run(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                self.serve(client)

    def serve(self, client: socket.socket) -> None:
        octets: bytes | None = b""
        try:
            while octets is not None and (more := client.recv(65536)):
                reply, octets = self.answer(octets + more)
                client.sendall(reply)
        except ConnectionError:
            return  # the tester has seen enough


class Refused(Exception):
    """What is answered with 400 and a closed connection."""


class Unfinished(Exception):
    """What needs more octets."""


def answering(*faults: str) -> Answering:
    """Makes a server; without faults a strict one. Faults are named below."""

    def answer(octets: bytes) -> tuple[bytes, bytes | None]:
        replies = b""
        while octets:
            try:
                reply, octets = one(octets, faults)
            except Unfinished:
                break
            except Refused:
                return replies + BAD, None
            replies = reply + replies if "reversed" in faults else replies + reply
        return replies, octets

    return answer


def one(octets: bytes, faults: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Answers one request; gives the octets behind it."""
    head, end, rest = octets.partition(b"\r\n\r\n")
    if not end or ("split" in faults and len(octets) < 20):
        raise Refused if "split" in faults else Unfinished
    line, *fields = head.split(b"\r\n")
    found = re.fullmatch(rb"(GET|HEAD|POST) (\S+) HTTP/1\.1", line)
    if not found:
        raise Refused
    rest = behind_content(fields, rest, faults)
    if found[1] == b"POST":
        return (DONE if found[2] == b"/upload" else ABSENT), rest
    reply = GOOD if found[2] == b"/" else ABSENT
    if found[1] == b"HEAD" and "HEAD" not in faults:
        reply = reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    return reply, rest


def behind_content(fields: list[bytes], rest: bytes, faults: tuple[str, ...]) -> bytes:
    """Frames the content; gives what is behind it."""
    pairs = [field.partition(b":")[::2] for field in fields]
    if "lenient" in faults:
        pairs = [(name.rstrip(), value) for name, value in pairs] + [(b"Host", b"a")]
    names = [name.lower() for name, _ in pairs]
    given = {name.lower(): value.strip() for name, value in reversed(pairs)}
    if b"host" not in names or any(name.endswith(b" ") for name in names):
        raise Refused
    coding, is_sized = given.get(b"transfer-encoding"), b"content-length" in names
    if names.count(b"content-length") > 1 and "lengths" not in faults:
        raise Refused
    if coding and is_sized and "length wins" in faults:
        coding = None
    elif coding and is_sized and "coding wins" not in faults:
        raise Refused
    if coding == b"chunked":
        return behind_chunks(rest, faults)
    if coding and "lenient" not in faults:
        raise Refused
    length = int(given.get(b"content-length", b"0"))
    if len(rest) < length:
        raise Unfinished
    return rest[length:]


def behind_chunks(rest: bytes, faults: tuple[str, ...]) -> bytes:
    """Reads chunks up to the last; gives what is behind it."""
    if "chunks" in faults:
        raise Refused
    while True:
        line, end, rest = rest.partition(b"\r\n")
        if not end:
            raise Unfinished
        digits = line.partition(b";")[0]
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", digits) and "sizes" not in faults:
            raise Refused
        size = abs(int(digits, 16))
        if len(rest) < size + 2:
            raise Unfinished
        if rest[size : size + 2] != b"\r\n":
            if "ends" not in faults:
                raise Refused
            size = rest.index(b"\r\n")
        rest = rest[size + 2 :]
        if size == 0:
            return rest
