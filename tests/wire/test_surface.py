"""What applications write most: builders, look-ups, stacks, compiled routes."""

import http.client

import pytest
from conftest import Server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_socket
from wire_programs import built


@pytest.fixture(scope="module")
def surface():
    server = Server(built("surface_server"), [])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def ask(server, path, method="GET", **headers):
    """Gives status, fields and content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request(method, path, None, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, response.headers, content


@pytest.mark.parametrize(
    "kind, status, retry_after, content",
    [
        ("accepted", 202, None, b"soon"),
        ("conflict", 409, None, b"conflict"),
        ("unprocessable", 422, None, b"unprocessable content"),
        ("limited", 429, "30", b"too many requests"),
        ("busy", 503, "5", b"service unavailable"),
    ],
)
def test_builders(surface, kind, status, retry_after, content):
    got, headers, body = ask(surface, f"/api/answers/{kind}")
    assert (got, headers["Retry-After"], body) == (status, retry_after, content)


def test_status_fields_and_cookies_in_one_expression(surface):
    status, headers, content = ask(surface, "/api/answers/made")
    assert (status, content) == (201, b"{}")
    assert headers["Location"] == "/api/made/1"
    assert headers["Content-Type"] == "application/json"
    assert headers.get_all("Set-Cookie") == ["a=1", "b=2"]


@pytest.mark.parametrize(
    "query, content",
    [
        ("", b"none 20"),
        ("?page=", b"[] 20"),
        ("?page", b"[] 20"),
        ("?page=2&size=5", b"[2] 5"),
        ("?page=a%20b&size=", b"[a b] "),
    ],
)
def test_missing_is_told_from_empty(surface, query, content):
    assert ask(surface, f"/api/page{query}")[2] == content


def test_middleware_gives_a_value_to_the_handler(surface):
    assert ask(surface, "/api/who", Cookie="x=1; user=ann")[2] == b"[ann]"
    assert ask(surface, "/api/who")[2] == b"[]"


def test_the_whole_stack_answers(surface):
    for path, status in [("/api/who", 200), ("/api", 404), ("/api/who/", 404)]:
        got, headers, content = ask(surface, path)
        assert got == status, path
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert len(headers["X-Request-Id"]) == 32
    assert content == b"no /api/who/"


def test_a_wrong_method_is_no_fallback(surface):
    status, headers, _ = ask(surface, "/api/who", "POST")
    assert status == 405
    assert "GET" in headers["Allow"]


def test_websocket_beside_compiled_routes(surface):
    url = f"ws://127.0.0.1:{surface.port}"
    for _ in range(2):
        with open_socket(f"{url}/upper") as ws:
            for text in ["a", "h\u00e4" * 500]:
                ws.send(text)
                assert ws.recv(5) == text.upper()
    with pytest.raises(InvalidStatus):
        open_socket(f"{url}/api/who")
