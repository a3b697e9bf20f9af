"""Descriptions of `.proto` files, as far as names are concerned.

Source: descriptor.proto of Protocol Buffers, by way of `flare proto`. What is left
out stays among the fields that are not known.
"""

from flare.protobuf.kind import FieldKind
from flare.protobuf.message import FieldRow, Message


struct FileDescriptorSet(Message):
    """Files, each as its octets."""

    comptime NAME = "google.protobuf.FileDescriptorSet"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BYTES, "file"),
    ]

    var file: List[List[UInt8]]
    var unknown_fields: List[UInt8]


struct FileDescriptorProto(Message):
    """A file."""

    comptime NAME = "google.protobuf.FileDescriptorProto"
    comptime FIELD_COUNT = 7
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "package"),
        FieldRow(3, FieldKind.STRING, "dependency"),
        FieldRow(4, FieldKind.MESSAGE, "message_type", "messageType"),
        FieldRow(5, FieldKind.MESSAGE, "enum_type", "enumType"),
        FieldRow(6, FieldKind.MESSAGE, "service"),
        FieldRow(7, FieldKind.MESSAGE, "extension"),
    ]

    var name: String
    var package: String
    var dependency: List[String]
    var message_type: List[DescriptorProto]
    var enum_type: List[EnumDescriptorProto]
    var service: List[ServiceDescriptorProto]
    var extension: List[FieldDescriptorProto]
    var unknown_fields: List[UInt8]


struct DescriptorProto(Message):
    """A message."""

    comptime NAME = "google.protobuf.DescriptorProto"
    comptime FIELD_COUNT = 6
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.MESSAGE, "field"),
        FieldRow(3, FieldKind.MESSAGE, "nested_type", "nestedType"),
        FieldRow(4, FieldKind.MESSAGE, "enum_type", "enumType"),
        FieldRow(6, FieldKind.MESSAGE, "extension"),
        FieldRow(8, FieldKind.MESSAGE, "oneof_decl", "oneofDecl"),
    ]

    var name: String
    var field: List[FieldDescriptorProto]
    var nested_type: List[DescriptorProto]
    var enum_type: List[EnumDescriptorProto]
    var extension: List[FieldDescriptorProto]
    var oneof_decl: List[NamedDescriptor]
    var unknown_fields: List[UInt8]

    def __deinit__(deinit self):
        # A struct that holds others of its own type says so itself.
        pass


struct FieldDescriptorProto(Message):
    """A field, or an extension."""

    comptime NAME = "google.protobuf.FieldDescriptorProto"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "extendee"),
        FieldRow(3, FieldKind.INT32, "number"),
    ]

    var name: String
    var extendee: String
    var number_: Int32
    var unknown_fields: List[UInt8]


struct EnumDescriptorProto(Message):
    """An enumeration."""

    comptime NAME = "google.protobuf.EnumDescriptorProto"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.MESSAGE, "value"),
    ]

    var name: String
    var value: List[NamedDescriptor]
    var unknown_fields: List[UInt8]


struct ServiceDescriptorProto(Message):
    """A service."""

    comptime NAME = "google.protobuf.ServiceDescriptorProto"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.MESSAGE, "method"),
    ]

    var name: String
    var method: List[NamedDescriptor]
    var unknown_fields: List[UInt8]


struct NamedDescriptor(Message):
    """What has a name, and is of no further interest here."""

    comptime NAME = "google.protobuf.Named"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
    ]

    var name: String
    var unknown_fields: List[UInt8]
