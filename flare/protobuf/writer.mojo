"""Messages written as octets."""

# SAFETY: places are as in flare/protobuf/message.mojo; nothing is written to
# them here. `_mend_length` moves octets within what the buffer holds.

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.utf8 import is_valid_utf8
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)
from flare.protobuf.kind import FieldKind, Form, Keeping
from flare.protobuf.message import (
    Field,
    Link,
    Message,
    MessageTable,
    Place,
    VisitEntry,
    place_of,
    refused,
    too_deep,
    single,
    table_of,
    within,
)
from flare.protobuf.reader import (
    FIXED32,
    LENGTH_MAX,
    VARINT,
    has_value,
    missing,
    unknown_of,
)
from std.memory import unsafe_memmove


def encode[M: Message](message: M) raises ProtobufError -> List[UInt8]:
    """Writes a message.

    Source: https://protobuf.dev/programming-guides/encoding/. Fields come in
    the order of their numbers, lists of numbers packed unless their row says
    otherwise, fields that are not known last; a map's entries come in the order
    in which they were put in.

    Parameters:
        M: The message's type.

    Args:
        message: What to write.

    Returns:
        The octets.

    Raises:
        ProtobufError: If a required field is missing, a string is not UTF-8,
            messages are nested deeper than other programs read, or a message is
            longer than 2147483647 octets.
    """
    var buffer = Buffer(256)
    encode_into(message, buffer)
    return list_of(buffer.span())


def encode_into[
    M: Message
](message: M, mut buffer: Buffer) raises ProtobufError:
    """Writes a message after what a buffer has.

    Parameters:
        M: The message's type.

    Args:
        message: What to write.
        buffer: Gets the octets; after an error a part of them.

    Raises:
        ProtobufError: As for `encode`.
    """
    write_message(
        buffer,
        place_of(message),
        table_of[M](),
        Writing(ProtobufLimits.DEFAULT.depth_max, _write_entry),
    )


def encode_place(
    message: Place, table: MessageTable
) raises ProtobufError -> List[UInt8]:
    """Writes a message whose type is known by its table alone."""
    var buffer = Buffer(256)
    write_message(
        buffer,
        message,
        table,
        Writing(ProtobufLimits.DEFAULT.depth_max, _write_entry),
    )
    return list_of(buffer.span())


@fieldwise_init
struct Writing(TrivialRegisterPassable):
    """What is passed on to messages within."""

    var depth_left: Int
    var visit: VisitEntry
    """The function for entries of maps. It is given from outside: the compiler
    finds no end of a function that its own pointer stands in."""

    def within(self, levels: Int = 1) -> Self:
        return Self(self.depth_left - levels, self.visit)


@no_inline
def write_message(
    mut out: Buffer, message: Place, table: MessageTable, writing: Writing
) raises ProtobufError:
    if writing.depth_left == 0:
        raise too_deep(table)
    for index in range(len(table.fields)):
        ref field = table.fields.unsafe_at(index)
        var place = within(message, field.offset)
        if field.form == Form.MESSAGE or field.keeping == Keeping.MAP:
            _write_messages(out, place, table, index, writing)
        elif field.keeping == Keeping.LIST:
            _write_list(out, place, table, index)
        elif field.keeping == Keeping.OPTIONAL:
            if has_value(field, message, table, index):
                _put_tag(out, field)
                _write_optional(out, place, table, index)
            elif field.row.is_required:
                raise missing(table, index)
        elif not is_default(field, place):
            _put_tag(out, field)
            _write_plain(out, place, table, index)
    ref unknown = unknown_of(message, table)
    if len(unknown) > 0:
        out.append(Span(unknown))


@always_inline
def _put_tag(mut out: Buffer, field: Field):
    var octets = field.tag
    for _ in range(field.tag_len):
        out.append_octet(UInt8(octets & 0xFF))
        octets >>= 8


@always_inline
def put_varint(mut out: Buffer, value: UInt64):
    var rest = value
    while rest >= 0x80:
        out.append_octet(UInt8(rest & 0x7F | 0x80))
        rest >>= 7
    out.append_octet(UInt8(rest))


def is_default(field: Field, place: Place) -> Bool:
    """Tells whether a plain value need not be written."""
    if field.form == Form.WORD:
        return place.unsafe_bitcast[UInt32]()[] == 0
    if field.form == Form.LONG:
        return place.unsafe_bitcast[UInt64]()[] == 0
    if field.form == Form.TEXT:
        return place.unsafe_bitcast[String]()[].byte_length() == 0
    if field.form == Form.OCTETS:
        return len(place.unsafe_bitcast[List[UInt8]]()[]) == 0
    return not place.unsafe_bitcast[Bool]()[]


@always_inline
def _write_plain(
    mut out: Buffer, place: Place, table: MessageTable, index: Int
) raises ProtobufError:
    ref field = table.fields.unsafe_at(index)
    if field.form == Form.TEXT:
        ref text = place.unsafe_bitcast[String]()[]
        _put_text(out, text, table, index)
    elif field.form == Form.OCTETS:
        ref octets = place.unsafe_bitcast[List[UInt8]]()[]
        put_varint(out, UInt64(len(octets)))
        out.append(Span(octets))
    else:
        _put_bits(out, field.row.kind, bits_at(field.form, place))


@no_inline
def _write_optional(
    mut out: Buffer, place: Place, table: MessageTable, index: Int
) raises ProtobufError:
    """Writes the value of an `Optional`, which has one."""
    _write_plain(
        out,
        optional_value(table.fields.unsafe_at(index).form, place),
        table,
        index,
    )


def optional_value(form: Form, place: Place) -> Place:
    """Lends the value of an `Optional` that has one."""
    if form == Form.BIT:
        return place_of(place.unsafe_bitcast[Optional[Bool]]()[].unsafe_value())
    if form == Form.WORD:
        return place_of(
            place.unsafe_bitcast[Optional[UInt32]]()[].unsafe_value()
        )
    if form == Form.LONG:
        return place_of(
            place.unsafe_bitcast[Optional[UInt64]]()[].unsafe_value()
        )
    if form == Form.TEXT:
        return place_of(
            place.unsafe_bitcast[Optional[String]]()[].unsafe_value()
        )
    return place_of(
        place.unsafe_bitcast[Optional[List[UInt8]]]()[].unsafe_value()
    )


@no_inline
def _put_text(
    mut out: Buffer, text: String, table: MessageTable, index: Int
) raises ProtobufError:
    var octets = text.as_bytes()
    if not is_valid_utf8(octets):
        raise refused(
            ProtobufErrorKind.NOT_UTF8, -1, table, index, "a string in UTF-8"
        )
    put_varint(out, UInt64(len(octets)))
    out.append(octets)


@always_inline
def bits_at(form: Form, place: Place) -> UInt64:
    """Reads a number, as it is in memory."""
    if form == Form.WORD:
        return UInt64(place.unsafe_bitcast[UInt32]()[])
    if form == Form.LONG:
        return place.unsafe_bitcast[UInt64]()[]
    return 1 if place.unsafe_bitcast[Bool]()[] else 0


@always_inline
def _put_bits(mut out: Buffer, kind: FieldKind, bits: UInt64):
    """Writes a number in the encoding of its kind."""
    var wire = kind.wire_type()
    if wire == VARINT:
        put_varint(out, _varint_of(kind, bits))
        return
    var rest = bits
    for _ in range(4 if wire == FIXED32 else 8):
        out.append_octet(UInt8(rest & 0xFF))
        rest >>= 8


@always_inline
def _varint_of(kind: FieldKind, bits: UInt64) -> UInt64:
    """Gives what a varint says for a number in memory."""
    if kind == FieldKind.SINT64:
        return (bits << 1) ^ _sign(bits >> 63)
    if kind == FieldKind.SINT32:
        return (bits << 1 ^ _sign(bits >> 31)) & 0xFFFFFFFF
    if kind == FieldKind.INT32 or kind == FieldKind.ENUM:
        # Negative numbers take ten octets, as if they were 64 bits wide.
        return bits | _sign(bits >> 31) << 32
    return bits


@always_inline
def _sign(bit: UInt64) -> UInt64:
    """Repeats a bit 64 times."""
    return ~bit + 1


@no_inline
def _write_list(
    mut out: Buffer, place: Place, table: MessageTable, index: Int
) raises ProtobufError:
    """Writes a list of strings, octets or numbers."""
    ref field = table.fields.unsafe_at(index)
    if field.form == Form.TEXT:
        ref texts = place.unsafe_bitcast[List[String]]()[]
        for at in range(len(texts)):
            _put_tag(out, field)
            _put_text(out, texts.unsafe_at(at), table, index)
    elif field.form == Form.OCTETS:
        ref pieces = place.unsafe_bitcast[List[List[UInt8]]]()[]
        for at in range(len(pieces)):
            _put_tag(out, field)
            put_varint(out, UInt64(len(pieces.unsafe_at(at))))
            out.append(Span(pieces.unsafe_at(at)))
    elif field.form == Form.WORD:
        _write_numbers[DType.uint32](out, place, table, index)
    elif field.form == Form.LONG:
        _write_numbers[DType.uint64](out, place, table, index)
    else:
        _write_numbers[DType.bool](out, place, table, index)


@always_inline
def _write_numbers[
    T: DType
](
    mut out: Buffer, place: Place, table: MessageTable, index: Int
) raises ProtobufError:
    """Writes numbers side by side, or one by one where the row says so."""
    ref field = table.fields.unsafe_at(index)
    ref numbers = place.unsafe_bitcast[List[Scalar[T]]]()[]
    if len(numbers) == 0:
        return
    var start = 0
    if not field.row.is_expanded:
        _put_tag(out, field)
        start = _begin_length(out)
    for at in range(len(numbers)):
        if field.row.is_expanded:
            _put_tag(out, field)
        _put_bits(out, field.row.kind, UInt64(numbers.unsafe_at(at)))
    if not field.row.is_expanded:
        _end_length(out, start, table, index)


@always_inline
def _begin_length(mut out: Buffer) -> Int:
    """Leaves one octet for a length, which is enough for most."""
    out.append_octet(0)
    return len(out)


@always_inline
def _end_length(
    mut out: Buffer, start: Int, table: MessageTable, index: Int
) raises ProtobufError:
    """Writes the length of what came since, in front of it."""
    var length = len(out) - start
    if length < 0x80:
        out.unsafe_base()[unsafe_offset=start - 1] = UInt8(length)
        return
    if UInt64(length) > LENGTH_MAX:
        raise refused(
            ProtobufErrorKind.TOO_LONG,
            -1,
            table,
            index,
            "a message of at most 2147483647 octets",
        )
    _mend_length(out, start, length)


@no_inline
def _mend_length(mut out: Buffer, start: Int, length: Int):
    """Moves what was written, to make room for a length of several octets."""
    var more = 0
    var rest = length >> 7
    while rest > 0:
        rest >>= 7
        more += 1
        out.append_octet(0)
    var base = out.unsafe_base()
    unsafe_memmove(
        dest=base.unsafe_offset(start + more),
        src=base.unsafe_offset(start),
        count=length,
    )
    rest = length
    for at in range(start - 1, start - 1 + more):
        base[unsafe_offset=at] = UInt8(rest & 0x7F | 0x80)
        rest >>= 7
    base[unsafe_offset=start - 1 + more] = UInt8(rest)


@no_inline
def _write_messages(
    mut out: Buffer,
    place: Place,
    table: MessageTable,
    index: Int,
    writing: Writing,
) raises ProtobufError:
    """Writes a message within, a list of them, or a map."""
    ref field = table.fields.unsafe_at(index)
    var link = table.link(index)
    if field.keeping == Keeping.MAP:
        if link.count(place) > 0:
            _MapContext(
                place_of(out), table, index, link.table, writing
            ).write_all(link, place)
        return
    var count = link.count(place)
    if count == 0 and field.row.is_required:
        raise missing(table, index)
    for at in range(count):
        _put_tag(out, field)
        var start = _begin_length(out)
        write_message(out, link.item(place, at), link.table(), writing.within())
        _end_length(out, start, table, index)


@fieldwise_init
struct _MapContext(Movable):
    """What an entry is written with."""

    var out: Place
    var table: MessageTable
    var index: Int
    var inner: def() thin -> MessageTable
    var writing: Writing

    # A method, so that this value is there until the call ends.
    @no_inline
    def write_all(self, link: Link, map: Place) raises ProtobufError:
        link.each(map, place_of(self), self.writing.visit)


def _write_entry(context: Place, key: Place, value: Place) raises ProtobufError:
    """Writes an entry of a map: a message with a key and a value, both always
    there.
    """
    ref map = context.unsafe_bitcast[_MapContext]()[]
    ref out = map.out.unsafe_bitcast[Buffer]()[]
    ref row = map.table.fields.unsafe_at(map.index).row
    if map.writing.depth_left <= 1:
        raise too_deep(map.table, map.index)
    _put_tag(out, map.table.fields.unsafe_at(map.index))
    var start = _begin_length(out)
    out.append_octet(UInt8(1 << 3 | row.key.wire_type()))
    _write_alone(out, row.key, key, map)
    out.append_octet(UInt8(2 << 3 | row.kind.wire_type()))
    if row.kind == FieldKind.MESSAGE:
        var inner_start = _begin_length(out)
        write_message(out, value, map.inner(), map.writing.within(2))
        _end_length(out, inner_start, map.table, map.index)
    else:
        _write_alone(out, row.kind, value, map)
    _end_length(out, start, map.table, map.index)


def _write_alone(
    mut out: Buffer, kind: FieldKind, place: Place, map: _MapContext
) raises ProtobufError:
    """Writes the key of an entry, or its value."""
    if kind == FieldKind.STRING:
        _put_text(out, place.unsafe_bitcast[String]()[], map.table, map.index)
    elif kind == FieldKind.BYTES:
        ref octets = place.unsafe_bitcast[List[UInt8]]()[]
        put_varint(out, UInt64(len(octets)))
        out.append(Span(octets))
    else:
        _put_bits(out, kind, bits_at(single(kind).form, place))
