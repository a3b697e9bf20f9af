"""The well-known types: messages that have a form of their own in JSON.

Source: the `.proto` files in google/protobuf, by way of `flare proto`; the
comments are shorter.
"""

from flare.protobuf.boxed import Boxed
from flare.protobuf.kind import FieldKind
from flare.protobuf.message import (
    EnumRow,
    Enumeration,
    FieldRow,
    JsonForm,
    Message,
    ProtobufMap,
)
from flare.protobuf.oneof import clear_oneof, which_oneof


struct Any(Message):
    """A message of any type, with the name of its type."""

    comptime NAME = "google.protobuf.Any"
    """The full name."""
    comptime FIELD_COUNT = 2
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "type_url", "typeUrl"),
        FieldRow(2, FieldKind.BYTES, "value"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.ANY
    """The form in JSON."""

    var type_url: String
    """The name of the type after a slash, such as
    `type.googleapis.com/tutorial.Person`.
    """
    var value: List[UInt8]
    """The message, as it is written."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self):
        """Makes one without values."""
        self = Self(type_url="")

    def __init__(
        out self,
        *,
        var type_url: String = "",
        var value: List[UInt8] = {},
    ):
        """Makes one."""
        self.type_url = type_url^
        self.value = value^
        self.unknown_fields = {}

    @no_inline
    def __deinit__(deinit self):
        return


struct Duration(Message):
    """A span of time; both parts have the same sign."""

    comptime NAME = "google.protobuf.Duration"
    """The full name."""
    comptime FIELD_COUNT = 2
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT64, "seconds"),
        FieldRow(2, FieldKind.INT32, "nanos"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.DURATION
    """The form in JSON."""

    var seconds: Int64
    """Whole seconds, from -315,576,000,000 to 315,576,000,000."""
    var nanos: Int32
    """What is left, from -999,999,999 to 999,999,999 nanoseconds."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self):
        """Makes one without values."""
        self = Self(seconds=0)

    def __init__(
        out self,
        *,
        seconds: Int64 = 0,
        nanos: Int32 = 0,
    ):
        """Makes one."""
        self.seconds = seconds
        self.nanos = nanos
        self.unknown_fields = {}


struct Empty(Message):
    """A message without fields."""

    comptime NAME = "google.protobuf.Empty"
    """The full name."""
    comptime FIELD_COUNT = 0
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = []
    """One row for each."""

    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""


struct FieldMask(Message):
    """Names fields of a message."""

    comptime NAME = "google.protobuf.FieldMask"
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "paths"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.FIELD_MASK
    """The form in JSON."""

    var paths: List[String]
    """The names, with dots between those of messages within."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self, *, var paths: List[String]):
        """Makes one."""
        self.paths = paths^
        self.unknown_fields = {}


struct Struct(Message):
    """Any JSON object."""

    comptime NAME = "google.protobuf.Struct"
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "fields", key=FieldKind.STRING),
    ]
    """One row for each."""
    comptime JSON = JsonForm.STRUCT
    """The form in JSON."""

    var fields: ProtobufMap[String, Value]
    """The members by their names."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self, *, var fields: ProtobufMap[String, Value]):
        """Makes one."""
        self.fields = fields^
        self.unknown_fields = {}

    def __deinit__(deinit self):
        """Ends all values within."""
        pass


struct Value(Message):
    """Any JSON value; one field at most is set, and one has to be in JSON."""

    comptime NAME = "google.protobuf.Value"
    """The full name."""
    comptime FIELD_COUNT = 6
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.ENUM, "null_value", "nullValue", oneof=1),
        FieldRow(2, FieldKind.DOUBLE, "number_value", "numberValue", oneof=1),
        FieldRow(3, FieldKind.STRING, "string_value", "stringValue", oneof=1),
        FieldRow(4, FieldKind.BOOL, "bool_value", "boolValue", oneof=1),
        FieldRow(5, FieldKind.MESSAGE, "struct_value", "structValue", oneof=1),
        FieldRow(6, FieldKind.MESSAGE, "list_value", "listValue", oneof=1),
    ]
    """One row for each."""
    comptime JSON = JsonForm.VALUE
    """The form in JSON."""

    var null_value: Optional[NullValue]
    """Stands for `null`."""
    var number_value: Optional[Float64]
    """A number; an infinity or a NaN has no form in JSON."""
    var string_value: Optional[String]
    """A text of any length."""
    var bool_value: Optional[Bool]
    """Either `true` or `false`."""
    var struct_value: Boxed[Struct]
    """An object and its members."""
    var list_value: Boxed[ListValue]
    """An array and its elements."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self):
        """Makes one without values."""
        self = Self(null_value=None)

    def __init__(
        out self,
        *,
        var null_value: Optional[NullValue] = None,
        var number_value: Optional[Float64] = None,
        var string_value: Optional[String] = None,
        var bool_value: Optional[Bool] = None,
        var struct_value: Boxed[Struct] = {},
        var list_value: Boxed[ListValue] = {},
    ):
        """Makes one."""
        self.null_value = null_value^
        self.number_value = number_value^
        self.string_value = string_value^
        self.bool_value = bool_value^
        self.struct_value = struct_value^
        self.list_value = list_value^
        self.unknown_fields = {}

    def __deinit__(deinit self):
        """Ends all values within."""
        pass

    def which_kind(self) -> Int:
        """Tells which field is set, by its number; 0 if none is."""
        return which_oneof(self, 1)

    def clear_kind(mut self):
        """Empties all fields."""
        clear_oneof(self, 1)


struct ListValue(Message):
    """Any JSON array."""

    comptime NAME = "google.protobuf.ListValue"
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "values"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.LIST_VALUE
    """The form in JSON."""

    var values: List[Value]
    """The elements in their order."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self, *, var values: List[Value]):
        """Makes one."""
        self.values = values^
        self.unknown_fields = {}

    def __deinit__(deinit self):
        """Ends all values within."""
        pass


@fieldwise_init
struct NullValue(Enumeration):
    """The only value of what is always `null`."""

    comptime NAME = "google.protobuf.NullValue"
    """The full name."""
    comptime VALUE_COUNT = 1
    """How many there are."""
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT] = [
        EnumRow(0, "NULL_VALUE"),
    ]
    """One row for each."""
    comptime NULL_VALUE = NullValue(0)
    """It."""

    var number: Int32
    """Its number."""


struct Timestamp(Message):
    """A moment, whatever the time zone."""

    comptime NAME = "google.protobuf.Timestamp"
    """The full name."""
    comptime FIELD_COUNT = 2
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT64, "seconds"),
        FieldRow(2, FieldKind.INT32, "nanos"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.TIMESTAMP
    """The form in JSON."""

    var seconds: Int64
    """Seconds since 1970-01-01T00:00:00Z, from the year 1 to the year 9999."""
    var nanos: Int32
    """What is left, from 0 to 999,999,999 nanoseconds."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self):
        """Makes one without values."""
        self = Self(seconds=0)

    def __init__(
        out self,
        *,
        seconds: Int64 = 0,
        nanos: Int32 = 0,
    ):
        """Makes one."""
        self.seconds = seconds
        self.nanos = nanos
        self.unknown_fields = {}


struct Wrapper[
    T: Copyable & Defaultable & Deinitable,
    kind: FieldKind,
    full_name: StaticString,
](Message):
    """A value that may be absent; `null` in JSON if it is.

    Parameters:
        T: The type of the value.
        kind: The same on the wire.
        full_name: That of the message.
    """

    comptime NAME = Self.full_name
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, Self.kind, "value"),
    ]
    """One row for each."""
    comptime JSON = JsonForm.WRAPPER
    """The form in JSON."""

    var value: Self.T
    """What may be absent."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self, *, var value: Self.T):
        """Makes one."""
        self.value = value^
        self.unknown_fields = {}


comptime DoubleValue = Wrapper[
    Float64, FieldKind.DOUBLE, "google.protobuf.DoubleValue"
]
"""A `double` that may be absent."""

comptime FloatValue = Wrapper[
    Float32, FieldKind.FLOAT, "google.protobuf.FloatValue"
]
"""A `float` that may be absent."""

comptime Int64Value = Wrapper[
    Int64, FieldKind.INT64, "google.protobuf.Int64Value"
]
"""An `int64` that may be absent."""

comptime UInt64Value = Wrapper[
    UInt64, FieldKind.UINT64, "google.protobuf.UInt64Value"
]
"""A `uint64` that may be absent."""

comptime Int32Value = Wrapper[
    Int32, FieldKind.INT32, "google.protobuf.Int32Value"
]
"""An `int32` that may be absent."""

comptime UInt32Value = Wrapper[
    UInt32, FieldKind.UINT32, "google.protobuf.UInt32Value"
]
"""A `uint32` that may be absent."""

comptime BoolValue = Wrapper[Bool, FieldKind.BOOL, "google.protobuf.BoolValue"]
"""A `bool` that may be absent."""

comptime StringValue = Wrapper[
    String, FieldKind.STRING, "google.protobuf.StringValue"
]
"""A `string` that may be absent."""

comptime BytesValue = Wrapper[
    List[UInt8], FieldKind.BYTES, "google.protobuf.BytesValue"
]
"""A `bytes` that may be absent."""
