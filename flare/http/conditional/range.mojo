"""Range requests (RFC 9110 section 14): range sets, and the layout of multipart/byteranges."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    hex_text,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.digits import read_saturated
from flare.http.message.fields import ListElements

comptime RANGE_COUNT_MAX = 64
"""Most ranges that are looked at in one field.

RFC 9110 section 14.2 lets a server ignore "many small ranges", which cost it
far more than the client; real ones have a few.
"""

comptime RANGE_GAP_MAX = 80
"""Ranges that are at most so far apart are sent as one, in bytes.

The lines before a part are not shorter (RFC 9110 section 15.3.7.2).
"""

# Positions beyond this are the same as this one: after every representation.
comptime _POSITION_MAX = 1 << 62
comptime _ABSENT = -1
comptime _MALFORMED = -2


@fieldwise_init
struct ByteRange(Equatable, TrivialRegisterPassable, Writable):
    """A piece of a representation."""

    var start: Int
    """Where it begins, in bytes from the representation's start."""
    var length: Int
    """Its length in bytes, at least 1."""

    def end(self) -> Int:
        """Adds up.

        Returns:
            After its last octet.
        """
        return self.start + self.length

    def write_to(self, mut writer: Some[Writer]):
        """Writes the first and the last position, as Content-Range has them."""
        writer.write(self.start, "-", self.end() - 1)


@fieldwise_init
struct RangeVerdict(Equatable, ImplicitlyCopyable):
    """What a Range field comes to."""

    var code: UInt8
    """The case."""

    comptime WHOLE = RangeVerdict(0)
    """Send all: nothing is asked for that this server would do otherwise."""
    comptime MALFORMED = RangeVerdict(1)
    """This is no Range field; send all, or answer 400 or 416."""
    comptime UNSATISFIABLE = RangeVerdict(2)
    """Answer 416 (RFC 9110 section 15.5.17): nothing is there."""
    comptime PARTS = RangeVerdict(3)
    """Answer 206 (RFC 9110 section 15.3.7) with the ranges."""


struct RangeSet(Copyable, Movable):
    """The ranges of a Range field, for a representation of known length."""

    var verdict: RangeVerdict
    """What to do."""
    var ranges: List[ByteRange]
    """The satisfiable ranges as they were asked for, cut to what is there;
    empty unless the verdict is `PARTS`."""
    var _asks_for_last: Bool
    # True if the last octets were asked for, and there are none.

    def __init__(out self, verdict: RangeVerdict):
        """Makes a set without ranges."""
        self.verdict = verdict
        self.ranges = List[ByteRange]()
        self._asks_for_last = False

    @staticmethod
    def parse(value: Span[UInt8, _], size: Int) -> Self:
        """Reads a Range field.

        Source: RFC 9110 sections 14.1.1, 14.1.2 and 14.2. Whitespace around
        positions is let pass.

        Args:
            value: The field's value.
            size: Length of the representation in bytes.

        Returns:
            The ranges, or why there are none. Units other than `bytes` and
            more than `RANGE_COUNT_MAX` ranges give `WHOLE`.
        """
        var octets = trim_whitespace(value.as_imm())
        if len(octets) == 0:
            return Self(RangeVerdict.WHOLE)
        var equals = find_octet(octets, 61)
        if equals == len(octets):
            return Self(RangeVerdict.MALFORMED)
        if not equals_ignore_case(octets.before(equals), "bytes".as_bytes()):
            return Self(RangeVerdict.WHOLE)
        var set = Self(RangeVerdict.PARTS)
        var count = 0
        for element in ListElements(octets.after(equals + 1)):
            if len(element) == 0:
                continue
            count += 1
            if count > RANGE_COUNT_MAX:
                return Self(RangeVerdict.WHOLE)
            if not set._note(element, size):
                return Self(RangeVerdict.MALFORMED)
        if count == 0:
            return Self(RangeVerdict.MALFORMED)
        if len(set.ranges) == 0:
            # The last octets of nothing are nothing, which is all there is.
            if size == 0 and set._asks_for_last:
                return Self(RangeVerdict.WHOLE)
            return Self(RangeVerdict.UNSATISFIABLE)
        return set^

    def _note(mut self, element: Span[UInt8, _], size: Int) -> Bool:
        """Takes one range; False if it is none."""
        var dash = find_octet(element, 45)
        if dash == len(element):
            return False
        var first = _parse_position(element.before(dash))
        var last = _parse_position(element.after(dash + 1))
        if first == _MALFORMED or last == _MALFORMED:
            return False
        if first == _ABSENT:
            if last == _ABSENT:
                return False
            var length = min(last, size)
            if length > 0:
                self.ranges.append(ByteRange(size - length, length))
            elif last > 0:
                self._asks_for_last = True
            return True
        if last == _ABSENT:
            last = _POSITION_MAX
        if last < first:
            return False
        if first < size:
            var end = min(last + 1, size)
            self.ranges.append(ByteRange(first, end - first))
        return True

    def coalesce(mut self):
        """Makes one of ranges that overlap or are close to each other.

        Source: RFC 9110 section 15.3.7.2. What is sent is then never much more
        than the representation. A range takes the place of its first part.
        """
        var merged = List[ByteRange]()
        for range in self.ranges:
            var joined = range
            var place = len(merged)
            var index = 0
            while index < len(merged):
                if not _is_close(merged.at(index), joined):
                    index += 1
                    continue
                joined = _join(merged.at(index), joined)
                _ = merged.pop(index)
                place = min(place, index)
                # The longer range may have come close to one before.
                index = 0
            merged.insert(min(place, len(merged)), joined)
        self.ranges = merged^


def content_range(range: ByteRange, size: Int) -> String:
    """Writes the value of a Content-Range field (RFC 9110 section 14.4); `size`
    is that of the whole representation."""
    return String("bytes ", range, "/", size)


def unsatisfied_range(size: Int) -> String:
    """Writes the Content-Range of a 416 response (RFC 9110 section 14.4);
    `size` is that of the whole representation."""
    return String("bytes */", size)


@fieldwise_init
struct ContentRange(TrivialRegisterPassable):
    """What a Content-Range field says (RFC 9110 section 14.4)."""

    var start: Int
    """Offset of the first octet; -1 where there is no range (416)."""
    var length: Int
    """How many octets there are."""
    var size: Int
    """Length of the whole representation; -1 if that is not said."""

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Optional[Self]:
        """Reads the field.

        Args:
            value: Its value.

        Returns:
            What it says; nothing if it is malformed, or not of octets.
        """
        var octets = trim_whitespace(value.as_imm())
        var unit = "bytes ".as_bytes()
        if len(octets) <= len(unit) or not equals_ignore_case(
            octets.before(len(unit)), unit
        ):
            return None
        octets = octets.after(len(unit))
        var slash = find_octet(octets, 47)
        if slash == len(octets):
            return None
        var size = -1
        if not _is_star(octets.after(slash + 1)):
            size = _parse_position(octets.after(slash + 1))
            if size < 0:
                return None
        if _is_star(octets.before(slash)):
            return None if size < 0 else Optional(Self(-1, 0, size))
        var dash = find_octet(octets.before(slash), 45)
        if dash == slash:
            return None
        var first = _parse_position(octets.before(dash))
        var last = _parse_position(octets.between(dash + 1, slash))
        if first < 0 or last < first or (size >= 0 and last >= size):
            return None
        return Self(first, last - first + 1, size)


def _is_star(octets: Span[UInt8, _]) -> Bool:
    return len(octets) == 1 and octets.at(0) == 42


def _is_close(left: ByteRange, right: ByteRange) -> Bool:
    return (
        left.start <= right.end() + RANGE_GAP_MAX
        and right.start <= left.end() + RANGE_GAP_MAX
    )


def _join(left: ByteRange, right: ByteRange) -> ByteRange:
    var start = min(left.start, right.start)
    return ByteRange(start, max(left.end(), right.end()) - start)


def _parse_position(octets: Span[UInt8, _]) -> Int:
    var digits = trim_whitespace(octets.as_imm())
    if len(digits) == 0:
        return _ABSENT
    var position = read_saturated(digits, _POSITION_MAX)
    return position if position >= 0 else _MALFORMED


struct ByterangesLayout(Copyable, Movable):
    """Where the lines and the ranges of a multipart/byteranges body stand.

    Source: RFC 9110 section 14.6. The ranges themselves are not touched: send
    `head(0)`, the octets of `part_range(0)`, `head(1)`, and so on, and `tail()`.
    """

    var _ranges: List[ByteRange]
    var _size: Int
    var _media_type: String
    var _boundary: String

    def __init__(
        out self,
        var ranges: List[ByteRange],
        size: Int,
        var media_type: String,
        random: Array[UInt8, 16],
    ):
        """Lays out a body.

        Args:
            ranges: What is sent, at least one range.
            size: Length of the whole representation in bytes.
            media_type: That of the representation; empty if it is unknown.
            random: Makes the boundary, which must not stand in the content;
                128 bits do not by chance.
        """
        self._ranges = ranges^
        self._size = size
        self._media_type = media_type^
        self._boundary = hex_text(random)

    def content_type(self) -> String:
        """Writes the value of the Content-Type field.

        Returns:
            The media type with the boundary.
        """
        return String("multipart/byteranges; boundary=", self._boundary)

    def content_length(self) -> Int:
        """Adds up the whole body.

        Returns:
            Bytes.
        """
        var length = self.tail().byte_length()
        for index in range(len(self._ranges)):
            length += self.head(index).byte_length()
            length += self._ranges.at(index).length
        return length

    def part_count(self) -> Int:
        """Counts the ranges.

        Returns:
            Parts.
        """
        return len(self._ranges)

    def head(self, index: Int) -> String:
        """Writes what stands before a range.

        Returns:
            The delimiter and the part's fields.
        """
        var text = String("" if index == 0 else "\r\n", "--", self._boundary)
        if self._media_type.byte_length() > 0:
            text.write("\r\nContent-Type: ", self._media_type)
        text.write("\r\nContent-Range: ")
        text.write(
            content_range(self._ranges.at(index), self._size), "\r\n\r\n"
        )
        return text^

    def part_range(self, index: Int) -> ByteRange:
        """Gives a range.

        Args:
            index: At least 0 and less than `part_count()`.

        Returns:
            What stands after `head(index)`.
        """
        return self._ranges.at(index)

    def tail(self) -> String:
        """Writes what stands after the last range.

        Returns:
            The last delimiter.
        """
        return String("\r\n--", self._boundary, "--\r\n")
