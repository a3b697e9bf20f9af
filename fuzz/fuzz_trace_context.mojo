"""Fuzzes Trace Context: what is passed on is read back, cut anywhere."""

from flare.trace.core.context import TRACEPARENT_LEN, parse_traceparent
from flare.trace.core.trace_state import TRACESTATE_LEN_MAX, TraceStateReader
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct TraceContextTarget(Target):
    """Round trip and bounds; a split at a comma has no say."""

    def seeds(self) -> List[String]:
        """Lists fields of both kinds."""
        return [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "rojo=00f067aa0ba902b7, tenant@system = 1,congo=t61rcWkgMzE",
        ]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["-", "00", "ff", ",", "=", "@", "\t", "0123456789abcdef"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as either field."""
        var context = parse_traceparent(input)
        if context.is_valid():
            var written = String(context)
            if written.byte_length() != TRACEPARENT_LEN:
                raise Error("not a traceparent: ", written)
            if parse_traceparent(written.as_bytes()) != context:
                raise Error("not read back: ", written)
        var whole = _read(input, len(input))
        if whole.byte_length() > TRACESTATE_LEN_MAX:
            raise Error("beyond the bound: ", whole.byte_length())
        if _read(whole.as_bytes(), whole.byte_length()) != whole:
            raise Error("not read back: ", whole)
        for index in range(len(input)):
            if input[index] == 44 and _read(input, index) != whole:
                raise Error("cut at ", index, " it is another list")


def _read(input: Span[UInt8, _], cut: Int) -> String:
    """Reads a field, as two if there is something behind the cut."""
    var reader = TraceStateReader()
    reader.add(input[:cut])
    if cut < len(input):
        reader.add(input[cut + 1 :])
    return reader.text()


def main() raises:
    """Runs the target."""
    fuzz_main("trace_context", TraceContextTarget())
