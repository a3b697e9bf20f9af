"""A session and the model of it, side by side, frame by frame."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.http.h2.connection_state import EventKind, Http2Limits, Http2Role
from flare.http.h2.error import ErrorCode
from flare.http.h2.frame import parse_frame_header, read_u32
from flare.http.h2.session import Http2Session
from tests.support.h2_fields import add_field
from tests.support.h2_model import Fate, Faults, Frame, Http2Model

comptime _CONTENT_LEN = 70
# How much of a message is sent, in pieces.

comptime _GOES_ON = -1


def run_limits() -> Http2Limits:
    """Gives limits that short inputs reach."""
    var limits = Http2Limits()
    limits.stream_count_max = 4
    limits.stream_window = 120
    limits.connection_window = 400
    limits.continuation_count_max = 3
    limits.setting_count_max = 4
    # What costs is not modelled.
    limits.abuse.capacity = 1 << 40
    return limits


struct ModelRun(Movable):
    """Feeds frames to both, and compares what they make of them.

    What the application does hangs on the number of the stream alone: some are
    answered at once, some in pieces as the windows allow, some are reset, of
    some the content is taken late.
    """

    var session: Http2Session
    var model: Http2Model
    var outcomes: List[Int]
    """How often each code ended a stream; from 16 on, a connection."""
    var is_over: Bool
    var _input: Buffer
    var _out: Buffer
    var _told: String
    var _held: List[Int]
    # Streams of which content was told and not taken, and how much of it.
    var _resets: List[Int]
    var _sent: List[Int]

    def __init__(out self, role: Http2Role) raises:
        """Makes a connection at its beginning.

        Args:
            role: The session's side; a client has begun three requests.

        Raises:
            Error: If both differ.
        """
        var limits = run_limits()
        self.session = Http2Session(role, limits, 0)
        self.model = Http2Model(role.is_server, limits)
        self.outcomes = List[Int](length=32, fill=0)
        self.is_over = False
        self._input = Buffer()
        self._out = Buffer()
        self._told = String()
        self._held = []
        self._resets = []
        self._sent = []
        self.session.begin(self._out)
        self._out.clear()
        # The RFC's first window is too large for short inputs.
        self.session.state.receive_window = limits.connection_window
        if role.is_server:
            self._input.append("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_bytes())
            return
        for _ in range(3):
            var id = self.session.open_stream()
            self.model.open(id)
            self._send_head(id, id == 1)

    def step(mut self, frame: Frame, cut: Int) raises:
        """Feeds a frame.

        Args:
            frame: The frame.
            cut: Where its octets are cut in two.

        Raises:
            Error: If both differ.
        """
        if self.is_over:
            return
        var octets = Buffer()
        for shift in range(16, -1, -8):
            octets.append_octet(UInt8((len(frame.payload) >> shift) & 255))
        octets.append_octet(UInt8(frame.type))
        octets.append_octet(UInt8(frame.flags))
        for shift in range(24, -1, -8):
            octets.append_octet(UInt8((frame.id >> shift) & 255))
        octets.append(Span(frame.payload))
        self._told = String()
        self._resets = []
        self._sent = []
        var faults = self.model.take(frame)
        var place = cut % (len(octets) + 1)
        var code = self._feed(octets.span()[0:place])
        if code == _GOES_ON:
            code = self._feed(octets.span()[place:])
        self._compare(frame, faults, code)
        if code == _GOES_ON:
            self._write_content()
            self._read_out()
            self._check_rooms()

    def finish(mut self) raises:
        """Takes all content that waits: all room has to come back.

        Raises:
            Error: If some is lost.
        """
        if self.is_over:
            return
        for index in range(0, len(self._held), 2):
            self._consume(self._held[index], self._held[index + 1])
        self._held = []
        self._read_out()
        self._check_rooms()
        var limit = self.model.limits.connection_window
        if (limit - self.model.receive) * 2 >= limit:
            raise Error("half of the connection's window is lost")

    def _feed(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Gives the code that ends the connection, or `_GOES_ON`."""
        self._input.append(octets)
        while True:
            var kind: EventKind
            var id: Int
            var ends: Bool
            var code: ErrorCode
            try:
                var event = self.session.next_event(self._input, self._out, 0)
                kind = event.kind
                id = event.stream_id
                ends = event.ends
                code = event.code
            except error:
                return Int(error.rule.code.number)
            if kind == EventKind.NEEDS_OCTETS:
                return _GOES_ON
            self._note(kind, id, ends, code)

    def _note(
        mut self, kind: EventKind, id: Int, ends: Bool, code: ErrorCode
    ) raises:
        if kind == EventKind.HEADERS:
            self._told.write("H", id, "." if ends else "")
            self._compare_fields()
            self._answer(id)
        elif kind == EventKind.TRAILERS:
            self._told.write("T", id, ".")
            self._compare_fields()
        elif kind == EventKind.RESET:
            self._told.write("R", id, ":", code.number)
        elif kind == EventKind.GOAWAY:
            self._told.write("G", id, ":", code.number)
        elif kind == EventKind.PONG:
            self._told.write("P")
        elif kind == EventKind.DATA:
            var length = len(self.session.data(self._input))
            # The content of a frame may be told of in pieces.
            var total = length
            var mark = String("D", id, ":")
            if self._told.startswith(mark):
                total += Int(self._told[byte = mark.byte_length() :])
            self._told = String(mark, total, "." if ends else "")
            if id % 8 == 5:
                self._held.append(id)
                self._held.append(length)
            else:
                self._consume(id, length)

    def _compare_fields(self) raises:
        """The model decodes each block, also one that comes again."""
        ref section = self.session.section[]
        ref model = self.model.section
        if (
            not same_octets(section.octets.span(), model.octets.span())
            or section.__len__() != model.__len__()
            or section.facts.method != model.facts.method
            or section.facts.status != model.facts.status
            or section.facts.content_length != model.facts.content_length
            or section.facts.target.path_len != model.facts.target.path_len
        ):
            raise Error("the fields are other ones")

    def _consume(mut self, id: Int, length: Int):
        self.session.state.consume(self._out, id, length)

    def _answer(mut self, id: Int) raises:
        var index = self.model.find(id)
        if not self.model.is_server or self.model.streams.at(index).own_head:
            return
        if id % 16 == 1 or id % 16 == 3:
            self._send_head(id, id % 16 == 3)
        elif id % 16 == 7:
            self.session.state.reset(self._out, id, ErrorCode.CANCEL)
            self.model.streams.at(index).fate = Fate.RESET_HERE

    def _send_head(mut self, id: Int, ends: Bool):
        self.session.begin_block()
        if self.model.is_server:
            self.session.encoder.add_status(self.session.fields, 200)
        add_field(self.session, "a", "b")
        self.session.end_block(self._out, id, ends)
        var index = self.model.find(id)
        self.model.streams.at(index).own_head = True
        if ends:
            self.model.end(index, is_own=True)

    def _write_content(mut self) raises:
        """Sends what the windows of the model allow, which have to be those of
        the session."""
        for index in range(len(self.model.streams)):
            ref stream = self.model.streams.at(index)
            var id = stream.id
            if stream.fate != Fate.NONE:
                if self.session.sendable_len(id) != -1:
                    raise Error("stream ", id, " is over")
                continue
            var room = max(0, min(self.model.send, stream.send))
            if self.session.sendable_len(id) != room:
                raise Error("of stream ", id, " may be sent ", room)
            if not stream.own_head or stream.own_ended or room == 0:
                continue
            if id == 5:
                # Its peer may end first.
                continue
            var count = min(room, _CONTENT_LEN)
            var content = List[UInt8](length=count, fill=97)
            var ends = count == _CONTENT_LEN
            self.session.write_data(self._out, id, Span(content), ends)
            stream.send -= count
            self.model.send -= count
            if ends:
                self.model.end(index, is_own=True)

    def _read_out(mut self) raises:
        """Looks at what the peer is told."""
        while len(self._out) > 0:
            var octets = self._out.span()
            var header = parse_frame_header(octets)
            var id = header.stream_id
            if header.type == 8:
                self._widen(id, read_u32(octets, 9))
            elif header.type == 3:
                self._resets.append(id)
                self._resets.append(read_u32(octets, 9))
            elif header.type == 7:
                raise Error("GOAWAY without an end")
            self._out.consume(9 + header.payload_len)

    def _widen(mut self, id: Int, increment: Int) raises:
        if id == 0:
            self.model.receive += increment
            return
        var index = self.model.find(id)
        if index < 0 or self.model.streams.at(index).fate == Fate.RESET_HERE:
            raise Error("WINDOW_UPDATE on stream ", id)
        self.model.streams.at(index).receive += increment

    def _check_rooms(self) raises:
        """Checks that what was granted is what was taken: nothing is lost, and
        nothing is granted twice."""
        ref state = self.session.state
        var held_len = 0
        for index in range(0, len(self._held), 2):
            held_len += self._held.at(index + 1)
        var limit = self.model.limits.connection_window
        if state.receive_window != self.model.receive:
            raise Error("the peer's window is ", self.model.receive)
        if state.receive_window + state.owed_len + held_len != limit:
            raise Error("of the connection's window is lost a part")
        for ref stream in self.model.streams:
            var index = state.table.find(stream.id)
            if (index >= 0) != (stream.fate == Fate.NONE):
                raise Error("stream ", stream.id, " and its fate differ")
            if index < 0:
                continue
            ref other = state.table.at(index)
            var held = 0
            for place in range(0, len(self._held), 2):
                if self._held.at(place) == stream.id:
                    held += self._held.at(place + 1)
            if other.receive_window != stream.receive:
                raise Error("window of stream ", stream.id, stream.receive)
            var sum = stream.receive + held + other.owed_len
            if sum != other.receive_window_max:
                raise Error("lost of stream ", stream.id, ": ", sum)

    def _compare(mut self, frame: Frame, faults: Faults, code: Int) raises:
        """Compares the faults of a frame with what became of it."""
        var place = String(
            "type ", frame.type, " flags ", frame.flags, " on ", frame.id, ": "
        )
        if len(faults.of_connection) > 0:
            if code not in faults.of_connection:
                raise Error(place, "connection error ", code)
            self.outcomes.at(16 + code) += 1
            self.is_over = True
            return
        if code != _GOES_ON:
            raise Error(place, "connection error ", code, " for nothing")
        self._read_out()
        if len(faults.of_stream) == 0:
            if self._told != self.model.events:
                raise Error(place, self._told, " for ", self.model.events)
            self.outcomes.at(0) += 1
            return
        self._compare_reset(frame.id, faults, place)

    def _compare_reset(mut self, id: Int, faults: Faults, place: String) raises:
        if len(self._resets) != 2 or self._resets.at(0) != id:
            raise Error(place, "no stream error")
        var code = self._resets.at(1)
        if code not in faults.of_stream:
            raise Error(place, "stream error ", code)
        self.outcomes.at(code) += 1
        var index = self.model.find(id)
        var wanted = String("R", id, ":", code)
        if index < 0 or self.model.streams.at(index).fate != Fate.NONE:
            wanted = String()
        if index < 0:
            # PRIORITY resets even streams that were left out.
            self.model.skip(id)
        else:
            self.model.streams.at(index).fate = Fate.RESET_HERE
        if self._told != wanted:
            raise Error(place, self._told, " for ", wanted)


def run_frames(input: Span[UInt8, _], role: Http2Role) raises:
    """Feeds all whole frames of an input.

    Args:
        input: Frames.
        role: The session's side.

    Raises:
        Error: If session and model differ.
    """
    var run = ModelRun(role)
    var start = 0
    while start + 9 <= len(input):
        var length = Int(input[start]) << 16 | Int(input[start + 1]) << 8
        length |= Int(input[start + 2])
        var end = min(start + 9 + length, len(input))
        var id = 0
        for index in range(start + 5, start + 9):
            id = id * 256 + Int(input[index])
        var payload = List[UInt8]()
        payload.extend(input[start + 9 : end])
        var type = Int(input[start + 3])
        var flags = Int(input[start + 4])
        # A frame that is cut short is made whole with what is there.
        run.step(
            Frame(type, flags, id % (1 << 31), payload^), Int(input[start + 2])
        )
        start = end
    run.finish()
