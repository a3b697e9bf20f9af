"""A server that sends what a test says, octet for octet, and the client of the
tests, which is told what to do."""

import json
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from processes import memory_len, next_line
from ready import accepted, ready
from toolchain import environment

ANSWER_TIMEOUT_S = 30
PIPE_LEN = 65_536

# As many as come at once: a test has a thousand.
BACKLOG = 4096


def reset_at_close(sock: socket.socket) -> None:
    """Has a socket's end be a reset, as that of a process that was killed."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def end_has_arrived(sock: socket.socket) -> bool:
    """Tells whether the peer's kernel has what was sent, up to the end of the
    stream: FIN-WAIT-2, and what follows (RFC 9293 section 3.3.2)."""
    fin_wait_2, time_wait, closed = 5, 6, 7
    state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state in (fin_wait_2, time_wait, closed)


class Connection:
    """One accepted connection, with what was received and not yet taken."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock, self.number, self.buffer = sock, number, b""

    def head(self) -> str:
        """Reads a request's head; empty at the end of the stream."""
        while b"\r\n\r\n" not in self.buffer:
            piece = self.sock.recv(65536)
            if not piece:
                return ""
            self.buffer += piece
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        return head.decode("latin-1") + "\r\n"

    def body(self, head: str) -> bytes:
        """Reads the content that a head announces."""
        fields = dict(
            line.lower().split(":", 1) for line in head.split("\r\n")[1:] if line
        )
        if "chunked" in fields.get("transfer-encoding", ""):
            return self._chunks()
        return self.take(int(fields.get("content-length", "0").strip()))

    def take(self, count: int) -> bytes:
        pieces, left = [self.buffer], count - len(self.buffer)
        while left > 0:
            piece = self.sock.recv(65536)
            if not piece:
                raise EOFError("the client closed within the content")
            pieces.append(piece)
            left -= len(piece)
        self.buffer = b"".join(pieces)
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def _line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            piece = self.sock.recv(65536)
            if not piece:
                raise EOFError("the client closed within a line")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _chunks(self) -> bytes:
        pieces = []
        while size := int(self._line(), 16):
            pieces.append(self.take(size))
            assert self.take(2) == b"\r\n"
        assert self._line() == b""
        return b"".join(pieces)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reset(self) -> None:
        """Breaks the connection off."""
        reset_at_close(self.sock)
        self.sock.close()

    def pass_on(self, port: int) -> None:
        """Passes octets on to a server of this machine and back."""
        with socket.create_connection(("127.0.0.1", port)) as far:
            far.sendall(self.buffer)
            ends = {self.sock: far, far: self.sock}
            while True:
                for end in ready(ends, 20):
                    piece = end.recv(65536)
                    if not piece:
                        return
                    ends[end].sendall(piece)


class RawServer:
    """Accepts connections and hands each to a function on a thread."""

    def __init__(
        self,
        handle: Callable[[Connection], None],
        path: Path | None = None,
        at: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        """Listens on a free port, or on a Unix socket."""
        self.handle = handle
        self.requests: list[str] = []
        self.connection_count = 0
        # Those whose end a client of this machine can see.
        self.ended_count = 0
        self._counting = threading.Lock()
        if path:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen(BACKLOG)
            self.port = 0
        else:
            self._listener = socket.create_server(at, backlog=BACKLOG)
            # For all it accepts: what a test sends is there before the end.
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.port = self._listener.getsockname()[1]
        self.url = f"http://{at[0]}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def limit_room(self, segment_len: int = 536) -> None:
        """Leaves senders little room from now on: small segments, a small buffer."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment_len)

    def _accept(self) -> None:
        for sock in accepted(self._listener):
            self.connection_count += 1
            connection = Connection(sock, self.connection_count)
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True
            ).start()

    def _serve(self, connection: Connection) -> None:
        connection.sock.settimeout(20)
        try:
            self.handle(connection)
        except (OSError, EOFError):
            pass
        finally:
            connection.sock.close()
            with self._counting:
                self.ended_count += 1

    def close(self) -> None:
        self._listener.close()


def answering(answer: bytes | Callable[[str, bytes], bytes]) -> Callable:
    """Makes a handler that answers every request of a connection."""

    def handle(connection: Connection) -> None:
        while head := connection.head():
            content = connection.body(head)
            data = answer(head, content) if callable(answer) else answer
            connection.send(data)

    return handle


def once(data: bytes) -> Callable:
    """Makes a handler that answers one request and closes."""

    def handle(connection: Connection) -> None:
        connection.body(connection.head())
        connection.send(data)

    return handle


class Fetcher:
    """The client under test, in a process of its own."""

    def __init__(self, binary: Path, *arguments: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [str(binary), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment(), **variables},
            text=True,
            bufsize=1,
        )

    def ask(self, **command) -> dict:
        self.process.stdin.write(json.dumps(command) + "\n")
        return json.loads(next_line(self.process, ANSWER_TIMEOUT_S, PIPE_LEN))

    def client(self, **config) -> None:
        """Starts over with a new client."""
        self.ask(do="client", **config)

    def get(self, url: str, **more) -> dict:
        return self.ask(do="send", url=url, **more)

    def memory_kib(self) -> int:
        """Reads the highest resident memory so far."""
        return memory_len(self.process.pid, "VmHWM") // 1024

    def close(self) -> int:
        self.process.stdin.close()
        return self.process.wait(10)
