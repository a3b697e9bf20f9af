"""Messages read from JSON."""

# SAFETY: places are as in flare/protobuf/message.mojo.

from flare.bytes.base64 import base64url_decode
from flare.bytes.checked import *
from flare.json.error import JsonKind
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)
from flare.protobuf.json_cursor import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    JsonCursor,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
)
from flare.protobuf.json_settings import ProtobufJson
from flare.protobuf.json_text import (
    Parts,
    parse_duration,
    parse_integer,
    parse_timestamp,
    scan_text,
    snake_path,
)
from flare.protobuf.kind import FieldKind, Form, Keeping
from flare.protobuf.message import (
    Field,
    FillEntry,
    JsonForm,
    Link,
    Message,
    MessageTable,
    Place,
    place_of,
    refused,
    single,
    table_of,
    within,
)
from flare.protobuf.reader import (
    check_message,
    clear_others,
    has_value,
    store_bits,
    store_octets,
    store_text,
)
from flare.protobuf.writer import encode_place
from std.math import isinf
from std.memory import bitcast

comptime _NULL = UInt8(0x6E)
comptime _NO_FIELD = -1
# Some write it as an object, and some with a member `value`.
comptime _EMPTY = StaticString("google.protobuf.Empty")


def decode_json[
    M: Message
](
    text: StringSpan,
    settings: ProtobufJson = ProtobufJson(),
    limits: ProtobufLimits = ProtobufLimits.DEFAULT,
) raises ProtobufError -> M:
    """Reads a message from JSON.

    Source: https://protobuf.dev/programming-guides/json/. Names are those of
    JSON or of the `.proto`; `null` is a field that is not there; integers may be
    texts, and may be written with a point or an exponent if they are whole.

    Parameters:
        M: The message's type.

    Args:
        text: The whole text.
        settings: What may be chosen.
        limits: Length and depth allowed.

    Returns:
        The message.

    Raises:
        ProtobufError: If the text is no JSON or does not fit the message, has
            two members for one field or one oneof, or a required field is
            missing; it says which field, and where.
    """
    var message = M()
    var reader = _JsonMessageReader(
        JsonCursor(text.as_bytes(), limits), settings.copy(), _fill_entry
    )
    var table = table_of[M]()
    reader.message(place_of(message), table)
    reader.cursor.finish()
    check_message(place_of(message), table)
    return message^


@fieldwise_init
struct _JsonMessageReader(Movable):
    """A text under way."""

    var cursor: JsonCursor
    var settings: ProtobufJson
    var fill: FillEntry
    """The function for entries of maps; why it is here says `Writing`."""

    @no_inline
    def message(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads a message in the form of its type."""
        if table.json == JsonForm.OBJECT:
            self.object(message, table, False)
        elif table.json == JsonForm.WRAPPER:
            _ = self.value(0, message, table)
        elif table.json == JsonForm.ANY:
            self.any(message, table)
        elif table.json == JsonForm.STRUCT:
            self.map(0, message, table)
        elif table.json == JsonForm.LIST_VALUE:
            self.list(0, message, table)
        elif table.json == JsonForm.VALUE:
            self.any_value(message, table)
        else:
            self.well_known(message, table)

    @no_inline
    def object(
        mut self, message: Place, table: MessageTable, has_type: Bool
    ) raises ProtobufError:
        """Reads an object with a member for each field; `has_type` if a member
        `@type` is left out of account."""
        var seen = List[Bool](length=len(table.fields), fill=False)
        var more = self.cursor.begins(OPEN_OBJECT)
        while more:
            _ = self.cursor.peek()
            var start = self.cursor.at
            var name = self.cursor.name()
            var index = table.find_name(name)
            if index < 0:
                if not (has_type and name == "@type"):
                    if not self.settings.ignores_unknown:
                        raise refused(
                            ProtobufErrorKind.JSON_NAME,
                            start,
                            table,
                            _NO_FIELD,
                            "the name of a field",
                            name,
                        )
                self.cursor.skip()
            else:
                self._member(message, table, index, start, seen)
            more = self.cursor.goes_on(CLOSE_OBJECT)

    @no_inline
    def _member(
        mut self,
        message: Place,
        table: MessageTable,
        index: Int,
        start: Int,
        mut seen: List[Bool],
    ) raises ProtobufError:
        ref field = table.fields.unsafe_at(index)
        if seen.at(index):
            raise refused(
                ProtobufErrorKind.JSON_NAME,
                start,
                table,
                index,
                "one member for each field",
                "a second one",
            )
        seen.at(index) = True
        if self.cursor.peek() == _NULL and not _takes_null(table, index):
            self.cursor.literal("null")
            return
        if field.row.oneof != 0:
            for at in range(len(seen)):
                ref other = table.fields.unsafe_at(at)
                if at != index and other.row.oneof == field.row.oneof:
                    if seen.at(at) and has_value(other, message, table, at):
                        raise refused(
                            ProtobufErrorKind.JSON_NAME,
                            start,
                            table,
                            index,
                            "one member for each oneof",
                            "a second one",
                        )
        if field.keeping == Keeping.MAP:
            self.map(index, message, table)
        elif field.keeping == Keeping.LIST:
            self.list(index, message, table)
        else:
            _ = self.value(index, message, table)

    @no_inline
    def list(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads an array into a list."""
        var more = self.cursor.begins(OPEN_ARRAY)
        while more:
            if self.cursor.peek() == _NULL and not _takes_null(table, index):
                raise _wrong(self.cursor.at, table, index, "no null in a list")
            _ = self.value(index, message, table)
            more = self.cursor.goes_on(CLOSE_ARRAY)

    @no_inline
    def map(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads an object into a map."""
        ref field = table.fields.unsafe_at(index)
        var link = table.link(index)
        var place = within(message, field.offset)
        var more = self.cursor.begins(OPEN_OBJECT)
        while more:
            var before = link.count(place)
            var start = self.cursor.at
            var entry = _JsonEntry(place_of(self), table, index, True)
            entry.fill(link, place, self.fill)
            if entry.is_kept and link.count(place) == before:
                raise refused(
                    ProtobufErrorKind.JSON_NAME,
                    start,
                    table,
                    index,
                    "one member for each key",
                    "a second one",
                )
            more = self.cursor.goes_on(CLOSE_OBJECT)

    @no_inline
    def value(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError -> Bool:
        """Reads one value into a field; False if it is left out."""
        ref field = table.fields.unsafe_at(index)
        if field.form == Form.MESSAGE:
            var link = table.link(index)
            self.message(link.hold(within(message, field.offset)), link.table())
            return True
        return self.scalar(field, message, index, table)

    @no_inline
    def scalar(
        mut self, field: Field, message: Place, index: Int, table: MessageTable
    ) raises ProtobufError -> Bool:
        """Reads a string, octets or a number; False if it is left out."""
        var kind = field.row.kind
        var octet = self.cursor.peek()
        var start = self.cursor.at
        if kind == FieldKind.STRING:
            if octet != QUOTE:
                raise _wrong(start, table, index, "a string")
            store_text(field, message, self.cursor.string())
        elif kind == FieldKind.BYTES:
            if octet != QUOTE:
                raise _wrong(start, table, index, "octets in base64")
            var octets = _base64(self.cursor.string())
            if not octets:
                raise _wrong(start, table, index, "octets in base64")
            store_octets(field, message, octets.take())
        elif kind == FieldKind.BOOL:
            if octet != 0x74 and octet != 0x66:
                raise _wrong(start, table, index, "true or false")
            store_bits(field, message, UInt64(self.cursor.bool()))
        elif kind == FieldKind.ENUM:
            return self._enumeration(field, message, index, table)
        elif kind == FieldKind.DOUBLE or kind == FieldKind.FLOAT:
            store_bits(field, message, self._float(kind, index, table))
        else:
            var text = self._number_text(table, index, "an integer")
            var bits = integer_bits(kind, text)
            if not bits:
                raise _wrong(
                    start,
                    table,
                    index,
                    "an integer that the type can hold",
                    text,
                )
            store_bits(field, message, bits.value())
        return True

    def _number_text(
        mut self, table: MessageTable, index: Int, expected: StaticString
    ) raises ProtobufError -> String:
        """Reads a number, or a text in its place."""
        var octet = self.cursor.peek()
        var start = self.cursor.at
        if octet == QUOTE:
            return self.cursor.string()
        if octet != 0x2D and octet - 48 > 9:
            raise _wrong(start, table, index, expected)
        _ = self.cursor.number()
        return self.cursor.text_from(start)

    def _float(
        mut self, kind: FieldKind, index: Int, table: MessageTable
    ) raises ProtobufError -> UInt64:
        """Reads a float; gives its bits."""
        var is_quoted = self.cursor.peek() == QUOTE
        var start = self.cursor.at
        var text = self._number_text(table, index, "a number")
        var number: Float64
        if is_quoted and text == "NaN":
            number = bitcast[DType.float64](UInt64(0x7FF8000000000000))
        elif is_quoted and text == "Infinity":
            number = bitcast[DType.float64](UInt64(0x7FF0000000000000))
        elif is_quoted and text == "-Infinity":
            number = bitcast[DType.float64](UInt64(0xFFF0000000000000))
        else:
            var scan = scan_text(text)
            if not scan or scan.value().is_out_of_range:
                raise _wrong(
                    start, table, index, "a number that the type can hold", text
                )
            if scan.value().kind == JsonKind.INT:
                number = Float64(bitcast[DType.int64](scan.value().bits))
                if number == 0 and text.startswith("-"):
                    number = -0.0
            else:
                number = bitcast[DType.float64](scan.value().bits)
            if kind == FieldKind.FLOAT and isinf(Float32(number)):
                raise _wrong(
                    start, table, index, "a number that the type can hold", text
                )
        if kind == FieldKind.FLOAT:
            return UInt64(bitcast[DType.uint32](Float32(number)))
        return bitcast[DType.uint64](number)

    def _enumeration(
        mut self, field: Field, message: Place, index: Int, table: MessageTable
    ) raises ProtobufError -> Bool:
        """Reads a name, or a number."""
        var names = table.link(index).names()
        var octet = self.cursor.peek()
        var start = self.cursor.at
        if octet == _NULL and names.name == "google.protobuf.NullValue":
            self.cursor.literal("null")
            store_bits(field, message, 0)
            return True
        if octet == QUOTE:
            var name = self.cursor.string()
            for row in names.rows:
                if row.name == name:
                    store_bits(
                        field,
                        message,
                        UInt64(bitcast[DType.uint32](row.number)),
                    )
                    return True
            if self.settings.ignores_unknown:
                return False
            raise refused(
                ProtobufErrorKind.JSON_VALUE,
                start,
                table,
                index,
                "a name of the enumeration, or a number",
                name,
            )
        var text = self._number_text(table, index, "a name or a number")
        var bits = integer_bits(FieldKind.INT32, text)
        if not bits:
            raise _wrong(
                start, table, index, "a number of the enumeration", text
            )
        store_bits(field, message, bits.value())
        return True

    def any_value(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads any value into a `google.protobuf.Value`, whose fields come in
        the order of `known.mojo`.
        """
        var octet = self.cursor.peek()
        var index = 1
        if octet == _NULL:
            index = 0
        elif octet == QUOTE:
            index = 2
        elif octet == 0x74 or octet == 0x66:
            index = 3
        elif octet == OPEN_OBJECT:
            index = 4
        elif octet == OPEN_ARRAY:
            index = 5
        clear_others(message, table, index)
        _ = self.value(index, message, table)

    def any(mut self, message: Place, table: MessageTable) raises ProtobufError:
        """Reads an object with `@type` into a `google.protobuf.Any`."""
        var start = self.cursor.at
        var depth = self.cursor.depth_left
        var url = String()
        var has_type = False
        var count = 0
        var more = self.cursor.begins(OPEN_OBJECT)
        while more:
            count += 1
            _ = self.cursor.peek()
            var place = self.cursor.at
            if self.cursor.name() != "@type":
                self.cursor.skip()
            elif not has_type:
                has_type = True
                url = self.cursor.string()
            else:
                raise refused(
                    ProtobufErrorKind.JSON_NAME,
                    place,
                    table,
                    _NO_FIELD,
                    "one member @type",
                    "a second one",
                )
            more = self.cursor.goes_on(CLOSE_OBJECT)
        if count == 0:
            return
        var found = self.settings.types.find(url)
        if not found:
            raise refused(
                ProtobufErrorKind.UNKNOWN_TYPE,
                start,
                table,
                _NO_FIELD,
                "a member @type with a type of the registry",
                url,
            )
        self.cursor.at = start
        self.cursor.depth_left = depth
        var inner = found.value()
        var held = inner.make()
        try:
            if inner.json == JsonForm.OBJECT and inner.name != _EMPTY:
                self.object(held, inner, True)
            elif not self._held_value(held, inner) and inner.name != _EMPTY:
                raise refused(
                    ProtobufErrorKind.JSON_NAME,
                    start,
                    inner,
                    _NO_FIELD,
                    "a member value beside @type",
                    "",
                )
            var octets = encode_place(held, inner)
            store_text(table.fields.unsafe_at(0), message, url^)
            store_octets(table.fields.unsafe_at(1), message, octets^)
        except error:
            inner.drop(held)
            raise error.copy()
        inner.drop(held)

    def _held_value(
        mut self, held: Place, inner: MessageTable
    ) raises ProtobufError -> Bool:
        """Reads the member `value` beside `@type`; False if there is none."""
        var is_there = False
        var more = self.cursor.begins(OPEN_OBJECT)
        while more:
            _ = self.cursor.peek()
            var start = self.cursor.at
            var name = self.cursor.name()
            if name == "value" and not is_there:
                is_there = True
                self.message(held, inner)
            elif name == "@type" or self.settings.ignores_unknown:
                self.cursor.skip()
            else:
                raise refused(
                    ProtobufErrorKind.JSON_NAME,
                    start,
                    inner,
                    _NO_FIELD,
                    "@type and value alone",
                    name,
                )
            more = self.cursor.goes_on(CLOSE_OBJECT)
        return is_there

    def well_known(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Reads a time, a span of time, or names of fields."""
        if self.cursor.peek() != QUOTE:
            raise _wrong(self.cursor.at, table, _NO_FIELD, "a string")
        var start = self.cursor.at
        var text = self.cursor.string()
        if table.json == JsonForm.FIELD_MASK:
            if text.byte_length() == 0:
                return
            for part in text.split(","):
                var path = snake_path(part)
                if not path:
                    raise refused(
                        ProtobufErrorKind.JSON_VALUE,
                        start,
                        table,
                        _NO_FIELD,
                        "paths as JSON has them",
                        text,
                    )
                store_text(table.fields.unsafe_at(0), message, path.take())
            return
        var parts: Optional[Parts]
        if table.json == JsonForm.TIMESTAMP:
            parts = parse_timestamp(text)
        else:
            parts = parse_duration(text)
        if not parts:
            raise refused(
                ProtobufErrorKind.JSON_VALUE,
                start,
                table,
                _NO_FIELD,
                "a time of RFC 3339, or seconds such as 1.5s",
                text,
            )
        store_bits(
            table.fields.unsafe_at(0),
            message,
            bitcast[DType.uint64](Int64(parts.value().seconds)),
        )
        store_bits(
            table.fields.unsafe_at(1),
            message,
            UInt64(bitcast[DType.uint32](Int32(parts.value().nanos))),
        )

    @no_inline
    def entry(
        mut self, mut entry: _JsonEntry, key: Place, value: Place
    ) raises ProtobufError -> Bool:
        """Reads a member of an object as an entry of a map."""
        ref field = entry.table.fields.unsafe_at(entry.index)
        _ = self.cursor.peek()
        var start = self.cursor.at
        var name = self.cursor.name()
        var key_field = single(field.row.key)
        if field.row.key == FieldKind.STRING:
            store_text(key_field, key, name^)
        elif field.row.key == FieldKind.BOOL and (
            name == "true" or name == "false"
        ):
            store_bits(key_field, key, UInt64(name == "true"))
        else:
            var bits = integer_bits(field.row.key, name)
            if not bits or field.row.key == FieldKind.BOOL:
                raise refused(
                    ProtobufErrorKind.JSON_VALUE,
                    start,
                    entry.table,
                    entry.index,
                    "a key that the map can have",
                    name,
                )
            store_bits(key_field, key, bits.value())
        if self.cursor.peek() == _NULL and not _takes_null(
            entry.table, entry.index
        ):
            raise _wrong(
                self.cursor.at, entry.table, entry.index, "no null in a map"
            )
        if field.form == Form.MESSAGE:
            self.message(value, entry.table.link(entry.index).table())
        else:
            entry.is_kept = self.scalar(
                single(field.row.kind), value, entry.index, entry.table
            )
        return entry.is_kept


@no_inline
def _wrong(
    start: Int,
    table: MessageTable,
    index: Int,
    expected: StaticString,
    found: StringSpan = "",
) -> ProtobufError:
    """Makes the error of a value that does not fit."""
    return refused(
        ProtobufErrorKind.JSON_VALUE, start, table, index, expected, found
    )


@fieldwise_init
struct _JsonEntry(Movable):
    """How an entry of a map is read."""

    var reader: Place
    var table: MessageTable
    var index: Int
    var is_kept: Bool

    # A method, so that this value is there until the call ends.
    @no_inline
    def fill(
        mut self, link: Link, map: Place, call: FillEntry
    ) raises ProtobufError:
        link.fill(map, place_of(self), call)


def _fill_entry(
    context: Place, key: Place, value: Place
) raises ProtobufError -> Bool:
    ref entry = context.unsafe_bitcast[_JsonEntry]()[]
    return entry.reader.unsafe_bitcast[_JsonMessageReader]()[].entry(
        entry, key, value
    )


def _takes_null(table: MessageTable, index: Int) -> Bool:
    """Tells whether `null` is a value of a field, and not its absence."""
    ref field = table.fields.unsafe_at(index)
    if field.form == Form.MESSAGE:
        return table.link(index).table().json == JsonForm.VALUE
    if field.row.kind == FieldKind.ENUM:
        return table.link(index).names().name == "google.protobuf.NullValue"
    return False


def integer_bits(kind: FieldKind, text: StringSpan) -> Optional[UInt64]:
    """Reads an integer that a type can hold; gives its bits."""
    var number = parse_integer(text)
    if not number:
        return None
    var value = number.value()
    var least = Int128(0)
    var most = Int128(UInt32.MAX)
    if kind == FieldKind.UINT64 or kind == FieldKind.FIXED64:
        most = Int128(UInt64.MAX)
    elif single(kind).form == Form.LONG:
        least = Int128(Int64.MIN)
        most = Int128(Int64.MAX)
    elif kind != FieldKind.UINT32 and kind != FieldKind.FIXED32:
        least = Int128(Int32.MIN)
        most = Int128(Int32.MAX)
    if value < least or value > most:
        return None
    return UInt64(value & Int128(UInt64.MAX))


def _base64(text: StringSpan) -> Optional[List[UInt8]]:
    """Reads base64 with the signs of either alphabet, padded or not. Bits that are
    left over are not looked at: the conformance suite has such texts taken."""
    var octets = text.as_bytes()
    var length = len(octets)
    while (
        length > 0 and len(octets) - length < 2 and octets.at(length - 1) == 61
    ):
        length -= 1
    var digits = List[UInt8](capacity=length)
    for index in range(length):
        var octet = octets.at(index)
        if octet == 43:
            octet = 45
        elif octet == 47:
            octet = 95
        digits.append(octet)
    return base64url_decode[has_spare_bits=True](digits)
