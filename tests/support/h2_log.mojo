"""What one side of an HTTP/2 connection makes of octets, as text."""

from flare.bytes.ascii import write_escaped
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
from flare.http.h2.error import ErrorCode, Http2Error
from flare.http.h2.session import Http2Session
from tests.support.h2_fields import add_field
from tests.vectors.hex_text import octets_of


struct Http2Log(Movable):
    """A session that is fed in pieces."""

    var session: Http2Session
    """The session."""
    var text: String
    """What happened: `H1` and so on with the number of the stream, `.` behind
    the last frame of a side, fields and content in parentheses, `<rule>` for
    what ended the connection."""
    var out: Buffer
    """What the peer is told."""
    var gives_back: Bool
    """True if the room of content is given back at once."""
    var error: Optional[Http2Error]
    """What ended the connection."""
    var _input: Buffer
    var _is_over: Bool

    def __init__(
        out self, role: Http2Role, limits: Http2Limits = Http2Limits()
    ):
        """Makes a session at time 0 that has begun.

        Args:
            role: Its side.
            limits: Its limits.
        """
        self.session = Http2Session(role, limits, 0)
        self.text = String()
        self.out = Buffer()
        self.gives_back = True
        self.error = None
        self._input = Buffer()
        self._is_over = False
        self.session.begin(self.out)
        self.out.clear()

    def feed(mut self, octets: Span[UInt8, _], now_ms: Int = 0):
        """Receives octets, and logs what happens.

        Args:
            octets: Any piece of what the peer sends.
            now_ms: The time.
        """
        if self._is_over:
            return
        self._input.append(octets)
        try:
            while True:
                var event = self.session.next_event(
                    self._input, self.out, now_ms
                )
                if event.kind == EventKind.NEEDS_OCTETS:
                    return
                self._take(event)
                # Where all content is here, it may be taken with its head, and
                # that is to make no difference.
                if event.kind == EventKind.HEADERS:
                    self._take_content(event.stream_id, now_ms)
        except error:
            self.text.write("<", error.rule.number, ">")
            self.error = error.copy()
            self._is_over = True

    def _take(mut self, event: Http2Event):
        self._note(event.kind, event.stream_id, event.code)
        if event.kind == EventKind.DATA:
            var content = self.session.data(self._input)
            # Content may come in any pieces: only octets are logged.
            for index in range(len(content)):
                write_escaped(content[index : index + 1], self.text)
            if self.gives_back:
                self.session.state.consume(
                    self.out, event.stream_id, len(content)
                )
        if event.ends:
            self.text.write(".")

    def _take_content(mut self, id: Int, now_ms: Int) raises Http2Error:
        var length = self.session.next_content_len(self._input, id)
        if length < 0:
            return
        if self.session.take_content(length, id, self._input, self.out, now_ms):
            self._take(Http2Event(EventKind.DATA, id, True))
            return
        var event = Http2Event(EventKind.RESET, id)
        event.code = self.session.broken_rule.value().code
        self._take(event)

    def open(mut self, ends: Bool = True) raises -> Int:
        """Opens a stream of a client with a request.

        Args:
            ends: False if content follows.

        Returns:
            The stream.
        """
        var id = self.session.open_stream()
        if id == 0:
            return 0
        self.session.begin_block()
        var method = "GET" if ends else "POST"
        add_field(self.session, ":method", method)
        add_field(self.session, ":scheme", "http")
        add_field(self.session, ":path", "/")
        add_field(self.session, ":authority", "a")
        self.session.end_block(self.out, id, ends)
        return id

    def answer(mut self, id: Int, ends: Bool = True):
        """Answers a request with 200.

        Args:
            id: Its stream.
            ends: False if content follows.
        """
        self.session.begin_block()
        self.session.encoder.add_status(self.session.fields, 200)
        self.session.end_block(self.out, id, ends)

    def _note(mut self, kind: EventKind, id: Int, code: ErrorCode):
        if kind == EventKind.HEADERS:
            self.text.write(" H", id, "(")
            self._write_fields()
        elif kind == EventKind.TRAILERS:
            self.text.write(" T", id, "(")
            self._write_fields()
        elif kind == EventKind.RESET:
            self.text.write(" R", id, ":", code.number)
        elif kind == EventKind.GOAWAY:
            self.text.write(" G", id, ":", code.number)
        elif kind == EventKind.PONG:
            self.text.write(" P")

    def _write_fields(mut self):
        ref section = self.session.section[]
        for kind in range(1, 7):
            var value = section.pseudo(UInt8(kind))
            if len(value) > 0:
                write_escaped(value, self.text)
                self.text.write(" ")
        var fields = section.unsafe_fields[ImmUntrackedOrigin]()
        for index in range(len(fields)):
            self.text.write(fields.name(index), "=", fields.value(index), ";")
        self.text.write(")")

    def told(mut self) -> String:
        """Lists the frames that the peer was told since the last call.

        Returns:
            Type and stream of each, with the code of RST_STREAM and GOAWAY, and
            the increment of WINDOW_UPDATE.
        """
        var text = String()
        while len(self.out) > 0:
            var octets = self.out.span()
            var header = parse_frame_header(octets)
            text.write(" ", header.type, "@", header.stream_id)
            if header.type == FrameType.RST_STREAM or (
                header.type == FrameType.WINDOW_UPDATE
            ):
                text.write(":", read_u32(octets, FRAME_HEADER_LEN))
            elif header.type == FrameType.GOAWAY:
                text.write(":", read_u32(octets, FRAME_HEADER_LEN + 4))
            self.out.consume(FRAME_HEADER_LEN + header.payload_len)
        return text^


struct Frames(Movable):
    """Frames for a session, one behind the other."""

    var octets: Buffer
    """What was added."""

    def __init__(out self, *, has_preface: Bool = True) raises:
        """Makes the start of a client: preface and empty SETTINGS.

        Args:
            has_preface: False to begin with nothing.
        """
        self.octets = Buffer()
        if has_preface:
            self.octets.append("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_bytes())
            self.add(4, 0, 0, "")

    def add(
        mut self, type: Int, flags: Int, stream_id: Int, payload: StringSpan
    ) raises:
        """Adds a frame.

        Args:
            type: Its type.
            flags: Its flags.
            stream_id: Its stream.
            payload: The payload in hex.

        Raises:
            Error: If that is no hex.
        """
        var octets = octets_of(payload)
        self.octets.append_octet(UInt8(len(octets) >> 16))
        self.octets.append_octet(UInt8((len(octets) >> 8) & 0xFF))
        self.octets.append_octet(UInt8(len(octets) & 0xFF))
        self.octets.append_octet(UInt8(type))
        self.octets.append_octet(UInt8(flags))
        for shift in range(24, -1, -8):
            self.octets.append_octet(UInt8((stream_id >> shift) & 0xFF))
        self.octets.append(Span(octets))
