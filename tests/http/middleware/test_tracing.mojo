"""Spans of requests: what is told, how traces go on, when streams end."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.message.request import ClientRequest
from flare.http.message.body import (
    Body,
    BodySource,
    Poll,
    UpgradedProtocol,
)
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request, TlsPeer
from flare.http.message.response import Response, ok, ok_stream
from flare.http.middleware.tracing import TracedStream, Tracing
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.handler import FnHandler
from flare.http.routing.router import Router
from flare.http.routing.stack import NEXT, stack
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient, whole_body
from flare.trace.core.propagation import current_span, set_trace_fields
from flare.http.message.header_map import HeaderMap
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import SpanData, SpanKind
from flare.trace.core.tracer import SpanCollector, Tracer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime _PARENT = StaticString(
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)


def _answer(req: Request) raises -> Response:
    """Answers with the fields that an outgoing request would have."""
    var span = current_span(req)
    span.set("order.id", 7)
    var headers = HeaderMap()
    set_trace_fields(headers, span)
    var text = String()
    for index in range(len(headers)):
        text.write(headers.name(index), ": ", headers.value(index), "\n")
    return ok(text^)


def _fail(req: Request) raises -> Response:
    raise Error("no such table")


def _refuse(req: Request) raises -> Response:
    _ = req.json()
    return ok()


def _unavailable(req: Request) raises -> Response:
    return Response(503)


def _work(req: Request) raises -> Response:
    with current_span(req).child("query") as span:
        span.set("rows", 3)
    return ok()


def _router() raises -> Router:
    var router = Router()
    router.get("/users/:id", _answer)
    router.get("/fail", _fail)
    router.post("/json", _refuse)
    router.get("/away", _unavailable)
    router.get("/steps", _work)
    return router^


def _text(span: SpanData, key: StringSpan) raises -> String:
    var value = span.attributes.get(key)
    return value.value().text if value else String("(none)")


def _one(spans: SpanCollector, tracer: Tracer) raises -> SpanData:
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended), 1)
    return ended.at(0).copy()


def test_what_a_span_tells_of_a_request() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    client.peer = SocketAddr(IpAddr.parse("192.0.2.7"), 4_000)
    var request = ClientRequest("GET", "/users/7?token=secret")
    request.set_header("User-Agent", "test/1")
    request.set_header("Host", "shop.example.com:8080")
    _ = client.send(request^)
    var span = _one(spans, tracer)
    assert_equal(span.name, "GET /users/:id")
    assert_true(span.kind == SpanKind.SERVER)
    assert_false(span.is_failed)
    assert_equal(_text(span, "http.request.method"), "GET")
    assert_equal(_text(span, "http.route"), "/users/:id")
    assert_equal(_text(span, "url.path"), "/users/7")
    assert_equal(_text(span, "url.scheme"), "http")
    assert_equal(_text(span, "url.query"), "(none)")
    assert_equal(_text(span, "server.address"), "shop.example.com")
    assert_equal(span.attributes.get("server.port").value().integer, 8_080)
    assert_equal(_text(span, "client.address"), "192.0.2.7")
    assert_equal(_text(span, "user_agent.original"), "test/1")
    assert_equal(_text(span, "network.protocol.version"), "1.1")
    assert_equal(
        span.attributes.get("http.response.status_code").value().integer, 200
    )
    assert_equal(span.attributes.get("order.id").value().integer, 7)
    assert_equal(_text(span, "error.type"), "(none)")


@fieldwise_init
struct _HostRow(Copyable, Movable):
    var host: String
    var address: String
    var port: Int


def test_host_is_split() raises:
    # RFC 3986 section 3.2: uri-host [ ":" port ].
    var rows: List[_HostRow] = [
        _HostRow("a.example", "a.example", -1),
        _HostRow("a.example:80", "a.example", 80),
        _HostRow("a.example:", "a.example:", -1),
        _HostRow("[::1]:8080", "[::1]", 8_080),
        _HostRow("[::1]", "[::1]", -1),
        _HostRow("1", "1", -1),
        _HostRow("a:999999", "a:999999", -1),
    ]
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(_router(), tracer)
    for row in rows:
        var request = OwnedRequest("GET", "/users/7")
        request.add_header("Host", row.host)
        _ = handler.serve(request.view())
        var span = _one(spans, tracer)
        assert_equal(_text(span, "server.address"), row.address)
        var port = span.attributes.get("server.port")
        assert_equal(port.value().integer if port else -1, row.port, row.host)


def test_what_is_not_known_is_not_told() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(_router(), tracer)
    var request = OwnedRequest("BREW", "/pot")
    request.peer = SocketAddr(IpAddr.v4(0, 0, 0, 0), 0)
    request.tls = TlsPeer()
    _ = handler.serve(request.view())
    var span = _one(spans, tracer)
    assert_equal(span.name, "HTTP")
    assert_equal(_text(span, "http.request.method"), "_OTHER")
    assert_equal(_text(span, "http.request.method_original"), "BREW")
    assert_equal(_text(span, "url.scheme"), "https")
    for key in ["client.address", "server.address", "user_agent.original"]:
        assert_equal(_text(span, key), "(none)")
    assert_equal(_text(span, "http.route"), "(none)")


@fieldwise_init
struct _OutcomeRow(Copyable, Movable):
    var method: StaticString
    var path: StaticString
    var status: Int
    var is_failed: Bool
    var failure: StaticString
    var error_type: StaticString


def test_outcomes() raises:
    # Semantic conventions for HTTP spans, Status: 4xx of a server is no error.
    var rows: List[_OutcomeRow] = [
        _OutcomeRow("GET", "/none", 404, False, "", "(none)"),
        _OutcomeRow("POST", "/json", 400, False, "", "(none)"),
        _OutcomeRow("GET", "/away", 503, True, "", "503"),
        _OutcomeRow("GET", "/fail", 500, True, "no such table", "500"),
    ]
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    client.hides_errors = True
    for row in rows:
        var response = client.send(ClientRequest(row.method, row.path, "{"))
        assert_equal(response.status.code, row.status, row.path)
        var span = _one(spans, tracer)
        assert_equal(
            span.attributes.get("http.response.status_code").value().integer,
            row.status,
        )
        assert_equal(span.is_failed, row.is_failed, row.path)
        assert_equal(span.failure, row.failure)
        assert_equal(_text(span, "error.type"), row.error_type)
        assert_equal(
            len(span.events), 1 if row.failure.byte_length() > 0 else 0
        )


def _asked(
    mut client: TestClient, parent: StringSpan, state: StringSpan = ""
) raises -> String:
    var request = ClientRequest("GET", "/users/7")
    if parent.byte_length() > 0:
        request.set_header("traceparent", parent)
    if state.byte_length() > 0:
        request.set_header("tracestate", state)
    return client.send(request^).text()


def test_traces_go_on() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    var sent = _asked(client, _PARENT, "a=1 , b=2")
    var span = _one(spans, tracer)
    assert_equal(span.context.trace_id(), "0af7651916cd43dd8448eb211c80319c")
    assert_true(span.parent_id == 0xB7AD6B7169203331)
    assert_equal(span.trace_state, "a=1,b=2")
    assert_equal(
        sent,
        String(
            "traceparent: 00-0af7651916cd43dd8448eb211c80319c-",
            span.context.span_id_text(),
            "-01\ntracestate: a=1,b=2\n",
        ),
    )


def test_what_is_not_sampled_goes_on_all_the_same() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    var sent = _asked(client, _PARENT.replace("-01", "-00"), "a=1")
    assert_true(
        sent.startswith("traceparent: 00-0af7651916cd43dd8448eb211c80319c-")
    )
    assert_true(sent.endswith("-00\ntracestate: a=1\n"), sent)
    assert_false("b7ad6b7169203331" in sent)
    assert_true(tracer.flush())
    assert_equal(len(spans.take()), 0)


def test_traces_begin_anew() raises:
    # Trace Context section 4.3: what is malformed is as good as nothing.
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var continues = TestClient(Tracing(_router(), tracer))
    var restarts = TestClient(Tracing(_router(), tracer, takes_over=False))
    assert_false("0af76519" in _asked(continues, _PARENT.replace("-", "_")))
    var span = _one(spans, tracer)
    assert_true(span.parent_id == 0)
    var sent = _asked(continues, "", "a=1")
    assert_false("a=1" in sent, "tracestate alone means nothing")
    assert_true(_one(spans, tracer).trace_state == "")
    sent = _asked(restarts, _PARENT, "a=1")
    assert_false("0af76519" in sent or "a=1" in sent, sent)
    assert_true(_one(spans, tracer).parent_id == 0)


def test_two_traceparents_are_none() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(_router(), tracer)
    var request = OwnedRequest("GET", "/users/7")
    request.add_header("traceparent", _PARENT)
    request.add_header("traceparent", _PARENT)
    _ = handler.serve(request.view())
    assert_true(_one(spans, tracer).parent_id == 0)


def test_children_of_a_request() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    _ = client.get("/steps")
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended), 2)
    assert_equal(ended[0].name, "query")
    assert_true(ended[0].parent_id == ended[1].context.span_id)
    assert_equal(ended[1].name, "GET /steps")


def test_without_middleware_there_is_no_trace() raises:
    var client = TestClient(_router())
    assert_equal(_asked(client, _PARENT), "")


def test_a_requests_span_goes_to_a_handler_under_test() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(_router(), tracer))
    var root = tracer.span("test")
    _ = client.get("/users/7", trace=root)
    var span = _one(spans, tracer)
    assert_true(span.parent_id == root.context.span_id)
    root.end()


@fieldwise_init
struct _Pieces(BodySource):
    """Makes so many pieces, and then an end or an error."""

    var left: Int
    var breaks: Bool

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.left == 0:
            if self.breaks:
                raise Error("the disk is gone")
            return Poll.DONE
        self.left -= 1
        out.append("piece".as_bytes())
        return Poll.READY


def _stream(req: Request) raises -> Response:
    return ok_stream(_Pieces(2, False))


def _broken_stream(req: Request) raises -> Response:
    return Response(200, Body(_Pieces(1, True), length=10))


def test_a_stream_ends_its_span() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(FnHandler(_stream), tracer)
    var request = OwnedRequest("GET", "/")
    var response = handler.serve(request.view())
    assert_true(tracer.flush())
    assert_equal(len(spans.take()), 0)
    assert_equal(whole_body(response.body).text(), "piecepiece")
    deinit(response^)
    assert_false(_one(spans, tracer).is_failed)


def _read_broken(handler: Tracing[FnHandler]) raises:
    var request = OwnedRequest("GET", "/")
    var response = handler.serve(request.view())
    assert_equal(response.body.stream()[].length.value(), 10)
    with assert_raises(contains="disk"):
        _ = whole_body(response.body)


def test_a_broken_stream_fails_its_span() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    _read_broken(Tracing(FnHandler(_broken_stream), tracer))
    var span = _one(spans, tracer)
    assert_true(span.is_failed)
    assert_equal(span.failure, "the disk is gone")


@fieldwise_init
struct _Busy(UpgradedProtocol):
    """A conversation that takes nothing now, has a time of its own and goes on
    when its client has ended its side."""

    def fill(mut self, mut out: Buffer) raises -> Poll:
        return Poll.PENDING

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        return Poll.PENDING

    def is_full(self) -> Bool:
        return True

    def end_input(mut self) -> Bool:
        return True

    def stall_timeout_ms(self) -> Int:
        return 7

    def poll_interval_ms(self) -> Int:
        return 8

    def has_given_up(self) -> Bool:
        return True

    def is_endless(self) -> Bool:
        return True

    def end_early(mut self, mut out: Buffer) -> Poll:
        return Poll.PENDING


def test_a_traced_conversation_says_what_the_one_within_says() raises:
    # `UpgradedProtocol.is_full`: the client of one that is full is not read.
    var inner = Body.conversing(_Busy()).stream()
    var body = Body.conversing(TracedStream(inner, TraceSpan()))
    var traced = body.stream()
    assert_true(traced[].is_full(), "takes nothing")
    assert_true(traced[].end_input(), "goes on")
    assert_equal(traced[].stall_timeout_ms(), 7, "may take nothing for so long")
    assert_equal(traced[].poll_interval_ms(), 8, "may be left alone so long")
    assert_true(traced[].has_given_up(), "is to be broken off")
    assert_true(traced[].is_endless(), "goes on until the client leaves")
    var out = Buffer(0)
    assert_true(traced[].end_early(out) == Poll.PENDING, "waits for its end")


def test_refusals_have_spans() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var handler = Tracing(_router(), tracer)
    var request = OwnedRequest("", "")
    var response = handler.refuse(request.view(), Response(431))
    assert_equal(response.status.code, 431)
    var span = _one(spans, tracer)
    assert_equal(span.name, "HTTP")
    assert_equal(
        span.attributes.get("http.response.status_code").value().integer, 431
    )


def test_the_end_of_a_server_exports() raises:
    # However the middleware is wrapped: in a stack, erased, or below a router.
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var outer = Router()
    outer.get("/in", Tracing(FnHandler(_answer), tracer))
    var handlers = List[AnyHandler]()
    handlers.append(AnyHandler(Tracing(_router(), tracer)))
    handlers.append(AnyHandler(stack(Tracing(NEXT, tracer), _router())))
    handlers.append(AnyHandler(outer^))
    for index in range(len(handlers)):
        tracer.span("late").end()
        handlers.at(index).drained()
        assert_equal(len(spans.take()), 1)
