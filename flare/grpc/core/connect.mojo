"""What Connect says in JSON: errors, and how a stream ended."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.method_path import name_offset
from flare.grpc.core.status import (
    CODE_MAX,
    TYPE_URL_PREFIX,
    GrpcCode,
    GrpcStatus,
)
from flare.http.message.header_map import HeaderMap
from flare.json.error import JsonError, JsonKind
from flare.json.value import JsonView, parse
from flare.json.writer import append_json_string
from flare.protobuf.known import Any
from std.builtin.globals import global_constant

comptime VERSION_FIELD = StaticString("connect-protocol-version")
"""The field that says that a request is one of Connect."""
comptime VERSION = StaticString("1")
"""Its value."""
comptime TRAILER_PREFIX = StaticString("trailer-")
"""What stands before the names of trailing metadata in the head of a response."""


@fieldwise_init
struct _Code(TrivialRegisterPassable):
    var name: StaticString
    var http_status: Int


# Source: "Error Codes" of the protocol; OK has no name there.
comptime _CODES: Array[_Code, CODE_MAX + 1] = [
    _Code("ok", 200),
    _Code("canceled", 499),
    _Code("unknown", 500),
    _Code("invalid_argument", 400),
    _Code("deadline_exceeded", 504),
    _Code("not_found", 404),
    _Code("already_exists", 409),
    _Code("permission_denied", 403),
    _Code("resource_exhausted", 429),
    _Code("failed_precondition", 400),
    _Code("aborted", 409),
    _Code("out_of_range", 400),
    _Code("unimplemented", 501),
    _Code("internal", 500),
    _Code("unavailable", 503),
    _Code("data_loss", 500),
    _Code("unauthenticated", 401),
]


def connect_code_name(code: GrpcCode) -> StaticString:
    """Names a code as Connect does, such as `not_found`."""
    return global_constant[_CODES]().at(Int(code.number)).name


def connect_http_status(code: GrpcCode) -> Int:
    """Gives the status of HTTP by which a code is told."""
    return global_constant[_CODES]().at(Int(code.number)).http_status


def write_error(status: GrpcStatus, mut out: Buffer):
    """Writes a status that is not OK, as a JSON object ("Error" of the protocol)."""
    out.append_literal['{"code":']()
    append_json_string(out, connect_code_name(status.code))
    if status.message.byte_length() > 0:
        out.append_literal[',"message":']()
        _append_text(out, status.message)
    for index in range(len(status.details)):
        ref detail = status.details.at(index)
        if index == 0:
            out.append_literal[',"details":[']()
        else:
            out.append_literal[","]()
        out.append_literal['{"type":']()
        var url = detail.type_url.as_bytes()
        var name = url.after(name_offset(url))
        _append_text(out, StringSpan(unsafe_from_utf8=name))
        out.append_literal[',"value":']()
        append_json_string(out, encode_binary(detail.value))
        out.append_literal["}"]()
    if len(status.details) > 0:
        out.append_literal["]"]()
    out.append_literal["}"]()


def write_end(status: GrpcStatus, trailers: Metadata, mut out: Buffer):
    """Writes how a stream ended, as a JSON object ("EndStreamResponse" of the
    protocol).
    """
    out.append_literal["{"]()
    if not status.is_ok():
        out.append_literal['"error":']()
        write_error(status, out)
    if len(trailers) > 0:
        if not status.is_ok():
            out.append_literal[","]()
        out.append_literal['"metadata":{']()
        _append_metadata(trailers, out)
        out.append_literal["}"]()
    out.append_literal["}"]()


def read_error(
    octets: Span[UInt8, _], otherwise: GrpcCode
) -> Optional[GrpcStatus]:
    """Reads a status that is not OK ("Error" of the protocol) from what is said
    to be JSON; `otherwise` is its code if it has none that is known. Details
    that are no messages are left out. Gives nothing if it is no JSON object."""
    try:
        var document = parse(octets)
        return _error_of(document.view(), otherwise)
    except:
        return None


def _error_of(
    view: JsonView, otherwise: GrpcCode
) raises JsonError -> Optional[GrpcStatus]:
    if view.kind() != JsonKind.OBJECT:
        return None
    var status = GrpcStatus(otherwise)
    var code = _text_of(view, "code")
    if code:
        status.code = _code_of(code.held(), otherwise)
    var message = _text_of(view, "message")
    if message:
        status.message = message.take()
    var details = view.get("details")
    if not details or details.held().kind() != JsonKind.ARRAY:
        return status^
    for detail in details.held().elements():
        var name = _text_of(detail, "type")
        var value = _text_of(detail, "value")
        if not name or not value:
            continue
        var octets = decode_binary(value.held().as_bytes())
        if octets:
            status.details.append(
                Any(
                    type_url=String(TYPE_URL_PREFIX, name.held()),
                    value=octets.take(),
                )
            )
    return status^


def _text_of(
    view: JsonView, name: StringSpan
) raises JsonError -> Optional[String]:
    """Gives a member that is a text; nothing if there is none such."""
    if not view.contains(name):
        return None
    var member = view[name]
    if member.kind() != JsonKind.STRING:
        return None
    return member.string_value()


def _code_of(name: StringSpan, otherwise: GrpcCode) -> GrpcCode:
    # OK is no error.
    for number in range(1, CODE_MAX + 1):
        if name == global_constant[_CODES]().at(number).name:
            return GrpcCode.from_number(number)
    return otherwise


@fieldwise_init
struct ConnectEnd(Movable):
    """How a stream ended."""

    var status: GrpcStatus
    var trailers: Metadata


def read_end(octets: Span[UInt8, _]) raises GrpcStatus -> ConnectEnd:
    """Reads how a stream ended ("EndStreamResponse" of the protocol). Gives the
    status, `UNKNOWN` for an error without a code that is known; and the
    metadata that a field may have. Raises `INTERNAL` if it is no JSON object.
    """
    try:
        var document = parse(octets)
        return _end_of(document.view())
    except error:
        raise GrpcStatus(
            GrpcCode.INTERNAL, String("the end of the stream: ", error)
        )


def _end_of(view: JsonView) raises JsonError -> ConnectEnd:
    var end = ConnectEnd(GrpcStatus(), Metadata())
    # Raises if it is no object.
    var error = view.get("error")
    if error and not error.held().is_null():
        var status = _error_of(error.held(), GrpcCode.UNKNOWN)
        end.status = status.take() if status else GrpcStatus(GrpcCode.UNKNOWN)
    var metadata = view.get("metadata")
    if metadata and metadata.held().kind() == JsonKind.OBJECT:
        for member in metadata.held().members():
            _take_values(member.name, member.value, end.trailers)
    return end^


def _take_values(
    name: StringSpan, values: JsonView, mut metadata: Metadata
) raises JsonError:
    if values.kind() != JsonKind.ARRAY:
        return
    for value in values.elements():
        if value.kind() != JsonKind.STRING:
            continue
        var text = value.string_value()
        var fields = HeaderMap()
        try:
            fields.append(name, text)
        except:
            # No field, so no metadata.
            continue
        metadata.take_fields(fields.lines_fields())


def _append_metadata(metadata: Metadata, mut out: Buffer):
    """Writes each name once, with all its values."""
    var count = 0
    for index in range(len(metadata)):
        if _first_of(metadata, index) < index:
            continue
        if count > 0:
            out.append_literal[","]()
        count += 1
        _append_text(out, metadata.name(index))
        out.append_literal[":["]()
        for other in range(index, len(metadata)):
            if metadata.name(other) != metadata.name(index):
                continue
            if other > index:
                out.append_literal[","]()
            _append_text(out, metadata.value(other))
        out.append_literal["]"]()


def _first_of(metadata: Metadata, index: Int) -> Int:
    var first = 0
    while metadata.name(first) != metadata.name(index):
        first += 1
    return first


def _append_text(mut out: Buffer, text: StringSpan):
    if is_valid_utf8(text.as_bytes()):
        return append_json_string(out, text)
    append_json_string(out, String(from_utf8_lossy=text.as_bytes()))
