"""Options of ReverseProxy, seen from both sides: each test fails if its option is
ignored."""

import queue
import threading
import time

import pytest
from conftest import Client, wait_until
from h2_client import H2Client
from raw_server import Connection, RawServer, answering
from test_proxy_http2_upstream import Upstream, proxied_h2  # noqa: F401

WAIT_S = 10


def get(path: bytes = b"/", fields: bytes = b"") -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (path, fields)


def response(content: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content)


def ask(server, request: bytes = get()):
    with Client(server, WAIT_S) as client:
        client.send(request)
        return client.response()


def named(count: int) -> list:
    return [answering(response(b"%d" % number)) for number in range(count)]


def silent(connection: Connection) -> None:
    connection.head()
    connection.sock.settimeout(WAIT_S)
    connection.sock.recv(1)


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"


@pytest.mark.parametrize(
    ("options", "request_octets", "statuses"),
    [
        ({}, get(), {200, 503}),
        ({"retried_statuses": "503"}, get(), {200}),
        ({"retried_statuses": "500,503"}, get(), {200}),
        ({"retried_statuses": "500"}, get(), {200, 503}),
        # RFC 9110 section 9.2.2: not what may have been acted upon.
        ({"retried_statuses": "503"}, POST, {200, 503}),
    ],
)
def test_retried_statuses(proxied_group, options, request_octets, statuses):
    answers = response(b"ok"), response(b"busy", b"503 Busy")
    # Without ejection, so that each upstream has its turn.
    options |= {"failures_to_eject": 0, "failure_share_percent": 0}
    _, server = proxied_group(*[answering(answer) for answer in answers], **options)
    assert {ask(server, request_octets).status for _ in range(8)} == statuses


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"key_field": "X-User"}, b"X-User: %d\r\n"),
        ({"key_cookie": "user"}, b"Cookie: a=b; user=%d\r\n"),
        ({"key_path": 1}, None),
        ({}, b"X-User: %d\r\nCookie: user=%d\r\n"),
    ],
)
def test_what_consistent_hashing_looks_at(proxied_group, options, field):
    """The same key leads to the same upstream, and others elsewhere."""
    _, server = proxied_group(*named(4), balance="consistent_hash", **options)

    def upstream_of(number: int) -> bytes:
        if field is None:
            return ask(server, get(b"/%d" % number)).body
        values = (number,) * field.count(b"%d")
        return ask(server, get(b"/", field % values)).body

    found = [upstream_of(number) for number in range(16)]
    assert found == [upstream_of(number) for number in range(16)]
    # By default it is the client's address, which all have in common.
    assert len(set(found)) == 1 if not options else len(set(found)) > 1


def test_a_weight_may_be_changed(proxied_group):
    upstreams, server = proxied_group(*named(2))
    counts = [ask(server).body for _ in range(20)]
    assert counts.count(b"0") == counts.count(b"1") == 10
    answer = ask(server, get(b"/upstreams?weight=4&url=" + upstreams[1].url.encode()))
    assert answer.status == 200
    counts = [ask(server).body for _ in range(50)]
    assert counts.count(b"0") == 10 and counts.count(b"1") == 40


def test_time_to_connect(start):
    """It counts until TLS is agreed on, too."""
    ended = threading.Event()
    upstream = RawServer(lambda _: ended.wait(WAIT_S))
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", connect_timeout_ms=300
    )
    began = time.monotonic()
    answer = ask(server)
    took = time.monotonic() - began
    ended.set()
    upstream.close()
    assert answer.status == 504 and took > 0.25
    assert answer.fields["proxy-status"] == "flare; error=connection_timeout"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_how_often_a_request_is_sent(proxied_group, count):
    def ends(connection: Connection) -> None:
        connection.head()

    upstreams, server = proxied_group(*[ends] * 5, max_attempts=count)
    assert ask(server).status == 502
    assert sum(upstream.connection_count for upstream in upstreams) == count


@pytest.mark.parametrize(("options", "status"), [({}, 504), ({"retries_timeouts": 1}, 200)])
def test_timeouts_are_repeated_if_that_is_wanted(proxied_group, options, status):
    _, server = proxied_group(silent, answering(response(b"ok")), head_timeout_ms=300, **options)
    # The first in turn is the silent one.
    assert ask(server).status == status


def test_the_same_upstream_has_no_second_time_for_its_head(proxied_group):
    """`head_timeout_ms` runs on however many connections: the first ends late,
    the second would have answered within the time by itself."""

    def handle(connection: Connection) -> None:
        connection.head()
        if connection.number > 1:
            time.sleep(2.0)
            return connection.send(response(b"late"))
        connection.send(response(b"ok"))
        connection.head()
        time.sleep(2.0)

    (upstream,), server = proxied_group(handle, head_timeout_ms=3_000)
    assert ask(server).status == 200
    assert ask(server).status == 504
    assert upstream.connection_count == 2


def test_how_many_requests_an_upstream_has(proxied_group):
    asked, go_on = threading.Semaphore(0), threading.Event()

    def waits(connection: Connection) -> None:
        while connection.head():
            asked.release()
            go_on.wait(WAIT_S)
            connection.send(response(b"ok"))

    _, server = proxied_group(waits, max_requests=2)
    clients = [Client(server, WAIT_S) for _ in range(2)]
    for client in clients:
        client.send(get())
        assert asked.acquire(timeout=WAIT_S)
    answer = ask(server)
    assert answer.status == 503
    assert answer.fields["proxy-status"] == "flare; error=connection_limit_reached"
    assert answer.body.startswith(b"all upstreams have as many requests as they may")
    go_on.set()
    for client in clients:
        assert client.response().body == b"ok"
        client.sock.close()
    assert ask(server).body == b"ok"


def test_time_for_health_checks(proxied_group):
    """What does not answer in time is down, long before the next check."""

    def handle(connection: Connection) -> None:
        if connection.head().startswith("GET /health "):
            connection.sock.recv(1)
        else:
            connection.send(response(b"ok"))

    _, server = proxied_group(
        handle, health_path="/health", health_timeout_ms=100, health_interval_ms=100,
        unhealthy_after=5,
    )
    assert ask(server).body == b"ok"
    began = time.monotonic()
    assert wait_until(lambda: ask(server, get(b"/upstreams")).body.startswith(b"down"))
    # Five of two seconds each would take ten.
    assert time.monotonic() - began < 8


def test_health_checks_ask_for_the_host_that_requests_ask_for(proxied_group):
    """docs/reverse-proxy.md, `fixed_host`: an upstream of several hosts answers each
    by itself (RFC 9110 section 7.2)."""
    asked = queue.Queue()

    def handle(connection: Connection) -> None:
        while head := connection.head():
            if head.startswith("GET /health "):
                asked.put(head.split("\r\n")[1])
            connection.send(response(b"ok"))

    _, server = proxied_group(handle, health_path="/health", fixed_host="shop.example")
    assert ask(server).body == b"ok"
    assert asked.get(timeout=20) == "Host: shop.example"


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"max_fields": 20}, b"X: y\r\n" * 20),
        ({"max_header_size": 1_000}, b"X: %s\r\n" % (b"y" * 1_000)),
    ],
)
def test_how_much_of_a_head_is_read(proxied_group, options, fields):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%s\r\nok" % fields
    _, server = proxied_group(answering(answer))
    with Client(server) as client:
        client.send(get())
        assert client.sock.recv(12) == b"HTTP/1.1 200"
    _, server = proxied_group(answering(answer), **options)
    assert ask(server).status == 502


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
def test_long_heads_of_requests_pass(proxied_group, version):
    """docs/reverse-proxy.md, "Long heads": as long as the server takes them."""
    seen = []

    def http1(connection: Connection) -> None:
        seen.append(connection.head())
        connection.send(response(b"ok"))

    def http2(connection: Connection) -> None:
        peer = Upstream(connection)
        peer.begin()
        stream = peer.request()
        seen.append(str(peer.asked[stream]))
        peer.answer(stream)
        peer.drain()

    is_http2 = version == "HTTP/2"
    request = get(b"/", b"Cookie: a=%s\r\n" % (b"b" * 30_000))
    options = {"http2_prior_knowledge": int(is_http2)}
    _, server = proxied_group(http2 if is_http2 else http1, **options)
    assert ask(server, request).status == 431
    _, server = proxied_group(http2 if is_http2 else http1, server_max_header_size=32_768, **options)
    assert ask(server, request).body == b"ok"
    assert "a=" + "b" * 30_000 in seen[0]


def test_how_long_content_may_be(proxied_group):
    upload = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" + bytes(1_001)
    upstreams, server = proxied_group(answering(response(b"ok")), max_body_size=1_000)
    assert ask(server, upload).status == 413
    assert upstreams[0].connection_count == 0
    _, server = proxied_group(answering(response(b"ok")), max_body_size=1_001)
    assert ask(server, upload).status == 200


HINTED = b"HTTP/1.1 103 E\r\nLink: </a>\r\nServer: up\r\n\r\n" + response(b"ok")


def hinted(peer: Upstream) -> None:
    while True:
        stream = peer.request()
        peer.head(stream, ("link", "</a>"), ("server", "up"), status=103)
        peer.answer(stream)


@pytest.mark.parametrize("is_http2", [False, True])
def test_fields_that_are_set_stand_on_final_responses_alone(
    proxied, proxied_h2, is_http2
):
    """RFC 9110 section 15.2. The upstream's own are left out of both."""
    launch, handle = (proxied_h2, hinted) if is_http2 else (proxied, answering(HINTED))
    _, server = launch(handle, response_field="Server:gateway")
    with Client(server, WAIT_S) as client:
        client.send(get())
        hint, answer = client.response(), client.response()
    assert (hint.status, hint.fields) == (103, {"link": "</a>"})
    assert (answer.status, answer.fields["server"]) == (200, "gateway")


@pytest.mark.parametrize(
    ("method", "content", "status"),
    [
        ("TRACE", b"Content-Length: 1\r\n\r\nx", 400),
        ("TRACE", b"Content-Length: 2\r\n\r\nx", 400),
        ("TRACE", b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 400),
        ("TRACE", b"Transfer-Encoding: chunked\r\n\r\n1\r\n", 400),
        ("TRACE", b"Content-Length: 0\r\n\r\n", 200),
        ("TRACE", b"\r\n", 200),
        ("GET", b"Content-Length: 1\r\n\r\nx", 200),
    ],
)
def test_a_trace_with_content_is_not_sent_on(proxied, method, content, status):
    """RFC 9110 section 9.3.8: a client must not send any, as the gateway is to the
    upstream. Content may have come with the head, or not."""
    upstream, server = proxied(answering(response(b"ok")))
    head = b"%s / HTTP/1.1\r\nHost: x\r\n" % method.encode()
    assert ask(server, head + content).status == status
    assert upstream.connection_count == (1 if status == 200 else 0)


def test_nor_is_one_over_http2(proxied):
    upstream, server = proxied(answering(response(b"ok")))
    with H2Client(server) as client:
        stream = client.request("/", "TRACE", ends=False)
        assert client.reset_of(stream).status == 400
    assert upstream.connection_count == 0
