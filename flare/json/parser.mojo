"""The parser of JSON texts (RFC 8259), its numbers, and the document it makes."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.scan import BytePtr, load32, word32
from flare.bytes.utf8 import decode_utf8, is_valid_utf8
from flare.json.error import JsonError, JsonErrorKind, JsonKind, JsonLimits
from flare.json.string import scan_plain, unescape
from std.builtin.globals import global_constant
from std.memory import bitcast
from std.sys.intrinsics import likely

comptime _QUOTE = UInt8(34)
comptime _COMMA = UInt8(44)
comptime _COLON = UInt8(58)
comptime _OPEN_ARRAY = UInt8(91)
comptime _CLOSE_ARRAY = UInt8(93)
comptime _OPEN_OBJECT = UInt8(123)
comptime _CLOSE_OBJECT = UInt8(125)
comptime _NO_FRAME = -1
comptime _WIDE = 1
# In place of a count.
comptime _EXPECTED_VALUE = StaticString("a JSON value (RFC 8259 section 3)")


@always_inline
def _skip_space(base: BytePtr, start: Int) -> Int:
    """Finds the first octet that is no white space (RFC 8259 section 2)."""
    # SAFETY: the 0 octet after the text stops the loop.
    var at = start
    while True:
        var octet = base[unsafe_offset=at]
        if likely(octet > 32):
            return at
        if octet != 32 and octet != 10 and octet != 13 and octet != 9:
            return at
        at += 1


struct JsonParser[origin: ImmOrigin](Movable):
    """Turns one text into nodes.

    Values wait on a stack until the array or object that holds them is closed;
    then they move to the document side by side. An open array or object is
    itself a node on the stack, which remembers the one around it.

    Parameters:
        origin: Where the text lives.
    """

    var _text: Span[UInt8, Self.origin]
    var _depth_max: Int
    var _octets: Buffer
    var _nodes: List[JsonNode]
    var _stack: List[JsonNode]
    var _frame: Int
    var _depth: Int
    var _closer: UInt8

    def __init__(
        out self, text: Span[UInt8, Self.origin], limits: JsonLimits
    ) raises JsonError:
        """Prepares for one text. Raises if it is longer than the limit or not
        UTF-8."""
        if len(text) > limits.length_max:
            raise JsonError.in_text(
                JsonErrorKind.TOO_LONG,
                text,
                limits.length_max,
                "no more octets than JsonLimits.length_max",
            )
        if not is_valid_utf8(text):
            raise JsonError.in_text(
                JsonErrorKind.NOT_UTF8,
                text,
                _first_invalid(text),
                "UTF-8 (RFC 8259 section 8.1)",
            )
        self._text = text
        self._depth_max = limits.depth_max
        self._octets = Buffer(len(text))
        self._octets.append(text)
        _ = self._octets.terminate()
        self._nodes = List[JsonNode](capacity=len(text) // 8 + 8)
        self._stack = List[JsonNode](capacity=32)
        self._frame = _NO_FRAME
        self._depth = 0
        self._closer = 0

    def parse(deinit self) raises JsonError -> JsonDocument:
        self._parse_values()
        self._nodes.append(self._stack.at(0))
        return JsonDocument(self._octets^, self._nodes^)

    def _parse_values(mut self) raises JsonError:
        # SAFETY: `at` never passes the 0 octet after the text, because no
        # branch steps over an octet that it did not recognise.
        var base = self._octets.unsafe_base()
        var at = 0
        while True:
            at = _skip_space(base, at)
            var octet = base[unsafe_offset=at]
            if octet == _QUOTE:
                at = self._parse_string(base, at + 1)
            elif octet == _OPEN_OBJECT:
                self._open(JsonKind.OBJECT, at)
                at = _skip_space(base, at + 1)
                if base[unsafe_offset=at] != _CLOSE_OBJECT:
                    at = self._parse_name(base, at)
                    continue
            elif octet == _OPEN_ARRAY:
                self._open(JsonKind.ARRAY, at)
                at = _skip_space(base, at + 1)
                if base[unsafe_offset=at] != _CLOSE_ARRAY:
                    continue
            else:
                at = self._parse_scalar(base, at, octet)
            at = self._finish_value(base, at)
            if self._frame == _NO_FRAME:
                return

    @always_inline
    def _finish_value(
        mut self, base: BytePtr, start: Int
    ) raises JsonError -> Int:
        """Reads what follows a value, up to where the next one is due."""
        # SAFETY: as in `_parse_values`.
        var at = start
        while True:
            at = _skip_space(base, at)
            var octet = base[unsafe_offset=at]
            if self._frame == _NO_FRAME:
                if at != len(self._text):
                    raise self._unexpected(at, "the end of the text")
                return at
            if octet == _COMMA:
                if self._closer == _CLOSE_ARRAY:
                    return at + 1
                return self._parse_name(base, _skip_space(base, at + 1))
            if octet != self._closer:
                if self._closer == _CLOSE_ARRAY:
                    raise self._unexpected(at, "',' or ']'")
                raise self._unexpected(at, "',' or '}'")
            self._close()
            at += 1

    def _open(mut self, kind: JsonKind, at: Int) raises JsonError:
        if self._depth >= self._depth_max:
            raise JsonError.in_text(
                JsonErrorKind.TOO_DEEP,
                self._text,
                at,
                "no deeper nesting than JsonLimits.depth_max",
            )
        self._depth += 1
        # The frame outside is kept with 1 added, so that "none" is 0.
        self._stack.append(JsonNode(kind, 0, UInt64(self._frame + 1)))
        self._frame = len(self._stack) - 1
        self._closer = _closer_of(kind)

    def _close(mut self):
        # SAFETY: `_open` put the node of the frame on the stack.
        var opened = self._stack.unsafe_at(self._frame)
        var count = len(self._stack) - self._frame - 1
        var start = len(self._nodes)
        self._nodes.extend(Span(self._stack).after(self._frame + 1))
        self._stack.shrink(self._frame + 1)
        if opened.kind() == JsonKind.OBJECT:
            count //= 2
        self._stack.unsafe_at(self._frame) = JsonNode(
            opened.kind(), count, UInt64(start)
        )
        self._depth -= 1
        self._frame = Int(opened.payload) - 1
        if self._frame != _NO_FRAME:
            self._closer = _closer_of(self._stack.unsafe_at(self._frame).kind())

    @always_inline
    def _parse_name(
        mut self, base: BytePtr, start: Int
    ) raises JsonError -> Int:
        """Reads a member's name and the colon (RFC 8259 section 4)."""
        # SAFETY: as in `_parse_values`.
        if base[unsafe_offset=start] != _QUOTE:
            raise self._unexpected(start, "a member's name in quotes")
        var at = self._parse_string(base, start + 1)
        at = _skip_space(base, at)
        if base[unsafe_offset=at] != _COLON:
            raise self._unexpected(at, "':' after a member's name")
        return at + 1

    @always_inline
    def _parse_string(
        mut self, base: BytePtr, start: Int
    ) raises JsonError -> Int:
        """Reads a string from after its opening quotation mark."""
        # SAFETY: as in `_parse_values`; the buffer has SCAN_SLACK bytes more.
        var stop = scan_plain(base, start)
        if likely(base[unsafe_offset=stop] == _QUOTE):
            self._stack.append(
                JsonNode(JsonKind.STRING, stop - start, UInt64(start))
            )
            return stop + 1
        var scan = unescape(base, start, stop)
        if scan.length < 0:
            raise self._string_error(scan.end, scan.failure)
        self._stack.append(
            JsonNode(JsonKind.STRING, scan.length, UInt64(start))
        )
        return scan.end

    # SAFETY: `base` is that of the text under way, which ends with a 0.
    def _parse_scalar(
        mut self, base: BytePtr, at: Int, octet: UInt8
    ) raises JsonError -> Int:
        """Reads a number or a literal."""
        if octet - 48 < 10 or octet == 0x2D:
            var scan = scan_number(base, at)
            if scan.kind == JsonKind.NULL:
                raise self._unexpected(scan.end, "a digit (RFC 8259 section 6)")
            if scan.is_out_of_range:
                raise JsonError.in_text(
                    JsonErrorKind.NUMBER_RANGE,
                    self._text,
                    at,
                    "a number within the range of a 64-bit float",
                )
            if scan.wide != 0:
                self._stack.append(JsonNode(scan.kind, _WIDE, scan.wide))
            else:
                self._stack.append(JsonNode(scan.kind, 0, scan.bits))
            return scan.end
        var word = load32(base, at)
        if word == word32("true"):
            self._stack.append(JsonNode(JsonKind.BOOL, 0, 1))
            return at + 4
        if word == word32("null"):
            self._stack.append(JsonNode(JsonKind.NULL, 0, 0))
            return at + 4
        if octet == 0x66 and load32(base, at + 1) == word32("alse"):
            self._stack.append(JsonNode(JsonKind.BOOL, 0, 0))
            return at + 5
        raise self._unexpected(at, _EXPECTED_VALUE)

    @no_inline
    def _unexpected(self, offset: Int, expected: StaticString) -> JsonError:
        var kind = JsonErrorKind.UNEXPECTED
        if offset >= len(self._text):
            kind = JsonErrorKind.TRUNCATED
        return JsonError.in_text(kind, self._text, offset, expected)

    @no_inline
    def _string_error(self, offset: Int, failure: JsonErrorKind) -> JsonError:
        if offset >= len(self._text):
            return self._unexpected(offset, "the string's end")
        var expected = StaticString("an escape of RFC 8259 section 7")
        if failure == JsonErrorKind.CONTROL:
            expected = "control characters to be escaped (RFC 8259 section 7)"
        elif failure == JsonErrorKind.SURROGATE:
            expected = "both halves of a surrogate pair (RFC 8259 section 7)"
        return JsonError.in_text(failure, self._text, offset, expected)


@always_inline
def _closer_of(kind: JsonKind) -> UInt8:
    return _CLOSE_OBJECT if kind == JsonKind.OBJECT else _CLOSE_ARRAY


@no_inline
def _first_invalid(text: Span[UInt8, _]) -> Int:
    """Finds where a text stops being UTF-8."""
    var offset = 0
    while offset < len(text):
        var code_point = decode_utf8(text, offset)
        if code_point.value < 0:
            return offset
        offset += code_point.octet_count
    return offset


struct JsonNode(TrivialRegisterPassable):
    """One value, or one name of an object's member, in 16 bytes."""

    var header: UInt64
    """The kind in the low 8 bits, the count above."""
    var payload: UInt64
    """By kind: the boolean, the number's bits, a string's offset in the
    buffer, the index of an array's or object's first child. Of a number that
    `is_wide`, the integer itself."""

    @always_inline
    def __init__(out self, kind: JsonKind, count: Int, payload: UInt64):
        """Makes a node; the count is a string's length in bytes, an array's
        elements, an object's members, 1 for a number that `is_wide`; else 0.
        """
        self.header = UInt64(count) << 8 | UInt64(kind.code)
        self.payload = payload

    @always_inline
    def kind(self) -> JsonKind:
        return JsonKind(UInt8(self.header & 0xFF))

    @always_inline
    def count(self) -> Int:
        """Reads a string's length in bytes, an array's elements, an object's
        members; else 0."""
        return Int(self.header >> 8)

    @always_inline
    def is_wide(self) -> Bool:
        """Tells whether this is an integer that fits 64 bits without a sign
        alone. Its kind is FLOAT, as that of all beyond `Int`."""
        return self.kind() == JsonKind.FLOAT and self.count() == _WIDE


@fieldwise_init
struct JsonDocument(Movable):

    var octets: Buffer
    """The text, with its strings unescaped in place."""
    var nodes: List[JsonNode]
    """All values, children before their parents; the last is the root. Never
    empty."""

    @always_inline
    def root(self) -> Int:
        """Finds the index in `nodes` of the outermost value."""
        return len(self.nodes) - 1

    def path(self, index: Int) -> String:
        """Tells how to reach a value from the root, such as `$["a"][0]`."""
        var steps = String()
        var target = index
        # A parent lies after its children, so one pass finds all ancestors.
        for parent in range(index + 1, len(self.nodes)):
            var node = self.nodes.at(parent)
            var offset = target - Int(node.payload)
            var count = node.count()
            var is_object = node.kind() == JsonKind.OBJECT
            if not is_object and node.kind() != JsonKind.ARRAY:
                continue
            if offset < 0 or offset >= (2 * count if is_object else count):
                continue
            if is_object:
                steps = String('["', self._name(target - 1), '"]', steps)
            else:
                steps = String("[", offset, "]", steps)
            target = parent
        return "$" + steps

    def _name(self, index: Int) -> String:
        # Control characters and quotes would make the message ambiguous.
        comptime NAME_LEN_MAX = 64
        comptime QUOTE = 34
        var node = self.nodes.at(index)
        var start = Int(node.payload)
        var octets = self.octets.span().between(start, start + node.count())
        var name = String()
        # SAFETY: the text is UTF-8, or it would have no document.
        for letter in StringSpan(unsafe_from_utf8=octets).codepoints():
            if name.byte_length() >= NAME_LEN_MAX:
                break
            var code = letter.to_u32()
            var is_plain = code >= 32 and code != 127 and code != QUOTE
            name += String(letter) if is_plain else String("?")
        return name^


comptime EXACT_MANTISSA_MAX = UInt64(1) << 53
"""Largest integer up to which every integer is a 64-bit float."""

comptime EXACT_POWER_MAX = 22
"""Largest power of ten that is a 64-bit float without rounding."""

comptime _EXPONENT_MAX = 99_999
comptime _DIGIT_COUNT_MAX = 19
comptime _TWENTY_DIGITS_MIN = UInt64(10_000_000_000_000_000_000)
comptime _INT_MAX = UInt64(0x7FFFFFFFFFFFFFFF)


def _powers_of_ten() -> Array[Float64, EXACT_POWER_MAX + 1]:
    var powers = Array[Float64, EXACT_POWER_MAX + 1](fill=1.0)
    for index in range(1, EXACT_POWER_MAX + 1):
        powers[index] = powers[index - 1] * 10.0
    return powers^


comptime _POWERS = _powers_of_ten()


@fieldwise_init
struct NumberScan(TrivialRegisterPassable):
    """A number read from a text, or where it breaks a rule."""

    var end: Int
    """Offset after the number, or of the octet that breaks the grammar."""
    var kind: JsonKind
    """INT or FLOAT; NULL if there is no number."""
    var bits: UInt64
    """The value's bits, of a signed 64-bit integer or a float."""
    var is_out_of_range: Bool
    """True if the grammar is kept and the value is beyond the range."""
    var wide: UInt64
    """Of a FLOAT that is written as an integer and fits 64 bits without a sign,
    the integer; else 0."""

    @staticmethod
    @always_inline
    def broken(offset: Int) -> Self:
        """Reports an octet where a digit should be."""
        return Self(offset, JsonKind.NULL, 0, False, 0)


@always_inline
def scan_number(base: BytePtr, start: Int) -> NumberScan:
    """Reads the number at the start of a text, a digit or a minus sign; octets
    after it are left unread, and one that belongs to no number must follow.

    Source: RFC 8259 section 6.
    """
    # SAFETY: every loop stops at an octet that is no digit, which the caller
    # promises.
    var is_negative = base[unsafe_offset=start] == 0x2D
    var first = start + Int(is_negative)
    var digit = base[unsafe_offset=first] - 48
    if digit > 9:
        return NumberScan.broken(first)
    var mantissa = UInt64(digit)
    var at = first + 1
    if digit != 0:
        while True:
            digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            mantissa = mantissa * 10 + UInt64(digit)
            at += 1
    var octet = base[unsafe_offset=at]
    if octet == 0x2E or octet | 0x20 == 0x65:
        return _scan_float(base, start, at, mantissa)
    var digit_count = at - first
    if digit_count > _DIGIT_COUNT_MAX or mantissa > _INT_MAX:
        if not (
            is_negative
            and digit_count == _DIGIT_COUNT_MAX
            and mantissa == _INT_MAX + 1
        ):
            var scan = _convert(base, start, at)
            if not is_negative and _is_whole(
                base, first, digit_count, mantissa
            ):
                scan.wide = mantissa
            return scan
    if is_negative:
        mantissa = ~mantissa + 1
    return NumberScan(at, JsonKind.INT, mantissa, False, 0)


# SAFETY: the digits of a number that was read.
def _is_whole(base: BytePtr, first: Int, digit_count: Int, sum: UInt64) -> Bool:
    """Tells whether the sum of digits that are more than `Int` holds has not
    run over: beyond 64 bits twenty of them, with a 1 in front, come out as
    less than twenty."""
    if digit_count <= _DIGIT_COUNT_MAX:
        return True
    return (
        digit_count == _DIGIT_COUNT_MAX + 1
        and base[unsafe_offset=first] == 0x31
        and sum >= _TWENTY_DIGITS_MIN
    )


@no_inline
def _scan_float(
    base: BytePtr, start: Int, point: Int, whole: UInt64
) -> NumberScan:
    """Reads on from the octet after the integer part, a point or an `e`."""
    # SAFETY: as in `scan_number`.
    var is_negative = base[unsafe_offset=start] == 0x2D
    var mantissa = whole
    var digit_count = point - start - Int(is_negative)
    var at = point
    var exponent = 0
    if base[unsafe_offset=at] == 0x2E:
        at += 1
        var fraction = at
        while True:
            var digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            mantissa = mantissa * 10 + UInt64(digit)
            at += 1
        if at == fraction:
            return NumberScan.broken(at)
        exponent = fraction - at
        digit_count += at - fraction
    if base[unsafe_offset=at] | 0x20 == 0x65:
        at += 1
        var sign = base[unsafe_offset=at]
        at += Int(sign == 0x2B or sign == 0x2D)
        var digits = at
        var power = 0
        while True:
            var digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            power = min(power * 10 + Int(digit), _EXPONENT_MAX)
            at += 1
        if at == digits:
            return NumberScan.broken(at)
        exponent += -power if sign == 0x2D else power
    if digit_count > _DIGIT_COUNT_MAX or mantissa > EXACT_MANTISSA_MAX:
        return _convert(base, start, at)
    if exponent < -EXACT_POWER_MAX or exponent > EXACT_POWER_MAX:
        return _convert(base, start, at)
    # Both operands are exact, so the result is rounded once, as it must be.
    var value = Float64(mantissa)
    if exponent < 0:
        value /= global_constant[_POWERS]().at(-exponent)
    else:
        value *= global_constant[_POWERS]().at(exponent)
    if is_negative:
        value = -value
    return NumberScan(
        at, JsonKind.FLOAT, bitcast[DType.uint64](value), False, 0
    )


@no_inline
def _convert(base: BytePtr, start: Int, end: Int) -> NumberScan:
    """Converts a number whose grammar is known to be right."""
    # SAFETY: the octets from `start` to `end` were read before.
    var digits = Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=base.unsafe_offset(start), length=end - start
    )
    var value: Float64
    try:
        value = atof(StringSpan(unsafe_from_utf8=digits))
    except:
        return NumberScan(end, JsonKind.FLOAT, 0, True, 0)
    var bits = bitcast[DType.uint64](value)
    var is_infinite = bits & _INT_MAX == 0x7FF0000000000000
    return NumberScan(end, JsonKind.FLOAT, bits, is_infinite, 0)
