"""Middleware around handlers that answer later: it works on the response that
comes, not on what stands for it, and counts those that nobody waits for."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.store import CacheStore
from flare.http.message.body_reader import BodyError
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.extensions import ExtensionScope
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.access_log import AccessLog
from flare.http.middleware.cache import Cache
from flare.http.middleware.compress import Compress
from flare.http.middleware.conditional import Conditional
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.middleware.error_handler import ErrorHandler, Problem
from flare.http.middleware.metrics import Metrics, RequestMetrics
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.sessions import CurrentSession, Sessions
from flare.http.middleware.timing import Timing
from flare.http.middleware.tracing import Tracing
from flare.http.handler.state import State
from flare.http.handler.handler import ContentToCome, Handler, RequestPolicy
from flare.http.handler.later import (
    ArrivingContent,
    Completion,
    DeferredCall,
    Errand,
    LaterSteps,
    RequestContent,
    is_later,
    later,
)
from flare.http.message.outcome import ResponseOutcome
from flare.http.routing.router import Router
from flare.http.session.session import Session, SessionConfig
from flare.http.session.signing_keys import SigningKeys
from flare.log.sink import LogFormat, LogSink
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.clock import unix_seconds
from flare.trace.core.tracer import SpanCollector, Tracer
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Silent(Errand):
    """An errand in whose place the tests answer."""

    var number: Int

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        errand[].number = 1

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        errand[].number = 2

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        errand[].number = 3


def _answer(req: Request) raises -> Response:
    return later(req, ArcPointer(_Silent(0)))


def _steps[H: Handler](handler: H, request: OwnedRequest) raises -> LaterSteps:
    """Asks a handler; gives what its middleware does with the response."""
    var call = DeferredCall(ArcPointer(WorkerLoop()), None)
    var req = request.view()
    var scope = ExtensionScope(req.extensions(), call)
    var response = handler.serve(req)
    scope^.end()
    assert_true(response.outcome() == ResponseOutcome.LATER)
    # What is set here would be added to the response, whatever that is.
    assert_equal(len(response.headers), 0)
    var steps = LaterSteps()
    swap(steps, call.steps)
    return steps^


def _keep[H: Handler](handler: H):
    """Keeps a handler for as long as its requests, as a server does."""
    return


def _finish(var steps: LaterSteps, var response: Response) raises -> Response:
    var request = _get()
    return steps.finish(request.view(), response^)


def _get(
    name: StringSpan = "X", value: StringSpan = "y"
) raises -> OwnedRequest:
    var request = OwnedRequest("GET", "/slow/7")
    request.add_header(name, value)
    return request^


def _all(headers: HeaderMap, name: StringSpan) -> String:
    """The values of all fields of a name."""
    var values = String()
    for index in range(len(headers)):
        if headers.name(index) == name:
            values += "; " if values.byte_length() > 0 else ""
            values += headers.value(index)
    return values^


def _router() raises -> Router:
    var router = Router()
    router.get("/slow/:id", _answer)
    return router^


def _text(metrics: Metrics) -> String:
    var text = String()
    metrics.write_metrics(text)
    return text^


def test_metrics_count_what_comes() raises:
    var metrics = Metrics()
    var handler = RequestMetrics(_router(), metrics)
    var steps = _steps(handler, _get())
    assert_true("http_requests_in_flight 1\n" in _text(metrics))
    assert_false("http_requests_total{" in _text(metrics))
    _ = _finish(steps^, Response(404))
    var text = _text(metrics)
    assert_true(
        'http_requests_total{method="GET",status="404",route="/slow/:id"} 1\n'
        in text,
        text,
    )
    assert_true("http_requests_in_flight 0\n" in text)
    _keep(handler)


def test_metrics_count_clients_that_leave() raises:
    var metrics = Metrics()
    var handler = RequestMetrics(_router(), metrics)
    var steps = _steps(handler, _get())
    steps.clear()
    var text = _text(metrics)
    assert_true(
        'http_requests_total{method="GET",status="499",route="/slow/:id"} 1\n'
        in text,
        text,
    )
    assert_true("http_requests_in_flight 0\n" in text)
    _keep(handler)


@fieldwise_init
struct _Kept(LogSink):
    var lines: State[List[String]]

    def write_line(self, line: StringSpan):
        self.lines.lock()[].append(String(line))


def test_logs_have_one_line_each() raises:
    var lines = State(List[String]())
    var handler = AccessLog(_router(), LogFormat.TEXT, sink=_Kept(lines))
    var answered = _steps(handler, _get())
    assert_equal(len(lines.lock()[]), 0)
    _ = _finish(answered^, ok("hello"))
    assert_equal(len(lines.lock()[]), 1)
    assert_true(" 200 " in lines.lock()[].at(0), lines.lock()[].at(0))
    var left = _steps(handler, _get())
    left.clear()
    assert_equal(len(lines.lock()[]), 2)
    assert_true(" 499 " in lines.lock()[].at(1), lines.lock()[].at(1))
    _keep(handler)


def test_times_end_with_the_response() raises:
    var handler = Timing(_router())
    var response = _finish(_steps(handler, _get()), ok("hello"))
    assert_true(
        response.headers.get("Server-Timing").value().startswith("total;dur=")
    )
    _keep(handler)


def test_content_is_compressed_when_it_is_there() raises:
    var handler = Compress(_router())
    var steps = _steps(handler, _get("Accept-Encoding", "gzip"))
    var response = _finish(steps^, ok("hello " * 1_000))
    assert_equal(response.headers.get("Content-Encoding").value(), "gzip")
    assert_equal(response.headers.get("Vary").value(), "Accept-Encoding")
    assert_true(len(response.body) < 1_000)
    # Another's request: nothing of the first one is left.
    var plain = _finish(_steps(handler, _get()), ok("hello " * 1_000))
    assert_false("Content-Encoding" in plain.headers)
    _keep(handler)


def test_who_may_read_it_says_cors_and_not_the_upstream() raises:
    """As around a handler that answers at once."""
    var handler = Cors(
        _router(),
        CorsPolicy(["https://a.example"], credentials=True, exposed="X-Own"),
    )
    var came = ok("hello")
    came.headers.set("Access-Control-Allow-Origin", "*")
    came.headers.set("Access-Control-Expose-Headers", "X-Other")
    came.headers.set("Vary", "Accept")
    var steps = _steps(handler, _get("Origin", "https://a.example"))
    var headers = _finish(steps^, came^).headers.copy()
    assert_equal(
        _all(headers, "Access-Control-Allow-Origin"), "https://a.example"
    )
    assert_equal(_all(headers, "Access-Control-Allow-Credentials"), "true")
    assert_equal(_all(headers, "Access-Control-Expose-Headers"), "X-Own")
    assert_equal(_all(headers, "Vary"), "Accept; Origin")
    _keep(handler)


def test_the_id_is_that_of_the_request_and_not_the_upstreams() raises:
    var handler = RequestId(_router())
    var came = ok("hello")
    came.headers.set("X-Request-Id", "other")
    var steps = _steps(handler, _get("X-Request-Id", "own"))
    var headers = _finish(steps^, came^).headers.copy()
    assert_equal(_all(headers, "X-Request-Id"), "own")
    _keep(handler)


def test_conditions_are_judged_by_what_comes() raises:
    # RFC 9110 section 13.1.2.
    var handler = Conditional(_router(), makes_tags=True)
    var first = _finish(_steps(handler, _get()), ok("hello"))
    var tag = String(first.headers.get("ETag").value())
    var again = _steps(handler, _get("If-None-Match", tag))
    var response = _finish(again^, ok("hello"))
    assert_equal(response.status.code, 304)
    assert_equal(len(response.body), 0)
    var changed = _steps(handler, _get("If-None-Match", tag))
    assert_equal(_finish(changed^, ok("hello!")).status.code, 200)
    _keep(handler)


def _shape(req: Request, problem: Problem) raises -> Response:
    return Response(
        problem.status,
        String(req.path, ": ", problem.detail),
        content_type="a/b",
    )


def test_errors_are_shaped_when_they_come() raises:
    var handler = ErrorHandler(_router(), _shape)
    var steps = _steps(handler, _get())
    var failure = Response(502, "upstream is away\n", content_type="text/plain")
    var response = _finish(steps^, failure^)
    assert_equal(response.status.code, 502)
    assert_equal(
        String(from_utf8=response.body.as_bytes()), "/slow/7: upstream is away"
    )
    var well = _finish(_steps(handler, _get()), ok("hello"))
    assert_equal(String(from_utf8=well.body.as_bytes()), "hello")
    _keep(handler)


def _own_page(req: Request) raises -> Response:
    _ = CurrentSession.of(req)[].get("user")
    return later(req, ArcPointer(_Silent(0)))


def _of_user(keys: SigningKeys, user: String) raises -> OwnedRequest:
    var session = Session()
    session.set("user", user.copy())
    var cookie = session.cookie(keys, SessionConfig(), unix_seconds())
    return _get("Cookie", String("session=", cookie.value))


def test_a_cache_gives_nobody_the_page_of_another() raises:
    # RFC 9111 section 4.1: what stands further in says Vary: Cookie, on what
    # stands for the response.
    var keys = SigningKeys("k" * 32)
    var router = Router()
    router.get("/slow/:id", _own_page)
    var handler = Cache(
        Sessions(router^, keys.copy()), CacheStore(), CachePolicy()
    )
    for user in ["ann", "ben"]:
        var request = _of_user(keys, String(user))
        var call = DeferredCall(ArcPointer(WorkerLoop()), None)
        var req = request.view()
        var scope = ExtensionScope(req.extensions(), call)
        var response = handler.serve(req)
        scope^.end()
        assert_true(response.outcome() == ResponseOutcome.LATER, user)
        var page = ok("the page of " + user)
        page.headers.set("Cache-Control", "max-age=60")
        response = call.steps.finish(req, page^)
        assert_equal(response.headers["Vary"], "Cookie")
    _keep(handler)


@fieldwise_init
struct _Evil(ArrivingContent):
    """Content that has not come yet."""

    def take(
        mut self, mut out: Buffer, mut failure: Optional[BodyError]
    ) -> Bool:
        out.append("evil".as_bytes())
        return True

    def trailers(self) -> HeaderMap:
        return HeaderMap()

    def go_on(mut self, task: UInt64):
        return


def test_a_cache_keeps_no_answer_to_content() raises:
    # RFC 9110 section 9.3.1: content of GET has no meaning, and an origin may
    # look at it all the same. Over HTTP/2 no field announces it.
    var handler = Cache(_router(), CacheStore(), CachePolicy())
    for has_content in [True, False]:
        var request = _get()
        var content = Optional[RequestContent](None)
        if has_content:
            content = RequestContent(_Evil())
        var call = DeferredCall(ArcPointer(WorkerLoop()), content^)
        var req = request.view()
        var scope = ExtensionScope(req.extensions(), call)
        var response = handler.serve(req)
        scope^.end()
        assert_true(response.outcome() == ResponseOutcome.LATER)
        var page = ok("you said: evil")
        page.headers.set("Cache-Control", "max-age=60")
        _ = call.steps.finish(req, page^)
    _keep(handler)


@fieldwise_init
struct _Blocks(Handler):
    """Takes long, and answers at once."""

    def serve(self, req: Request) raises -> Response:
        return ok("hello").with_header("Cache-Control", "max-age=60")

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy()


def test_what_blocks_is_not_called_on_the_loop_for_content() raises:
    var handler = Cache(_Blocks(), CacheStore(), CachePolicy())
    var request = _get()
    var req = request.view()
    assert_true(handler.policy_for(req).blocks)
    _ = handler.serve(req)
    assert_false(handler.policy_for(req).blocks, "it is kept")
    var note = ContentToCome()
    var scope = ExtensionScope(req.extensions(), note)
    assert_true(handler.policy_for(req).blocks, "it is passed on")
    scope^.end()


struct _Tagged(Handler):
    """Sets a tag on whatever its handler answers with."""

    var handler: Router

    def __init__(out self) raises:
        self.handler = _router()

    def serve(self, req: Request) raises -> Response:
        var response = self.handler.serve(req)
        response.headers.set("ETag", '"v1"')
        return response^


def test_conditions_are_judged_by_what_is_set_further_in() raises:
    # RFC 9110 section 13.1.2.
    var handler = Conditional(_Tagged())
    var steps = _steps(handler, _get("If-None-Match", '"v1"'))
    var response = _finish(steps^, ok("hello"))
    assert_equal(response.status.code, 304)
    assert_equal(response.headers["ETag"], '"v1"')
    _keep(handler)


def test_spans_end_with_the_response() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(_router(), tracer)
    var steps = _steps(handler, _get())
    assert_true(tracer.flush())
    assert_equal(len(spans.take()), 0)
    _ = _finish(steps^, Response(502))
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended), 1)
    assert_equal(ended.at(0).name, "GET /slow/:id")
    var status = ended.at(0).attributes.get("http.response.status_code")
    assert_equal(status.value().integer, 502)
    var left = _steps(handler, _get())
    left.clear()
    assert_true(tracer.flush())
    ended = spans.take()
    assert_equal(len(ended), 1)
    assert_false(ended.at(0).attributes.get("http.response.status_code"))
    _keep(handler)


def test_a_status_does_not_make_a_response_late() raises:
    var request = OwnedRequest("GET", "/")
    var call = DeferredCall(ArcPointer(WorkerLoop()), None)
    var req = request.view()
    var scope = ExtensionScope(req.extensions(), call)
    assert_false(is_later(req, Response(102)))
    var late = Response.made_later()
    assert_true(is_later(req, late))
    late.status = 200
    assert_true(is_later(req, late), "nor is it one for another status")
    late.reuse()
    assert_false(is_later(req, late))
    scope^.end()
    assert_false(is_later(req, Response.made_later()), "nobody would send it")
    assert_true(Response(101).outcome() == ResponseOutcome.NOW)
