"""Fields behind content, over both versions (RFC 9110 section 6.5)."""

import subprocess
from dataclasses import dataclass

import pytest
from conftest import Server, read_all
from h2_client import INITIAL_WINDOW, H2Client, encode
from wire_programs import built

VERSIONS = ["1.1", "2"]
GET = b"GET %s HTTP/%s\r\nHost: test\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module", params=[0, 2], ids=["loop", "threads"])
def server(request):
    running = Server(built("message_server"), [f"handler_threads={request.param}"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture(scope="module")
def threads():
    running = Server(built("message_server"), ["handler_threads=2"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@dataclass
class Got:
    """A response as curl takes it."""

    code: int
    fields: dict[str, str]
    trailers: dict[str, str]
    body: bytes


def lines(text: str) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in text.split("\r\n") if ": " in line)
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name.lower()] = ", ".join(filter(None, [found.get(name.lower()), value]))
    return found


def curl(server, version: str, path: str, *options: str, tmp_path) -> Got:
    heads = tmp_path / "heads"
    flag = "--http2-prior-knowledge" if version == "2" else "--http1.1"
    result = subprocess.run(
        ["curl", "-s", "--max-time", "10", flag, "-D", heads, *options, server.url + path],
        capture_output=True,
    )
    head, _, rest = heads.read_bytes().decode().partition("\r\n\r\n")
    # What is broken off at once may be seen with its head or without.
    assert result.returncode or head.startswith(f"HTTP/{version} "), head
    return Got(result.returncode, lines(head), lines(rest), result.stdout)


@pytest.fixture
def ask(server, tmp_path):
    return lambda version, path, *options: curl(
        server, version, path, *options, tmp_path=tmp_path
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 16_384, 70_000, 1_000_000])
def test_content_in_memory(ask, version, size):
    got = ask(version, f"/memory/{size}")
    assert got.code == 0 and got.body == b"x" * size
    # RFC 9110 section 6.6.2: they are announced.
    assert got.fields["trailer"] == "X-Sum, Server-Timing"
    assert got.trailers == {"x-sum": "7", "server-timing": "db;dur=3"}
    # Clients that have been told a length may stop there.
    assert "content-length" not in got.fields
    is_chunked = got.fields.get("transfer-encoding") == "chunked"
    assert is_chunked == (version == "1.1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 3, 20_000])
def test_a_source_says_more_at_its_end(ask, version, count):
    got = ask(version, f"/summed/{count}")
    assert got.code == 0 and got.body == b"0123456789" * count
    assert got.trailers == {"x-count": str(count)}
    got = ask(version, f"/summed/{count}?more=1")
    assert got.trailers == {"x-count": str(count), "x-more": "1"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 16_384, 16_385, 1_000_000])
def test_a_source_that_has_all(ask, version, size):
    got = ask(version, f"/whole/{size}")
    assert got.code == 0 and got.body == b"x" * size
    assert got.trailers == {"x-length": str(size)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("announced", [2, 4])
def test_a_source_that_has_another_length_than_announced(ask, server, version, announced):
    # RFC 9110 section 8.6: a sender must not send another length.
    got = ask(version, f"/whole/3?announced={announced}")
    assert got.code != 0
    assert f"a stream of {announced} octets made 3" in server.stderr()


@pytest.mark.parametrize("version", VERSIONS)
def test_content_of_known_length(ask, version):
    got = ask(version, "/summed/3?length=trailer")
    assert got.body == b"0123456789" * 3 and got.trailers == {"x-count": "3"}
    # RFC 9112 section 6: content with a Content-Length has no trailer section.
    got = ask(version, "/summed/3?length=alone")
    assert got.fields["content-length"] == "30" and got.body == b"0123456789" * 3
    if version == "1.1":
        assert got.trailers == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_trailers_that_fail_break_the_content_off(ask, server, version):
    got = ask(version, "/summed/3?fails=1")
    assert got.code != 0
    assert "no sum" in server.stderr()
    got = ask(version, "/whole/3?fails=1")
    assert got.code != 0
    assert "a stream failed: no length [route" in server.stderr()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_may_be_no_trailer_is_refused(ask, server, version):
    assert b"internal" in ask(version, "/refused").body
    assert "trailer 'Set-Cookie': it is needed before the content" in server.stderr()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("status", [204, 205, 304])
def test_without_content_there_are_none(ask, version, status):
    got = ask(version, f"/status/{status}")
    assert (got.code, got.body, got.trailers) == (0, b"", {})


@pytest.mark.parametrize("version", VERSIONS)
def test_head_has_none(ask, version):
    got = ask(version, "/memory/5", "-I")
    assert got.code == 0 and got.trailers == {}
    assert got.fields["trailer"] == "X-Sum, Server-Timing"


def test_the_trailer_section_on_the_wire(server):
    """RFC 9112 section 7.1.2, octet for octet."""
    with server.connect() as sock:
        sock.sendall(GET % (b"/memory/4", b"1.1"))
        _, body = read_all(sock).split(b"\r\n\r\n", 1)
    assert body == b"4\r\nxxxx\r\n0\r\nX-Sum: 7\r\nServer-Timing: db;dur=3\r\n\r\n"


def test_http_1_0_knows_no_trailers(server):
    with server.connect() as sock:
        sock.sendall(GET % (b"/memory/2", b"1.0"))
        head, body = read_all(sock).split(b"\r\n\r\n", 1)
    assert b"Content-Length: 2" in head and b"Transfer-Encoding" not in head
    assert body == b"xx"


def test_pipelined_requests_follow_the_trailers(server):
    with server.connect() as sock:
        sock.sendall(
            b"GET /memory/1 HTTP/1.1\r\nHost: a\r\n\r\n" + GET % (b"/memory/2", b"1.1")
        )
        got = read_all(sock)
    assert got.count(b"\r\nX-Sum: 7\r\n") == got.count(b"HTTP/1.1 200 OK") == 2
    assert got.endswith(b"2\r\nxx\r\n0\r\nX-Sum: 7\r\nServer-Timing: db;dur=3\r\n\r\n")


def test_a_reader_has_the_trailers_of_a_request_at_its_end(threads):
    with threads.connect() as sock:
        sock.sendall(
            b"POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        )
        sock.sendall(b"0\r\nX-T: late\r\n\r\n")
        assert read_all(sock).endswith(b" late")


@pytest.mark.parametrize("length", [0, 3, 100_000])
def test_trailers_of_a_request_over_http_2(threads, probe, length):
    """RFC 9113 section 8.1: a field block that ends the stream."""
    content = b"a" * length
    with H2Client(probe) as client:
        stream = client.request("/trailers", "POST", ends=False)
        sent(client, stream, content)
        client.headers(encode([("x-a", "b"), ("x-c", "d")]), stream=stream)
        assert client.answer(stream).body == content + b"|x-a=bx-c=d"
    with H2Client(threads) as client:
        stream = client.request("/upload", "POST", ends=False)
        sent(client, stream, content)
        client.settle()
        client.headers(encode([("x-t", "late")]), stream=stream)
        assert client.answer(stream).body.endswith(b" late")


def sent(client: H2Client, stream: int, content: bytes) -> None:
    """Sends content as the windows allow, and does not end the stream."""
    while content:
        room = min(client.room, client.room_of(stream), 16_384)
        if room <= 0:
            client.take_frame()
            continue
        client.data(stream, content[:room])
        content = content[room:]


def test_frames_behind_the_content(threads):
    """No empty DATA, and END_STREAM on the trailers (RFC 9113 section 8.1)."""
    with H2Client(threads, {INITIAL_WINDOW: 3}) as client:
        client.grants = False
        stream = client.request("/memory/5")
        client.until(lambda: client.order)
        client.settle()
        # A shut window keeps content back, and what follows it.
        assert client.answers[stream].body == b"x" * 3
        assert client.answers[stream].trailers is None
        client.grant(stream, 2)
        answer = client.answer(stream)
        assert answer.body == b"x" * 5
        assert answer.trailers == [("x-sum", "7"), ("server-timing", "db;dur=3")]
        assert client.order == [(stream, 3), (stream, 2)] and answer.reset is None
        empty = client.get("/memory/0")
        assert empty.trailers and len(client.order) == 2
