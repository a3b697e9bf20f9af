"""State: who finds it, who shares it, and that threads do not lose counts."""

from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.timing import Timeout
from flare.http.routing.app import App
from flare.http.routing.comptime_router import ComptimeRoute, ComptimeRouter
from flare.http.routing.host_router import HostRouter
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.state import State, StateHandler
from flare.http.handler.handler import (
    DEFAULT_BODY_LIMIT,
    FnHandler,
    Handler,
    Middleware,
)
from flare.http.routing.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.connection.dispatch import check_handler
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
    router.get("/fail", _fail)
    router.post("/small", _count, max_body_size=3, may_block=False)
    return router^


def test_handlers_share_the_state() raises:
    var client = TestClient(App(state=_Counters(hits=0), handler=_router()))
    assert_equal(client.get("/count").text(), "1")
    assert_equal(client.get("/ten").text(), "11")
    assert_equal(client.get("/count").text(), "12")


def test_state_that_is_missing_is_named() raises:
    var router = Router()
    router.get("/count", _count)
    var bare = TestClient(router^)
    with assert_raises(contains="state of type _Counters; serve App(state="):
        _ = bare.get("/count")


def _named_router() raises -> Router:
    var router = _router()
    router.get("/name", _name)
    return router^


@fieldwise_init
struct _ShowName(Endpoint):
    var name: State[_Name]

    def serve(self) raises -> Response:
        return ok(self.name.snapshot().text)


comptime _COMPILED: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/plain", _plain),
    ComptimeRoute.of[StateHandler(_name)](Method.GET, "/name"),
]
comptime _COMPILED_FALLBACK: List[ComptimeRoute] = [
    ComptimeRoute.fallback_of[Extracted[_ShowName]()]()
]

comptime _ASKED = StaticString(
    "no App around this handler has a state of type _Name; serve App(state=_Name("
)


def _told(var handler: AnyHandler) -> String:
    """Gives what is said of a handler before it serves."""
    try:
        check_handler(handler, ServerConfig())
        _ = TestClient(handler^)
    except error:
        return String(error)
    return ""


def test_a_state_that_nobody_lends_is_told_before_a_request() raises:
    """As a path parameter that the pattern does not have: of functions and fields
    of endpoints, wherever their route is."""
    var router = Router()
    router.get("/name", _name)
    var said = _told(router^)
    assert_true(said.startswith(String("route: GET '/name': ", _ASKED)), said)
    said = _told(App(state=_Counters(0), handler=_named_router()))
    assert_true(said.startswith(String("route: GET '/name': ", _ASKED)), said)
    var outer = Router()
    outer.mount("/in", _named_router())
    said = _told(App(state=_Counters(0), handler=outer^))
    assert_true("route: GET '/in/name': " in said and _ASKED in said, said)
    outer = Router()
    outer.all("/in/*rest", _named_router())
    said = _told(App(state=_Counters(0), handler=outer^))
    assert_true("route: GET '/name': " in said and _ASKED in said, said)
    outer = Router()
    outer.get("/shown", Timeout(Extracted[_ShowName](), timeout_ms=100))
    said = _told(outer^)
    assert_true("route: GET '/shown': " in said and _ASKED in said, said)
    outer = Router()
    outer.fallback(_name)
    assert_true(_ASKED in _told(outer^))
    outer = Router()
    var inner = Router()
    inner.fallback(_name)
    outer.mount("/in", inner^)
    said = _told(outer^)
    assert_true("'/in/*'" in said and _ASKED in said, said)
    var hosts = HostRouter()
    hosts.add("example.org", _name)
    assert_true(_ASKED in _told(hosts^))
    assert_true(_ASKED in _told(_name))
    said = _told(ComptimeRouter[_COMPILED]())
    assert_true("route: GET '/name': " in said and _ASKED in said, said)
    assert_true(_ASKED in _told(ComptimeRouter[_COMPILED_FALLBACK]()))


def test_a_state_that_is_lent_is_told_of_nowhere() raises:
    assert_equal(
        _told(
            App(
                state=_Counters(0),
                handler=App(state=_Name("a"), handler=_named_router()),
            )
        ),
        "",
    )
    # An App around one route, also within middleware.
    var router = Router()
    router.get("/name", App(state=_Name("a"), handler=StateHandler(_name)))
    router.get(
        "/shown",
        Timeout(
            App(state=_Name("a"), handler=Extracted[_ShowName]()),
            timeout_ms=100,
        ),
    )
    router.fallback(App(state=_Name("a"), handler=_named_fallback()))
    assert_equal(_told(router^), "")
    assert_equal(
        _told(
            App(state=_Name("a"), handler=ComptimeRouter[_COMPILED_FALLBACK]())
        ),
        "",
    )
    assert_equal(
        _told(App(state=_Name("a"), handler=ComptimeRouter[_COMPILED]())), ""
    )
    assert_equal(_told(App(state=_Name("a"), handler=StateHandler(_name))), "")
    # What only asks within its body cannot be known.
    assert_equal(_told(_count), "")


def _named_fallback() raises -> Router:
    var router = Router()
    router.fallback(_name)
    return router^


def test_apps_nest_by_type() raises:
    var inner = App(state=_Counters(hits=5), handler=_named_router())
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
