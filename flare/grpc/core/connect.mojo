"""What Connect says in JSON: errors, and how a stream ended."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.grpc.core.binary import encode_binary
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import CODE_MAX, GrpcCode, GrpcStatus
from flare.json.writer import append_json_string
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
        _append_text(out, _type_name(detail.type_url))
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


def _type_name(url: String) -> String:
    """Gives the name of a type, which stands behind the last slash."""
    var octets = url.as_bytes()
    var start = len(octets)
    while start > 0 and octets.at(start - 1) != 47:
        start -= 1
    return String(StringSpan(unsafe_from_utf8=octets.after(start)))
