"""Messages of `grpc.reflection.v1`; those of v1alpha have the same fields.

Source: reflection.proto of gRPC, by way of `flare proto`.
"""

from flare.protobuf.kind import FieldKind
from flare.protobuf.message import FieldRow, Message


struct ServerReflectionRequest(Message):
    """Asks for one thing."""

    comptime NAME = "grpc.reflection.v1.ServerReflectionRequest"
    comptime FIELD_COUNT = 6
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "host"),
        FieldRow(
            3, FieldKind.STRING, "file_by_filename", "fileByFilename", oneof=1
        ),
        FieldRow(
            4,
            FieldKind.STRING,
            "file_containing_symbol",
            "fileContainingSymbol",
            oneof=1,
        ),
        FieldRow(
            5,
            FieldKind.MESSAGE,
            "file_containing_extension",
            "fileContainingExtension",
            oneof=1,
        ),
        FieldRow(
            6,
            FieldKind.STRING,
            "all_extension_numbers_of_type",
            "allExtensionNumbersOfType",
            oneof=1,
        ),
        FieldRow(7, FieldKind.STRING, "list_services", "listServices", oneof=1),
    ]

    var host: String
    var file_by_filename: Optional[String]
    var file_containing_symbol: Optional[String]
    var file_containing_extension: Optional[ExtensionRequest]
    var all_extension_numbers_of_type: Optional[String]
    var list_services: Optional[String]
    var unknown_fields: List[UInt8]


struct ExtensionRequest(Message):
    """Names an extension."""

    comptime NAME = "grpc.reflection.v1.ExtensionRequest"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "containing_type", "containingType"),
        FieldRow(2, FieldKind.INT32, "extension_number", "extensionNumber"),
    ]

    var containing_type: String
    var extension_number: Int32
    var unknown_fields: List[UInt8]


struct ServerReflectionResponse(Message):
    """Answers one request."""

    comptime NAME = "grpc.reflection.v1.ServerReflectionResponse"
    comptime FIELD_COUNT = 6
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "valid_host", "validHost"),
        FieldRow(2, FieldKind.MESSAGE, "original_request", "originalRequest"),
        FieldRow(
            4,
            FieldKind.MESSAGE,
            "file_descriptor_response",
            "fileDescriptorResponse",
            oneof=1,
        ),
        FieldRow(
            5,
            FieldKind.MESSAGE,
            "all_extension_numbers_response",
            "allExtensionNumbersResponse",
            oneof=1,
        ),
        FieldRow(
            6,
            FieldKind.MESSAGE,
            "list_services_response",
            "listServicesResponse",
            oneof=1,
        ),
        FieldRow(
            7, FieldKind.MESSAGE, "error_response", "errorResponse", oneof=1
        ),
    ]

    var valid_host: String
    var original_request: Optional[ServerReflectionRequest]
    var file_descriptor_response: Optional[FileDescriptorResponse]
    var all_extension_numbers_response: Optional[ExtensionNumberResponse]
    var list_services_response: Optional[ListServiceResponse]
    var error_response: Optional[ErrorResponse]
    var unknown_fields: List[UInt8]


struct FileDescriptorResponse(Message):
    """Files, each as its octets."""

    comptime NAME = "grpc.reflection.v1.FileDescriptorResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(
            1, FieldKind.BYTES, "file_descriptor_proto", "fileDescriptorProto"
        ),
    ]

    var file_descriptor_proto: List[List[UInt8]]
    var unknown_fields: List[UInt8]


struct ExtensionNumberResponse(Message):
    """The extensions of one message."""

    comptime NAME = "grpc.reflection.v1.ExtensionNumberResponse"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "base_type_name", "baseTypeName"),
        FieldRow(2, FieldKind.INT32, "extension_number", "extensionNumber"),
    ]

    var base_type_name: String
    var extension_number: List[Int32]
    var unknown_fields: List[UInt8]


struct ListServiceResponse(Message):
    """All services."""

    comptime NAME = "grpc.reflection.v1.ListServiceResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "service"),
    ]

    var service: List[ServiceResponse]
    var unknown_fields: List[UInt8]


struct ServiceResponse(Message):
    """One of them."""

    comptime NAME = "grpc.reflection.v1.ServiceResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
    ]

    var name: String
    var unknown_fields: List[UInt8]


struct ErrorResponse(Message):
    """Why there is no answer, by a code of gRPC."""

    comptime NAME = "grpc.reflection.v1.ErrorResponse"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT32, "error_code", "errorCode"),
        FieldRow(2, FieldKind.STRING, "error_message", "errorMessage"),
    ]

    var error_code: Int32
    var error_message: String
    var unknown_fields: List[UInt8]
