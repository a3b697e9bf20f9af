"""Field blocks, decoded (RFC 7541 sections 3 and 6)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.h2.error import Http2Error, Http2Rule
from flare.http.h2.hpack_table import (
    COPIED_LEN,
    FieldKind,
    HpackTable,
    STATIC_COUNT,
    STATIC_LINES,
    STATIC_NOTES,
    TABLE_LEN_MAX,
    note_of,
    static_octets,
    value_note_of,
)
from flare.http.h2.huffman import HUFFMAN_BROKEN, huffman_decode
from flare.http.message.fields import FieldLine
from std.builtin.globals import global_constant
from std.sys.intrinsics import likely, unlikely

comptime DECODED_LEN_MAX = 65_535
"""Longest decoded field block in bytes: offsets in a `FieldLine` have 16 bits. A
field of the static table counts a byte more, which stands after its name."""

comptime _INTEGER_MAX = 1 << 24
# No index, length or size that makes sense is larger.


@fieldwise_init
struct HpackField(TrivialRegisterPassable):
    """One decoded field."""

    var line: FieldLine
    """Where it stands in what was decoded."""
    var note: UInt8
    """Its kind, and what is wrong with it, by `FieldKind`."""
    var is_there: Bool
    """False at the end of the block."""


struct HpackDecoder(Movable):
    """What decodes the field blocks of one direction of a connection."""

    # Passed by its address, not by its fields.
    var _padding: Padding[200]
    var table: HpackTable
    """The dynamic table."""
    var has_added: Bool
    """True if the block has added to the table so far."""
    var _position: Int
    var _may_resize: Bool

    def __init__(out self):
        """Makes a decoder with an empty table of `TABLE_LEN_MAX`."""
        self._padding = {}
        self.table = HpackTable()
        self.has_added = False
        self._position = 0
        self._may_resize = True

    @no_inline
    def __deinit__(deinit self):
        return

    def begin(mut self):
        """Starts a new block."""
        self.has_added = False
        self._position = 0
        self._may_resize = True

    def next(
        mut self, block: Span[UInt8, _], mut out: Buffer
    ) raises Http2Error -> HpackField:
        """Decodes the next field, and gives it, or that there is none.

        Args:
            block: The whole block, the same from `begin` on.
            out: Gets name and value; what stands there stays where it is.

        Raises:
            Http2Error: If the block is not well-formed, or is longer than
                `DECODED_LEN_MAX` decoded; the connection has to end.
        """
        while self._position < len(block):
            var first = block.at(self._position)
            if likely(first & 0x80 != 0):
                self._may_resize = False
                return self._indexed(block, out)
            if first & 0xE0 == 0x20:
                self._resize(block)
                continue
            self._may_resize = False
            var is_kept = first & 0xC0 == 0x40
            var field = self._literal(block, out, 63 if is_kept else 15)
            if is_kept:
                self.has_added = True
                self.table.add(out.span(), field.line, field.note)
            return field
        return HpackField(FieldLine(0, 0, 0, 0), 0, False)

    @always_inline
    def _indexed(
        mut self, block: Span[UInt8, _], mut out: Buffer
    ) raises Http2Error -> HpackField:
        var index = self._integer(block, 127)
        var start = len(out)
        if index <= STATIC_COUNT:
            if index == 0:
                raise _broken()
            # SAFETY: the index was checked.
            var line = global_constant[STATIC_LINES]().unsafe_at(index - 1)
            var note = global_constant[STATIC_NOTES]().unsafe_at(index - 1)
            return _copy(static_octets(), line, note, out, start)
        var number = self._number(index)
        return _copy(
            self.table.octets(),
            self.table.line(number),
            self.table.note(number),
            out,
            start,
        )

    @always_inline
    def _number(self, index: Int) raises Http2Error -> Int:
        """Turns an index into the number of a dynamic entry."""
        var number = self.table.insert_count - (index - STATIC_COUNT)
        if not self.table.has(number):
            raise _broken()
        return number

    def _literal(
        mut self, block: Span[UInt8, _], mut out: Buffer, mask: Int
    ) raises Http2Error -> HpackField:
        var start = len(out)
        var index = self._integer(block, mask)
        var note: UInt8
        if index == 0:
            self._string(block, out)
            note = 0
        else:
            note = self._name(index, out)
        var name_len = len(out) - start
        self._string(block, out)
        if len(out) > DECODED_LEN_MAX:
            raise Http2Error(Http2Rule.FIELD_BLOCK_LEN, 0)
        var line = FieldLine(
            start, name_len, start + name_len, len(out) - start - name_len
        )
        if index == 0:
            note = note_of(out.terminate(), line)
        else:
            note = value_note_of(out.terminate(), line, note)
        return HpackField(line, note, True)

    def _name(mut self, index: Int, mut out: Buffer) raises Http2Error -> UInt8:
        """Copies the name of an entry; gives what is noted of it."""
        comptime NAME_BITS = FieldKind.KINDS | FieldKind.BAD_NAME
        if index <= STATIC_COUNT:
            # SAFETY: the index was checked.
            var line = global_constant[STATIC_LINES]().unsafe_at(index - 1)
            var start = line.name_offset()
            out.append(static_octets().between(start, start + line.name_len()))
            return global_constant[STATIC_NOTES]().unsafe_at(index - 1)
        var number = self._number(index)
        var line = self.table.line(number)
        var start = line.name_offset()
        out.append(self.table.octets().between(start, start + line.name_len()))
        return self.table.note(number) & NAME_BITS

    def _string(
        mut self, block: Span[UInt8, _], mut out: Buffer
    ) raises Http2Error:
        """Decodes a string (RFC 7541 section 5.2)."""
        if self._position >= len(block):
            raise _broken()
        var is_encoded = block.at(self._position) & 0x80 != 0
        var length = self._integer(block, 127)
        if length > len(block) - self._position:
            raise _broken()
        var octets = block.between(self._position, self._position + length)
        self._position += length
        if not is_encoded:
            out.append(octets)
        elif huffman_decode(out, octets) == HUFFMAN_BROKEN:
            raise _broken()

    @always_inline
    def _integer(
        mut self, block: Span[UInt8, _], mask: Int
    ) raises Http2Error -> Int:
        """Reads an integer of which the first octet has some bits (RFC 7541
        section 5.1)."""
        var number = Int(block.at(self._position)) & mask
        self._position += 1
        if likely(number < mask):
            return number
        return self._long_integer(block, number)

    @no_inline
    def _long_integer(
        mut self, block: Span[UInt8, _], first: Int
    ) raises Http2Error -> Int:
        var number = first
        var shift = 0
        while self._position < len(block):
            var octet = Int(block.at(self._position))
            self._position += 1
            number += (octet & 0x7F) << shift
            if number > _INTEGER_MAX:
                raise _broken()
            if octet < 0x80:
                return number
            shift += 7
            # Zeros could go on for ever.
            if shift > 28:
                raise _broken()
        raise _broken()

    def _resize(mut self, block: Span[UInt8, _]) raises Http2Error:
        """Takes a change of the table's size, which stands before all fields
        (RFC 7541 section 4.2)."""
        if not self._may_resize:
            raise _broken()
        var size_max = self._integer(block, 31)
        if size_max > TABLE_LEN_MAX:
            raise _broken()
        self.table.resize(size_max)


@always_inline
def _copy(
    source: Span[UInt8, _],
    line: FieldLine,
    note: UInt8,
    mut out: Buffer,
    start: Int,
) raises Http2Error -> HpackField:
    """Copies an entry, name and value at once, after what was decoded."""
    var name = line.name_offset()
    var value = line.value_offset()
    var value_len = line.value_len()
    var length = value + value_len - name
    if unlikely(start + length > DECODED_LEN_MAX):
        raise Http2Error(Http2Rule.FIELD_BLOCK_LEN, 0)
    if likely(length <= COPIED_LEN):
        # SAFETY: tables have so many octets from the start of each entry on.
        out.unsafe_append_few[COPIED_LEN](
            source.unsafe_ptr().unsafe_offset(name), length
        )
    else:
        out.append(source.between(name, name + length))
    return HpackField(
        FieldLine(start, line.name_len(), start + value - name, value_len),
        note,
        True,
    )


@no_inline
def _broken() -> Http2Error:
    return Http2Error(Http2Rule.COMPRESSION, 0)
