"""Middleware written from the outside in."""

from flare.bytes.checked import *
from flare.http.client.message.request import ClientRequest
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.authentication import (
    KnownToken,
    KnownUsers,
    RequireBasicAuth,
    RequireBearerAuth,
    principal,
)
from flare.http.middleware.compress import Compress
from flare.http.middleware.conditional import Conditional
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.middleware.error_handler import (
    ErrorHandler,
    Recover,
    problem_json,
)
from flare.http.middleware.metrics import Metrics, RequestMetrics
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.security_headers import SecurityHeaders
from flare.http.middleware.timing import Timing
from flare.http.routing.app import App
from flare.http.handler.state import State
from flare.http.handler.handler import FnHandler, Handler, RequestPolicy
from flare.http.routing.router import Router
from flare.http.routing.stack import Layer, NEXT, stack
from flare.testing.test_client import TestClient
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Counted(Movable):
    """Counts its own ends."""

    var ends: ArcPointer[Int]

    def __deinit__(deinit self):
        self.ends[] += 1


@fieldwise_init
struct _Say[H: Handler](Layer):
    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = _Say[I]
    var words: List[String]
    var handler: Self.H
    var counted: _Counted

    def serve(self, req: Request) raises -> Response:
        var text = self.handler.serve(req).text()
        return ok(String(self.words.at(0), "(", text, ")"))


def _say(word: StringSpan, ends: ArcPointer[Int]) -> _Say[type_of(NEXT)]:
    var words: List[String] = [String(word)]
    return _Say(words^, materialize[NEXT](), _Counted(ends))


def _home(req: Request) raises -> Response:
    return ok("home")


def test_the_outermost_comes_first_at_any_depth() raises:
    var owned = OwnedRequest("GET", "/")
    var ends = ArcPointer(0)
    var home = FnHandler(_home)
    assert_equal(
        stack(_say("a", ends), home).serve(owned.view()).text(), "a(home)"
    )
    assert_equal(
        stack(_say("a", ends), _say("b", ends), home)
        .serve(owned.view())
        .text(),
        "a(b(home))",
    )
    var six = stack(
        _say("a", ends),
        _say("b", ends),
        _say("c", ends),
        _say("d", ends),
        _say("e", ends),
        _say("f", ends),
        stack(
            _say("g", ends),
            _say("h", ends),
            _say("i", ends),
            stack(
                _say("j", ends),
                _say("k", ends),
                _say("l", ends),
                _say("m", ends),
                stack(
                    _say("n", ends),
                    _say("o", ends),
                    _say("p", ends),
                    _say("q", ends),
                    _say("r", ends),
                    home,
                ),
            ),
        ),
    )
    assert_equal(
        six.serve(owned.view()).text(),
        "a(b(c(d(e(f(g(h(i(j(k(l(m(n(o(p(q(r(home))))))))))))))))))",
    )


def test_what_middleware_owns_is_moved_once() raises:
    var ends = ArcPointer(0)
    var made = stack(_say("a", ends), _say("b", ends), FnHandler(_home))
    assert_equal(ends[], 0)
    _ = made^
    assert_equal(ends[], 2)


def test_the_type_is_that_of_nesting() raises:
    var ends = ArcPointer(0)
    var made: _Say[_Say[FnHandler]] = stack(
        _say("a", ends), _say("b", ends), FnHandler(_home)
    )
    assert_equal(made.words.at(0), "a")
    assert_equal(made.handler.words.at(0), "b")


def test_middleware_around_nothing_says_so() raises:
    with assert_raises(contains="write stack(..., handler)"):
        _ = Timing(materialize[NEXT]()).serve(OwnedRequest("GET", "/").view())


@fieldwise_init
struct _Slow(Handler):
    def serve(self, req: Request) raises -> Response:
        return ok("slow")

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(max_body_size=7)


def test_the_inner_policy_comes_through() raises:
    var made = stack(Timing(NEXT), RequestId(NEXT), _Slow())
    var owned = OwnedRequest("GET", "/")
    assert_equal(made.policy_for(owned.view()).max_body_size, 7)


@fieldwise_init
struct _Counters(Copyable, Movable):
    var hits: Int


def _who(req: Request, state: State[_Counters]) raises -> Response:
    state.lock()[].hits += 1
    return ok(String(principal(req), " ", state.snapshot().hits))


def test_the_middleware_of_the_library_stands_in_stacks() raises:
    var router = Router()
    router.get("/", _who)
    var metrics = Metrics()
    var made = stack(
        RequestId(NEXT),
        Cors(NEXT, CorsPolicy(["https://a.example"])),
        SecurityHeaders(NEXT),
        RequestMetrics(NEXT, metrics),
        ErrorHandler(NEXT, problem_json),
        stack(
            Recover(NEXT),
            RequireBasicAuth(NEXT, KnownUsers("ann", "x")),
            Conditional(NEXT, makes_tags=True),
            Compress(NEXT),
            App(state=_Counters(hits=4), handler=NEXT),
            router^,
        ),
    )
    var client = TestClient(made^)
    # A guard's refusal has the shape that the error handler gives it.
    var refused = client.get("/")
    assert_equal(refused.status.code, 401)
    assert_equal(refused.headers["content-type"], "application/problem+json")
    var request = ClientRequest("GET", "/")
    request.set_header("Authorization", "Basic YW5uOng=")
    request.set_header("Origin", "https://a.example")
    var response = client.send(request^)
    assert_equal(response.text(), "ann 5")
    for name in ["x-request-id", "etag", "x-content-type-options"]:
        assert_true(name in response.headers, name)
    assert_equal(
        response.headers["access-control-allow-origin"], "https://a.example"
    )
    var token = stack(
        RequireBearerAuth(NEXT, KnownToken("t", "ci")), FnHandler(_home)
    )
    assert_equal(
        Int(token.serve(OwnedRequest("GET", "/").view()).status.code), 401
    )
