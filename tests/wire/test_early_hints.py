"""103 (Early Hints) before a response, over both versions (RFC 8297)."""

import subprocess

import pytest
from conftest import Client, Server, read_all
from ready import ready
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
A, B, C = "</a.css>; rel=preload; as=style", "</b.js>; rel=preload", "</c.js>; rel=preload"
LINKS = [f"link: {link}" for link in (A, B, C)]


def running(threads: int):
    server = Server(built("message_server"), [f"handler_threads={threads}"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


@pytest.fixture(scope="module")
def loop():
    yield from running(0)


@pytest.fixture(scope="module")
def threads():
    yield from running(4)


@pytest.fixture(params=["loop", "threads"])
def server(request):
    return request.getfixturevalue(request.param)


def heads(server, path: str, *options: str) -> list[list[str]]:
    """The lines of all heads that curl gets for a request, in lower case."""
    result = subprocess.run(
        ["curl", "-s", "--max-time", "10", "-D", "-", "-o", "/dev/null", *options, server.url + path],
        capture_output=True,
        check=True,
    )
    blocks = result.stdout.decode().removesuffix("\r\n\r\n").split("\r\n\r\n")
    return [block.lower().split("\r\n") for block in blocks]


def interim(client: Client) -> list[str]:
    """Gives the lines of the next response, which is a 103."""
    while b"\r\n\r\n" not in client.buffer:
        client._more()
    head, client.buffer = client.buffer.split(b"\r\n\r\n", 1)
    first, *lines = head.decode().split("\r\n")
    assert first == "HTTP/1.1 103 Early Hints"
    return lines


@pytest.mark.parametrize(
    "version, flag", [("1.1", "--http1.1"), ("2", "--http2-prior-knowledge")]
)
def test_hints_come_before_the_response(server, version, flag):
    *early, last = heads(server, "/hinting?tag=1", flag)
    assert last[0].startswith(f"http/{version} 200")
    assert all(head[0].startswith(f"http/{version} 103") for head in early)
    # Each call is a response of its own, or all are one.
    assert len(early) in (1, 2)
    assert [line for head in early for line in head[1:]] == LINKS
    assert not [line for line in last if line.startswith("link")]


def test_a_thread_is_ahead_of_its_response(threads):
    with Client(threads) as client:
        client.send(GET % b"/hinting?pause=2000&tag=1")
        assert interim(client) == [f"Link: {A}"]
        assert interim(client) == [f"Link: {B}", f"Link: {C}"]
        # The thread still works.
        assert not client.buffer and not ready([client.sock], 0)
        assert client.response().body == b"hinted 1"


@pytest.mark.parametrize("flag", ["--http1.1", "--http2-prior-knowledge"])
def test_an_errand_hints_before_its_response(start, flag):
    server = start("proxy_server", upstream="http://127.0.0.1:1")
    early, last = heads(server, "/pause?ms=5&hint=%3C%2Fa.css%3E", flag)
    assert " 103" in early[0] and early[1:] == ["link: </a.css>"]
    assert " 200" in last[0] and "x-middleware: was here" in last


@pytest.mark.parametrize("flag", ["--http1.1", "--http2-prior-knowledge"])
@pytest.mark.parametrize("wait", ["", "5"])
def test_a_handler_that_may_answer_later_hints(start, flag, wait):
    server = start("proxy_server", upstream="http://127.0.0.1:1")
    early, last = heads(server, f"/pause?ms={wait}&early=%3C%2Fa.css%3E", flag)
    assert " 103" in early[0] and early[1:] == ["link: </a.css>"]
    assert " 200" in last[0]


def test_those_of_a_pipelined_request_wait_for_the_answers_before_it(server):
    with Client(server) as client:
        client.send(
            GET % b"/memory/4" + GET % b"/hinting?tag=2" + GET % b"/hinting?tag=3&pause=1"
        )
        client.send(b"GET /summed/1?length=alone HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = client.buffer + read_all(client.sock)
    order = [got.index(mark) for mark in (b"xxxx\r\n", b"a.css", b"hinted 2", b"hinted 3", b"0123456789")]
    assert order == sorted(order)
    assert got.count(b"103 Early Hints") in (2, 4) and got.count(b"a.css") == 2
    assert got.index(b"hinted 2") < got.rindex(b"a.css") < got.index(b"hinted 3")


def test_http_1_0_is_told_nothing(server):
    with server.connect() as sock:
        sock.sendall(b"GET /hinting?tag=4 HTTP/1.0\r\n\r\n")
        got = read_all(sock)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n") and b"103" not in got
    assert got.endswith(b"hinted 4")


@pytest.mark.parametrize("flag", ["--http1.1", "--http2-prior-knowledge"])
def test_a_link_cannot_end_its_line(server, flag):
    (last,) = heads(server, "/splitting", flag)
    assert " 500" in last[0] and not [line for line in last if "evil" in line]


@pytest.mark.parametrize("flag", ["--http1.1", "--http2-prior-knowledge"])
def test_a_handler_that_fails_behind_its_hints(server, flag):
    *early, last = heads(server, "/hinting?fails=1", flag)
    assert early and " 500" in last[0]


def test_hints_of_a_request_with_content(server):
    *early, last = heads(server, "/hinting?tag=5", "--http1.1", "-d", "x" * 5000)
    assert early and " 200" in last[0]
    with Client(server) as client:
        # RFC 9110 section 15.2: a client waits for 100 all the same.
        client.send(
            b"POST /hinting?tag=6 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
            b"Expect: 100-continue\r\n\r\n"
        )
        assert client.response().status == 100
        client.send(b"x")
        assert interim(client)[0] == f"Link: {A}"


def test_a_client_that_has_gone_is_told_nothing(threads):
    for _ in range(20):
        with threads.connect() as sock:
            sock.sendall(GET % b"/hinting?pause=20")
    with Client(threads) as client:
        client.send(GET % b"/summed/1?length=alone")
        assert client.response().body == b"0123456789"
