"""Protocol Buffers: messages in octets and in JSON."""

from flare.protobuf.boxed import Boxed
from flare.protobuf.error import (
    ProtobufError,
    ProtobufErrorKind,
    ProtobufLimits,
)
from flare.protobuf.known import (
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
    NullValue,
    StringValue,
    Struct,
    Timestamp,
    UInt32Value,
    UInt64Value,
    Value,
    Wrapper,
)
from flare.protobuf.json_reader import decode_json
from flare.protobuf.json_settings import ProtobufJson, TypeRegistry
from flare.protobuf.json_writer import encode_json
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
from flare.protobuf.reader import decode, merge
from flare.protobuf.writer import encode, encode_into
