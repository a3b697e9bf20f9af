"""The server of models of the examples: what it answers and what it refuses."""

from examples.inference.messages.open_inference_pb import (
    InferTensorContents,
    ModelInferRequest,
    ModelInferRequest_InferInputTensor,
    ModelInferRequest_InferRequestedOutputTensor,
)
from examples.inference.service import Inference
from flare.bytes.checked import *
from flare.grpc import GrpcCall
from flare.net import SocketAddr
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var shape: List[Int64]
    var numbers: List[Float32]
    var raw: List[List[UInt8]]
    var result: String


def _request(row: _Row) -> ModelInferRequest:
    var tensor = ModelInferRequest_InferInputTensor(
        name="x", datatype="FP32", shape=row.shape.copy()
    )
    if len(row.numbers) > 0:
        tensor.contents = InferTensorContents(fp32_contents=row.numbers.copy())
    var request = ModelInferRequest(
        model_name="linear", raw_input_contents=row.raw.copy()
    )
    request.inputs.append(tensor^)
    return request^


def _said(request: ModelInferRequest) -> String:
    """Gives the numbers of an answer, or the name of its code."""
    var call = GrpcCall("/t/M", SocketAddr.localhost(1))
    var said = String()
    try:
        var response = Inference().model_infer(request, call)
        for octets in response.raw_output_contents:
            for octet in octets:
                said.write(octet, " ")
        if response.outputs.at(0).contents:
            for number in response.outputs.at(0).contents.value().fp32_contents:
                said.write(number, " ")
    except status:
        return status.code.name()
    return said^


def test_contents() raises:
    comptime WRONG = "INVALID_ARGUMENT"
    var one: List[UInt8] = [0, 0, 128, 63, 0, 0, 0, 64]
    var rows: List[_Row] = [
        _Row("typed", [2, 2], [1, 2, 0, 0], [], "9.0 1.0 "),
        _Row("raw", [1, 2], [], [one.copy()], "0 0 16 65 "),
        _Row("no rows", [0, 2], [], [], ""),
        _Row("no rows, raw", [0, 2], [], [[]], ""),
        _Row("both", [1, 2], [1, 2], [one.copy()], WRONG),
        _Row("two raw", [1, 2], [], [one.copy(), one.copy()], WRONG),
        _Row("raw, cut", [1, 2], [], [[0, 0, 128]], WRONG),
        _Row("too few", [2, 2], [1, 2], [], WRONG),
        _Row("half a row", [1, 2], [1, 2, 3], [], WRONG),
        _Row("too many", [1, 2], [1, 2, 3, 4], [], WRONG),
        _Row("below 0", [-1, 2], [], [], WRONG),
        _Row("product of 0", [Int64.MAX - 1, 2], [], [], WRONG),
        _Row("other columns", [2, 1], [1, 2], [], WRONG),
        _Row("other dimensions", [2], [1, 2], [], WRONG),
        _Row("no shape", [], [], [], WRONG),
    ]
    for row in rows:
        assert_equal(_said(_request(row)), row.result, row.rule)


def test_names() raises:
    var good = _request(_Row("", [1, 2], [1, 2], [], ""))
    var request = good.copy()
    request.model_version = "1"
    assert_equal(_said(request), "9.0 ")
    request.model_version = "2"
    assert_equal(_said(request), "NOT_FOUND")
    request = good.copy()
    request.model_name = "cat"
    assert_equal(_said(request), "NOT_FOUND")
    request = good.copy()
    request.inputs.at(0).datatype = "INT32"
    assert_equal(_said(request), "INVALID_ARGUMENT")
    request = good.copy()
    request.inputs.at(0).name = "z"
    assert_equal(_said(request), "INVALID_ARGUMENT")
    request = good.copy()
    request.inputs = []
    assert_equal(_said(request), "INVALID_ARGUMENT")
    request = good.copy()
    request.outputs.append(
        ModelInferRequest_InferRequestedOutputTensor(name="y")
    )
    assert_equal(_said(request), "9.0 ")
    request.outputs.at(0).name = "z"
    assert_equal(_said(request), "INVALID_ARGUMENT")
