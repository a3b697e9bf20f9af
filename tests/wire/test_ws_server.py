"""WebSocket routes of the server: echoes, refusals, rooms, the end."""

import contextlib
import os
import signal
import socket
import struct
import threading
import time

import pytest
from conftest import Client, Server, is_refused, read_all, shown, wait_until
from https_client import trusting
from raw_ws import UPGRADE, frame, raw
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as open_socket
from wire_programs import built


@pytest.fixture(scope="module")
def echo():
    server = Server(built("ws_server"), ["close_timeout_ms=500", "compression=1"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def dial(server, query: str = "", **options):
    options.setdefault("max_size", None)
    return open_socket(f"ws://127.0.0.1:{server.port}/ws?{query}", **options)


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_echo(echo, compression):
    messages = ["", "hello", "h\u00e4" * 500, b"", b"\0\xff" * 5000, "x" * 70_000, os.urandom(3_000_000)]
    with dial(echo, compression=compression) as ws:
        for message in messages:
            ws.send(message)
            assert ws.recv(10) == message
        assert ws.ping().wait(5)
        ws.send(["in ", "frag", "ments"])
        assert ws.recv(5) == "in fragments"


def test_many_messages_without_waiting(echo):
    with dial(echo) as ws:
        sender = threading.Thread(target=lambda: [ws.send(str(n)) for n in range(5000)])
        sender.start()
        assert [ws.recv(5) for _ in range(5000)] == [str(n) for n in range(5000)]
        sender.join()


def test_octet_by_octet(echo):
    octets = frame(0x81, b"hello") + frame(0x89, b"p") + frame(0x82, b"y" * 200)
    with raw(echo) as client:
        for octet in octets:
            client.send(bytes([octet]))
        wanted = frame(0x81, b"hello", None) + frame(0x8A, b"p", None) + frame(0x82, b"y" * 200, None)
        while len(client.buffer) < len(wanted):
            client._more()
        assert client.buffer == wanted


def test_frames_behind_the_handshake_are_heard(echo):
    with Client(echo) as client:
        client.send(UPGRADE % (b"/ws", b"") + frame(0x81, b"early"))
        assert client.response().status == 101
        while len(client.buffer) < 7:
            client._more()
        assert client.buffer == frame(0x81, b"early", None)


def test_over_tls(start, certs):
    server = start("ws_server", **shown(certs))
    url = f"wss://localhost:{server.port}/ws?greet"
    with open_socket(url, ssl=trusting(certs), max_size=None) as ws:
        assert ws.recv(5) == "welcome"
        for message in ("hello", os.urandom(1_000_000)):
            ws.send(message)
            assert ws.recv(10) == message
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(5)
        assert closed.value.rcvd.code == 1001
    assert server.process.wait(5) == 0


def test_close_and_failure(echo):
    with dial(echo) as ws:
        ws.send("close")
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(5)
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "as you say")
    with dial(echo) as ws:
        ws.send("fail")
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(5)
        assert closed.value.rcvd.code == 1011
    with dial(echo) as ws:
        ws.close(3001, "enough")
    assert wait_until(lambda: "closed 3001 enough" in echo.stderr())


def test_what_stands_before_the_end_of_the_stream_is_heard(start):
    """A client may say goodbye and hang up at once."""
    server = start("ws_server")
    goodbye = frame(0x81, b"last words") + frame(0x88, struct.pack("!H", 3001))
    for number in range(1, 51):
        with raw(server) as client:
            client.send(goodbye)
            client.sock.shutdown(socket.SHUT_WR)
            assert b"last words" in client.buffer + read_all(client.sock)
        assert wait_until(lambda: len(server.lines()) == number)
    assert server.lines() == ["closed 3001 "] * 50


def test_refusals(echo, start):
    """RFC 6455 sections 4.2.1, 4.4 and 10.2."""
    with pytest.raises(InvalidStatus) as refused:
        dial(echo, "refuse")
    assert refused.value.response.status_code == 500
    for change, status in [
        ((b"Version: 13", b"Version: 12"), 426),
        ((b"Upgrade: websocket", b"Upgrade: h2c"), 400),
        ((b"Connection: Upgrade", b"Connection: close"), 400),
        ((b"AAAAAA==", b"AAAA"), 400),
        ((b"HTTP/1.1", b"HTTP/1.0"), 400),
        ((b"Host: a\r\n", b"Host: a\r\nOrigin: http://evil.example\r\n"), 403),
        ((b"Host: a\r\n", b"Host: a\r\nOrigin: http://a\r\n"), 101),
    ]:
        with Client(echo) as client:
            client.send((UPGRADE % (b"/ws", b"")).replace(*change))
            response = client.response()
            assert response.status == status, change
            if status == 426:
                assert response.fields["sec-websocket-version"] == "13"
    server = start("ws_server", origin="http://b.example", subprotocol="chat")
    fields = b"Origin: http://b.example\r\nSec-WebSocket-Protocol: x, chat\r\n"
    with Client(server) as client:
        client.send(UPGRADE % (b"/ws", fields))
        assert client.response().fields["sec-websocket-protocol"] == "chat"
    with Client(server) as client:
        client.send(UPGRADE % (b"/ws", b"Origin: http://a\r\n"))
        assert client.response().status == 403


@pytest.mark.parametrize("count", [0, 300], ids=["idle", "behind"])
def test_a_server_that_stops_tells_its_clients(start, count):
    """RFC 6455 section 7.4.1: 1001, behind the answers to what was said; also
    to one that takes them only now."""
    server = start("ws_server", workers=2, shutdown_timeout_ms=60_000)
    with contextlib.ExitStack() as held:
        clients = [held.enter_context(raw(server)) for _ in range(4)]
        for client in clients:
            # Of 64 KiB each; more than sockets hold.
            client.send(frame(0x81, b"*") * count + frame(0x81, b"hello"))
        if count == 0:
            for client in clients:
                while len(client.buffer) < 7:
                    client._more()
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: is_refused(server))
        began = time.monotonic()
        for client in clients:
            data = bytearray(client.buffer)
            while not data.endswith(b"the server stops"):
                piece = client.sock.recv(1 << 20)
                assert piece, "it was cut off untold"
                data += piece
            assert bytes(data[-20:-16]) == b"\x88\x12\x03\xe9"
            assert len(data) == count * (10 + 65_536) + 7 + 20
            client.send(frame(0x88, b"\x03\xe9"))
        assert time.monotonic() - began < 40
    assert server.process.wait(20) == 0


def test_client_that_is_silent_is_pinged_and_dropped(start):
    server = start("ws_server", ping_interval_ms=1_000, pong_timeout_ms=1_500)
    began = time.monotonic()
    with raw(server) as client, dial(server) as answering:
        data = client.buffer + read_all(client.sock)
        assert data == b"\x89\x00"
        assert time.monotonic() - began > 2
        answering.send("still here")
        assert answering.recv(5) == "still here"


def test_client_that_does_not_answer_a_close_is_left(echo):
    with raw(echo) as client:
        client.send(frame(0x81, b"close"))
        began = time.monotonic()
        assert b"as you say" in client.buffer + read_all(client.sock)
        assert time.monotonic() - began < 9


def test_room_on_two_workers(start):
    server = start("ws_server", workers=2)
    with contextlib.ExitStack() as held:
        members = [
            held.enter_context(dial(server, "room", compression=None))
            for _ in range(40)
        ]
        with dial(server) as speaker:
            for number in range(50):
                speaker.send(f"all:news {number}")
                assert speaker.recv(5) == "sent to 40"
        for member in members:
            assert [member.recv(5) for _ in range(50)] == [
                f"news {number}" for number in range(50)
            ]
    with dial(server) as speaker:
        assert wait_until(lambda: (speaker.send("all:x"), speaker.recv(5))[1] == "sent to 0")


def test_http_beside_it(echo):
    with Client(echo) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().body == b"hello"
        client.send(b"GET /ws HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 400
