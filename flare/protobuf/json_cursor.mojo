"""A JSON text read from its start to its end, with no document in between.

The rules are those of RFC 8259, as `flare/json` keeps them: its scans for
strings and numbers are used here, too. Numbers keep their digits, because a
64-bit integer has more of them than a float.
"""

# SAFETY: the text is in the cursor's own buffer, after which a 0 stands, and
# no octet is stepped over that was not recognised.

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.json.error import JsonError, JsonErrorKind, JsonKind
from flare.json.parser import NumberScan, scan_number
from flare.json.string import scan_plain, unescape
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)

comptime QUOTE = UInt8(34)
comptime OPEN_ARRAY = UInt8(91)
comptime CLOSE_ARRAY = UInt8(93)
comptime OPEN_OBJECT = UInt8(123)
comptime CLOSE_OBJECT = UInt8(125)


struct JsonCursor(Movable):
    """Goes through a text from value to value."""

    var _text: Buffer
    var at: Int
    """Where the next octet is."""
    var depth_left: Int

    def __init__(
        out self, text: Span[UInt8, _], limits: ProtobufLimits
    ) raises ProtobufError:
        """Takes a copy of a text. Raises if it is too long or not UTF-8."""
        if len(text) > limits.length_max:
            raise ProtobufError(
                ProtobufErrorKind.TOO_LONG,
                limits.length_max,
                "no more octets than ProtobufLimits.length_max",
                String(len(text)),
            )
        if not is_valid_utf8(text):
            raise ProtobufError(
                ProtobufErrorKind.NOT_UTF8, 0, "a text in UTF-8"
            )
        self._text = Buffer(len(text))
        self._text.append(text)
        _ = self._text.terminate()
        self.at = 0
        self.depth_left = limits.depth_max

    def peek(mut self) -> UInt8:
        """Looks at the first octet of what is next; 0 at the end."""
        var base = self._text.unsafe_base()
        while True:
            var octet = base[unsafe_offset=self.at]
            if octet != 32 and octet != 10 and octet != 13 and octet != 9:
                return octet
            self.at += 1

    @no_inline
    def unexpected(self, expected: StaticString) -> ProtobufError:
        """Makes the error of an octet that should not be there."""
        var kind = JsonErrorKind.UNEXPECTED
        if self.at >= len(self._text):
            kind = JsonErrorKind.TRUNCATED
        return JsonError.in_text(kind, self._text.span(), self.at, expected)

    def finish(mut self) raises ProtobufError:
        """Looks that nothing but white space is left."""
        _ = self.peek()
        if self.at != len(self._text):
            raise self.unexpected("the end of the text")

    def begins(mut self, opener: UInt8) raises ProtobufError -> Bool:
        """Reads the beginning of an array or an object; tells whether it has
        anything in it, which is there to be read then."""
        if self.peek() != opener:
            if opener == OPEN_OBJECT:
                raise self.unexpected("an object")
            raise self.unexpected("an array")
        if self.depth_left == 0:
            raise ProtobufError(
                ProtobufErrorKind.TOO_DEEP,
                self.at,
                "no deeper values than ProtobufLimits.depth_max",
            )
        self.depth_left -= 1
        self.at += 1
        # In ASCII, each bracket ends two places behind the one that begins.
        return not self._is_closed(opener + 2)

    def _is_closed(mut self, closer: UInt8) -> Bool:
        """Reads the end of an array or object that may have nothing in it."""
        if self.peek() != closer:
            return False
        self.at += 1
        self.depth_left += 1
        return True

    def goes_on(mut self, closer: UInt8) raises ProtobufError -> Bool:
        """Reads what follows an element or a member: a comma, or the end."""
        if self.peek() == 44:
            self.at += 1
            return True
        if not self._is_closed(closer):
            raise self.unexpected("',' or the end of what is open")
        return False

    def name(mut self) raises ProtobufError -> String:
        """Reads a member's name and the colon."""
        if self.peek() != QUOTE:
            raise self.unexpected("a member's name in quotes")
        var name = self.string()
        if self.peek() != 58:
            raise self.unexpected("':' behind a member's name")
        self.at += 1
        return name^

    def string(mut self) raises ProtobufError -> String:
        if self.peek() != QUOTE:
            raise self.unexpected("a string")
        var start = self.at + 1
        var stop = scan_plain(self._text.unsafe_base(), start)
        if self._text.unsafe_base()[unsafe_offset=stop] == QUOTE:
            self.at = stop + 1
            return String(
                StringSpan(
                    unsafe_from_utf8=unsafe_lend[ImmUntrackedOrigin](
                        self._text.unsafe_base().unsafe_offset(start),
                        stop - start,
                    )
                )
            )
        return self._escaped(start, stop)

    @no_inline
    def _escaped(
        mut self, start: Int, stop: Int
    ) raises ProtobufError -> String:
        """Reads a string with escapes in a copy, since the text may be read
        again.
        """
        var end = stop
        while end < len(self._text):
            var octet = self._text.unsafe_base()[unsafe_offset=end]
            if octet == QUOTE:
                break
            end += 2 if octet == 92 else 1
        end = min(end + 1, len(self._text))
        var copy = Buffer(end - start + 1)
        copy.append(
            unsafe_lend[ImmUntrackedOrigin](
                self._text.unsafe_base().unsafe_offset(start), end - start
            )
        )
        _ = copy.terminate()
        var base = copy.unsafe_base()
        var scan = unescape(base, 0, scan_plain(base, 0))
        if scan.length < 0:
            self.at = min(start + scan.end, len(self._text))
            raise self.unexpected("a string of RFC 8259 section 7")
        self.at = start + scan.end
        return String(
            StringSpan(unsafe_from_utf8=copy.span().before(scan.length))
        )

    def number(mut self) raises ProtobufError -> NumberScan:
        """Reads a number; its text is what was stepped over."""
        var octet = self.peek()
        if octet != 0x2D and octet - 48 > 9:
            raise self.unexpected("a number")
        var scan = scan_number(self._text.unsafe_base(), self.at)
        if scan.kind == JsonKind.NULL:
            self.at = scan.end
            raise self.unexpected("a digit (RFC 8259 section 6)")
        self.at = scan.end
        return scan

    def text_from(self, start: Int) -> String:
        """Copies what was stepped over since a place."""
        return String(
            StringSpan(
                unsafe_from_utf8=self._text.span().between(start, self.at)
            )
        )

    def literal(mut self, word: StaticString) raises ProtobufError:
        """Reads `true`, `false` or `null`."""
        var octets = word.as_bytes()
        _ = self.peek()
        for index in range(len(octets)):
            if self._text.unsafe_base()[unsafe_offset=self.at] != octets.at(
                index
            ):
                raise self.unexpected("a JSON value (RFC 8259 section 3)")
            self.at += 1

    def bool(mut self) raises ProtobufError -> Bool:
        var octet = self.peek()
        if octet == 0x74:
            self.literal("true")
        elif octet == 0x66:
            self.literal("false")
        else:
            raise self.unexpected("true or false")
        return octet == 0x74

    @no_inline
    def skip(mut self) raises ProtobufError:
        """Goes over any value."""
        var octet = self.peek()
        if octet == QUOTE:
            _ = self.string()
        elif octet == 0x6E:
            self.literal("null")
        elif octet == 0x74 or octet == 0x66:
            _ = self.bool()
        elif octet == OPEN_ARRAY:
            var more = self.begins(OPEN_ARRAY)
            while more:
                self.skip()
                more = self.goes_on(CLOSE_ARRAY)
        elif octet == OPEN_OBJECT:
            var more = self.begins(OPEN_OBJECT)
            while more:
                _ = self.name()
                self.skip()
                more = self.goes_on(CLOSE_OBJECT)
        else:
            _ = self.number()
