"""The parser of RFC 8259 texts: one pass, no recursion, no look-ahead."""

from flare.bytes.buffer import Buffer
from flare.bytes.scan import BytePtr
from flare.bytes.utf8 import decode_utf8, is_valid_utf8
from flare.bytes.word import load32, word32
from flare.json.document import JsonDocument, JsonNode
from flare.json.error import JsonError, JsonErrorKind
from flare.json.kind import JsonKind
from flare.json.limits import JsonLimits
from flare.json.number import scan_number
from flare.json.string import scan_plain, unescape
from std.sys.intrinsics import likely

comptime _QUOTE = UInt8(34)
comptime _COMMA = UInt8(44)
comptime _COLON = UInt8(58)
comptime _OPEN_ARRAY = UInt8(91)
comptime _CLOSE_ARRAY = UInt8(93)
comptime _OPEN_OBJECT = UInt8(123)
comptime _CLOSE_OBJECT = UInt8(125)
comptime _NO_FRAME = -1
comptime _EXPECTED_VALUE = StaticString("a JSON value (RFC 8259 section 3)")


@always_inline
def _skip_space(base: BytePtr, start: Int) -> Int:
    """Finds the first octet that is no white space (RFC 8259 section 2)."""
    # SAFETY: the 0 octet behind the text stops the loop.
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
        """Prepares for one text.

        Args:
            text: The text.
            limits: What it may ask for.

        Raises:
            JsonError: If the text is longer than the limit or not UTF-8.
        """
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
        self._octets.seal()
        self._nodes = List[JsonNode](capacity=len(text) // 8 + 8)
        self._stack = List[JsonNode](capacity=32)
        self._frame = _NO_FRAME
        self._depth = 0
        self._closer = 0

    def parse(deinit self) raises JsonError -> JsonDocument:
        """Parses the text.

        Returns:
            The document.

        Raises:
            JsonError: At the first octet that breaks the grammar.
        """
        self._parse_values()
        self._nodes.append(self._stack[0])
        return JsonDocument(self._octets^, self._nodes^)

    def _parse_values(mut self) raises JsonError:
        # SAFETY: `at` never passes the 0 octet behind the text, because no
        # branch steps over an octet that it did not recognise.
        var base = self._octets.base()
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
        var opened = self._stack.unsafe_get(self._frame)
        var count = len(self._stack) - self._frame - 1
        var start = len(self._nodes)
        self._nodes.extend(Span(self._stack)[self._frame + 1 :])
        self._stack.shrink(self._frame + 1)
        if opened.kind() == JsonKind.OBJECT:
            count //= 2
        self._stack.unsafe_get(self._frame) = JsonNode(
            opened.kind(), count, UInt64(start)
        )
        self._depth -= 1
        self._frame = Int(opened.payload) - 1
        if self._frame != _NO_FRAME:
            self._closer = _closer_of(
                self._stack.unsafe_get(self._frame).kind()
            )

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
        """Reads a string from behind its opening quotation mark."""
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
