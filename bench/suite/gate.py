"""Decides whether a server may have a row: right answers, right on the wire."""

import socket
import ssl
import time

from suite.response import Answer, difference, parse_answer
from suite.workload import Workload

DEADLINE_S = 5
# Time for a server to read the first segment alone. One that is slower and
# reads two at once passes as well, so no result hangs on it.
PAUSE_S = 0.02
NO_REQUEST = b"no request at all\r\n\r\n"
# What RFC 9112 has a server refuse. One that does not keeps its row: others are
# known for it, and users choose them. The run's page says so below the table.
REFUSED = {
    "no Host (section 3.2)": b"GET / HTTP/1.1\r\n\r\n",
    "a space before the colon (section 5.1)": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "two lengths (section 6.3)": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
    ),
}


class Client:
    """One connection. Its methods raise OSError or ValueError when it is no good."""

    def __init__(self, port: int, tls: bool = False) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:  # what matters here is what is said, not who says it
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.octets = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *segments: bytes) -> None:
        """Sends each part in a segment of its own."""
        for index, segment in enumerate(segments):
            if index:
                time.sleep(PAUSE_S)
            self.socket.sendall(segment)

    def answer(self) -> Answer:
        """Reads one answer; what comes behind it is kept."""
        while not (found := parse_answer(self.octets)):
            more = self.socket.recv(65536)
            if not more:
                raise ValueError(f"closed after {len(self.octets)} octets of an answer")
            self.octets += more
        self.octets = found[1]
        return found[0]


def fetch(port: int, workload: Workload) -> Answer:
    """Asks once on a new connection."""
    with Client(port, workload.tls) as client:
        client.send(workload.request())
        return client.answer()


def wrong_answer(port: int, workload: Workload) -> str | None:
    """Asks twice on a connection; says what is wrong with an answer, or None.

    Where a connection is closed with each answer, it asks once.
    """
    try:
        with Client(port, workload.tls) as client:
            for _ in range(1 if workload.closes else 2):
                client.send(workload.request())
                if text := difference(workload, client.answer()):
                    return text
                if client.octets:
                    return f"{len(client.octets)} octets come behind its body"
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    return None


def wrong_protocol(port: int, workload: Workload) -> str | None:
    """Holds a server to a few rules of RFC 9112; says which it breaks, or None."""
    request = workload.request()
    accepted = {
        "two requests in one segment (section 9.3.2)": ([request + request], 2),
        "a request in three segments (section 2.2)": (
            [request[:7], request[7:20], request[20:]], 1,
        ),
    }
    for name, (segments, count) in accepted.items():
        try:
            with Client(port, workload.tls) as client:
                client.send(*segments)
                texts = [difference(workload, client.answer()) for _ in range(count)]
        except (OSError, ValueError) as error:
            return f"{name}: {str(error) or type(error).__name__}"
        if wrong := next(filter(None, texts), None):
            return f"{name}: {wrong}"
    is_strict = refuses(port, NO_REQUEST, workload.tls)
    return None if is_strict else "it takes any octets for a request"


def refuses(port: int, octets: bytes, tls: bool = False) -> bool:
    """Tells whether a server answers octets with an error or closes.

    Silence until the deadline is no refusal.
    """
    try:
        with Client(port, tls) as client:
            client.send(octets)
            return client.answer().status >= 400
    except TimeoutError:
        return False
    except (OSError, ValueError):
        return True


def leniencies(port: int, tls: bool = False) -> list[str]:
    """Lists what a server accepts that RFC 9112 has it refuse."""
    return [name for name, octets in REFUSED.items() if not refuses(port, octets, tls)]
