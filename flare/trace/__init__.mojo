"""Distributed traces: W3C Trace Context, spans, and their export as OTLP."""

from flare.http.middleware.tracing import Tracing
from flare.trace.core.context import TraceContext, parse_traceparent
from flare.trace.core.pipeline import (
    BatchConfig,
    ExportResult,
    SpanExporter,
)
from flare.trace.core.propagation import current_span
from flare.trace.core.sampler import Sampler
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import (
    Attribute,
    Attributes,
    AttributeValue,
    SpanData,
    SpanEvent,
    SpanKind,
)
from flare.trace.core.trace_state import TraceStateReader
from flare.trace.core.tracer import SpanCollector, Tracer
from flare.trace.otlp import OtlpExporter
