"""Recover: errors become responses within the stack."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.recover import Recover
from flare.http.middleware.request_id import RequestId
from flare.http.routing.request_id import request_id
from flare.http.routing.handler import FnHandler
from flare.testing.test_client import TestClient
from std.testing import assert_equal, assert_true


def _fail(req: Request) raises -> Response:
    raise Error("the database is at 10.0.0.5")


def _fine(req: Request) raises -> Response:
    return ok("fine")


def _sorry(req: Request, error: Error) -> Response:
    return Response(503, String("sorry ", request_id(req), " ", error))


def test_default_says_nothing() raises:
    var client = TestClient(Recover(FnHandler(_fail)))
    var response = client.get("/")
    assert_equal(response.status.code, 500)
    assert_equal(response.text(), "internal server error")


def test_hook_chooses_the_response() raises:
    var client = TestClient(RequestId(Recover(FnHandler(_fail), _sorry)))
    var response = client.get("/")
    assert_equal(response.status.code, 503)
    var id = String(response.headers["x-request-id"])
    assert_equal(
        response.text(), String("sorry ", id, " the database is at 10.0.0.5")
    )


def test_no_error_no_hook() raises:
    var client = TestClient(Recover(FnHandler(_fine), _sorry))
    assert_equal(client.get("/").text(), "fine")
