"""ReverseProxy while both directions are open: a response that begins before the
request has ended, over HTTP/1.1 and HTTP/2 on either side; RFC 9110 section 7.5,
RFC 9112 sections 9.3, 9.5 and 9.6, RFC 9113 sections 5.2 and 8.1."""

import socket
import ssl
import struct
import threading
import time

import pytest
from both_ways import *
from conftest import Client, read_all, wait_until
from processes import memory_len
from raw_http2 import block
from raw_server import RawServer

UPSTREAMS = {"1.1": PlainUpstream, "2": StreamUpstream}
CLIENTS = {"1.1": PlainClient, "2": StreamClient}
PAIRS = [(near, far) for near in CLIENTS for far in UPSTREAMS]
TURN_COUNT = 100
LONG_LEN = 4 << 20
GET_OWN = b"GET /own HTTP/1.1\r\nHost: a\r\n\r\n"
SOON_S = 5


@pytest.fixture
def pair(start, certs):
    """Starts an upstream and a proxy to it, and connects; gives client, server and
    upstream."""
    opened = []

    def launch(near: str, far: str, handle, tls: bool = False, **config):
        upstream = RawServer(lambda connection: handle(UPSTREAMS[far](connection)))
        if tls:
            config.update(cert=certs / "good_chain.pem", key=certs / "good.key")
        options = {"http2_prior_knowledge": int(far == "2"), **config}
        server = start("proxy_server", upstream=upstream.url, **options)
        context = None
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = CLIENTS[near](server, context)
        opened.extend([client, upstream])
        return client, server, upstream

    yield launch
    for one in opened:
        one.close()


def echo(upstream) -> None:
    """Begins to answer at once, and sends all back as it comes."""
    while upstream.request():
        upstream.respond()
        while piece := upstream.read():
            upstream.send(piece)
        upstream.finish()


class Beginning:
    """An upstream that begins its response, and notes that the request ends."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def __call__(self, upstream) -> None:
        upstream.request()
        upstream.respond()
        upstream.send(b"a")
        if upstream.sees_end():
            self.ended.set()


def assert_begins(client) -> None:
    """Asks, and takes the beginning of the response."""
    client.ask()
    assert client.respond() == 200 and client.read() == b"a"


@pytest.mark.parametrize("near, far", PAIRS)
def test_turns_go_back_and_forth(pair, near, far):
    client, *_ = pair(near, far, echo)
    client.ask()
    assert client.respond() == 200
    for turn in range(TURN_COUNT):
        word = b"turn %d" % turn
        client.send(word)
        assert client.read() == word
    client.finish()
    assert client.rest() == b""


@pytest.mark.parametrize("far", UPSTREAMS)
def test_words_may_be_given_back_one_by_one(pair, far):
    """RFC 9113 section 6.9: more turns than `max_glitches`, of which each end gives
    back every one, to the stream and to the connection."""
    _, server, _ = pair("2", far, echo)
    client = GenerousClient(server)
    client.ask()
    assert client.respond() == 200
    for _ in range(1_200):
        client.send(b"a word")
        assert client.read() == b"a word"
    client.finish()
    assert client.rest() == b""
    client.close()


@pytest.mark.parametrize("near, far", PAIRS)
@pytest.mark.parametrize("tls", [False, True])
def test_much_goes_both_ways_at_once(pair, near, far, tls):
    """By the windows of both sides, and what sockets take."""
    client, *_ = pair(near, far, echo, tls=tls)
    client.ask()
    assert client.respond() == 200
    content = bytes(range(256)) * (LONG_LEN // 256)
    if near == "1.1":
        assert client.exchange(content) == content
        return
    # Frames that come are noted while there is no window.
    client.send(content)
    client.finish()
    assert client.rest() == content


@pytest.mark.parametrize("far", UPSTREAMS)
def test_a_request_behind_the_content_is_answered(pair, far):
    """RFC 9112 section 9.3.2: it comes when the content has, while the response
    goes on, and is read at once when that has ended."""

    def handle(upstream) -> None:
        while upstream.request():
            upstream.respond()
            upstream.send(b"a")
            while upstream.read():
                pass
            has_all.set()
            assert goes_on.wait(WAIT_S)
            upstream.finish()

    has_all, goes_on = threading.Event(), threading.Event()
    client, server, _ = pair("1.1", far, handle)
    assert_begins(client)
    client.finish()
    assert has_all.wait(WAIT_S)
    client.sock.sendall(GET_OWN)
    # The server has heard of it before this is answered.
    with Client(server) as other:
        other.send(GET_OWN)
        assert other.response().status == 200
    goes_on.set()
    assert client.rest() == b""
    client.sock.settimeout(SOON_S)
    assert client.respond() == 200


@pytest.mark.parametrize("near, far", PAIRS)
def test_content_that_came_with_the_head_goes_on(pair, near, far):
    """Some of the request is here before its response begins, more than an
    upstream takes at once."""

    def handle(upstream) -> None:
        upstream.request()
        upstream.respond()
        upstream.send(b"go")
        length = 0
        while piece := upstream.read():
            length += len(piece)
        upstream.send(b" %d" % length)
        upstream.finish()
        upstream.request()

    client, *_ = pair(near, far, handle)
    client.ask()
    client.send(b"x" * 200_000)
    client.finish()
    assert client.respond() == 200
    assert client.rest() == b"go 200000"


def begin_slowly(upstream, go_on: threading.Event) -> None:
    """Begins a response, and takes nothing of the request until it may."""
    upstream.request()
    upstream.respond()
    upstream.send(b"slow")
    go_on.wait(WAIT_S)


def slow_pair(pair, near, far, handle):
    """Gives a client that has what `begin_slowly` sends, and its gateway."""
    client, server, _ = pair(near, far, handle, max_body_size=32 << 20)
    client.ask()
    assert client.respond() == 200 and client.read() == b"slow"
    return client, server


@pytest.mark.parametrize("near, far", PAIRS)
def test_an_upstream_that_takes_nothing_holds_the_client_back(pair, near, far):
    """Memory stays where it is; all goes through when it takes again."""
    more = 16 << 20
    go_on = threading.Event()

    def handle(upstream) -> None:
        begin_slowly(upstream, go_on)
        length = 0
        while piece := upstream.read():
            length += len(piece)
        upstream.send(b"%d" % length)
        upstream.finish()
        upstream.request()

    client, server = slow_pair(pair, near, far, handle)
    before = memory_len(server.process.pid, "VmRSS")
    sent = [0]

    def upload() -> None:
        for _ in range(more // 65_536):
            client.send(b"y" * 65_536)
            sent[0] += 65_536
        client.finish()

    sender = threading.Thread(target=upload, daemon=True)
    sender.start()
    is_held_back(sent)
    assert sent[0] < more
    assert memory_len(server.process.pid, "VmRSS") - before < 8 << 20
    go_on.set()
    sender.join(WAIT_S)
    assert not sender.is_alive()
    assert client.rest() == b"%d" % more


def is_held_back(sent: list[int]) -> None:
    """Waits until nothing has been sent for a while."""
    last, since = -1, time.monotonic()
    end = since + WAIT_S
    while time.monotonic() - since < 0.5:
        assert time.monotonic() < end, "it goes on and on"
        if sent[0] != last:
            last, since = sent[0], time.monotonic()
        time.sleep(0.01)


@pytest.mark.parametrize("near", CLIENTS)
def test_a_stream_that_is_not_wanted_any_more_harms_no_response(pair, near):
    """RFC 9113 section 8.1: END_STREAM, then RST_STREAM with NO_ERROR."""

    def handle(upstream: StreamUpstream) -> None:
        upstream.request()
        upstream.respond(b"413 Too Large")
        upstream.send(b"not ")
        upstream.read()
        upstream.send(b"so much")
        upstream.finish()
        upstream.peer.reset(upstream.stream, NO_ERROR)
        echo(upstream)

    client, server, upstream = pair(near, "2", handle)
    client.ask()
    assert client.respond() == 413
    assert client.read() == b"not "
    client.send(b"some")
    assert client.rest() == b"so much"
    if near == "2":
        # The client is told the same.
        assert client.h2.reset_of(client.stream).reset == NO_ERROR
    else:
        client.finish()
    client.ask()
    assert client.respond() == 200
    assert upstream.connection_count == 1
    client.close()


@pytest.mark.parametrize("near", CLIENTS)
@pytest.mark.parametrize("says", [b"Connection: close\r\n", b""])
def test_an_upstream_that_answers_early_and_closes(pair, near, says):
    """RFC 9112 section 9.6: it ends its own side, reads on for a moment, closes."""
    taken = threading.Event()

    def handle(upstream: PlainUpstream) -> None:
        upstream.request()
        upstream.connection.send(
            b"HTTP/1.1 413 Too Large\r\nContent-Length: 11\r\n%s\r\nnot " % says
        )
        taken.wait(WAIT_S)
        upstream.connection.send(b"so much")
        upstream.connection.sock.shutdown(socket.SHUT_WR)
        read_all(upstream.connection.sock)

    client, server, upstream = pair(near, "1.1", handle)
    client.ask()
    assert client.respond() == 413
    taken.set()
    if near == "2":
        assert client.rest() == b"not so much"
        assert client.h2.reset_of(client.stream).reset == NO_ERROR
        return
    assert client.chunks.take(11) == b"not so much"
    client.send(b"more")
    if says:
        assert b"connection: close" in client.head.lower()
        assert read_all(client.sock) == b""
        return
    client.finish()
    client.sock.sendall(GET_OWN)
    assert client.respond() == 200


def test_connections_are_used_again_behind_a_whole_request(pair):
    client, _, upstream = pair("1.1", "1.1", echo)
    for number in range(3):
        client.ask()
        assert client.respond() == 200
        assert b"connection: close" not in client.head.lower()
        client.send(b"part %d" % number)
        assert client.read() == b"part %d" % number
        client.finish()
        assert client.rest() == b""
    assert upstream.connection_count == 1


def test_a_client_that_asks_for_the_end_is_heard_until_then(pair):
    """RFC 9112 section 9.6."""
    client, *_ = pair("1.1", "1.1", echo)
    client.sock.sendall(HEAD.replace(b"Host", b"Connection: close\r\nHost"))
    assert client.respond() == 200
    for word in [b"one", b"two"]:
        client.send(word)
        assert client.read() == word
    client.finish()
    assert client.rest() == b""
    assert read_all(client.sock) == b""


def test_what_is_pipelined_behind_the_content_is_the_next_request(pair):
    client, _, upstream = pair("1.1", "1.1", echo)
    client.ask()
    assert client.respond() == 200
    client.send(b"one")
    assert client.read() == b"one"
    client.sock.sendall(b"0\r\n\r\n" + HEAD + chunk(b"two"))
    assert client.rest() == b""
    assert client.respond() == 200 and client.read() == b"two"
    client.finish()
    assert client.rest() == b""
    assert upstream.connection_count == 1


def refuse_in_parts(taken: threading.Event):
    """An upstream that answers before the content in two parts, and closes."""

    def handle(upstream: PlainUpstream) -> None:
        upstream.request()
        upstream.connection.send(
            b"HTTP/1.1 413 Too Large\r\nContent-Length: 11\r\n\r\nnot "
        )
        taken.wait(WAIT_S)
        upstream.connection.send(b"so much")
        read_all(upstream.connection.sock)

    return handle


SIZED = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
SKIPPED_LEN_MAX = 256 * 1024
GET_LINE = b"GET / HTTP/1.1\r\n"


def refused(pair, head: bytes, **config):
    """Asks, and takes the whole of an early refusal that does not say close."""
    taken = threading.Event()
    client, *_ = pair("1.1", "1.1", refuse_in_parts(taken), **config)
    client.sock.sendall(head)
    assert client.respond() == 413
    assert b"connection: close" not in client.head.lower()
    assert client.chunks.take(4) == b"not "
    taken.set()
    assert client.chunks.take(7) == b"so much"
    return client


@pytest.mark.parametrize("sent_len", [0, 5, SKIPPED_LEN_MAX - 1])
def test_sized_content_behind_an_early_response_is_dropped(pair, sent_len):
    """RFC 9112 sections 9.3 and 9.6: it is no request, and the next one comes
    behind it, on a connection whose end nobody has told of."""
    client = refused(pair, SIZED % SKIPPED_LEN_MAX + GET_LINE[:sent_len])
    rest_len = SKIPPED_LEN_MAX - min(sent_len, len(GET_LINE))
    client.sock.sendall(b"G" * rest_len + GET_OWN)
    assert client.respond() == 200


def test_chunks_behind_an_early_response_are_dropped(pair):
    client = refused(pair, HEAD)
    for piece in [b"10\r\n", GET_LINE, b"\r", b"\n0\r\nA: b\r\n\r", b"\n"]:
        client.sock.sendall(piece)
    client.sock.sendall(GET_OWN)
    assert client.respond() == 200


@pytest.mark.parametrize(
    "head, rest",
    [
        pytest.param(HEAD, b"5\r\nhelloX", id="broken-chunks"),
        pytest.param(HEAD, b"%x\r\n" % (SKIPPED_LEN_MAX + 1), id="large-chunk"),
        pytest.param(SIZED % (SKIPPED_LEN_MAX + 1), b"a", id="large"),
    ],
)
def test_what_can_not_be_dropped_ends_the_connection(pair, head, rest):
    """Without a second answer: the request has had its own."""
    client = refused(pair, head)
    client.sock.sendall(rest + GET_OWN)
    assert read_all(client.sock) == b""


@pytest.mark.parametrize("head", [HEAD, SIZED % 10], ids=["chunked", "sized"])
def test_content_that_does_not_come_ends_the_connection(pair, head):
    """After `body_timeout_ms`, and without an answer."""
    client = refused(pair, head, server_body_timeout_ms=300)
    assert read_all(client.sock) == b""


@pytest.mark.parametrize("near, far", PAIRS)
def test_a_client_that_breaks_off_is_gone_for_the_upstream(pair, near, far):
    handle = Beginning()
    client, server, _ = pair(near, far, handle)
    assert_begins(client)
    client.send(b"part")
    client.close()
    assert handle.ended.wait(WAIT_S)
    assert server.is_alive()


@pytest.mark.parametrize("near, far", PAIRS)
def test_a_client_that_is_held_back_and_resets_is_gone_at_once(pair, near, far):
    """Its connection is not read then; its upstream is let go all the same."""
    go_on = threading.Event()

    def handle(upstream) -> None:
        begin_slowly(upstream, go_on)

    client, server = slow_pair(pair, near, far, handle)
    sock = client.sock if near == "1.1" else client.h2.sock
    sock.settimeout(0.5)
    with pytest.raises(TimeoutError):
        for _ in range(256):
            client.send(b"y" * 65_536)
    assert active_count(server) == 1
    linger = struct.pack("ii", 1, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    sock.close()
    assert wait_until(lambda: active_count(server) == 0, 5)
    go_on.set()


def active_count(server) -> int:
    with Client(server) as client:
        client.send(b"GET /figures HTTP/1.1\r\nHost: x\r\n\r\n")
        for line in client.response().body.decode().splitlines():
            if line.startswith("flare_upstream_active_requests{"):
                return int(line.rpartition(" ")[2])
    raise AssertionError("there is no such figure")


@pytest.mark.parametrize("broken", [b"zz\r\n", b"5\r\nhelloX"])
@pytest.mark.parametrize("far", UPSTREAMS)
def test_content_that_breaks_a_rule_ends_both_sides(pair, far, broken):
    """RFC 9112 section 7.1; the status is sent already."""
    handle = Beginning()
    client, server, _ = pair("1.1", far, handle)
    assert_begins(client)
    client.sock.sendall(broken)
    assert client.sees_break()
    assert handle.ended.wait(WAIT_S)
    assert wait_until(lambda: "within a response" in server.stderr())


@pytest.mark.parametrize("near, far", PAIRS)
def test_content_is_bounded_behind_the_head_of_a_response(pair, near, far):
    """`max_body_size` holds; 413 would come too late."""
    handle = Beginning()
    client, *_ = pair(near, far, handle, max_body_size=10_000)
    assert_begins(client)
    client.send(b"x" * 9_999)
    client.send(b"xx")
    assert client.sees_break()
    assert handle.ended.wait(WAIT_S)


@pytest.mark.parametrize("near, far", PAIRS)
def test_silence_of_both_directions_ends_a_response(pair, near, far):
    handle = Beginning()
    client, *_ = pair(near, far, handle, idle_timeout_ms=500)
    assert_begins(client)
    assert client.sees_break()
    assert handle.ended.wait(WAIT_S)


@pytest.mark.parametrize("near", CLIENTS)
def test_a_client_may_take_its_time_behind_the_head(pair, near):
    """`body_timeout_ms` and `min_body_rate` hold up to the head of the response."""
    client, *_ = pair(near, "1.1", echo, server_body_timeout_ms=300)
    client.ask()
    assert client.respond() == 200
    began = time.monotonic()
    while time.monotonic() - began < 1.2:
        client.send(b"a word")
        assert client.read() == b"a word"
        time.sleep(0.2)
    client.finish()
    assert client.rest() == b""


@pytest.mark.parametrize("near, far", [("1.1", "1.1"), ("2", "2")])
def test_an_upstream_may_be_silent_while_it_takes_content(pair, near, far):
    """Longer than it may be silent otherwise."""

    def handle(upstream) -> None:
        upstream.request()
        upstream.respond()
        upstream.send(b"a")
        while upstream.read():
            pass
        upstream.send(b"done")
        upstream.finish()
        upstream.request()

    client, *_ = pair(near, far, handle, idle_timeout_ms=2_500)
    assert_begins(client)
    began = time.monotonic()
    while time.monotonic() - began < 3.5:
        client.send(b"drip")
        time.sleep(0.05)
    client.finish()
    assert client.rest() == b"done"


@pytest.mark.parametrize("far", UPSTREAMS)
def test_content_that_nobody_has_asked_for_is_not_waited_for(pair, far):
    """RFC 9110 section 10.1.1: a final status in place of 100."""
    go_on = threading.Event()

    def handle(upstream) -> None:
        upstream.request()
        upstream.respond(b"401 No")
        upstream.send(b"first ")
        go_on.wait(WAIT_S)
        upstream.send(b"log in")
        upstream.finish()
        upstream.sees_end()

    client, *_ = pair("1.1", far, handle)
    head = HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost")
    client.sock.sendall(head)
    assert client.respond() == 401
    assert b"connection: close" in client.head.lower()
    go_on.set()
    assert client.rest() == b"first log in"
    assert read_all(client.sock) == b""


def test_trailers_follow_content_that_went_on(pair):
    """RFC 9110 section 6.5."""
    seen = []

    def handle(upstream: PlainUpstream) -> None:
        upstream.request()
        upstream.respond()
        upstream.send(b"a")
        while upstream.read():
            pass
        seen.append(upstream.chunks.trailers)
        upstream.finish()
        upstream.request()

    client, *_ = pair("1.1", "1.1", handle)
    assert_begins(client)
    client.send(b"part")
    client.sock.sendall(b"0\r\nX-Sum: 4\r\n\r\n")
    assert client.rest() == b""
    assert seen == [[b"X-Sum: 4"]]


@pytest.mark.parametrize("is_slow", [False, True], ids=["whole", "arriving"])
def test_trailers_follow_content_of_a_known_length(pair, is_slow):
    """RFC 9113 section 8.1: HTTP/2 has both; over HTTP/1.1 trailer fields need chunks
    (RFC 9112 section 7.1.2)."""
    seen, begun = [], threading.Event()

    def handle(upstream: PlainUpstream) -> None:
        head = upstream.request().lower()
        begun.set()
        pieces = b"".join(iter(upstream.read, b""))
        seen.append((head, pieces, upstream.chunks.trailers))
        upstream.respond()
        upstream.finish()
        upstream.request()

    client, *_ = pair("2", "1.1", handle)
    h2 = client.h2
    fields = [("content-length", "8"), ("trailer", "x-sum")]
    stream = h2.request("/echo", "POST", fields, ends=False)
    h2.data(stream, b"abcd")
    if is_slow:
        assert begun.wait(WAIT_S)
    h2.data(stream, b"efgh")
    h2.headers(block(("x-sum", "4")), stream=stream)
    assert h2.answer(stream).status == 200
    [(head, content, trailers)] = seen
    assert "transfer-encoding: chunked" in head and "content-length" not in head
    assert "trailer: x-sum" in head
    assert content == b"abcdefgh" and trailers == [b"x-sum: 4"]


@pytest.mark.parametrize("near, far", PAIRS)
def test_a_client_that_owes_content_says_nothing_of_the_upstream(pair, near, far):
    """Both are silent then, and it ends; but the upstream may only wait for the rest
    of the request, and the next one gets there."""
    ends = threading.Event()

    def handle(upstream) -> None:
        while upstream.request():
            upstream.respond()
            upstream.send(b"begun")
            if not ends.is_set():
                upstream.sees_end()
                return
            upstream.finish()

    client, server, _ = pair(near, far, handle, idle_timeout_ms=300, failures_to_open=1)
    client.ask()
    assert client.respond() == 200
    assert client.read() == b"begun"
    with pytest.raises((EOFError, OSError)):
        client.rest()
    ends.set()
    other = type(client)(server)
    other.ask()
    assert other.respond() == 200
    other.close()
