"""A handler that asks an upstream is given up when its own client goes away."""

import socket

import pytest
from conftest import wait_until
from raw_server import Connection, RawServer


class Held:
    """An upstream that answers nothing until its client has gone."""

    def __init__(self) -> None:
        self.asked = self.gone = 0
        self.server = RawServer(self._hold)

    def _hold(self, connection: Connection) -> None:
        connection.head()
        self.asked += 1
        if connection.sock.recv(1) == b"":
            self.gone += 1


def ask(server, path: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return sock


def figures(server) -> str:
    with ask(server, "/figures") as sock:
        octets = b""
        while b"busy" not in octets:
            octets += sock.recv(65536)
        return octets.split(b"\r\n\r\n", 1)[1].decode()


def test_the_upstream_is_left_with_the_client(start):
    held = Held()
    server = start("asking_server", upstream=held.server.url, token=1)
    sock = ask(server, "/ask/slow")
    other = ask(server, "/ask/slow")
    assert wait_until(lambda: held.asked == 2)
    sock.close()
    assert wait_until(lambda: held.gone == 1)
    assert wait_until(lambda: "Cancelled" in figures(server))
    # The other one's client still waits.
    assert figures(server).startswith("busy 1 waiting 0")
    assert held.gone == 1
    other.close()
    assert wait_until(lambda: held.gone == 2)
    assert wait_until(lambda: figures(server).startswith("busy 0 waiting 0"))
    held.server.close()


def test_without_a_token_it_is_not(start):
    held = Held()
    server = start("asking_server", upstream=held.server.url, token=0)
    sock = ask(server, "/ask/slow")
    assert wait_until(lambda: held.asked == 1)
    sock.close()
    # The server has read the end of the first before it answers these.
    for _ in range(3):
        assert figures(server).startswith("busy 1")
    assert held.gone == 0
    held.server.close()
    server.process.kill()


@pytest.mark.parametrize("count", [2])
def test_a_request_has_one_token(start, count):
    server = start("asking_server", upstream="http://127.0.0.1:1", token=1)
    for _ in range(count):
        with ask(server, "/twice") as sock:
            octets = b""
            while b"\r\n\r\nTrue False" not in octets:
                piece = sock.recv(65536)
                assert piece, octets
                octets += piece
