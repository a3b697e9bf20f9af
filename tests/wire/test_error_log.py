"""What servers write to standard error, and that nobody can forge or stop it."""

import pytest
from conftest import Client, wait_until
from raw_ws import frame, raw

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
UPGRADE = (
    b"GET /echo HTTP/1.1\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
)


def break_stream(server):
    with Client(server) as client:
        client.send(GET % b"/pieces?count=1&length=1&how=fails")
        while client.sock.recv(4096):
            pass


def break_conversation(server):
    with Client(server) as client:
        client.send(UPGRADE)
        assert client.response().status == 101
        client.send(b"?")
        assert client.is_closed()


def break_ws_message(server):
    with raw(server) as client:
        client.send(frame(0x81, b"fail"))
        assert client.sock.recv(4)[0] == 0x88


def break_ws_opening(server):
    with Client(server) as client:
        client.send(
            b"GET /ws?refuse HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert client.response().status == 500


BREAKS = [
    ("stream_server", break_stream, "a stream failed: no more"),
    ("stream_server", break_conversation, "a conversation failed: what?"),
    ("ws_server", break_ws_message, "a WebSocket handler failed: it failed"),
    ("ws_server", break_ws_opening, "handler failed: not today"),
]


@pytest.mark.parametrize("name,act,told", BREAKS)
def test_what_is_raised_is_one_escaped_line_on_standard_error(
    start, name, act, told
):
    server = start(name)
    act(server)
    assert wait_until(lambda: told in server.stderr())
    lines = [line for line in server.stderr().splitlines() if "forged" in line]
    assert len(lines) == 1
    assert lines[0].startswith("flare: " + told + "\\x0aflare: forged"), lines
    server.process.terminate()
    assert server.process.wait(10) == 0
    assert server.process.stdout.read() == b""


@pytest.mark.parametrize("name,act,told", BREAKS)
def test_nothing_raised_is_logged_if_that_is_switched_off(start, name, act, told):
    server = start(name, logs_errors=0)
    act(server)
    server.process.terminate()
    assert server.process.wait(10) == 0
    assert "flare:" not in server.stderr()
