"""The chunked transfer coding: decoded in place, and written a chunk at a time."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.buffer import Buffer, TerminatedInput
from flare.bytes.checked import *
from flare.bytes.scan import QDTEXT, TCHAR
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.field_section import CRLF, FieldSection, HeadLimits
from flare.http.h1.framing import Framing, NOTED_IN_TRAILER
from flare.http.message.trailers import Trailers

comptime CHUNK_SIZE_DIGITS_MAX = 15
"""Most hex digits accepted in a chunk-size (RFC 9112 section 7.1).

The RFC sets no limit. Sixteen digits can overflow a signed 64-bit count.
"""

comptime CHUNK_EXTENSION_LEN_MAX = 1024
"""Most octets of chunk extensions on one line (RFC 9112 section 7.1.1)."""

comptime CHUNK_EXTENSIONS_LEN_MAX = 16_384
"""Most octets of chunk extensions in one body, beyond a sixteenth of each
chunk.

Nothing uses them; without a bound, a small body could be dressed in gigabytes.
An uploader that signs each chunk of some KiB is not refused, however many.
"""

comptime GAP_LEN_MIN = 1024
"""Octets of framing that are worth moving the rest down, in bytes."""

comptime _SIZE = UInt8(0)
comptime _DATA = UInt8(1)
comptime _DATA_END = UInt8(2)
comptime _TRAILERS = UInt8(3)
comptime _DONE = UInt8(4)


struct ChunkedDecoder(Movable):
    """Decodes one chunked body as it arrives.

    Each chunk's data moves down to the data before it, so that the content
    ends up in one piece at the start of the octets; no second buffer is needed.

    States: size -> data -> data end -> size ..., and from the last chunk's size
    to trailers -> done.
    """

    var content_len: Int
    """Decoded octets so far; they stand from the start of the octets."""
    var consumed_len: Int
    """Octets of the coding that were read so far, less the gaps closed."""
    var trailers_offset: Int
    """Where the trailer section starts; good when the body is complete."""
    var trailers: FieldSection
    """The trailer fields; offsets count from `trailers_offset`."""
    var reads_padding: Bool
    """True to read sizes with whitespace around them, as a client does."""
    var is_irregular: Bool
    """True once such a size was read."""
    var _state: UInt8
    var _remaining: Int
    var _extensions_len: Int

    def __init__(out self):
        """Makes a decoder ready for its first body."""
        self.content_len = 0
        self.consumed_len = 0
        self.trailers_offset = 0
        self.trailers = FieldSection()
        self.reads_padding = False
        self.is_irregular = False
        self._state = _SIZE
        self._remaining = 0
        self._extensions_len = 0

    def begin(mut self):
        """Forgets the last body."""
        self.content_len = 0
        self.consumed_len = 0
        self.trailers.begin(0)
        self.is_irregular = False
        self._state = _SIZE
        self._remaining = 0
        self._extensions_len = 0

    def decode(
        mut self,
        input: TerminatedInput,
        max_body_size: Int,
        limits: HeadLimits,
    ) raises RemoteProtocolError -> Bool:
        """Decodes what has arrived; True if the body is complete. The input is
        the same at each call but for what `close_gap` moved.

        Source: RFC 9112 section 7.1.
        """
        debug_assert(
            self.content_len <= self.consumed_len
            and self.consumed_len <= len(input),
            "a body that is not the one of the last call",
        )
        while self._state != _DONE:
            if self._state == _SIZE:
                if not self._read_size(input, max_body_size):
                    return False
            elif self._state == _DATA:
                if not self._move_data(input):
                    return False
            elif self._state == _DATA_END:
                if not self._read_data_end(input):
                    return False
            else:
                return self._read_trailers(input, limits)
        return True

    def close_gap(mut self, input: TerminatedInput) -> Int:
        """Moves what is not decoded down to the content, over what was read,
        and tells how many octets fewer are there now. Without it, small chunks
        would keep many octets of framing in memory for each octet of content. A
        trailer section stays where it is."""
        var gap = self.consumed_len - self.content_len
        if gap < GAP_LEN_MIN or self._state >= _TRAILERS:
            return 0
        input.move_down(
            self.content_len, self.consumed_len, len(input) - self.consumed_len
        )
        self.consumed_len = self.content_len
        return gap

    def release(mut self) -> Int:
        """Forgets the content decoded so far, once it was taken elsewhere, and
        tells how many octets from the start of the body to drop; a trailer
        section stays. The next `decode` starts where the octets that remain
        start."""
        var count = self.consumed_len
        if self._state >= _TRAILERS:
            count = self.trailers_offset
        self.content_len = 0
        self.consumed_len -= count
        self.trailers_offset = 0
        return count

    def is_complete(self) -> Bool:
        """Tells whether the body and its trailers were read."""
        return self._state == _DONE

    def is_in_trailers(self) -> Bool:
        """Tells whether all content was decoded: True from the last chunk on."""
        return self._state >= _TRAILERS

    def _read_size(
        mut self, input: TerminatedInput, max_body_size: Int
    ) raises RemoteProtocolError -> Bool:
        var start = self.consumed_len
        var size = 0
        var end = start
        while True:
            var digit = hex_digit_value(input[end])
            if digit < 0:
                break
            if end - start == CHUNK_SIZE_DIGITS_MAX:
                raise RemoteProtocolError(materialize[Rule.CHUNK_SIZE](), end)
            size = size * 16 + digit
            end += 1
        if end >= len(input):
            return False
        if end == start:
            if not self._skip_padding(input):
                raise RemoteProtocolError(materialize[Rule.CHUNK_SIZE](), end)
            return self._read_size(input, max_body_size)
        var line_end = end
        if input[end] != 13:
            line_end = self._read_extensions(input, end)
            if line_end < 0:
                return False
        if input.load16(line_end) != CRLF:
            if line_end + 1 >= len(input) and input[line_end] == 13:
                return False
            raise RemoteProtocolError(materialize[Rule.LINE_END](), line_end)
        self._extensions_len += max(line_end - end - size // 16, 0)
        if self._extensions_len > CHUNK_EXTENSIONS_LEN_MAX:
            raise RemoteProtocolError(materialize[Rule.CHUNK_EXTENSION](), end)
        if size > max_body_size - self.content_len:
            raise RemoteProtocolError(materialize[Rule.BODY_LEN](), start)
        self.consumed_len = line_end + 2
        self._remaining = size
        self._state = _DATA if size > 0 else _TRAILERS
        self.trailers_offset = self.consumed_len
        return True

    def _skip_padding(
        mut self, input: TerminatedInput
    ) raises RemoteProtocolError -> Bool:
        """Skips whitespace before a size, if that is allowed; False if there
        is none."""
        var start = self.consumed_len
        while self.reads_padding and (
            input[self.consumed_len] == 32 or input[self.consumed_len] == 9
        ):
            self._extensions_len += 1
            if self._extensions_len > CHUNK_EXTENSIONS_LEN_MAX:
                raise RemoteProtocolError(
                    materialize[Rule.CHUNK_EXTENSION](), self.consumed_len
                )
            self.consumed_len += 1
            self.is_irregular = True
        return self.consumed_len > start

    def _read_extensions(
        mut self, input: TerminatedInput, start: Int
    ) raises RemoteProtocolError -> Int:
        """Gives the offset of the CR after extensions, or -1 if it is missing."""
        var end = start
        while self.reads_padding and (input[end] == 32 or input[end] == 9):
            end += 1
        if end > start and input[end] == 13:
            self.is_irregular = True
        else:
            end = extensions_end(input, start)
        if (end if end >= 0 else len(input)) - start > CHUNK_EXTENSION_LEN_MAX:
            raise RemoteProtocolError(
                materialize[Rule.CHUNK_EXTENSION](), start
            )
        return end

    def _move_data(mut self, input: TerminatedInput) -> Bool:
        var count = min(self._remaining, len(input) - self.consumed_len)
        if count > 0 and self.content_len != self.consumed_len:
            input.move_down(self.content_len, self.consumed_len, count)
        self.content_len += count
        self.consumed_len += count
        debug_assert(count >= 0, "read beyond the input")
        self._remaining -= count
        if self._remaining > 0:
            return False
        self._state = _DATA_END
        return True

    def _read_data_end(
        mut self, input: TerminatedInput
    ) raises RemoteProtocolError -> Bool:
        var position = self.consumed_len
        if input.load16(position) != CRLF:
            var is_unfinished = position >= len(input) or (
                position + 1 >= len(input) and input[position] == 13
            )
            if is_unfinished:
                return False
            raise RemoteProtocolError(materialize[Rule.CHUNK_END](), position)
        self.consumed_len += 2
        self._state = _SIZE
        return True

    def _read_trailers(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Bool:
        var no_framing = Framing()
        var end = self.trailers.parse[NOTED_IN_TRAILER](
            input.tail(self.trailers_offset),
            limits,
            no_framing,
        )
        if end == 0:
            return False
        self.consumed_len = self.trailers_offset + end
        self._state = _DONE
        return True


comptime _HTAB: UInt8 = 9
comptime _LF: UInt8 = 10
comptime _CR: UInt8 = 13
comptime _SPACE: UInt8 = 32
comptime _QUOTE: UInt8 = 34
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS: UInt8 = 61
comptime _BACKSLASH: UInt8 = 92
comptime _DELETE: UInt8 = 127


def extensions_end(
    input: TerminatedInput, start: Int
) raises RemoteProtocolError -> Int:
    """Finds the CR that ends the extensions after a chunk-size, from where
    something other than CR is; -1 if octets are missing. Raises as soon as an
    octet that does not fit is here.

    Source: RFC 9112 section 7.1.1, `*( BWS ";" BWS token [ BWS "=" BWS ( token
    / quoted-string ) ] )`. Nothing uses them, but a parser that skips to the
    end of the line and one that pairs quotes must see the same end. Whitespace
    alone is no extension.
    """
    var position = start
    while True:
        position = _skip_whitespace(input, position)
        if position >= len(input):
            return -1
        if input[position] != _SEMICOLON:
            raise _misfit(input, position)
        position = _skip_whitespace(input, position + 1)
        var end = input.scan_class[TCHAR](position)
        if end >= len(input):
            return -1
        if end == position:
            raise _misfit(input, end)
        position = _skip_whitespace(input, end)
        if position < len(input) and input[position] == _EQUALS:
            position = _skip_whitespace(input, position + 1)
            end = _value_end(input, position)
            if end < 0:
                return -1
        if end < len(input) and input[end] == _CR:
            return end
        # Whitespace before `;` belongs to the next one.
        position = end


def _value_end(
    input: TerminatedInput, start: Int
) raises RemoteProtocolError -> Int:
    """Gives the offset after a token or a quoted string, or -1."""
    if start >= len(input):
        return -1
    if input[start] != _QUOTE:
        var end = input.scan_class[TCHAR](start)
        if end == start:
            raise _misfit(input, end)
        return end if end < len(input) else -1
    var position = start + 1
    while True:
        position = input.scan_class[QDTEXT](position)
        if position >= len(input):
            return -1
        var octet = input[position]
        if octet == _QUOTE:
            return position + 1 if position + 1 < len(input) else -1
        if octet == _BACKSLASH:
            position += 1
            if position >= len(input):
                return -1
            octet = input[position]
        # What may stand after a backslash, and text beyond ASCII.
        var is_control = octet < _SPACE and octet != _HTAB
        if is_control or octet == _DELETE:
            raise _misfit(input, position)
        position += 1


def _skip_whitespace(input: TerminatedInput, start: Int) -> Int:
    var position = start
    while input[position] == _SPACE or input[position] == _HTAB:
        position += 1
    return position


def _misfit(input: TerminatedInput, offset: Int) -> RemoteProtocolError:
    return RemoteProtocolError(materialize[Rule.CHUNK_EXTENSION](), offset)


comptime LAST_CHUNK = StaticString("0\r\n\r\n")
"""What ends a body without trailers (RFC 9112 section 7.1)."""


def append_chunk(mut out: Buffer, octets: Span[UInt8, _]):
    """Appends one chunk; nothing for no octets, since an empty chunk would be
    the last one.

    Source: RFC 9112 section 7.1.
    """
    if len(octets) == 0:
        return
    comptime DIGITS = StaticString("0123456789abcdef")
    var shift = 60
    while (len(octets) >> shift) == 0:
        shift -= 4
    while shift >= 0:
        out.append_octet(DIGITS.as_bytes().at((len(octets) >> shift) & 15))
        shift -= 4
    out.append_literal["\r\n"]()
    out.append(octets)
    out.append_literal["\r\n"]()


def append_last_chunk(mut out: Buffer, trailers: Trailers):
    """Appends the last chunk, and the trailer section after it.

    Source: RFC 9112 sections 7.1 and 7.1.2.
    """
    out.append_literal["0\r\n"]()
    if trailers:
        out.append(trailers.box.held()[].lines_octets())
    out.append_literal["\r\n"]()
