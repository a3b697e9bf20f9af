"""The gateway before a real upstream, which tells what it was asked."""

from app.service import service
from app.settings import Settings
from flare.http import (
    BearerAuth,
    HttpServer,
    Request,
    Response,
    Router,
    ShutdownHandle,
    ok_json,
    redirect,
)
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.settings import Secret
from flare.testing import TestClient
from std.testing import assert_equal, assert_false, assert_true

comptime TOKEN = "a-token-for-tests-and-for-tests-alone"


def echo(req: Request) raises -> Response:
    """Tells what reached the upstream."""
    var text = String(
        '{"method":"', req.method_name, '","target":"', req.url, '","for":"'
    )
    text.write(req.header("X-Forwarded-For"), '","authorization":"')
    text.write(req.header("Authorization"), '","secret":"')
    text.write(req.header("X-Secret"), '","content":"', req.text(), '"}')
    return ok_json(text).with_header("X-From", "upstream")


def elsewhere(req: Request) raises -> Response:
    return redirect("/api/echo")


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        var router = Router()
        router.all("/api/echo", echo)
        router.get("/api/elsewhere", elsewhere)
        router.get("/internal", echo)
        self.server.serve(router^)


struct TestUpstream(Movable):
    """An upstream that stops when the test is over."""

    var url: String
    var _stop: ShutdownHandle
    var _thread: Thread

    def __init__(out self) raises:
        var server = HttpServer.bind(SocketAddr.localhost(0))
        self.url = String("http://", server.local_addr())
        self._stop = server.shutdown_handle()
        self._thread = Thread(Serving(server^))

    def stop(deinit self) raises:
        self._stop.shutdown()
        self._thread^.join()


def gateway_to(url: String, rate: Float64 = 1_000) raises -> TestClient:
    var settings = Settings()
    settings.upstream = url
    settings.token = Secret(TOKEN)
    settings.requests_per_second = rate
    return TestClient(service(settings))


def test_a_request_goes_through_and_back() raises:
    var upstream = TestUpstream()
    var gateway = gateway_to(upstream.url)
    var answer = gateway.post(
        "/api/echo?page=2",
        data="tea",
        auth=BearerAuth(TOKEN),
        headers={"Connection": "X-Secret", "X-Secret": "for one hop"},
    )
    upstream^.stop()
    assert_equal(answer.status, 200)
    assert_equal(answer.headers.get("X-From").value(), "upstream")
    var told = answer.json()
    assert_equal(told["method"].string_value(), "POST")
    assert_equal(told["target"].string_value(), "/api/echo?page=2")
    assert_equal(told["content"].string_value(), "tea")
    assert_equal(told["for"].string_value(), "127.0.0.1")
    assert_equal(told["authorization"].string_value(), "")
    assert_equal(told["secret"].string_value(), "")


def test_who_has_no_token_does_not_get_through() raises:
    var gateway = gateway_to("http://127.0.0.1:1")
    assert_equal(gateway.get("/api/echo").status, 401)
    var wrong = gateway.get("/api/echo", auth=BearerAuth("guess"))
    assert_equal(wrong.status, 401)
    assert_equal(gateway.get("/live").status, 200)


def test_only_paths_below_api_are_asked_for() raises:
    var upstream = TestUpstream()
    var gateway = gateway_to(upstream.url)
    var statuses = List[Int]()
    for path in ["/internal", "/api/../internal", "/api/%2e%2E/internal"]:
        var answer = gateway.get(path, auth=BearerAuth(TOKEN))
        statuses.append(Int(answer.status.code))
    upstream^.stop()
    for status in statuses:
        assert_equal(status, 404)


def test_a_redirection_is_the_clients_to_follow() raises:
    var upstream = TestUpstream()
    var gateway = gateway_to(upstream.url)
    var answer = gateway.get("/api/elsewhere", auth=BearerAuth(TOKEN))
    upstream^.stop()
    assert_equal(answer.status, 302)
    assert_equal(answer.headers.get("Location").value(), "/api/echo")


def test_an_upstream_that_is_down_is_502() raises:
    var upstream = TestUpstream()
    var gateway = gateway_to(upstream.url)
    upstream^.stop()
    var answer = gateway.get("/api/echo", auth=BearerAuth(TOKEN))
    assert_equal(answer.status, 502)
    # Nothing is told of the network behind the gateway.
    assert_false("127.0.0.1" in answer.text())


def test_who_asks_too_often_has_to_wait() raises:
    var gateway = gateway_to("http://127.0.0.1:1", rate=0.001)
    var refused = 0
    for _ in range(50):
        if gateway.get("/live").status == 429:
            refused += 1
    assert_true(refused >= 10)
