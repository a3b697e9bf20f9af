"""What servers write to standard error, and that nobody can forge or stop it."""

import signal

import pytest
from conftest import Client, read_all, wait_until
from h2_client import H2Client
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


@pytest.mark.parametrize("is_on", [1, 0])
def test_failures_of_upstreams_and_of_what_answers_later(start, is_on):
    server = start(
        "proxy_server", upstream="http://127.0.0.1:1", server_logs_errors=is_on
    )
    for path, status in [(b"/x", 502), (b"/not-deferred", 500)]:
        with Client(server, 10) as client:
            client.send(GET % path)
            assert client.response().status == status
    server.process.terminate()
    assert server.process.wait(10) == 0
    lines = [line for line in server.stderr().splitlines() if "flare:" in line]
    assert len(lines) == 2 * is_on, lines


def ended(server, path):
    """Asks for what kills the server; gives what it has written."""
    with Client(server) as client:
        client.send(GET % path)
        assert client.is_closed()
    output = server.process.stdout.read()
    assert server.process.wait(10) != 0
    return output, server.stderr()


@pytest.mark.parametrize("threads", [0, 2])
def test_a_handler_that_kills_the_process_is_named(start, threads):
    """An index out of range ends a Mojo program, which says why on stdout."""
    server = start("workers_server", workers=2, handler_threads=threads)
    output, log = ended(server, b"/abort/7?a=%0Aflare:")
    wanted = "dies of SIGILL in a handler [GET /abort/7?a=%0Aflare:"
    assert wanted in log, log
    assert b"index 7 is out of bounds" in output


def test_a_crash_is_not_told_of_if_errors_are_not_logged(start):
    server = start("workers_server", logs_errors=0)
    assert "dies of" not in ended(server, b"/abort/7")[1]


@pytest.mark.unsanitized
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_a_fatal_signal_from_outside_ends_the_process(start, threads, number):
    """A watchdog's SIGABRT, or an order to leave a core file: no fault is met
    again when its handler returns."""
    server = start("workers_server", handler_threads=threads)
    with Client(server) as client:
        client.send(GET % b"/")
        assert client.response().status == 200
    server.process.send_signal(number)
    assert server.process.wait(10) == -number


SLOW = "flare: the handler of route /busy/:ms held the loop for "


def test_a_slow_handler_is_warned_of_once_a_route(start):
    server = start("workers_server")
    with Client(server) as client:
        for _ in range(3):
            client.send(GET % b"/busy/250")
            assert client.response().status == 200
        client.send(GET % b"/")
        assert client.response().status == 200
    assert wait_until(lambda: SLOW in server.stderr())
    lines = [line for line in server.stderr().splitlines() if "held" in line]
    assert len(lines) == 1 and "from now on it runs on a thread" in lines[0]


def test_a_slow_handler_among_others_is_found_the_second_time(start):
    server = start("workers_server")
    several = GET % b"/" + GET % b"/busy/250" + GET % b"/"
    with Client(server) as client:
        for _ in range(2):
            client.send(several)
            for _ in range(3):
                assert client.response().status == 200
    assert wait_until(lambda: SLOW in server.stderr())
    assert server.stderr().count("held the loop") == 1


SOURCE = "flare: a stream or a WebSocket handler held the loop for "


def over_http1(server, path: bytes) -> bytes:
    with Client(server) as client:
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path)
        return read_all(client.sock)


def over_http2(server, path: bytes) -> bytes:
    with H2Client(server) as client:
        return client.get(path.decode()).body


@pytest.mark.parametrize("ask", [over_http1, over_http2])
def test_a_source_that_waits_is_warned_of_once(start, ask):
    """Of a stream, not of the route whose handler made it: it had answered.

    Each worker warns for itself, and the two connections may reach two of them.
    """
    server = start("workers_server", workers=1)
    for _ in range(2):
        assert ask(server, b"/waiting/250").count(b"x") >= 3
    assert wait_until(lambda: SOURCE in server.stderr())
    lines = [line for line in server.stderr().splitlines() if "held" in line]
    assert len(lines) == 1 and "let it do less at a time" in lines[0]


@pytest.mark.parametrize(
    "config",
    [{"slow_handler_ms": 0}, {"slow_handler_ms": 30_000}, {"logs_errors": 0}],
)
def test_no_warning_if_none_is_wanted(start, config):
    server = start("workers_server", **config)
    with Client(server) as client:
        for _ in range(2):
            client.send(GET % b"/busy/250")
            assert client.response().status == 200
    over_http1(server, b"/waiting/250")
    server.process.terminate()
    assert server.process.wait(10) == 0
    assert "held the loop" not in server.stderr()
