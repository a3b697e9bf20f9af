"""The call sites that users rely on, written as they write them."""

from flare.http import (
    BasicAuth,
    BearerAuth,
    ClientRequest,
    FormData,
    Handler,
    HttpClient,
    HttpServer,
    MultipartForm,
    Request,
    Response,
    ShutdownHandle,
    delete,
    get,
    head,
    ok,
    ok_json,
    options,
    patch,
    post,
    put,
    unauthorized,
)
from flare.http.client import ClientResponse, SharedClient
from flare.net import SocketAddr
from flare.sys.thread import Task, Thread
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct Mirror(Handler):
    """Tells what was asked, as httpbin does."""

    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        if req.path == "/post":
            return ok_json(String('{"json": ', req.text(), "}"))
        if req.path == "/auth":
            if "authorization" not in req.headers:
                return unauthorized("who are you?")
            return ok(String(req.headers["Authorization"]))
        if req.path == "/items":
            var text = String('{"count": 2, "method": "', req.method, '"}')
            return ok_json(text)
        if req.path == "/stop":
            self.stopper.shutdown()
        return ok(String(req.method, " ", req.url, " ", req.text()))


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        self.server.serve(Mirror(self.server.shutdown_handle()))


struct Site(Movable):
    """A server on a thread."""

    var url: String
    var _thread: Thread

    def __init__(out self) raises:
        var server = HttpServer.bind(SocketAddr.localhost(0))
        self.url = String("http://", server.local_addr())
        self._thread = Thread(Serving(server^))

    def stop(deinit self) raises:
        _ = get(self.url + "/stop")
        self._thread^.join()


def test_single_requests() raises:
    var site = Site()
    var url = site.url
    var resp = get(url + "/a")
    assert_true(resp.status == 200 and resp.ok())
    assert_equal(resp.text(), "GET /a ")
    var r = post(url + "/post", '{"hello": "world"}')
    r.raise_for_status()
    assert_equal(r.json()["json"]["hello"].string_value(), "world")
    var text = String('{"hello": "you"}')
    r = post(url + "/post", text)
    assert_equal(r.json()["json"]["hello"].string_value(), "you")
    assert_equal(put(url + "/a", "1").text(), "PUT /a 1")
    assert_equal(patch(url + "/a", "1").text(), "PATCH /a 1")
    assert_equal(delete(url + "/a").text(), "DELETE /a ")
    assert_equal(head(url + "/a").status, 200)
    assert_equal(options(url + "/a").text(), "OPTIONS /a ")
    site^.stop()


def test_a_client_with_credentials() raises:
    var site = Site()
    with HttpClient(site.url, BearerAuth("tok")) as client:
        assert_equal(client.get("/auth").text(), "Bearer tok")
        assert_equal(client.get("/items").json()["count"].int_value(), 2)
        client.post("/items", '{"name": "new"}').raise_for_status()
        var request = ClientRequest("GET", "/auth")
        request.auth = BasicAuth("me", "pw")
        assert_equal(client.send(request^).text(), "Basic bWU6cHc=")
    var user = String("me")
    var password = String("pw")
    var client = HttpClient(site.url, BasicAuth(user, password))
    assert_equal(client.get("/auth").text(), "Basic bWU6cHc=")
    var stranger = HttpClient(site.url)
    assert_false(stranger.get("/auth").ok())
    client.close()
    stranger.close()
    site^.stop()


def test_kinds_of_content() raises:
    var site = Site()
    var client = HttpClient(site.url)
    var form = FormData()
    form.add("q", "a b")
    assert_equal(client.post("/f", form).text(), "POST /f q=a+b")
    var octets: List[UInt8] = [104, 105]
    assert_equal(client.post("/o", octets^).text(), "POST /o hi")
    var files = MultipartForm()
    files.add("title", "t")
    files.add_file("file", "a.txt", "abc".as_bytes(), "text/plain")
    var sent = client.post("/m", files^).text()
    assert_true('name="file"; filename="a.txt"\r\n' in sent)
    assert_true("Content-Type: text/plain\r\n\r\nabc\r\n--" in sent)
    client.close()
    site^.stop()


def test_many_at_once() raises:
    var site = Site()
    var client = HttpClient(site.url).with_cookies()
    var requests: List[ClientRequest] = [
        ClientRequest("GET", "/1"),
        ClientRequest("POST", "/2", "x"),
        ClientRequest("GET", "no scheme:"),
        ClientRequest("GET", "gopher://x/"),
    ]
    var results = client.send_all(requests, max_parallel=4)
    assert_equal(results[0].response.value().text(), "GET /1 ")
    assert_equal(results[1].response.value().text(), "POST /2 x")
    assert_true(Bool(results[3].error))
    assert_equal(results.pop(0).take().status, 200)
    assert_equal(len(client.cookies()), 0)
    with assert_raises(contains="max_parallel must be 1 or more"):
        _ = client.send_all([], max_parallel=0)
    client.close()
    site^.stop()


def _first_of_all(url: String) -> String:
    """What is chained in one `try`, whatever its errors are."""
    try:
        var response = get(url + "/items")
        response.raise_for_status()
        var count = response.json()["count"].int_value()
        post(url + "/post", "1").raise_for_status()
        print(post(url + "/post", "1").json()["json"].int_value())
        _ = response.headers["Content-Type"]
        return String(response.text(), count, Int("7"))
    except error:
        return String(error)


def _by_client(mut client: HttpClient, path: String) -> String:
    try:
        var x = client.get(path)
        x.raise_for_status()
        print(x.json()["count"].string_value())
        return "none"
    except e:
        return String(e.kind, " ", e.status)


def _by_shared(client: SharedClient, path: String) -> String:
    var own = client
    try:
        own.get(path).raise_for_status()
        var opened = own.open(ClientRequest("GET", path))
        opened.raise_for_status()
        return opened^.to_response().json()["method"].string_value()
    except e:
        return String(e)


def _without_request(response: ClientResponse) -> String:
    try:
        response.raise_for_status()
        return response.json()["count"].string_value()
    except e:
        return String(e.kind)


def test_one_try_is_enough() raises:
    """A `try` has the type of its first call that raises."""
    var site = Site()
    var found = _first_of_all(site.url)
    assert_equal(found, '{"count": 2, "method": "GET"}27')
    var client = HttpClient(site.url)
    # A number is no text: what JSON says of it is an error like any other.
    assert_equal(_by_client(client, "/items"), "BadContent 0")
    assert_equal(_by_client(client, "/auth"), "ErrorStatus 401")
    assert_equal(_without_request(client.get("/items")), "BadContent")
    client.close()
    var shared = SharedClient(site.url)
    assert_equal(_by_shared(shared, "/items"), "GET")
    var refused = _by_shared(shared, "/auth")
    assert_true("the server answered 401" in refused, refused)
    assert_true("it says: who are you?" in refused, refused)
    shared.close()
    site^.stop()
