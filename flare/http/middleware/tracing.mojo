"""A span for each request, by W3C Trace Context and OpenTelemetry's names."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.http.message.body import (
    Body,
    BodyStream,
    FileRegion,
    HoldsSource,
    Poll,
    UpgradedProtocol,
)
from flare.http.message.extensions import ExtensionScope
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.handler.failure import failure_status
from flare.http.handler.handler import Handler
from flare.http.handler.later import LaterStep, finish_later, is_later
from flare.http.routing.stack import Layer
from flare.trace.core.context import TraceContext
from flare.trace.core.propagation import read_trace_state, remote_parent
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import SpanData, SpanKind
from flare.trace.core.tracer import Tracer
from std.memory import ArcPointer
from std.sys.intrinsics import unlikely


struct Tracing[H: Handler](Layer):
    """Makes a span of each request, as a part of the trace that it came with.

        server.serve(Tracing(router^, tracer))

    Handlers within find it by `current_span`. It begins before the inner
    handler and ends with its response; that of streamed content and of a
    WebSocket ends when the last octet was made, or the client is gone. Its name
    is the method and the pattern of the route, `GET /users/:id`.

    Attributes have the names of OpenTelemetry's conventions: of the target the
    path is told, but not the query. The span fails with a status of 500 or
    more, and with what the handler raises.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Tracing[I]
    var handler: Self.H
    """What answers."""
    var tracer: Tracer
    """Decides which requests are recorded, and exports spans."""
    var takes_over: Bool
    """Whether traces of clients are continued. False where strangers are let in:
    each request begins a trace then, so that nobody outside decides what is
    recorded."""

    def __init__(
        out self,
        var handler: Self.H,
        tracer: Tracer,
        *,
        takes_over: Bool = True,
    ):
        """Wraps a handler."""
        self.handler = handler^
        self.tracer = tracer
        self.takes_over = takes_over

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and records it."""
        var span = self._begin(req)
        try:
            var scope = ExtensionScope(req.extensions(), span)
            var response = self.handler.serve(req)
            scope^.end()
            if unlikely(span.is_recording()):
                if is_later(req, response):
                    _finish_later(span, req, response)
                else:
                    _finish(span, req, response)
            return response^
        except error:
            if span.is_recording():
                _finish_failed(span, req, error)
            raise error^

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Records a request that the server answers in place of the handler."""
        var span = self._begin(req)
        var scope = ExtensionScope(req.extensions(), span)
        response = self.handler.refuse(req, response^)
        scope^.end()
        if span.is_recording():
            _finish(span, req, response)
        return response^

    def drained(self):
        """Waits until the spans are exported, as long as
        `BatchConfig.flush_ms` allows."""
        self.handler.drained()
        _ = self.tracer.flush()

    @always_inline
    def _begin(self, req: Request) -> TraceSpan:
        var parent = TraceContext()
        if self.takes_over:
            parent = remote_parent(req.headers)
        var context = self.tracer.begin(parent)
        if unlikely(context.is_sampled()):
            return _record(self.tracer, req, context, parent)
        return TraceSpan(context, is_continued=parent.is_valid())


@no_inline
def _record(
    tracer: Tracer, req: Request, context: TraceContext, parent: TraceContext
) -> TraceSpan:
    """Begins the span of a request that is sampled."""
    var is_known = req.method != Method.OTHER
    var method = String(req.method_name) if is_known else String("HTTP")
    var data = SpanData(context, SpanKind.SERVER, method.copy())
    ref attributes = data.attributes
    if is_known:
        attributes.set("http.request.method", method^)
    else:
        attributes.set("http.request.method", "_OTHER")
        if req.method_name.byte_length() > 0:
            attributes.set(
                "http.request.method_original", String(req.method_name)
            )
    attributes.set("url.path", String(req.path))
    attributes.set("url.scheme", String(req.scheme()))
    _set_server(data, req.host())
    if req.peer.port != 0 or not req.peer.ip.is_unspecified():
        attributes.set("client.address", String(req.peer.ip))
    var agent = req.headers.get("user-agent")
    if agent:
        attributes.set("user_agent.original", agent.value())
    var version = String(req.version)
    attributes.set(
        "network.protocol.version", String(version.removeprefix("HTTP/"))
    )
    if parent.is_valid():
        data.parent_id = parent.span_id
        data.trace_state = read_trace_state(req.headers)
    return tracer.record(data^)


def _set_server(mut data: SpanData, host: StringSpan):
    """Tells the authority that the request is for."""
    if host.byte_length() == 0:
        return
    var octets = host.as_bytes()
    var colon = len(octets) - 1
    while colon > 0 and octets.at(colon) >= 48 and octets.at(colon) <= 57:
        colon -= 1
    var name = host
    # A port has up to five digits; a Host was checked when it was parsed.
    var digit_count = len(octets) - colon - 1
    if octets.at(colon) == 58 and digit_count > 0 and digit_count <= 5:
        data.attributes.set(
            "server.port", read_digits(octets.after(colon + 1), 5)
        )
        name = StringSpan(unsafe_from_utf8=octets.before(colon))
    data.attributes.set("server.address", String(name))


@no_inline
def _finish(span: TraceSpan, req: Request, mut response: Response):
    """Tells of the response, with whose last octet the span ends."""
    var status = response.status.code
    _set_outcome(span, req, status)
    if status >= 500:
        span.fail()
    if response.body.is_stream():
        var stream = TracedStream(response.body.stream(), span)
        if response.body.listens():
            response.body = Body.conversing(stream^)
        else:
            var length = stream.inner[].length
            response.body = Body(stream^, length=length)
    else:
        span.end()


@no_inline
def _finish_later(span: TraceSpan, req: Request, mut response: Response) raises:
    """Ends the span with a response that is made later."""
    finish_later(req, response, _LateSpan(span, OwnedRequest(copy_of=req)))


@fieldwise_init
struct _LateSpan(LaterStep):
    """A span whose response is made later. Where nobody waits for that any
    more it ends without a status, with its last copy."""

    var span: TraceSpan
    var request: OwnedRequest

    def finish(mut self, var response: Response) raises -> Response:
        _finish(self.span, self.request.view(), response)
        return response^


@no_inline
def _finish_failed(span: TraceSpan, req: Request, error: Error):
    var status = failure_status(req, error)
    _set_outcome(span, req, status)
    if status >= 500:
        span.record_error(String(error))
    span.end()


def _set_outcome(span: TraceSpan, req: Request, status: Int):
    var route = req.route()
    if route.byte_length() > 0:
        var method = String(
            req.method_name
        ) if req.method != Method.OTHER else String("HTTP")
        span.rename(String(method, " ", route))
        span.set("http.route", String(route))
    span.set("http.response.status_code", status)
    if status >= 500:
        span.set("error.type", String(status))


@fieldwise_init
struct TracedStream(HoldsSource, UpgradedProtocol):
    """Streamed content that ends a span when it ends; the span fails with the
    source."""

    var inner: ArcPointer[BodyStream]
    var span: TraceSpan

    def __deinit__(deinit self):
        """Ends the span: the content is complete, or nobody wants it."""
        self.span.end()

    def source(self) -> ArcPointer[BodyStream]:
        return self.inner

    def fill(mut self, mut out: Buffer) raises -> Poll:
        try:
            return self.inner[].fill(out)
        except error:
            self.span.record_error(String(error))
            raise error^

    def trailers(mut self) raises -> Trailers:
        try:
            return self.inner[].trailers()
        except error:
            self.span.record_error(String(error))
            raise error^

    def region(self) -> FileRegion:
        return self.inner[].region()

    def advance(mut self, count: Int):
        self.inner[].advance(count)

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        try:
            return self.inner[].receive(input, out)
        except error:
            self.span.record_error(String(error))
            raise error^

    def take_failure(mut self) -> String:
        var failure = self.inner[].take_failure()
        if failure.byte_length() > 0:
            self.span.fail(failure.copy())
        return failure^
