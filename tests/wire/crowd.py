"""Thousands of connections to one server, from one process."""

import resource
import socket

# More than the connections: what a process has open besides.
EXTRA_COUNT = 1000
# One source address has too few ports for some test machines.
PER_ADDRESS_COUNT = 5000
TIMEOUT_S = 10


def allow(count: int):
    """Lets this process have so many connections.

    Gives what a server's process has to run first to be allowed as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, max(soft, count + EXTRA_COUNT))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    limit()
    return limit


def connect(port: int, count: int, request: bytes) -> list[socket.socket]:
    """Opens connections and sends a request on each."""
    sockets = []
    for number in range(count):
        sock = socket.socket()
        sock.settimeout(TIMEOUT_S)
        sock.bind((f"127.0.0.{1 + number // PER_ADDRESS_COUNT}", 0))
        sock.connect(("127.0.0.1", port))
        sock.sendall(request)
        sockets.append(sock)
    return sockets
