"""Replies out of octets (RESP2 and RESP3), without socket or clock."""

from flare.bytes.buffer import TerminatedInput
from flare.bytes.checked import *
from flare.redis.core.error import (
    RedisError,
    protocol_error,
    too_large,
)
from flare.redis.core.reply import Reply, ReplyKind, ReplyNode, read_integer
from std.sys.intrinsics import likely, unlikely

comptime LINE_LEN_MAX = 65_536
"""Longest line in bytes: a short text, an error or a number.

No server of today writes one that is longer; values come with their length.
"""
comptime KEPT_NODE_COUNT_MAX = 4_096
"""Most nodes whose memory is kept for the next reply."""

comptime _CR = UInt8(0x0D)
comptime _LF = UInt8(0x0A)
comptime _IS_NULL = -1
comptime _LENGTH_LEN_MAX = 20


@fieldwise_init
struct ReplyLimits(ImplicitlyCopyable):
    """How much a reply may be; what is beyond is refused before it is kept."""

    var len_max: Int
    """Octets of one reply, or of all replies of one pipeline."""
    var element_count_max: Int
    """Replies within one, at all depths."""
    var depth_max: Int

    comptime DEFAULT = Self(64 * 1024 * 1024, 1024 * 1024, 32)
    """64 MiB, a mebi of elements, 32 deep."""


@fieldwise_init
struct _Open(TrivialRegisterPassable):
    """A reply whose elements are not all here."""

    var place: Int
    var left: Int


struct ReplyParser(Movable):
    """Takes octets as they come, until what was asked for is whole.

        parser.begin(1)
        while not parser.advance(buffer.terminate()):
            ...  # receive more into the buffer
        var reply = parser.reply(buffer.span())
        buffer.consume(parser.length())

    What was parsed is not looked at again. The input must begin with the same
    octet at each call until the replies are taken.
    """

    var limits: ReplyLimits
    var takes_pushes: Bool
    """True if a push counts as a reply, as for a subscriber. Default False."""
    var has_errors: Bool
    """True if an error is among what was parsed since `begin`."""
    var _nodes: List[ReplyNode]
    var _open: List[_Open]
    var _offset: Int
    # Up to where a line that has not ended was searched.
    var _searched: Int
    var _missing: Int

    def __init__(out self, limits: ReplyLimits = ReplyLimits.DEFAULT):
        self.limits = limits
        self.takes_pushes = False
        self.has_errors = False
        self._nodes = List[ReplyNode](capacity=16)
        self._open = []
        self._offset = 0
        self._searched = 0
        self._missing = 0

    @always_inline
    def begin(mut self, count: Int):
        """Expects replies, pushes not counted, and forgets those of before."""
        if unlikely(len(self._nodes) > KEPT_NODE_COUNT_MAX):
            self._nodes = List[ReplyNode](capacity=16)
        self._nodes.clear()
        self._open.clear()
        self.has_errors = False
        self._offset = 0
        self._searched = 0
        self._missing = 0
        # All replies are the elements of one that no server sends.
        self._nodes.append(ReplyNode(0, count, 0, ReplyKind.ARRAY))
        self._open.append(_Open(0, count))

    @always_inline
    def length(self) -> Int:
        """Tells how many octets from the start of the input are parsed, to be
        dropped with the replies."""
        return self._offset

    @always_inline
    def missing(self) -> Int:
        """Tells how many octets are known to follow; 0 if that is not known. It
        is the server's word, and within the limits."""
        return self._missing

    def all(self, octets: Span[UInt8, _]) -> Reply[ImmUntrackedOrigin]:
        """Lends all replies in the input that was parsed, as the elements of
        one; the caller gives it the origin of what owns both parser and octets.
        """
        return self._lend(octets, 0)

    @always_inline
    def first(self, octets: Span[UInt8, _]) -> Reply[ImmUntrackedOrigin]:
        """Lends the first reply, as `all` does."""
        var place = 1
        # What was pushed in front of it, or is said about it.
        while unlikely(self._nodes.at(place).kind == ReplyKind.ATTRIBUTE):
            place = Int(self._nodes.at(place).end)
        return self._lend(octets, place)

    @always_inline
    def _lend(
        self, octets: Span[UInt8, _], place: Int
    ) -> Reply[ImmUntrackedOrigin]:
        # SAFETY: the caller keeps parser and octets while the loan lasts.
        return Reply[ImmUntrackedOrigin](
            unsafe_nodes=self._nodes.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            unsafe_octets=octets.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            place=place,
        )

    def advance(mut self, input: TerminatedInput) raises RedisError -> Bool:
        """Parses all octets from the first one that is not dropped; True if all
        replies that are expected are whole. Raises if it is no RESP
        (`PROTOCOL`), or beyond a limit (`REPLY_TOO_LARGE`). Nothing after it
        can be read."""
        while True:
            while self._open.at(len(self._open) - 1).left == 0:
                var done = self._open.pop()
                self._nodes.at(done.place).end = UInt32(len(self._nodes))
                if len(self._open) == 0:
                    return True
            # What is expected is at least an octet, here or not.
            if unlikely(self._offset >= self.limits.len_max):
                raise too_large("bytes (max_reply_size)", self.limits.len_max)
            if not self._element(input):
                return False
            if unlikely(self._offset > self.limits.len_max):
                raise too_large("bytes (max_reply_size)", self.limits.len_max)

    @always_inline
    def _element(mut self, input: TerminatedInput) raises RedisError -> Bool:
        """Parses one element, or the head of one that holds others."""
        var start = self._offset
        if start >= len(input):
            self._missing = 1
            return False
        var kind = ReplyKind(input[start])
        if likely(kind == ReplyKind.BULK):
            return self._counted_octets(input, kind)
        if kind == ReplyKind.INTEGER or kind == ReplyKind.SIMPLE:
            return self._line_element(input, kind)
        return self._other_element(input, kind)

    @no_inline
    def _other_element(
        mut self, input: TerminatedInput, kind: ReplyKind
    ) raises RedisError -> Bool:
        if kind.is_aggregate():
            return self._aggregate(input, kind)
        if kind == ReplyKind.VERBATIM:
            return self._counted_octets(input, kind)
        if kind.octet == 0x21:
            self.has_errors = True
            return self._counted_octets(input, ReplyKind.ERROR)
        if kind == ReplyKind.ERROR:
            self.has_errors = True
            return self._line_element(input, kind)
        if (
            kind == ReplyKind.DOUBLE
            or kind == ReplyKind.BOOLEAN
            or kind == ReplyKind.BIG_NUMBER
            or kind == ReplyKind.NULL
        ):
            return self._line_element(input, kind)
        raise protocol_error("the start of one", kind.octet, self._offset)

    @always_inline
    def _line_end(mut self, input: TerminatedInput) raises RedisError -> Int:
        """Finds the CR of a line whose LF is here, too; -1 if it is not."""
        var at = max(self._offset + 1, self._searched)
        var end = len(input)
        while at < end and input[at] != _CR and input[at] != _LF:
            at += 1
        if unlikely(at - self._offset > LINE_LEN_MAX):
            raise too_large("bytes in one line", LINE_LEN_MAX)
        if unlikely(at < end and input[at] == _LF):
            raise protocol_error("CR before LF", _LF, at)
        if unlikely(at + 1 >= end):
            self._searched = at
            self._missing = 1
            return -1
        if unlikely(input[at + 1] != _LF):
            raise protocol_error("LF behind CR", input[at + 1], at + 1)
        return at

    def _line_element(
        mut self, input: TerminatedInput, kind: ReplyKind
    ) raises RedisError -> Bool:
        var end = self._line_end(input)
        if end < 0:
            return False
        var start = self._offset + 1
        if kind == ReplyKind.INTEGER:
            var value = 0
            if not read_integer(input.span(start, end - start), value):
                raise protocol_error("a whole number", input[start], start)
            self._add(ReplyNode(value, 0, 0, kind), end + 2)
            return True
        if kind == ReplyKind.BOOLEAN:
            var octet = input[start]
            if end - start != 1 or (octet != 0x74 and octet != 0x66):
                raise protocol_error("t or f", octet, start)
            self._add(ReplyNode(Int(octet == 0x74), 0, 0, kind), end + 2)
            return True
        if kind == ReplyKind.NULL and end != start:
            raise protocol_error("the end of a null", input[start], start)
        self._add(ReplyNode(start, end - start, 0, kind), end + 2)
        return True

    @always_inline
    def _add(mut self, node: ReplyNode, next_offset: Int) raises RedisError:
        if unlikely(len(self._nodes) > self.limits.element_count_max):
            raise too_large(
                "elements (max_reply_elements)", self.limits.element_count_max
            )
        var whole = node
        whole.end = UInt32(len(self._nodes) + 1)
        self._nodes.append(whole)
        self._offset = next_offset
        self._searched = 0
        self._missing = 0
        self._open.at(len(self._open) - 1).left -= 1

    @always_inline
    def _count(
        mut self, input: TerminatedInput, mut count: Int
    ) raises RedisError -> Int:
        """Reads the length of what follows; gives where that begins, or -1."""
        # One or two digits, as most lengths are: no search for their end.
        var at = self._offset + 1
        var value = 0
        while at < len(input):
            var digit = input[at] - 48
            if unlikely(digit > 9 or at - self._offset > 10):
                break
            value = value * 10 + Int(digit)
            at += 1
        if likely(
            at + 1 < len(input)
            and at > self._offset + 1
            and input[at] == _CR
            and input[at + 1] == _LF
        ):
            count = value
            return at + 2
        return self._odd_count(input, count)

    @no_inline
    def _odd_count(
        mut self, input: TerminatedInput, mut count: Int
    ) raises RedisError -> Int:
        """Reads a length that is not all here, is none, or stands for null."""
        var start = self._offset + 1
        var at = start
        while at < len(input) and input[at] != _CR and input[at] != _LF:
            if at - start == _LENGTH_LEN_MAX:
                raise protocol_error("the end of a length", input[at], at)
            at += 1
        var end = self._line_end(input)
        if end < 0:
            return -1
        var octets = input.span(start, end - start)
        if len(octets) == 2 and octets.at(0) == 0x2D and octets.at(1) == 0x31:
            count = _IS_NULL
            return end + 2
        for index in range(len(octets)):
            if octets.at(index) - 48 > 9:
                raise protocol_error(
                    "a length", octets.at(index), start + index
                )
        if len(octets) == 0:
            raise protocol_error("a length", input[start], start)
        if not read_integer(octets, count):
            count = Int.MAX
        return end + 2

    @always_inline
    def _counted_octets(
        mut self, input: TerminatedInput, kind: ReplyKind
    ) raises RedisError -> Bool:
        var count = 0
        var start = self._count(input, count)
        if unlikely(start < 0):
            return False
        if unlikely(count == _IS_NULL):
            self._add(ReplyNode(0, 0, 0, ReplyKind.NULL), start)
            return True
        if unlikely(count > self.limits.len_max - start):
            raise too_large("bytes (max_reply_size)", self.limits.len_max)
        var end = start + count
        if unlikely(end + 2 > len(input)):
            self._missing = end + 2 - len(input)
            return False
        if unlikely(input[end] != _CR or input[end + 1] != _LF):
            raise protocol_error("CRLF behind a value", input[end], end)
        if unlikely(kind == ReplyKind.VERBATIM):
            # Three letters of the format, and a colon.
            if count < 4 or input[start + 3] != 0x3A:
                raise protocol_error("a format", input[start], start)
            start += 4
        self._add(ReplyNode(start, end - start, 0, kind), end + 2)
        return True

    def _aggregate(
        mut self, input: TerminatedInput, kind: ReplyKind
    ) raises RedisError -> Bool:
        var count = 0
        var next_offset = self._count(input, count)
        if next_offset < 0:
            return False
        if count == _IS_NULL:
            self._add(ReplyNode(0, 0, 0, ReplyKind.NULL), next_offset)
            return True
        if count > self.limits.element_count_max:
            raise too_large(
                "elements (max_reply_elements)", self.limits.element_count_max
            )
        var is_pairs = kind == ReplyKind.MAP or kind == ReplyKind.ATTRIBUTE
        if is_pairs:
            count *= 2
        # Its own root counts, too.
        if len(self._open) > self.limits.depth_max:
            raise too_large("replies in replies", self.limits.depth_max)
        var place = len(self._nodes)
        var is_within = len(self._open) > 1
        # What was pushed between replies is none of them, nor an element of the
        # one that it came in the midst of.
        var is_aside = kind == ReplyKind.ATTRIBUTE or (
            kind == ReplyKind.PUSH and (is_within or not self.takes_pushes)
        )
        var shown = ReplyKind.ATTRIBUTE if is_aside else kind
        self._add(ReplyNode(0, count, 0, shown), next_offset)
        if is_aside:
            self._open.at(len(self._open) - 1).left += 1
        self._open.append(_Open(place, count))
        return True
