"""The open inference protocol over one model: what it is asked, checked before the
model sees it."""

from examples.inference.linear import COLUMN_COUNT, Linear, MODEL, VERSION
from examples.inference.messages.open_inference_grpc import GRPCInferenceService
from examples.inference.messages.open_inference_pb import (
    InferTensorContents,
    ModelInferRequest,
    ModelInferRequest_InferInputTensor,
    ModelInferResponse,
    ModelInferResponse_InferOutputTensor,
    ModelMetadataRequest,
    ModelMetadataResponse,
    ModelMetadataResponse_TensorMetadata,
    ModelReadyRequest,
    ModelReadyResponse,
    ServerLiveRequest,
    ServerLiveResponse,
    ServerMetadataRequest,
    ServerMetadataResponse,
    ServerReadyRequest,
    ServerReadyResponse,
)
from flare.grpc import GrpcCall, GrpcCode, GrpcStatus
from std.memory import bitcast

comptime INPUT = StaticString("x")
comptime OUTPUT = StaticString("y")
comptime DATATYPE = StaticString("FP32")
comptime _FLOAT_LEN = 4


struct Inference(GRPCInferenceService):
    """A server with the model `linear`."""

    var model: Linear

    def __init__(out self):
        self.model = Linear()

    def server_live(
        self, request: ServerLiveRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerLiveResponse:
        return ServerLiveResponse(live=True)

    def server_ready(
        self, request: ServerReadyRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerReadyResponse:
        return ServerReadyResponse(ready=True)

    def model_ready(
        self, request: ModelReadyRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelReadyResponse:
        return ModelReadyResponse(
            ready=_is_known(request.name, request.version)
        )

    def server_metadata(
        self, request: ServerMetadataRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ServerMetadataResponse:
        return ServerMetadataResponse(name="flare", version=VERSION)

    def model_metadata(
        self, request: ModelMetadataRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelMetadataResponse:
        _check_model(request.name, request.version)
        var metadata = ModelMetadataResponse(name=MODEL, platform="mojo")
        metadata.versions.append(VERSION)
        metadata.inputs.append(
            ModelMetadataResponse_TensorMetadata(
                name=INPUT, datatype=DATATYPE, shape=[-1, COLUMN_COUNT]
            )
        )
        metadata.outputs.append(
            ModelMetadataResponse_TensorMetadata(
                name=OUTPUT, datatype=DATATYPE, shape=[-1]
            )
        )
        return metadata^

    def model_infer(
        self, request: ModelInferRequest, mut call: GrpcCall
    ) raises GrpcStatus -> ModelInferResponse:
        _check_model(request.model_name, request.model_version)
        for output in request.outputs:
            if output.name != OUTPUT:
                raise _wrong("the only output is y")
        var outputs = self.model.predict(_input(request))
        var response = ModelInferResponse(
            model_name=MODEL, model_version=VERSION, id=request.id
        )
        var tensor = ModelInferResponse_InferOutputTensor(
            name=OUTPUT, datatype=DATATYPE, shape=[Int64(len(outputs))]
        )
        # Who asks with raw contents is answered with such.
        if len(request.raw_input_contents) > 0:
            response.raw_output_contents.append(_octets(outputs))
        else:
            tensor.contents = InferTensorContents(fp32_contents=outputs^)
        response.outputs.append(tensor^)
        return response^


def _is_known(name: String, version: String) -> Bool:
    return name == MODEL and (version == "" or version == VERSION)


def _check_model(name: String, version: String) raises GrpcStatus:
    if not _is_known(name, version):
        raise GrpcStatus(GrpcCode.NOT_FOUND, "the only model is linear, 1")


def _wrong(message: StaticString) -> GrpcStatus:
    return GrpcStatus(GrpcCode.INVALID_ARGUMENT, message)


def _input(request: ModelInferRequest) raises GrpcStatus -> List[Float32]:
    """Gives the numbers of the one input, as many as its shape says."""
    if len(request.inputs) != 1 or request.inputs[0].name != INPUT:
        raise _wrong("the only input is x")
    ref tensor = request.inputs[0]
    if tensor.datatype != DATATYPE:
        raise _wrong("x has the datatype FP32")
    var numbers = _numbers(request, tensor)
    # Divided, since a product of what a caller says may be too large.
    if (
        len(tensor.shape) != 2
        or tensor.shape[1] != COLUMN_COUNT
        or len(numbers) % COLUMN_COUNT != 0
        or tensor.shape[0] != Int64(len(numbers) // COLUMN_COUNT)
    ):
        raise _wrong("x has the shape [n, 2], and so many contents")
    return numbers^


def _numbers(
    request: ModelInferRequest, tensor: ModelInferRequest_InferInputTensor
) raises GrpcStatus -> List[Float32]:
    if len(request.raw_input_contents) == 0:
        if not tensor.contents:
            return []
        return tensor.contents.value().fp32_contents.copy()
    if len(request.raw_input_contents) > 1 or tensor.contents:
        raise _wrong("contents are raw, one for each input, or they are not")
    ref octets = request.raw_input_contents[0]
    if len(octets) % _FLOAT_LEN != 0:
        raise _wrong("FP32 has four octets for each number")
    var numbers = List[Float32](capacity=len(octets) // _FLOAT_LEN)
    for start in range(0, len(octets), _FLOAT_LEN):
        var bits = UInt32(0)
        for place in range(_FLOAT_LEN):
            bits |= UInt32(octets[start + place]) << UInt32(8 * place)
        numbers.append(bitcast[DType.float32](bits))
    return numbers^


def _octets(numbers: List[Float32]) -> List[UInt8]:
    var octets = List[UInt8](capacity=len(numbers) * _FLOAT_LEN)
    for number in numbers:
        var bits = bitcast[DType.uint32](number)
        for place in range(_FLOAT_LEN):
            octets.append(UInt8((bits >> UInt32(8 * place)) & 0xFF))
    return octets^
