"""WebSocket routes of the server: real clients, hostile ones, rooms, the end."""

import os
import signal
import socket
import struct
import threading
import time

import pytest
from conftest import Client, read_all, shown, wait_until
from https_client import trusting
from raw_ws import UPGRADE, frame, memory, raw
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as open_socket


@pytest.fixture(scope="module")
def echo():
    from conftest import Server, built

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
        assert wait_until(lambda: len(server.stderr().splitlines()) == number)
    assert server.stderr() == "closed 3001 \n" * 50


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


@pytest.mark.parametrize(
    "octets,code",
    [
        (frame(0x81, b"x", None), 1002),  # 5.1: not masked
        (frame(0x83, b""), 1002),  # 5.2: reserved opcodes
        (frame(0x8B, b""), 1002),
        (frame(0xB1, b""), 1002),  # 5.2: reserved bits
        (frame(0x09, b""), 1002),  # 5.5: a control frame in fragments
        (frame(0x89, b"x" * 126), 1002),  # 5.5: too long for one
        (frame(0x80, b"x"), 1002),  # 5.4: goes on with nothing
        (frame(0x01, b"x") + frame(0x81, b"x"), 1002),
        (frame(0x81, b"\xff"), 1007),  # 5.6: not UTF-8
        (frame(0x81, b"\xed\xa0\x80"), 1007),
        (frame(0x01, b"\xce\xba\xe1") + frame(0x80, b"\xff"), 1007),
        (frame(0x88, struct.pack("!H", 1005)), 1002),  # 7.4.1
        (frame(0x88, b"x"), 1002),
        (frame(0x88, b"\x03\xe8\xff"), 1007),
        (b"\x82\xff" + b"\xff" * 8 + b"mask", 1002),  # 5.2: beyond 63 bits
        (b"\x82\xff" + struct.pack("!Q", 1 << 40) + b"mask", 1009),
        (frame(0x88, struct.pack("!H", 1000) + b"bye"), 1000),
        (frame(0x88, b""), None),
    ],
)
def test_rules(echo, octets, code):
    with raw(echo) as client:
        client.send(octets)
        data = client.buffer + read_all(client.sock)
    assert data[0] == 0x88, data
    assert (struct.unpack("!H", data[2:4])[0] if len(data) > 2 else None) == code


def test_deflate_bomb_is_refused(start):
    import zlib

    server = start("ws_server", compression=1, max_message_size=100_000)
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = squeezer.compress(b"\0" * 50_000_000) + squeezer.flush(zlib.Z_SYNC_FLUSH)
    before = memory(server)
    with raw(server, b"", b"Sec-WebSocket-Extensions: permessage-deflate\r\n") as client:
        client.send(frame(0xC2, bomb[:-4]))
        data = read_all(client.sock)
    assert data[0] == 0x88 and struct.unpack("!H", data[2:4])[0] == 1009
    assert memory(server) - before < 10_000


def test_ping_flood_takes_no_memory(echo):
    before = memory(echo)
    with raw(echo) as client:
        # Pongs have to be read meanwhile: a client that reads nothing is not
        # read either.
        octets = frame(0x89, b"x" * 125) * 20_000 + frame(0x81, b"still here")
        sender = threading.Thread(target=client.send, args=(octets,))
        sender.start()
        # A last pong may come behind it.
        while b"still here" not in client.buffer:
            client.buffer = client.buffer[-200:]
            client._more()
        sender.join()
    assert memory(echo) - before < 20_000


def test_reader_that_stops_is_cut_off(start):
    server = start("ws_server", max_queue_size=2_000_000)
    with dial(server) as other, raw(server) as stalled:
        for _ in range(3):
            stalled.send(frame(0x81, b"flood"))
        assert wait_until(lambda: "closed 1006" in server.stderr())
        other.send("hello")
        assert other.recv(5) == "hello"
        assert memory(server) < 200_000


def test_client_that_is_silent_is_pinged_and_dropped(start):
    server = start("ws_server", ping_interval_ms=200, pong_timeout_ms=300)
    with raw(server) as client, dial(server) as answering:
        began = time.monotonic()
        data = client.buffer + read_all(client.sock)
        assert data == b"\x89\x00"
        assert 0.3 < time.monotonic() - began < 3
        answering.send("still here")
        assert answering.recv(5) == "still here"


def test_client_that_does_not_answer_a_close_is_left(echo):
    with raw(echo) as client:
        client.send(frame(0x81, b"close"))
        began = time.monotonic()
        assert b"as you say" in client.buffer + read_all(client.sock)
        assert time.monotonic() - began < 3


def test_room_on_two_workers(start):
    server = start("ws_server", workers=2)
    members = [dial(server, "room", compression=None) for _ in range(40)]
    with dial(server) as speaker:
        for number in range(50):
            speaker.send(f"all:news {number}")
            assert speaker.recv(5) == "sent to 40"
    for member in members:
        assert [member.recv(5) for _ in range(50)] == [f"news {n}" for n in range(50)]
        member.close()
    with dial(server) as speaker:
        assert wait_until(lambda: (speaker.send("all:x"), speaker.recv(5))[1] == "sent to 0")


def test_http_beside_it(echo):
    with Client(echo) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().body == b"hello"
        client.send(b"GET /ws HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 400
