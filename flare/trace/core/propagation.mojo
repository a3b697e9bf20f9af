"""How a trace gets from a request to its handler and on."""

from flare.bytes.checked import *
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Request
from flare.trace.core.context import TraceContext, parse_traceparent
from flare.trace.core.span import TraceSpan
from flare.trace.core.trace_state import TraceStateReader


@always_inline
def remote_parent(fields: Fields) -> TraceContext:
    """Reads the trace that a request belongs to; one that is not valid if there
    is no traceparent, a broken one, or more than one (Trace Context section
    3.2)."""
    var index = fields.find("traceparent")
    if index < 0 or fields.find("traceparent", index + 1) >= 0:
        return TraceContext()
    return parse_traceparent(fields.value_bytes(index))


def read_trace_state(fields: Fields) -> String:
    """Reads the tracestate of a request with a traceparent that is valid, which
    goes on to the next service; empty if there is none."""
    var index = fields.find("tracestate")
    if index < 0:
        return String()
    var reader = TraceStateReader()
    while index >= 0:
        reader.add(fields.value_bytes(index))
        index = fields.find("tracestate", index + 1)
    return reader.text()


def current_span(req: Request) -> TraceSpan:
    """Gives the span of a request.

        current_span(req).set("order.id", id)

    Args:
        req: The request that is being handled.

    Returns:
        The span that `Tracing` has begun for it; without such middleware one
        that is not recorded and belongs to no trace.
    """
    var lent = req.extension[TraceSpan]()
    if not lent:
        return TraceSpan()
    var span = lent.held()[]
    if span._is_continued:
        span.trace_state = read_trace_state(req.headers)
    return span^


def set_trace_fields(mut headers: HeaderMap, span: TraceSpan):
    """Puts the trace of the span that a request is a part of into it; a
    traceparent of its own stays."""
    if not span.context.is_valid() or "traceparent" in headers:
        return
    try:
        headers.set("traceparent", String(span.context))
        if span.trace_state.byte_length() > 0:
            headers.set("tracestate", span.trace_state)
    except:
        # The fields are full; the request goes without its trace.
        return
