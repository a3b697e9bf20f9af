"""Messages written as JSON."""

# SAFETY: places are as in flare/protobuf/message.mojo; nothing is written to
# those of messages here.

from flare.bytes.base64 import base64_encode
from flare.bytes.checked import *
from flare.json.writer import JsonWriter
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)
from flare.protobuf.json_settings import ProtobufJson
from flare.protobuf.json_text import (
    DURATION_MAX,
    Parts,
    SECONDS_MAX,
    SECONDS_MIN,
    camel_path,
    duration_text,
    timestamp_text,
)
from flare.protobuf.kind import FieldKind, Form, Keeping
from flare.protobuf.message import (
    EnumTable,
    JsonForm,
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
from flare.protobuf.reader import has_value, merge_into, missing
from flare.protobuf.writer import bits_at, is_default, optional_value
from std.math import isfinite, isnan
from std.memory import bitcast


def encode_json[
    M: Message
](
    message: M, settings: ProtobufJson = ProtobufJson()
) raises ProtobufError -> String:
    """Writes a message as JSON.

    Source: https://protobuf.dev/programming-guides/json/. Integers of 64 bits
    are texts, octets are base64, enumerations are names, or numbers if they
    have none. Fields that are not known are left out.

    Parameters:
        M: The message's type.

    Args:
        message: What to write.
        settings: What may be chosen.

    Returns:
        The text, compact.

    Raises:
        ProtobufError: If a value has no form in JSON, such as a time after the
            year 9999 or an `Any` of a type that is not in the registry, a
            required field is missing, a string is not UTF-8, or messages are
            nested deeper than others read.
    """
    var writer = _JsonMessageWriter(settings.copy(), _write_entry)
    writer.message(place_of(message), table_of[M]())
    return writer^.finish()


struct _JsonMessageWriter(Movable):
    """A text under way."""

    var out: JsonWriter
    var settings: ProtobufJson
    var depth_left: Int
    var visit: VisitEntry
    """The function for entries of maps; why it is here says `Writing`."""

    def __init__(out self, var settings: ProtobufJson, visit: VisitEntry):
        self.out = JsonWriter()
        self.settings = settings^
        self.depth_left = ProtobufLimits.DEFAULT.depth_max
        self.visit = visit

    def finish(deinit self) raises ProtobufError -> String:
        return self.out^.finish()

    @no_inline
    def message(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Writes a message in the form of its type."""
        if self.depth_left == 0:
            raise too_deep(table)
        self.depth_left -= 1
        if table.json == JsonForm.OBJECT:
            self.out.begin_object()
            self.fields(message, table)
            self.out.end_object()
        elif table.json == JsonForm.WRAPPER:
            self.value(0, message, table)
        elif table.json == JsonForm.ANY:
            self.any(message, table)
        elif table.json == JsonForm.STRUCT:
            self.map(0, message, table)
        elif table.json == JsonForm.LIST_VALUE:
            self.list(0, message, table)
        elif table.json == JsonForm.VALUE:
            self.any_value(message, table)
        else:
            self.out.value(_well_known_text(message, table))
        self.depth_left += 1

    @no_inline
    def fields(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        for index in range(len(table.fields)):
            ref field = table.fields.unsafe_at(index)
            if not self._is_written(index, message, table):
                continue
            if self.settings.keeps_names:
                self.out.key(field.row.name)
            else:
                self.out.key(field.row.json)
            if field.keeping == Keeping.MAP:
                self.map(index, message, table)
            elif field.keeping == Keeping.LIST:
                self.list(index, message, table)
            else:
                self.value(index, message, table)

    def _is_written(
        self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError -> Bool:
        ref field = table.fields.unsafe_at(index)
        var place = within(message, field.offset)
        if field.keeping == Keeping.OPTIONAL:
            if has_value(field, message, table, index):
                return True
            if field.row.is_required:
                raise missing(table, index)
            return False
        if self.settings.writes_defaults:
            return True
        if field.keeping == Keeping.PLAIN:
            return not is_default(field, place)
        if field.keeping == Keeping.MAP or field.form == Form.MESSAGE:
            return table.link(index).count(place) > 0
        return list_len(field.form, place) > 0

    @no_inline
    def value(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError:
        ref field = table.fields.unsafe_at(index)
        var place = within(message, field.offset)
        if field.form == Form.MESSAGE:
            var link = table.link(index)
            self.message(link.item(place, 0), link.table())
            return
        if field.keeping == Keeping.OPTIONAL:
            place = optional_value(field.form, place)
        self.scalar(field.row.kind, place, index, table)

    @no_inline
    def list(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError:
        ref field = table.fields.unsafe_at(index)
        var place = within(message, field.offset)
        self.out.begin_array()
        if field.form == Form.MESSAGE:
            var link = table.link(index)
            for at in range(link.count(place)):
                self.message(link.item(place, at), link.table())
        else:
            for at in range(list_len(field.form, place)):
                self.scalar(
                    field.row.kind,
                    element_at(field.form, place, at),
                    index,
                    table,
                )
        self.out.end_array()

    @no_inline
    def map(
        mut self, index: Int, message: Place, table: MessageTable
    ) raises ProtobufError:
        ref field = table.fields.unsafe_at(index)
        self.out.begin_object()
        _JsonMap(place_of(self), table, index).write_all(
            within(message, field.offset), self.visit
        )
        self.out.end_object()

    @no_inline
    def scalar(
        mut self, kind: FieldKind, place: Place, index: Int, table: MessageTable
    ) raises ProtobufError:
        """Writes a string, octets, or a number."""
        if kind == FieldKind.STRING:
            self.out.value(place.unsafe_bitcast[String]()[])
            return
        if kind == FieldKind.BYTES:
            self.out.value(
                base64_encode(Span(place.unsafe_bitcast[List[UInt8]]()[]))
            )
            return
        var bits = bits_at(single(kind).form, place)
        if kind == FieldKind.BOOL:
            self.out.value(bits != 0)
        elif kind == FieldKind.ENUM:
            self._enumeration(bits, table.link(index).names())
        elif kind == FieldKind.DOUBLE:
            self._float(bitcast[DType.float64](bits))
        elif kind == FieldKind.FLOAT:
            self._short_float(bitcast[DType.float32](UInt32(bits)))
        elif single(kind).form == Form.LONG:
            self.out.value(integer_text(kind, bits))
        elif kind == FieldKind.UINT32 or kind == FieldKind.FIXED32:
            self.out.value(Int(bits))
        else:
            self.out.value(Int(bitcast[DType.int32](UInt32(bits))))

    def _enumeration(
        mut self, bits: UInt64, names: EnumTable
    ) raises ProtobufError:
        var number = bitcast[DType.int32](UInt32(bits))
        if names.name == "google.protobuf.NullValue":
            self.out.null()
            return
        for row in names.rows:
            if row.number == number:
                self.out.value(row.name)
                return
        self.out.value(Int(number))

    def _float(mut self, number: Float64) raises ProtobufError:
        if isfinite(number):
            self.out.value(number)
        elif isnan(number):
            self.out.value(StaticString("NaN"))
        elif number > 0:
            self.out.value(StaticString("Infinity"))
        else:
            self.out.value(StaticString("-Infinity"))

    def _short_float(mut self, number: Float32) raises ProtobufError:
        """Writes no more digits than tell the number from its neighbours."""
        var wide = Float64(number)
        if isfinite(number):
            try:
                var short = atof(String(number))
                if Float32(short) == number:
                    wide = short
            except:
                # The number has a longer text, too.
                pass
        self._float(wide)

    def any_value(
        mut self, message: Place, table: MessageTable
    ) raises ProtobufError:
        """Writes a `google.protobuf.Value`."""
        for index in range(len(table.fields)):
            ref field = table.fields.unsafe_at(index)
            if not has_value(field, message, table, index):
                continue
            if field.row.kind == FieldKind.DOUBLE:
                var place = optional_value(
                    field.form, within(message, field.offset)
                )
                if not isfinite(place.unsafe_bitcast[Float64]()[]):
                    raise refused(
                        ProtobufErrorKind.NOT_IN_JSON,
                        -1,
                        table,
                        -1,
                        "a finite number",
                    )
            self.value(index, message, table)
            return
        raise refused(ProtobufErrorKind.NOT_IN_JSON, -1, table, -1, "a value")

    def any(mut self, message: Place, table: MessageTable) raises ProtobufError:
        """Writes a `google.protobuf.Any`."""
        ref url = within(
            message, table.fields.unsafe_at(0).offset
        ).unsafe_bitcast[String]()[]
        ref octets = within(
            message, table.fields.unsafe_at(1).offset
        ).unsafe_bitcast[List[UInt8]]()[]
        self.out.begin_object()
        if url.byte_length() == 0 and len(octets) == 0:
            self.out.end_object()
            return
        var found = self.settings.types.find(url)
        if not found:
            raise refused(
                ProtobufErrorKind.UNKNOWN_TYPE,
                -1,
                table,
                -1,
                "a type of the registry",
                url,
            )
        var inner = found.value()
        var held = inner.make()
        try:
            merge_into(held, inner, octets, ProtobufLimits.DEFAULT)
            self.out.key("@type")
            self.out.value(url)
            if inner.json == JsonForm.OBJECT:
                self.fields(held, inner)
            else:
                self.out.key("value")
                self.message(held, inner)
        except error:
            inner.drop(held)
            raise error.copy()
        inner.drop(held)
        self.out.end_object()


@fieldwise_init
struct _JsonMap(Movable):
    """What an entry is written with."""

    var writer: Place
    var table: MessageTable
    var index: Int

    # A method, so that this value is there until the call ends.
    @no_inline
    def write_all(self, map: Place, visit: VisitEntry) raises ProtobufError:
        self.table.link(self.index).each(map, place_of(self), visit)


def _write_entry(context: Place, key: Place, value: Place) raises ProtobufError:
    ref map = context.unsafe_bitcast[_JsonMap]()[]
    ref writer = map.writer.unsafe_bitcast[_JsonMessageWriter]()[]
    ref row = map.table.fields.unsafe_at(map.index).row
    if row.key == FieldKind.STRING:
        writer.out.key(key.unsafe_bitcast[String]()[])
    else:
        var bits = bits_at(single(row.key).form, key)
        if row.key == FieldKind.BOOL:
            writer.out.key("true" if bits != 0 else "false")
        else:
            writer.out.key(integer_text(row.key, bits))
    if row.kind == FieldKind.MESSAGE:
        writer.message(value, map.table.link(map.index).table())
    else:
        writer.scalar(row.kind, value, map.index, map.table)


def integer_text(kind: FieldKind, bits: UInt64) -> String:
    """Writes an integer in decimal."""
    if single(kind).form == Form.LONG:
        if kind == FieldKind.UINT64 or kind == FieldKind.FIXED64:
            return String(bits)
        return String(bitcast[DType.int64](bits))
    if kind == FieldKind.UINT32 or kind == FieldKind.FIXED32:
        return String(bits)
    return String(bitcast[DType.int32](UInt32(bits)))


def list_len(form: Form, place: Place) -> Int:
    """Counts the elements of a list of anything but messages."""
    if form == Form.BIT:
        return len(place.unsafe_bitcast[List[Bool]]()[])
    if form == Form.WORD:
        return len(place.unsafe_bitcast[List[UInt32]]()[])
    if form == Form.LONG:
        return len(place.unsafe_bitcast[List[UInt64]]()[])
    if form == Form.TEXT:
        return len(place.unsafe_bitcast[List[String]]()[])
    return len(place.unsafe_bitcast[List[List[UInt8]]]()[])


def element_at(form: Form, place: Place, at: Int) -> Place:
    """Lends an element that a list of anything but messages has."""
    if form == Form.BIT:
        return place_of(place.unsafe_bitcast[List[Bool]]()[].unsafe_at(at))
    if form == Form.WORD:
        return place_of(place.unsafe_bitcast[List[UInt32]]()[].unsafe_at(at))
    if form == Form.LONG:
        return place_of(place.unsafe_bitcast[List[UInt64]]()[].unsafe_at(at))
    if form == Form.TEXT:
        return place_of(place.unsafe_bitcast[List[String]]()[].unsafe_at(at))
    return place_of(place.unsafe_bitcast[List[List[UInt8]]]()[].unsafe_at(at))


def _well_known_text(
    message: Place, table: MessageTable
) raises ProtobufError -> String:
    """Writes a time, a span of time, or names of fields."""
    var first = within(message, table.fields.unsafe_at(0).offset)
    if table.json == JsonForm.FIELD_MASK:
        var text = String()
        ref paths = first.unsafe_bitcast[List[String]]()[]
        for at in range(len(paths)):
            var path = camel_path(paths.unsafe_at(at))
            if not path:
                raise refused(
                    ProtobufErrorKind.NOT_IN_JSON,
                    -1,
                    table,
                    -1,
                    "a path of small letters, with one after each line",
                    paths.unsafe_at(at),
                )
            if at > 0:
                text += ","
            text += path.value()
        return text^
    var second = within(message, table.fields.unsafe_at(1).offset)
    var parts = Parts(
        Int(first.unsafe_bitcast[Int64]()[]),
        Int(second.unsafe_bitcast[Int32]()[]),
    )
    var most = 999_999_999
    if table.json == JsonForm.TIMESTAMP:
        if (
            parts.seconds < SECONDS_MIN
            or parts.seconds > SECONDS_MAX
            or parts.nanos < 0
            or parts.nanos > most
        ):
            raise refused(
                ProtobufErrorKind.NOT_IN_JSON,
                -1,
                table,
                -1,
                "a time from the year 1 to 9999, and nanos below a second",
            )
        return timestamp_text(parts)
    if (
        # No `abs`: the least number has none.
        parts.seconds < -DURATION_MAX
        or parts.seconds > DURATION_MAX
        or abs(parts.nanos) > most
        or (parts.seconds < 0 and parts.nanos > 0)
        or (parts.seconds > 0 and parts.nanos < 0)
    ):
        raise refused(
            ProtobufErrorKind.NOT_IN_JSON,
            -1,
            table,
            -1,
            "at most 315576000000 s, and nanos of the same sign below a second",
        )
    return duration_text(parts)
