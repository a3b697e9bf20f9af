"""The receiving half of a connection: frames to messages, and their UTF-8."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.ws.core.deflate import MessageInflater
from flare.ws.core.error import (
    CloseCode,
    WsProtocolError,
    WsRule,
    may_send_close_code,
)
from flare.ws.core.frame import (
    FRAME_HEADER_LEN_MAX,
    FrameExpectation,
    FrameHeader,
    Opcode,
    Role,
    apply_mask,
    parse_frame_header,
)
from std.memory import pack_bits
from std.sys.intrinsics import likely, unlikely


@fieldwise_init
struct WsLimits(TrivialRegisterPassable):
    """How long frames and messages may be; a peer that goes beyond is refused."""

    var frame_len_max: Int
    """Longest payload of a frame, in bytes."""
    var message_len_max: Int
    """Longest message, in bytes, decompressed."""


@fieldwise_init
struct WsProgress(Equatable, TrivialRegisterPassable):
    """What `FrameReceiver.advance` found."""

    var number: UInt8

    comptime NEEDS_OCTETS = WsProgress(0)
    """All input was taken; more has to arrive."""
    comptime MESSAGE = WsProgress(1)
    """A message is complete."""
    comptime FRAME = WsProgress(2)
    comptime PING = WsProgress(3)
    """The peer asks for a pong."""
    comptime PONG = WsProgress(4)
    """The peer has answered a ping, or spoken up unasked."""
    comptime CLOSE = WsProgress(5)
    """The peer closes; nothing follows."""


comptime MESSAGE_KEEP_LEN_MAX = 4_096
"""Room for messages that is kept from one to the next, in bytes."""

# Where the payload that `advance` told of stands.
comptime _NOWHERE = UInt8(0)
comptime _IN_INPUT = UInt8(1)
comptime _IN_MESSAGE = UInt8(2)
comptime _IN_CONTROL = UInt8(3)


@fieldwise_init
struct ReceivePhase(Equatable, TrivialRegisterPassable):
    """What comes next of what the peer sends."""

    var _number: UInt8

    comptime HEADER = ReceivePhase(0)
    """A frame's header, or the rest of one."""
    comptime PAYLOAD = ReceivePhase(1)
    """What is missing of a frame's payload."""
    comptime OVER = ReceivePhase(2)
    """Nothing that counts: the peer has closed, or broken a rule."""


@fieldwise_init
struct MessageState(Equatable, TrivialRegisterPassable):
    """Which message is being received; control frames may come within it."""

    var _number: UInt8

    comptime NONE = MessageState(0)
    """The next frame of data begins one."""
    comptime PLAIN = MessageState(1)
    """One that is not compressed."""
    comptime COMPRESSED = MessageState(2)
    """One that is (RFC 7692 section 6)."""


struct FrameReceiver(Movable):
    """What the peer sends, parsed as it arrives.

    Memory: a message that did not come in one piece, at most
    `limits.message_len_max` octets of what has really arrived, and one
    control frame.
    """

    var limits: WsLimits
    var close_code: Int
    """After `CLOSE`: the peer's code, or `CloseCode.NO_STATUS`."""
    var opcode: Opcode
    """After `MESSAGE`: `TEXT` or `BINARY`. After `FRAME`: the same for the
    first part of a message that was given out, else `CONTINUATION`."""
    var is_final: Bool
    """After `FRAME`: True if its message ends with it."""
    var _role: Role
    var _inflater: Optional[MessageInflater]
    # The frame that is being received.
    var _frame: FrameHeader
    var _phase: ReceivePhase
    var _seen_len: Int
    var _frame_offset: Int
    # The part of a header that has arrived.
    var _header: Array[UInt8, FRAME_HEADER_LEN_MAX]
    var _header_len: Int
    # The message that is being received.
    var _message: Buffer
    var _message_opcode: Opcode
    var _message_state: MessageState
    # How much of it was given out, frame by frame; -1 for none of it.
    var _given_len: Int
    var _text: Utf8Checker
    var _control: Buffer
    # What was told last.
    var _place: UInt8
    var _drop_len: Int

    def __init__(
        out self,
        role: Role,
        limits: WsLimits,
        var inflater: Optional[MessageInflater] = None,
    ):
        self.limits = limits
        self.close_code = CloseCode.NO_STATUS
        self.opcode = Opcode.TEXT
        self.is_final = True
        self._role = role
        self._inflater = inflater^
        self._frame = FrameHeader(Opcode.TEXT, 0)
        self._phase = ReceivePhase.HEADER
        self._seen_len = 0
        self._frame_offset = 0
        self._header = Array[UInt8, FRAME_HEADER_LEN_MAX](uninitialized=True)
        self._header_len = 0
        self._message = Buffer()
        self._message_opcode = Opcode.TEXT
        self._message_state = MessageState.NONE
        self._given_len = -1
        self._text = Utf8Checker()
        self._control = Buffer()
        self._place = _NOWHERE
        self._drop_len = 0

    def advance(
        mut self, mut input: Buffer, by_frame: Bool = False
    ) raises WsProtocolError -> WsProgress:
        """Goes on until there is something to tell, of a message or, if
        `by_frame`, of each of its frames; control frames come in between either
        way. All that has arrived is taken, but for what is behind what is told
        of, and changed by unmasking. The payload is lent by `payload` until the
        next call.

        Source: RFC 6455 sections 5 and 6.2. If the peer breaks a rule, nothing
        more can be received.
        """
        self.let_go(input)
        while self._phase != ReceivePhase.OVER:
            if self._phase == ReceivePhase.HEADER:
                if not self._take_header(input):
                    return WsProgress.NEEDS_OCTETS
                self._begin_frame()
            var progress: WsProgress
            if unlikely(self._frame.opcode.is_control()):
                progress = self._take_control(input)
            else:
                progress = self._take_data(input, by_frame)
            if (
                progress != WsProgress.NEEDS_OCTETS
                or self._phase == ReceivePhase.PAYLOAD
            ):
                return progress
        # Nothing that follows a close frame counts (RFC 6455 section 5.5.1).
        input.clear()
        return WsProgress.NEEDS_OCTETS

    @always_inline
    def payload(
        ref self, ref input: Buffer
    ) -> Span[UInt8, ImmOrigin(origin_of(self, input))]:
        """Lends the payload that `advance` told of, in the input that it was
        given, until the next `advance`: the message, the frame's payload, or
        the reason of a close frame."""
        # SAFETY: each place is a part of the receiver or of the input, which
        # the span's origin names.
        comptime both = ImmOrigin(origin_of(self, input))
        if self._place == _IN_INPUT:
            return unsafe_lend[both](input.unsafe_base(), self._drop_len)
        if self._place == _IN_MESSAGE:
            return unsafe_lend[both](
                self._message.unsafe_base(), len(self._message)
            )
        var skip_len = 0
        if self._place == _IN_CONTROL and self._frame.opcode == Opcode.CLOSE:
            skip_len = min(2, len(self._control))
        return unsafe_lend[both](
            self._control.unsafe_base().unsafe_offset(skip_len),
            len(self._control) - skip_len,
        )

    def stop(mut self):
        """Lets nothing of what follows count: the peer broke a rule, or the
        connection has ended."""
        self._phase = ReceivePhase.OVER

    def held_len(self) -> Int:
        """Counts what is kept of a message that is not complete."""
        return len(self._message)

    @always_inline
    def let_go(mut self, mut input: Buffer):
        """Gives back the memory in the input of what `advance` told of last,
        whose payload is then gone; the next `advance` would do it, too."""
        if self._place == _IN_INPUT:
            input.consume(self._drop_len)
        elif self._place == _IN_MESSAGE:
            self._message.clear()
            if self._message.capacity() > MESSAGE_KEEP_LEN_MAX:
                self._message = Buffer()
        elif self._place == _IN_CONTROL:
            self._control.clear()
        self._place = _NOWHERE
        self._drop_len = 0

    @always_inline
    def _message_len_max(self) -> Int:
        """How much more of the message there may be than was given out."""
        return self.limits.message_len_max - max(self._given_len, 0)

    @always_inline
    def _expectation(self) -> FrameExpectation:
        return FrameExpectation(
            self._role == Role.SERVER,
            self._message_state != MessageState.NONE,
            Bool(self._inflater),
            self.limits.frame_len_max,
        )

    @always_inline
    def _take_header(
        mut self, mut input: Buffer
    ) raises WsProtocolError -> Bool:
        """Reads a header; keeps its octets if some are missing."""
        if len(input) == 0:
            return False
        try:
            if likely(self._header_len == 0):
                if likely(
                    parse_frame_header(
                        input.span(), self._expectation(), self._frame
                    )
                ):
                    input.consume(self._frame.header_len)
                    return True
            return self._take_header_slowly(input)
        except error:
            error.offset += self._frame_offset
            raise error^

    @no_inline
    def _take_header_slowly(
        mut self, mut input: Buffer
    ) raises WsProtocolError -> Bool:
        while len(input) > 0 and self._header_len < FRAME_HEADER_LEN_MAX:
            self._header.at(self._header_len) = input.span().at(0)
            self._header_len += 1
            input.consume(1)
            var is_whole = parse_frame_header(
                Span(self._header).before(self._header_len),
                self._expectation(),
                self._frame,
            )
            if is_whole:
                self._header_len = 0
                return True
        return False

    @always_inline
    def _begin_frame(mut self) raises WsProtocolError:
        self._phase = ReceivePhase.PAYLOAD
        self._seen_len = 0
        if self._frame.opcode.is_control():
            return
        if self._message_state == MessageState.NONE:
            self._message_state = MessageState.PLAIN
            if self._frame.is_compressed:
                self._message_state = MessageState.COMPRESSED
            self._message_opcode = self._frame.opcode
            self._given_len = -1
            self._text = Utf8Checker()
        var room = self._message_len_max() - len(self._message)
        if (
            self._message_state == MessageState.PLAIN
            and self._frame.payload_len > room
        ):
            raise self._broken(materialize[WsRule.MESSAGE_LEN](), 1)

    @always_inline
    def _take_piece(
        mut self, mut input: Buffer
    ) -> Span[UInt8, MutUntrackedOrigin]:
        """Unmasks what is here of the frame; it stays in the input."""
        # SAFETY: the piece lies in the input, which the callers hold.
        var count = min(len(input), self._frame.payload_len - self._seen_len)
        var piece = Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=input.unsafe_base(), length=count
        )
        if self._frame.key.is_given:
            apply_mask(piece, self._frame.key.rotated(self._seen_len))
        return piece

    @always_inline
    def _end_piece(mut self, count: Int) -> Bool:
        """Notes that a piece was taken; True at the end of the frame."""
        self._seen_len += count
        if self._seen_len < self._frame.payload_len:
            return False
        self._phase = ReceivePhase.HEADER
        self._frame_offset += self._frame.header_len + self._frame.payload_len
        return True

    def _take_control(
        mut self, mut input: Buffer
    ) raises WsProtocolError -> WsProgress:
        var piece = self._take_piece(input)
        self._control.append(piece)
        var count = len(piece)
        input.consume(count)
        if self._frame.opcode == Opcode.CLOSE:
            self._check_close()
        if not self._end_piece(count):
            return WsProgress.NEEDS_OCTETS
        self._place = _IN_CONTROL
        if self._frame.opcode == Opcode.PING:
            return WsProgress.PING
        if self._frame.opcode == Opcode.PONG:
            return WsProgress.PONG
        self._phase = ReceivePhase.OVER
        return WsProgress.CLOSE

    def _check_close(mut self) raises WsProtocolError:
        """Checks what has arrived of a close frame."""
        var read = ClosePayload(self._control.span(), self._frame.payload_len)
        if read.broken:
            var offset = read.offset
            if offset >= 0:
                offset += self._frame.header_len
            raise self._broken(read.broken.held(), max(offset, 1))
        self.close_code = read.code

    @always_inline
    def _take_data(
        mut self, mut input: Buffer, by_frame: Bool
    ) raises WsProtocolError -> WsProgress:
        var piece = self._take_piece(input)
        var count = len(piece)
        if unlikely(self._message_state == MessageState.COMPRESSED):
            self._inflate(piece, count)
            input.consume(count)
            return self._end_data(count, by_frame)
        if self._message_opcode == Opcode.TEXT:
            var bad = self._text.check(piece)
            if bad >= 0:
                raise self._bad_text(self._seen_len + bad)
        var is_whole = count == self._frame.payload_len
        var is_told = by_frame or self._frame.is_final
        if likely(is_whole and is_told and len(self._message) == 0):
            # Nothing has to be kept: lent from where it lies.
            var progress = self._end_data(count, by_frame)
            self._place = _IN_INPUT
            self._drop_len = count
            return progress
        self._message.append(piece)
        input.consume(count)
        return self._end_data(count, by_frame)

    @always_inline
    def _end_data(
        mut self, count: Int, by_frame: Bool
    ) raises WsProtocolError -> WsProgress:
        """Decides what to tell after a piece."""
        if not self._end_piece(count):
            return WsProgress.NEEDS_OCTETS
        var is_plain = self._message_state == MessageState.PLAIN
        if self._frame.is_final:
            self._message_state = MessageState.NONE
            if self._message_opcode == Opcode.TEXT:
                if unlikely(not self._text.is_complete()):
                    raise WsProtocolError(
                        materialize[WsRule.UTF8](), self._frame_offset
                    )
        elif not by_frame:
            return WsProgress.NEEDS_OCTETS
        self.opcode = self._message_opcode
        if self._given_len >= 0:
            self.opcode = Opcode.CONTINUATION
        var given_len = max(self._given_len, 0) + len(self._message)
        if len(self._message) == 0 and is_plain:
            given_len += count
        self._given_len = given_len
        self.is_final = self._frame.is_final
        self._place = _IN_MESSAGE
        return WsProgress.FRAME if by_frame else WsProgress.MESSAGE

    def _inflate(
        mut self, piece: Span[UInt8, _], count: Int
    ) raises WsProtocolError:
        """Decompresses a piece; at the end of a message also its tail."""
        var start = len(self._message)
        var len_max = self._message_len_max()
        ref inflater = self._inflater.held()
        var broken = inflater.inflate(piece, self._message, len_max)
        var is_end = self._seen_len + count == self._frame.payload_len
        if not broken and is_end and self._frame.is_final:
            broken = inflater.end_message(self._message, len_max)
        if self._message_opcode == Opcode.TEXT:
            if self._text.check(self._message.span().after(start)) >= 0:
                raise self._broken(materialize[WsRule.UTF8](), 0)
        if broken:
            raise self._broken(broken.held(), 0)

    @no_inline
    def _bad_text(self, offset: Int) -> WsProtocolError:
        return self._broken(
            materialize[WsRule.UTF8](), self._frame.header_len + offset
        )

    def _broken(self, rule: WsRule, offset: Int) -> WsProtocolError:
        return WsProtocolError(rule, self._frame_offset + offset)


struct ClosePayload(Movable):
    """What a close frame says, as far as it has arrived."""

    var code: Int
    """The code, or `CloseCode.NO_STATUS`."""
    var broken: Optional[WsRule]
    var offset: Int
    """Where it does, in bytes from the start of the payload; -1 for its
    length."""

    def __init__(out self, octets: Span[UInt8, _], payload_len: Int):
        """Reads what is there of a payload that is going to be `payload_len`
        long.

        Source: RFC 6455 section 5.5.1.
        """
        self.code = CloseCode.NO_STATUS
        self.broken = None
        self.offset = -1
        if payload_len == 1:
            self.broken = materialize[WsRule.CLOSE_LEN]()
            return
        if len(octets) < 2:
            return
        self.code = Int(octets.at(0)) << 8 | Int(octets.at(1))
        if not may_send_close_code(self.code):
            self.broken = materialize[WsRule.CLOSE_CODE]()
            self.offset = 0
            return
        var checker = Utf8Checker()
        var bad = checker.check(octets.after(2))
        if bad < 0 and len(octets) == payload_len:
            if not checker.is_complete():
                bad = payload_len - 2
        if bad >= 0:
            self.broken = materialize[WsRule.CLOSE_UTF8]()
            self.offset = 2 + bad


comptime _BLOCK_LEN = 32


struct Utf8Checker(TrivialRegisterPassable):
    """Checks text as it arrives, cut anywhere, and fails at the first octet
    that no valid text can have there.

    Source: RFC 3629 section 4 (the octet ranges of its grammar).
    """

    # How many octets the code point that has begun still needs, and between
    # which bounds the next of them must lie.
    var _left: UInt8
    var _low: UInt8
    var _high: UInt8

    def __init__(out self):
        self._left = 0
        self._low = 0x80
        self._high = 0xBF

    @always_inline
    def is_complete(self) -> Bool:
        """Tells whether the text may end here, and not within a code point."""
        return self._left == 0

    def check(mut self, octets: Span[UInt8, _]) -> Int:
        """Goes on with any piece of the text. Returns -1 if it is fine, else
        the index of the first octet that is not."""
        # SAFETY: a block is loaded only if it lies within the octets.
        var base = octets.unsafe_ptr()
        var count = len(octets)
        var index = 0
        while index < count:
            if self._left == 0:
                while index + _BLOCK_LEN <= count:
                    var block = base.unsafe_load[width=_BLOCK_LEN](index)
                    if pack_bits(block.ge(128)) != 0:
                        break
                    index += _BLOCK_LEN
            var stop = min(count, index + _BLOCK_LEN)
            while index < stop:
                if not self._take(octets.unsafe_at(index)):
                    return index
                index += 1
        return -1

    @always_inline
    def _take(mut self, octet: UInt8) -> Bool:
        if self._left == 0:
            return octet < 0x80 or self._begin(octet)
        if octet < self._low or octet > self._high:
            return False
        self._left -= 1
        self._low = 0x80
        self._high = 0xBF
        return True

    @always_inline
    def _begin(mut self, octet: UInt8) -> Bool:
        """Takes the first of several octets."""
        # 80 to BF continue, C0 and C1 are overlong, F5 and up exceed U+10FFFF.
        if octet < 0xC2 or octet > 0xF4:
            return False
        if octet < 0xE0:
            self._left = 1
        elif octet < 0xF0:
            self._left = 2
            # Longer than needed, or a surrogate.
            if octet == 0xE0:
                self._low = 0xA0
            elif octet == 0xED:
                self._high = 0x9F
        else:
            self._left = 3
            # Longer than needed, or beyond U+10FFFF.
            if octet == 0xF0:
                self._low = 0x90
            elif octet == 0xF4:
                self._high = 0x8F
        return True
