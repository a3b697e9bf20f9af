"""Access logs: both formats, hostile requests, errors."""

from flare.bytes.checked import *
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.access_log import (
    AccessLog,
    LogEntry,
    json_line,
    text_line,
)
from flare.http.middleware.request_id import RequestId
from flare.http.handler.state import State
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.http.handler.handler import FnHandler
from flare.http.routing.router import Router
from flare.json.value import parse
from flare.log.sink import LogFormat, LogSink
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Kept(LogSink):
    var lines: State[List[String]]

    def write_line(self, line: StringSpan):
        self.lines.lock()[].append(String(line))


def _hello(req: Request) raises -> Response:
    return ok("hello")


def _fail(req: Request) raises -> Response:
    raise Error("no")


def _read(req: Request) raises -> Response:
    return ok(req.json()["name"].string_value())


def _router() raises -> Router:
    var router = Router()
    router.post("/read", _read)
    router.get("/hello", _hello)
    router.get("/fail", _fail)
    return router^


def _entry(id: StringSpan) -> LogEntry:
    return LogEntry(784_111_777_007, 12_045, 200, 5, String(id))


def test_text_line() raises:
    var owned = OwnedRequest("GET", "/hello?x=1")
    owned.peer = SocketAddr.parse("[2001:db8::1]:4000")
    assert_equal(
        text_line(owned.view(), _entry("abc")),
        (
            "1994-11-06T08:49:37.007Z [2001:db8::1]:4000 GET /hello?x=1"
            " HTTP/1.1 200 5 12.045ms abc\n"
        ),
    )
    assert_true(text_line(owned.view(), _entry("")).endswith("12.045ms -\n"))


def test_json_line() raises:
    var owned = OwnedRequest("GET", "/hello")
    owned.add_header("User-Agent", 'a "quoted" one')
    owned.add_header("Referer", "http://else/")
    var line = json_line(owned.view(), _entry("abc"))
    assert_true(line.endswith("}\n"))
    var data = parse(line)
    assert_equal(data["time"].string_value(), "1994-11-06T08:49:37.007Z")
    assert_equal(data["peer"].string_value(), "127.0.0.1:0")
    assert_equal(data["method"].string_value(), "GET")
    assert_equal(data["target"].string_value(), "/hello")
    assert_equal(data["version"].string_value(), "HTTP/1.1")
    assert_equal(data["status"].int_value(), 200)
    assert_equal(data["bytes"].int_value(), 5)
    assert_equal(data["elapsed_us"].int_value(), 12_045)
    assert_equal(data["request_id"].string_value(), "abc")
    assert_equal(data["user_agent"].string_value(), 'a "quoted" one')
    assert_equal(data["referer"].string_value(), "http://else/")
    var bare = OwnedRequest("GET", "/")
    assert_true(
        not parse(json_line(bare.view(), _entry(""))).contains("referer")
    )


def _sent_on(status: Int, head_us: Int) -> LogEntry:
    var entry = _entry("abc")
    var facts = UpstreamFacts()
    facts.upstream = "http://app:80(10.0.0.7)"
    facts.status = status
    facts.attempt_count = 2
    facts.connect_us = 1_050
    facts.head_us = head_us
    entry.upstream = facts^
    return entry^


def test_a_request_that_was_sent_on() raises:
    var owned = OwnedRequest("GET", "/hello")
    assert_true(
        text_line(owned.view(), _sent_on(502, 3_200)).endswith(
            "ms abc upstream=http://app:80(10.0.0.7) upstream_status=502"
            " connect=1.050ms head=3.200ms attempts=2\n"
        )
    )
    assert_true(
        text_line(owned.view(), _sent_on(0, -1)).endswith(
            " upstream_status=- connect=1.050ms head=- attempts=2\n"
        )
    )
    var data = parse(json_line(owned.view(), _sent_on(502, 3_200)))
    assert_equal(data["upstream"].string_value(), "http://app:80(10.0.0.7)")
    assert_equal(data["upstream_status"].int_value(), 502)
    assert_equal(data["connect_us"].int_value(), 1_050)
    assert_equal(data["head_us"].int_value(), 3_200)
    assert_equal(data["attempts"].int_value(), 2)
    data = parse(json_line(owned.view(), _sent_on(0, -1)))
    assert_true(not data.contains("upstream_status"))
    assert_true(not data.contains("head_us"))


def test_no_request_forges_a_line() raises:
    var owned = OwnedRequest("GET\n", "/a\nb\x1b[31m")
    owned.add_header("User-Agent", "tab\there")
    for line in [
        text_line(owned.view(), _entry("x\ny")),
        json_line(owned.view(), _entry("x\ny")),
    ]:
        var ends = 0
        for octet in line.as_bytes():
            if octet < 32:
                ends += 1
        assert_equal(ends, 1, line)


def test_every_request_has_a_line() raises:
    var lines = State(List[String]())
    var client = TestClient(AccessLog(RequestId(_router()), sink=_Kept(lines)))
    _ = client.get("/hello")
    _ = client.get("/nope")
    with assert_raises(contains="no"):
        _ = client.get("/fail")
    _ = client.post("/read", "{")
    var kept = lines.snapshot()
    assert_equal(len(kept), 4)
    assert_true(" GET /hello HTTP/1.1 200 5 " in kept.at(0), kept.at(0))
    assert_true(" - \n" not in kept.at(0), kept.at(0))
    assert_true(" GET /nope HTTP/1.1 404 " in kept.at(1), kept.at(1))
    assert_true(" GET /fail HTTP/1.1 500 0 " in kept.at(2), kept.at(2))
    # Bad content is the client's fault, and answered so.
    assert_true(" POST /read HTTP/1.1 400 0 " in kept.at(3), kept.at(3))


def test_json_names_the_route_that_answers() raises:
    var lines = State(List[String]())
    var router = Router()
    router.mount("/api", _router())
    router.get("/items/:id", _hello)
    var client = TestClient(
        AccessLog(router^, LogFormat.JSON, sink=_Kept(lines))
    )
    _ = client.get("/items/7")
    with assert_raises(contains="no"):
        _ = client.get("/api/fail")
    _ = client.get("/nope")
    var kept = lines.snapshot()
    assert_equal(parse(kept.at(0))["route"].string_value(), "/items/:id")
    assert_equal(parse(kept.at(1))["route"].string_value(), "/api/fail")
    assert_true(not parse(kept.at(2)).contains("route"), kept.at(2))


def test_an_id_from_outside_is_logged_too() raises:
    var lines = State(List[String]())
    var client = TestClient(
        RequestId(AccessLog(_router(), LogFormat.JSON, sink=_Kept(lines)))
    )
    var response = client.get("/hello")
    with assert_raises(contains="no"):
        _ = client.get("/fail")
    var kept = lines.snapshot()
    assert_equal(
        parse(kept.at(0))["request_id"].string_value(),
        String(response.headers.get("x-request-id").value()),
    )
    assert_equal(
        parse(kept.at(1))["request_id"].string_value().byte_length(), 32
    )


def test_json_through_the_middleware() raises:
    var lines = State(List[String]())
    var client = TestClient(
        AccessLog(FnHandler(_hello), LogFormat.JSON, sink=_Kept(lines))
    )
    _ = client.get("/x")
    var data = parse(lines.snapshot().at(0))
    assert_equal(data["target"].string_value(), "/x")
    assert_equal(data["status"].int_value(), 200)
