"""Applications over real sockets: state, middleware, inputs, documents."""

import contextlib
import gzip
import http.client
import json
import os
import subprocess
import threading

import pytest

from conftest import START_TIMEOUT_S, Client, Server, environment, wait_until
from processes import next_line
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
    lines = [line for line in app.stderr().splitlines() if '"/logged' in line]
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


def test_all_bad_inputs_are_told_at_once(app):
    """RFC 9457 section 3: a problem with an `errors` member."""
    kind = {"Content_Type": "application/json"}
    bad = ask(app, "POST", "/items/x", '{"price":"2"}', **kind)
    assert (bad.status, bad.headers["Content-Type"]) == (
        400,
        "application/problem+json",
    )
    found = [
        (error["in"], error["name"], error.get("pointer"), error["detail"])
        for error in json.loads(bad.content)["errors"]
    ]
    assert found == [
        ("path", "id", None, "is no integer of 64 bits; write it as -12"),
        ("body", "name", "#/name", "is required"),
        ("body", "price", "#/price", "found a string, expected a float"),
    ]
    bad = ask(app, "GET", "/find/a?full=maybe&page=y")
    names = [error["name"] for error in json.loads(bad.content)["errors"]]
    assert names == ["q", "page", "full", "user-agent", "session"]


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
    timed = sum(
        int(value)
        for name, value in figures.items()
        if name.startswith("http_request_duration_seconds_count{")
    )
    assert total == timed > 0
    api = json.loads(ask(app, "GET", "/openapi.json").content)
    assert api["paths"]["/items/{id}"]["post"]["requestBody"]["required"]
    assert b"<!doctype html>" in ask(app, "GET", "/docs").content


REFUSED = [
    (b"GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "- -", False),
    (b"GET /one HTTP/1.1\r\n%sHost : a\r\n\r\n", 400, "GET /one", True),
    (b"GET /two HTTP/1.1\r\nHost: a\r\n%sContent-Length: x\r\n\r\n", 400, "GET /two", True),
    (b"POST /form HTTP/1.1\r\nHost: a\r\n%sContent-Length: 99999999\r\n\r\n", 413, "POST /form", True),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "- -", False),
    (b"GET /three HTTP/1.1\r\nHost: a\r\n%sX: " + b"x" * 9000 + b"\r\n\r\n", 431, "GET /three", True),
    (b"GET /four HTTP/2.0\r\nHost: a\r\n\r\n", 505, "- -", False),
    (b"DELETE /hits HTTP/1.1\r\nHost: a\r\n%sConnection: close\r\n\r\n", 405, "DELETE /hits", True),
]
FIELDS = b"Origin: https://a.example\r\nX-Request-Id: id-of-%d\r\n"


def counted(app, status):
    text = ask(app, "GET", "/metrics").content.decode()
    lines = [line for line in text.splitlines() if f'status="{status}"' in line]
    return sum(int(line.split()[-1]) for line in lines if "requests_total" in line)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_take_the_way_of_all_answers(app, number):
    """They are shaped, completed, logged and counted, and end the connection."""
    octets, status, told, has_fields = REFUSED[number]
    if has_fields:
        octets = octets.replace(b"%s", FIELDS % number)
    before = counted(app, status)
    with Client(app) as client:
        client.send(octets)
        response = client.response()
        assert client.is_closed()
    assert response.status == status
    assert response.fields["connection"] == "close"
    assert response.fields["content-type"] == "application/problem+json"
    assert response.fields["access-control-allow-origin"] == "*"
    assert response.fields["x-content-type-options"] == "nosniff"
    problem = json.loads(response.body)
    assert problem["status"] == status and problem["title"]
    name = response.fields["x-request-id"]
    assert problem["request_id"] == name
    assert not has_fields or name == f"id-of-{number}"
    assert status != 405 or "GET" in response.fields["allow"]
    lines = [line for line in app.stderr().splitlines() if line.endswith(" " + name)]
    assert len(lines) == 1 and f" {told} HTTP/1.1 {status} " in lines[0], lines
    assert counted(app, status) == before + 1


def test_the_late_and_the_too_many_are_logged():
    """408 and 503 have the shape of all errors, too."""
    app = Server(built("app_server"), ["1", "500", "2"])
    with contextlib.ExitStack() as stack:
        stack.callback(app.stop)
        with Client(app) as client:
            client.send(b"GET /late HTTP/1.1\r\nHost: a\r\nOrigin: b\r\n")
            response = client.response()
            assert response.status == 408 and client.is_closed()
        assert json.loads(response.body)["status"] == 408
        assert response.fields["access-control-allow-origin"] == "*"
        with Client(app) as one, Client(app) as two:
            for client in (one, two):
                client.send(b"GET /hits HTTP/1.1\r\nHost: a\r\n\r\n")
                assert client.response().status == 200
            with Client(app) as three:
                response = three.response()
                assert response.status == 503 and three.is_closed()
        assert response.fields["retry-after"] == "1"
        assert json.loads(response.body)["status"] == 503
        assert wait_until(lambda: " GET /late HTTP/1.1 408 " in app.stderr())
        assert wait_until(lambda: " - - HTTP/1.1 503 " in app.stderr())


def test_a_failure_has_the_same_id_everywhere(app):
    response = ask(app, "GET", "/fail")
    name = response.headers["X-Request-Id"]
    assert json.loads(response.content)["request_id"] == name
    lines = [line for line in app.stderr().splitlines() if name in line]
    assert any("handler failed: the secret [GET /fail" in line for line in lines)
    assert any(" GET /fail HTTP/1.1 500 " in line for line in lines)


def test_nobody_who_reads_the_log_can_stop_the_server():
    """A pipe that nobody reads is full after 64 KiB."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [built("app_server"), "0", "1"],
        stdout=subprocess.PIPE,
        stderr=writing,
        env=environment(),
    )
    try:
        os.close(writing)
        port = int(next_line(process, START_TIMEOUT_S).rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

        def hit(count):
            for _ in range(count):
                connection.request("GET", "/hit")
                assert connection.getresponse().read().isdigit()

        hit(1500)
        os.set_blocking(reading, False)
        logged = drained(reading)
        assert 60_000 < len(logged) < 100_000
        kept = logged.count(b" GET /hit ")
        hit(1)
        told = b"flare: %d lines for standard error were dropped" % (1500 - kept)
        assert wait_until(lambda: told in drained(reading))
        connection.close()
    finally:
        process.kill()
        process.wait(5)
        os.close(reading)


def drained(reading):
    data = b""
    while True:
        try:
            piece = os.read(reading, 65536)
        except BlockingIOError:
            return data
        if not piece:
            return data
        data += piece
