"""Frames of WebSocket as RFC 6455 has them, apart from the library's own: who judges
shares no code with who is judged."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from tests.simulate.dice import Dice
from tests.simulate.requests import content_of

comptime CONTINUATION = 0
comptime TEXT = 1
comptime BINARY = 2
comptime CLOSE = 8
comptime PING = 9
comptime PONG = 10
# Opcodes (RFC 6455 section 11.8).

comptime SAMPLE_KEY = "dGhlIHNhbXBsZSBub25jZQ=="
comptime SAMPLE_ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
"""What answers that key (RFC 6455 section 1.3)."""

comptime _GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
comptime _BASE64 = StaticString(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)

comptime BYE_CODE = 4_001
comptime BYE_REASON = "bye"

comptime _MORE = "more "


@fieldwise_init
struct WsMessage(Copyable):
    """A message, or a control frame."""

    var opcode: Int
    var payload: List[UInt8]

    def is_same(self, other: Self) -> Bool:
        return self.opcode == other.opcode and self.payload == other.payload


def accept_of(key: StringSpan) -> String:
    """Answers a key (section 4.2.2): its SHA-1 with the GUID behind it, in base64."""
    var digest = _sha1(String(key, _GUID).as_bytes())
    # So that 20 octets are seven groups of three.
    digest.append(0)
    var text = String()
    for start in range(0, len(digest), 3):
        var group = Int(digest[start]) << 16 | Int(digest[start + 1]) << 8
        group |= Int(digest[start + 2])
        for shift in range(18, -1, -6):
            var place = (group >> shift) & 63
            text += _BASE64[byte = place : place + 1]
    return String(text[byte=:27], "=")


def _sha1(octets: Span[UInt8, _]) -> List[UInt8]:
    """Makes the digest of octets (RFC 3174 section 6.1)."""
    var padded = List(octets)
    padded.append(128)
    while len(padded) % 64 != 56:
        padded.append(0)
    for shift in range(56, -1, -8):
        padded.append(UInt8((len(octets) * 8 >> shift) & 255))
    var state: List[UInt32] = [
        0x67452301,
        0xEFCDAB89,
        0x98BADCFE,
        0x10325476,
        0xC3D2E1F0,
    ]
    for start in range(0, len(padded), 64):
        var words = List[UInt32]()
        for at in range(start, start + 64, 4):
            var word = UInt32(0)
            for index in range(4):
                word = word << 8 | UInt32(padded[at + index])
            words.append(word)
        for at in range(16, 80):
            var mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14]
            words.append(_rotated(mixed ^ words[at - 16], 1))
        var kept = state.copy()
        for at in range(80):
            var sum = _rotated(state[0], 5) + state[4] + words[at]
            sum += _of_round(at // 20, state[1], state[2], state[3])
            state = [sum, state[0], _rotated(state[1], 30), state[2], state[3]]
        for index in range(5):
            state[index] += kept[index]
    var digest = List[UInt8]()
    for word in state:
        for shift in range(24, -1, -8):
            digest.append(UInt8((word >> UInt32(shift)) & 255))
    return digest^


def _rotated(word: UInt32, count: UInt32) -> UInt32:
    return word << count | word >> (32 - count)


def _of_round(round: Int, b: UInt32, c: UInt32, d: UInt32) -> UInt32:
    """Gives what differs by twenty steps: f and K (section 5)."""
    if round == 0:
        return (b & c | ~b & d) + 0x5A827999
    if round == 1:
        return (b ^ c ^ d) + 0x6ED9EBA1
    if round == 2:
        return (b & c | b & d | c & d) + 0x8F1BBCDC
    return (b ^ c ^ d) + 0xCA62C1D6


def close_payload(code: Int, reason: StringSpan = "") -> List[UInt8]:
    """Makes what a close frame says (section 5.5.1); nothing for 1005."""
    var payload = List[UInt8]()
    if code != 1_005:
        payload.append(UInt8(code >> 8))
        payload.append(UInt8(code & 255))
        payload.extend(reason.as_bytes())
    return payload^


def more_request(count: Int, id: Int, length: Int) -> List[UInt8]:
    """Makes a text that asks for several messages."""
    return List(String(_MORE, count, " ", id, " ", length).as_bytes())


def ws_answers(opcode: Int, payload: Span[UInt8, _]) -> List[WsMessage]:
    """Makes the right answers to a message: more of them if it asks for that, else
    itself."""
    var text = String(from_utf8_lossy=payload)
    if opcode == TEXT and text.startswith(_MORE):
        var parts = text.split(" ")
        try:
            if len(parts) < 4:
                raise Error("an octet was changed")
            var count, length = Int(parts[1]), Int(parts[3])
            if count < 0 or length < 0:
                raise Error("a digit has become a minus")
            var answers = List[WsMessage]()
            for index in range(count):
                var content = content_of(Int(parts[2]) + index, length)
                answers.append(WsMessage(TEXT, content^))
            return answers^
        except error:
            # It was spoilt.
            pass
    return [WsMessage(opcode, List(payload))]


def says_bye(opcode: Int, payload: Span[UInt8, _]) -> Bool:
    """Tells whether a message wants the connection closed."""
    return opcode == TEXT and payload == BYE_REASON.as_bytes()


def write_frame(
    mut out: Buffer,
    opcode: Int,
    payload: Span[UInt8, _],
    mask: UInt32,
    *,
    is_final: Bool = True,
):
    """Writes a frame (section 5.2), masked unless the mask is 0."""
    var length = len(payload)
    var masked = 128 if mask != 0 else 0
    var head: List[UInt8] = [UInt8((128 if is_final else 0) | opcode)]
    var width = 0
    if length < 126:
        head.append(UInt8(masked | length))
    elif length < 65_536:
        head.append(UInt8(masked | 126))
        width = 2
    else:
        head.append(UInt8(masked | 127))
        width = 8
    for place in range(width - 1, -1, -1):
        head.append(UInt8((length >> (8 * place)) & 255))
    if mask == 0:
        out.append(Span(head))
        out.append(payload)
        return
    for place in range(4):
        head.append(UInt8((mask >> UInt32(8 * place)) & 255))
    out.append(Span(head))
    out.append(Span(_masked(payload, mask)))


def _masked(payload: Span[UInt8, _], mask: UInt32) -> List[UInt8]:
    var octets = List[UInt8](capacity=len(payload))
    for index in range(len(payload)):
        var key = UInt8((mask >> UInt32(8 * (index % 4))) & 255)
        octets.append(payload.at(index) ^ key)
    return octets^


def mask_of(mut dice: Dice) -> UInt32:
    """Chooses a mask."""
    return UInt32(1 + dice.below(0x7FFFFFFF))


def write_message(
    mut out: Buffer,
    message: WsMessage,
    mut dice: Dice,
    *,
    is_masked: Bool,
    behind_first: Span[UInt8, _],
):
    """Writes a message in one frame, or in fragments (section 5.4), with other
    frames behind the first of them."""
    var start = 0
    var opcode = message.opcode
    while True:
        var length = len(message.payload) - start
        if dice.one_in(3):
            length = dice.below(length + 1)
        var is_final = start + length == len(message.payload)
        var mask = mask_of(dice) if is_masked else UInt32(0)
        write_frame(
            out,
            opcode,
            Span(message.payload)[start : start + length],
            mask,
            is_final=is_final,
        )
        if opcode != CONTINUATION:
            out.append(behind_first)
        if is_final:
            return
        start += length
        opcode = CONTINUATION


struct WsReader(Movable):
    """Takes octets, gives the messages and control frames of one direction."""

    var inbox: Buffer
    var problem: String
    """What is wrong with what has come; empty if nothing is."""
    var _is_masked: Bool
    var _opcode: Int
    # Of the message that is under way, or 0.
    var _message: List[UInt8]

    def __init__(out self, *, is_masked: Bool):
        self.inbox = Buffer(0)
        self.problem = String()
        self._is_masked = is_masked
        self._opcode = 0
        self._message = []

    def next(mut self) -> Optional[WsMessage]:
        """Takes the next one that is complete; nothing if there is none, or there
        is a `problem`."""
        while self.problem.byte_length() == 0:
            var octets = self.inbox.span()
            if len(octets) < 2:
                return None
            var length = Int(octets.at(1)) & 127
            var width = 0 if length < 126 else (2 if length == 126 else 8)
            var head_len = 2 + width + (4 if self._is_masked else 0)
            if len(octets) < head_len:
                return None
            if width > 0:
                length = 0
                for place in range(width):
                    length = length << 8 | Int(octets.at(2 + place))
            if len(octets) < head_len + length:
                return None
            var first = Int(octets.at(0))
            self._check(first, Int(octets.at(1)), length, width)
            var payload = List(octets[head_len : head_len + length])
            if self._is_masked:
                var mask = UInt32(0)
                for place in range(4):
                    var octet = UInt32(octets.at(2 + width + place))
                    mask |= octet << UInt32(8 * place)
                var unmasked = _masked(Span(payload), mask)
                swap(payload, unmasked)
            self.inbox.consume(head_len + length)
            if self.problem.byte_length() > 0:
                return None
            var opcode = first & 15
            if opcode >= CLOSE:
                return WsMessage(opcode, payload^)
            if opcode != CONTINUATION:
                self._opcode = opcode
            self._message.extend(Span(payload))
            if first & 128 != 0:
                var whole = List[UInt8]()
                swap(whole, self._message)
                opcode = self._opcode
                self._opcode = 0
                return WsMessage(opcode, whole^)
        return None

    def _check(mut self, first: Int, second: Int, length: Int, width: Int):
        """Looks for what a frame must not be (section 5.2)."""
        var opcode = first & 15
        var is_control = opcode >= CLOSE
        if first & 0x70 != 0:
            self.problem = "a reserved bit is set"
        elif (second & 128 != 0) != self._is_masked:
            self.problem = "a mask is where none belongs, or lacks"
        elif (width == 2 and length < 126) or (width == 8 and length < 65_536):
            self.problem = "a length is longer than it must be"
        elif is_control and (first & 128 == 0 or length > 125):
            self.problem = "a control frame is in fragments, or too long"
        elif opcode > PONG or (opcode > BINARY and opcode < CLOSE):
            self.problem = String("there is no opcode ", opcode)
        elif not is_control and (opcode == CONTINUATION) == (self._opcode == 0):
            self.problem = "a fragment is where none belongs, or lacks"
