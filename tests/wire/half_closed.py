"""Clients that stop half-way, for a server and for a proxy alike."""

import socket
import time

from conftest import Client, wait_until
from processes import cpu_s, descriptor_count

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
EXPECTING = (
    b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
)
STATES = [b"", b"GET", HEAD, b"BAD\r\n\r\n", CHUNKED + b"5\r\nab", EXPECTING]


def assert_cheap(server, descriptors: int) -> None:
    """Leaves connections in each state, half closed or open, and looks at the
    CPU time that they take and at the descriptors that stay."""
    pid = server.process.pid
    clients = []
    for octets in STATES:
        for is_half_closed in (False, True):
            client = Client(server)
            client.send(octets)
            if is_half_closed:
                client.sock.shutdown(socket.SHUT_WR)
            clients.append(client)
    time.sleep(0.2)
    before = cpu_s(pid)
    time.sleep(0.5)
    assert cpu_s(pid) - before < 0.2
    for client in clients:
        client.sock.close()
    assert wait_until(lambda: descriptor_count(pid) <= descriptors)
