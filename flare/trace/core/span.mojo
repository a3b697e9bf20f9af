"""Spans: what belongs to a trace, and what is told of it while it lasts."""

from flare.bytes.checked import *
from flare.sys.clock import monotonic_ns, realtime_ns
from flare.sys.mutex import Mutex
from flare.trace.core.context import TraceContext
from flare.trace.core.pipeline import SpanPipeline
from flare.trace.core.span_data import (
    Attributes,
    AttributeValue,
    SpanData,
    SpanEvent,
    SpanKind,
    cut_text,
)


struct _Recording(Movable):

    var data: SpanData
    var began_ns: Int
    var is_over: Bool
    var pipeline: SpanPipeline

    def __init__(out self, var data: SpanData, pipeline: SpanPipeline):
        self.data = data^
        self.data.start_unix_ns = realtime_ns()
        self.began_ns = monotonic_ns()
        self.is_over = False
        self.pipeline = pipeline

    def __deinit__(deinit self):
        """Ends a span that nobody has ended, with the last who could."""
        if not self.is_over:
            self.data.end_unix_ns = (
                self.data.start_unix_ns + monotonic_ns() - self.began_ns
            )
            self.pipeline.submit(self.data^)

    def now_ns(self) -> Int:
        """Reads the time of day, which does not step during a span."""
        return self.data.start_unix_ns + monotonic_ns() - self.began_ns


struct TraceSpan(ImplicitlyCopyable):
    """A span; copies are the same one, and may be used by several threads.

        with current_span(req).child("query") as span:
            span.set("db.system.name", "postgresql")
            var rows = client.get("/rows").json()

    Leaving the block ends the span, an error that leaves it marks it as failed.
    Without a block, `end` ends it, or else the last copy when it goes: Mojo
    ends values with their last use, which may be too early for the duration.
    A span that is not recorded takes all the calls, and does nothing.
    """

    var context: TraceContext
    """Its trace, and its own id."""
    var trace_state: String
    """The tracestate that goes on with it; `current_span` fills it in for
    spans that are not recorded."""
    # True if the trace came with a request, and so tracestate with it.
    var _is_continued: Bool
    var _recording: Optional[Mutex[_Recording]]

    @always_inline
    def __init__(
        out self,
        context: TraceContext = TraceContext(),
        *,
        is_continued: Bool = False,
    ):
        """Makes a span that is not recorded.

        Args:
            context: Its trace and id; by default it belongs to no trace.
            is_continued: Whether the trace came with a request.
        """
        self.context = context
        self.trace_state = String()
        self._is_continued = is_continued
        self._recording = None

    def __init__(out self, var data: SpanData, pipeline: SpanPipeline):
        """Begins a span that is recorded; `Tracer` and `child` do that.

        Args:
            data: What is known of it.
            pipeline: Gets it when it is over.
        """
        self.context = data.context
        self.trace_state = data.trace_state
        self._is_continued = False
        self._recording = None
        try:
            self._recording = Mutex(_Recording(data^, pipeline))
        except error:
            # The system has no more locks; then this one is not recorded.
            return

    @no_inline
    def __deinit__(deinit self):
        return

    def is_recording(self) -> Bool:
        """Tells whether what is told of the span is kept: not for traces that
        are not sampled."""
        return self._recording.__bool__()

    def set(self, var key: String, var value: AttributeValue):
        """Sets an attribute.

        Args:
            key: Its name, such as `db.system.name`; OpenTelemetry's semantic
                conventions have names for most.
            value: Text, a number or a truth value.
        """
        if self._recording:
            var recording = self._recording.held().lock()
            if not recording[].is_over:
                recording[].data.attributes.set(key^, value^)

    def event(
        self, var name: String, var attributes: Attributes = Attributes()
    ):
        """Notes that something happened now.

        Args:
            name: What.
            attributes: What is told of it, such as `{"rows": 3}`.
        """
        if self._recording:
            var recording = self._recording.held().lock()
            if not recording[].is_over:
                var now_ns = recording[].now_ns()
                recording[].data.add_event(
                    SpanEvent(cut_text(name^), now_ns, attributes^)
                )

    def rename(self, var name: String):
        """Gives the span another name.

        Args:
            name: One of few: without ids and other values.
        """
        if self._recording:
            var recording = self._recording.held().lock()
            if not recording[].is_over:
                recording[].data.name = cut_text(name^)

    def fail(self, var reason: String = String()):
        """Marks the span as failed.

        Args:
            reason: Why, for people.
        """
        if self._recording:
            var recording = self._recording.held().lock()
            if not recording[].is_over:
                recording[].data.is_failed = True
                recording[].data.failure = cut_text(reason^)

    def record_error(self, var message: String):
        """Marks the span as failed by an error, and notes the error.

        Args:
            message: The error's text.
        """
        if self._recording:
            var attributes = Attributes()
            attributes.set("exception.message", AttributeValue(message.copy()))
            self.event("exception", attributes^)
            self.fail(message^)

    def child(
        self, var name: String, *, kind: SpanKind = SpanKind.INTERNAL
    ) -> Self:
        """Begins a span that is a part of this one, and gives it; if this one
        is not recorded, neither is that, and it has this one's id.

        Args:
            name: One of few, such as `query users`.
            kind: What it stands for.
        """
        if not self._recording:
            return self
        var pipeline = self._recording.held().lock()[].pipeline
        var data = SpanData(pipeline.ids()[].context(self.context), kind, name^)
        data.parent_id = self.context.span_id
        data.trace_state = self.trace_state
        return Self(data^, pipeline)

    def end(self):
        """Ends the span; what is told of it afterwards is not kept."""
        if not self._recording:
            return
        var recording = self._recording.held().lock()
        if recording[].is_over:
            return
        recording[].data.end_unix_ns = recording[].now_ns()
        recording[].is_over = True
        var data = SpanData(self.context, SpanKind.INTERNAL, String())
        swap(data, recording[].data)
        var pipeline = recording[].pipeline
        deinit(recording^)
        pipeline.submit(data^)

    def __enter__(self) -> Self:
        """Begins a block that the span lasts for, and gives the span."""
        return self

    def __exit__(mut self):
        """Ends the span with its block."""
        self.end()

    def __exit__(mut self, error: Error) -> Bool:
        """Ends the span with a block that fails, and gives False, for the error
        goes on.

        Args:
            error: Why it fails.
        """
        self.record_error(String(error))
        self.end()
        return False
