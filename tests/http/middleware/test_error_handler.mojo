"""One shape for all errors, and what middleware adds to the server's own."""

from flare.bytes.checked import *
from flare.http.client.message.request import ClientRequest
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    TEXT_PLAIN,
    bad_request,
    not_found,
    ok,
)
from flare.http.middleware.access_log import AccessLog
from flare.http.middleware.cors import Cors
from flare.http.middleware.error_handler import (
    ErrorHandler,
    Problem,
    Recover,
    problem_json,
)
from flare.http.middleware.metrics import Metrics, RequestMetrics
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.security_headers import SecurityHeaders
from flare.http.middleware.timing import Timing
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.state import State
from flare.http.handler.failure import request_id
from flare.http.handler.handler import FnHandler
from flare.http.routing.router import Router
from flare.json.value import parse
from flare.testing.test_client import TestClient
from flare.log.sink import LogSink
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


def _hello(req: Request) raises -> Response:
    return ok("hello")


def _fail(req: Request) raises -> Response:
    raise Error("the secret")


def _bad(req: Request) raises -> Response:
    return bad_request("the name is missing")


def _own(req: Request) raises -> Response:
    return Response(409, "{}", content_type="application/json")


def _busy(req: Request) raises -> Response:
    var response = Response(503)
    response.headers.set("Retry-After", "7")
    return response^


def _coded(req: Request) raises -> Response:
    var response = Response(502, "zz", content_type=TEXT_PLAIN)
    response.headers.set("Content-Encoding", "gzip")
    return response^


def _router() raises -> Router:
    var router = Router()
    router.get("/hello", _hello)
    router.get("/fail", _fail)
    router.get("/bad", _bad)
    router.get("/own", _own)
    router.get("/busy", _busy)
    router.get("/coded", _coded)
    router.get("/digest", _digest)
    return router^


def _digest(req: Request) raises -> Response:
    var response = not_found("gone")
    response.headers.set("ETag", '"a"')
    response.headers.set("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    response.headers.set("Content-Digest", "sha-256=:AAAA:")
    response.headers.set("Content-Language", "en")
    response.headers.set("X-Own", "1")
    return response^


def _shout(req: Request, problem: Problem) raises -> Response:
    return Response(200, String(problem.status.code, "! ", problem.detail))


def _broken(req: Request, problem: Problem) raises -> Response:
    raise Error("no shape")


@fieldwise_init
struct _Row(Copyable, Movable):
    var method: StaticString
    var path: StaticString
    var status: Int
    var text: StaticString


def test_errors_have_one_shape() raises:
    var client = TestClient(ErrorHandler(_router(), _shout))
    var rows: List[_Row] = [
        _Row("GET", "/hello", 200, "hello"),
        _Row("GET", "/nope", 404, "404! not found: /nope"),
        _Row("POST", "/hello", 405, "405! the path does not take the method"),
        _Row("GET", "/fail", 500, "500! "),
        _Row("GET", "/bad", 400, "400! the name is missing"),
        _Row("GET", "/own", 409, "{}"),
        _Row("GET", "/busy", 503, "503! "),
    ]
    for row in rows:
        var response = client.send(
            ClientRequest(String(row.method), String(row.path))
        )
        assert_equal(response.text(), row.text, row.path)
        if row.path != "/fail":
            assert_equal(response.status.code, row.status, row.path)
    assert_equal(client.get("/busy").headers["retry-after"], "7")
    var refused = client.send(ClientRequest("POST", "/hello"))
    assert_true("GET" in refused.headers["allow"])


def test_coded_content_stays_as_it_is() raises:
    # RFC 9110 section 8.4: the coding is that of the octets, which no text has.
    var handler = ErrorHandler(_router(), _shout)
    var response = handler.serve(OwnedRequest("GET", "/coded").view())
    assert_equal(response.headers.get("Content-Encoding").value(), "gzip")
    assert_equal(len(response.body), 2)


def test_what_is_told_of_content_goes_with_it() raises:
    # RFC 9110 section 8.8, RFC 9530 section 2: of the octets that were.
    var client = TestClient(ErrorHandler(_router(), problem_json))
    var headers = client.get("/digest").headers.copy()
    assert_equal(headers["content-type"], "application/problem+json")
    assert_equal(headers["x-own"], "1")
    for name in ["etag", "last-modified", "content-digest", "content-language"]:
        assert_false(name in headers, name)


def _told(req: Request) raises -> Response:
    """Tells of content that HEAD has not asked for, as a proxy does."""
    var response = Response(404)
    response.headers.set("Content-Type", req.query_param("type"))
    response.headers.set("Content-Length", "500")
    return response^


def test_head_says_no_length_but_that_of_get() raises:
    # RFC 9110 section 8.6: the content, which GET has shaped, is not here.
    var handler = ErrorHandler(FnHandler(_told), problem_json)
    var plain = handler.serve(OwnedRequest("HEAD", "/?type=text/plain").view())
    assert_equal(plain.headers["content-type"], "application/problem+json")
    assert_false("content-length" in plain.headers)
    assert_equal(len(plain.body), 0)
    # What GET passes on as it is.
    var other = handler.serve(
        OwnedRequest("HEAD", "/?type=application/json").view()
    )
    assert_equal(other.headers["content-type"], "application/json")
    assert_equal(other.headers["content-length"], "500")


def test_a_problem_as_json() raises:
    """RFC 9457 section 3.1."""
    var client = TestClient(RequestId(ErrorHandler(_router(), problem_json)))
    var response = client.get("/nope")
    assert_equal(response.status.code, 404)
    assert_equal(response.headers["content-type"], "application/problem+json")
    var problem = parse(response.text())
    assert_equal(problem["status"].int_value(), 404)
    assert_equal(problem["title"].string_value(), "Not Found")
    assert_equal(problem["detail"].string_value(), "not found: /nope")
    assert_equal(
        problem["request_id"].string_value(),
        String(response.headers["x-request-id"]),
    )
    assert_true(not parse(client.get("/fail").text()).contains("detail"))


@fieldwise_init
struct _Kept(LogSink):
    var lines: State[List[String]]

    def write_line(self, line: StringSpan):
        var lines = self.lines.lock()
        lines[].append(String(line))


def _refusal(status: Int) raises -> Response:
    return Response(status, "too large\n", content_type=TEXT_PLAIN)


def test_middleware_takes_part_in_refusals() raises:
    var lines = State(List[String]())
    var metrics = Metrics()
    # What a server holds may have lost its type.
    var handler = AnyHandler(
        AccessLog(
            RequestId(
                Cors(
                    SecurityHeaders(
                        RequestMetrics(
                            ErrorHandler(_router(), problem_json), metrics
                        )
                    )
                )
            ),
            sink=_Kept(lines),
        )
    )
    var request = OwnedRequest("POST", "/hello")
    request.add_header("Origin", "https://a.example")
    request.add_header("X-Request-Id", "mine")
    var response = handler.refuse(request.view(), _refusal(413))
    assert_equal(response.status.code, 413)
    assert_equal(response.headers["content-type"], "application/problem+json")
    assert_equal(response.headers["access-control-allow-origin"], "*")
    assert_equal(response.headers["x-content-type-options"], "nosniff")
    assert_equal(response.headers["x-request-id"], "mine")
    var problem = parse(response.body.text())
    assert_equal(problem["detail"].string_value(), "too large")
    assert_equal(problem["request_id"].string_value(), "mine")
    var kept = lines.snapshot()
    assert_equal(len(kept), 1)
    assert_true(" POST /hello HTTP/1.1 413 " in kept.at(0), kept.at(0))
    assert_true(kept.at(0).endswith("ms mine\n"), kept.at(0))
    var text = String()
    metrics.write_metrics(text)
    assert_true('{method="POST",status="413",route="none"} 1\n' in text, text)
    assert_true("duration_seconds_count" not in text, text)
    assert_true("in_flight 0\n" in text, text)


def test_a_request_that_was_not_read_is_logged_too() raises:
    var lines = State(List[String]())
    var handler = AccessLog(_router(), sink=_Kept(lines))
    var nothing = OwnedRequest("", "")
    _ = handler.refuse(nothing.view(), _refusal(400))
    var kept = lines.snapshot()
    assert_true(" - - HTTP/1.1 400 10 0.000ms " in kept.at(0), kept.at(0))


def test_middleware_of_the_route_takes_part_in_refusals() raises:
    var api = Router()
    api.any("/api/*rest", Cors(_router()))
    var router = Router()
    router.any("/api/*rest", SecurityHeaders(api^))
    router.fallback(Cors(_router()))
    for path in ["/api/x", "/other"]:
        var request = OwnedRequest("POST", path)
        var response = router.refuse(request.view(), _refusal(413))
        assert_equal(response.headers["access-control-allow-origin"], "*", path)
        assert_equal("x-frame-options" in response.headers, path == "/api/x")
    # What was not read leads nowhere.
    var nothing = OwnedRequest("", "")
    assert_equal(
        len(router.refuse(nothing.view(), _refusal(400)).headers),
        len(_refusal(400).headers),
    )


def test_without_middleware_a_refusal_stays_as_it_is() raises:
    var router = _router()
    var request = OwnedRequest("GET", "/")
    var response = router.refuse(request.view(), _refusal(431))
    assert_equal(response.body.text(), "too large\n")
    assert_equal(len(response.headers), 1)


def test_a_format_that_raises_is_the_servers_business() raises:
    var handler = ErrorHandler(_router(), _broken)
    var request = OwnedRequest("GET", "/")
    with assert_raises(contains="no shape"):
        _ = handler.refuse(request.view(), _refusal(431))


def _recover_fail(req: Request) raises -> Response:
    raise Error("the database is at 10.0.0.5")


def _fine(req: Request) raises -> Response:
    return ok("fine")


def _sorry(req: Request, error: Error) -> Response:
    return Response(503, String("sorry ", request_id(req), " ", error))


def test_default_says_nothing() raises:
    var client = TestClient(Recover(FnHandler(_recover_fail)))
    var response = client.get("/")
    assert_equal(response.status.code, 500)
    assert_equal(response.text(), "internal server error")


def test_hook_chooses_the_response() raises:
    var client = TestClient(
        RequestId(Recover(FnHandler(_recover_fail), _sorry))
    )
    var response = client.get("/")
    assert_equal(response.status.code, 503)
    var id = String(response.headers["x-request-id"])
    assert_equal(
        response.text(), String("sorry ", id, " the database is at 10.0.0.5")
    )


def test_fields_of_middleware_reach_the_answer_to_an_error() raises:
    """`Cors`, `SecurityHeaders`, `RequestId` and `Timing`: whoever makes a
    response of what passes them by."""
    for number in range(3):
        var client = TestClient(FnHandler(_fail))
        if number == 0:
            client = TestClient(
                RequestId(Timing(Cors(SecurityHeaders(FnHandler(_fail)))))
            )
            client.hides_errors = True
        elif number == 1:
            client = TestClient(
                ErrorHandler(
                    RequestId(Timing(Cors(SecurityHeaders(FnHandler(_fail))))),
                    problem_json,
                )
            )
        else:
            client = TestClient(
                Recover(
                    RequestId(Timing(Cors(SecurityHeaders(FnHandler(_fail)))))
                )
            )
        for _ in range(2):
            var response = client.get("/")
            assert_equal(response.status.code, 500)
            assert_false("secret" in response.text())
            for name, value in [
                ("Access-Control-Allow-Origin", "*"),
                ("X-Content-Type-Options", "nosniff"),
                ("X-Frame-Options", "DENY"),
                ("X-Request-Id", ""),
                ("Server-Timing", ""),
            ]:
                var count = 0
                for index in range(len(response.headers)):
                    if response.headers.name(index) == name:
                        count += 1
                        assert_true(
                            response.headers.value(index).startswith(value),
                            name,
                        )
                assert_equal(count, 1, String(number, " ", name))


def test_fields_of_one_request_are_not_those_of_the_next() raises:
    """What middleware notes for the answer to an error goes with its request."""
    var router = Router()
    router.get("/open", Cors(FnHandler(_fail)))
    router.get("/closed", _fail)
    var client = TestClient(router^)
    client.hides_errors = True
    for path, is_open in [("/open", True), ("/closed", False), ("/open", True)]:
        var response = client.get(path)
        assert_equal(response.status.code, 500)
        assert_equal(
            "access-control-allow-origin" in response.headers, is_open, path
        )


def test_no_error_no_hook() raises:
    var client = TestClient(Recover(FnHandler(_fine), _sorry))
    assert_equal(client.get("/").text(), "fine")
