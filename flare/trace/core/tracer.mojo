"""Tracers, which begin spans."""

from flare.sys.mutex import Mutex
from flare.sys.errno import OsError
from flare.trace.core.context import SAMPLED, TraceContext
from flare.trace.core.pipeline import (
    BatchConfig,
    ExportResult,
    SpanExporter,
    SpanPipeline,
)
from flare.trace.core.sampler import Sampler
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import SpanData, SpanKind


struct Tracer(ImplicitlyCopyable):
    """Decides which traces are recorded, and where their spans go.

        var tracer = Tracer(
            OtlpExporter("http://127.0.0.1:4318", service_name="shop"),
            sampler=Sampler.parent_based(Sampler.ratio(0.1)),
        )
        server.serve(Tracing(router^, tracer))

    Copies are the same tracer, and may be used by several threads. Worker
    processes of `serve_prefork` export their spans each by itself; a tracer is
    made before, and begins no span in the calling process.
    """

    var _pipeline: SpanPipeline
    var _sampler: Sampler

    def __init__[
        E: SpanExporter
    ](
        out self,
        var exporter: E,
        *,
        sampler: Sampler = Sampler.parent_based(Sampler.always()),
        batch: BatchConfig = BatchConfig(),
    ) raises:
        """Makes a tracer.

        Parameters:
            E: The exporter's type.

        Args:
            exporter: Sends spans that are over, on a thread of its own.
            sampler: Decides which traces are recorded.
            batch: How spans wait for their export.

        Raises:
            Error: If a number makes no sense, or the system has no locks or
                random octets.
        """
        self._pipeline = SpanPipeline(exporter^, batch)
        self._sampler = sampler

    def span(
        self, var name: String, *, kind: SpanKind = SpanKind.INTERNAL
    ) -> TraceSpan:
        """Begins a trace, for work that no request has asked for, and gives its
        first span.

        Args:
            name: One of few, such as `nightly report`.
            kind: What it stands for.
        """
        var context = self.begin(TraceContext())
        if not context.is_sampled():
            return TraceSpan(context)
        return self.record(SpanData(context, kind, name^))

    @always_inline
    def begin(self, parent: TraceContext) -> TraceContext:
        """Decides about a trace, for middleware, and gives the context of the
        span that begins; `record` it if it is sampled.

        Args:
            parent: What came with a request; not valid if nothing did.
        """
        var context = self._pipeline.ids()[].context(parent)
        context.flags &= ~SAMPLED
        if self._sampler.samples(parent, context.trace_low):
            context.flags |= SAMPLED
        return context

    def record(self, var data: SpanData) -> TraceSpan:
        """Gives a span that is begun and recorded, for middleware.

        Args:
            data: What is known of it.
        """
        return TraceSpan(data^, self._pipeline)

    def flush(self, timeout_ms: Int) -> Bool:
        """Waits until all spans that are over are exported, and gives True if
        nothing is left.

        A server does this at its end for the tracers of its `Tracing`
        middleware; other programs do it before they end.

        Args:
            timeout_ms: How long; what is left then is dropped.
        """
        return self._pipeline.flush(timeout_ms)

    def flush(self) -> Bool:
        """Waits for the export, and gives True if nothing is left: as long as
        `BatchConfig.flush_ms` allows."""
        return self._pipeline.flush(self._pipeline.flush_ms())

    def dropped_count(self) -> Int:
        """Counts the spans of this process that nobody gets: the queue was
        full, or the collector was away for too long or refused them."""
        return self._pipeline.dropped_count()

    def exported_count(self) -> Int:
        """Counts the spans of this process that were exported."""
        return self._pipeline.exported_count()


struct SpanCollector(ImplicitlyCopyable, SpanExporter):
    """Keeps spans in memory, for tests; copies have the same spans.

    ```mojo
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var client = TestClient(Tracing(router^, tracer))
    _ = client.get("/users/7")
    _ = tracer.flush()
    assert_equal(spans.take()[0].name, "GET /users/:id")
    ```
    """

    var _spans: Mutex[List[SpanData]]

    def __init__(out self) raises OsError:
        """Starts without spans.

        Raises:
            OsError: If the system has no more locks.
        """
        self._spans = Mutex(List[SpanData]())

    def export(
        mut self, spans: List[SpanData], timeout_ms: Int
    ) -> ExportResult:
        """Keeps a batch, and gives that all went well.

        Args:
            spans: The batch.
            timeout_ms: Not needed.
        """
        var kept = self._spans.lock()
        kept[].extend(spans.copy())
        return ExportResult(is_done=True)

    def take(self) -> List[SpanData]:
        """Takes what was exported, in the order in which the spans ended."""
        var spans = List[SpanData]()
        var kept = self._spans.lock()
        swap(spans, kept[])
        return spans^
