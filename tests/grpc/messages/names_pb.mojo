# Made by `flare proto` of names.proto; a change here is lost.
"""Messages of names.proto."""

from flare.protobuf import (
    EnumRow,
    Enumeration,
    FieldKind,
    FieldRow,
    Message,
    Timestamp,
    clear_oneof,
    which_oneof,
)


struct Outer(Message):
    comptime NAME = "test.names.Outer"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "time", oneof=1),
        FieldRow(2, FieldKind.STRING, "text_of_it", "text", oneof=1),
    ]

    var time: Optional[Timestamp]
    var text_of_it: Optional[String]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(time=None)

    def __init__(
        out self,
        *by_name: NoneType,
        var time: Optional[Timestamp] = None,
        var text_of_it: Optional[String] = None,
    ):
        self.time = time^
        self.text_of_it = text_of_it^
        self.unknown_fields = {}

    def which_choice(self) -> Int:
        """Tells which field of `choice` is set, 0 for none."""
        return which_oneof(self, 1)

    def clear_choice(mut self):
        """Empties all fields of `choice`."""
        clear_oneof(self, 1)


struct Outer_Inner(Message):
    comptime NAME = "test.names.Outer.Inner"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.ENUM, "colour"),
    ]

    var colour: Optional[Outer_Inner_Colour]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(colour=None)

    def __init__(
        out self,
        *by_name: NoneType,
        var colour: Optional[Outer_Inner_Colour] = None,
    ):
        self.colour = colour^
        self.unknown_fields = {}


@fieldwise_init
struct Outer_Inner_Colour(Enumeration):
    comptime NAME = "test.names.Outer.Inner.Colour"
    comptime VALUE_COUNT = 1
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT] = [
        EnumRow(1, "RED"),
    ]
    comptime RED = Outer_Inner_Colour(1)

    var number: Int32


@fieldwise_init
struct Size(Enumeration):
    comptime NAME = "test.names.Size"
    comptime VALUE_COUNT = 1
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT] = [
        EnumRow(1, "SMALL"),
    ]
    comptime SMALL = Size(1)

    var number: Int32
