"""A client of HTTP/2 that does what a script says, and knows what it must be told."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import (
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.error import ErrorCode
from flare.http.h2.frame import (
    FrameHeader,
    FrameType,
    append_u32,
    write_frame_header,
    write_goaway,
    write_ping,
)
from flare.http.h2.hpack_encoder import Indexing
from flare.http.h2.session import Http2Session
from flare.http.h2.settings import SettingId
from flare.http.h2.stream import StreamContent
from flare.ws.core.frame import (
    FrameHeader as WsFrameHeader,
    MaskingKey,
    Opcode,
    write_frame,
)
from tests.support.client_wire import ClientWire

comptime _WAIT_MS = 700
comptime _QUIET_COUNT_MAX = 3
comptime _ALL = 1 << 30


struct Stream(Copyable, Movable):
    """A request of the script, and what has become of it."""

    var id: Int
    var path: String
    var upload: List[UInt8]
    """What it sends in all."""
    var uploaded_len: Int
    var ends: Bool
    """True if END_STREAM is to follow that."""
    var has_sent_end: Bool
    var expected: List[UInt8]
    """What it must be answered."""
    var received: List[UInt8]
    var held_len: Int
    """What was received, and is not given back to the server's window."""
    var has_head: Bool
    var has_ended: Bool
    var was_reset: Bool
    """True if one side has reset it."""

    def __init__(out self, id: Int, var path: String):
        self.id = id
        self.path = path^
        self.upload = []
        self.uploaded_len = 0
        self.ends = True
        self.has_sent_end = False
        self.expected = []
        self.received = []
        self.held_len = 0
        self.has_head = False
        self.has_ended = False
        self.was_reset = False

    def is_over(self) -> Bool:
        """Tells whether nothing more is to happen to it."""
        return self.was_reset or (self.has_ended and self.has_sent_end)


def content_of(id: Int, length: Int) -> List[UInt8]:
    """Makes the content of a request, by the number of its stream: each octet is
    seven more than the one before, so the 256 first ones come again."""
    var content = List[UInt8](capacity=length)
    for index in range(min(length, 256)):
        content.append(UInt8((index * 7 + id) & 255))
    while len(content) < length:
        var count = min(len(content), length - len(content))
        content.extend(List[UInt8](Span(content)[:count]))
    return content^


struct ScriptedStreams(Movable):
    """A client's side of a served connection."""

    var wire: ClientWire
    """The octets."""
    var session: Http2Session
    """The protocol; what it refuses is a fault of the server."""
    var streams: List[Stream]
    """All that were begun."""
    var is_honest: Bool
    """False once the script has broken the rules: then nothing is expected but
    that the server lives, and lets go of everything."""
    var is_patient: Bool
    """False once time has passed: the server may have given up streams."""
    var has_left: Bool
    """True if the client has said that it opens no more."""
    var has_ended: Bool
    """True once the connection is over."""
    var _window: Int

    def __init__(out self, var wire: ClientWire, window: Int):
        """Begins to speak.

        Args:
            wire: The octets.
            window: How much of a response may come unasked, in bytes.
        """
        var limits = Http2Limits()
        limits.stream_window = window
        self.wire = wire^
        self.session = Http2Session(Http2Role.CLIENT, limits, 0)
        self.streams = []
        self.is_honest = True
        self.is_patient = True
        self.has_left = False
        self.has_ended = False
        self._window = window
        self.session.begin(self.wire.out)

    def open(mut self, method: StringSpan, var path: String, size: Int) raises:
        """Begins a request, if the server allows one more.

        Args:
            method: GET, POST, or CONNECT for a WebSocket.
            path: The path.
            size: How much content a POST has, or how much is expected.

        Raises:
            Error: If the script's own client is wrong.
        """
        if not self.session.state.has_settings or self.has_left:
            # Streams that are refused are another thing.
            return
        var id = self.session.open_stream()
        if id == 0:
            return
        var stream = Stream(id, path.copy())
        if method == "CONNECT":
            stream.ends = False
            ref table = self.session.state.table
            table.at(table.find(id)).expects = StreamContent.TUNNEL
        elif method == "POST":
            stream.upload = content_of(id, size)
        if method == "POST" and not path.startswith("/early"):
            stream.expected = stream.upload.copy()
        elif not (method == "CONNECT"):
            stream.expected = List[UInt8](length=size, fill=120)
        self._write_head(id, method, path, method == "GET")
        stream.has_sent_end = method == "GET"
        self.streams.append(stream^)

    def _write_head(
        mut self, id: Int, method: StringSpan, path: StringSpan, ends: Bool
    ):
        self.session.begin_block()
        self._add(":method", method)
        self._add(":scheme", "http")
        self._add(":path", path)
        self._add(":authority", "a")
        if method == "CONNECT":
            self._add(":protocol", "websocket")
            self._add("sec-websocket-version", "13")
        self.session.end_block(self.wire.out, id, ends)

    def _add(mut self, name: StringSpan, value: StringSpan):
        self.session.encoder.add(
            self.session.fields,
            name.as_bytes(),
            value.as_bytes(),
            Indexing.KEPT,
        )

    def say(mut self, index: Int, size: Int, *, closes: Bool = False):
        """Has a WebSocket say something, which comes back.

        Args:
            index: The stream's; any.
            size: How long the message is, in bytes.
            closes: True for a close frame, behind which nothing is said.
        """
        if index >= len(self.streams):
            return
        ref stream = self.streams[index]
        if stream.path != "/ws" or stream.ends:
            return
        var opcode = Opcode.CLOSE if closes else Opcode.BINARY
        var payload = List[UInt8](length=size, fill=UInt8(size & 255))
        if closes:
            payload = [3, 232]
            stream.ends = True
        var header = WsFrameHeader(opcode, len(payload))
        var echo = Buffer()
        write_frame(echo, header, Span(payload))
        stream.expected.extend(echo.span())
        header.key = MaskingKey(0x12345678)
        var said = Buffer()
        write_frame(said, header, Span(payload))
        stream.upload.extend(said.span())

    def end(mut self, index: Int):
        """Has a WebSocket end its stream without a close frame.

        Args:
            index: The stream's; any.
        """
        if index < len(self.streams):
            self.streams[index].ends = True

    def upload(mut self, index: Int, size: Int):
        """Sends content as far as the windows allow.

        Args:
            index: The stream's; any.
            size: Most octets.
        """
        if index >= len(self.streams) or self.has_ended:
            return
        ref stream = self.streams[index]
        var room = self.session.sendable_len(stream.id)
        if stream.was_reset or stream.has_sent_end or room < 0:
            return
        var left = len(stream.upload) - stream.uploaded_len
        var count = min(left, min(room, size))
        var ends = stream.ends and count == left
        if count == 0 and not ends:
            return
        var start = stream.uploaded_len
        self.session.write_data(
            self.wire.out,
            stream.id,
            Span(stream.upload)[start : start + count],
            ends,
        )
        stream.uploaded_len += count
        stream.has_sent_end = ends

    def reset(mut self, index: Int):
        """Breaks a stream off.

        Args:
            index: The stream's; any.
        """
        if index >= len(self.streams) or self.streams[index].is_over():
            return
        ref stream = self.streams[index]
        self.session.state.reset(self.wire.out, stream.id, ErrorCode.CANCEL)
        self.session.state.owe(stream.held_len, self.wire.out)
        stream.held_len = 0
        stream.was_reset = True

    def take(mut self, index: Int):
        """Lets the server send as much again as was received.

        Args:
            index: The stream's; any.
        """
        if index >= len(self.streams):
            return
        ref stream = self.streams[index]
        self.session.state.consume(self.wire.out, stream.id, stream.held_len)
        stream.held_len = 0

    def set_window(mut self, window: Int):
        """Changes the window of all streams (RFC 9113 section 6.9.2).

        Args:
            window: How much may come unasked, at most what it was at first.
        """
        var header = FrameHeader(6, FrameType.SETTINGS, 0, 0)
        write_frame_header(self.wire.out, header)
        self.wire.out.append_octet(0)
        self.wire.out.append_octet(UInt8(SettingId.INITIAL_WINDOW_SIZE))
        append_u32(self.wire.out, min(window, self._window))

    def prioritize(mut self, index: Int, urgency: Int):
        """Says how urgent a response is (RFC 9218 section 7.1).

        Args:
            index: The stream's; any.
            urgency: Any number.
        """
        if index >= len(self.streams):
            return
        var text = String("u=", urgency & 7, ", i" if urgency & 8 else "")
        var length = 4 + text.byte_length()
        write_frame_header(
            self.wire.out, FrameHeader(length, FrameType.PRIORITY_UPDATE, 0, 0)
        )
        append_u32(self.wire.out, self.streams[index].id)
        self.wire.out.append(text.as_bytes())

    def ask(mut self):
        """Sends PING."""
        write_ping(self.wire.out, 0, "anybody?".as_bytes())

    def leave(mut self):
        """Says that no more streams are opened."""
        if not self.has_left:
            write_goaway(self.wire.out, 0, ErrorCode.NO_ERROR, "")
        self.has_left = True

    def read(mut self, count: Int) raises:
        """Reads octets, and looks at what they are.

        Args:
            count: Most octets.

        Raises:
            Error: If the server broke a rule, or closes when it should not.
        """
        if self.has_ended:
            return
        if not self.wire.read(count):
            self.has_ended = True
            if self.is_honest and self.is_patient and not self.has_left:
                raise Error("the server closed the connection")
        if self._was_too_late():
            self.is_honest = False
        if self.is_honest:
            self._take_events()

    def _was_too_late(self) -> Bool:
        """Tells whether time has passed before the server knew that HTTP/2 is
        spoken (RFC 9113 section 3.4): it says so by HTTP/1.1."""
        return (
            not self.is_patient
            and not self.session.state.has_settings
            and StringSpan(unsafe_from_utf8=self.wire.input.span()).startswith(
                "HTTP/1.1 "
            )
        )

    def _take_events(mut self) raises:
        while True:
            var event = self.session.next_event(
                self.wire.input, self.wire.out, 0
            )
            if event.kind == EventKind.NEEDS_OCTETS:
                return
            if event.kind == EventKind.GOAWAY and self.is_patient:
                if event.code != ErrorCode.NO_ERROR:
                    raise Error("GOAWAY: ", event.code)
            if event.stream_id == 0 or event.kind == EventKind.GOAWAY:
                continue
            for index in range(len(self.streams)):
                if self.streams[index].id == event.stream_id:
                    self._note(index, event)

    def _note(mut self, index: Int, event: Http2Event) raises:
        ref stream = self.streams[index]
        var name = String("stream ", stream.id, " ", stream.path, ": ")
        if event.kind == EventKind.DATA:
            var octets = self.session.data(self.wire.input)
            stream.received.extend(octets)
            stream.held_len += len(octets)
        elif event.kind == EventKind.HEADERS:
            var status = self.session.section[].facts.response_status
            if status != 200 and self.is_patient:
                raise Error(name, "status ", status)
            stream.has_head = True
        elif event.kind == EventKind.RESET:
            self._note_reset(index, event.code)
            return
        elif event.kind != EventKind.WINDOW:
            raise Error(name, "trailers")
        stream.has_ended |= event.ends

    def _note_reset(mut self, index: Int, code: ErrorCode) raises:
        ref stream = self.streams[index]
        if self.session.broken_rule:
            raise Error("stream ", stream.id, ": the server broke a rule")
        # Behind a whole response the rest of a request is not wanted; beside
        # handlers of streams that were reset there may be no room for more.
        var is_fine = (code == ErrorCode.NO_ERROR and stream.has_ended) or (
            code == ErrorCode.REFUSED_STREAM and not stream.has_head
        )
        if self.is_patient and not is_fine:
            raise Error("stream ", stream.id, ": ", code)
        if stream.has_ended:
            stream.has_sent_end = True
        else:
            stream.was_reset = True

    def finish(mut self) raises:
        """Does all that is left, generously, and compares.

        Raises:
            Error: If a request has no answer, a wrong one, or the server keeps
                something.
        """
        if self.is_honest:
            self.set_window(self._window)
        var quiet_count = 0
        while quiet_count < _QUIET_COUNT_MAX and not self.has_ended:
            var has_moved = self._turn()
            if has_moved:
                quiet_count = 0
                continue
            if not self.is_honest or not self.is_patient:
                break
            # What was sent to a stream that is over may still be on its way.
            if self._is_complete() and self.wire.served.kept() == "":
                break
            self.wire.wait(_WAIT_MS)
            quiet_count += 1
        if self.is_honest and self.is_patient:
            self._compare()
            self._check_kept()

    def _turn(mut self) raises -> Bool:
        """Does what can be done; False if that was nothing."""
        for index in range(len(self.streams)):
            self.take(index)
            if not self.streams[index].ends:
                self.say(index, 0, closes=True)
            self.upload(index, _ALL)
        var before = (len(self.wire.out), len(self.wire.sealed))
        var had = self.wire.received_len
        self.wire.seal(_ALL)
        self.wire.send(_ALL)
        var has_run = self.wire.served.run_job()
        self.read(1 << 20)
        return (
            has_run
            or self.wire.received_len != had
            or before != (len(self.wire.out), len(self.wire.sealed))
        )

    def _is_complete(self) -> Bool:
        for stream in self.streams:
            if not stream.is_over():
                return False
        return True

    def _compare(self) raises:
        for stream in self.streams:
            var name = String("stream ", stream.id, " ", stream.path, ": ")
            if stream.was_reset:
                continue
            if not stream.is_over():
                raise Error(
                    name,
                    "the server is silent behind ",
                    len(stream.received),
                    " octets of ",
                    len(stream.expected),
                )
            if Span(stream.received) != Span(stream.expected):
                raise Error(name, "other content than was asked for")

    def may_go_on(self) -> Bool:
        """Tells whether the connection is as good as before, once all is done."""
        return (
            self.is_honest
            and self.is_patient
            and not self.has_left
            and not self.has_ended
        )

    def forget(mut self):
        """Forgets the streams, all of which are over."""
        self.streams.clear()

    def vanish(mut self) raises:
        """Hangs up; the server lets go of everything.

        Raises:
            Error: If it does not.
        """
        self.wire.served.client.close()
        self.wire.served.step()
        while self.wire.served.run_job():
            pass
        if self.wire.served.is_open:
            self.wire.served.step()
        if self.wire.served.is_open:
            raise Error("the client has gone, and the connection stays")
        self._check_kept()

    def _check_kept(self) raises:
        var kept = self.wire.served.kept()
        if kept.byte_length() > 0:
            raise Error(kept)
