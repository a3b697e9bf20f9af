"""A registry with the well-known types."""

from flare.protobuf import (
    Any,
    BoolValue,
    BytesValue,
    DoubleValue,
    Duration,
    Empty,
    FieldMask,
    FloatValue,
    Int32Value,
    Int64Value,
    ListValue,
    StringValue,
    Struct,
    Timestamp,
    TypeRegistry,
    UInt32Value,
    UInt64Value,
    Value,
)


def well_known() -> TypeRegistry:
    """Makes a registry in which all well-known types are."""
    var types = TypeRegistry()
    types.add[Any]()
    types.add[BoolValue]()
    types.add[BytesValue]()
    types.add[DoubleValue]()
    types.add[Duration]()
    types.add[Empty]()
    types.add[FieldMask]()
    types.add[FloatValue]()
    types.add[Int32Value]()
    types.add[Int64Value]()
    types.add[ListValue]()
    types.add[StringValue]()
    types.add[Struct]()
    types.add[Timestamp]()
    types.add[UInt32Value]()
    types.add[UInt64Value]()
    types.add[Value]()
    return types^
