"""HPACK as RFC 7541 tells it, with lists in place of what makes it fast."""

from flare.bytes.buffer import Buffer
from flare.http.h2.hpack_decoder import DECODED_LEN_MAX
from flare.http.h2.hpack_table import STATIC_LINES, static_octets
from flare.http.h2.huffman import HUFFMAN_BROKEN, huffman_decode

comptime _INTEGER_MAX = 1 << 24
comptime _BROKEN = -1


@fieldwise_init
struct PlainField(Copyable, Movable):
    """A field, or an entry of a table."""

    var name: List[UInt8]
    var value: List[UInt8]

    def size(self) -> Int:
        """Counts it as section 4.1 does."""
        return len(self.name) + len(self.value) + 32


struct PlainDecoder(Movable):
    """Decodes the blocks of a connection, slowly."""

    var entries: List[PlainField]
    """The dynamic table, the newest first."""
    var size_max: Int
    var fields: List[PlainField]
    """What the last block held, up to what is wrong."""
    var _block: List[UInt8]
    var _position: Int
    var _decoded_len: Int

    def __init__(out self):
        self.entries = []
        self.size_max = 4_096
        self.fields = []
        self._block = []
        self._position = 0
        self._decoded_len = 0

    def size(self) -> Int:
        """Counts the table (section 4.1)."""
        var size = 0
        for ref entry in self.entries:
            size += entry.size()
        return size

    def decode(mut self, block: Span[UInt8, _]) -> Bool:
        """Decodes a block; False if it is none."""
        self._block = List[UInt8]()
        self._block.extend(block)
        self._position = 0
        self._decoded_len = 0
        self.fields = []
        var may_resize = True
        while self._position < len(self._block):
            var first = Int(self._block[self._position])
            if first >= 32 and first < 64:
                var size = self._integer(32)
                if not may_resize or size < 0 or size > 4_096:
                    return False
                self.size_max = size
                self._evict(0)
                continue
            may_resize = False
            if not self._take_field(first):
                return False
        return True

    def _take_field(mut self, first: Int) -> Bool:
        if first >= 128:
            return self._add(self._integer(128), True)
        if first >= 64:
            if not self._add(self._integer(64), False):
                return False
            self._insert(self.fields[len(self.fields) - 1].copy())
            return True
        return self._add(self._integer(16), False)

    def _add(mut self, index: Int, is_whole: Bool) -> Bool:
        """Takes the field of an index, or its name with a new value."""
        var field = PlainField(List[UInt8](), List[UInt8]())
        if index < 0 or (index == 0 and is_whole):
            return False
        if index > 61 + len(self.entries):
            return False
        if index > 61:
            field = self.entries[index - 62].copy()
        elif index > 0:
            var lines = materialize[STATIC_LINES]()
            var line = lines[index - 1]
            field.name.extend(_part(line.name_offset(), line.name_len()))
            field.value.extend(_part(line.value_offset(), line.value_len()))
        elif not self._string(field.name):
            return False
        if not is_whole:
            field.value = List[UInt8]()
            if not self._string(field.value):
                return False
        self._decoded_len += len(field.name) + len(field.value)
        if is_whole and index <= 61:
            # A static field is copied with what stands between name and value.
            self._decoded_len += 1
        if self._decoded_len > DECODED_LEN_MAX:
            return False
        self.fields.append(field^)
        return True

    def _insert(mut self, var field: PlainField):
        """Adds an entry (section 4.4)."""
        self._evict(field.size())
        if field.size() <= self.size_max:
            self.entries.insert(0, field^)

    def _evict(mut self, room: Int):
        while len(self.entries) > 0 and self.size() + room > self.size_max:
            _ = self.entries.pop()

    def _integer(mut self, limit: Int) -> Int:
        """Reads an integer of which the first octet has what is below a limit
        (section 5.1)."""
        if self._position >= len(self._block):
            return _BROKEN
        var number = Int(self._block[self._position]) % limit
        self._position += 1
        if number < limit - 1:
            return number
        var factor = 1
        for _ in range(5):
            if self._position >= len(self._block):
                return _BROKEN
            var octet = Int(self._block[self._position])
            self._position += 1
            number += octet % 128 * factor
            if number > _INTEGER_MAX:
                return _BROKEN
            if octet < 128:
                return number
            factor *= 128
        return _BROKEN

    def _string(mut self, mut out: List[UInt8]) -> Bool:
        """Reads a string (section 5.2)."""
        if self._position >= len(self._block):
            return False
        var is_encoded = self._block[self._position] >= 128
        var length = self._integer(128)
        if length < 0 or self._position + length > len(self._block):
            return False
        var octets = Span(self._block)[self._position : self._position + length]
        self._position += length
        if not is_encoded:
            out.extend(octets)
            return True
        var room = Buffer()
        if huffman_decode(room, octets) == HUFFMAN_BROKEN:
            return False
        out.extend(room.span())
        return True


def _part(start: Int, length: Int) -> Span[UInt8, ImmStaticOrigin]:
    return static_octets()[start : start + length]
