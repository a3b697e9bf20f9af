"""One HTTP/2 connection without its socket: frames in, events and frames out.

    var session = Http2Session(Http2Role.SERVER, limits, now_ms)
    session.begin(out)                      # our SETTINGS
    while True:
        var event = session.next_event(input, out, now_ms)
        # NEEDS_OCTETS: send `out`, receive into `input`, ask again
        # HEADERS: `session.section` has the fields, until the next call
        # DATA: `session.data(input)` has the content, until the next call
        # TRAILERS, RESET, WINDOW, GOAWAY, PONG: see `EventKind`
    session.write_data(out, stream_id, octets, ends=True)

What the peer has to be told of rules it broke on one stream, acknowledgements
and answers to PING are written by `next_event`; what ends the connection is
raised, and `write_goaway` says so.
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.compare import same_short
from flare.bytes.copy import unsafe_copy_octets
from flare.http.h2.connection_state import (
    ConnectionState,
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.content import ContentReceiver
from flare.http.h2.control import (
    check_priority,
    take_goaway,
    take_ping,
    take_priority_update,
    take_reset,
    take_settings,
    take_window_update,
)
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.field_section import Http2FieldSection
from flare.http.h2.frame import (
    CLIENT_PREFACE,
    FRAME_HEADER_LEN,
    Flags,
    FrameHeader,
    FrameType,
    PRIORITY_FIELDS_LEN,
    STREAM_ID_MAX,
    parse_frame_header,
    read_u31,
    unpadded,
    write_frame_header,
    write_goaway,
    write_window_update,
)
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_encoder import HpackEncoder
from flare.http.h2.settings import (
    FRAME_LEN_MIN,
    SETTING_LEN,
    SettingId,
    setting_id,
    setting_value,
)
from flare.http.h2.stream import StreamContent, StreamEvent, StreamState
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime FIELD_BLOCK_LEN_MAX = 40_000
"""Longest field block that is collected, in bytes; decoded, even of the shortest
codes, its offsets still have 16 bits."""

comptime _REPEATED_LEN_MAX = 64
# Longest field block that is compared with the one before, in bytes. Of fields that
# both tables have, each takes an octet or two.


struct _FieldBlock(Movable):
    """The field block that is being collected, if there is one."""

    var stream_id: Int
    """Whose it is; 0 if there is none."""
    var octets: Buffer
    var ends: Bool
    """True if its stream ends with it."""
    var depends_on_itself: Bool
    """True if its stream has itself for a parent."""
    var frame_count: Int
    """How many CONTINUATION frames have come."""

    def __init__(out self):
        self.stream_id = 0
        self.octets = Buffer(0)
        self.ends = False
        self.depends_on_itself = False
        self.frame_count = 0


struct _LastRequest(Movable):
    """The field block that the section was made of, if it was a sound request and
    has added nothing to the decoder's table: the same octets say the same again. A
    size that it gives the table at its start changes nothing a second time."""

    var _octets: Array[UInt8, _REPEATED_LEN_MAX]
    # 0 if there is none.
    var _length: Int

    def __init__(out self):
        self._octets = Array[UInt8, _REPEATED_LEN_MAX](uninitialized=True)
        self._length = 0

    @always_inline
    def forget(mut self):
        self._length = 0

    @always_inline
    def is_kept(self) -> Bool:
        return self._length > 0

    @always_inline
    def note(mut self, block: Span[UInt8, _]):
        """Keeps a block, if it is not too long."""
        if len(block) > _REPEATED_LEN_MAX:
            return
        self._length = len(block)
        # SAFETY: there is room for so many.
        unsafe_copy_octets(self._octets.unsafe_ptr(), block)

    @always_inline
    def is_like(self, block: Span[UInt8, _]) -> Bool:
        return self._length > 0 and same_short(
            Span(self._octets).before(self._length), block
        )


struct Http2Session(Movable):
    """What one side of a connection knows, says and does."""

    var state: ConnectionState
    """Streams, settings and windows."""
    var section: OwnedPointer[Http2FieldSection]
    """The fields that came last; in a box, since who keeps them takes it by
    `take_section`."""
    var encoder: HpackEncoder
    """What encodes our fields."""
    var foreign_count: Int
    """What counts against the peer's streams beside those that are open:
    requests that are still worked on although their streams are over."""
    var fields: Buffer
    """Our field block, while it is written: see `begin_block`."""
    var frame_count: Int
    """Frames that were taken, those of a field block counted once."""
    var content: ContentReceiver
    """The DATA frame that is arriving."""
    var broken_rule: Optional[Http2Rule]
    """Why the RESET that was told last is ours: the rule that the peer broke;
    none if the RESET is the peer's."""
    var _decoder: HpackDecoder
    var _has_preface: Bool
    var _block: _FieldBlock
    var _last_request: _LastRequest

    def __init__(out self, role: Http2Role, limits: Http2Limits, now_ms: Int):
        """Makes one side of a new connection.

        Args:
            role: Which side.
            limits: What the peer may ask for.
            now_ms: The time now.
        """
        self.state = ConnectionState(role, limits, now_ms)
        self.section = OwnedPointer(Http2FieldSection())
        self.encoder = HpackEncoder()
        self.foreign_count = 0
        self.frame_count = 0
        self.content = ContentReceiver()
        self.broken_rule = None
        self._decoder = HpackDecoder()
        self._has_preface = not role.is_server
        self._block = _FieldBlock()
        self._last_request = _LastRequest()
        self.fields = Buffer(0)

    @no_inline
    def __deinit__(deinit self):
        return

    def begin(mut self, mut out: Buffer):
        """Writes what the connection begins with: SETTINGS, after the preface
        of a client, and the window of the connection (RFC 9113 section 3.4).

        A server that speaks WebSocket sets `state.local.enable_connect_protocol`
        before.

        Args:
            out: Where to.
        """
        ref state = self.state
        if state.role.is_server:
            state.local.max_concurrent_streams = state.limits.stream_count_max
            state.local.no_rfc7540_priorities = True
        else:
            out.append(CLIENT_PREFACE.as_bytes())
            state.local.enable_push = False
        state.local.initial_window_size = state.limits.stream_window
        state.local.max_header_list_size = state.limits.section.size_max
        state.local.write_to(out)
        var missing = state.limits.connection_window - state.receive_window
        if missing > 0:
            write_window_update(out, 0, missing)
            state.receive_window += missing

    def next_event(
        mut self, mut input: Buffer, mut out: Buffer, now_ms: Int
    ) raises Http2Error -> Http2Event:
        """Takes frames until one of them is to be told of, and gives what
        happened.

        Args:
            input: The octets that have arrived. All of them are taken, but for
                a part of a frame, and what is told of.
            out: Gets what the peer has to be told.

        Raises:
            Http2Error: If the peer broke a rule that ends the connection.
        """
        self.let_go(input)
        while True:
            if unlikely(self.content.is_in_frame()):
                if len(input) == 0:
                    return Http2Event(EventKind.NEEDS_OCTETS)
                var event = self.content.take(input, out, self.state)
                if event.kind != EventKind.NEEDS_OCTETS:
                    return event
                continue
            if unlikely(not self._has_preface) and not self._take_preface(
                input
            ):
                return Http2Event(EventKind.NEEDS_OCTETS)
            if len(input) < FRAME_HEADER_LEN:
                return Http2Event(EventKind.NEEDS_OCTETS)
            var header = parse_frame_header(input.span())
            self._check_order(header)
            if header.type == FrameType.DATA:
                var rest_len = len(input)
                var event = self._take_data(header, input, out, now_ms)
                if (
                    event.kind != EventKind.NEEDS_OCTETS
                    or len(input) == rest_len
                ):
                    return event
                continue
            var length = FRAME_HEADER_LEN + header.payload_len
            if len(input) < length:
                return Http2Event(EventKind.NEEDS_OCTETS)
            var event: Http2Event
            try:
                event = self._take_frame(header, input, out, now_ms)
            except error:
                if not error.rule.is_of_stream:
                    raise error^
                event = self._end_stream_for(error, out, now_ms)
            input.consume(length)
            if self._block.stream_id == 0:
                self.frame_count += 1
            if event.kind != EventKind.NEEDS_OCTETS:
                return event

    @always_inline
    def let_go(mut self, mut input: Buffer):
        """Drops the content that DATA told of; `next_event` does it, too.

        Args:
            input: The buffer that `next_event` was given.
        """
        if self.content.told_len > 0:
            input.consume(self.content.told_len)
            self.content.told_len = 0

    @always_inline
    def data(
        self, ref input: Buffer
    ) -> Span[UInt8, ImmOrigin(origin_of(input))]:
        """Lends the content that DATA told of, until the next `next_event`.

        Args:
            input: The buffer that `next_event` was given.
        """
        # SAFETY: so much of the input was counted.
        return unsafe_lend[ImmOrigin(origin_of(input))](
            input.unsafe_base(), self.content.told_len
        )

    def next_content_len(self, input: Buffer, stream_id: Int) -> Int:
        """Tells how many bytes of content `take_content` has, after HEADERS, if
        the next frame is here and has all the content of their stream; -1 if
        more has to come.

        Args:
            input: The buffer that `next_event` was given.
            stream_id: The stream.
        """
        if len(input) < FRAME_HEADER_LEN:
            return -1
        var header = parse_frame_header(input.span())
        var is_all = (
            header.stream_id == stream_id
            and header.type == FrameType.DATA
            and header.flags == Flags.END_STREAM
            and len(input) >= FRAME_HEADER_LEN + header.payload_len
        )
        return header.payload_len if is_all else -1

    @always_inline
    def take_content(
        mut self,
        length: Int,
        stream_id: Int,
        mut input: Buffer,
        mut out: Buffer,
        now_ms: Int,
    ) raises Http2Error -> Bool:
        """Takes the frame that `next_content_len` has told of, and gives True
        if `data` lends the content; see `next_event`. False if the frame broke
        a rule of its stream, which is over.

        Args:
            length: What it told.
            input: The buffer that `next_event` was given.
            out: Gets what the peer has to be told.

        Raises:
            Http2Error: If it broke one that ends the connection.
        """
        # The order of frames is right behind HEADERS.
        if likely(self.content.take_last(length, stream_id, input, self.state)):
            self.frame_count += 1
            return True
        var header = parse_frame_header(input.span())
        self._check_order(header)
        return (
            self._take_data(header, input, out, now_ms).kind == EventKind.DATA
        )

    @no_inline
    def _take_data(
        mut self,
        header: FrameHeader,
        mut input: Buffer,
        mut out: Buffer,
        now_ms: Int,
    ) raises Http2Error -> Http2Event:
        """Takes DATA, or as much of it as is here; nothing if its beginning is
        not."""
        if (
            header.flags == Flags.END_STREAM
            and len(input) >= FRAME_HEADER_LEN + header.payload_len
            and self.content.take_last(
                header.payload_len, header.stream_id, input, self.state
            )
        ):
            self.frame_count += 1
            return Http2Event(EventKind.DATA, header.stream_id, True)
        var event: Http2Event
        try:
            if not self.content.begin(header, input, out, self.state, now_ms):
                return Http2Event(EventKind.NEEDS_OCTETS)
            event = self.content.take(input, out, self.state)
        except error:
            if not error.rule.is_of_stream:
                raise error^
            event = self._end_stream_for(error, out, now_ms)
        self.frame_count += 1
        return event

    def take_section(mut self, mut other: OwnedPointer[Http2FieldSection]):
        """Gives the fields that came last to who keeps them.

        Args:
            other: Gets them; what it had is lost.
        """
        if self._last_request.is_kept():
            # They may come again.
            other[].copy_from(self.section[])
        else:
            swap(other, self.section)

    def is_in_block(self) -> Bool:
        """Tells whether a part of a field block is kept here, so that the next
        frame has to continue it."""
        return self._block.stream_id != 0

    def _take_preface(mut self, mut input: Buffer) raises Http2Error -> Bool:
        """Takes the client's preface; False if a part is missing."""
        var wanted = CLIENT_PREFACE.as_bytes()
        var count = min(len(input), len(wanted))
        if input.span().before(count) != wanted.before(count):
            raise Http2Error(Http2Rule.PREFACE, 0)
        if count < len(wanted):
            return False
        input.consume(count)
        self._has_preface = True
        return True

    @always_inline
    def _check_order(self, header: FrameHeader) raises Http2Error:
        """Checks what holds for all frames."""
        if unlikely(header.payload_len > self.state.local.max_frame_size):
            raise Http2Error(Http2Rule.FRAME_LEN, 0)
        if unlikely(self._block.stream_id != 0):
            if header.type != FrameType.CONTINUATION or (
                header.stream_id != self._block.stream_id
            ):
                raise Http2Error(Http2Rule.EXPECTED_CONTINUATION, 0)
        elif unlikely(not self.state.has_settings):
            if header.type != FrameType.SETTINGS or header.has(Flags.ACK):
                raise Http2Error(Http2Rule.FIRST_FRAME, 0)

    def _take_frame(
        mut self,
        header: FrameHeader,
        input: Buffer,
        mut out: Buffer,
        now_ms: Int,
    ) raises Http2Error -> Http2Event:
        # SAFETY: the frame is whole, and stays where it is until it is taken.
        var payload = unsafe_lend[ImmUntrackedOrigin](
            input.unsafe_base().unsafe_offset(FRAME_HEADER_LEN),
            header.payload_len,
        )
        var type = header.type
        if likely(type == FrameType.HEADERS):
            return self._take_headers(header, payload, now_ms)
        if type == FrameType.WINDOW_UPDATE:
            return take_window_update(self.state, header, payload, now_ms)
        if type == FrameType.CONTINUATION:
            return self._take_continuation(header, payload, now_ms)
        if type == FrameType.RST_STREAM:
            self.broken_rule = None
            return take_reset(self.state, header, payload, now_ms)
        if type == FrameType.GOAWAY:
            return take_goaway(self.state, header, payload, now_ms)
        if type == FrameType.PUSH_PROMISE:
            raise Http2Error(Http2Rule.PUSH_PROMISE, 0)
        if type == FrameType.PING:
            return take_ping(self.state, header, payload, out, now_ms)
        if type == FrameType.SETTINGS:
            take_settings(self.state, header, payload, out, now_ms)
            # One after the other: the least of them counts, too (RFC 7541
            # section 4.2).
            for offset in range(0, len(payload), SETTING_LEN):
                if setting_id(payload, offset) == SettingId.HEADER_TABLE_SIZE:
                    self.encoder.set_size_max(setting_value(payload, offset))
            return Http2Event(EventKind.WINDOW)
        self.state.spend(now_ms)
        if type == FrameType.PRIORITY:
            check_priority(header, payload)
        elif type == FrameType.PRIORITY_UPDATE:
            take_priority_update(self.state, header, payload)
        return Http2Event(EventKind.NEEDS_OCTETS)

    def _end_stream_for(
        mut self, error: Http2Error, mut out: Buffer, now_ms: Int
    ) raises Http2Error -> Http2Event:
        """Resets a stream on which the peer broke a rule, which costs it a
        token: it is work that it has made us do."""
        self.state.spend(now_ms)
        var id = error.stream_id
        if self.state.is_idle(id):
            # An idle stream cannot be reset (section 6.4).
            raise Http2Error(error.rule, 0)
        var was_open = self.state.table.find(id) >= 0
        self.state.reset(out, id, error.rule.code)
        if not was_open:
            return Http2Event(EventKind.NEEDS_OCTETS)
        self.broken_rule = error.rule
        var event = Http2Event(EventKind.RESET, id)
        event.code = error.rule.code
        return event

    def _take_headers(
        mut self, header: FrameHeader, payload: Span[UInt8, _], now_ms: Int
    ) raises Http2Error -> Http2Event:
        var id = header.stream_id
        if id == 0:
            raise Http2Error(Http2Rule.ON_STREAM_0, 0)
        var part = unpadded(header, payload)
        self._block.depends_on_itself = False
        if unlikely(header.has(Flags.PRIORITY)):
            if part.length < PRIORITY_FIELDS_LEN:
                if len(payload) - part.offset < PRIORITY_FIELDS_LEN:
                    raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
                raise Http2Error(Http2Rule.PADDING, 0)
            var parent = read_u31(payload, part.offset)
            self._block.depends_on_itself = parent == id
            part.offset += PRIORITY_FIELDS_LEN
            part.length -= PRIORITY_FIELDS_LEN
        var block = payload.between(part.offset, part.offset + part.length)
        if self.state.is_idle(id):
            if self.state.is_own(id) or (id & 1 == 0):
                raise Http2Error(Http2Rule.STREAM_ID, 0)
            self.state.begin_peer_stream(id)
            if id <= self.state.goaway_id:
                self.state.add_stream(id)
        self._block.ends = header.has(Flags.END_STREAM)
        if unlikely(not header.has(Flags.END_HEADERS)):
            self._block.octets.clear()
            self._block.octets.append(block)
            self._block.stream_id = id
            self._block.frame_count = 0
            return Http2Event(EventKind.NEEDS_OCTETS)
        return self._take_block(id, block, now_ms)

    def _take_continuation(
        mut self, header: FrameHeader, payload: Span[UInt8, _], now_ms: Int
    ) raises Http2Error -> Http2Event:
        if self._block.stream_id == 0:
            raise Http2Error(Http2Rule.UNEXPECTED_CONTINUATION, 0)
        self._block.frame_count += 1
        if self._block.frame_count > self.state.limits.continuation_count_max:
            raise Http2Error(Http2Rule.CALM, 0)
        if len(payload) == 0:
            self.state.spend(now_ms)
        if len(self._block.octets) + len(payload) > FIELD_BLOCK_LEN_MAX:
            raise Http2Error(Http2Rule.FIELD_BLOCK_LEN, 0)
        self._block.octets.append(payload)
        if not header.has(Flags.END_HEADERS):
            return Http2Event(EventKind.NEEDS_OCTETS)
        var id = self._block.stream_id
        self._block.stream_id = 0
        var block = Buffer(0)
        swap(block, self._block.octets)
        return self._take_block(id, block.span(), now_ms)

    def _take_block(
        mut self, id: Int, block: Span[UInt8, _], now_ms: Int
    ) raises Http2Error -> Http2Event:
        """Decodes a field block, whatever becomes of its stream: the table has
        to know of it. One that comes again is not decoded again."""
        var comes_again = self._last_request.is_like(block)
        if not comes_again:
            self._last_request.forget()
            self.section[].decode(
                self._decoder, block, self.state.limits.section
            )
        var index = self.state.table.find(id)
        if unlikely(index < 0):
            self.state.check_begun(id)
            self.state.check_closed(id, 0)
            self.state.spend(now_ms)
            return Http2Event(EventKind.NEEDS_OCTETS)
        var ends = self._block.ends
        if self.state.table.at(index).state == StreamState.HALF_CLOSED_REMOTE:
            raise Http2Error(Http2Rule.HALF_CLOSED_STREAM, id)
        if unlikely(self._block.depends_on_itself):
            raise Http2Error(Http2Rule.SELF_DEPENDENCY, id)
        if self.state.table.at(index).has_head:
            return self._take_trailers(index, ends)
        if self.state.role.is_server:
            self.state.table.at(index).move[StreamEvent.HEADERS_RECEIVED]()
            self._check_count(id)
            if not comes_again:
                self.section[].check_request(self.state.limits.section, id)
                if not self._decoder.has_added:
                    self._last_request.note(block)
            if unlikely(
                self.section[].is_extended_connect()
                and not self.state.local.enable_connect_protocol
            ):
                # Only who announced it knows the field (RFC 8441 section 4).
                raise Http2Error(Http2Rule.PSEUDO_UNKNOWN, id)
        else:
            # A stream of ours may be in the table before its HEADERS are sent.
            _ = self.state.find(id)
            self.section[].check_response(id)
        return self._take_head(index, ends, now_ms)

    def _check_count(self, id: Int) raises Http2Error:
        """Refuses a stream that is one too many."""
        var count = len(self.state.table) + self.foreign_count
        if count > self.state.limits.stream_count_max:
            raise Http2Error(Http2Rule.TOO_MANY_STREAMS, id)

    def _take_head(
        mut self, index: Int, ends: Bool, now_ms: Int
    ) raises Http2Error -> Http2Event:
        ref stream = self.state.table.at(index)
        var id = stream.id
        if not self.state.role.is_server:
            var status = self.section[].facts.response_status
            if status < 200:
                if ends:
                    raise Http2Error(Http2Rule.INFORMATIONAL, id)
                # There may be any number of them.
                self.state.spend(now_ms)
                return Http2Event(EventKind.HEADERS, id)
            stream.expects.note_status(status)
            if stream.expects == StreamContent.TUNNEL:
                # It opens the tunnel, whatever its content-length says (RFC
                # 9110 section 9.3.6).
                self.section[].facts.content_length = -1
        stream.has_head = True
        if stream.expects != StreamContent.NONE:
            stream.missing_len = self.section[].facts.content_length
        if self.section[].has_priority():
            stream.priority = self.section[].priority()
        if unlikely(len(self.state.early_priorities) > 0):
            stream.priority = self.state.priority_of(id, stream.priority)
        if ends:
            if stream.missing_len > 0:
                raise Http2Error(Http2Rule.CONTENT_LENGTH, id)
            self.state.end_received(index)
        return Http2Event(EventKind.HEADERS, id, ends)

    def _take_trailers(
        mut self, index: Int, ends: Bool
    ) raises Http2Error -> Http2Event:
        ref stream = self.state.table.at(index)
        var id = stream.id
        if unlikely(stream.expects == StreamContent.TUNNEL):
            raise Http2Error(Http2Rule.TUNNEL, id)
        if not ends:
            raise Http2Error(Http2Rule.TRAILERS, id)
        self.section[].check_trailers(id)
        if stream.missing_len > 0:
            raise Http2Error(Http2Rule.CONTENT_LENGTH, id)
        self.state.end_received(index)
        return Http2Event(EventKind.TRAILERS, id, True)

    def open_stream(mut self) -> Int:
        """Begins a stream of ours, and gives its number; 0 if the peer allows
        no more now, one side has sent GOAWAY, or numbers have run out."""
        ref state = self.state
        var count = 0
        for index in range(len(state.table)):
            if state.is_own(state.table.at(index).id):
                count += 1
        if count >= state.remote.max_concurrent_streams:
            return 0
        var id = state.next_id
        if state.has_peer_goaway or id > state.goaway_id:
            return 0
        state.next_id += 2
        state.add_stream(id)
        return id

    @always_inline
    def begin_block(mut self):
        """Starts a field block of ours; `encoder` adds to `fields`."""
        self.fields.clear()
        self.encoder.begin(self.fields)

    def end_block(mut self, mut out: Buffer, stream_id: Int, ends: Bool):
        """Writes the field block in as many frames as it needs (section 4.3).

        Args:
            stream_id: The stream, which is in the table and which we have not
                ended: fields that are encoded and not sent put the peer's table
                out of step.
            ends: True if nothing follows on it.
        """
        var index = self.state.table.find(stream_id)
        debug_assert(index >= 0, "there is no such stream")
        if index >= 0:
            self.end_block_at(out, index, ends)

    def end_block_at(mut self, mut out: Buffer, index: Int, ends: Bool):
        """Does what `end_block` does, for who has found the stream.

        Args:
            index: The stream's, in the table.
            ends: True if nothing follows on it; the index may be another
                stream's then.
        """
        ref stream = self.state.table.at(index)
        var stream_id = stream.id
        stream.move[StreamEvent.HEADERS_SENT]()
        var flags = Flags.END_STREAM if ends else UInt8(0)
        var length = len(self.fields)
        if likely(length <= self.state.remote.max_frame_size):
            flags |= Flags.END_HEADERS
            write_frame_header(
                out, FrameHeader(length, FrameType.HEADERS, flags, stream_id)
            )
            out.append(self.fields.span())
        else:
            self._write_block(out, stream_id, flags)
        if ends:
            self.state.end_sent(index)

    @no_inline
    def _write_block(self, mut out: Buffer, stream_id: Int, first_flags: UInt8):
        """Writes a field block that is longer than a frame."""
        var rest = self.fields.span()
        var type = FrameType.HEADERS
        var flags = first_flags
        while True:
            var length = min(len(rest), self.state.remote.max_frame_size)
            if length == len(rest):
                flags |= Flags.END_HEADERS
            write_frame_header(out, FrameHeader(length, type, flags, stream_id))
            out.append(rest.before(length))
            if length == len(rest):
                return
            rest = rest.after(length)
            type = FrameType.CONTINUATION
            flags = 0

    @always_inline
    def sendable_len(self, stream_id: Int) -> Int:
        """Tells how many bytes of content may be sent now (section 6.9.1); 0 if
        its window or the connection's is shut, -1 if there is no such stream.
        """
        var index = self.state.table.find(stream_id)
        if index < 0:
            return -1
        return self.sendable_len_at(index)

    @always_inline
    def sendable_len_at(self, index: Int) -> Int:
        """Tells the same of a stream that was found."""
        return max(
            0,
            min(self.state.send_window, self.state.table.at(index).send_window),
        )

    def write_data(
        mut self,
        mut out: Buffer,
        stream_id: Int,
        octets: Span[UInt8, _],
        ends: Bool,
    ):
        """Writes content, in frames of the length that every peer takes.

        Args:
            stream_id: The stream, which we have not ended.
            octets: The content; not more than `sendable_len`.
            ends: True if nothing follows.
        """
        var index = self.state.table.find(stream_id)
        if index >= 0:
            self.write_data_at(out, index, octets, ends)

    def write_data_at(
        mut self,
        mut out: Buffer,
        index: Int,
        octets: Span[UInt8, _],
        ends: Bool,
    ):
        """Does what `write_data` does, for who has found the stream.

        Args:
            octets: The content; not more than `sendable_len_at`.
            ends: True if nothing follows; the index may be another stream's
                then.
        """
        debug_assert(
            len(octets) <= self.sendable_len_at(index),
            "more than the windows allow",
        )
        ref stream = self.state.table.at(index)
        var stream_id = stream.id
        self.state.send_window -= len(octets)
        stream.send_window -= len(octets)
        var rest = octets.as_imm()
        while unlikely(len(rest) > FRAME_LEN_MIN):
            _write_content(out, stream_id, rest.before(FRAME_LEN_MIN), 0)
            rest = rest.after(FRAME_LEN_MIN)
        var flags = Flags.END_STREAM if ends else UInt8(0)
        _write_content(out, stream_id, rest, flags)
        if ends:
            self.state.end_sent(index)
        else:
            self.state.note_data(index, len(octets))

    def begin_drain(mut self, mut out: Buffer):
        """Tells the peer that the connection will end, without refusing what is
        on its way (section 6.8).

        Args:
            out: Gets GOAWAY.
        """
        write_goaway(out, STREAM_ID_MAX, ErrorCode.NO_ERROR, "")

    def end_drain(mut self, mut out: Buffer):
        """Takes no more streams of the peer than have come.

        Args:
            out: Gets GOAWAY with the last of them.
        """
        self.state.goaway_id = min(
            self.state.goaway_id, self.state.last_peer_id
        )
        write_goaway(out, self.state.goaway_id, ErrorCode.NO_ERROR, "")

    def fail(mut self, mut out: Buffer, error: Http2Error):
        """Tells the peer why the connection ends (section 5.4.1).

        Args:
            out: Gets GOAWAY.
            error: What `next_event` raised.
        """
        # What was said before must not grow (section 6.8).
        var last = min(self.state.goaway_id, self.state.last_peer_id)
        write_goaway(out, last, error.rule.code, error.rule.text())


@always_inline
def _write_content(
    mut out: Buffer, stream_id: Int, content: Span[UInt8, _], flags: UInt8
):
    write_frame_header(
        out, FrameHeader(len(content), FrameType.DATA, flags, stream_id)
    )
    out.append(content)
