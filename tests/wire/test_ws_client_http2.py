"""The WebSocket client over HTTP/2 (RFC 8441): our server, Python's hypercorn, Node,
and servers that refuse, break off, or say nothing."""

import ssl
import struct
import threading
import time

import pytest
from conftest import Server, shown, wait_until
from h2_hpack import Decoder
from peer_servers import start_hypercorn, start_node_websocket
from raw_http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    HTTP_1_1_REQUIRED,
    INITIAL_WINDOW,
    CANCEL,
    MAX_STREAMS,
    NO_ERROR,
    PREFACE,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RST_STREAM,
    WINDOW_UPDATE,
    Http2Peer,
    Tunnel,
    block,
    frame,
    settings,
    speaking,
)
from raw_server import Connection, RawServer
from test_ws_client import HOSTILE, Echo, connect, read_frame, talk
from wire_programs import built

ENABLE_CONNECT = 8
OFFERED = (ENABLE_CONNECT, 1)
SIZES = [0, 1, 125, 126, 65_535, 65_536, 1_000_000, 6_000_000]


@pytest.fixture(scope="module")
def sealed(certs):
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    server = Server(built("ws_server"), ["compression=1", "subprotocol=chat", *options])
    server.url = f"wss://localhost:{server.port}"
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


@pytest.fixture(scope="module")
def plain():
    server = Server(built("ws_server"), ["compression=1", "subprotocol=chat"])
    server.url = f"ws://127.0.0.1:{server.port}"
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def open_to(talker, server, certs, path: str = "/ws", **more) -> dict:
    more = {"http2": 1, "prior_knowledge": 1, "ca_file": str(certs / "root.pem"), **more}
    return connect(talker, server.url + path, **more)


@pytest.mark.parametrize("compresses", [0, 1])
@pytest.mark.parametrize("kind", ["plain", "sealed"])
def test_echo(talker, request, certs, kind, compresses):
    server = request.getfixturevalue(kind)
    opened = open_to(
        talker, server, certs, compresses=compresses, subprotocols=["other", "chat"]
    )
    assert "kind" not in opened, opened
    assert opened["version"] == "HTTP/2" and opened["subprotocol"] == "chat"
    for count in SIZES:
        talk(talker, "send_binary", count=count)
        assert talk(talker, "recv")["length"] == count
    for text in ["", "ä€💩", "z" * 70_000]:
        talk(talker, "send", text=text)
        assert talk(talker, "recv")["text"] == text
    talk(talker, "fragment", text="one ", code=1, count=0)
    talk(talker, "fragment", text="two", code=0, count=1)
    assert talk(talker, "recv")["text"] == "one two"
    talk(talker, "ping", text="are you there")
    pong = talk(talker, "frame")
    assert (pong["opcode"], pong["text"]) == ("pong", "are you there")
    said = server.stderr().count("closed 4002 enough")
    closed = talk(talker, "close", code=4002, text="enough")
    assert "kind" not in closed and closed["closed_with"] == 4002
    assert wait_until(lambda: server.stderr().count("closed 4002 enough") == said + 1)


@pytest.mark.parametrize("length", [0, 20_000])
def test_a_thread_sends_while_another_receives(talker, sealed, certs, length):
    """Over TLS and a stream, also more than queue and windows hold."""
    open_to(talker, sealed, certs)
    assert talk(talker, "type", text="n" * length, count=300)["text"] == "typed"
    assert talk(talker, "close")["closed_with"] == 1000


def test_a_close_of_the_server_and_a_client_that_is_dropped(talker, sealed, certs):
    open_to(talker, sealed, certs)
    talk(talker, "send", text="close")
    closed = talk(talker, "recv")
    assert (closed["kind"], closed["close_code"]) == ("WsClosed", 4001)
    assert closed["close_reason"] == "as you say" and not closed["is_open"]
    said = sealed.stderr().count("closed 1000")
    open_to(talker, sealed, certs)
    talk(talker, "drop")
    assert wait_until(lambda: sealed.stderr().count("closed 1000") == said + 1)


def test_a_server_that_talks_more_than_windows_hold(talker, sealed, certs):
    """10 MB wait for a client that reads when it likes."""
    open_to(talker, sealed, certs)
    talk(talker, "send", text="flood")
    for _ in range(1_000):
        assert talk(talker, "recv")["length"] == 10_000
    assert talk(talker, "close")["closed_with"] == 1000


def test_http1_unless_it_is_asked_for(talker, sealed, certs):
    opened = open_to(talker, sealed, certs, http2=0)
    assert opened["version"] == "HTTP/1.1", opened
    talk(talker, "close")


def test_a_refusal_tells_its_status(talker, sealed, certs):
    assert open_to(talker, sealed, certs, "/nowhere")["status"] == 404
    refused = open_to(talker, sealed, certs, "/")
    assert (refused["kind"], refused["status"]) == ("WsRefused", 501), refused
    refused = open_to(talker, sealed, certs, "/ws?refuse")
    assert (refused["kind"], refused["status"]) == ("WsRefused", 500), refused


@pytest.mark.parametrize("start", [start_hypercorn, start_node_websocket])
def test_servers_of_others(talker, certs, start):
    server = start(certs)
    try:
        url = f"wss://localhost:{server.port}/chat?x=y"
        opened = connect(talker, url, http2=1, ca_file=str(certs / "root.pem"))
        assert opened.get("version") == "HTTP/2", opened
        assert talk(talker, "recv")["text"] == "2 /chat"
        for count in SIZES:
            talk(talker, "send_binary", count=count)
            assert talk(talker, "recv")["length"] == count
        for text in ["a", "ä€💩" * 30_000]:
            talk(talker, "send", text=text)
            assert talk(talker, "recv")["text"] == text
        assert talk(talker, "close", code=4003)["closed_with"] == 4003
    finally:
        server.stop()


def meet(talker, handle, *pairs, **config) -> tuple[RawServer, dict]:
    """Lets the client connect to a server that is known to speak HTTP/2."""
    server = RawServer(speaking(handle, *pairs))
    url = f"ws://127.0.0.1:{server.port}/chat?x=y"
    return server, connect(talker, url, prior_knowledge=1, **config)


def tunneling(talker, handle, *fields, **config) -> tuple[RawServer, dict]:
    """The same, with a stream that is open."""

    def run(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream, *fields)
        handle(Tunnel(peer, stream))

    return meet(talker, run, OFFERED, **config)


def test_the_request(talker):
    """RFC 8441 section 4, and the fields of section 5."""
    asked = []

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        asked.extend(Decoder().decode(peer.seen[-1].payload))
        assert not peer.seen[-1].flags & END_STREAM
        peer.head(stream, ("sec-websocket-protocol", "b"))
        peer.drain()

    headers = {
        "Origin": "http://far.test",
        "Connection": "keep-alive",
        "Sec-WebSocket-Key": "mine",
        "X-Own": "7",
    }
    server, opened = meet(
        talker, handle, OFFERED, headers=headers, subprotocols=["a", "b"]
    )
    assert opened["subprotocol"] == "b", opened
    assert asked == [
        (":method", "CONNECT"),
        (":scheme", "http"),
        (":authority", f"127.0.0.1:{server.port}"),
        (":path", "/chat?x=y"),
        (":protocol", "websocket"),
        ("origin", "http://far.test"),
        ("x-own", "7"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-protocol", "a, b"),
        ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits"),
    ]
    talk(talker, "drop")
    server.close()


def over_tls(certs, *handlers) -> RawServer:
    """A server whose first connections agree on HTTP/2, each with a function, and
    whose later ones on HTTP/1.1."""

    def run(connection: Connection) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        is_first = connection.number <= len(handlers)
        context.set_alpn_protocols(["h2"] if is_first else ["http/1.1"])
        with context.wrap_socket(connection.sock, server_side=True) as sock:
            offered.append(sock.selected_alpn_protocol())
            connection.sock = sock
            if is_first:
                handlers[connection.number - 1](connection)
            else:
                connection.pass_on(echo.port)

    offered: list = []
    echo = Echo()
    server = RawServer(run)
    server.offered, server.echo = offered, echo
    return server


def requiring_http1(peer: Http2Peer) -> None:
    peer.reset(peer.request(), HTTP_1_1_REQUIRED)
    peer.drain()


@pytest.mark.parametrize(
    ("first", "pairs"),
    [(Http2Peer.drain, []), (Http2Peer.drain, [(ENABLE_CONNECT, 0)]), (requiring_http1, [OFFERED])],
    ids=["8441-3 no setting", "8441-3 setting of 0", "9113-7 HTTP_1_1_REQUIRED"],
)
def test_http1_where_the_server_takes_no_streams(talker, certs, first, pairs):
    server = over_tls(certs, speaking(first, *pairs))
    url = f"wss://localhost:{server.port}/"
    opened = connect(talker, url, http2=1, ca_file=str(certs / "root.pem"))
    assert opened.get("version") == "HTTP/1.1", opened
    assert server.offered == ["h2", "http/1.1"]
    talk(talker, "send", text="after all")
    assert talk(talker, "recv")["text"] == "after all"
    talk(talker, "close")
    server.close()
    server.echo.close()


def answering(*fields, status: int = 200, ends: bool = False):
    def handle(peer: Http2Peer) -> None:
        peer.head(peer.request(), *fields, status=status, ends=ends)
        peer.drain()

    return handle


def resetting(code: int):
    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), code)
        peer.drain()

    return handle


def leaving(peer: Http2Peer) -> None:
    peer.request()
    peer.goaway(0)
    peer.drain()


# (name, what the server does, its settings, kind, status, a part of the reason)
REFUSALS = [
    ("8441-3 no setting", Http2Peer.drain, [], "WsRefused", 0, "http2_prior_knowledge"),
    ("8441-3 setting of 2", Http2Peer.drain, [(ENABLE_CONNECT, 2)], "MalformedResponse", 0, "must be 0 or 1"),
    ("9113-7 HTTP_1_1_REQUIRED", resetting(HTTP_1_1_REQUIRED), [OFFERED], "WsRefused", 0, "http2_prior_knowledge"),
    ("9113-8.7 REFUSED_STREAM", resetting(REFUSED_STREAM), [OFFERED], "StreamReset", 0, "REFUSED_STREAM"),
    ("9113-6.8 GOAWAY", leaving, [OFFERED], "StreamReset", 0, "NO_ERROR"),
    ("8441-5 403", answering(status=403, ends=True), [OFFERED], "WsRefused", 403, "2xx"),
    ("8441-5 302", answering(status=302), [OFFERED], "WsRefused", 302, "2xx"),
    ("8441-5 no stream", answering(ends=True), [OFFERED], "WsBadHandshake", 200, "must not end"),
    ("9113-8.2.2 upgrade", answering(("upgrade", "websocket")), [OFFERED], "MalformedResponse", 0, "HTTP/1.1"),
    ("6455-4.1 subprotocol", answering(("sec-websocket-protocol", "x")), [OFFERED], "WsBadHandshake", 200, "subprotocol"),
    ("6455-4.1 extension", answering(("sec-websocket-extensions", "x")), [OFFERED], "WsBadHandshake", 200, "extensions"),
    ("silence", Http2Peer.request, [OFFERED], "NoResponse", 0, "closed"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("handle", "pairs", "kind", "status", "part"),
    [row[1:] for row in REFUSALS],
    ids=[row[0] for row in REFUSALS],
)
def test_a_handshake_that_fails(talker, handle, pairs, kind, status, part):
    server, refused = meet(talker, handle, *pairs)
    assert refused.get("kind") == kind, refused
    assert refused["status"] == status and part in refused["error"], refused
    server.close()


@pytest.mark.parametrize(
    ("begin", "pairs"),
    [
        (lambda peer: time.sleep(1), [OFFERED]),
        (Http2Peer.drain, [OFFERED, (MAX_STREAMS, 0)]),
        (None, []),
    ],
    ids=["no answer", "no stream free", "no SETTINGS"],
)
def test_the_time_to_connect_is_bounded(talker, begin, pairs):
    gate = threading.Event()
    handle = speaking(begin, *pairs) if begin else lambda connection: gate.wait(5)
    server = RawServer(handle)
    began = time.monotonic()
    url = f"ws://127.0.0.1:{server.port}/"
    late = connect(talker, url, prior_knowledge=1, connect_timeout_ms=200)
    assert late.get("kind") == "Timeout", late
    assert 0.15 < time.monotonic() - began < 9
    gate.set()
    server.close()


def test_goaway_before_the_request(talker):
    def handle(connection: Connection) -> None:
        peer = Http2Peer(connection)
        assert connection.take(len(PREFACE)) == PREFACE
        goaway = frame(GOAWAY, 0, 0, bytes(8))
        peer.send(settings(OFFERED) + goaway)
        assert not [f for f in peer.drain() if f.kind == HEADERS]
        done.set()

    done = threading.Event()
    server = RawServer(handle)
    refused = connect(talker, f"ws://127.0.0.1:{server.port}/", prior_knowledge=1)
    assert refused["kind"] == "NoResponse" and "GOAWAY" in refused["error"], refused
    assert done.wait(5)
    server.close()


def test_a_server_that_speaks_http1(talker, plain):
    """Prior knowledge that is wrong."""
    server = RawServer(lambda connection: connection.send(b"HTTP/1.1 400 Bad\r\n\r\n"))
    url = f"ws://127.0.0.1:{server.port}/"
    failed = connect(talker, url, prior_knowledge=1)
    assert failed["kind"] == "MalformedResponse", failed
    assert "http2_prior_knowledge is for those that do" in failed["error"]
    server.close()


def test_content_length_of_a_tunnel_says_nothing(talker):
    """RFC 9110 section 9.3.6."""
    for status in (200, 204, 299):

        def handle(peer: Http2Peer, status=status) -> None:
            stream = peer.request()
            peer.head(stream, ("content-length", "0"), status=status)
            peer.data(stream, b"\x81\x02hi", ends=False)
            peer.drain()

        server, opened = meet(talker, handle, OFFERED)
        assert "kind" not in opened, opened
        assert talk(talker, "recv")["text"] == "hi"
        talk(talker, "drop")
        server.close()


def test_the_end_of_a_stream_is_that_of_a_connection(talker):
    """RFC 8441 section 5: without a close frame 1006, and END_STREAM in turn."""
    ended = threading.Event()

    def handle(tunnel: Tunnel) -> None:
        tunnel.send(b"\x81\x02hi")
        tunnel.end()
        while not tunnel.has_end:
            tunnel.read()
        ended.set()
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle)
    assert talk(talker, "recv")["text"] == "hi"
    closed = talk(talker, "recv")
    assert (closed["kind"], closed["close_code"]) == ("WsClosed", 1006), closed
    assert not closed["is_open"]
    assert ended.wait(5)
    server.close()


def test_half_a_frame_and_the_end(talker):
    def handle(tunnel: Tunnel) -> None:
        tunnel.send(b"\x81\x05hal")
        tunnel.end()
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle)
    closed = talk(talker, "recv")
    assert (closed["kind"], closed["close_code"]) == ("WsClosed", 1006), closed
    server.close()


def test_orderly_close_ends_both_directions(talker):
    """The server ends first (RFC 6455 section 7.1.1), then the client."""
    seen = []

    def handle(tunnel: Tunnel) -> None:
        seen.append(read_frame(tunnel))
        tunnel.send(b"\x88\x02\x03\xe8")
        assert not tunnel.has_end
        tunnel.end()
        while not tunnel.has_end:
            tunnel.read()
        seen.append("end")
        seen.append(tunnel.peer.until(GOAWAY).number)

    server, _ = tunneling(talker, handle)
    assert talk(talker, "close", code=1001)["closed_with"] == 1000
    assert wait_until(lambda: len(seen) == 3)
    assert seen == [(0x88, b"\x03\xe9"), "end", NO_ERROR]
    server.close()


@pytest.mark.parametrize("code", [CANCEL, NO_ERROR, REFUSED_STREAM])
def test_rst_stream_in_the_middle(talker, code):
    def handle(tunnel: Tunnel) -> None:
        tunnel.send(b"\x81\x02hi\x81\x05hal")
        tunnel.peer.reset(tunnel.stream, code)
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle)
    assert talk(talker, "recv")["text"] == "hi"
    broken = talk(talker, "recv")
    assert broken["kind"] == "StreamReset" and not broken["is_open"], broken
    # What failed was told; from then on it is closed, as a connection is.
    assert talk(talker, "send", text="x" * 100)["kind"] == "WsClosed"
    server.close()


def test_goaway_in_the_middle(talker):
    """RFC 9113 section 6.8: what was begun goes on; what was not is over."""

    def handle(tunnel: Tunnel) -> None:
        tunnel.peer.goaway(tunnel.stream)
        tunnel.send(b"\x81\x02hi")
        assert read_frame(tunnel) == (0x81, b"still")
        tunnel.peer.goaway(0, PROTOCOL_ERROR)
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle, compresses=0)
    assert talk(talker, "recv")["text"] == "hi"
    assert "kind" not in talk(talker, "send", text="still")
    assert talk(talker, "recv")["kind"] == "StreamReset"
    server.close()


def test_a_connection_that_vanishes(talker):
    server, _ = tunneling(talker, lambda tunnel: tunnel.send(b"\x81\x05hal"))
    closed = talk(talker, "recv")
    assert (closed["kind"], closed["close_code"]) == ("WsClosed", 1006), closed
    assert talk(talker, "send", text="x")["kind"] == "WsClosed"
    server.close()


def broken_by(octets: bytes):
    def handle(tunnel: Tunnel) -> None:
        tunnel.peer.send(octets)
        tunnel.peer.drain()

    return handle


# (name, frames behind the 200, the code with which the client answers, and on
# the stream or the connection)
BROKEN = [
    ("9113-8.5 fields in a tunnel", frame(HEADERS, END_HEADERS | END_STREAM, 1, block(("a", "b"))), RST_STREAM, PROTOCOL_ERROR),
    ("9113-8.5 a second head", frame(HEADERS, END_HEADERS, 1, block((":status", "200"))), RST_STREAM, PROTOCOL_ERROR),
    ("8441-3 the setting is taken back", settings((ENABLE_CONNECT, 0)), GOAWAY, PROTOCOL_ERROR),
    ("9113-5.1 an idle stream", frame(DATA, 0, 3, b"x"), GOAWAY, PROTOCOL_ERROR),
]  # fmt: skip


@pytest.mark.parametrize(
    ("octets", "kind", "code"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_broken_rule_of_http2(talker, octets, kind, code):
    told = []

    def handle(tunnel: Tunnel) -> None:
        tunnel.peer.send(octets)
        told.append(tunnel.peer.until(kind).number if kind == RST_STREAM else None)
        told.extend(f.payload[4:8] for f in tunnel.peer.drain() if f.kind == kind)

    server, opened = tunneling(talker, handle)
    assert "kind" not in opened, opened
    broken = talk(talker, "recv")
    assert broken["kind"] in ("StreamReset", "MalformedResponse"), broken
    talk(talker, "drop")
    assert wait_until(lambda: told and (told[0] == code or told[1:]))
    if kind == GOAWAY:
        assert struct.pack(">I", code) in told
    server.close()


@pytest.mark.parametrize(
    ("octets", "code"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_a_broken_rule_of_websocket(talker, octets, code):
    frames = []

    def handle(tunnel: Tunnel) -> None:
        tunnel.send(octets)
        frames.append(read_frame(tunnel))
        tunnel.end()
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle, max_frame_size=1 << 20)
    answer = talk(talker, "recv")
    assert answer["kind"] == "WsProtocolBroken", answer
    assert answer["close_code"] == code and not answer["is_open"]
    first, payload = frames[0]
    assert first == 0x88 and struct.unpack(">H", payload[:2])[0] == code
    server.close()


def test_a_window_that_stays_shut(talker):
    """What does not go out in time goes out with the next call."""
    gate = threading.Event()
    got = []

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        tunnel = Tunnel(peer, stream)
        gate.wait(10)
        # An octet at a time for the first frames.
        for _ in range(50):
            peer.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1)))
        peer.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1 << 20)))
        got.append(read_frame(tunnel))
        got.append(read_frame(tunnel))
        tunnel.end()
        peer.drain()

    server, _ = meet(
        talker, handle, OFFERED, (INITIAL_WINDOW, 0), write_timeout_ms=200, compresses=0
    )
    began = time.monotonic()
    late = talk(talker, "send", text="x" * 1_000)
    assert late["kind"] == "Timeout" and late["is_open"], late
    assert 0.15 < time.monotonic() - began < 9
    gate.set()
    while talk(talker, "send", text="y").get("kind") == "Timeout":
        assert time.monotonic() - began < 10
    assert wait_until(lambda: len(got) == 2)
    assert got == [(0x81, b"x" * 1_000), (0x81, b"y")]
    talk(talker, "drop")
    server.close()


def test_a_server_that_writes_before_it_reads(talker):
    """Both send more than windows hold; nobody waits for ever."""

    def handle(tunnel: Tunnel) -> None:
        tunnel.send((b"\x82\x7f" + struct.pack(">Q", 100_000) + bytes(100_000)) * 8)
        while read_frame(tunnel)[0] != 0x88:
            pass
        tunnel.send(b"\x88\x02\x03\xe8")
        tunnel.end()
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle, compresses=0)
    assert "kind" not in talk(talker, "send_binary", count=300_000)
    for _ in range(8):
        assert talk(talker, "recv")["length"] == 100_000
    assert talk(talker, "close")["closed_with"] == 1000
    server.close()


def test_a_timeout_is_not_the_end(talker):
    gate = threading.Event()

    def handle(tunnel: Tunnel) -> None:
        gate.wait(10)
        for octet in b"\x81\x04late":
            tunnel.send(bytes([octet]))
        tunnel.peer.drain()

    server, _ = tunneling(talker, handle, read_timeout_ms=150)
    began = time.monotonic()
    answer = talk(talker, "recv")
    assert answer["kind"] == "Timeout" and answer["is_open"], answer
    assert 0.1 < time.monotonic() - began < 9
    gate.set()
    while "kind" in (answer := talk(talker, "recv")):
        assert answer["kind"] == "Timeout"
    assert answer["text"] == "late"
    talk(talker, "drop")
    server.close()


def test_a_server_that_does_not_answer_the_close(talker):
    """Then the stream is reset (RFC 8441 section 5), and the connection ends."""
    seen = []

    def handle(tunnel: Tunnel) -> None:
        seen.append(tunnel.peer.until(RST_STREAM).number)
        seen.append(tunnel.peer.until(GOAWAY).number)

    server, _ = tunneling(talker, handle, close_timeout_ms=100)
    began = time.monotonic()
    closed = talk(talker, "close")
    assert "kind" not in closed and closed["closed_with"] == 1006
    assert time.monotonic() - began < 9
    assert wait_until(lambda: seen == [CANCEL, NO_ERROR])
    server.close()
