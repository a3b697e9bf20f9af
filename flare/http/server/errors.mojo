"""Handlers that kill the process, named in the log."""

from flare.bytes.checked import *
from flare.http.message.request import Request, RequestRecord
from flare.sys.crash import Note
from flare.sys.log import STANDARD_ERROR, write_at_once
from flare.sys.process import signal_name

comptime _LINE_LEN_MAX = 1_024
comptime _TARGET_LEN_MAX = 200


struct _Line(Movable):
    """A line of text that takes no memory from anywhere."""

    var _octets: Array[UInt8, _LINE_LEN_MAX]
    var _len: Int

    def __init__(out self):
        self._octets = Array[UInt8, _LINE_LEN_MAX](uninitialized=True)
        self._len = 0

    def add(mut self, text: StaticString):
        for octet in text.as_bytes():
            self._put(octet)

    def add_escaped(mut self, text: StringSpan):
        """Adds what a client has sent, so that it stays within the line."""
        comptime DIGITS = StaticString("0123456789abcdef")
        var digits = DIGITS.as_bytes()
        for octet in text.as_bytes().between(
            0, min(len(text.as_bytes()), _TARGET_LEN_MAX)
        ):
            if octet > 32 and octet < 127 and octet != 92:
                self._put(octet)
            else:
                self.add("\\x")
                self._put(digits.at(Int(octet >> 4)))
                self._put(digits.at(Int(octet & 15)))

    def _put(mut self, octet: UInt8):
        if self._len < _LINE_LEN_MAX:
            self._octets.at(self._len) = octet
            self._len += 1

    def write(self):
        _ = write_at_once(STANDARD_ERROR, Span(self._octets).before(self._len))


def report_crash(signal: Int, note: Note):
    """Names the request whose handler has brought the process down by a signal."""
    # SAFETY: the worker or the job that noted its record still runs, in the
    # frames below this signal handler; so does the handler whose request is
    # recorded.
    ref record = note.unsafe_bitcast[RequestRecord]()[]
    var line = _Line()
    line.add("flare: the process dies of ")
    line.add(signal_name(signal))
    if record.request:
        ref request = record.request.held().unsafe_bitcast[
            Request[ImmUntrackedOrigin]
        ]()[]
        line.add(" in a handler [")
        line.add_escaped(request.method_name)
        line.add(" ")
        line.add_escaped(request.url)
        if record.has_id():
            line.add(", id ")
            line.add_escaped(record.id())
        line.add("]")
    else:
        line.add(" in a stream, a WebSocket handler or the server itself")
    line.add("; Mojo writes the reason to standard output\n")
    line.write()
