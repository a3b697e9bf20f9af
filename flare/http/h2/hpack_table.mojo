"""The tables of HPACK: the static one, and the one that both sides build from
what was sent (RFC 7541 sections 2.3 and 4).
"""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import TerminatedInput
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.scan import TCHAR, OctetClass
from flare.http.message.fields import FieldLine
from flare.http.message.target import AUTHORITY_IS_GOOD, authority_error
from std.builtin.globals import global_constant
from std.memory import unsafe_memmove

comptime STATIC_COUNT = 61
"""How many entries the static table has (RFC 7541 appendix A)."""

comptime ENTRY_OVERHEAD = 32
"""What an entry counts beside its octets (RFC 7541 section 4.1)."""

comptime TABLE_LEN_MAX = 4_096
"""The largest dynamic table on either side, in bytes: what holds unless SETTINGS
say otherwise, and few fields of a connection stay the same beyond it."""

# Name, HTAB, value, LF; in the order of the indices from 1 on (appendix A).
comptime _STATIC = StaticString(
    ":authority\t\n"
    ":method\tGET\n"
    ":method\tPOST\n"
    ":path\t/\n"
    ":path\t/index.html\n"
    ":scheme\thttp\n"
    ":scheme\thttps\n"
    ":status\t200\n"
    ":status\t204\n"
    ":status\t206\n"
    ":status\t304\n"
    ":status\t400\n"
    ":status\t404\n"
    ":status\t500\n"
    "accept-charset\t\n"
    "accept-encoding\tgzip, deflate\n"
    "accept-language\t\n"
    "accept-ranges\t\n"
    "accept\t\n"
    "access-control-allow-origin\t\n"
    "age\t\n"
    "allow\t\n"
    "authorization\t\n"
    "cache-control\t\n"
    "content-disposition\t\n"
    "content-encoding\t\n"
    "content-language\t\n"
    "content-length\t\n"
    "content-location\t\n"
    "content-range\t\n"
    "content-type\t\n"
    "cookie\t\n"
    "date\t\n"
    "etag\t\n"
    "expect\t\n"
    "expires\t\n"
    "from\t\n"
    "host\t\n"
    "if-match\t\n"
    "if-modified-since\t\n"
    "if-none-match\t\n"
    "if-range\t\n"
    "if-unmodified-since\t\n"
    "last-modified\t\n"
    "link\t\n"
    "location\t\n"
    "max-forwards\t\n"
    "proxy-authenticate\t\n"
    "proxy-authorization\t\n"
    "range\t\n"
    "referer\t\n"
    "refresh\t\n"
    "retry-after\t\n"
    "server\t\n"
    "set-cookie\t\n"
    "strict-transport-security\t\n"
    "transfer-encoding\t\n"
    "user-agent\t\n"
    "vary\t\n"
    "via\t\n"
    "www-authenticate\t\n"
    # No entry: what `COPIED_LEN` reads after the last one.
    "................................"
)


struct FieldKind:
    """What a field is to HTTP/2; the low bits of `HpackField.note`."""

    comptime OTHER = UInt8(0)
    """Nothing special."""
    comptime AUTHORITY = UInt8(1)
    """`:authority`"""
    comptime METHOD = UInt8(2)
    """`:method`"""
    comptime PATH = UInt8(3)
    """`:path`"""
    comptime SCHEME = UInt8(4)
    """`:scheme`"""
    comptime STATUS = UInt8(5)
    """`:status`"""
    comptime PROTOCOL = UInt8(6)
    """`:protocol`, of RFC 8441."""
    comptime PSEUDO_UNKNOWN = UInt8(7)
    """Any other name that begins with a colon."""
    comptime CONTENT_LENGTH = UInt8(8)
    """`content-length`"""
    comptime HOST = UInt8(9)
    """`host`"""
    comptime COOKIE = UInt8(10)
    """`cookie`, which may come in crumbs (RFC 9113 section 8.2.3)."""
    comptime TE = UInt8(11)
    """`te`, which may be `trailers` alone (RFC 9113 section 8.2.2)."""
    comptime OF_CONNECTION = UInt8(12)
    """A field of an HTTP/1.1 connection (RFC 9113 section 8.2.2)."""
    comptime PRIORITY = UInt8(13)
    """`priority` (RFC 9218)."""
    comptime EXPECT = UInt8(14)
    """`expect`"""

    comptime KINDS = UInt8(0x0F)
    """The bits of a note that hold the kind."""
    comptime BAD_NAME = UInt8(0x10)
    """The bit of a note that says: no token in lower case."""
    comptime BAD_VALUE = UInt8(0x20)
    """The bit of a note that says: control octets, or space around it."""
    comptime IS_HIGH = UInt8(0x40)
    """The bit of a note that says: octets from 0x80 up in the value."""
    comptime BAD_OF_KIND = UInt8(0x80)
    """The bit of a note that says: the value of `:authority` or `host` is no
    authority, or that of `te` is not `trailers`."""

    comptime PSEUDO_MAX = UInt8(7)
    """The last kind that is a pseudo-header field; OTHER is none."""


# Name, HTAB, letter of the kind from `A` for 0 on, LF.
comptime _KINDS = StaticString(
    ":authority\tB\n"
    ":method\tC\n"
    ":path\tD\n"
    ":scheme\tE\n"
    ":status\tF\n"
    ":protocol\tG\n"
    "content-length\tI\n"
    "host\tJ\n"
    "cookie\tK\n"
    "te\tL\n"
    "connection\tM\n"
    "keep-alive\tM\n"
    "proxy-connection\tM\n"
    "transfer-encoding\tM\n"
    "upgrade\tM\n"
    "priority\tN\n"
    "expect\tO\n"
)


@always_inline
def name_mark(name: Span[UInt8, _]) -> UInt64:
    """Gives one of 64 bits, by the length and the first octet of a name that is
    not empty."""
    return UInt64(1) << UInt64((len(name) + Int(name.at(0))) & 63)


comptime _KIND_COUNT = 17


def _make_kind_rows() -> Array[FieldLine, _KIND_COUNT]:
    """Finds where each name of `_KINDS` stands, and its letter, as a value."""
    var rows = Array[FieldLine, _KIND_COUNT](fill=FieldLine(0, 0, 0, 0))
    var text = _KINDS.as_bytes()
    var start = 0
    for index in range(_KIND_COUNT):
        var end = start
        while text[end] != 9:
            end += 1
        rows[index] = FieldLine(start, end - start, end + 1, 1)
        start = end + 3
    return rows^


comptime _KIND_ROWS = _make_kind_rows()


def _make_marks() -> UInt64:
    var marks = UInt64(0)
    var rows = _make_kind_rows()
    for index in range(_KIND_COUNT):
        var start = rows[index].name_offset()
        marks |= name_mark(
            _KINDS.as_bytes()[start : start + rows[index].name_len()]
        )
    return marks


# The bits of all names of `_KINDS`: a name without one is none of them, and need
# not be compared.
comptime _MARKS = _make_marks()


def kind_of(name: Span[UInt8, _]) -> UInt8:
    """Tells what a field is to HTTP/2: one of `FieldKind`."""
    if len(name) == 0:
        return FieldKind.OTHER
    if name_mark(name) & _MARKS != 0:
        # SAFETY: the index stays below the number of rows.
        ref rows = global_constant[_KIND_ROWS]()
        var text = _KINDS.as_bytes()
        for index in range(_KIND_COUNT):
            var row = rows.unsafe_at(index)
            if row.name_len() != len(name):
                continue
            var start = row.name_offset()
            if same_octets(text.between(start, start + len(name)), name):
                return text.at(row.value_offset()) - 65
    if name.at(0) == 58:
        return FieldKind.PSEUDO_UNKNOWN
    return FieldKind.OTHER


def _make_static() -> Array[FieldLine, STATIC_COUNT]:
    var lines = Array[FieldLine, STATIC_COUNT](fill=FieldLine(0, 0, 0, 0))
    var text = _STATIC.as_bytes()
    var start = 0
    for index in range(STATIC_COUNT):
        var colon = start
        while text[colon] != 9:
            colon += 1
        var end = colon
        while text[end] != 10:
            end += 1
        lines[index] = FieldLine(
            start, colon - start, colon + 1, end - colon - 1
        )
        start = end + 1
    return lines^


def _make_static_notes() -> Array[UInt8, STATIC_COUNT]:
    var notes = Array[UInt8, STATIC_COUNT](fill=0)
    var lines = _make_static()
    for index in range(STATIC_COUNT):
        var line = lines[index]
        var start = line.name_offset()
        notes[index] = kind_of(
            _STATIC.as_bytes()[start : start + line.name_len()]
        )
    return notes^


comptime STATIC_LINES = _make_static()
"""Where name and value of each static entry stand in `static_octets`."""

comptime STATIC_NOTES = _make_static_notes()


@always_inline
def static_octets() -> Span[UInt8, ImmStaticOrigin]:
    """Lends the octets that `STATIC_LINES` points into."""
    return _STATIC.as_bytes()


comptime _LOWER_TOKEN = OctetClass(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
)


def note_of(input: TerminatedInput, line: FieldLine) -> UInt8:
    """Tells a field's kind, and what is wrong with it by the rules of RFC 9113
    section 8.2.1, and RFC 9110 section 5.5 where it is stricter."""
    var name = line.name_offset()
    var name_len = line.name_len()
    var note = kind_of(input.span(name, name_len))
    var first = name
    if note > 0 and note <= FieldKind.PSEUDO_MAX:
        first += 1
    if first >= name + name_len or (
        input.scan_class[_LOWER_TOKEN](first) < name + name_len
    ):
        note |= FieldKind.BAD_NAME
    return value_note_of(input, line, note)


def value_note_of(
    input: TerminatedInput, line: FieldLine, name_note: UInt8
) -> UInt8:
    """Adds to `name_note` what is wrong with a field's value, as `note_of`
    does; nothing stands after the value."""
    var note = name_note
    var start = line.value_offset()
    var end = start + line.value_len()
    var kind = note & FieldKind.KINDS
    if kind == FieldKind.AUTHORITY or kind == FieldKind.HOST:
        # SAFETY: the terminator stands after the value.
        if start == end or (
            authority_error(input.unsafe_base(), start, end)
            != AUTHORITY_IS_GOOD
        ):
            note |= FieldKind.BAD_OF_KIND
    elif kind == FieldKind.TE and not equals_ignore_case(
        input.span(start, end - start), "trailers".as_bytes()
    ):
        note |= FieldKind.BAD_OF_KIND
    if start == end:
        return note
    var first = input[start]
    var last = input[end - 1]
    if first == 32 or first == 9 or last == 32 or last == 9:
        note |= FieldKind.BAD_VALUE
    var stop = input.scan_field_value(start)
    if stop.offset < end:
        note |= FieldKind.BAD_VALUE
    if stop.has_high_octets:
        # It may also have been one after the value.
        note |= FieldKind.IS_HIGH
    return note


comptime COPIED_LEN = 32
"""So many octets from the start of an entry on can be read, in bytes, however
short it is: an entry is copied at once."""

comptime _RING_LEN_MIN = 16
# Lengths of the ring are powers of two.

comptime _OCTETS_LEN_MIN = 512


struct HpackTable(Movable):
    """A dynamic table (RFC 7541 section 2.3.2).

    Octets are appended to a list, name and value side by side; when its end is
    reached, what still counts moves to its start. It grows to twice the table's
    size at most, so that the cost of that is less than an octet moved for each
    one added. Nothing is allocated before the first entry, and little for a few:
    most connections of a crowd have few fields, and wait.
    """

    var _octets: List[UInt8]
    var _tail: Int
    var _lines: List[FieldLine]
    var _notes: List[UInt8]
    var insert_count: Int
    """How many entries were ever added; the newest has that number less 1."""
    var count: Int
    var size: Int
    """What they count, in bytes."""
    var size_max: Int
    """What they may count, in bytes; at most `TABLE_LEN_MAX`."""

    def __init__(out self):
        self._octets = []
        self._tail = 0
        self._lines = []
        self._notes = []
        self.insert_count = 0
        self.count = 0
        self.size = 0
        self.size_max = TABLE_LEN_MAX

    def resize(mut self, size_max: Int):
        """Changes how many bytes fit, at most `TABLE_LEN_MAX`; the oldest
        entries go (RFC 7541 section 4.3)."""
        self.size_max = size_max
        while self.size > size_max:
            self._evict()

    @always_inline
    def octets(self) -> Span[UInt8, ImmOrigin(origin_of(self._octets))]:
        """Lends what the lines point into, until the next `add`."""
        return Span(self._octets)

    @always_inline
    def line(self, number: Int) -> FieldLine:
        """Tells where in `octets` an entry stands that is there, counted from
        the first one of the connection."""
        debug_assert(self.has(number), "there is no such entry")
        # SAFETY: there is an entry, so that the length is a power of two.
        return self._lines.unsafe_at(number & (len(self._lines) - 1))

    @always_inline
    def note(self, number: Int) -> UInt8:
        """Tells what `add` noted of an entry that is there, counted from the
        first one of the connection."""
        debug_assert(self.has(number), "there is no such entry")
        # SAFETY: as for `line`; there are as many notes.
        return self._notes.unsafe_at(number & (len(self._notes) - 1))

    @always_inline
    def has(self, number: Int) -> Bool:
        """Tells whether an entry, counted from the first one of the connection,
        is still there."""
        return number < self.insert_count and (
            number >= self.insert_count - self.count
        )

    @always_inline
    def takes(self, length: Int) -> Bool:
        """Tells whether an entry with so many octets of name and value is not
        larger than the table."""
        return length + ENTRY_OVERHEAD <= self.size_max

    def add(mut self, source: Span[UInt8, _], line: FieldLine, note: UInt8):
        """Adds an entry; the oldest go for it (RFC 7541 section 4.4). Its name
        and right after it the value are in `source`, not the table's own
        octets."""
        var length = line.name_len() + line.value_len()
        while self.count > 0 and (
            self.size + length + ENTRY_OVERHEAD > self.size_max
        ):
            self._evict()
        if not self.takes(length):
            return
        if self.count == len(self._lines):
            self._grow_ring()
        if self._tail + length + COPIED_LEN > len(self._octets):
            self._make_room(length)
        var start = self._tail
        var name = line.name_offset()
        debug_assert(line.value_offset() == name + line.name_len(), "apart")
        Span(self._octets).between(start, start + length).copy_from(
            source.between(name, name + length)
        )
        self._tail += length
        var index = self.insert_count & (len(self._lines) - 1)
        self._lines.at(index) = FieldLine(
            start, line.name_len(), start + line.name_len(), line.value_len()
        )
        self._notes.at(index) = note
        self.insert_count += 1
        self.count += 1
        self.size += length + ENTRY_OVERHEAD

    def _evict(mut self):
        var oldest = self.line(self.insert_count - self.count)
        self.size -= oldest.name_len() + oldest.value_len() + ENTRY_OVERHEAD
        self.count -= 1

    @no_inline
    def _grow_ring(mut self):
        """Doubles the ring; entries are found by their number as before."""
        var before_len = len(self._lines)
        var length = max(2 * before_len, _RING_LEN_MIN)
        self._lines.resize(length, FieldLine(0, 0, 0, 0))
        self._notes.resize(length, 0)
        for number in range(self.insert_count - self.count, self.insert_count):
            var before = number & (before_len - 1)
            var after = number & (length - 1)
            # Only to the upper half, which was empty, or to where it is.
            var line = self._lines.at(before)
            self._lines.at(after) = line
            var note = self._notes.at(before)
            self._notes.at(after) = note

    @no_inline
    def _make_room(mut self, length: Int):
        self._move_down()
        var wanted_len = 2 * (self._tail + length) + COPIED_LEN
        if wanted_len > len(self._octets):
            self._octets.resize(
                min(
                    max(wanted_len, _OCTETS_LEN_MIN),
                    2 * TABLE_LEN_MAX + COPIED_LEN,
                ),
                0,
            )

    def _move_down(mut self):
        """Moves what still counts to the start of the octets."""
        # SAFETY: what counts lies within the octets, before the tail.
        var first = self._tail
        if self.count > 0:
            first = self.line(self.insert_count - self.count).name_offset()
        var base = self._octets.unsafe_ptr().unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        unsafe_memmove(
            dest=base,
            src=base.unsafe_offset(first),
            count=self._tail - first,
        )
        self._tail -= first
        for number in range(self.insert_count - self.count, self.insert_count):
            var line = self.line(number)
            self._lines.at(number & (len(self._lines) - 1)) = FieldLine(
                line.name_offset() - first,
                line.name_len(),
                line.value_offset() - first,
                line.value_len(),
            )


def is_visible(octets: Span[UInt8, _]) -> Bool:
    """Tells whether all octets are visible ASCII."""
    for octet in octets:
        if octet < 33 or octet > 126:
            return False
    return True


def is_token(octets: Span[UInt8, _]) -> Bool:
    """Tells whether octets are those of a token (RFC 9110 section 5.6.2)."""
    for octet in octets:
        if not materialize[TCHAR]().contains(octet):
            return False
    return True
