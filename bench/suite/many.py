"""Processes that hold very many connections to one server, each some thousands."""

import multiprocessing
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

KINDS = ("keep-alive", "WebSocket", "HTTP/2")
PORTION = 256
TIMEOUT_S = 30
# A loopback address has 28,000 ports, and looking for a free one takes longer the
# more of them are used.
EACH_ADDRESS = 5_000
ADDRESSES_EACH = 250
IP_BIND_ADDRESS_NO_PORT = 24
PLAIN = b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n"
UPGRADE = (
    b"GET /room HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
# The preface, empty SETTINGS, their acknowledgement, and GET / on stream 1.
BLOCK = b"\x82\x86\x84\x41\x05bench"
HTTP2 = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + b"\0\0\0\x04\0\0\0\0\0"
    + b"\0\0\0\x04\x01\0\0\0\0"
    + len(BLOCK).to_bytes(3, "big") + b"\x01\x05\0\0\0\x01" + BLOCK
)
# How each kind begins, and how the answer to that ends.
GREETINGS = {
    "keep-alive": (PLAIN, b"done"),
    "WebSocket": (UPGRADE, b"\r\n\r\n"),
    "HTTP/2": (HTTP2, b"done"),
}


def spoken(text: bytes) -> bytes:
    """A message of a client, whose mask changes nothing."""
    return bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text


def allow_all() -> int:
    """Lets this process have as many descriptors as it may; gives their number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard
    try:
        with open("/proc/sys/fs/nr_open") as file:
            wanted = int(file.read())
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except (OSError, ValueError):
        wanted = hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted


def address_of(number: int) -> str:
    """A loopback address of that number."""
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


class Holder:
    """What runs in a process of its own: opens connections, and keeps them."""

    def __init__(self, port: int, number: int) -> None:
        self.port, self.number = port, number
        self.sockets: list[socket.socket] = []
        self.opened = 0

    def open(self, kind: str, count: int) -> int:
        """Opens more, each with a request that is answered; gives how many it has."""
        greeting, end = GREETINGS[kind]
        while count > 0:
            portion = [self._connect(greeting) for _ in range(min(PORTION, count))]
            for sock in portion:
                self._read_to(sock, end)
            self.sockets += portion
            count -= len(portion)
        return len(self.sockets)

    def _connect(self, greeting: bytes) -> socket.socket:
        sock = socket.socket()
        sock.settimeout(TIMEOUT_S)
        # The port is chosen when it connects, which is far quicker than before.
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        self.opened += 1
        sock.bind((address_of(self.number * ADDRESSES_EACH + self.opened // EACH_ADDRESS), 0))
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(greeting)
        return sock

    @staticmethod
    def _read_to(sock: socket.socket, end: bytes) -> None:
        found = b""
        while not found.endswith(end):
            piece = sock.recv(4096)
            if not piece:
                raise OSError(f"the server closed behind {found!r}")
            found += piece

    def _each(self, take: Callable[[socket.socket], None], timeout_s: float) -> float:
        """Waits until each can be read and takes that; gives when the last could."""
        waiting = {sock.fileno(): sock for sock in self.sockets}
        poll = select.epoll()
        for number in waiting:
            poll.register(number, select.EPOLLIN)
        end, last = time.monotonic() + timeout_s, time.monotonic()
        while waiting:
            events = poll.poll(max(0.0, end - time.monotonic()), 4096)
            if not events:
                raise OSError(f"{len(waiting)} connections hear nothing")
            last = time.monotonic()
            for number, _ in events:
                sock = waiting.pop(number)
                poll.unregister(number)
                take(sock)
        poll.close()
        return last

    def hear(self, text: bytes) -> float:
        """Waits until a message of the room is heard by all."""
        return self._each(lambda sock: self._read_to(sock, text), TIMEOUT_S)

    def lost(self) -> int:
        """Takes what has come meanwhile, such as SETTINGS; how many have ended."""
        poll, count = select.epoll(), 0
        with poll:
            for sock in self.sockets:
                poll.register(sock.fileno(), select.EPOLLIN)
            named = {sock.fileno(): sock for sock in self.sockets}
            for number, _ in poll.poll(0, len(self.sockets) or 1):
                try:
                    count += named[number].recv(65_536) == b""
                except OSError:
                    count += 1
        return count

    def drain(self) -> float:
        """Waits until the server ends all, and closes each when it is told."""
        last = self._each(lambda sock: sock.close(), 2 * TIMEOUT_S)
        self.sockets = []
        return last


def _serve(pipe: Connection, port: int, number: int) -> None:
    allow_all()
    holder = Holder(port, number)
    while True:
        name, given = pipe.recv()
        if name == "end":
            return
        try:
            pipe.send(getattr(holder, name)(*given))
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


class Crowd:
    """Holders, who do the same things at once."""

    def __init__(self, port: int, each_max: int) -> None:
        self.port, self.each_max = port, each_max
        self.pipes: list[Connection] = []
        self.counts: list[int] = []
        self.processes: list[multiprocessing.Process] = []

    def _add(self) -> None:
        number = len(self.pipes)
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(there, self.port, number), daemon=True
        )
        process.start()
        there.close()
        self.pipes.append(here)
        self.counts.append(0)
        self.processes.append(process)

    @property
    def count(self) -> int:
        return sum(self.counts)

    def open_to(self, kind: str, count: int) -> None:
        """Opens connections until there are so many, in two processes at a time."""
        while self.count < count:
            rooms = [at for at, held in enumerate(self.counts) if held < self.each_max]
            while len(rooms) < 2:
                self._add()
                rooms.append(len(self.pipes) - 1)
            portion = max(1, min(4_000, (count - self.count + 1) // 2))
            for at in rooms[:2]:
                more = min(portion, self.each_max - self.counts[at], count - self.count)
                self.pipes[at].send(("open", (kind, more)))
                self.counts[at] += more
            for at in rooms[:2]:
                self.answer(at)

    def answer(self, at: int) -> float:
        """Waits for what one says; raises ValueError with what went wrong there."""
        found = self.pipes[at].recv()
        if isinstance(found, str):
            raise ValueError(f"c1m: {found}")
        return found

    def all(self, name: str, *given: object) -> list[float]:
        """Has all do something, and gives what each says."""
        for pipe in self.pipes:
            pipe.send((name, given))
        return [self.answer(at) for at in range(len(self.pipes))]

    def broadcast(self, text: bytes) -> float:
        """Has one say something; gives the seconds until all have heard it."""
        for pipe in self.pipes:
            pipe.send(("hear", (text,)))
        # Said by a connection of its own, since all others listen.
        sock = socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)
        with sock:
            sock.sendall(UPGRADE)
            Holder._read_to(sock, b"\r\n\r\n")
            began_s = time.monotonic()
            sock.sendall(spoken(text))
            return max(self.answer(at) for at in range(len(self.pipes))) - began_s

    def end(self) -> None:
        for pipe in self.pipes:
            try:
                pipe.send(("end", ()))
            except OSError:
                pass
        for process in self.processes:
            process.join(TIMEOUT_S)
            if process.is_alive():
                process.kill()


@contextmanager
def crowd(port: int, each_max: int) -> Iterator[Crowd]:
    found = Crowd(port, each_max)
    try:
        yield found
    finally:
        found.end()
