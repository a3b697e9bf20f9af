# Made by `flare proto` of open_inference.proto; a change here is lost.
"""Messages of open_inference.proto."""

from flare.protobuf import (
    FieldKind,
    FieldRow,
    Message,
    ProtobufMap,
    clear_oneof,
    which_oneof,
)


struct ServerLiveRequest(Message):
    comptime NAME = "inference.ServerLiveRequest"
    comptime FIELD_COUNT = 0
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = []

    var unknown_fields: List[UInt8]


struct ServerLiveResponse(Message):
    comptime NAME = "inference.ServerLiveResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "live"),
    ]

    var live: Bool
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(live=False)

    def __init__(
        out self,
        *by_name: NoneType,
        live: Bool = False,
    ):
        self.live = live
        self.unknown_fields = {}


struct ServerReadyRequest(Message):
    comptime NAME = "inference.ServerReadyRequest"
    comptime FIELD_COUNT = 0
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = []

    var unknown_fields: List[UInt8]


struct ServerReadyResponse(Message):
    comptime NAME = "inference.ServerReadyResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "ready"),
    ]

    var ready: Bool
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(ready=False)

    def __init__(
        out self,
        *by_name: NoneType,
        ready: Bool = False,
    ):
        self.ready = ready
        self.unknown_fields = {}


struct ModelReadyRequest(Message):
    comptime NAME = "inference.ModelReadyRequest"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "version"),
    ]

    var name: String
    var version: String
    """Empty for the one that the server likes best."""
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var version: String = "",
    ):
        self.name = name^
        self.version = version^
        self.unknown_fields = {}


struct ModelReadyResponse(Message):
    comptime NAME = "inference.ModelReadyResponse"
    comptime FIELD_COUNT = 1
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "ready"),
    ]

    var ready: Bool
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(ready=False)

    def __init__(
        out self,
        *by_name: NoneType,
        ready: Bool = False,
    ):
        self.ready = ready
        self.unknown_fields = {}


struct ServerMetadataRequest(Message):
    comptime NAME = "inference.ServerMetadataRequest"
    comptime FIELD_COUNT = 0
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = []

    var unknown_fields: List[UInt8]


struct ServerMetadataResponse(Message):
    comptime NAME = "inference.ServerMetadataResponse"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "version"),
        FieldRow(3, FieldKind.STRING, "extensions"),
    ]

    var name: String
    var version: String
    var extensions: List[String]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var version: String = "",
        var extensions: List[String] = {},
    ):
        self.name = name^
        self.version = version^
        self.extensions = extensions^
        self.unknown_fields = {}


struct ModelMetadataRequest(Message):
    comptime NAME = "inference.ModelMetadataRequest"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "version"),
    ]

    var name: String
    var version: String
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var version: String = "",
    ):
        self.name = name^
        self.version = version^
        self.unknown_fields = {}


struct ModelMetadataResponse(Message):
    comptime NAME = "inference.ModelMetadataResponse"
    comptime FIELD_COUNT = 5
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "versions"),
        FieldRow(3, FieldKind.STRING, "platform"),
        FieldRow(4, FieldKind.MESSAGE, "inputs"),
        FieldRow(5, FieldKind.MESSAGE, "outputs"),
    ]

    var name: String
    var versions: List[String]
    var platform: String
    var inputs: List[ModelMetadataResponse_TensorMetadata]
    var outputs: List[ModelMetadataResponse_TensorMetadata]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var versions: List[String] = {},
        var platform: String = "",
        var inputs: List[ModelMetadataResponse_TensorMetadata] = {},
        var outputs: List[ModelMetadataResponse_TensorMetadata] = {},
    ):
        self.name = name^
        self.versions = versions^
        self.platform = platform^
        self.inputs = inputs^
        self.outputs = outputs^
        self.unknown_fields = {}


struct ModelMetadataResponse_TensorMetadata(Message):
    comptime NAME = "inference.ModelMetadataResponse.TensorMetadata"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "datatype"),
        FieldRow(3, FieldKind.INT64, "shape"),
    ]

    var name: String
    var datatype: String
    var shape: List[Int64]
    """-1 for a dimension of any length."""
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var datatype: String = "",
        var shape: List[Int64] = {},
    ):
        self.name = name^
        self.datatype = datatype^
        self.shape = shape^
        self.unknown_fields = {}


struct ModelInferRequest(Message):
    comptime NAME = "inference.ModelInferRequest"
    comptime FIELD_COUNT = 7
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "model_name", "modelName"),
        FieldRow(2, FieldKind.STRING, "model_version", "modelVersion"),
        FieldRow(3, FieldKind.STRING, "id"),
        FieldRow(4, FieldKind.MESSAGE, "parameters", key=FieldKind.STRING),
        FieldRow(5, FieldKind.MESSAGE, "inputs"),
        FieldRow(6, FieldKind.MESSAGE, "outputs"),
        FieldRow(7, FieldKind.BYTES, "raw_input_contents", "rawInputContents"),
    ]

    var model_name: String
    var model_version: String
    var id: String
    """Given back."""
    var parameters: ProtobufMap[String, InferParameter]
    var inputs: List[ModelInferRequest_InferInputTensor]
    var outputs: List[ModelInferRequest_InferRequestedOutputTensor]
    """None for all."""
    var raw_input_contents: List[List[UInt8]]
    """One for each input, or none: its elements row by row, little-endian."""
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(model_name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var model_name: String = "",
        var model_version: String = "",
        var id: String = "",
        var parameters: ProtobufMap[String, InferParameter] = {},
        var inputs: List[ModelInferRequest_InferInputTensor] = {},
        var outputs: List[ModelInferRequest_InferRequestedOutputTensor] = {},
        var raw_input_contents: List[List[UInt8]] = {},
    ):
        self.model_name = model_name^
        self.model_version = model_version^
        self.id = id^
        self.parameters = parameters^
        self.inputs = inputs^
        self.outputs = outputs^
        self.raw_input_contents = raw_input_contents^
        self.unknown_fields = {}


struct ModelInferRequest_InferInputTensor(Message):
    comptime NAME = "inference.ModelInferRequest.InferInputTensor"
    comptime FIELD_COUNT = 5
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "datatype"),
        FieldRow(3, FieldKind.INT64, "shape"),
        FieldRow(4, FieldKind.MESSAGE, "parameters", key=FieldKind.STRING),
        FieldRow(5, FieldKind.MESSAGE, "contents"),
    ]

    var name: String
    var datatype: String
    var shape: List[Int64]
    var parameters: ProtobufMap[String, InferParameter]
    var contents: Optional[InferTensorContents]
    """Not with raw contents."""
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var datatype: String = "",
        var shape: List[Int64] = {},
        var parameters: ProtobufMap[String, InferParameter] = {},
        var contents: Optional[InferTensorContents] = None,
    ):
        self.name = name^
        self.datatype = datatype^
        self.shape = shape^
        self.parameters = parameters^
        self.contents = contents^
        self.unknown_fields = {}


struct ModelInferRequest_InferRequestedOutputTensor(Message):
    comptime NAME = "inference.ModelInferRequest.InferRequestedOutputTensor"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.MESSAGE, "parameters", key=FieldKind.STRING),
    ]

    var name: String
    var parameters: ProtobufMap[String, InferParameter]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var parameters: ProtobufMap[String, InferParameter] = {},
    ):
        self.name = name^
        self.parameters = parameters^
        self.unknown_fields = {}


struct ModelInferResponse(Message):
    comptime NAME = "inference.ModelInferResponse"
    comptime FIELD_COUNT = 6
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "model_name", "modelName"),
        FieldRow(2, FieldKind.STRING, "model_version", "modelVersion"),
        FieldRow(3, FieldKind.STRING, "id"),
        FieldRow(4, FieldKind.MESSAGE, "parameters", key=FieldKind.STRING),
        FieldRow(5, FieldKind.MESSAGE, "outputs"),
        FieldRow(
            6, FieldKind.BYTES, "raw_output_contents", "rawOutputContents"
        ),
    ]

    var model_name: String
    var model_version: String
    var id: String
    var parameters: ProtobufMap[String, InferParameter]
    var outputs: List[ModelInferResponse_InferOutputTensor]
    var raw_output_contents: List[List[UInt8]]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(model_name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var model_name: String = "",
        var model_version: String = "",
        var id: String = "",
        var parameters: ProtobufMap[String, InferParameter] = {},
        var outputs: List[ModelInferResponse_InferOutputTensor] = {},
        var raw_output_contents: List[List[UInt8]] = {},
    ):
        self.model_name = model_name^
        self.model_version = model_version^
        self.id = id^
        self.parameters = parameters^
        self.outputs = outputs^
        self.raw_output_contents = raw_output_contents^
        self.unknown_fields = {}


struct ModelInferResponse_InferOutputTensor(Message):
    comptime NAME = "inference.ModelInferResponse.InferOutputTensor"
    comptime FIELD_COUNT = 5
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.STRING, "datatype"),
        FieldRow(3, FieldKind.INT64, "shape"),
        FieldRow(4, FieldKind.MESSAGE, "parameters", key=FieldKind.STRING),
        FieldRow(5, FieldKind.MESSAGE, "contents"),
    ]

    var name: String
    var datatype: String
    var shape: List[Int64]
    var parameters: ProtobufMap[String, InferParameter]
    var contents: Optional[InferTensorContents]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var datatype: String = "",
        var shape: List[Int64] = {},
        var parameters: ProtobufMap[String, InferParameter] = {},
        var contents: Optional[InferTensorContents] = None,
    ):
        self.name = name^
        self.datatype = datatype^
        self.shape = shape^
        self.parameters = parameters^
        self.contents = contents^
        self.unknown_fields = {}


struct InferParameter(Message):
    comptime NAME = "inference.InferParameter"
    comptime FIELD_COUNT = 5
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "bool_param", "boolParam", oneof=1),
        FieldRow(2, FieldKind.INT64, "int64_param", "int64Param", oneof=1),
        FieldRow(3, FieldKind.STRING, "string_param", "stringParam", oneof=1),
        FieldRow(4, FieldKind.DOUBLE, "double_param", "doubleParam", oneof=1),
        FieldRow(5, FieldKind.UINT64, "uint64_param", "uint64Param", oneof=1),
    ]

    var bool_param: Optional[Bool]
    var int64_param: Optional[Int64]
    var string_param: Optional[String]
    var double_param: Optional[Float64]
    var uint64_param: Optional[UInt64]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(bool_param=None)

    def __init__(
        out self,
        *by_name: NoneType,
        var bool_param: Optional[Bool] = None,
        var int64_param: Optional[Int64] = None,
        var string_param: Optional[String] = None,
        var double_param: Optional[Float64] = None,
        var uint64_param: Optional[UInt64] = None,
    ):
        self.bool_param = bool_param^
        self.int64_param = int64_param^
        self.string_param = string_param^
        self.double_param = double_param^
        self.uint64_param = uint64_param^
        self.unknown_fields = {}

    def which_parameter_choice(self) -> Int:
        """Tells which field of `parameter_choice` is set, 0 for none."""
        return which_oneof(self, 1)

    def clear_parameter_choice(mut self):
        """Empties all fields of `parameter_choice`."""
        clear_oneof(self, 1)


struct InferTensorContents(Message):
    """Elements row by row, in the field of their type."""

    comptime NAME = "inference.InferTensorContents"
    comptime FIELD_COUNT = 8
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "bool_contents", "boolContents"),
        FieldRow(2, FieldKind.INT32, "int_contents", "intContents"),
        FieldRow(3, FieldKind.INT64, "int64_contents", "int64Contents"),
        FieldRow(4, FieldKind.UINT32, "uint_contents", "uintContents"),
        FieldRow(5, FieldKind.UINT64, "uint64_contents", "uint64Contents"),
        FieldRow(6, FieldKind.FLOAT, "fp32_contents", "fp32Contents"),
        FieldRow(7, FieldKind.DOUBLE, "fp64_contents", "fp64Contents"),
        FieldRow(8, FieldKind.BYTES, "bytes_contents", "bytesContents"),
    ]

    var bool_contents: List[Bool]
    var int_contents: List[Int32]
    var int64_contents: List[Int64]
    var uint_contents: List[UInt32]
    var uint64_contents: List[UInt64]
    var fp32_contents: List[Float32]
    var fp64_contents: List[Float64]
    var bytes_contents: List[List[UInt8]]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(bool_contents=List[Bool]())

    def __init__(
        out self,
        *by_name: NoneType,
        var bool_contents: List[Bool] = {},
        var int_contents: List[Int32] = {},
        var int64_contents: List[Int64] = {},
        var uint_contents: List[UInt32] = {},
        var uint64_contents: List[UInt64] = {},
        var fp32_contents: List[Float32] = {},
        var fp64_contents: List[Float64] = {},
        var bytes_contents: List[List[UInt8]] = {},
    ):
        self.bool_contents = bool_contents^
        self.int_contents = int_contents^
        self.int64_contents = int64_contents^
        self.uint_contents = uint_contents^
        self.uint64_contents = uint64_contents^
        self.fp32_contents = fp32_contents^
        self.fp64_contents = fp64_contents^
        self.bytes_contents = bytes_contents^
        self.unknown_fields = {}
