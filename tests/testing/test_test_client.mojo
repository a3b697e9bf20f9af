"""The client without a socket: what it sends, and what it keeps."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.auth import BasicAuth
from flare.http.client.message.request import ClientRequest
from flare.http.message.body import Body, BodySource, StreamWaker, Poll
from flare.http.message.cookie import Cookie
from flare.http.message.form import FormData
from flare.http.message.request import Request
from flare.http.message.response import Response, ok, redirect
from flare.http.handler.handler import Middleware
from flare.http.routing.router import Router
from flare.sys.thread import Task, Thread
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _tell(req: Request) raises -> Response:
    var text = String(req.method, " ", req.url, " ", req.host(), "\n")
    for index in range(len(req.headers)):
        text.write(
            req.headers.name(index), ": ", req.headers.value(index), "\n"
        )
    text.write(req.text())
    return ok(text^)


def _log_in(req: Request) raises -> Response:
    var response = ok("welcome")
    response.set_cookie(Cookie("session", "abc", path="/", http_only=True))
    response.set_cookie(Cookie("theme", "dark", path="/elsewhere"))
    return response^


def _log_out(req: Request) raises -> Response:
    var response = redirect("/")
    response.set_cookie(Cookie("session", "", path="/", max_age=0))
    return response^


def _fail(req: Request) raises -> Response:
    raise Error("secret")


def _odd(req: Request) raises -> Response:
    return Response(100)


def _router() raises -> Router:
    var router = Router()
    router.all("/tell", _tell)
    router.get("/in", _log_in)
    router.get("/out", _log_out)
    router.get("/fail", _fail)
    router.get("/odd", _odd)
    router.post("/small", _tell, max_body_size=4)
    return router^


def test_sends_what_a_client_sends() raises:
    var client = TestClient(_router())
    assert_equal(
        client.get("/tell?x=1").text(),
        "GET /tell?x=1 testserver\nHost: testserver\n",
    )
    assert_equal(
        client.post("/tell", '{"k":1}').text(),
        (
            "POST /tell testserver\nHost: testserver\n"
            'Content-Type: application/json\nContent-Length: 7\n{"k":1}'
        ),
    )
    var form = FormData()
    form.add("a", "1 2")
    assert_true(
        "application/x-www-form-urlencoded\nContent-Length: 5\na=1+2"
        in client.put("/tell", form).text()
    )
    for method in ["DELETE", "PATCH", "OPTIONS"]:
        var response = client.send(ClientRequest(method, "/tell"))
        assert_true(response.text().startswith(method), method)
    assert_true(client.patch("/tell").ok())
    assert_true(client.delete("/tell").ok())
    assert_true(client.options("/tell").ok())


def test_request_builder_is_that_of_the_client() raises:
    var client = TestClient(_router())
    var request = ClientRequest("GET", "http://api.example/tell")
    request.add_query("q", "a b")
    request.set_header("X-Mine", "1")
    request.auth = BasicAuth("ann", "pw")
    assert_equal(
        client.send(request^).text(),
        (
            "GET /tell?q=a+b api.example\nX-Mine: 1\nHost: api.example\n"
            "Authorization: Basic YW5uOnB3\n"
        ),
    )


def test_head_and_status_without_content() raises:
    var client = TestClient(_router())
    var response = client.head("/tell")
    assert_equal(response.status.code, 200)
    assert_equal(len(response.body), 0)
    assert_equal(client.get("/nope").status.code, 404)
    assert_equal(client.get("/nope").reason, "Not Found")


def test_keeps_cookies() raises:
    var client = TestClient(_router())
    assert_equal(client.get("/in").text(), "welcome")
    assert_equal(len(client.cookies), 2)
    assert_true("\nCookie: session=abc\n" in client.get("/tell").text())
    var gone = client.get("/out")
    assert_equal(gone.status.code, 302)
    assert_equal(gone.headers["location"], "/")
    assert_true("Cookie" not in client.get("/tell").text())


def test_errors_and_limits() raises:
    var client = TestClient(_router())
    with assert_raises(contains="secret"):
        _ = client.get("/fail")
    client.hides_errors = True
    var response = client.get("/fail")
    assert_equal(response.status.code, 500)
    assert_true("secret" not in response.text())
    with assert_raises(contains="status 100"):
        _ = client.get("/odd")
    assert_equal(client.post("/small", "12345").status.code, 413)
    assert_equal(client.post("/small", "1234").status.code, 200)
    with assert_raises(contains="URL"):
        _ = client.get("http://")


@fieldwise_init
struct _Marked(Middleware):
    """Adds a field to what the server refuses, or fails to."""

    comptime Inner = Router
    var handler: Router
    var fails: Bool

    def serve(self, req: Request) raises -> Response:
        return self.handler.serve(req)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        if self.fails:
            raise Error("the middleware failed")
        response.headers.set("X-Mark", req.path)
        return response^


def test_refuses_as_a_server_does() raises:
    # RFC 9110 section 15.5.14; a server's own answers go through `refuse`.
    var client = TestClient(_Marked(_router(), False))
    var response = client.post("/small", "12345")
    assert_equal(response.status.code, 413)
    assert_equal(response.headers["x-mark"], "/small")
    assert_equal(
        response.text(), "the content is larger than is allowed here\n"
    )
    # What fails there is raised; a server logs it, and sends its plain answer.
    client = TestClient(_Marked(_router(), True))
    with assert_raises(contains="the middleware failed"):
        _ = client.post("/small", "12345")
    client.hides_errors = True
    response = client.post("/small", "12345")
    assert_equal(response.status.code, 413)
    assert_equal(
        response.text(), "the content is larger than is allowed here\n"
    )
    # A 500 has the id that stands in the log.
    response = client.get("/fail")
    assert_equal(response.status.code, 500)
    assert_equal(response.headers["x-request-id"].byte_length(), 32)


@fieldwise_init
struct _Pieces(BodySource):
    """Makes three pieces; the second comes later, from another thread."""

    var count: Int
    var waker: Optional[StreamWaker]

    def begin(mut self, var waker: StreamWaker):
        self.waker = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.count += 1
        out.append("piece ".as_bytes())
        if self.count == 2:
            _ = Thread(_Waking(self.waker.value().copy()))
            return Poll.PENDING
        return Poll.DONE if self.count == 3 else Poll.READY


@fieldwise_init
struct _Waking(Task):
    var waker: StreamWaker

    def run(mut self) raises:
        self.waker.wake()


@fieldwise_init
struct _Endless(BodySource):
    """Has one piece, and then nothing for ever."""

    var count: Int

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.count += 1
        if self.count > 1:
            return Poll.PENDING
        out.append("first ".as_bytes())
        return Poll.READY

    def is_endless(self) -> Bool:
        return True


def _pieces(req: Request) raises -> Response:
    return Response(200, Body(_Pieces(0, None)))


def _endless(req: Request) raises -> Response:
    return Response(200, Body(_Endless(0)))


def test_sources_are_read() raises:
    var client = TestClient(_pieces)
    assert_equal(client.get("/").text(), "piece piece piece ")
    client = TestClient(_endless)
    assert_equal(client.get("/").text(), "first ")


def _trailed(req: Request) raises -> Response:
    return ok("hello").with_trailer("Server-Timing", "db;dur=3")


def test_shows_trailers() raises:
    var router = Router()
    router.all("/", _trailed)
    var client = TestClient(router^)
    var response = client.get("/")
    assert_equal(response.text(), "hello")
    assert_equal(response.headers["trailer"], "Server-Timing")
    assert_equal(response.trailers["server-timing"], "db;dur=3")
    # RFC 9110 section 9.3.2: HEAD has none.
    assert_equal(len(client.send(ClientRequest("HEAD", "/")).trailers), 0)


def _hinting(req: Request) raises -> Response:
    req.send_early_hints("</a.css>; rel=preload; as=style", "</b.js>")
    req.send_early_hints("</c.js>")
    return ok("hello")


def _splitting(req: Request) raises -> Response:
    req.send_early_hints("</a.css>\r\nX-Evil: 1")
    return ok("hello")


def test_collects_early_hints() raises:
    var router = Router()
    router.get("/", _hinting)
    router.get("/none", _tell)
    router.get("/splitting", _splitting)
    var client = TestClient(router^)
    assert_equal(client.get("/").text(), "hello")
    assert_equal(
        String(client.early_hints),
        (
            "Link: </a.css>; rel=preload; as=style\nLink: </b.js>\n"
            "Link: </c.js>\n"
        ),
    )
    _ = client.get("/none")
    assert_equal(len(client.early_hints), 0)
    with assert_raises(contains="field value '</a.css>\\x0d\\x0aX-Evil"):
        _ = client.get("/splitting")
