"""Deadlines are totals for their phase, whatever a client drips."""

import time

import pytest
from conftest import Client, read_all, wait_until

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def is_ended_within(client: Client, data: bytes, pause_s: float) -> bool:
    """Sends octet by octet; tells whether the server ends the connection, or answers,
    before all is sent."""
    client.sock.settimeout(pause_s)
    for octet in data:
        try:
            client.sock.send(bytes([octet]))
            client.sock.recv(1)
        except TimeoutError:
            continue
        except OSError:
            pass
        return True
    return False


def test_silent_connection_is_closed_without_a_word(start):
    server = start(header_timeout_ms=300)
    began = time.monotonic()
    # Of itself a server waits for 10 s.
    with Client(server, 8) as client:
        assert read_all(client.sock) == b""
        assert time.monotonic() - began > 0.25


def test_dripped_head_is_held_to_the_total(start):
    server = start(header_timeout_ms=400)
    began = time.monotonic()
    with Client(server) as client:
        # All of it would take 20 s, and has 10 s where nothing is set.
        assert is_ended_within(client, HEAD[:-2] + b"X-A: " + b"b" * 400, 0.02)
        assert time.monotonic() - began > 0.3


def test_dripped_head_gets_408(start):
    server = start(header_timeout_ms=300)
    with Client(server) as client:
        client.send(HEAD[:-4])
        response = client.response()
        assert (
            response.status == 408 and response.fields["connection"] == "close"
        )
        assert client.is_closed()


def test_late_head_requests_get_408_without_content(start):
    server = start(header_timeout_ms=300)
    with Client(server) as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: a\r\n")
        assert client.response(is_head=True).status == 408
        assert client.is_closed()


def test_second_head_has_its_own_time(start):
    server = start(header_timeout_ms=2_000)
    with Client(server) as client:
        for _ in range(3):
            client.send(HEAD[:10])
            time.sleep(0.8)
            client.send(HEAD[10:])
            assert client.response().body == b"OK"


def test_idle_connection_is_closed(start):
    server = start(idle_timeout_ms=300)
    with Client(server) as client:
        # Its time begins behind the response.
        began = time.monotonic()
        client.send(HEAD)
        assert client.response().body == b"OK"
        assert client.is_closed()
        assert time.monotonic() - began > 0.25


def test_part_of_a_head_after_idling_has_the_head_timeout(start):
    server = start(idle_timeout_ms=30000, header_timeout_ms=300)
    with Client(server) as client:
        client.send(HEAD)
        assert client.response().body == b"OK"
        client.send(HEAD[:10])
        assert client.response().status == 408


def test_body_total(start):
    server = start(body_timeout_ms=400, min_body_rate=0)
    began = time.monotonic()
    with Client(server) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
        )
        # All of it would take 20 s, and has 30 s where nothing is set.
        assert is_ended_within(client, b"x" * 999, 0.02)
        assert time.monotonic() - began > 0.3


def test_body_at_the_minimum_rate_may_take_longer(start):
    server = start(body_timeout_ms=600, min_body_rate=1000)
    with Client(server) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"
        )
        for _ in range(10):
            client.send(b"x" * 200)
            time.sleep(0.07)
        assert client.response().body == b"x" * 2000


def test_body_below_the_minimum_rate_does_not(start):
    server = start(body_timeout_ms=300, min_body_rate=1_000_000)
    with Client(server) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"
        )
        assert is_ended_within(client, b"x" * 1900, 0.02)


def test_reader_that_stops_is_cut_off(start):
    server = start(write_timeout_ms=400)
    with Client(server, timeout=10) as client:
        client.send(HEAD.replace(b"/ ", b"/shared ", 1) * 40)
        assert wait_until(lambda: "is cut off" in server.stderr())
        data = read_all(client.sock)
        assert len(data) < 40 * 1_000_000


def test_slow_reader_disturbs_nobody(start):
    server = start()
    with Client(server) as slow:
        slow.send(HEAD.replace(b"/ ", b"/shared ", 1) * 40)
        for _ in range(50):
            with Client(server) as client:
                client.send(HEAD)
                assert client.response().body == b"OK"
        for _ in range(40):
            assert len(slow.response().body) == 1_000_000


def test_lingering_ends(start):
    server = start(linger_timeout_ms=300)
    with Client(server) as client:
        client.send(b"BAD\r\n\r\n")
        assert client.response().status == 400
        assert client.is_closed()

        def is_gone() -> bool:
            try:
                client.sock.send(b"x")
                return False
            except OSError:
                return True

        assert wait_until(is_gone)


@pytest.mark.parametrize(
    "config, request_octets, status",
    [
        (
            {"max_header_size": 200},
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"b" * 300 + b"\r\n\r\n",
            431,
        ),
        (
            {"max_target_size": 20},
            b"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
            414,
        ),
        (
            {"max_fields": 3},
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE: f\r\n\r\n",
            431,
        ),
        (
            {"max_body_size": 9000},
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9001\r\n\r\n",
            413,
        ),
    ],
    ids=["max_header_size", "max_target_size", "max_fields", "max_body_size"],
)
def test_limits_are_kept(start, config, request_octets, status):
    server = start(**config)
    with Client(server) as client:
        client.send(request_octets)
        assert client.response().status == status


def test_max_keepalive_requests(start):
    server = start(max_keepalive_requests=2)
    with Client(server) as client:
        client.send(HEAD * 3)
        assert "connection" not in client.response().fields
        assert client.response().fields["connection"] == "close"
        assert client.is_closed()
