"""Distributed traces: W3C Trace Context, spans, and their export as OTLP."""

from flare.trace.core.context import TraceContext, parse_traceparent
from flare.trace.core.trace_state import TraceStateReader
