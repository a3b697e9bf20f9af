"""The gateway before real upstreams, which tell what they were asked."""

from app.service import service
from app.settings import Settings
from flare.http import BearerAuth, HttpClient, HttpServer, Request, Response
from flare.http import ServerConfig, ShutdownHandle, ok_json
from flare.http.routing import AnyHandler
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


struct Serving(Movable, Task):
    var server: HttpServer
    var handler: Optional[AnyHandler]

    def __init__(out self, var server: HttpServer, var handler: AnyHandler):
        self.server = server^
        self.handler = handler^

    def run(mut self) raises:
        self.server.serve(self.handler.take())


struct TestServer(Movable):
    """A server that stops when the test is over."""

    var url: String
    var _stop: ShutdownHandle
    var _thread: Thread

    def __init__(out self, var handler: AnyHandler) raises:
        var server = HttpServer.bind(
            SocketAddr.localhost(0), ServerConfig(handles_signals=False)
        )
        self.url = String("http://", server.local_addr())
        self._stop = server.shutdown_handle()
        self._thread = Thread(Serving(server^, handler^))

    def stop(deinit self) raises:
        self._stop.shutdown()
        self._thread^.join()


def settings_for(var upstreams: List[String]) -> Settings:
    var settings = Settings()
    settings.upstreams = upstreams^
    settings.token = Secret(TOKEN)
    settings.requests_per_second = 1_000
    return settings^


def gateway_to(var upstreams: List[String]) raises -> TestServer:
    return TestServer(service(settings_for(upstreams^)))


def test_a_request_goes_through_and_back() raises:
    var upstream = TestServer(AnyHandler(echo))
    var gateway = gateway_to([upstream.url])
    var client = HttpClient(gateway.url)
    var answer = client.post(
        "/api/echo?page=2",
        data="tea",
        auth=BearerAuth(TOKEN),
        headers={"Connection": "X-Secret", "X-Secret": "for one hop"},
    )
    assert_equal(answer.status, 200)
    assert_equal(answer.headers.get("X-From").value(), "upstream")
    var told = answer.json()
    assert_equal(told["method"].string_value(), "POST")
    assert_equal(told["target"].string_value(), "/api/echo?page=2")
    assert_equal(told["content"].string_value(), "tea")
    assert_equal(told["for"].string_value(), "127.0.0.1")
    assert_equal(told["authorization"].string_value(), "")
    assert_equal(told["secret"].string_value(), "")
    # What is not below /api is not asked for.
    var other = client.get("/echo", auth=BearerAuth(TOKEN))
    assert_equal(other.status, 404)
    deinit(client^)
    gateway^.stop()
    upstream^.stop()


def test_long_cookies_get_through() raises:
    # A single sign-on has some kilobytes, and several services meet here.
    assert_equal(Settings().server.config.max_header_size, 32 * 1024)


def test_who_has_no_token_does_not_get_through() raises:
    var client = TestClient(service(settings_for(["http://127.0.0.1:1"])))
    assert_equal(client.get("/api/echo").status, 401)
    var wrong = client.get("/api/echo", auth=BearerAuth("guess"))
    assert_equal(wrong.status, 401)
    assert_equal(client.get("/live").status, 200)


def test_another_upstream_answers_for_one_that_is_down() raises:
    var upstream = TestServer(AnyHandler(echo))
    var gone = TestServer(AnyHandler(echo))
    var gateway = gateway_to([gone.url, upstream.url])
    gone^.stop()
    var client = HttpClient(gateway.url)
    for _ in range(4):
        var answer = client.get("/api/echo", auth=BearerAuth(TOKEN))
        assert_equal(answer.status, 200)
    upstream^.stop()
    var answer = client.get("/api/echo", auth=BearerAuth(TOKEN))
    assert_equal(answer.status, 502)
    # Nothing is told of the network behind the gateway.
    assert_false("127.0.0.1" in answer.text())
    deinit(client^)
    gateway^.stop()


def test_an_upstream_that_is_none_is_refused_at_the_start() raises:
    assert_equal(settings_for(["http://127.0.0.1:1"]).problem(), "")
    assert_true("nowhere" in settings_for(["nowhere"]).problem())


def test_who_asks_too_often_has_to_wait() raises:
    var settings = settings_for(["http://127.0.0.1:1"])
    settings.requests_per_second = 0.001
    var client = TestClient(service(settings))
    var refused = 0
    for _ in range(50):
        if client.get("/live").status == 429:
            refused += 1
    assert_true(refused >= 10)
