"""Bad content that a handler asks its request for is the client's fault."""

from flare.http.extract.content import Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.error_handler import Recover
from flare.http.handler.failure import failure_line, failure_status
from flare.http.routing.router import Router
from flare.http.server.connection.dispatch import call_handler
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _json(req: Request) raises -> Response:
    return ok(req.json()["name"].string_value())


def _form(req: Request) raises -> Response:
    return ok(String(len(req.form())))


def _text(req: Request) raises -> Response:
    return ok(req.text())


def _query(req: Request) raises -> Response:
    return ok(String(len(req.query_params())))


def _catching(req: Request) raises -> Response:
    try:
        return ok(req.json()["name"].string_value())
    except error:
        return Response(418, String(error))


def _catching_and_failing(req: Request) raises -> Response:
    try:
        _ = req.json()
    except:
        raise Error("no connection to the database")
    return ok()


def _forged(req: Request) raises -> Response:
    """Raises what the client has sent, which may be any text."""
    raise Error(req.query_param("text"))


@fieldwise_init
struct _Named(Copyable, Movable):
    var name: String


@fieldwise_init
struct _Endpoint(Endpoint):
    var item: Json[_Named]

    def serve(self) raises -> Response:
        return ok(self.item.value.name)


def _router() raises -> Router:
    var router = Router()
    router.post("/json/:id", _json)
    router.post("/form", _form)
    router.post("/text", _text)
    router.get("/query", _query)
    router.post("/catching", _catching)
    router.post("/failing", _catching_and_failing)
    router.get("/forged", _forged)
    router.post("/endpoint", Extracted[_Endpoint]())
    return router^


def _ask(
    target: StringSpan, body: List[UInt8], method: StringSpan = "POST"
) raises -> Response:
    """Asks as a server does."""
    var owned = OwnedRequest(method, target)
    owned.add_header("Content-Type", "application/json")
    owned.body.extend(Span(body))
    return call_handler(_router(), owned.view())


def _octets(text: StringSpan) -> List[UInt8]:
    var octets = List[UInt8]()
    octets.extend(text.as_bytes())
    return octets^


def _too_many() -> String:
    return "a&" * 1_001


def test_bad_content_is_answered_as_of_an_endpoint() raises:
    var expected = _ask("/endpoint", _octets('{"name": '))
    assert_equal(Int(expected.status.code), 400)
    var found = _ask("/json/7", _octets('{"name": '))
    assert_equal(Int(found.status.code), 400)
    assert_equal(found.body.text(), expected.body.text())
    assert_equal(found.headers["content-type"], "application/problem+json")
    assert_true('"in":"body"' in found.body.text(), found.body.text())


def test_each_way_to_content() raises:
    var not_utf8: List[UInt8] = [34, 0xFF, 34]
    assert_equal(Int(_ask("/json/7", []).status.code), 400)
    assert_equal(Int(_ask("/json/7", not_utf8).status.code), 400)
    assert_equal(Int(_ask("/text", not_utf8).status.code), 400)
    assert_equal(Int(_ask("/form", _octets(_too_many())).status.code), 400)
    var found = _ask(String("/query?", _too_many()), [], "GET")
    assert_equal(Int(found.status.code), 400)
    assert_true('"in":"query"' in found.body.text(), found.body.text())
    assert_equal(_ask("/json/7", _octets('{"name":"a"}')).body.text(), "a")
    # A value of another kind is the handler's to judge.
    assert_equal(Int(_ask("/json/7", _octets('{"name":1}')).status.code), 500)


def test_a_handler_may_catch_it() raises:
    var caught = _ask("/catching", _octets("{"))
    assert_equal(Int(caught.status.code), 418)
    assert_true("JSON text" in caught.body.text())
    assert_equal(Int(_ask("/failing", _octets("{")).status.code), 500)


def test_no_text_makes_an_error_the_clients_fault() raises:
    # What `json` says of an empty text, from a client's own hand.
    var text = String()
    try:
        _ = OwnedRequest("GET", "/").view().json()
    except error:
        text = String(error)
    assert_true(text.byte_length() > 0)
    var target = String("/forged?text=", text.replace(" ", "+"))
    assert_equal(Int(_ask(target, [], "GET").status.code), 500)


def test_nothing_of_it_is_left_for_the_next_request() raises:
    # A worker has one storage for all its requests.
    var owned = OwnedRequest("POST", "/json/7")
    var view = owned.view()
    var text = String()
    try:
        _ = view.json()
    except error:
        text = String(error)
    assert_equal(failure_status(view, Error(text)), 400)
    view.route_params()[].clear()
    assert_equal(failure_status(view, Error(text)), 500)


def _on_error(req: Request, error: Error) -> Response:
    return Response(503)


def test_what_stands_around_sees_it() raises:
    var client = TestClient(Recover(_router(), _on_error))
    assert_equal(client.post("/json/7", "{").status.code, 400)
    assert_equal(client.post("/failing", "{").status.code, 503)
    var bare = TestClient(_router())
    assert_equal(bare.post("/json/7", "{").status.code, 400)
    with assert_raises(contains="database"):
        _ = bare.post("/failing", "{")
    bare.hides_errors = True
    assert_equal(bare.post("/failing", "{").status.code, 500)


def test_an_error_is_escaped_once() raises:
    """What an error has escaped itself is told as it is; what it has not stays
    within the line."""
    var request = OwnedRequest("GET", "/a\\b")
    for text in ["found 'a\\x0db'", "found 'a\rb'"]:
        var line = failure_line(request.view(), Error(text))
        assert_true("found 'a\\x0db' [GET" in line, line)
        # Of the request nothing was escaped before.
        assert_true("/a\\x5cb" in line, line)
    var long = failure_line(request.view(), Error(String("a") * 1_100))
    assert_true(String(String("a") * 1_000, "... (1100 bytes) [") in long, long)
