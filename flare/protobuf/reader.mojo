"""Messages read from octets."""

# SAFETY: the octets are the caller's, who keeps them for the call; each read
# looks at `_end` first, which never lies after them. Places are as in
# flare/protobuf/message.mojo.

from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.bytes.copy import list_of, refill, text_of
from flare.bytes.scan import load32, load64
from flare.bytes.utf8 import is_valid_utf8
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)
from flare.protobuf.kind import FieldKind, Form, Keeping
from flare.protobuf.message import (
    Field,
    FillEntry,
    Link,
    Message,
    MessageTable,
    Place,
    VisitEntry,
    name_field,
    place_of,
    refused,
    single,
    table_of,
    within,
)
from std.sys.intrinsics import likely, unlikely

comptime VARINT = 0
comptime FIXED64 = 1
comptime LENGTH = 2
comptime GROUP_START = 3
comptime GROUP_END = 4
comptime FIXED32 = 5

comptime TAG_OCTETS_MAX = 5
"""Most octets of a tag: 29 bits of number and 3 of wire type."""

comptime VARINT_OCTETS_MAX = 10
"""Most octets of a varint, seven bits each."""

comptime LENGTH_MAX = UInt64(0x7FFFFFFF)
"""Longest field (encoding document, "Size Limits")."""


def decode[
    M: Message
](
    octets: Span[UInt8, _],
    limits: ProtobufLimits = ProtobufLimits.DEFAULT,
) raises ProtobufError -> M:
    """Reads a message.

    Source: https://protobuf.dev/programming-guides/encoding/. Lists of numbers
    are read packed and one by one, of a plain field the last value counts, and
    pieces of one message are merged. Fields that are not known, groups among
    them, are kept.

    Parameters:
        M: The message's type.

    Args:
        octets: The whole message.
        limits: Length and depth allowed.

    Returns:
        The message.

    Raises:
        ProtobufError: If the octets are no such message, or a required field is
            missing; it says which field, and where.
    """
    var message = M()
    merge(message, octets, limits)
    return message^


def merge[
    M: Message
](
    mut message: M,
    octets: Span[UInt8, _],
    limits: ProtobufLimits = ProtobufLimits.DEFAULT,
) raises ProtobufError:
    """Reads a message into one that is there: plain fields are replaced, lists
    grow, messages within are merged.

    Parameters:
        M: The message's type.

    Args:
        message: What is read into; after an error it has what came before.
        octets: The whole message.
        limits: Length and depth allowed.

    Raises:
        ProtobufError: As for `decode`.
    """
    merge_into(place_of(message), table_of[M](), octets, limits)


def merge_into(
    message: Place,
    table: MessageTable,
    octets: Span[UInt8, _],
    limits: ProtobufLimits,
) raises ProtobufError:
    """Reads a message into one whose type is known by its table alone."""
    if len(octets) > limits.length_max:
        raise ProtobufError(
            ProtobufErrorKind.TOO_LONG,
            limits.length_max,
            "no more octets than ProtobufLimits.length_max",
            String(len(octets)),
        )
    # SAFETY: the reader does not outlive the call.
    var reader = _Reader(
        unsafe_lend[ImmUntrackedOrigin](octets.unsafe_ptr(), len(octets)),
        limits.depth_max,
        _fill_entry,
    )
    reader.merge(message, table)
    if reader.saw_required:
        check_message(message, table)


def check_message(message: Place, table: MessageTable) raises ProtobufError:
    """Looks for required fields without a value, in messages within, too."""
    _Requirements(_check_entry).check(message, table)


@fieldwise_init
struct _Requirements(TrivialRegisterPassable):
    """Looks for required fields without a value, in all messages within, too."""

    var visit: VisitEntry
    """The function for entries of maps; it stands here as in `_Reader`."""

    @no_inline
    def check(self, message: Place, table: MessageTable) raises ProtobufError:
        for index in range(len(table.fields)):
            ref field = table.fields.unsafe_at(index)
            if field.row.is_required and not has_value(
                field, message, table, index
            ):
                raise missing(table, index)
            if field.form != Form.MESSAGE:
                continue
            var link = table.link(index)
            var place = within(message, field.offset)
            if field.keeping == Keeping.MAP:
                _Within(self, link.table()).check_all(link, place)
                continue
            for at in range(link.count(place)):
                self.check(link.item(place, at), link.table())


@fieldwise_init
struct _Within(Movable):
    var requirements: _Requirements
    var table: MessageTable

    # A method, so that this value is there until the call ends.
    @no_inline
    def check_all(self, link: Link, map: Place) raises ProtobufError:
        link.each(map, place_of(self), self.requirements.visit)


def _check_entry(context: Place, key: Place, value: Place) raises ProtobufError:
    ref within = context.unsafe_bitcast[_Within]()[]
    within.requirements.check(value, within.table)


@no_inline
def missing(table: MessageTable, index: Int) -> ProtobufError:
    """Makes the error of a required field without a value."""
    return refused(
        ProtobufErrorKind.REQUIRED,
        -1,
        table,
        index,
        "a value, since the field is required",
    )


def has_value(
    field: Field, message: Place, table: MessageTable, index: Int
) -> Bool:
    """Tells whether a field that is kept in an `Optional` or `Boxed` is there."""
    var place = within(message, field.offset)
    if field.form == Form.BIT:
        return Bool(place.unsafe_bitcast[Optional[Bool]]()[])
    if field.form == Form.WORD:
        return Bool(place.unsafe_bitcast[Optional[UInt32]]()[])
    if field.form == Form.LONG:
        return Bool(place.unsafe_bitcast[Optional[UInt64]]()[])
    if field.form == Form.TEXT:
        return Bool(place.unsafe_bitcast[Optional[String]]()[])
    if field.form == Form.OCTETS:
        return Bool(place.unsafe_bitcast[Optional[List[UInt8]]]()[])
    return table.link(index).count(place) > 0


def clear_value(field: Field, message: Place, table: MessageTable, index: Int):
    """Empties a field that is kept in an `Optional` or `Boxed`."""
    var place = within(message, field.offset)
    if field.form == Form.BIT:
        place.unsafe_bitcast[Optional[Bool]]()[] = None
    elif field.form == Form.WORD:
        place.unsafe_bitcast[Optional[UInt32]]()[] = None
    elif field.form == Form.LONG:
        place.unsafe_bitcast[Optional[UInt64]]()[] = None
    elif field.form == Form.TEXT:
        place.unsafe_bitcast[Optional[String]]()[] = None
    elif field.form == Form.OCTETS:
        place.unsafe_bitcast[Optional[List[UInt8]]]()[] = None
    else:
        table.link(index).clear(place)


@no_inline
def clear_others(message: Place, table: MessageTable, index: Int):
    """Empties the other fields of a field's oneof."""
    var oneof = table.fields.unsafe_at(index).row.oneof
    for at in range(len(table.fields)):
        ref field = table.fields.unsafe_at(at)
        if at != index and field.row.oneof == oneof:
            clear_value(field, message, table, at)


def store_bits(field: Field, message: Place, bits: UInt64):
    """Puts a number into a field: its low bits, as many as the type has."""
    var place = within(message, field.offset)
    if field.form == Form.WORD:
        var word = UInt32(bits & 0xFFFFFFFF)
        if field.keeping == Keeping.PLAIN:
            place.unsafe_bitcast[UInt32]()[] = word
        elif field.keeping == Keeping.OPTIONAL:
            place.unsafe_bitcast[Optional[UInt32]]()[] = word
        else:
            place.unsafe_bitcast[List[UInt32]]()[].append(word)
    elif field.form == Form.LONG:
        if field.keeping == Keeping.PLAIN:
            place.unsafe_bitcast[UInt64]()[] = bits
        elif field.keeping == Keeping.OPTIONAL:
            place.unsafe_bitcast[Optional[UInt64]]()[] = bits
        else:
            place.unsafe_bitcast[List[UInt64]]()[].append(bits)
    elif field.keeping == Keeping.PLAIN:
        place.unsafe_bitcast[Bool]()[] = bits != 0
    elif field.keeping == Keeping.OPTIONAL:
        place.unsafe_bitcast[Optional[Bool]]()[] = bits != 0
    else:
        place.unsafe_bitcast[List[Bool]]()[].append(bits != 0)


def store_text(field: Field, message: Place, var text: String):
    """Puts a string into a field."""
    var place = within(message, field.offset)
    if field.keeping == Keeping.PLAIN:
        place.unsafe_bitcast[String]()[] = text^
    elif field.keeping == Keeping.OPTIONAL:
        place.unsafe_bitcast[Optional[String]]()[] = text^
    else:
        place.unsafe_bitcast[List[String]]()[].append(text^)


def store_octets(field: Field, message: Place, var octets: List[UInt8]):
    """Puts octets into a field."""
    var place = within(message, field.offset)
    if field.keeping == Keeping.PLAIN:
        place.unsafe_bitcast[List[UInt8]]()[] = octets^
    elif field.keeping == Keeping.OPTIONAL:
        place.unsafe_bitcast[Optional[List[UInt8]]]()[] = octets^
    else:
        place.unsafe_bitcast[List[List[UInt8]]]()[].append(octets^)


struct _Reader(Movable):
    """Goes through the octets once, from field to field."""

    var _base: Pointer[UInt8, ImmUntrackedOrigin]
    var _at: Int
    var _end: Int
    """Where the message under way ends."""
    var _depth_left: Int
    var _fill: FillEntry
    # Given from outside: the compiler finds no end of a function that its own
    # pointer stands in.
    var saw_required: Bool

    def __init__(
        out self,
        octets: Span[UInt8, ImmUntrackedOrigin],
        depth_max: Int,
        fill: FillEntry,
    ):
        self._fill = fill
        self._base = octets.unsafe_ptr()
        self._at = 0
        self._end = len(octets)
        self._depth_left = depth_max
        self.saw_required = False

    @no_inline
    def merge(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads all fields up to the message's end."""
        if self._depth_left == 0:
            raise self._too_deep()
        self._depth_left -= 1
        self.saw_required |= table.has_required
        var index = -1
        try:
            self._fields(message, table, index)
        except error:
            raise _named(error, table, index)
        self._depth_left += 1

    @no_inline
    def _fields(
        mut self, message: Place, table: MessageTable, mut index: Int
    ) raises ProtobufError:
        """Reads the fields; keeps which one is under way, -1 if none."""
        var guess = 0
        while self._at < self._end:
            var start = self._at
            index = -1
            var tag = self._tag()
            index = table.find(tag >> 3, guess)
            if index < 0 or not self._field(message, table, index, tag & 7):
                self._skip(tag)
                unknown_of(message, table).extend(self._span(start, self._at))
                continue
            # A list's next element is likely, else the next field.
            guess = index + Int(self._is_single(table, index))

    @always_inline
    def _is_single(self, table: MessageTable, index: Int) -> Bool:
        var keeping = table.fields.unsafe_at(index).keeping
        return keeping == Keeping.PLAIN or keeping == Keeping.OPTIONAL

    @always_inline
    def _field(
        mut self, message: Place, table: MessageTable, index: Int, wire: Int
    ) raises ProtobufError -> Bool:
        """Reads one field; False if its wire type is none that it may have."""
        ref field = table.fields.unsafe_at(index)
        var is_map = field.keeping == Keeping.MAP
        if wire != field.row.kind.wire_type() or is_map:
            if wire != LENGTH:
                return False
            if is_map:
                self._entry(message, table, index)
                return True
            if field.keeping != Keeping.LIST:
                return False
            self._packed(field, message)
            return True
        if field.form == Form.MESSAGE:
            self._message(message, table, index)
        else:
            self._value(field, message)
        if field.row.oneof != 0:
            clear_others(message, table, index)
        return True

    @always_inline
    def _value(mut self, field: Field, message: Place) raises ProtobufError:
        if field.form == Form.TEXT:
            store_text(field, message, self._text())
        elif field.form == Form.OCTETS:
            var length = self._length()
            var octets = self._span(self._at, self._at + length)
            self._at += length
            if likely(field.keeping == Keeping.PLAIN):
                ref kept = within(message, field.offset).unsafe_bitcast[
                    List[UInt8]
                ]()[]
                refill(kept, octets)
            else:
                store_octets(field, message, list_of(octets))
        else:
            store_bits(field, message, self._bits(field.row.kind))

    def _text(mut self) raises ProtobufError -> String:
        var length = self._length()
        var octets = self._span(self._at, self._at + length)
        if not is_valid_utf8(octets):
            raise ProtobufError(
                ProtobufErrorKind.NOT_UTF8, self._at, "a string in UTF-8"
            )
        self._at += length
        return text_of(octets)

    @no_inline
    def _message(
        mut self, message: Place, table: MessageTable, index: Int
    ) raises ProtobufError:
        """Reads a message within, into the one that is there or a new one."""
        var length = self._length()
        var link = table.link(index)
        var place = within(message, table.fields.unsafe_at(index).offset)
        var outer_end = self._end
        self._end = self._at + length
        self.merge(link.hold(place), link.table())
        self._end = outer_end

    @no_inline
    def _entry(
        mut self, message: Place, table: MessageTable, index: Int
    ) raises ProtobufError:
        """Reads an entry of a map: a message with a key and a value."""
        var length = self._length()
        var link = table.link(index)
        ref field = table.fields.unsafe_at(index)
        var outer_end = self._end
        self._end = self._at + length
        if self._depth_left == 0:
            raise self._too_deep()
        self._depth_left -= 1
        var entry = _Entry(
            place_of(self),
            single(field.row.key),
            single(field.row.kind),
            link.table,
        )
        entry.fill(link, within(message, field.offset), self._fill)
        self._depth_left += 1
        self._end = outer_end

    @no_inline
    def fill_entry(
        mut self, entry: _Entry, key: Place, value: Place
    ) raises ProtobufError:
        """Reads key and value, each of which may be missing."""
        while self._at < self._end:
            var tag = self._tag()
            var field = entry.key if tag >> 3 == 1 else entry.value
            if tag >> 3 > 2 or tag & 7 != field.row.kind.wire_type():
                self._skip(tag)
            elif field.form == Form.MESSAGE:
                var length = self._length()
                var outer_end = self._end
                self._end = self._at + length
                self.merge(value, entry.table())
                self._end = outer_end
            else:
                self._value(field, key if tag >> 3 == 1 else value)

    @no_inline
    def _packed(mut self, field: Field, message: Place) raises ProtobufError:
        """Reads numbers side by side."""
        var length = self._length()
        var outer_end = self._end
        self._end = self._at + length
        var kind = field.row.kind
        var wire = kind.wire_type()
        var count = length // 4
        if wire == FIXED64:
            count = length // 8
        elif wire == VARINT:
            count = self._varint_count()
        if field.form == Form.LONG:
            _reserve[UInt64](within(message, field.offset), count)
        elif field.form == Form.WORD:
            _reserve[UInt32](within(message, field.offset), count)
        else:
            _reserve[Bool](within(message, field.offset), count)
        while self._at < self._end:
            store_bits(field, message, self._bits(kind))
        self._end = outer_end

    def _varint_count(self) -> Int:
        """Counts the varints up to the end: each has one octet below 0x80."""
        var count = 0
        for at in range(self._at, self._end):
            count += Int(self._base[unsafe_offset=at] < 0x80)
        return count

    @always_inline
    def _bits(mut self, kind: FieldKind) raises ProtobufError -> UInt64:
        """Reads one number, as it is in memory."""
        var wire = kind.wire_type()
        if wire == VARINT:
            var raw = self._varint()
            if kind == FieldKind.SINT32:
                raw &= 0xFFFFFFFF
            if kind == FieldKind.SINT32 or kind == FieldKind.SINT64:
                return (raw >> 1) ^ (~(raw & 1) + 1)
            return raw
        if wire == FIXED32:
            self._need(4)
            self._at += 4
            return UInt64(load32(self._mutable(), self._at - 4))
        self._need(8)
        self._at += 8
        return load64(self._mutable(), self._at - 8)

    @always_inline
    def _mutable(self) -> Pointer[UInt8, MutUntrackedOrigin]:
        # SAFETY: what is loaded from is not written to.
        return self._base.unsafe_mut_cast[True]().unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def _tag(mut self) raises ProtobufError -> Int:
        """Reads number and wire type."""
        var octet = self._base[unsafe_offset=self._at]
        if likely(octet < 0x80 and octet >= 8):
            self._at += 1
            return Int(octet)
        return self._long_tag()

    @no_inline
    def _long_tag(mut self) raises ProtobufError -> Int:
        var start = self._at
        var tag = self._varint()
        if self._at - start > TAG_OCTETS_MAX or tag > 0xFFFFFFFF:
            raise ProtobufError(
                ProtobufErrorKind.VARINT,
                start,
                "a tag of at most 32 bits in at most 5 octets",
                String(self._at - start, " octets"),
            )
        if tag >> 3 == 0:
            raise ProtobufError(
                ProtobufErrorKind.FIELD_NUMBER,
                start,
                "a field number from 1 to 536870911",
                "0",
            )
        return Int(tag)

    @always_inline
    def _varint(mut self) raises ProtobufError -> UInt64:
        if likely(self._at < self._end):
            var octet = self._base[unsafe_offset=self._at]
            if likely(octet < 0x80):
                self._at += 1
                return UInt64(octet)
        return self._long_varint()

    @no_inline
    def _long_varint(mut self) raises ProtobufError -> UInt64:
        var value = UInt64(0)
        var count = min(self._end - self._at, VARINT_OCTETS_MAX)
        for place in range(count):
            var octet = self._base[unsafe_offset=self._at + place]
            value |= UInt64(octet & 0x7F) << UInt64(7 * place)
            if octet < 0x80:
                # Bits beyond 64 are dropped, as elsewhere.
                self._at += place + 1
                return value
        if count < VARINT_OCTETS_MAX:
            raise self._truncated("the rest of a varint")
        raise ProtobufError(
            ProtobufErrorKind.VARINT,
            self._at,
            "a varint of at most 10 octets",
            "more",
        )

    @always_inline
    def _length(mut self) raises ProtobufError -> Int:
        """Reads the length of a field, which lies within the message."""
        var start = self._at
        var length = self._varint()
        if unlikely(length > UInt64(self._end - self._at)):
            raise self._bad_length(start, length)
        return Int(length)

    @no_inline
    def _bad_length(mut self, start: Int, length: UInt64) -> ProtobufError:
        if length > LENGTH_MAX:
            return ProtobufError(
                ProtobufErrorKind.TOO_LONG,
                start,
                "a length of at most 2147483647",
                String(length),
            )
        return self._truncated("as many octets as the length says")

    @always_inline
    def _need(self, count: Int) raises ProtobufError:
        if unlikely(self._end - self._at < count):
            raise self._truncated("the rest of a number of fixed width")

    @no_inline
    def _truncated(self, expected: StaticString) -> ProtobufError:
        return ProtobufError(
            ProtobufErrorKind.TRUNCATED,
            self._end,
            expected,
            "the end of the message",
        )

    @no_inline
    def _too_deep(self) -> ProtobufError:
        return ProtobufError(
            ProtobufErrorKind.TOO_DEEP,
            self._at,
            "no deeper messages than ProtobufLimits.depth_max",
        )

    @no_inline
    def _skip(mut self, tag: Int) raises ProtobufError:
        """Goes over a field that is not known, a group with all within."""
        var groups = List[Int]()
        var current = tag
        while True:
            var wire = current & 7
            if wire == VARINT:
                _ = self._varint()
            elif wire == FIXED64 or wire == FIXED32:
                var width = 8 if wire == FIXED64 else 4
                self._need(width)
                self._at += width
            elif wire == LENGTH:
                # Two steps: the length is read before it is added.
                var length = self._length()
                self._at += length
            elif wire == GROUP_START:
                if len(groups) >= self._depth_left:
                    raise self._too_deep()
                groups.append(current >> 3)
            elif wire == GROUP_END:
                if (
                    len(groups) == 0
                    or groups.at(len(groups) - 1) != current >> 3
                ):
                    raise ProtobufError(
                        ProtobufErrorKind.GROUP,
                        self._at,
                        "no end of a group that was not begun",
                        String("one of field ", current >> 3),
                    )
                _ = groups.pop()
            else:
                raise ProtobufError(
                    ProtobufErrorKind.WIRE_TYPE,
                    self._at,
                    "a wire type from 0 to 5",
                    String(wire),
                )
            if len(groups) == 0:
                return
            if self._at >= self._end:
                raise ProtobufError(
                    ProtobufErrorKind.GROUP,
                    self._at,
                    "the end of a group",
                    "the end of the message",
                )
            current = self._tag()

    @always_inline
    def _span(self, start: Int, end: Int) -> Span[UInt8, ImmUntrackedOrigin]:
        # SAFETY: both lie within the octets.
        return {
            unsafe_ptr = self._base.unsafe_offset(start),
            length = end - start,
        }


def _reserve[T: Copyable & Deinitable](place: Place, count: Int):
    """Makes room in a list once: room for each of many pieces is copying each
    time.
    """
    ref list = place.unsafe_bitcast[List[T]]()[]
    if len(list) == 0:
        list.reserve(count)


@fieldwise_init
struct _Entry(Movable):
    """How an entry of a map is read."""

    var reader: Place
    var key: Field
    var value: Field
    var table: def() thin -> MessageTable

    # A method, so that this value is there until the call ends.
    @no_inline
    def fill(
        self, link: Link, map: Place, call: FillEntry
    ) raises ProtobufError:
        link.fill(map, place_of(self), call)


@no_inline
def _named(
    error: ProtobufError, table: MessageTable, index: Int
) -> ProtobufError:
    """Says in which field an error is."""
    var named = error.copy()
    name_field(named, table, index)
    return named^


def _fill_entry(
    context: Place, key: Place, value: Place
) raises ProtobufError -> Bool:
    ref entry = context.unsafe_bitcast[_Entry]()[]
    entry.reader.unsafe_bitcast[_Reader]()[].fill_entry(entry, key, value)
    return True


def unknown_of(
    message: Place, table: MessageTable
) -> ref[MutUntrackedOrigin] List[UInt8]:
    """Lends the fields of a message that it does not know."""
    return within(message, table.unknown_offset).unsafe_bitcast[List[UInt8]]()[]
