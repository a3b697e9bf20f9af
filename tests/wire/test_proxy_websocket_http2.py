"""WebSocket through ReverseProxy to upstreams that speak HTTP/2 (RFC 8441), from
clients of both versions, and what becomes of it where an upstream takes none."""

import base64
import hashlib
import socket
import struct
import threading
import time

import pytest
from conftest import Client, read_all, wait_until
from h2_client import H2Client, reset
from peer_servers import start_hypercorn, start_node_websocket
from processes import anonymous_len
from raw_http2 import *
from raw_server import Connection, RawServer
from test_h2_websocket import Socket
from test_proxy_http2_upstream import GET, Upstream, ask, over_tls, proxied_h2  # noqa: F401
from test_ws_client import GUID, connect, switch, talk

WAIT_S = 10
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
ASK = (
    b"GET /chat?x=y HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
)
HANDSHAKE = ASK + KEY + b"\r\n\r\n"
OFFERED = (ENABLE_CONNECT, 1)
SIZES = [0, 1, 126, 65_536, 1_000_000]
GONE = struct.pack("ii", 1, 0)


def opened(server, more: bytes = b"") -> Client:
    """Opens a tunnel as a client of HTTP/1.1; what follows is not HTTP."""
    client = Client(server, WAIT_S)
    client.send(HANDSHAKE + more)
    response = client.response()
    assert response.status == 101, response.head
    return client


def take(client: Client, count: int) -> bytes:
    while len(client.buffer) < count:
        client._more()
    data, client.buffer = client.buffer[:count], client.buffer[count:]
    return data


def accepted(peer: Upstream, *fields, status: int = 200) -> Tunnel:
    """Opens the next stream that is asked for."""
    stream = peer.request()
    peer.head(stream, *fields, status=status)
    return Tunnel(peer, stream)


def echo(tunnel: Tunnel) -> None:
    """Says what it hears, to the end of the stream."""
    while not tunnel.has_end:
        tunnel.read()
        data, tunnel.buffer = tunnel.buffer, b""
        if data:
            tunnel.send(data)
    tunnel.end()


def echoing(peer: Upstream) -> None:
    """One after the other."""
    while True:
        echo(accepted(peer))


def end_of(tunnel: Tunnel) -> bytes:
    """Reads to the end of the client's direction."""
    while not tunnel.has_end:
        tunnel.read()
    return tunnel.buffer


@pytest.mark.parametrize("upstream_version", [1, 2])
@pytest.mark.parametrize("client_version", [1, 2])
def test_pairs_of_versions(start, talker, client_version, upstream_version):
    """Our own server and client; subprotocol and compression pass."""
    upstream = start("ws_server", compression=1, subprotocol="chat")
    server = start(
        "proxy_server",
        upstream=f"http://127.0.0.1:{upstream.port}",
        http2_prior_knowledge=upstream_version - 1,
    )
    answered = connect(
        talker,
        f"ws://127.0.0.1:{server.port}/ws",
        prior_knowledge=client_version - 1,
        subprotocols=["other", "chat"],
    )
    assert answered.get("version") == ["HTTP/1.1", "HTTP/2"][client_version - 1], answered
    assert answered["subprotocol"] == "chat"
    for count in SIZES:
        talk(talker, "send_binary", count=count)
        assert talk(talker, "recv")["length"] == count
    talk(talker, "send", text="flood")
    for _ in range(1_000):
        assert talk(talker, "recv")["length"] == 10_000
    closed = talk(talker, "close", code=4002, text="enough")
    assert closed["closed_with"] == 4002, closed
    assert wait_until(lambda: "closed 4002 enough" in upstream.stderr())
    refused = connect(
        talker, f"ws://127.0.0.1:{server.port}/nowhere", prior_knowledge=client_version - 1
    )
    assert refused["status"] == 404, refused


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("begin", [start_hypercorn, start_node_websocket])
def test_upstreams_of_others(start, talker, certs, begin, client_version):
    upstream = begin(certs)
    try:
        server = start(
            "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem"
        )
        url = f"ws://127.0.0.1:{server.port}/chat?x=y"
        answered = connect(talker, url, prior_knowledge=client_version - 1)
        assert "kind" not in answered, answered
        # The version by which the upstream was asked.
        assert talk(talker, "recv")["text"] == "2 /chat"
        for count in SIZES:
            talk(talker, "send_binary", count=count)
            assert talk(talker, "recv")["length"] == count
        assert talk(talker, "close", code=4003)["closed_with"] == 4003
    finally:
        upstream.stop()


def test_the_request_and_the_answer(proxied_h2):
    """RFC 8441 sections 4 and 5; the key is the gateway's to answer (RFC 6455
    section 4.2.2), and content-length says nothing (RFC 9110 section 9.3.6)."""
    seen = []

    def handle(peer: Upstream) -> None:
        tunnel = accepted(
            peer, ("sec-websocket-protocol", "b"), ("content-length", "0"), ("x-own", "7"),
            ("sec-websocket-extensions", "permessage-deflate"), ("sec-websocket-accept", "none"),
        )
        seen.extend(peer.asked[tunnel.stream])
        assert not any(f.flags & END_STREAM for f in peer.seen if f.kind == HEADERS)
        tunnel.send(b"hello")
        peer.drain()

    _, server = proxied_h2(handle, OFFERED)
    with Client(server, WAIT_S) as client:
        client.send(
            ASK + KEY + b"\r\nSec-WebSocket-Protocol: a, b\r\nOrigin: http://far.test\r\n"
            b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"
        )
        response = client.response()
        assert take(client, 5) == b"hello"
    assert seen[:5] == [
        (":method", "CONNECT"), (":scheme", "http"), (":authority", "shop.example"),
        (":path", "/chat?x=y"), (":protocol", "websocket"),
    ]
    fields = dict(seen[5:])
    assert fields["sec-websocket-protocol"] == "a, b" and fields["sec-websocket-version"] == "13"
    assert fields["sec-websocket-extensions"] == "permessage-deflate; client_max_window_bits"
    assert fields["origin"] == "http://far.test" and fields["via"] == "1.1 flare"
    assert fields["x-forwarded-for"] == "127.0.0.1"
    assert not {"sec-websocket-key", "connection", "upgrade", "host", "content-length"} & set(fields)
    accept = base64.b64encode(hashlib.sha1(KEY + GUID.encode()).digest()).decode()
    assert response.status == 101 and response.fields["sec-websocket-accept"] == accept
    assert response.fields["upgrade"] == "websocket"
    assert response.fields["connection"].lower() == "upgrade"
    assert response.fields["sec-websocket-protocol"] == "b" and response.fields["x-own"] == "7"
    assert response.fields["sec-websocket-extensions"] == "permessage-deflate"
    assert "content-length" not in response.fields


def test_a_client_of_http2_has_no_key(proxied_h2):
    seen = []

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        seen.extend(peer.asked[tunnel.stream])
        echo(tunnel)
        peer.drain()

    _, server = proxied_h2(handle, OFFERED)
    with H2Client(server) as client:
        ws = Socket(client, "/chat", early=b"early")
        assert ws.answer.status == 200 and ws._take(5) == b"early"
        assert not {"upgrade", "connection", "sec-websocket-accept"} & set(ws.answer.fields)
    assert dict(seen)[":protocol"] == "websocket" and "sec-websocket-key" not in dict(seen)


@pytest.mark.parametrize("key", [b"", b"AAAA", KEY + b"\r\nSec-WebSocket-Key: " + KEY])
def test_a_key_that_is_none(proxied_h2, key):
    """RFC 6455 section 4.2.1: nobody behind the gateway would see it."""
    _, server = proxied_h2(echoing, OFFERED)
    response = ask(server, ASK + key + b"\r\n\r\n")
    assert response.status == 400 and b"Sec-WebSocket-Key" in response.body


@pytest.mark.parametrize(("status", "ends"), [(403, False), (403, True), (302, True), (503, False)])
@pytest.mark.parametrize("client_version", [1, 2])
def test_refusals_pass_as_they_are(proxied_h2, client_version, status, ends):
    """RFC 8441 section 5: only a 2xx opens the stream; the connection goes on."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        peer.head(
            stream, ("x-why", "so"), ("content-length", str(len(body))), status=status, ends=ends
        )
        if not ends:
            peer.data(stream, b"not you")
        # The request ends in good order, too.
        got = peer.until(DATA)
        assert got.stream == stream and got.flags & END_STREAM and not got.payload
        echo(accepted(peer))
        peer.drain()

    body = b"" if ends else b"not you"
    upstream, server = proxied_h2(handle, OFFERED)
    if client_version == 1:
        response = ask(server, HANDSHAKE)
        assert (response.status, response.fields["x-why"], response.body) == (status, "so", body)
    else:
        with H2Client(server) as client:
            ws = Socket(client, "/chat")
            client.until(lambda: ws.answer.is_over)
            assert (ws.answer.status, ws.answer.body) == (status, body)
    with opened(server) as client:
        client.send(b"hi")
        assert take(client, 2) == b"hi"
    assert upstream.connection_count == 1


def resetting(code: int):
    def handle(peer: Upstream) -> None:
        while True:
            peer.reset(peer.request(), code)

    return handle


@pytest.mark.parametrize("code", [REFUSED_STREAM, CANCEL, INTERNAL_ERROR])
def test_resets_in_place_of_an_answer(proxied_h2, code):
    _, server = proxied_h2(resetting(code), OFFERED, max_attempts=1)
    assert ask(server, HANDSHAKE).status == 502


def test_an_upstream_that_does_not_answer(proxied_h2):
    def handle(peer: Upstream) -> None:
        stream = peer.request()
        assert peer.until(RST_STREAM).stream == stream
        echoing(peer)

    upstream, server = proxied_h2(handle, OFFERED, head_timeout_ms=200)
    assert ask(server, HANDSHAKE).status == 504
    opened(server).sock.close()
    assert upstream.connection_count == 1


def test_settings_that_do_not_come(start):
    """RFC 8441 section 3: nothing is asked before they have."""
    asked = []

    def handle(connection: Connection) -> None:
        assert connection.take(len(PREFACE)) == PREFACE
        while True:
            head = connection.take(9)
            asked.append(head[3])
            connection.take(int.from_bytes(head[:3]))

    upstream = RawServer(handle)
    server = start(
        "proxy_server", upstream=upstream.url, http2_prior_knowledge=1, connect_timeout_ms=300,
        max_attempts=1,
    )
    assert ask(server, HANDSHAKE).status == 504
    upstream.close()
    assert SETTINGS in asked and HEADERS not in asked


@pytest.mark.parametrize("pairs", [[], [(ENABLE_CONNECT, 0)]])
def test_an_upstream_that_speaks_http1_too(start, pairs):
    """Known to speak HTTP/2, it takes WebSocket over HTTP/1.1 alone, as today."""
    versions = []

    def handle(connection: Connection) -> None:
        if connection.sock.recv(3, socket.MSG_PEEK) == b"PRI":
            versions.append(2)
            peer = Upstream(connection)
            peer.begin(*pairs)
            return answering_all(peer)
        versions.append(1)
        switch(connection)
        connection.send(connection.take(2))
        connection.take(1)

    upstream = RawServer(handle)
    server = start("proxy_server", upstream=upstream.url, http2_prior_knowledge=1)
    for _ in range(2):
        with opened(server) as client:
            client.send(b"hi")
            assert take(client, 2) == b"hi"
    assert ask(server, GET).body == b"ok"
    upstream.close()
    # What was seen of HTTP/2 is remembered, and that connection goes on.
    assert versions == [2, 1, 1]


def test_an_upstream_without_another_way(start):
    """502, with a line in the log that says why; other requests are served."""

    def handle(connection: Connection) -> None:
        peer = Upstream(connection)
        if connection.take(len(PREFACE)) != PREFACE:
            # RFC 9113 section 3.4: no preface, so GOAWAY and the end.
            connection.send(settings())
            peer.goaway(0, PROTOCOL_ERROR)
            return
        peer.send(settings())
        answering_all(peer)

    upstream = RawServer(handle)
    server = start(
        "proxy_server", upstream=upstream.url, http2_prior_knowledge=1, failures_to_eject=1
    )
    for _ in range(3):
        assert ask(server, HANDSHAKE).status == 502
    assert "takes no WebSocket over HTTP/2 (RFC 8441)" in server.stderr()
    # It is not taken for down.
    assert ask(server, GET).body == b"ok"
    upstream.close()


@pytest.mark.parametrize("way", ["no setting", "HTTP_1_1_REQUIRED"])
def test_http1_by_alpn_where_streams_are_not_taken(start, certs, way):
    """RFC 8441 section 3, RFC 9113 section 7; other requests stay on HTTP/2."""
    agreed = []

    def speak(peer: Upstream) -> None:
        if way == "HTTP_1_1_REQUIRED":
            peer.send(settings(OFFERED))
        while True:
            stream = peer.request()
            if dict(peer.asked[stream])[":method"] == "CONNECT":
                assert way == "HTTP_1_1_REQUIRED"
                peer.reset(stream, HTTP_1_1_REQUIRED)
            else:
                peer.answer(stream)

    def plain(connection: Connection) -> None:
        switch(connection)
        connection.send(connection.take(2))
        connection.take(1)

    upstream = RawServer(over_tls(certs, ["h2", "http/1.1"], agreed, speak, plain))
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem"
    )
    for _ in range(2):
        with opened(server) as client:
            client.send(b"hi")
            assert take(client, 2) == b"hi"
        assert ask(server, GET).body == b"ok"
    upstream.close()
    assert agreed.count("h2") == 1 and len(agreed) == 3


@pytest.mark.parametrize("client_version", [1, 2])
def test_a_reset_in_the_middle(proxied_h2, client_version):
    """What has come goes to the client; the connection goes on."""

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        tunnel.send(b"hi")
        peer.reset(tunnel.stream, CANCEL)
        echoing(peer)

    upstream, server = proxied_h2(handle, OFFERED)
    if client_version == 1:
        with opened(server) as client:
            assert take(client, 2) == b"hi" and read_all(client.sock) == b""
    else:
        with H2Client(server) as client:
            ws = Socket(client, "/chat")
            # RFC 8441 section 5.
            assert client.reset_of(ws.stream).reset == CANCEL and ws.answer.body == b"hi"
    with opened(server) as client:
        client.send(b"still here")
        assert take(client, 10) == b"still here"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("client_version", [1, 2])
def test_a_client_that_vanishes(proxied_h2, client_version):
    """Its stream is reset (RFC 8441 section 5), and others go on."""
    told = threading.Event()

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        tunnel.send(b"hi")
        got = peer.until(RST_STREAM)
        assert (got.stream, got.code) == (tunnel.stream, CANCEL)
        told.set()
        echoing(peer)

    upstream, server = proxied_h2(handle, OFFERED)
    if client_version == 1:
        client = opened(server)
        assert take(client, 2) == b"hi"
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, GONE)
        client.sock.close()
        assert told.wait(WAIT_S)
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            assert ws._take(2) == b"hi"
            far.send(reset(ws.stream, CANCEL))
            assert told.wait(WAIT_S)
    with opened(server) as client:
        client.send(b"still here")
        assert take(client, 10) == b"still here"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("client_version", [1, 2])
def test_the_end_of_the_clients_direction(proxied_h2, client_version):
    """END_STREAM behind all it has sent, and the other direction goes on."""
    got = []

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        got.append(end_of(tunnel))
        tunnel.send(b"late")
        tunnel.end()
        got.extend(f.kind for f in peer.drain() if f.kind == RST_STREAM)

    _, server = proxied_h2(handle, OFFERED)
    octets = bytes(n % 251 for n in range(300_000))
    if client_version == 1:
        with opened(server) as client:
            client.send(octets)
            client.sock.shutdown(socket.SHUT_WR)
            assert client.buffer + read_all(client.sock) == b"late"
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            ws.send(octets, ends=True)
            far.until(lambda: ws.answer.is_over)
            assert ws.answer.ended and ws.answer.body == b"late" and ws.answer.reset is None
    assert wait_until(lambda: got) and got == [octets]


@pytest.mark.parametrize("client_version", [1, 2])
def test_the_end_is_told_at_once(proxied_h2, client_version):
    """Though nothing else moves: no WINDOW_UPDATE, and no PING for 15 s."""
    told = threading.Event()

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        while not peer.until(DATA).flags & END_STREAM:
            pass
        told.set()
        tunnel.end()
        peer.drain()

    _, server = proxied_h2(handle, OFFERED)
    if client_version == 1:
        with opened(server) as client:
            client.sock.shutdown(socket.SHUT_WR)
            assert told.wait(WAIT_S) and client.is_closed()
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            ws.send(b"", ends=True)
            assert told.wait(WAIT_S) and far.answer(ws.stream).ended


@pytest.mark.parametrize("client_version", [1, 2])
def test_the_end_of_the_upstreams_direction(proxied_h2, client_version):
    """The client has all, then the end; so has the stream (RFC 8441 section 5)."""
    ended = threading.Event()
    octets = bytes(n % 251 for n in range(50_000))

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        tunnel.send(octets)
        tunnel.end()
        end_of(tunnel)
        ended.set()
        echoing(peer)

    upstream, server = proxied_h2(handle, OFFERED)
    if client_version == 1:
        with opened(server) as client:
            assert client.buffer + read_all(client.sock) == octets
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            far.until(lambda: ws.answer.is_over)
            assert ws.answer.ended and ws.answer.body == octets
    assert ended.wait(WAIT_S)
    opened(server).sock.close()
    assert upstream.connection_count == 1


@pytest.mark.parametrize("client_version", [1, 2])
def test_an_upstream_with_a_shut_window_holds_the_client(proxied_h2, client_version):
    """RFC 9113 section 5.2: little of it waits here, and nothing is lost."""
    go_on, done = threading.Event(), threading.Event()
    total = 0

    def handle(peer: Upstream) -> None:
        nonlocal total
        tunnel = accepted(peer)
        assert go_on.wait(WAIT_S)
        for stream in (0, tunnel.stream):
            peer.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1 << 30)))
        while total < sent:
            got = peer.until(DATA)
            total += len(got.payload)
        done.set()

    _, server = proxied_h2(handle, OFFERED)
    sent = 0
    if client_version == 1:
        with opened(server) as client:
            before = anonymous_len(server.process.pid)
            client.sock.settimeout(1)
            with pytest.raises(TimeoutError):
                while sent < 64 << 20:
                    sent += client.sock.send(bytes(65_536))
            assert sent < 32 << 20
            assert anonymous_len(server.process.pid) - before < 4 << 20
            client.sock.settimeout(WAIT_S)
            go_on.set()
            assert done.wait(WAIT_S)
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            while (room := min(far.room, far.room_of(ws.stream), 16_384)) > 0:
                far.data(ws.stream, bytes(room))
                sent += room
                far.settle()
            assert sent < 4 << 20
            go_on.set()
            assert done.wait(WAIT_S)
    assert total == sent


def test_a_client_that_does_not_read_holds_its_stream_alone(proxied_h2):
    """What waits here for it is no more than the stream's window."""
    stuck = threading.Event()
    sent = 0

    def handle(peer: Upstream) -> None:
        nonlocal sent
        slow = accepted(peer)
        peer.connection.sock.settimeout(0.7)
        try:
            while sent < 64 << 20:
                room = min(peer.window, peer.windows[slow.stream], 16_384)
                if room == 0:
                    peer.until(WINDOW_UPDATE)
                    continue
                peer.window -= room
                peer.windows[slow.stream] -= room
                peer.data(slow.stream, bytes(room), ends=False)
                sent += room
        except TimeoutError:
            stuck.set()
        peer.connection.sock.settimeout(20)
        echo(accepted(peer))
        peer.drain()

    upstream, server = proxied_h2(handle, OFFERED)
    with opened(server) as slow:
        assert stuck.wait(3 * WAIT_S) and sent < 32 << 20
        with opened(server) as other:
            other.send(b"hi")
            assert take(other, 2) == b"hi"
        got = len(slow.buffer)
        while got < sent:
            got += len(slow.sock.recv(65_536))
    assert upstream.connection_count == 1


@pytest.mark.parametrize("window", [1, 1_000])
def test_a_small_window_of_the_upstream(proxied_h2, window):
    """RFC 9113 section 5.2: never more than it allows, and all of it in the end."""
    octets = bytes(n % 251 for n in range(300 * window))

    def handle(peer: Upstream) -> None:
        tunnel, room, got = accepted(peer), window, b""
        while len(got) < len(octets):
            piece = peer.until(DATA).payload
            room -= len(piece)
            assert room >= 0, "beyond the window"
            got += piece
            if room == 0:
                room, more = window, struct.pack(">I", window)
                # In one piece: Nagle's algorithm would keep the second one back.
                updates = [frame(WINDOW_UPDATE, 0, of, more) for of in (0, tunnel.stream)]
                peer.send(b"".join(updates))
        tunnel.send(hashlib.sha256(got).digest())
        peer.drain()

    _, server = proxied_h2(handle, OFFERED, (INITIAL_WINDOW, window))
    with opened(server) as client:
        client.send(octets)
        assert take(client, 32) == hashlib.sha256(octets).digest()


def test_short_messages_are_no_abuse(proxied_h2):
    """A WebSocket's frame of one letter has 3 octets; others share the connection."""
    count = 15_000
    expected = hashlib.sha256(b"\x81\x01x" * count).digest()

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        peer.send(frame(DATA, 0, tunnel.stream, b"\x81\x01x") * count)
        echo(tunnel)
        peer.drain()

    _, server = proxied_h2(handle, OFFERED)
    with opened(server) as client:
        assert hashlib.sha256(take(client, 3 * count)).digest() == expected
        client.send(b"and back")
        assert take(client, 8) == b"and back"


@pytest.mark.parametrize("client_version", [1, 2])
def test_a_tunnel_in_which_nothing_moves_is_ended(proxied_h2, client_version):
    code = []

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        tunnel.send(b"hi")
        code.append(peer.until(RST_STREAM).code)

    _, server = proxied_h2(handle, OFFERED, idle_timeout_ms=300)
    began = time.monotonic()
    if client_version == 1:
        with opened(server) as client:
            assert take(client, 2) == b"hi" and client.is_closed()
    else:
        with H2Client(server) as far:
            ws = Socket(far, "/chat")
            assert far.reset_of(ws.stream).reset == CANCEL
    assert time.monotonic() - began > 0.2
    assert wait_until(lambda: code) and code == [CANCEL]
    assert "nothing has moved for 300 ms" in server.stderr()


def test_more_tunnels_than_a_connection_takes(proxied_h2):
    """RFC 9113 section 5.1.2: the others get connections of their own."""

    def handle(peer: Upstream) -> None:
        tunnels = {}
        while True:
            got = peer.until(HEADERS, DATA, RST_STREAM)
            if got.kind == HEADERS:
                peer.head(got.stream)
                tunnels[got.stream] = got
                most.append(len(tunnels))
            elif got.kind == DATA and got.payload:
                peer.data(got.stream, got.payload, ends=False)
            elif got.flags & END_STREAM:
                peer.data(got.stream, b"")
                del tunnels[got.stream]

    most = []
    upstream, server = proxied_h2(handle, OFFERED, (MAX_STREAMS, 4))
    clients = [opened(server) for _ in range(10)]
    for round in range(3):
        for number, client in enumerate(clients):
            client.send(b"%d of %d" % (number, round))
        for number, client in enumerate(clients):
            assert take(client, 6) == b"%d of %d" % (number, round)
    assert upstream.connection_count == 3 and max(most) == 4
    for client in clients:
        client.sock.close()


def test_goaway_in_the_middle(proxied_h2):
    """RFC 9113 section 6.8: the tunnel goes on, the next one goes elsewhere."""

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        if peer.connection.number == 1:
            peer.goaway(tunnel.stream)
        echo(tunnel)
        peer.drain()

    upstream, server = proxied_h2(handle, OFFERED)
    with opened(server) as first:
        first.send(b"one")
        assert take(first, 3) == b"one"
        with opened(server) as second:
            second.send(b"two")
            assert take(second, 3) == b"two"
        first.send(b"three")
        assert take(first, 5) == b"three"
    assert upstream.connection_count == 2


def test_a_connection_that_breaks_off(proxied_h2):
    """All its tunnels end; the next handshake opens another one."""
    go_on = threading.Event()

    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        if peer.connection.number > 1:
            return echo(tunnel)
        accepted(peer)
        assert go_on.wait(WAIT_S)

    upstream, server = proxied_h2(handle, OFFERED)
    clients = [opened(server) for _ in range(2)]
    go_on.set()
    for client in clients:
        assert client.is_closed()
        client.sock.close()
    with opened(server) as client:
        client.send(b"hi")
        assert take(client, 2) == b"hi"
    assert upstream.connection_count == 2


def test_other_requests_share_the_connection(proxied_h2):
    def handle(peer: Upstream) -> None:
        tunnel = accepted(peer)
        peer.answer(peer.request(), b"between")
        echo(tunnel)
        peer.drain()

    upstream, server = proxied_h2(handle, OFFERED)
    with opened(server) as client:
        assert ask(server, GET).body == b"between"
        client.send(b"hi")
        assert take(client, 2) == b"hi"
    assert upstream.connection_count == 1


def test_a_proxy_that_ends(proxied_h2):
    """It waits for tunnels as long as it may, then resets them, and says goodbye."""
    seen = []

    def handle(peer: Upstream) -> None:
        accepted(peer)
        seen.extend(peer.drain())

    _, server = proxied_h2(handle, OFFERED, server_shutdown_timeout_ms=300)
    with opened(server) as client:
        server.process.terminate()
        assert client.is_closed()
    assert server.process.wait(WAIT_S) == 0
    assert wait_until(lambda: seen) and seen[-1].kind == GOAWAY and seen[-1].code == NO_ERROR
