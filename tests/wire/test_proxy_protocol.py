"""The PROXY protocol in front of requests and of TLS, as a proxy speaks it."""

import socket
import struct
import time

import pytest
from conftest import Client, Server, is_refused, read_all, shown, wait_until
from https_client import Sealer, trusting
from processes import descriptor_count
from ready import ready
from wire_programs import built

GET = b"GET /peer HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
TRUSTED = "proxy_protocol=127.0.0.0/8"


def v2(command: int, family: int, rest: bytes = b"") -> bytes:
    return SIGNATURE + struct.pack("!BBH", command, family, len(rest)) + rest


V4 = socket.inet_aton("192.0.2.1") + socket.inet_aton("1.2.3.4") + bytes(
    [220, 4, 1, 187]
)
V6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2 + bytes([0, 7, 0, 8])
MAPPED = socket.inet_pton(socket.AF_INET6, "::ffff:192.0.2.1") * 2 + V4[8:]
HEADERS = [
    (b"PROXY TCP4 192.0.2.1 1.2.3.4 56324 443\r\n", "192.0.2.1:56324"),
    (b"PROXY TCP6 2001:db8::1 ::1 7 8\r\n", "[2001:db8::1]:7"),
    (b"PROXY UNKNOWN\r\n", None),
    (v2(0x21, 0x11, V4), "192.0.2.1:56324"),
    (v2(0x21, 0x11, V4 + b"\2\0\1a" + b"\4\x0b\0" + bytes(2816)),
     "192.0.2.1:56324"),
    (v2(0x21, 0x21, V6), "[2001:db8::1]:7"),
    (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 7 8\r\n", "192.0.2.1:7"),
    (v2(0x21, 0x21, MAPPED), "192.0.2.1:56324"),
    (v2(0x20, 0x00), None),
    (v2(0x21, 0x31, bytes(216)), None),
]
REFUSED = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n" + LAST,
    b"PROXY TCP4 192.0.2.1 1.2.3.4 56324\r\n" + LAST,
    b"PROXY TCP4 192.0.2.1 1.2.3.4 56324 443\n" + LAST,
    b"PROXY UNKNOWN " + b"x" * 100 + b"\r\n" + LAST,
    v2(0x31, 0x11, V4) + LAST,
    v2(0x21, 0x13, V4) + LAST,
    v2(0x21, 0x11, V4[:8]) + LAST,
    v2(0x21, 0x11, V4 + b"\3\0\4" + bytes(4)) + LAST,
    SIGNATURE + b"\x21\x11\xff\xff" + V4 + LAST,
]


@pytest.fixture(scope="module")
def server():
    running = Server(built("probe_server"), [TRUSTED, "logs_errors=1"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture(scope="module")
def server_tls(certs):
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    running = Server(built("probe_server"), [TRUSTED, *options])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


def own_name(client: Client) -> str:
    return "{}:{}".format(*client.sock.getsockname())


@pytest.mark.parametrize(("header", "peer"), HEADERS)
def test_peer_is_whom_the_proxy_announces(server, header, peer):
    with Client(server) as client:
        # Header and two requests in one segment, then a third.
        client.send(header + GET + GET)
        expected = (peer or own_name(client)).encode()
        assert client.response().body == expected
        assert client.response().body == expected
        client.send(LAST)
        assert client.response().body == expected
        assert client.is_closed()


@pytest.mark.parametrize(("header", "peer"), HEADERS[:1] + HEADERS[3:4])
def test_header_may_come_in_pieces(server, header, peer):
    with Client(server) as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in header + LAST:
            client.send(bytes([octet]))
            time.sleep(0.001)
        assert client.response().body == peer.encode()


@pytest.mark.parametrize("data", REFUSED)
def test_what_is_no_header_ends_the_connection(server, data):
    with Client(server) as client:
        client.send(data)
        assert read_all(client.sock) == b""
    assert wait_until(lambda: "PROXY header: " in server.stderr())


def test_end_within_the_header(server):
    with Client(server) as client:
        client.send(b"PROXY TCP4 192.0.2.1")
        client.sock.shutdown(socket.SHUT_WR)
        assert read_all(client.sock) == b""
    with Client(server) as client:
        client.sock.shutdown(socket.SHUT_WR)
        assert read_all(client.sock) == b""


def test_end_behind_the_request(server):
    with Client(server) as client:
        client.send(HEADERS[0][0] + GET)
        client.sock.shutdown(socket.SHUT_WR)
        assert client.response().body == b"192.0.2.1:56324"
        assert client.is_closed()


def test_one_deadline_for_header_and_head(start):
    server = start(proxy_protocol="127.0.0.1/32", header_timeout_ms=5_000)
    began = time.monotonic()
    with Client(server, 20) as silent, Client(server, 20) as late:
        late.send(HEADERS[0][0][:9])
        time.sleep(2.5)
        with Client(server) as younger:
            late.send(HEADERS[0][0][9:] + GET[:9])
            assert read_all(silent.sock) == b""
            assert late.response().status == 408
            assert time.monotonic() - began > 4.9
            # Begun anew it would have been that one's.
            assert not ready([younger.sock], 0)


@pytest.mark.parametrize("network", ["10.0.0.0/8", "127.0.0.2/32", "::/0"])
def test_others_are_closed(start, network):
    server = start(proxy_protocol=network)
    with Client(server) as client:
        assert read_all(client.sock) == b""


def test_ipv4_clients_of_an_ipv6_listener_are_ipv4(start):
    # RFC 4291 section 2.5.5.2: the kernel names them by mapped addresses.
    server = start(mapped=1)
    with Client(server) as client:
        client.send(LAST)
        assert client.response().body == own_name(client).encode()


def test_ipv4_proxies_of_an_ipv6_listener_are_ipv4(start):
    server = start(mapped=1, proxy_protocol="127.0.0.0/8")
    with Client(server) as client:
        client.send(HEADERS[0][0] + LAST)
        assert client.response().body == b"192.0.2.1:56324"
    server = start(mapped=1, proxy_protocol="::/0")
    with Client(server) as client:
        assert read_all(client.sock) == b""


def test_header_is_no_request_where_it_is_not_expected(probe):
    with Client(probe) as client:
        client.send(HEADERS[0][0] + GET)
        assert client.response().status == 400


@pytest.mark.parametrize(("header", "peer"), HEADERS[:1] + HEADERS[3:])
def test_header_stands_before_tls(server_tls, certs, header, peer):
    with Client(server_tls) as client:
        sealer = Sealer(client.sock, trusting(certs))
        client.send(header + sealer.hello())
        while not sealer.is_established:
            client.send(sealer.answer())
        client.send(sealer.seal(LAST))
        answer, is_announced = sealer.read_all()
        expected = peer or own_name(client)
        assert answer.endswith(b"\r\n\r\n" + expected.encode())
        assert is_announced


def test_header_within_tls_is_none(server_tls, certs):
    with Client(server_tls) as client:
        sealer = Sealer(client.sock, trusting(certs))
        client.send(sealer.hello())
        assert read_all(client.sock) == b""


def test_tls_in_pieces_behind_a_header_in_pieces(server_tls, certs):
    with Client(server_tls) as client:
        sealer = Sealer(client.sock, trusting(certs))
        for octet in HEADERS[0][0] + sealer.hello():
            client.send(bytes([octet]))
        while not sealer.is_established:
            client.send(sealer.answer())
        client.send(sealer.seal(LAST))
        assert sealer.read_all()[0].endswith(b"192.0.2.1:56324")


def test_handshake_has_no_more_time_behind_the_header(start_tls):
    server = start_tls(proxy_protocol="127.0.0.0/8", handshake_timeout_ms=5_000)
    began = time.monotonic()
    with Client(server, 20) as client:
        time.sleep(2.5)
        with Client(server) as younger:
            client.send(HEADERS[0][0])
            read_all(client.sock)
            assert time.monotonic() - began > 4.9
            # Begun anew it would have been that one's.
            assert not ready([younger.sock], 0)


@pytest.mark.parametrize(
    "options",
    [{}, {"shared": 1}, {"mode": "prefork"}, {"handler_threads": 2}],
)
def test_every_kind_of_worker(start, options):
    server = start(
        "workers_server", workers=2, proxy_protocol="127.0.0.1/32", **options
    )
    for number in range(8):
        with Client(server) as client:
            client.send(b"PROXY TCP4 192.0.2.1 1.2.3.4 %d 443\r\n" % number)
            for _ in range(2):
                client.send(GET)
                expected = b"192.0.2.1:%d" % number
                assert client.response().body == expected


def test_stopping_server_still_hears_what_is_on_its_way(start):
    server = start(proxy_protocol="127.0.0.1/32")
    with Client(server) as client:
        client.send(HEADERS[0][0] + GET)
        client.response()
        before = descriptor_count(server.process.pid) - 1
    assert wait_until(lambda: descriptor_count(server.process.pid) == before)
    with Client(server) as client:
        client.send(HEADERS[0][0][:20])
        assert wait_until(lambda: descriptor_count(server.process.pid) > before)
        server.process.terminate()
        assert wait_until(lambda: is_refused(server))
        client.send(HEADERS[0][0][20:] + GET)
        response = client.response()
        assert response.body == b"192.0.2.1:56324"
        assert response.fields["connection"] == "close"
    assert server.process.wait(5) == 0
