"""HostRouter: which host a request is for, over HTTP/1.1 and HTTP/2; RFC 9110
section 15.5.20, RFC 9112 section 3.2.2, RFC 9113 section 8.3.1."""

import pytest
from conftest import Client
from h2_client import H2Client
from h2_hpack import encode
from raw_server import RawServer, answering

SEEN = []


def passed_on(head: str, _: bytes) -> bytes:
    SEEN.append(head)
    return b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nupstream"


@pytest.fixture
def server(start):
    upstream = RawServer(answering(passed_on))
    yield start("host_server", upstream=upstream.url, handler_threads=2)
    upstream.close()


def over_http1(server, host: str, path: str, method: str = "GET", content: bytes = b""):
    with Client(server) as client:
        client.send(
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n".encode() + content
        )
        answer = client.response()
        return answer.status, answer.body.decode(), answer.fields


def over_http2(server, host: str, path: str, method: str = "GET", content: bytes = b""):
    with H2Client(server) as client:
        fields = [
            (":method", method), (":scheme", "http"), (":path", path),
            (":authority", host), ("content-length", str(len(content))),
        ]  # fmt: skip
        stream = client.headers(encode(fields), ends=not content)
        if content:
            client.upload(stream, content)
        answer = client.answer(stream)
        return answer.status, answer.body.decode(), answer.fields


ROWS = [
    ("example.org", "/site/a", 200, "site of example.org a"),
    ("EXAMPLE.org:8080", "/site/a", 200, "site of EXAMPLE.org:8080 a"),
    ("example.org", "/other", 404, "not found: /other\n"),
    ("a.b.example.org", "/x", 200, "tenant at a.b.example.org /x"),
    ("gate.example.org", "/x", 200, "upstream"),
    ("x.gate.example.org", "/x", 200, "tenant at x.gate.example.org /x"),
    ("elsewhere.net", "/site/a", 421, "this server has no such host\n"),
    ("[::1]", "/site/a", 421, "this server has no such host\n"),
]  # fmt: skip


@pytest.mark.parametrize("ask", [over_http1, over_http2])
def test_hosts_lead_to_their_handlers(server, ask):
    for host, path, status, body in ROWS:
        got_status, got_body, _ = ask(server, host, path)
        assert (got_status, got_body.strip()) == (status, body.strip()), host


@pytest.mark.parametrize("ask", [over_http1, over_http2])
def test_a_gateway_behind_a_host(server, ask):
    SEEN.clear()
    assert ask(server, "gate.example.org", "/y", "POST", b"content")[:2] == (200, "upstream")
    assert "\r\nHost: gate.example.org\r\n" in SEEN[0]


@pytest.mark.parametrize("ask", [over_http1, over_http2])
def test_limits_and_refusals_are_those_of_the_host(server, ask):
    status, _, fields = ask(server, "example.org", "/small", "POST", b"x" * 11)
    assert status == 413
    assert fields["x-content-type-options"] == "nosniff"
    assert "x-content-type-options" not in ask(server, "no.net", "/small", "POST", b"x" * 11)[2]
    assert ask(server, "example.org", "/upload", "POST", b"x" * 70_000)[:2] == (200, "70000")


def test_an_absolute_target_outranks_host(server):
    answer = over_http1(server, "elsewhere.net", "http://example.org/site/b")
    assert answer[:2] == (200, "site of example.org b")
    assert over_http1(server, "example.org", "http://elsewhere.net/site/b")[0] == 421


def test_a_request_without_host(server):
    with Client(server) as client:
        client.send(b"GET /site/a HTTP/1.0\r\n\r\n")
        assert client.response().status == 421


def test_content_of_an_unknown_host_is_not_waited_for(server):
    with Client(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: no.net\r\nContent-Length: 9\r\n\r\n")
        assert client.response().status == 421


def test_host_fields_that_differ_from_authority_are_refused(server):
    """RFC 9113 section 8.3.1: one host for both."""
    with H2Client(server) as client:
        fields = client.fields("GET", "/site/a")[:3]
        fields += [(":authority", "example.org"), ("host", "a.example.org")]
        stream = client.headers(encode(fields))
        assert client.answer(stream).status != 200
