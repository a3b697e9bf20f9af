"""Types of fields: on the wire, in memory, and how often."""


@fieldwise_init
struct FieldKind(Equatable, TrivialRegisterPassable):
    """The type of a field's values.

    Source: the numbers of `FieldDescriptorProto.Type` in `descriptor.proto`.
    """

    var code: UInt8
    """The number."""

    comptime NONE = FieldKind(0)
    """No type: the key of what is no map."""
    comptime DOUBLE = FieldKind(1)
    """`double`, a `Float64`."""
    comptime FLOAT = FieldKind(2)
    """`float`, a `Float32`."""
    comptime INT64 = FieldKind(3)
    """`int64`, an `Int64`."""
    comptime UINT64 = FieldKind(4)
    """`uint64`, a `UInt64`."""
    comptime INT32 = FieldKind(5)
    """`int32`, an `Int32`."""
    comptime FIXED64 = FieldKind(6)
    """`fixed64`, a `UInt64`."""
    comptime FIXED32 = FieldKind(7)
    """`fixed32`, a `UInt32`."""
    comptime BOOL = FieldKind(8)
    """`bool`, a `Bool`."""
    comptime STRING = FieldKind(9)
    """`string`, a `String`."""
    comptime MESSAGE = FieldKind(11)
    """A message."""
    comptime BYTES = FieldKind(12)
    """`bytes`, a `List[UInt8]`."""
    comptime UINT32 = FieldKind(13)
    """`uint32`, a `UInt32`."""
    comptime ENUM = FieldKind(14)
    """An enumeration."""
    comptime SFIXED32 = FieldKind(15)
    """`sfixed32`, an `Int32`."""
    comptime SFIXED64 = FieldKind(16)
    """`sfixed64`, an `Int64`."""
    comptime SINT32 = FieldKind(17)
    """`sint32`, an `Int32`."""
    comptime SINT64 = FieldKind(18)
    """`sint64`, an `Int64`."""

    @always_inline
    def is_number(self) -> Bool:
        """Tells whether lists of it may be packed: those of all but strings,
        octets and messages."""
        return not (
            self == Self.STRING or self == Self.BYTES or self == Self.MESSAGE
        )

    @always_inline
    def wire_type(self) -> Int:
        """Gives the wire type of a single value: 0, 1, 2 or 5."""
        # Two bits each, with 3 for 5: one shift and no branch.
        comptime WIRE = Self._wire_types()
        var bits = (WIRE >> UInt64(2 * Int(self.code))) & 3
        return 5 if bits == 3 else Int(bits)

    @staticmethod
    def _wire_types() -> UInt64:
        var bits = UInt64(0)
        for kind in [Self.DOUBLE, Self.FIXED64, Self.SFIXED64]:
            bits |= UInt64(1) << UInt64(2 * Int(kind.code))
        for kind in [Self.STRING, Self.BYTES, Self.MESSAGE]:
            bits |= UInt64(2) << UInt64(2 * Int(kind.code))
        for kind in [Self.FLOAT, Self.FIXED32, Self.SFIXED32]:
            bits |= UInt64(3) << UInt64(2 * Int(kind.code))
        return bits


@fieldwise_init
struct Form(Equatable, TrivialRegisterPassable):
    """What a single value is in memory."""

    var code: UInt8

    comptime BIT = Form(0)
    """A `Bool`."""
    comptime WORD = Form(1)
    """32 bits: integers, floats, enumerations."""
    comptime LONG = Form(2)
    """64 bits: integers and floats."""
    comptime TEXT = Form(3)
    """A `String`."""
    comptime OCTETS = Form(4)
    """A `List[UInt8]`."""
    comptime MESSAGE = Form(5)
    """A struct with a table."""


@fieldwise_init
struct Keeping(Equatable, TrivialRegisterPassable):
    """What is around a field's values in a struct."""

    var code: UInt8

    comptime PLAIN = Keeping(0)
    """Nothing: the value is always there."""
    comptime OPTIONAL = Keeping(1)
    """`Optional`, or `Boxed` for messages."""
    comptime LIST = Keeping(2)
    """`List`."""
    comptime MAP = Keeping(3)
    """`Dict`."""


def row_form(kind: FieldKind) -> Form:
    """Tells what values of a kind are in memory."""
    if kind == FieldKind.BOOL:
        return Form.BIT
    if kind == FieldKind.STRING:
        return Form.TEXT
    if kind == FieldKind.BYTES:
        return Form.OCTETS
    if kind == FieldKind.MESSAGE:
        return Form.MESSAGE
    var is_long = (
        kind == FieldKind.DOUBLE
        or kind == FieldKind.INT64
        or kind == FieldKind.UINT64
        or kind == FieldKind.FIXED64
        or kind == FieldKind.SFIXED64
        or kind == FieldKind.SINT64
    )
    return Form.LONG if is_long else Form.WORD
