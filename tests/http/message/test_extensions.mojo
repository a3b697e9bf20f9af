"""Values that middleware gives to the handlers inside it."""

from flare.http.message.extensions import ExtensionScope
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.handler.handler import FnHandler, Handler, Middleware
from tests.support.assertions import assert_equal, assert_false, assert_raises


@fieldwise_init
struct _Tenant(Copyable, Movable):
    var name: String


@fieldwise_init
struct _Other(Copyable, Movable):
    var name: String


@fieldwise_init
struct _Lend[H: Handler](Middleware):
    comptime Inner = Self.H
    var handler: Self.H
    var name: String

    def serve(self, req: Request) raises -> Response:
        var tenant = _Tenant(self.name)
        var scope = ExtensionScope(req.extensions(), tenant)
        var response = self.handler.serve(req)
        scope^.end()
        return response^


def _home(req: Request) raises -> Response:
    if req.extension[_Other]():
        raise Error("nobody lent it")
    var tenant = req.extension[_Tenant]()
    if not tenant:
        return ok("none")
    return ok("hi " + tenant.value()[].name)


def _fail(req: Request) raises -> Response:
    raise Error("no")


def test_an_inner_handler_finds_a_value_by_its_type() raises:
    var owned = OwnedRequest("GET", "/")
    assert_equal(_home(owned.view()).text(), "none")
    var handler = _Lend(FnHandler(_home), "ann")
    assert_equal(handler.serve(owned.view()).text(), "hi ann")
    # The scope has ended with the call.
    assert_equal(_home(owned.view()).text(), "none")


def test_the_innermost_value_is_found() raises:
    var owned = OwnedRequest("GET", "/")
    var handler = _Lend(_Lend(FnHandler(_home), "inner"), "outer")
    assert_equal(handler.serve(owned.view()).text(), "hi inner")


def test_an_error_ends_the_scope() raises:
    var owned = OwnedRequest("GET", "/")
    with assert_raises(contains="no"):
        _ = _Lend(FnHandler(_fail), "ann").serve(owned.view())
    assert_false(Bool(owned.view().extension[_Tenant]()))
