"""Field blocks and connections of HTTP/2, as the pure cores read them."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import (
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.frame import (
    FRAME_HEADER_LEN,
    FrameType,
    parse_frame_header,
    read_u32,
)
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.session import Http2Session
from tests.differential.quoted import quoted, quoted_fields


def answer_blocks(input: Span[UInt8, _]) -> String:
    """Decodes the field blocks of one direction of a connection.

    Args:
        input: The blocks, each behind its length (two octets, big-endian); the
            last one may be cut short.

    Returns:
        `M fields table-length` for each.
    """
    var decoder = HpackDecoder()
    var answer = String()
    var start = 0
    while start + 2 <= len(input):
        var length = Int(input[start]) * 256 + Int(input[start + 1])
        start += 2
        var end = min(len(input), start + length)
        var word = String()
        if not _decode(decoder, input[start:end], word):
            answer.write("E refuse:")
            return answer^
        answer.write("M ", word if word else String("-"), " ")
        answer.write(decoder.table.size, " ")
        start = end
    answer.write("E end")
    return answer^


def _decode(
    mut decoder: HpackDecoder, block: Span[UInt8, _], mut word: String
) -> Bool:
    var out = Buffer()
    decoder.begin()
    try:
        while True:
            var field = decoder.next(block, out)
            if not field.is_there:
                return True
            var line = field.line
            var octets = out.span()
            var name = line.name_offset()
            var value = line.value_offset()
            word.write("|" if word else "")
            word.write(quoted(octets[name : name + line.name_len()]), ":")
            word.write(quoted(octets[value : value + line.value_len()]))
    except:
        return False


comptime _PREFACE = StaticString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")


def answer_frames(input: Span[UInt8, _]) -> String:
    """Reads what a client sends behind its preface.

    Args:
        input: The frames.

    Returns:
        `M event stream detail` for each event: `headers` and `trailers` with
        their fields, `data` with content, each with `.` where the client's side
        ends; `reset` by the client and `reset-it` by the server with a code;
        `goaway`. Then `E end`, or `E refuse:` with code and rule.
    """
    var session = Http2Session(Http2Role.SERVER, Http2Limits(), 0)
    var out = Buffer()
    session.begin(out)
    out.clear()
    var octets = Buffer()
    octets.append(_PREFACE.as_bytes())
    octets.append(input)
    var log = _Log()
    try:
        while True:
            var event = session.next_event(octets, out, 0)
            log.note_resets(out)
            if event.kind == EventKind.NEEDS_OCTETS:
                break
            log.note_event(session, event, octets)
    except error:
        log.note_resets(out)
        log.end_data()
        log.text.write("E refuse:", error.rule.code.name(), ":")
        log.text.write(error.rule.number)
        return log.text
    log.end_data()
    log.text.write("E end")
    return log.text


struct _Log(Defaultable):
    """Events as text. DATA without octets is no event of its own, but may end
    the one before: padding is told of so."""

    var text: String
    var _reset_id: Int
    var _data_id: Int
    var _data: List[UInt8]
    var _ends: Bool

    def note_resets(mut self, mut out: Buffer):
        while len(out) > 0:
            var octets = out.span()
            var header = parse_frame_header(octets)
            if header.type == FrameType.RST_STREAM:
                self.end_data()
                self._reset_id = header.stream_id
                self.text.write("M reset-it ", header.stream_id, " ")
                self.text.write(read_u32(octets, FRAME_HEADER_LEN), " ")
            out.consume(FRAME_HEADER_LEN + header.payload_len)

    def end_data(mut self):
        if self._data_id > 0 and (len(self._data) > 0 or self._ends):
            self.text.write("M data", "." if self._ends else "", " ")
            self.text.write(self._data_id, " ", quoted(self._data), " ")
        self._data_id = 0
        self._data.clear()
        self._ends = False

    def note_event(
        mut self, session: Http2Session, event: Http2Event, octets: Buffer
    ):
        if event.kind == EventKind.DATA:
            var content = session.data(octets)
            if event.stream_id != self._data_id or len(content) > 0:
                self.end_data()
                self._data_id = event.stream_id
            self._data.extend(content)
            self._ends |= event.ends
            return
        if event.kind == EventKind.RESET and event.stream_id == self._reset_id:
            # The stream is the one that was reset for what the client did.
            return
        if event.kind == EventKind.WINDOW or event.kind == EventKind.PONG:
            return
        self.end_data()
        var end = "." if event.ends else ""
        if event.kind == EventKind.HEADERS:
            self.text.write("M headers", end, " ", event.stream_id, " ")
            self.text.write(_fields_of(session), " ")
        elif event.kind == EventKind.TRAILERS:
            self.text.write("M trailers", end, " ", event.stream_id, " ")
            self.text.write(_fields_of(session), " ")
        elif event.kind == EventKind.RESET:
            self.text.write("M reset ", event.stream_id, " ")
            self.text.write(event.code.number, " ")
        elif event.kind == EventKind.GOAWAY:
            self.text.write("M goaway 0 ", event.code.number, " ")


def _fields_of(session: Http2Session) -> String:
    """Writes pseudo-header fields as `:number:value`, in the order of their
    numbers, then the others."""
    var word = String()
    ref section = session.section[]
    for kind in range(1, 7):
        var value = section.pseudo(UInt8(kind))
        if len(value) > 0:
            word.write("|" if word else "", ":", kind, ":", quoted(value))
    var others = quoted_fields(section.unsafe_fields[ImmUntrackedOrigin]())
    if others != "-":
        word.write("|" if word else "", others)
    return word if word else String("-")
