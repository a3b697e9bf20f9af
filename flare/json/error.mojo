"""Kinds of JSON values, limits of the parser, and what may be wrong with a text."""

from flare.bytes.ascii import write_hex_octet
from flare.bytes.checked import *


@fieldwise_init
struct JsonErrorKind(Equatable, TrivialRegisterPassable):
    """What went wrong."""

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime UNEXPECTED = JsonErrorKind(0)
    """An octet that the grammar does not allow there."""
    comptime TRUNCATED = JsonErrorKind(1)
    """The text ends within a value."""
    comptime CONTROL = JsonErrorKind(2)
    """A control character stands unescaped in a string."""
    comptime ESCAPE = JsonErrorKind(3)
    """An escape that RFC 8259 section 7 does not list."""
    comptime SURROGATE = JsonErrorKind(4)
    """Half of a UTF-16 surrogate pair stands alone."""
    comptime NOT_UTF8 = JsonErrorKind(5)
    """The text is not UTF-8 (RFC 8259 section 8.1)."""
    comptime NUMBER_RANGE = JsonErrorKind(6)
    """A number beyond the range of a 64-bit float."""
    comptime TOO_DEEP = JsonErrorKind(7)
    """More arrays and objects inside each other than the limit."""
    comptime TOO_LONG = JsonErrorKind(8)
    """More octets than the limit."""
    comptime NO_MEMBER = JsonErrorKind(9)
    """An object has no member of that name."""
    comptime NO_ELEMENT = JsonErrorKind(10)
    """An array has no element of that index."""
    comptime WRONG_KIND = JsonErrorKind(11)
    """A value is of another kind than asked for."""
    comptime NOT_FINITE = JsonErrorKind(12)
    """JSON has no text for an infinity or a NaN (RFC 8259 section 6)."""
    comptime MISUSED_WRITER = JsonErrorKind(13)
    """Calls of a writer that make no JSON text."""
    comptime COLLIDING_NAMES = JsonErrorKind(14)
    """Names of an object that were made to have one hash."""


@fieldwise_init
struct JsonError(Copyable, Movable, Writable):
    """Says where in a JSON text, or at which value, something is wrong."""

    var kind: JsonErrorKind
    """What went wrong."""
    var offset: Int
    """Where in the text, in bytes from 0; -1 if the error is not in a text."""
    var line: Int
    """The line of that place, from 1; 0 if the error is not in a text."""
    var column: Int
    """The character of that line, from 1; 0 if the error is not in a text."""
    var path: String
    """Which value, such as `$["a"][0]`; empty if the error is in a text."""
    var expected: String
    """What would have been right."""
    var found: String
    """What there is instead."""

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    @no_inline
    def in_text(
        kind: JsonErrorKind,
        text: Span[UInt8, _],
        offset: Int,
        expected: StaticString,
    ) -> Self:
        """Gives the error at a place in a text, with line, column and what was
        found.

        Args:
            kind: What went wrong.
            text: The whole text.
            offset: The place, at most `len(text)`.
            expected: What would have been right.
        """
        var line = 1
        var column = 1
        for index in range(min(offset, len(text))):
            if text.at(index) == 10:
                line += 1
                column = 1
            elif text.at(index) & 0xC0 != 0x80:
                column += 1
        var found = String("the end of the text")
        if offset < len(text):
            found = _octet_name(text.at(offset))
        return Self(kind, offset, line, column, "", String(expected), found^)

    @staticmethod
    @no_inline
    def at_value(
        kind: JsonErrorKind,
        var path: String,
        var expected: String,
        var found: String,
    ) -> Self:
        """Gives the error of a value.

        Args:
            path: Which value.
            found: What there is instead.
        """
        return Self(kind, -1, 0, 0, path^, expected^, found^)

    @staticmethod
    @no_inline
    def in_writer(kind: JsonErrorKind, expected: StaticString) -> Self:
        """Gives the error of a call of a writer."""
        return Self(kind, -1, 0, 0, "", String(expected), "")

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write_string(self._message())

    def _message(self) -> String:
        var text = String()
        if self.offset >= 0:
            text.write("JSON text, line ", self.line, ", column ")
            text.write(self.column, " (byte ", self.offset, "): found ")
            text.write(self.found, ", expected ", self.expected)
        elif self.path.byte_length() > 0:
            text.write("JSON value ", self.path, ": found ", self.found)
            text.write(", expected ", self.expected)
        else:
            text.write("JSON writer: expected ", self.expected)
        return text^


def _octet_name(octet: UInt8) -> String:
    if octet > 32 and octet < 127:
        return String("'", chr(Int(octet)), "'")
    var name = String("octet 0x")
    write_hex_octet(octet, name)
    return name^


@fieldwise_init
struct JsonKind(Equatable, TrivialRegisterPassable, Writable):
    """Which of the values of RFC 8259 section 3 a value is.

    The RFC's number is two kinds here: what fits 64 bits stays exact.
    """

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime NULL = JsonKind(0)
    """The literal `null`."""
    comptime BOOL = JsonKind(1)
    """The literals `true` and `false`."""
    comptime INT = JsonKind(2)
    """A number without fraction and exponent that fits a signed 64 bits."""
    comptime FLOAT = JsonKind(3)
    """Any other number, as the nearest 64-bit float."""
    comptime STRING = JsonKind(4)
    """A string."""
    comptime ARRAY = JsonKind(5)
    """An array."""
    comptime OBJECT = JsonKind(6)
    """An object."""

    def name(self) -> StaticString:
        """Names the kind with its article, such as "an array", for messages."""
        if self == Self.NULL:
            return "null"
        if self == Self.BOOL:
            return "a boolean"
        if self == Self.INT:
            return "an integer"
        if self == Self.FLOAT:
            return "a float"
        if self == Self.STRING:
            return "a string"
        if self == Self.ARRAY:
            return "an array"
        return "an object"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name())


@fieldwise_init
struct JsonLimits(Copyable, Movable):
    """What a text may ask of the parser."""

    var depth_max: Int
    """Most arrays and objects inside each other.

    The parser does not recurse, so this guards the code that walks the value.
    """
    var length_max: Int
    """Most octets of text.

    A value takes at most 9 bytes of memory for each octet of its text, and up
    to three times as much while it is parsed.
    """

    comptime DEFAULT = JsonLimits(depth_max=128, length_max=64 * 1024 * 1024)
    """More than any sensible interface needs, less than what hurts."""


struct JsonErrors(Movable):
    """What does not fit in a JSON text, up to a number."""

    var list: List[JsonError]
    """The errors, in the order in which they were found."""
    var _count_max: Int

    def __init__(out self, count_max: Int):
        """Starts without errors, of which so many are kept, at least 1."""
        self.list = []
        self._count_max = count_max

    @no_inline
    def add(mut self, var error: JsonError):
        """Takes an error, unless there are enough."""
        if not self.is_full():
            self.list.append(error^)

    def count(self) -> Int:
        return len(self.list)

    def is_full(self) -> Bool:
        """Tells whether more errors need not be looked for."""
        return len(self.list) >= self._count_max

    def first(mut self) -> JsonError:
        """Takes the first error out; there must be one."""
        return self.list.pop(0)
