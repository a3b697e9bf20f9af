"""Fuzzes the parser of event streams: cut anywhere, events are the same, and
what is written of them is read again."""

from flare.bytes.buffer import Buffer
from flare.http.sse.event_parser import EventParser
from fuzz.engine import Target, cut_points, fuzz_main


def _read(
    input: Span[UInt8, _], ends: List[Int], len_max: Int
) raises -> Buffer:
    """Reads a stream in pieces, and writes its events again: without ids, since
    an empty one behind another cannot be written."""
    var parser = EventParser(len_max)
    var waiting = Buffer()
    var written = Buffer()
    var start = 0
    for end in ends:
        waiting.append(input[start:end])
        start = end
        while parser.advance(waiting):
            var event = parser.take_event()
            event.id = ""
            event.append_to(written)
        if len(waiting) > len_max:
            raise Error("more waits than may be kept: ", len(waiting))
    return written^


def _is_same(left: Buffer, right: Buffer) -> Bool:
    return StringSpan(unsafe_from_utf8=left.span()) == StringSpan(
        unsafe_from_utf8=right.span()
    )


@fieldwise_init
struct EventStreamTarget(Target):
    """Split invariance and round trip."""

    def seeds(self) -> List[String]:
        """Lists streams."""
        return ["id: 1\r\ndata: a\n\n", "\ufeffevent: x\rdata\r\r: c\n\n"]

    def tokens(self) -> List[String]:
        """Lists what streams are made of."""
        return ["data", "id", "event: ", "retry: 9", "\r\n", "\n\n", "\r", "\0"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input whole, cut, and once more as it was written."""
        var whole: Buffer
        try:
            whole = _read(input, [len(input)], 1_000)
        except:
            return
        if not _is_same(whole, _read(input, cut_points(input), 1_000)):
            raise Error("cut, the events are others")
        # What was no UTF-8 is longer now.
        if not _is_same(whole, _read(whole.span(), [len(whole)], 10_000)):
            raise Error("written again, the events are others")


def main() raises:
    """Runs the target."""
    fuzz_main("event_stream", EventStreamTarget())
