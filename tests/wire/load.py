"""Load for tests: many connections at once, and what became of each request."""

import re
import selectors
import socket
import threading
import time

REQUEST = b"GET /pid HTTP/1.1\r\nHost: test\r\n\r\n"
REQUEST_AND_CLOSE = (
    b"GET /pid HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
)
# The head is searched without the end of its last line.
CONTENT_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)(?:\r\n|$)")


class KeptConnections(threading.Thread):
    """Connections that send one request after the other, and come again.

    `lost` holds the process that served the connection of each request that
    got no answer, or None for connections that had no answer yet.
    """

    def __init__(self, port: int, count: int) -> None:
        super().__init__(daemon=True)
        self.port, self.count = port, count
        self.answered = 0
        self.lost: list[int | None] = []
        self.refused = 0
        self.by_process: dict[int, int] = {}
        self._halt = threading.Event()
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        for _ in range(self.count):
            self._open()
        while not self._halt.is_set():
            for key, _ in self._selector.select(0.1):
                self._receive(key.fileobj)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()

    def stop(self) -> None:
        self._halt.set()
        self.join(10)

    def _open(self) -> None:
        sock = socket.socket()
        try:
            sock.connect(("127.0.0.1", self.port))
        except OSError:
            self.refused += 1
            return
        self._selector.register(sock, selectors.EVENT_READ, [None, b""])
        sock.send(REQUEST)

    def _receive(self, sock: socket.socket) -> None:
        state = self._selector.get_key(sock).data
        try:
            data = sock.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.lost.append(state[0])
            self._selector.unregister(sock)
            sock.close()
            self._open()
            return
        state[1] += data
        head, _, body = state[1].partition(b"\r\n\r\n")
        if not (length := CONTENT_LENGTH.search(head)) or len(body) < int(length[1]):
            return
        assert head.startswith(b"HTTP/1.1 200 "), head
        state[:] = int(body), b""
        self.answered += 1
        self.by_process[state[0]] = self.by_process.get(state[0], 0) + 1
        try:
            sock.send(REQUEST)
        except OSError:
            self.lost.append(state[0])
            self._selector.unregister(sock)
            sock.close()
            self._open()


class FreshConnections(threading.Thread):
    """A new connection for each request, one after the other."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.answered = 0
        self.failures: list[str] = []
        self.processes: set[int] = set()
        self._halt = threading.Event()

    def run(self) -> None:
        while not self._halt.is_set():
            try:
                self._one()
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}")

    def stop(self) -> None:
        self._halt.set()
        self.join(15)

    def _one(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 10) as sock:
            sock.sendall(REQUEST_AND_CLOSE)
            data = b""
            while piece := sock.recv(4096):
                data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), data
        self.processes.add(int(body))
        self.answered += 1


def answers_at_once(clients: list, milliseconds: int) -> float:
    """Asks all for a slow answer at once; gives the seconds until all have it."""
    path = f"/slow/{milliseconds}"
    began = time.monotonic()
    for client in clients:
        client.send(f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
    for client in clients:
        assert client.response().body == f"slept {milliseconds} ".encode()
    return time.monotonic() - began
