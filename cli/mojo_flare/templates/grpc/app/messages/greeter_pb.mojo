# Made by `flare proto` of greeter.proto; a change here is lost.
"""Messages of greeter.proto."""

from flare.protobuf import FieldKind, FieldRow, Message


struct HelloRequest(Message):
    comptime NAME = "greeter.HelloRequest"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
    ]

    var name: String
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
    ):
        self.name = name^
        self.unknown_fields = {}


struct HelloAgainRequest(Message):
    comptime NAME = "greeter.HelloAgainRequest"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.INT32, "count"),
    ]

    var name: String
    var count: Int32
    """How often, 1 to 1000."""
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        count: Int32 = 0,
    ):
        self.name = name^
        self.count = count
        self.unknown_fields = {}


struct HelloReply(Message):
    comptime NAME = "greeter.HelloReply"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "message"),
    ]

    var message: String
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(message="")

    def __init__(
        out self,
        *by_name: NoneType,
        var message: String = "",
    ):
        self.message = message^
        self.unknown_fields = {}
