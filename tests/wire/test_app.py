"""Applications over real sockets: state, middleware, inputs, documents."""

import gzip
import http.client
import json
import threading

import pytest

from conftest import Server
from wire_programs import built

WORKER_COUNT = 2
THREAD_COUNT = 4
REQUEST_COUNT = 250


@pytest.fixture(scope="module")
def app():
    server = Server(built("app_server"), [str(WORKER_COUNT)])
    yield server
    server.stop()


def ask(app, method, path, body=None, **headers):
    """Gives the response with its content, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=5)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    response.content = response.read()
    connection.close()
    return response


def test_workers_share_the_state_and_lose_no_count(app):
    before = int(ask(app, "GET", "/hits").content)

    def hit():
        connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=5)
        for _ in range(REQUEST_COUNT):
            connection.request("GET", "/hit")
            assert connection.getresponse().read().isdigit()
        connection.close()

    threads = [threading.Thread(target=hit) for _ in range(THREAD_COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = int(ask(app, "GET", "/hits").content)
    assert after - before == THREAD_COUNT * REQUEST_COUNT


def test_middleware_shows_in_every_response(app):
    for path, status in [("/hits", 200), ("/nope", 404), ("/fail", 500)]:
        response = ask(app, "GET", path, Origin="https://a.example")
        assert response.status == status, path
        assert response.headers["Access-Control-Allow-Origin"] == "*", path
        assert response.headers["X-Content-Type-Options"] == "nosniff", path
        assert response.headers["Server-Timing"].startswith("total;dur="), path
        assert len(response.headers["X-Request-Id"]) == 32, path
        assert b"secret" not in response.content, path


def test_request_ids_are_distinct_over_workers(app):
    ids = {ask(app, "GET", "/id").content for _ in range(50)}
    assert len(ids) == 50
    assert ask(app, "GET", "/id", X_Request_Id="mine").content == b"mine"


def test_preflight(app):
    response = ask(
        app,
        "OPTIONS",
        "/items/7",
        Origin="https://a.example",
        Access_Control_Request_Method="POST",
    )
    assert response.status == 204
    assert "POST" in response.headers["Access-Control-Allow-Methods"]


def test_compressed(app):
    response = ask(app, "GET", "/long", Accept_Encoding="gzip")
    assert response.headers["Content-Encoding"] == "gzip"
    assert int(response.headers["Content-Length"]) == len(response.content)
    plain = ask(app, "GET", "/long")
    assert gzip.decompress(response.content) == plain.content
    head = ask(app, "HEAD", "/long", Accept_Encoding="gzip")
    assert head.headers["Content-Length"] == response.headers["Content-Length"]


def test_guard(app):
    response = ask(app, "GET", "/who")
    assert response.status == 401
    assert response.headers["WWW-Authenticate"].startswith("Basic realm=")
    response = ask(app, "GET", "/who", Authorization="Basic YW5uOnB3")
    assert response.content == b"ann"


def test_bearer_guard(app):
    rows = [
        (None, 401, "Bearer realm="),
        ("Bearer wrong", 401, 'error="invalid_token"'),
        ("Basic YW5uOnB3", 401, "Bearer realm="),
    ]
    for value, status, challenge in rows:
        named = {"Authorization": value} if value else {}
        response = ask(app, "GET", "/token", **named)
        assert response.status == status, value
        assert challenge in response.headers["WWW-Authenticate"], value
    response = ask(app, "GET", "/token", Authorization="bearer t0k")
    assert response.content == b"robot"


def test_rate_limit_counts_over_workers(app):
    answers = [ask(app, "GET", "/few") for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 3 + [429] * 3
    assert 0 < int(answers[5].headers["Retry-After"]) <= 1000


def test_trusted_proxies(app):
    rows = [
        ({}, b"127.0.0.1 "),
        ({"X_Forwarded_For": "9.9.9.9"}, b"9.9.9.9 "),
        ({"X_Forwarded_For": "6.6.6.6, 9.9.9.9"}, b"9.9.9.9 "),
        ({"X_Forwarded_For": "9.9.9.9, 127.0.0.7"}, b"9.9.9.9 "),
        (
            {"X_Forwarded_For": "1.1.1.1", "X_Forwarded_Proto": "https"},
            b"1.1.1.1 https",
        ),
        ({"X_Forwarded_For": "nonsense"}, b":: "),
        ({"X_Forwarded_For": "nonsense, 127.0.0.7"}, b":: "),
        ({"X_Forwarded_For": "6.6.6.6, " * 40 + "9.9.9.9"}, b"9.9.9.9 "),
        ({"X_Forwarded_For": "::ffff:9.9.9.9"}, b"9.9.9.9 "),
        ({"Forwarded": "for=9.9.9.9"}, b"127.0.0.1 "),
    ]
    for fields, wanted in rows:
        assert ask(app, "GET", "/whence", **fields).content == wanted, fields


def test_access_log(app):
    assert ask(app, "GET", '/logged?x="%0A').status == 200
    lines = [line for line in app.stderr().splitlines() if "/logged" in line]
    assert len(lines) == 1
    entry = json.loads(lines[0])
    assert entry["target"] == '/logged?x="%0A'
    assert (entry["method"], entry["status"]) == ("GET", 200)
    assert entry["peer"].startswith("127.0.0.1:")


def test_inputs_from_the_head(app):
    fields = {"User_Agent": "tester", "Cookie": "a=b; session=s%201"}
    good = ask(app, "GET", "/find/b%20c?q=x+y&full=true&tag=1&tag=2", **fields)
    assert good.content == b"b c x y -1 True 2 tester s%201 127.0.0.1 True"
    rows = [
        ("?q=x&full=maybe", fields, "query", "full"),
        ("?full=true", fields, "query", "q"),
        ("?q=x&full=true&page=y", fields, "query", "page"),
        ("?q=x&full=true", {"User_Agent": "tester"}, "cookie", "session"),
    ]
    for query, sent, place, name in rows:
        bad = ask(app, "GET", "/find/a" + query, **sent)
        problem = json.loads(bad.content)
        assert bad.status in (400, 422), query
        assert (problem["in"], problem["name"]) == (place, name), query


def test_a_form(app):
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    good = ask(app, "POST", "/form", "name=a+%26+b&price=2.5", **kind)
    assert json.loads(good.content) == {"name": "a & b", "price": 2.5}
    bad = ask(app, "POST", "/form", "name=a&price=x", **kind)
    assert bad.status == 422
    assert json.loads(bad.content)["name"] == "price"
    assert ask(app, "POST", "/form", "{}", Content_Type="text/x").status == 415


def test_inputs(app):
    kind = {"Content_Type": "application/json"}
    good = ask(app, "POST", "/items/7", '{"name":"tea","price":2}', **kind)
    assert json.loads(good.content) == {"name": "tea", "price": 2.0}
    bad = ask(app, "POST", "/items/7", '{"name":"tea"}', **kind)
    assert bad.status == 422
    assert json.loads(bad.content)["name"] == "price"
    bad = ask(app, "POST", "/items/x", '{"name":"tea","price":2}', **kind)
    assert bad.status == 400
    assert json.loads(bad.content)["in"] == "path"


def test_conditions(app):
    assert ask(app, "PUT", "/note", "a", If_None_Match="*").status == 204
    assert ask(app, "PUT", "/note", "b", If_None_Match="*").status == 412
    response = ask(app, "GET", "/note")
    assert response.content == b"a"
    tag = response.headers["ETag"]
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=5)
    for _ in range(2):
        connection.request("GET", "/note", headers={"If-None-Match": tag})
        short = connection.getresponse()
        assert (short.status, short.read()) == (304, b"")
        assert short.headers["ETag"] == tag
        assert "Date" in short.headers
    connection.close()
    assert ask(app, "PUT", "/note", "c", If_Match=tag).status == 204
    # Another client has changed it meanwhile.
    assert ask(app, "PUT", "/note", "d", If_Match=tag).status == 412
    response = ask(app, "GET", "/note", If_None_Match=tag)
    assert (response.status, response.content) == (200, b"c")


def test_session(app):
    assert ask(app, "GET", "/visitor").content == b"nobody"
    response = ask(app, "POST", "/login?user=ann")
    cookie = response.headers["Set-Cookie"].split(";")[0]
    # Any worker reads it, and none sends it again.
    for _ in range(10):
        response = ask(app, "GET", "/visitor", Cookie=cookie)
        assert response.content == b"ann"
        assert response.headers["Set-Cookie"] is None
        assert "Cookie" in response.headers.get_all("Vary")
    forged = cookie[:-1] + ("A" if cookie[-1] != "A" else "B")
    assert ask(app, "GET", "/visitor", Cookie=forged).content == b"nobody"


def test_health_metrics_and_documents(app):
    assert ask(app, "GET", "/live").status == 200
    assert ask(app, "GET", "/ready").status == 200
    text = ask(app, "GET", "/metrics").content.decode()
    figures = dict(
        line.rsplit(" ", 1)
        for line in text.splitlines()
        if not line.startswith("#")
    )
    assert int(figures["http_requests_in_flight"]) == 1
    assert int(figures["http_connections_open"]) >= 1
    total = sum(
        int(value)
        for name, value in figures.items()
        if name.startswith("http_requests_total{")
    )
    assert total == int(figures["http_request_duration_seconds_count"])
    api = json.loads(ask(app, "GET", "/openapi.json").content)
    assert api["paths"]["/items/{id}"]["post"]["requestBody"]["required"]
    assert b"<!doctype html>" in ask(app, "GET", "/docs").content
