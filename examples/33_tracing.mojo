# 33 Tracing: the spans of a request that comes with a trace, as a collector
# would get them from an `OtlpExporter`.
#
# Expected output:
#   query orders: internal, rows 3 in 0af7651916cd43dd8448eb211c80319c
#   GET /orders/:id: server, order 7 in 0af7651916cd43dd8448eb211c80319c
#   to the next service: 00-0af7651916cd43dd8448eb211c80319c-*-01
#   not sampled: 0 spans, but passed on: 00-0af7651916cd43dd8448eb211c80319c-*-00

from flare import ClientRequest, Request, Response, Router, ok
from flare.testing import TestClient
from flare.trace import (
    SpanCollector,
    SpanKind,
    Tracer,
    Tracing,
    current_span,
)

comptime TRACE = StaticString("00-0af7651916cd43dd8448eb211c80319c-b7ad6b71")


def order(req: Request) raises -> Response:
    var span = current_span(req)
    span.set("order", Int(req.param("id")))
    with span.child("query orders") as query:
        query.set("rows", 3)
    # An HttpClient would send this with `client.get(url, trace=span)`.
    return ok(String(span.context))


def ask(mut client: TestClient, flags: StringSpan) raises -> String:
    var request = ClientRequest("GET", "/orders/7")
    request.set_header("traceparent", String(TRACE, "69203331-", flags))
    return client.send(request^).text()


def main() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var router = Router()
    router.get("/orders/:id", order)
    var client = TestClient(Tracing(router^, tracer))

    var next = ask(client, "01")
    _ = tracer.flush()
    for span in spans.take():
        var kind = "server" if span.kind == SpanKind.SERVER else "internal"
        print(span.name, ": ", kind, sep="", end="")
        for key in ["order", "rows"]:
            var value = span.attributes.get(key)
            if value:
                print(",", key, value.value().integer, end="")
        print(" in", span.context.trace_id())
    print("to the next service:", next)

    next = ask(client, "00")
    _ = tracer.flush()
    print("not sampled:", len(spans.take()), "spans, but passed on:", next)
