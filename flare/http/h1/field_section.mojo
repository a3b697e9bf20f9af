"""A section of field lines: the headers of a request, or its trailers."""

from flare.bytes.buffer import TerminatedInput, unsafe_lend
from flare.bytes.scan import TCHAR
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.framing import (
    Framing,
    IS_IRREGULAR,
    NOTED_IN_RESPONSE,
    NOTED_IN_TRAILER,
    READS_IRREGULAR,
)
from flare.http.message.fields import FieldLine, Fields
from std.sys.intrinsics import likely, unlikely


@fieldwise_init
struct HeadLimits(TrivialRegisterPassable):
    """How large a message head may be; a peer that goes beyond is refused."""

    var max_target_size: Int
    """Longest request target, or reason phrase of a response, in bytes."""
    var max_header_size: Int
    """Longest header section in bytes, without the empty line at its end."""
    var max_fields: Int
    """Most field lines."""


comptime CRLF: UInt16 = 0x0A0D
"""CR and LF as `load16` reads them."""


struct FieldSection(Movable):
    """The places of the field lines of one section, parsed as they arrive.

    Parsing resumes at the start of the line where the octets ended. Offsets
    count from the start of the input that each call is given: the message's start for
    headers, the section's start for trailers.
    """

    var _lines: List[FieldLine]
    var count: Int
    """How many lines were parsed."""
    var is_text: Bool
    """False if a value may hold octets from 0x80 up."""
    var _start: Int
    var _position: Int

    def __init__(out self):
        self._lines = []
        self.count = 0
        self.is_text = True
        self._start = 0
        self._position = 0

    @always_inline
    def begin(mut self, offset: Int):
        self.count = 0
        self.is_text = True
        self._start = offset
        self._position = offset

    @always_inline
    def fields[o: ImmOrigin](self, octets: Span[UInt8, o]) -> Fields[o]:
        """Lends the parsed lines of the input that `parse` was given."""
        # SAFETY: section and octets belong to the same parser, which outlives
        # every request that is lent from it.
        return Fields(
            octets,
            unsafe_lend[o](self._lines.unsafe_ptr(), self.count),
            self.is_text,
        )

    @always_inline
    def parse[
        noted_name_lens: Int
    ](
        mut self,
        input: TerminatedInput,
        limits: HeadLimits,
        mut framing: Framing,
    ) raises RemoteProtocolError -> Int:
        """Parses lines until the empty one that ends the section, and notes in
        `framing` what they say of it. Returns the offset after the section, or
        0 if more octets are needed.

        `noted_name_lens` is one of the constants of `framing.mojo`. In a
        response, lines may be irregular if `framing` says so with
        `READS_IRREGULAR`. Source: RFC 9112 section 5.
        """
        # SAFETY: `_lines` has room for `max_fields` lines.
        if unlikely(len(self._lines) < limits.max_fields):
            self._lines.resize(limits.max_fields, FieldLine(0, 0, 0, 0))
        var lines = self._lines.unsafe_ptr()
        var count = self.count
        var start = self._position
        var is_high = False
        while True:
            # The end of the line is looked for from its start, so that from
            # line to line there is one scan in a row; the scan for the colon
            # runs beside it.
            var stop = input.scan_field_value(start)
            var end = stop.offset
            var next = end + 2
            var is_folded = False
            var is_here = input.load16(end) == CRLF
            comptime if noted_name_lens == NOTED_IN_RESPONSE:
                if unlikely(not is_here or _may_be_folded(input, start, next)):
                    var found = _find_line_end(input, start, framing)
                    end = found.offset
                    next = found.next
                    is_folded = found.is_folded
                    is_here = next > 0
            if unlikely(not is_here):
                self._save(count, is_high)
                self._position = start
                self._check_stop(input, end, limits)
                return 0
            if end == start:
                break
            # What follows a fold was not looked at.
            is_high |= stop.has_high_octets or is_folded
            if unlikely(
                count >= limits.max_fields
                or next - self._start > limits.max_header_size
            ):
                var is_many = count >= limits.max_fields
                raise self._keep(
                    count, start, is_high, _too_large(is_many, end)
                )
            var colon = input.scan_class[TCHAR](start)
            if unlikely(input[colon] != 58 or colon == start):
                raise self._keep(
                    count, start, is_high, _bad_name(input, start, colon)
                )
            var line = _line(input, start, colon, end)
            comptime if noted_name_lens == NOTED_IN_RESPONSE:
                if unlikely(is_folded):
                    line = _unfold(input, line)
            lines[unsafe_offset=count] = line
            count += 1
            comptime if noted_name_lens != NOTED_IN_TRAILER:
                self._note[noted_name_lens](
                    framing, input, line, count, is_high
                )
            start = next
        self.count = count
        self.is_text = self.is_text and not is_high
        comptime if noted_name_lens == NOTED_IN_RESPONSE:
            # The empty line, too, may end with a bare LF.
            if unlikely(input[start] == 10):
                return start + 1
        return start + 2

    @always_inline
    def _note[
        noted_name_lens: Int
    ](
        mut self,
        mut framing: Framing,
        input: TerminatedInput,
        line: FieldLine,
        count: Int,
        has_high: Bool,
    ) raises RemoteProtocolError:
        try:
            framing.note[noted_name_lens](input, line)
        except error:
            raise self._keep(count - 1, line.name_offset(), has_high, error^)

    @no_inline
    def _keep(
        mut self,
        count: Int,
        start: Int,
        has_high: Bool,
        var error: RemoteProtocolError,
    ) -> RemoteProtocolError:
        """Keeps the lines before one that breaks a rule, which starts at an
        offset; gives its error. Who has content to hand out first meets it once
        more, and counts no line twice."""
        self._save(count, has_high)
        self._position = start
        return error^

    def _save(mut self, count: Int, has_high: Bool):
        """Keeps the lines that are whole."""
        self.count = count
        self.is_text = self.is_text and not has_high

    @no_inline
    def _check_stop(
        self, input: TerminatedInput, stop: Int, limits: HeadLimits
    ) raises RemoteProtocolError:
        """Tells an unfinished line from a broken one."""
        var octet = input[stop]
        if stop >= len(input) or (octet == 13 and stop + 1 >= len(input)):
            # What is here of the line will be part of the section; an empty
            # line will end it.
            if stop > self._position and (
                stop + 2 - self._start > limits.max_header_size
            ):
                raise _too_large(False, stop)
            return
        if octet == 13 or octet == 10:
            raise RemoteProtocolError(materialize[Rule.LINE_END](), stop)
        raise RemoteProtocolError(materialize[Rule.CONTROL](), stop)


@always_inline
def _line(
    input: TerminatedInput, start: Int, colon: Int, end: Int
) -> FieldLine:
    """Takes the whitespace off a value (RFC 9112 section 5, OWS)."""
    var value = colon + 1
    if likely(input[value] == 32):
        value += 1
    while unlikely(input[value] == 32 or input[value] == 9):
        value += 1
    var value_end = end
    while unlikely(
        value_end > value
        and (input[value_end - 1] == 32 or input[value_end - 1] == 9)
    ):
        value_end -= 1
    return FieldLine(start, colon - start, value, value_end - value)


@fieldwise_init
struct _LineEnd(TrivialRegisterPassable):
    var offset: Int
    """Where the line end stands, or what keeps it from being one."""
    var next: Int
    """Where the next line starts; 0 if that is not known yet."""
    var is_folded: Bool
    """True if the line goes over several."""


@always_inline
def _may_be_folded(input: TerminatedInput, start: Int, next: Int) -> Bool:
    """Tells whether the octet after a line end may be a part of the line."""
    var octet = input[next]
    return octet <= 32 and octet != 13 and next - 2 != start


@no_inline
def _find_line_end(
    input: TerminatedInput, start: Int, mut framing: Framing
) -> _LineEnd:
    """Finds the end of a line that may be folded, or end with a bare LF.

    Source: RFC 9112 sections 2.2 and 5.2. A line that begins with whitespace
    continues the last one, so that a line has ended only when the octet after
    it is there.
    """
    var is_lenient = framing.has(READS_IRREGULAR)
    var is_folded = False
    var end = input.scan_field_value(start).offset
    while True:
        var next = end + 2
        if input.load16(end) != CRLF:
            if input[end] != 10 or not is_lenient:
                return _LineEnd(end, 0, is_folded)
            framing.flags |= IS_IRREGULAR
            next = end + 1
        if end == start:
            return _LineEnd(end, next, False)
        if not is_lenient:
            return _LineEnd(end, next, False)
        if next >= len(input):
            return _LineEnd(len(input), 0, is_folded)
        var octet = input[next]
        if octet != 32 and octet != 9:
            return _LineEnd(end, next, is_folded)
        framing.flags |= IS_IRREGULAR
        is_folded = True
        end = input.scan_field_value(next).offset


@no_inline
def _unfold(input: TerminatedInput, line: FieldLine) -> FieldLine:
    """Puts one space in the place of each fold, and trims what is then left
    (RFC 9112 section 5.2)."""
    var start = line.value_offset()
    var stop = start + line.value_len()
    var write = start
    var read = start
    while read < stop:
        var octet = input[read]
        if octet == 13 or octet == 10:
            while write > start and _is_space(input, write - 1):
                write -= 1
            while read < stop and _is_fold(input, read):
                read += 1
            octet = 32
            if write == start or read == stop:
                continue
        else:
            read += 1
        input[write] = octet
        write += 1
    return FieldLine(line.name_offset(), line.name_len(), start, write - start)


def _is_space(input: TerminatedInput, offset: Int) -> Bool:
    var octet = input[offset]
    return octet == 32 or octet == 9


def _is_fold(input: TerminatedInput, offset: Int) -> Bool:
    var octet = input[offset]
    return octet == 13 or octet == 10 or octet == 32 or octet == 9


@no_inline
def _bad_name(
    input: TerminatedInput, start: Int, colon: Int
) -> RemoteProtocolError:
    var octet = input[colon]
    if colon == start and (octet == 32 or octet == 9):
        return RemoteProtocolError(materialize[Rule.OBS_FOLD](), start)
    return RemoteProtocolError(materialize[Rule.FIELD_NAME](), colon)


@no_inline
def _too_large(is_count: Bool, offset: Int) -> RemoteProtocolError:
    if is_count:
        return RemoteProtocolError(materialize[Rule.FIELD_COUNT](), offset)
    return RemoteProtocolError(materialize[Rule.HEADER_LEN](), offset)
