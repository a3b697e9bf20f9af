"""Header fields as they were received, and the elements of lists in them (RFC 9110 section 5.6.1)."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.bytes.text import Text


struct FieldLine(TrivialRegisterPassable):
    """Where the name and the value of one field line stand.

    Offsets and lengths of 16 bits in one word, so no message head may be
    longer than 65,535 bytes; `ServerConfig` sees to that.
    """

    var word: UInt64
    """Name offset, name length, value offset, value length, low bits first."""

    @always_inline
    def __init__(
        out self,
        name_offset: Int,
        name_len: Int,
        value_offset: Int,
        value_len: Int,
    ):
        """Packs the four numbers; offsets are from the message's start, the
        value is without whitespace around."""
        self.word = (
            UInt64(name_offset)
            | (UInt64(name_len) << 16)
            | (UInt64(value_offset) << 32)
            | (UInt64(value_len) << 48)
        )

    @always_inline
    def name_offset(self) -> Int:
        return Int(self.word & 0xFFFF)

    @always_inline
    def name_len(self) -> Int:
        return Int((self.word >> 16) & 0xFFFF)

    @always_inline
    def value_offset(self) -> Int:
        return Int((self.word >> 32) & 0xFFFF)

    @always_inline
    def value_len(self) -> Int:
        return Int(self.word >> 48)


def find_line(
    octets: Span[UInt8, _],
    lines: Span[FieldLine, _],
    name: StringSpan,
    start: Int,
) -> Int:
    """Finds the index of a field line by name in any case (RFC 9110 section
    5.1), from `start` on; -1 if there is none."""
    # SAFETY: the index stays below the number of lines.
    var wanted = name.as_bytes()
    for index in range(start, len(lines)):
        var line = lines.unsafe_at(index)
        if line.name_len() != len(wanted):
            continue
        var offset = line.name_offset()
        if equals_ignore_case(
            octets.between(offset, offset + len(wanted)), wanted
        ):
            return index
    return -1


struct Fields[o: ImmOrigin](Copyable, Movable, Sized, Writable):
    """The field lines of one section, in the order of arrival.

    Names compare without regard to case (RFC 9110 section 5.1). The same name
    may stand in several lines; `get` finds the first.

    Parameters:
        o: Where the octets live.
    """

    var _octets: Span[UInt8, Self.o]
    var _lines: Span[FieldLine, Self.o]
    var _is_text: Bool

    @always_inline
    def __init__(
        out self,
        octets: Span[UInt8, Self.o],
        lines: Span[FieldLine, Self.o],
        is_text: Bool,
    ):
        """Lends field lines.

        Args:
            octets: The message, from its first octet.
            lines: One entry a line, offsets within `octets`.
            is_text: True if all values are known to be UTF-8.
        """
        self._octets = octets
        self._lines = lines
        self._is_text = is_text

    def unsafe_outliving[p: ImmOrigin](self) -> Fields[p]:
        """Lends the same lines for longer; the caller keeps them.

        Parameters:
            p: What the lines are to live as long as.
        """
        # SAFETY: the caller promises that the octets and lines live so long.
        return Fields[p](
            unsafe_lend[p](self._octets.unsafe_ptr(), len(self._octets)),
            unsafe_lend[p](self._lines.unsafe_ptr(), len(self._lines)),
            self._is_text,
        )

    @always_inline
    def __len__(self) -> Int:
        """Counts the field lines, not distinct names."""
        return len(self._lines)

    def name(self, index: Int) -> StringSpan[Self.o]:
        """Lends the name in a line, a token, as sent.

        Args:
            index: At least 0 and less than `len(self)`.
        """
        var line = self._lines.at(index)
        var start = line.name_offset()
        return StringSpan(
            unsafe_from_utf8=self._octets.between(
                start, start + line.name_len()
            )
        )

    def value_bytes(self, index: Int) -> Span[UInt8, Self.o]:
        """Lends the octets of the value in a line, without whitespace around;
        those from 0x80 up are opaque (RFC 9110 section 5.5)."""
        var line = self._lines.at(index)
        var start = line.value_offset()
        return self._octets.between(start, start + line.value_len())

    def value(self, index: Int) -> StringSpan[Self.o]:
        """Lends the value in a line as text; empty if its octets are not UTF-8,
        then `value_bytes` has them."""
        var octets = self.value_bytes(index)
        if self._is_text:
            return StringSpan(unsafe_from_utf8=octets)
        if is_valid_utf8(octets):
            return StringSpan(unsafe_from_utf8=octets)
        return StringSpan(unsafe_from_utf8=octets.before(0))

    def find(self, name: StringSpan, start: Int = 0) -> Int:
        """Finds the index of the first line with a name; -1 if there is none.

        Args:
            name: A field name in any case.
            start: Index of the first line to look at.
        """
        return find_line(self._octets, self._lines, name, start)

    def __contains__(self, name: StringSpan) -> Bool:
        """Tells whether at least one line has a name."""
        return self.find(name) >= 0

    def get(self, name: StringSpan) -> Optional[StringSpan[Self.o]]:
        """Lends the first value of a field; None if no line has the name."""
        var index = self.find(name)
        if index < 0:
            return None
        return self.value(index)

    def get(self, name: StringSpan, default: StringSpan) -> String:
        """Copies the first value of a field, or what stands for none.

        Args:
            default: What to give if no line has the name.
        """
        var index = self.find(name)
        return String(self.value(index)) if index >= 0 else String(default)

    def get_all(self, name: StringSpan) -> List[StringSpan[Self.o]]:
        """Lends every value of a field, in the order of arrival."""
        var values = List[StringSpan[Self.o]]()
        var index = self.find(name)
        while index >= 0:
            values.append(self.value(index))
            index = self.find(name, index + 1)
        return values^

    def __getitem__(self, name: StringSpan) raises -> StringSpan[Self.o]:
        """Lends the first value of a field that has to be there.

        Raises:
            Error: If no line has the name.
        """
        var index = self.find(name)
        if index < 0:
            raise Error(
                Text()
                .add("the message has no field '")
                .add(name)
                .add("'")
                .end()
            )
        return self.value(index)

    def __iter__(self) -> FieldIterator[Self.o]:
        """Goes through the lines in the order of arrival, and gives each as a
        `Field`: `for field in req.headers:`."""
        return FieldIterator[Self.o](None, self)

    def write_to(self, mut writer: Some[Writer]):
        """Writes `name: value`, a line each."""
        for index in range(len(self)):
            writer.write_string(self.name(index))
            writer.write_string(": ")
            writer.write_string(self.value(index))
            writer.write_string("\n")


@fieldwise_init
struct Field[o: ImmOrigin](ImplicitlyCopyable, Movable):
    """One field line, as iterating `Fields` or a `HeaderMap` gives it.

    Parameters:
        o: Where the octets live.
    """

    var name: StringSpan[Self.o]
    """The name as it was sent or set, a token in any case."""
    var value: StringSpan[Self.o]
    """The value without whitespace around; empty if it was received and is not
    UTF-8 (`Fields.value_bytes` has it)."""


struct FieldIterator[o: ImmOrigin](Copyable, Iterator, Movable):
    """Goes through the lines of a section.

    Parameters:
        o: Where the octets live.
    """

    comptime Element = Field[Self.o]

    # What a `HeaderMap` keeps apart from its lines, until it was given.
    var _first: Optional[Field[Self.o]]
    var _fields: Fields[Self.o]
    var _index: Int

    def __init__(
        out self, first: Optional[Field[Self.o]], fields: Fields[Self.o]
    ):
        self._first = first
        self._fields = fields.copy()
        self._index = 0

    def __iter__(self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        if self._first:
            return self._first.take()
        var index = self._index
        if index >= len(self._fields):
            raise StopIteration()
        self._index = index + 1
        return Field(self._fields.name(index), self._fields.value(index))


comptime _COMMA: UInt8 = 44


struct ListElements[o: ImmOrigin](Copyable, Iterator, Movable):
    """Goes through the parts between commas, without whitespace around them.

    Source: RFC 9110 section 5.6.1. Empty elements are given too; an empty value
    is one empty element. Commas in quoted strings part elements as well, so
    this is for lists of tokens.

    Parameters:
        o: Where the octets live.
    """

    comptime Element = Span[UInt8, Self.o]

    var _octets: Span[UInt8, Self.o]
    var _start: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        self._octets = octets
        self._start = 0

    def __iter__(self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        if self._start > len(self._octets):
            raise StopIteration()
        var start = self._start
        var end = start
        while end < len(self._octets) and self._octets.at(end) != _COMMA:
            end += 1
        self._start = end + 1
        return trim_whitespace(self._octets.between(start, end))
