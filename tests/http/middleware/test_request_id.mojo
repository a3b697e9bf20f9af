"""Request ids: made, taken over, told to handlers."""

from flare.http.client.message.request import ClientRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.request_id import RequestId
from flare.http.handler.handler import FnHandler, Handler, Middleware
from flare.http.handler.failure import request_id
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_true


def _tell(req: Request) raises -> Response:
    return ok(request_id(req))


def test_own_ids_are_distinct_and_told() raises:
    var client = TestClient(RequestId(FnHandler(_tell)))
    var seen = Dict[String, Int]()
    for number in range(200):
        var response = client.get("/")
        var id = String(response.headers["x-request-id"])
        assert_equal(id, response.text())
        assert_equal(id.byte_length(), 32)
        assert_true(id not in seen, id)
        seen[id] = number
    var other = TestClient(RequestId(FnHandler(_tell)))
    assert_true(other.get("/").text() not in seen)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var sent: String
    var is_kept: Bool


def test_ids_of_clients() raises:
    var rows: List[_Row] = [
        _Row("a token", "abc-1.2_3~", True),
        _Row("longest", "x" * 128, True),
        _Row("too long", "x" * 129, False),
        _Row("no space", "a b", False),
        _Row("no quote", 'a"b', False),
        _Row("no markup", "<script>", False),
    ]
    var keeping = TestClient(RequestId(FnHandler(_tell)))
    var strict = TestClient(RequestId(FnHandler(_tell), takes_over=False))
    for row in rows:
        var request = ClientRequest("GET", "/")
        request.set_header("X-Request-Id", row.sent)
        assert_equal(
            keeping.send(request.copy()).text() == row.sent,
            row.is_kept,
            row.rule,
        )
        assert_true(strict.send(request^).text() != row.sent, row.rule)


def _tell_twice(req: Request) raises -> Response:
    return ok(String(request_id(req), " ", request_id(req)))


def test_who_asks_first_makes_the_id() raises:
    var client = TestClient(_tell_twice)
    var first = client.get("/").text()
    assert_equal(first.byte_length(), 65)
    assert_equal(first[byte=0:32], first[byte=33:65])
    assert_true(client.get("/").text() != first)


@fieldwise_init
struct _Asking[H: Handler](Middleware):
    """Asks for the id before anybody else does."""

    comptime Inner = Self.H
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        var id = request_id(req)
        var response = self.handler.serve(req)
        response.headers.set("Asked", id)
        return response^


def test_one_id_in_whatever_order() raises:
    var outside = TestClient(_Asking(RequestId(FnHandler(_tell))))
    var inside = TestClient(RequestId(_Asking(FnHandler(_tell))))
    var response = outside.get("/")
    assert_equal(response.headers["x-request-id"], response.headers["asked"])
    assert_equal(response.headers["x-request-id"], response.text())
    response = inside.get("/")
    assert_equal(response.headers["x-request-id"], response.headers["asked"])
    assert_equal(response.headers["x-request-id"], response.text())
