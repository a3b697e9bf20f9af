"""Compressed messages and their agreement: permessage-deflate (RFC 7692)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.scan import TCHAR
from flare.compress.error import CompressError, CompressErrorKind
from flare.compress.raw_deflate import RawDeflater, RawInflater, WINDOW_BITS_MIN
from flare.ws.core.error import WsRule
from flare.ws.core.frame import Role


comptime PERMESSAGE_DEFLATE = StaticString("permessage-deflate")
"""The name of the extension (RFC 7692 section 7)."""

comptime _WINDOW_BITS_MAX = 15

comptime _SERVER_NO_TAKEOVER = StaticString("server_no_context_takeover")
comptime _CLIENT_NO_TAKEOVER = StaticString("client_no_context_takeover")
comptime _SERVER_BITS = StaticString("server_max_window_bits")
comptime _CLIENT_BITS = StaticString("client_max_window_bits")


struct DeflateAgreement(Equatable, TrivialRegisterPassable, Writable):
    """The parameters of RFC 7692 section 7.1, as a client wishes them or as
    both sides agreed on them. Whoever makes one brings along what compresses,
    so that other programs have nothing of it in their build."""

    var server_no_context_takeover: Bool
    """True if each message of the server stands for itself."""
    var client_no_context_takeover: Bool
    """True if each message of the client stands for itself."""
    var server_window_bits: Int
    """How far back messages of the server refer, as a power of two: 8 to 15."""
    var client_window_bits: Int
    """How far back messages of the client refer, as a power of two: 8 to 15."""
    var names_server_window: Bool
    """True to write `server_window_bits` even if it is 15, which says nothing
    new: whoever is asked for it has to answer with it."""
    var _new_deflater: def(
        Int, Bool
    ) thin raises CompressError -> MessageDeflater
    var _new_inflater: def(
        Int, Bool
    ) thin raises CompressError -> MessageInflater

    def __init__(
        out self,
        server_no_context_takeover: Bool,
        client_no_context_takeover: Bool,
        server_window_bits: Int,
        client_window_bits: Int,
        *,
        names_server_window: Bool = False,
    ):
        """Makes an agreement."""
        self.server_no_context_takeover = server_no_context_takeover
        self.client_no_context_takeover = client_no_context_takeover
        self.server_window_bits = server_window_bits
        self.client_window_bits = client_window_bits
        self.names_server_window = names_server_window
        self._new_deflater = _new_deflater
        self._new_inflater = _new_inflater

    def __eq__(self, other: Self) -> Bool:
        """Tells whether both sides may do the same by it, however it is
        written.

        Args:
            other: An agreement.
        """
        return (
            self.server_no_context_takeover == other.server_no_context_takeover
            and self.client_no_context_takeover
            == other.client_no_context_takeover
            and self.server_window_bits == other.server_window_bits
            and self.client_window_bits == other.client_window_bits
        )

    @staticmethod
    def widest() -> Self:
        """Gives what there is without any parameter: context taken over both
        ways, windows of 32 KiB."""
        return Self(False, False, _WINDOW_BITS_MAX, _WINDOW_BITS_MAX)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the value of a field that states the agreement."""
        writer.write_string(PERMESSAGE_DEFLATE)
        if self.server_no_context_takeover:
            writer.write_string("; ")
            writer.write_string(_SERVER_NO_TAKEOVER)
        if self.client_no_context_takeover:
            writer.write_string("; ")
            writer.write_string(_CLIENT_NO_TAKEOVER)
        if (
            self.names_server_window
            or self.server_window_bits < _WINDOW_BITS_MAX
        ):
            writer.write_string("; ")
            writer.write_string(_SERVER_BITS)
            writer.write_string("=")
            self.server_window_bits.write_to(writer)
        if self.client_window_bits < _WINDOW_BITS_MAX:
            writer.write_string("; ")
            writer.write_string(_CLIENT_BITS)
            writer.write_string("=")
            self.client_window_bits.write_to(writer)

    def offer(self) -> String:
        """Gives the value of a Sec-WebSocket-Extensions field by which a client
        offers it.

        Source: RFC 7692 section 7.1.2.2: without a value, the parameter tells
        that the client can keep to a smaller window if the server asks."""
        var text = String(self)
        if self.client_window_bits == _WINDOW_BITS_MAX:
            text += "; "
            text += _CLIENT_BITS
        return text^

    def accepts(self, other: Self) -> Bool:
        """Tells whether an answer keeps to what was asked for: not if the
        server may do what the client asked it not to do, or passes over a
        parameter that it has to answer (RFC 7692 section 7.1.2.1).

        Args:
            other: What the server has answered.
        """
        if self.names_server_window and not other.names_server_window:
            return False
        if self.server_no_context_takeover:
            if not other.server_no_context_takeover:
                return False
        return other.server_window_bits <= self.server_window_bits


struct _Parameters(TrivialRegisterPassable):
    """The parameters of one extension, each at most once."""

    var agreement: DeflateAgreement
    var has_client_bits: Bool
    var client_bits_have_value: Bool
    var _seen: UInt8

    def __init__(out self, wish: DeflateAgreement):
        # A copy, so that only who wishes for compression has it built.
        self.agreement = wish
        self.agreement.server_no_context_takeover = False
        self.agreement.client_no_context_takeover = False
        self.agreement.server_window_bits = _WINDOW_BITS_MAX
        self.agreement.client_window_bits = _WINDOW_BITS_MAX
        self.agreement.names_server_window = False
        self.has_client_bits = False
        self.client_bits_have_value = False
        self._seen = 0

    def add(mut self, parameter: ExtensionParameter) -> Bool:
        """Takes a parameter; False if it is unknown, twice there or wrong."""
        var bit = _parameter_bit(parameter.name)
        if bit == 0 or (self._seen & bit) != 0:
            return False
        self._seen |= bit
        if bit <= 2:
            if bit == 1:
                self.agreement.server_no_context_takeover = True
            else:
                self.agreement.client_no_context_takeover = True
            return not parameter.has_value
        if bit == 8:
            self.has_client_bits = True
            self.client_bits_have_value = parameter.has_value
            if not parameter.has_value:
                return True
        var bits = _window_bits(parameter.value)
        if bits == 0:
            return False
        if bit == 4:
            self.agreement.server_window_bits = bits
            self.agreement.names_server_window = True
        else:
            self.agreement.client_window_bits = bits
        return True


def _parameter_bit(name: String) -> UInt8:
    if name == _SERVER_NO_TAKEOVER:
        return 1
    if name == _CLIENT_NO_TAKEOVER:
        return 2
    if name == _SERVER_BITS:
        return 4
    return 8 if name == _CLIENT_BITS else 0


def _window_bits(value: String) -> Int:
    """Reads 8 to 15 without leading zeros (RFC 7692 section 7.1.2); else 0."""
    var digits = value.as_bytes()
    if len(digits) == 1 and (digits.at(0) == 56 or digits.at(0) == 57):
        return Int(digits.at(0)) - 48
    if len(digits) == 2 and digits.at(0) == 49:
        if digits.at(1) >= 48 and digits.at(1) <= 53:
            return Int(digits.at(1)) - 38
    return 0


def _read(
    extension: Extension, wish: DeflateAgreement
) -> Optional[_Parameters]:
    var parameters = _Parameters(wish)
    for parameter in extension.parameters:
        if not parameters.add(parameter):
            return None
    return parameters


def choose_deflate(
    offers: List[Extension], wish: DeflateAgreement
) -> Optional[DeflateAgreement]:
    """Chooses among a client's offers, in the order of its preference; nothing
    to go without compression. By its wish the server may ask the client for
    less, and restrict itself.

    Source: RFC 7692 sections 5.1 and 7.1. An offer with a parameter that is
    unknown or wrong is declined; the first good one is taken. A parameter that
    binds the server is accepted by stating it, whatever its value.
    """
    for offer in offers:
        if offer.name != PERMESSAGE_DEFLATE:
            continue
        var read = _read(offer, wish)
        if not read:
            continue
        var asked = read.held()
        var answer = asked.agreement
        answer.server_no_context_takeover |= wish.server_no_context_takeover
        answer.client_no_context_takeover |= wish.client_no_context_takeover
        answer.server_window_bits = min(
            answer.server_window_bits, wish.server_window_bits
        )
        # A client that does not offer the parameter cannot be asked for it.
        if asked.has_client_bits:
            answer.client_window_bits = min(
                answer.client_window_bits, wish.client_window_bits
            )
        return answer
    return None


def read_deflate_answer(
    extensions: List[Extension], offered: Optional[DeflateAgreement]
) -> Tuple[Bool, Optional[DeflateAgreement]]:
    """Reads what a server has agreed to, if anything; False if its answer is
    none that may be given.

    Source: RFC 7692 sections 5.1 and 7.1; RFC 6455 section 4.1: what was not
    offered must not be answered.
    """
    if len(extensions) == 0:
        return (True, Optional[DeflateAgreement]())
    var refusal = (False, Optional[DeflateAgreement]())
    if not offered or len(extensions) > 1:
        return refusal
    if extensions.at(0).name != PERMESSAGE_DEFLATE:
        return refusal
    var read = _read(extensions.at(0), offered.held())
    if not read:
        return refusal
    var answer = read.held()
    if answer.has_client_bits and not answer.client_bits_have_value:
        return refusal
    if not offered.held().accepts(answer.agreement):
        return refusal
    # What the client has announced it keeps to, answered or not.
    answer.agreement.client_window_bits = min(
        answer.agreement.client_window_bits, offered.held().client_window_bits
    )
    answer.agreement.client_no_context_takeover |= (
        offered.held().client_no_context_takeover
    )
    return (True, Optional(answer.agreement))


comptime EXTENSION_COUNT_MAX = 32
"""Most extensions and parameters read from one message.

The RFC sets no limit; there are two extensions, and one of them has four
parameters.
"""

comptime _TAB: UInt8 = 9
comptime _SPACE: UInt8 = 32
comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS: UInt8 = 61
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct ExtensionParameter(Copyable, Movable):

    var name: String
    var value: String
    """Its value without quotes; empty if it has none."""
    var has_value: Bool
    """True if there is a value; it is then a token, and not empty."""


@fieldwise_init
struct Extension(Copyable, Movable):

    var name: String
    var parameters: List[ExtensionParameter]


struct _Cursor[o: ImmOrigin](Movable):
    var octets: Span[UInt8, Self.o]
    var position: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        self.octets = octets
        self.position = 0

    def skip_space(mut self):
        while self.position < len(self.octets):
            var octet = self.octets.at(self.position)
            if octet != _SPACE and octet != _TAB:
                return
            self.position += 1

    def is_at_end(self) -> Bool:
        return self.position >= len(self.octets)

    def take(mut self, octet: UInt8) -> Bool:
        """Takes an octet and the space around it, if it comes next."""
        self.skip_space()
        if self.is_at_end() or self.octets.at(self.position) != octet:
            return False
        self.position += 1
        self.skip_space()
        return True

    def take_token(mut self) -> String:
        """Takes a token; gives an empty text if none comes next."""
        var start = self.position
        while not self.is_at_end() and materialize[TCHAR]().contains(
            self.octets.at(self.position)
        ):
            self.position += 1
        return text_of(self.octets.between(start, self.position))

    def take_quoted(mut self) -> String:
        """Takes the rest of a quoted string; gives an empty text if it is not
        one, or if it does not quote a token (RFC 6455 section 9.1)."""
        var text = List[UInt8]()
        while not self.is_at_end():
            var octet = self.octets.at(self.position)
            self.position += 1
            if octet == _QUOTE:
                return text_of(text)
            if octet == _BACKSLASH and not self.is_at_end():
                octet = self.octets.at(self.position)
                self.position += 1
            if not materialize[TCHAR]().contains(octet):
                return String()
            text.append(octet)
        return String()


def parse_extensions(
    value: Span[UInt8, _], mut extensions: List[Extension]
) -> Bool:
    """Adds what is read from one field value; False if it is malformed, or too
    long a list.

    Source: RFC 6455 section 9.1. Empty elements are passed over (RFC 9110
    section 5.6.1).
    """
    var cursor = _Cursor(value.as_imm())
    while True:
        cursor.skip_space()
        if cursor.is_at_end():
            return True
        if cursor.take(_COMMA):
            continue
        var extension = Extension(cursor.take_token(), [])
        if extension.name.byte_length() == 0:
            return False
        while cursor.take(_SEMICOLON):
            if not _parse_parameter(cursor, extension):
                return False
        extensions.append(extension^)
        if len(extensions) > EXTENSION_COUNT_MAX:
            return False
        if not cursor.take(_COMMA) and not cursor.is_at_end():
            return False


def _parse_parameter(mut cursor: _Cursor, mut extension: Extension) -> Bool:
    var parameter = ExtensionParameter(cursor.take_token(), String(), False)
    if parameter.name.byte_length() == 0:
        return False
    if cursor.take(_EQUALS):
        parameter.has_value = True
        if cursor.take(_QUOTE):
            parameter.value = cursor.take_quoted()
        else:
            parameter.value = cursor.take_token()
        if parameter.value.byte_length() == 0:
            return False
    extension.parameters.append(parameter^)
    return len(extension.parameters) <= EXTENSION_COUNT_MAX


comptime DEFLATE_LEVEL = 6
"""How hard to compress, 1 to 9: zlib's own balance of time and length."""

comptime COMPRESSED_LEN_MIN = 16
"""Shortest message worth compressing, in bytes; what is shorter grows."""

# What a sync flush ends with, and a sender leaves out (RFC 7692 section 7.2.1).
comptime _TAIL_LEN = 4


struct MessageDeflater(Movable):

    var _stream: RawDeflater
    var _restarts: Bool
    var _deflate: def[o: ImmOrigin](
        mut RawDeflater, Span[UInt8, o], mut Buffer
    ) thin raises CompressError -> None

    def __init__(
        out self, agreement: DeflateAgreement, role: Role
    ) raises CompressError:
        """Starts the stream of the side that compresses; `can_deflate` says
        whether the agreement leaves a window that works. Raises if zlib is
        missing."""
        var bits = agreement.server_window_bits
        var restarts = agreement.server_no_context_takeover
        if role == Role.CLIENT:
            bits = agreement.client_window_bits
            restarts = agreement.client_no_context_takeover
        self = agreement._new_deflater(bits, restarts)

    def __init__(
        out self, *, window_bits: Int, restarts: Bool
    ) raises CompressError:
        self._restarts = restarts
        self._deflate = _deflate
        self._stream = RawDeflater(
            max(window_bits, WINDOW_BITS_MIN), DEFLATE_LEVEL
        )

    def deflate(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises CompressError:
        """Compresses a whole message, which is not empty."""
        self._deflate(self._stream, octets.as_imm(), output)
        output.truncate(len(output) - _TAIL_LEN)
        if self._restarts:
            self._stream.restart()


def _new_deflater(
    window_bits: Int, restarts: Bool
) raises CompressError -> MessageDeflater:
    return MessageDeflater(window_bits=window_bits, restarts=restarts)


def _deflate[
    o: ImmOrigin
](
    mut stream: RawDeflater, octets: Span[UInt8, o], mut output: Buffer
) raises CompressError:
    stream.add(octets, output)
    stream.flush(output)


def can_deflate(agreement: DeflateAgreement, role: Role) -> Bool:
    """Tells whether a side can compress under an agreement. zlib has no window
    of 256 bytes; messages may go uncompressed at any time."""
    var bits = agreement.server_window_bits
    if role == Role.CLIENT:
        bits = agreement.client_window_bits
    return bits >= WINDOW_BITS_MIN


struct MessageInflater(Movable):

    var _stream: RawInflater
    var _restarts: Bool
    var _inflate: def[o: ImmOrigin](
        mut RawInflater, Span[UInt8, o], mut Buffer, Int
    ) thin -> Optional[WsRule]

    def __init__(
        out self, agreement: DeflateAgreement, role: Role
    ) raises CompressError:
        """Starts the stream of the other side, for the one that decompresses.
        Raises if zlib is missing."""
        var bits = agreement.client_window_bits
        var restarts = agreement.client_no_context_takeover
        if role == Role.CLIENT:
            bits = agreement.server_window_bits
            restarts = agreement.server_no_context_takeover
        self = agreement._new_inflater(bits, restarts)

    def __init__(
        out self, *, window_bits: Int, restarts: Bool
    ) raises CompressError:
        self._restarts = restarts
        self._inflate = _inflate
        self._stream = RawInflater(window_bits)

    def inflate(
        mut self, octets: Span[UInt8, _], mut output: Buffer, len_max: Int
    ) -> Optional[WsRule]:
        """Decompresses a piece of a message, until the output, which gets it
        also before a failure, is `len_max` long. Returns the rule that the
        message breaks, or nothing."""
        return self._inflate(self._stream, octets.as_imm(), output, len_max)

    def end_message(
        mut self, mut output: Buffer, len_max: Int
    ) -> Optional[WsRule]:
        """Decompresses what a sender leaves out, until the output is `len_max`
        long, and ends the message. Returns the rule that the message breaks, or
        nothing."""
        var tail: Array[UInt8, _TAIL_LEN] = [0, 0, 255, 255]
        var broken = self.inflate(Span(tail), output, len_max)
        if not broken and not self._stream.is_between_blocks():
            broken = materialize[WsRule.DEFLATE]()
        if self._restarts:
            self._stream.restart()
        return broken


def _new_inflater(
    window_bits: Int, restarts: Bool
) raises CompressError -> MessageInflater:
    return MessageInflater(window_bits=window_bits, restarts=restarts)


def _inflate[
    o: ImmOrigin
](
    mut stream: RawInflater,
    octets: Span[UInt8, o],
    mut output: Buffer,
    len_max: Int,
) -> Optional[WsRule]:
    try:
        stream.receive(octets, output, len_max)
        return None
    except error:
        if error.kind == CompressErrorKind.OUTPUT_LIMIT:
            return materialize[WsRule.MESSAGE_LEN]()
        if error.kind == CompressErrorKind.NO_MEMORY:
            return materialize[WsRule.NO_MEMORY]()
        return materialize[WsRule.DEFLATE]()
