"""Calls with arguments by name, as users write them."""

from flare.http import (
    BasicAuth,
    BearerAuth,
    FormData,
    Handler,
    HeaderMap,
    HttpClient,
    MultipartForm,
    Request,
    Response,
    ok,
)
from flare.json import parse
from flare.testing import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct Item:
    var name: String
    var count: Int


@fieldwise_init
struct Mirror(Handler):
    """Tells all that the arguments of a call decide on."""

    def serve(self, req: Request) raises -> Response:
        var text = String(req.method, " ", req.url)
        for name in [
            StaticString("x-a"),
            StaticString("content-type"),
            StaticString("authorization"),
        ]:
            if name in req.headers:
                text.write(" ", name, "=", req.headers[name])
        text.write(" ", req.text())
        return ok(text^)


def _client() raises -> TestClient:
    return TestClient(Mirror())


def test_params_are_encoded_into_the_query() raises:
    # URL Standard section 5.2: a space is a plus, the rest percent-encoded.
    var client = _client()
    assert_equal(
        client.get("/i", params={"q": "a b&c", "page": 2, "full": True}).text(),
        "GET /i?q=a+b%26c&page=2&full=true ",
    )
    # Behind the URL's own.
    assert_equal(
        client.get("/i?x=1#part", params={"y": "2"}).text(), "GET /i?x=1&y=2 "
    )
    # The same name twice takes a form.
    var pairs = FormData()
    pairs.add("id", "1")
    pairs.add("id", "2")
    assert_equal(
        client.delete("/i", params=pairs^).text(), "DELETE /i?id=1&id=2 "
    )


def test_headers_and_credentials() raises:
    var client = _client()
    assert_equal(client.get("/", headers={"X-A": "1"}).text(), "GET / x-a=1 ")
    var fields = HeaderMap()
    fields.set("X-A", "2")
    assert_equal(client.get("/", headers=fields^).text(), "GET / x-a=2 ")
    assert_equal(
        client.options("/", auth=BearerAuth("tok")).text(),
        "OPTIONS / authorization=Bearer tok ",
    )
    assert_equal(
        client.patch("/", auth=BasicAuth("me", "pw")).text(),
        "PATCH / authorization=Basic bWU6cHc= ",
    )


def test_json_of_every_kind() raises:
    var client = _client()
    comptime START = "POST / content-type=application/json "
    assert_equal(
        client.post("/", json=Item("tea", 3)).text(),
        START + '{"name":"tea","count":3}',
    )
    assert_equal(
        client.post("/", json={"name": 'a"b', "count": 3, "no": False}).text(),
        START + '{"name":"a\\"b","count":3,"no":false}',
    )
    assert_equal(
        client.post("/", json={"inner": {"x": 1}, "item": Item("a", 0)}).text(),
        START + '{"inner":{"x":1},"item":{"name":"a","count":0}}',
    )
    # Text is JSON already.
    assert_equal(client.post("/", json='{"a": 1}').text(), START + '{"a": 1}')
    var text = String("[1]")
    assert_equal(client.post("/", json=text).text(), START + "[1]")
    assert_equal(
        client.post("/", json=parse('{"a": 1}')).text(), START + '{"a":1}'
    )
    var numbers: List[Int] = [1, 2]
    assert_equal(client.post("/", json=numbers).text(), START + "[1,2]")


def test_forms_and_data() raises:
    var client = _client()
    comptime FORM = "content-type=application/x-www-form-urlencoded"
    assert_equal(
        client.post("/", form={"q": "a b", "n": 1}).text(),
        "POST / " + FORM + " q=a+b&n=1",
    )
    var files = MultipartForm()
    files.add("title", "t")
    assert_true(
        "multipart/form-data; boundary=" in client.put("/", form=files^).text()
    )
    assert_equal(
        client.put("/", data="hi").text(),
        "PUT / content-type=text/plain; charset=utf-8 hi",
    )
    var octets: List[UInt8] = [104, 105]
    assert_equal(
        client.put("/", data=octets^).text(),
        "PUT / content-type=application/octet-stream hi",
    )
    # A Content-Type among the headers wins.
    assert_equal(
        client.put(
            "/", data="a,b", headers={"Content-Type": "text/csv"}
        ).text(),
        "PUT / content-type=text/csv a,b",
    )


def test_any_method() raises:
    var client = _client()
    assert_equal(
        client.request("PROPFIND", "/", params={"a": 1}).text(),
        "PROPFIND /?a=1 ",
    )


def test_arguments_that_cannot_be_met_are_told() raises:
    var client = _client()
    with assert_raises(
        contains="content is given twice, the second time by form="
    ):
        _ = client.post("/", json="1", form={"a": 1})
    with assert_raises(
        contains="content is given twice, the second time by data="
    ):
        _ = client.post("/", "1", data="2")
    with assert_raises(contains="headers: "):
        _ = client.get("/", headers={"X-A": "1\r\nX-B: 2"})
    # As of `auth`, an error does not show what goes into a log.
    for name in ["Authorization", "cookie", "Proxy-Authorization"]:
        var text = String()
        try:
            _ = client.get("/", headers={String(name): "Bearer s3cret\n"})
        except error:
            text = String(error)
        assert_true(name in text and "s3cret" not in text, text)
    # Before anything is sent: nobody listens there.
    var http = HttpClient("http://127.0.0.1:1")
    with assert_raises(contains="BadRequest: content is given twice"):
        _ = http.post("/", "1", json={"a": 1})


def test_a_time_of_its_own() raises:
    # The server is never asked: no time is left before anything is sent.
    var http = HttpClient("http://127.0.0.1:1")
    with assert_raises(contains="0 ms; total_timeout_ms allows more"):
        _ = http.get("/", timeout_ms=0)
