"""State: who finds it, who shares it, and that threads do not lose counts."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.app import App
from flare.http.handler.state import State
from flare.http.handler.handler import (
    DEFAULT_BODY_LIMIT,
    FnHandler,
    Handler,
    Middleware,
)
from flare.http.routing.router import Router
from flare.sys.thread import Task, Thread
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Counters(Copyable, Movable):
    var hits: Int


@fieldwise_init
struct _Name(Copyable, Movable):
    var text: String


def _count(req: Request) raises -> Response:
    var counters = State[_Counters].of(req).lock()
    counters[].hits += 1
    return ok(String(counters[].hits))


def _count_by_parameter(
    req: Request, state: State[_Counters]
) raises -> Response:
    state.lock()[].hits += 10
    return ok(String(state.snapshot().hits))


def _name(req: Request, state: State[_Name]) raises -> Response:
    return ok(state.lock()[].text)


def _fail(req: Request) raises -> Response:
    raise Error("no")


def _router() raises -> Router:
    var router = Router()
    router.get("/count", _count)
    router.get("/ten", _count_by_parameter)
    router.get("/name", _name)
    router.get("/fail", _fail)
    router.post("/small", _count, max_body_size=3, may_block=False)
    return router^


def test_handlers_share_the_state() raises:
    var client = TestClient(App(state=_Counters(hits=0), handler=_router()))
    assert_equal(client.get("/count").text(), "1")
    assert_equal(client.get("/ten").text(), "11")
    assert_equal(client.get("/count").text(), "12")


def test_state_that_is_missing_is_named() raises:
    var client = TestClient(App(state=_Counters(hits=0), handler=_router()))
    with assert_raises(contains="state of type _Name; serve App(state=_Name("):
        _ = client.get("/name")
    var bare = TestClient(_router())
    with assert_raises(contains="_Counters"):
        _ = bare.get("/count")


def test_apps_nest_by_type() raises:
    var inner = App(state=_Counters(hits=5), handler=_router())
    var outer = App(state=_Name("outer"), handler=inner^)
    var client = TestClient(App(state=_Counters(hits=100), handler=outer^))
    assert_equal(client.get("/name").text(), "outer")
    # The innermost of one type is found.
    assert_equal(client.get("/count").text(), "6")


def test_state_is_taken_back_after_a_raise() raises:
    var app = App(state=_Counters(hits=0), handler=_router())
    var owned = OwnedRequest("GET", "/fail")
    with assert_raises(contains="no"):
        _ = app.serve(owned.view())
    assert_true(not owned.view().extension[State[_Counters]]())
    _ = app.serve(OwnedRequest("GET", "/count").view())
    assert_true(not owned.view().extension[State[_Counters]]())


def test_state_given_from_outside() raises:
    var state = State(_Counters(hits=1))
    var client = TestClient(App(shared=state, handler=_router()))
    _ = client.get("/count")
    assert_equal(state.snapshot().hits, 2)


def test_what_servers_ask_goes_through() raises:
    var app = App(state=_Counters(hits=0), handler=_router())
    var small = OwnedRequest("POST", "/small")
    assert_equal(app.policy_for(small.view()).max_body_size, 3)
    assert_true(not app.policy_for(small.view()).blocks)
    var count = OwnedRequest("GET", "/count")
    assert_equal(app.policy_for(count.view()).max_body_size, DEFAULT_BODY_LIMIT)
    assert_true(app.policy_for(count.view()).blocks)


@fieldwise_init
struct _Outer[H: Handler](Middleware):
    comptime Inner = Self.H
    var before: String
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        return ok(self.before + self.handler.serve(req).text())


def test_middleware_nests() raises:
    var stack = _Outer("a", _Outer("b", FnHandler(_plain)))
    var client = TestClient(stack^)
    assert_equal(client.get("/").text(), "abplain")
    var limited = _Outer("a", _Outer("b", _router()))
    var small = OwnedRequest("POST", "/small")
    assert_equal(limited.policy_for(small.view()).max_body_size, 3)
    assert_true(not limited.policy_for(small.view()).blocks)


def _plain(req: Request) raises -> Response:
    return ok("plain")


@fieldwise_init
struct _Adder(Task):
    var state: State[_Counters]

    def run(mut self) raises:
        for _ in range(10_000):
            self.state.lock()[].hits += 1


def test_threads_lose_no_count() raises:
    var state = State(_Counters(hits=0))
    var threads = List[Thread]()
    for _ in range(4):
        threads.append(Thread(_Adder(state)))
    while len(threads) > 0:
        threads.pop().join()
    assert_equal(state.snapshot().hits, 40_000)
