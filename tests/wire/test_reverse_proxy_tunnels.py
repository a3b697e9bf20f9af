"""Other protocols and HTTP/2 through ReverseProxy, and responses that are made
later without one."""

import base64
import contextlib
import hashlib
import re
import socket
import threading
import time

import pytest
from conftest import Client, read_all, read_to, wait_until, wait_until_read
from h2_client import H2Client, encode
from raw_server import Connection, RawServer, answering
from ready import ready
from test_h2_websocket import Socket, open_stream
from test_proxy_upstream_tls import proxied_tls, showing  # noqa: F401
from test_ws_client import GUID

WAIT_S = 5
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ASK = (
    b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SWITCHING = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Accept: abc\r\n\r\n"
)
PAUSE = b"GET /pause?ms=%d HTTP/1.1\r\nHost: x\r\n\r\n"


def accepting(head: str) -> bytes:
    """What answers the key of a request (RFC 6455 section 4.2.2)."""
    key = re.search(r"sec-websocket-key: (\S+)", head, re.IGNORECASE)[1].encode()
    accept = base64.b64encode(hashlib.sha1(key + GUID.encode()).digest())
    return SWITCHING.replace(b"abc", accept)


def accept_and_echo(connection: Connection) -> None:
    """Changes the protocol as a WebSocket server does."""
    echo(connection, accepting)


def echo(connection: Connection, answer=lambda head: SWITCHING) -> None:
    """Changes the protocol, greets, and says what it hears."""
    heads.append(connection.head())
    connection.send(answer(heads[-1]) + b"hi")
    if connection.buffer:
        connection.send(connection.buffer)
    while piece := connection.sock.recv(65536):
        connection.send(piece)


heads: list[str] = []


def test_another_protocol_goes_through(proxied):
    """RFC 9110 section 7.8; what both sides send at once is not lost."""
    heads.clear()
    _, server = proxied(echo)
    with Client(server) as client:
        client.send(ASK + b"early")
        response = client.response()
        assert response.status == 101
        assert response.fields["upgrade"] == "websocket"
        assert response.fields["connection"].lower() == "upgrade"
        assert response.fields["sec-websocket-accept"] == "abc"
        data = client.buffer
        while len(data) < 7:
            data += client.sock.recv(100)
        assert data == b"hiearly"
        for size in (1, 1000, 100_000, 3_000_000):
            octets = bytes(n % 251 for n in range(size))
            writer = threading.Thread(target=client.send, args=(octets,))
            writer.start()
            data = b""
            while len(data) < size:
                data += client.sock.recv(65536)
            writer.join()
            assert data == octets
    lines = heads[0].split("\r\n")
    assert "Connection: upgrade" in lines and "Upgrade: websocket" in lines
    assert "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==" in lines


def test_a_client_of_http_1_0_changes_no_protocol(proxied):
    """RFC 9110 sections 7.8 and 15.2: it knows no 101, and who is in front of it
    might take what follows for responses."""
    heads.clear()

    def handle(connection: Connection) -> None:
        heads.append(connection.head())
        connection.send(SWITCHING if "Upgrade:" in heads[0] else OK)

    _, server = proxied(handle)
    with Client(server) as client:
        client.send(ASK.replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert client.response().status == 200
    assert "Upgrade:" not in heads[0]


def test_who_ends_a_tunnel(proxied):
    ended = threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(SWITCHING)
        if connection.sock.recv(10) == b"go":
            return
        ended.set()

    _, server = proxied(handle)
    with Client(server) as client:
        client.send(ASK)
        assert client.response().status == 101
        client.send(b"go")
        assert client.is_closed()
    with Client(server) as client:
        client.send(ASK)
        assert client.response().status == 101
    assert ended.wait(WAIT_S)


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("is_tls", [False, True])
def test_the_end_of_the_clients_direction(proxied, proxied_tls, certs, client_version, is_tls):
    """The upstream has all, then the end, and what it says to that arrives: a
    WebSocket server answers a close frame (RFC 6455 section 5.5.1)."""
    got = []
    is_sent = threading.Event()

    def handle(connection: Connection) -> None:
        connection.send(accepting(connection.head()) + b"hi")
        # Unread octets at the gateway would make its close a reset.
        connection.send(b"!" * 1000)
        assert is_sent.wait(WAIT_S)
        octets = connection.buffer
        while piece := connection.sock.recv(65536):
            octets += piece
        got.append(octets)
        connection.send(b"late")
        if is_tls:
            # Without a close_notify it might be cut off.
            connection.sock.unwrap()

    if is_tls:
        _, server = proxied_tls(showing(certs), handle, ca=certs / "root.pem")
    else:
        _, server = proxied(handle)
    octets = bytes(n % 251 for n in range(60_000))
    if client_version == 1:
        with Client(server, WAIT_S) as client:
            client.send(ASK)
            assert client.response().status == 101
            client.send(octets)
            client.sock.shutdown(socket.SHUT_WR)
            is_sent.set()
            assert client.buffer + read_all(client.sock) == b"hi" + b"!" * 1000 + b"late"
    else:
        with H2Client(server) as client:
            tunnel = Socket(client, "/chat")
            tunnel.send(octets, ends=True)
            is_sent.set()
            client.until(lambda: tunnel.answer.is_over)
            assert tunnel.answer.body == b"hi" + b"!" * 1000 + b"late"
            assert tunnel.answer.ended and tunnel.answer.reset is None
    assert got == [octets]


def test_a_tunnel_in_which_nothing_moves_is_ended(proxied):
    _, server = proxied(echo, idle_timeout_ms=200)
    with Client(server) as client:
        began = time.monotonic()
        client.send(ASK)
        assert client.response().status == 101
        read_to(client.sock, b"hi") if client.buffer != b"hi" else None
        client.buffer = b""
        assert client.is_closed() and time.monotonic() - began > 0.15


def test_an_upstream_that_takes_nothing_holds_the_client(proxied):
    """Backpressure in a tunnel: what the upstream does not take is not read."""
    done = threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(SWITCHING)
        done.wait(20)
        total = 0
        while total < sent:
            total += len(connection.sock.recv(65536))
        connection.send(b"all")

    _, server = proxied(handle)
    sent = 0
    with Client(server, 10) as client:
        client.send(ASK)
        assert client.response().status == 101
        client.sock.setblocking(False)
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < 0.3 and sent < 64 << 20:
            try:
                sent += client.sock.send(bytes(65536))
                idle_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent < 32 << 20
        ticks = cpu_ticks(server)
        time.sleep(0.3)
        assert cpu_ticks(server) - ticks <= 3, "it spins"
        client.sock.settimeout(10)
        done.set()
        assert client.sock.recv(10) == b"all"


def cpu_ticks(server) -> int:
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize(
    "answer",
    [
        # Nobody has asked for that (RFC 9110 section 7.8).
        SWITCHING.replace(b"websocket", b"other"),
        SWITCHING.replace(b"Upgrade: websocket\r\n", b""),
    ],
)
def test_protocols_that_nobody_has_asked_for(proxied, answer):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(answer)
        connection.head()

    _, server = proxied(handle)
    with Client(server) as client:
        client.send(ASK)
        assert client.response().status == 502


def test_no_protocol_changes_within_a_request(start):
    """RFC 9110 section 7.8: not before the upstream has all of it, for what is left
    would be of no protocol."""

    def handle(connection: Connection) -> None:
        head = connection.head()
        if head.startswith("GET /later "):
            connection.body(head)
        connection.send(SWITCHING)
        with contextlib.suppress(EOFError):
            connection.head()

    upstream = RawServer(handle)
    server = start("proxy_server", upstream=upstream.url)
    # What has not come whole with the head is passed on without the Upgrade, so the
    # second is short: one segment.
    for path, length, status in ((b"/now", 120_000, 502), (b"/later", 1_000, 101)):
        sent_len = 1_000
        with Client(server, 20) as client:
            said = b"\r\nContent-Length: %d\r\n\r\n" % length
            ask = ASK.replace(b"/chat", path).replace(b"\r\n\r\n", said)
            client.send(ask + bytes(sent_len))
            assert client.response().status == status
    upstream.close()


def test_refused_changes_are_plain_responses(proxied):
    upstream, server = proxied(answering(OK))
    with Client(server) as client:
        for _ in range(2):
            client.send(ASK)
            assert client.response().body == b"ok"
    assert upstream.connection_count == 1


def test_over_http2(proxied):
    """One upstream connection is asked by many streams, one after the other or
    at once; content and trailers go both ways."""

    def answer(head: str, content: bytes) -> bytes:
        if head.startswith("POST"):
            body = b"%d" % len(content)
            return (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"%x\r\n%s\r\n0\r\nX-Sum: 5\r\n\r\n" % (len(body), body)
            )
        path = head.split(" ")[1].encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (
            len(path), path
        )

    upstream, server = proxied(answering(answer), max_body_size=1 << 24)
    with H2Client(server) as client:
        for number in range(5):
            answered = client.get(f"/{number}")
            assert answered.status == 200 and answered.body == b"/%d" % number
        assert upstream.connection_count == 1
        streams = [
            client.headers(encode(client.fields("GET", f"/at-once/{n}")))
            for n in range(50)
        ]
        for number, stream in enumerate(streams):
            assert client.answer(stream).body == b"/at-once/%d" % number
        answered = client.post("/upload", bytes(1_000_000))
        assert answered.body == b"1000000"
        assert client.get("/own").body == b"answered here"


def test_streams_that_are_reset_leave_the_upstream(proxied):
    from h2_client import reset

    reached, closed = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        reached.set()
        assert connection.sock.recv(10) == b""
        closed.set()

    _, server = proxied(handle)
    with H2Client(server) as client:
        stream = client.headers(encode(client.fields("GET", "/slow")))
        assert reached.wait(WAIT_S)
        client.send(reset(stream))
        assert closed.wait(WAIT_S)
        assert client.get("/own").status == 200


def test_websocket_over_http2_to_an_upstream_of_http1(proxied):
    """RFC 8441: the upstream is asked as RFC 6455 says."""
    heads.clear()
    _, server = proxied(accept_and_echo)
    with H2Client(server) as client:
        socket = Socket(client, "/chat")
        assert socket.answer.status == 200
        assert "sec-websocket-accept" not in socket.answer.fields
        assert socket._take(2) == b"hi"
        for size in (1, 1000, 200_000):
            octets = bytes(n % 251 for n in range(size))
            socket.send(octets)
            assert socket._take(size) == octets
    lines = [line.lower() for line in heads[0].split("\r\n")]
    assert "upgrade: websocket" in lines and "connection: upgrade" in lines
    keys = [line for line in lines if line.startswith("sec-websocket-key: ")]
    assert len(keys) == 1 and len(keys[0]) == len("sec-websocket-key: ") + 24


@pytest.mark.parametrize("accept", [b"Sec-WebSocket-Accept: abc", b"X-Other: abc"])
def test_a_key_of_the_gateway_is_answered(proxied, accept):
    """RFC 6455 section 4.1: it has asked as a client, so it looks at the answer; of
    a client's own key that is the client's to do."""
    switching = SWITCHING.replace(b"Sec-WebSocket-Accept: abc", accept)
    _, server = proxied(lambda connection: echo(connection, lambda head: switching))
    with H2Client(server) as client:
        assert client.answer(open_stream(client, "/chat")).status == 502
    with Client(server) as client:
        client.send(ASK)
        assert client.response().status == 101


def test_a_response_that_is_made_later(proxied):
    _, server = proxied(answering(OK))
    with Client(server) as client:
        began = time.monotonic()
        client.send(PAUSE % 100 + PAUSE.replace(b"?ms=%d", b""))
        response = client.response()
        assert response.body == b"paused 0"
        assert time.monotonic() - began > 0.05
        assert response.fields["x-middleware"] == "was here"
        assert client.response().body == b"at once"
    with H2Client(server) as client:
        assert client.get("/pause?ms=20").body == b"paused 0"
        assert client.post("/pause?ms=300", b"12345").body == b"paused 5"


def test_many_that_wait_keep_nobody_waiting(proxied):
    _, server = proxied(answering(OK))
    clients = [Client(server) for _ in range(100)]
    for client in clients:
        client.send(PAUSE % 4_000)
    with Client(server) as quick:
        quick.send(b"GET /own HTTP/1.1\r\nHost: x\r\n\r\n")
        assert quick.response().status == 200
    assert not ready([client.sock for client in clients], 0)
    for client in clients:
        assert client.response().body == b"paused 0"
        client.sock.close()


def test_content_goes_on_arriving_meanwhile(proxied):
    _, server = proxied(answering(OK))
    with Client(server) as client:
        client.send(
            PAUSE.replace(b"GET", b"POST").replace(
                b"Host: x", b"Host: x\r\nContent-Length: 10"
            )
            % 400
        )
        client.send(b"12345")
        wait_until_read(server, client)
        client.send(b"67890")
        assert client.response().body == b"paused 10"


def test_errands_are_cancelled_with_their_clients(proxied):
    _, server = proxied(answering(OK))
    with Client(server) as client:
        client.send(PAUSE % 60_000)
    assert wait_until(lambda: "cancelled" in server.stderr())


def test_what_is_not_deferred_is_told_so(proxied):
    _, server = proxied(answering(OK))
    with Client(server) as client:
        client.send(b"GET /not-deferred HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.response().status == 500
    assert "put it into Deferred(...)" in server.stderr()


def test_access_logs_tell_of_the_response_itself(proxied):
    """Not of what stands for it until it is there: status, length and time."""

    def handle(connection: Connection) -> None:
        connection.head()
        time.sleep(0.2)
        connection.send(OK)

    _, server = proxied(handle)
    with Client(server) as client:
        client.send(b"GET /logged?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.response().body == b"ok"

    def line() -> str:
        lines = server.stderr().splitlines()
        return next((l for l in lines if "/logged" in l), "")

    assert wait_until(lambda: line() != "")
    words = line().split(" ")
    assert words[2:7] == ["GET", "/logged?x=1", "HTTP/1.1", "200", "2"]
    assert float(words[7].removesuffix("ms")) > 150
