"""Field blocks, encoded (RFC 7541 section 6)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import load_ends, same_octets, same_short
from flare.bytes.scan import load64
from flare.http.h2.hpack_table import (
    HpackTable,
    STATIC_COUNT,
    STATIC_LINES,
    TABLE_LEN_MAX,
    name_mark,
    static_octets,
)
from flare.http.h2.huffman import huffman_encode, huffman_len
from flare.http.message.fields import FieldLine
from flare.http.message.header_map import HeaderMap
from std.builtin.globals import global_constant
from std.memory import ArcPointer, unsafe_memset_zero
from std.sys.intrinsics import likely, unlikely


@fieldwise_init
struct Indexing(Equatable, TrivialRegisterPassable):
    """What is kept of a field for the next block (RFC 7541 section 6.2)."""

    var number: UInt8
    """The case."""

    comptime KEPT = Indexing(0)
    """Name and value: the field will come again."""
    comptime NOT_KEPT = Indexing(1)
    """Nothing: the value will be another."""
    comptime NEVER = Indexing(2)
    """Nothing, and no proxy may do so either: the value is a secret (RFC 7541
    section 7.1.3)."""


# How fields are kept that are not kept: name, HTAB, letter, LF. `n` is not kept
# because it changes from message to message, `s` because it is a secret.
comptime _NOT_KEPT = StaticString(
    "content-length\tn\n"
    "etag\tn\n"
    "location\tn\n"
    "last-modified\tn\n"
    "content-range\tn\n"
    "age\tn\n"
    "if-none-match\tn\n"
    "if-modified-since\tn\n"
    "traceparent\tn\n"
    "x-request-id\tn\n"
    "authorization\ts\n"
    "proxy-authorization\ts\n"
    "set-cookie\ts\n"
    "cookie\ts\n"
)

comptime _NOT_KEPT_COUNT = 14


def _line_starts() -> Array[UInt8, _NOT_KEPT_COUNT + 1]:
    var starts = Array[UInt8, _NOT_KEPT_COUNT + 1](fill=0)
    var count = 1
    var text = _NOT_KEPT.as_bytes()
    for offset in range(len(text)):
        if text[offset] == 10:
            starts[count] = UInt8(offset + 1)
            count += 1
    return starts^


# Where each line of `_NOT_KEPT` starts, and where the last one ends.
comptime _NOT_KEPT_STARTS = _line_starts()


def _make_marks() -> UInt64:
    var text = _NOT_KEPT.as_bytes()
    var starts = _line_starts()
    var marks = UInt64(0)
    for index in range(_NOT_KEPT_COUNT):
        marks |= name_mark(
            text[Int(starts[index]) : Int(starts[index + 1]) - 3]
        )
    return marks


# The bits of all names of `_NOT_KEPT`: a name without one is none of them.
comptime _NOT_KEPT_MARKS = _make_marks()

comptime _SLOT_COUNT = 64

comptime _REPEATED_LEN_MAX = 16
# Most octets of shared fields that are kept, encoded.


@fieldwise_init
struct UsualField(TrivialRegisterPassable):
    """A field that nearly every head has, mostly with the value of the last one."""

    var place: Int
    """Where the encoder keeps its entry."""

    comptime CONTENT_TYPE = UsualField(0)
    """`content-type`"""
    comptime DATE = UsualField(1)
    """`date`"""

    comptime COUNT = 2


def indexing_of(name: Span[UInt8, _]) -> Indexing:
    """Decides what is kept of a field, by its name in lower case."""
    if len(name) == 0 or name_mark(name) & _NOT_KEPT_MARKS == 0:
        return Indexing.KEPT
    var text = _NOT_KEPT.as_bytes()
    ref starts = global_constant[_NOT_KEPT_STARTS]()
    for index in range(_NOT_KEPT_COUNT):
        # SAFETY: there is one start more than there are lines.
        var start = Int(starts.unsafe_at(index))
        var end = Int(starts.unsafe_at(index + 1)) - 3
        if end - start == len(name) and same_octets(
            text.between(start, end), name
        ):
            if text.at(end + 1) == 115:
                return Indexing.NEVER
            return Indexing.NOT_KEPT
    return Indexing.KEPT


struct HpackEncoder(Movable):
    """What encodes the field blocks of one direction of a connection."""

    var _table: HpackTable
    # The number of an entry by a hash of its field, and 1 more; 0 is none. An
    # array, so that the encoder goes by its address into each call.
    var _slots: Array[UInt32, _SLOT_COUNT]
    # The number of the entry of each usual field; -1 for none.
    var _usual: Array[Int, UsualField.COUNT]
    # Shared fields that were encoded last without a new entry, and what came of
    # it: they come to the same until the table changes.
    var _shared: Optional[ArcPointer[HeaderMap]]
    var _shared_count: Int
    var _shared_octets: Array[UInt8, _REPEATED_LEN_MAX]
    var _shared_len: Int
    var _least_max: Int
    var _owes_size: Bool

    def __init__(out self):
        """Makes an encoder with an empty table of `TABLE_LEN_MAX`."""
        self._table = HpackTable()
        # SAFETY: zeros are numbers.
        self._slots = Array[UInt32, _SLOT_COUNT](uninitialized=True)
        unsafe_memset_zero(self._slots.unsafe_ptr(), count=_SLOT_COUNT)
        self._usual = Array[Int, UsualField.COUNT](fill=-1)
        self._shared = None
        self._shared_count = 0
        self._shared_octets = Array[UInt8, _REPEATED_LEN_MAX](fill=0)
        self._shared_len = 0
        self._least_max = TABLE_LEN_MAX
        self._owes_size = False

    def set_size_max(mut self, size_max: Int):
        """Takes over SETTINGS_HEADER_TABLE_SIZE of the peer (RFC 7541 section
        4.2); the next block tells it so.

        Args:
            size_max: Bytes; of more than `TABLE_LEN_MAX` no use is made.
        """
        var own_max = min(size_max, TABLE_LEN_MAX)
        if own_max == self._table.size_max and not self._owes_size:
            return
        if not self._owes_size:
            self._least_max = own_max
        self._least_max = min(self._least_max, own_max)
        self._table.resize(own_max)
        self._shared = None
        self._owes_size = True

    def begin(mut self, mut out: Buffer):
        """Starts a block.

        Args:
            out: Where to.
        """
        if likely(not self._owes_size):
            return
        if self._least_max < self._table.size_max:
            append_integer[5](out, 0x20, self._least_max)
        append_integer[5](out, 0x20, self._table.size_max)
        self._least_max = self._table.size_max
        self._owes_size = False

    def add_status(mut self, mut out: Buffer, status: Int):
        """Encodes `:status`.

        Args:
            status: The status, of three digits.
        """
        var index = 0
        if status == 200:
            index = 8
        elif status == 204:
            index = 9
        elif status == 206:
            index = 10
        elif status == 304:
            index = 11
        elif status == 400:
            index = 12
        elif status == 404:
            index = 13
        elif status == 500:
            index = 14
        if likely(index > 0):
            out.append_octet(UInt8(0x80 | index))
            return
        out.append_octet(0x08)
        out.append_octet(3)
        out.append_decimal(status)

    @always_inline
    def add(
        mut self,
        mut out: Buffer,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        indexing: Indexing,
    ):
        """Encodes a field.

        Args:
            name: The name in lower case.
            value: The value.
            indexing: What is kept of it.
        """
        if likely(
            indexing == Indexing.KEPT and self.add_kept(out, name, value)
        ):
            return
        self._add_other(out, name, value, indexing)

    @always_inline
    def add_usual[
        field: UsualField
    ](mut self, mut out: Buffer, name: Span[UInt8, _], value: Span[UInt8, _]):
        """Encodes a field that nearly every head has.

        Parameters:
            field: Which one.
        """
        var number = self._usual.at(field.place)
        if likely(self._table.has(number)):
            var line = self._table.line(number)
            var start = line.value_offset()
            if likely(
                same_short(
                    self._table.octets().between(
                        start, start + line.value_len()
                    ),
                    value,
                )
            ):
                self._refer(out, number)
                return
        self._add_usual(out, name, value, field.place)

    @no_inline
    def _add_usual(
        mut self,
        mut out: Buffer,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        place: Int,
    ):
        """Encodes a usual field that has another value than before."""
        var slot = _hash(name, value)
        for other in range(2):
            var number = Int(self._slots.at(slot ^ other)) - 1
            if self._is_entry(number, name, value):
                self._usual.at(place) = number
                self._refer(out, number)
                return
        self._add_other(out, name, value, Indexing.KEPT)

    @always_inline
    def add_shared(
        self, mut out: Buffer, fields: ArcPointer[HeaderMap]
    ) -> Bool:
        """Encodes fields that `note_shared` has noted last; gives False, and
        writes nothing, if they have to be encoded one by one.

        Args:
            fields: The fields, which do not change while they are shared.
        """
        if not self._shared or not (self._shared.held() is fields):
            return False
        if unlikely(self._shared_count != self._table.insert_count):
            return False
        # SAFETY: the array has so many octets.
        out.unsafe_append_few[_REPEATED_LEN_MAX](
            self._shared_octets.unsafe_ptr(), self._shared_len
        )
        return True

    @no_inline
    def note_shared(
        mut self, fields: ArcPointer[HeaderMap], octets: Span[UInt8, _]
    ):
        """Notes what shared fields were encoded to, with nothing kept anew.

        Args:
            octets: What was written.
        """
        if len(octets) > _REPEATED_LEN_MAX:
            return
        self._shared = fields
        self._shared_count = self._table.insert_count
        self._shared_len = len(octets)
        for index in range(len(octets)):
            self._shared_octets.at(index) = octets.at(index)

    def entry_count(self) -> Int:
        """Counts the entries that were ever made."""
        return self._table.insert_count

    @no_inline
    def add_kept(
        self, mut out: Buffer, name: Span[UInt8, _], value: Span[UInt8, _]
    ) -> Bool:
        """Encodes a field of which an earlier block has had name and value
        kept; gives False, and writes nothing, if it is to be encoded by `add`.
        """
        var number = Int(self._slots.at(_hash(name, value))) - 1
        if unlikely(not self._is_entry(number, name, value)):
            return False
        self._refer(out, number)
        return True

    @always_inline
    def _refer(self, mut out: Buffer, number: Int):
        """Writes the index of an entry."""
        var index = STATIC_COUNT + self._table.insert_count - number
        append_integer[7](out, 0x80, index)

    @no_inline
    def _add_other(
        mut self,
        mut out: Buffer,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        indexing: Indexing,
    ):
        """Encodes a field that its slot does not have."""
        if likely(indexing == Indexing.KEPT):
            # Two fields of one slot would drive each other out of it: the older
            # entry of two slots goes.
            var slot = _hash(name, value)
            var number = Int(self._slots.at(slot ^ 1)) - 1
            if self._is_entry(number, name, value):
                self._refer(out, number)
                return
            if Int(self._slots.at(slot)) - 1 > number:
                slot ^= 1
            var static = find_static(name, value)
            if static.is_whole:
                append_integer[7](out, 0x80, static.index)
                return
            if likely(self._table.takes(len(name) + len(value))):
                self._keep(out, name, value, static.index, slot)
                return
        var index = find_static(name, value).index
        if indexing == Indexing.NEVER:
            append_integer[4](out, 0x10, index)
        else:
            append_integer[4](out, 0, index)
        if index == 0:
            append_string(out, name)
        append_string(out, value)

    def _keep(
        mut self,
        mut out: Buffer,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        index: Int,
        slot: Int,
    ):
        append_integer[6](out, 0x40, index)
        if index == 0:
            append_string(out, name)
        append_string(out, value)
        var field = Buffer(0)
        field.append(name)
        field.append(value)
        var before = self._table.insert_count
        self._table.add(
            field.span(), FieldLine(0, len(name), len(name), len(value)), 0
        )
        if self._table.insert_count > before:
            # After 2^32 entries none is found, and a field is added again.
            self._slots.at(slot) = UInt32(before + 1)

    def add_content_length(mut self, mut out: Buffer, length: Int):
        """Encodes `content-length`, which is not kept: the next is another.

        Args:
            length: What it says, at least 0.
        """
        comptime INDEX = find_static("content-length".as_bytes(), "".as_bytes())
        append_integer[4](out, 0, INDEX.index)
        var start = len(out)
        # The octet of its length comes first; the Huffman code saves digits
        # an octet at most.
        out.append_octet(0)
        out.append_decimal(length)
        # SAFETY: the octet was just appended.
        out.unsafe_base()[unsafe_offset=start] = UInt8(len(out) - start - 1)

    @always_inline
    def _is_entry(
        self, number: Int, name: Span[UInt8, _], value: Span[UInt8, _]
    ) -> Bool:
        """Tells whether a number, -1 for none, is that of an entry that has name
        and value."""
        if not self._table.has(number):
            return False
        var line = self._table.line(number)
        if line.name_len() != len(name) or line.value_len() != len(value):
            return False
        # The value stands right behind the name.
        var start = line.name_offset()
        var octets = self._table.octets().between(
            start, start + len(name) + len(value)
        )
        return same_short(octets.after(len(name)), value) and same_short(
            octets.before(len(name)), name
        )


@fieldwise_init
struct StaticMatch(TrivialRegisterPassable):

    var index: Int
    """The index; 0 if it does not have the name."""
    var is_whole: Bool
    """True if it has the value, too."""


def find_static(name: Span[UInt8, _], value: Span[UInt8, _]) -> StaticMatch:
    """Looks a field up in the static table, by its name in lower case: the
    first entry with the name, or one with name and value."""
    # SAFETY: the index stays below the number of entries.
    ref lines = global_constant[STATIC_LINES]()
    var octets = static_octets()
    var found = 0
    for index in range(STATIC_COUNT):
        var line = lines.unsafe_at(index)
        var start = line.name_offset()
        if (
            line.name_len() != len(name)
            or octets.unsafe_at(start + len(name) - 1)
            != name.unsafe_at(len(name) - 1)
            or not same_octets(octets.between(start, start + len(name)), name)
        ):
            if found > 0:
                # Entries of one name stand together.
                break
            continue
        if found == 0:
            found = index + 1
        start = line.value_offset()
        if same_octets(octets.between(start, start + line.value_len()), value):
            return StaticMatch(index + 1, True)
    return StaticMatch(found, False)


@always_inline
def _hash(name: Span[UInt8, _], value: Span[UInt8, _]) -> Int:
    """Chooses a slot by the lengths and a few octets of a field."""
    var mix = UInt64(len(name)) * 31 + UInt64(len(value))
    mix = mix * 0x9E37_79B9_7F4A_7C15 + _ends(name)
    mix = mix * 0x9E37_79B9_7F4A_7C15 + _ends(value)
    mix = mix * 0x9E37_79B9_7F4A_7C15
    return Int(mix >> 58)


@always_inline
def _ends(octets: Span[UInt8, _]) -> UInt64:
    # SAFETY: what is read lies within the octets.
    var length = len(octets)
    if length >= 8:
        var base = (
            octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        return load64(base, 0) ^ (load64(base, length - 8) << 1)
    if length >= 4:
        return load_ends(octets.unsafe_ptr(), length)
    var word = UInt64(0)
    for octet in octets:
        word = (word << 8) | UInt64(octet)
    return word


@always_inline
def append_integer[prefix_len: Int](mut out: Buffer, first: UInt8, number: Int):
    """Writes an integer, at least 0 (RFC 7541 section 5.1). Of the first octet,
    `prefix_len` bits are its own; the others are from `first`."""
    comptime MASK = (1 << prefix_len) - 1
    if likely(number < MASK):
        out.append_octet(first | UInt8(number))
        return
    out.append_octet(first | UInt8(MASK))
    var rest = number - MASK
    while rest >= 0x80:
        out.append_octet(UInt8(0x80 | (rest & 0x7F)))
        rest >>= 7
    out.append_octet(UInt8(rest))


def append_string(mut out: Buffer, octets: Span[UInt8, _]):
    """Writes a string, in the Huffman code if that is shorter (RFC 7541 section
    5.2).
    """
    var encoded_len = huffman_len(octets)
    if encoded_len < len(octets):
        append_integer[7](out, 0x80, encoded_len)
        huffman_encode(out, octets)
    else:
        append_integer[7](out, 0, len(octets))
        out.append(octets)
