"""Decides whether a server's answer is the workload file's."""

import socket
import ssl
import time

from suite.response import Answer, difference, parse_answer
from suite.workload import Workload

DEADLINE_S = 5
# Time for a server to read the first segment alone. One that is slower and
# reads two at once passes as well, so no result hangs on it.
PAUSE_S = 0.02

Place = tuple[str, int]  # host and port


class Client:
    """One connection. Its methods raise OSError or ValueError when it is no good."""

    def __init__(self, place: Place, tls: bool = False) -> None:
        self.socket = socket.create_connection(place, timeout=DEADLINE_S)
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

    def answer(self, has_body: bool = True) -> Answer:
        """Reads one answer; what comes behind it is kept."""
        while not (found := parse_answer(self.octets, has_body)):
            more = self.socket.recv(65536)
            if not more:
                raise ValueError(f"closed after {len(self.octets)} octets of an answer")
            self.octets += more
        self.octets = found[1]
        return found[0]

    def octets_of(self, length: int) -> bytes:
        """Reads so many octets, whatever they are."""
        while len(self.octets) < length:
            more = self.socket.recv(65536)
            if not more:
                raise ValueError(f"closed after {len(self.octets)} of {length} octets")
            self.octets += more
        found, self.octets = self.octets[:length], self.octets[length:]
        return found


def fetch(place: Place, workload: Workload) -> Answer:
    """Asks once on a new connection."""
    with Client(place, workload.tls) as client:
        client.send(workload.request())
        return client.answer()


def wrong_answer(place: Place, workload: Workload) -> str | None:
    """Asks twice on a connection; says what is wrong with an answer, or None.

    Where a connection is closed with each answer, it asks once, and the server
    must say that it closes, and close.
    """
    try:
        with Client(place, workload.tls) as client:
            for _ in range(1 if workload.closes else 2):
                client.send(workload.request())
                answer = client.answer()
                if text := difference(workload, answer):
                    return text
                if client.octets:
                    return f"{len(client.octets)} octets come behind its body"
            if workload.closes and ("connection", "close") not in answer.fields:
                return "it was asked to close the connection, and does not say that it will"
            if workload.closes and client.socket.recv(1):
                return "it was asked to close the connection, and sends more"
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    return None
