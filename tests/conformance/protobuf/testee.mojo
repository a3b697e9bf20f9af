"""Reads and writes messages as the conformance suite of Protocol Buffers asks, on
standard input and output. Each message has its length before it, in four octets,
the lowest first.
"""

from flare.protobuf import (
    Message,
    ProtobufJson,
    decode,
    decode_json,
    encode,
    encode_json,
)
from protobuf_messages.conformance.conformance_pb import (
    ConformanceRequest,
    ConformanceResponse,
    FailureSet,
    TestCategory,
    WireFormat,
)
from protobuf_messages.google.protobuf.test_messages_proto2_pb import (
    TestAllTypesProto2,
)
from protobuf_messages.google.protobuf.test_messages_proto3_pb import (
    TestAllTypesProto3,
)
from std.io import FileHandle
from tests.conformance.connect.framed_stdio import read_up_to
from tests.support.well_known import well_known

comptime LENGTH_LEN = 4


def settings_of(request: ConformanceRequest) -> ProtobufJson:
    var json = ProtobufJson()
    json.ignores_unknown = (
        request.test_category == TestCategory.JSON_IGNORE_UNKNOWN_PARSING_TEST
    )
    json.types = well_known()
    json.types.add[TestAllTypesProto2]()
    json.types.add[TestAllTypesProto3]()
    return json^


def answer_as[M: Message](request: ConformanceRequest) -> ConformanceResponse:
    """Reads the message of the request, and writes it as is wanted."""
    var json = settings_of(request)
    var message: M
    try:
        if request.protobuf_payload:
            message = decode[M](request.protobuf_payload.value())
        elif request.json_payload:
            message = decode_json[M](request.json_payload.value(), json)
        else:
            return ConformanceResponse(
                skipped=String("neither octets nor JSON")
            )
    except error:
        return ConformanceResponse(parse_error=String(error))
    try:
        if request.requested_output_format == WireFormat.PROTOBUF:
            return ConformanceResponse(protobuf_payload=encode(message))
        if request.requested_output_format == WireFormat.JSON_:
            return ConformanceResponse(json_payload=encode_json(message, json))
        return ConformanceResponse(skipped=String("neither octets nor JSON"))
    except error:
        return ConformanceResponse(serialize_error=String(error))


def answer(request: ConformanceRequest) raises -> ConformanceResponse:
    if request.message_type == "conformance.FailureSet":
        return ConformanceResponse(protobuf_payload=encode(FailureSet()))
    if request.message_type == TestAllTypesProto3.NAME:
        return answer_as[TestAllTypesProto3](request)
    if request.message_type == TestAllTypesProto2.NAME:
        return answer_as[TestAllTypesProto2](request)
    return ConformanceResponse(skipped=String("a message of editions"))


def read_request(
    mut file: FileHandle,
) raises -> Optional[ConformanceRequest]:
    """Reads the next request; nothing at the end of the input."""
    var prefix = read_up_to(file, LENGTH_LEN)
    if len(prefix) == 0:
        return None
    var length = 0
    for index in range(len(prefix)):
        length |= Int(prefix[index]) << (8 * index)
    var octets = read_up_to(file, length)
    if len(prefix) < LENGTH_LEN or len(octets) < length:
        raise Error("the input ends within a message")
    return decode[ConformanceRequest](octets)


def main() raises:
    var input = open("/dev/stdin", "r")
    var output = open("/dev/stdout", "w")
    while True:
        var request = read_request(input)
        if not request:
            return
        var octets = encode(answer(request.take()))
        var framed = List[UInt8]()
        for index in range(LENGTH_LEN):
            framed.append(UInt8((len(octets) >> (8 * index)) & 255))
        framed.extend(octets^)
        output.write_bytes(framed)
