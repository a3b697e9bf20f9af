"""Messages of Protocol Buffers, read from octets and from JSON."""

from differential_messages.every_pb import Every
from differential_messages.known_pb import Known
from differential_messages.legacy_pb import Legacy
from flare.bytes.ascii import hex_text
from flare.protobuf import (
    Any,
    Duration,
    FieldMask,
    Int64Value,
    Message,
    ProtobufError,
    ProtobufJson,
    Struct,
    Timestamp,
    Value,
    decode,
    decode_json,
    encode,
    encode_json,
)
from tests.differential.quoted import quoted
from tests.support.well_known import well_known


def answer_protobuf(input: Span[UInt8, _], is_json: Bool) -> String:
    """Reads a message and writes it again.

    Args:
        input: A letter, which names the type, and octets or a text.
        is_json: Whether it is a text.

    Returns:
        `M`, the octets in hex behind an `x`, and a `-` for each thing that another
        reader may keep apart; `M` and the text behind a `j`; or `E refuse:`, the
        number of the error, and what was expected.
    """
    if len(input) == 0:
        return "E refuse:0:a_case"
    var letter = input[0] & 0xDF
    var json = ProtobufJson()
    json.ignores_unknown = input[0] != letter
    json.types = well_known()
    json.types.add[Every]()
    json.types.add[Legacy]()
    json.types.add[Known]()
    var octets = input[1:]
    if letter == 0x4C:
        return _answer[Legacy](octets, is_json, json)
    if letter == 0x4B:
        return _answer[Known](octets, is_json, json)
    if letter == 0x41:
        return _answer[Any](octets, is_json, json)
    if letter == 0x44:
        return _answer[Duration](octets, is_json, json)
    if letter == 0x4D:
        return _answer[FieldMask](octets, is_json, json)
    if letter == 0x53:
        return _answer[Struct](octets, is_json, json)
    if letter == 0x54:
        return _answer[Timestamp](octets, is_json, json)
    if letter == 0x56:
        return _answer[Value](octets, is_json, json)
    if letter == 0x49:
        return _answer[Int64Value](octets, is_json, json)
    return _answer[Every](octets, is_json, json)


def _answer[
    M: Message
](input: Span[UInt8, _], is_json: Bool, json: ProtobufJson) -> String:
    try:
        var message: M
        if is_json:
            message = decode_json[M](StringSpan(unsafe_from_utf8=input), json)
        else:
            message = decode[M](input)
        return String(
            "M x", hex_text(encode(message)), " - - - ", _text(message, json)
        )
    except error:
        return _refusal(error)


def _text[M: Message](message: M, json: ProtobufJson) -> String:
    try:
        var text = encode_json(message, json)
        return String("M - j", quoted(text.as_bytes()), " - - E end")
    except error:
        return _refusal(error)


def _refusal(error: ProtobufError) -> String:
    var reason = error.expected.replace(" ", "_")
    return String("E refuse:", error.kind.code, ":", reason)
