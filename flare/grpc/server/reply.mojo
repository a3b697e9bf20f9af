"""Responses of calls: a status alone, one message with a status after it, and what
every head has, as each protocol writes them."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.text import Text
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.connect import (
    TRAILER_PREFIX,
    connect_http_status,
    write_end,
    write_error,
)
from flare.grpc.core.message_reader import PREFIX_LEN
from flare.grpc.core.message_writer import begin_message, set_prefix
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import GrpcCode, GrpcStatus, append_status
from flare.grpc.core.web import append_text, write_trailers
from flare.grpc.server.call import GrpcCall
from flare.http.message.body import Body, SpareContent
from flare.http.message.header_map import HeaderError, HeaderMap, add_vary
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.sys.log import log_line
from std.memory import ArcPointer


def status_alone(
    protocol: CallProtocol,
    status: GrpcStatus,
    headers: Metadata,
    trailers: Metadata,
) -> Response:
    """Answers with a status and no reply; of gRPC in the head, if there is nothing
    else ("Trailers-Only")."""
    if not protocol.is_framed():
        var code = connect_http_status(status.code)
        return _error(code, status, headers, trailers)
    if protocol.has_trailers() and len(headers) == 0:
        return status_in_head(protocol, status, trailers)
    var response = Response(200, Body(), content_type=protocol.content_type())
    _add_metadata(response.headers, headers)
    if protocol.has_trailers():
        var spare = SpareContent()
        response.body = spare.body(Buffer(), trailers_of(status, trailers))
    else:
        var end = Buffer()
        append_end(protocol, status, trailers, end)
        response.body = Body(list_of(end.span()))
    return response^


def status_in_head(
    protocol: CallProtocol, status: GrpcStatus, trailers: Metadata
) -> Response:
    """Answers with a head that has a status as gRPC writes it."""
    var response = Response(200, Body(), content_type=protocol.content_type())
    add_status(response.headers, status, trailers)
    return response^


def refused_by_server(
    protocol: CallProtocol, status: GrpcStatus, http_status: Int
) -> Response:
    """Answers in place of the method, by a status of HTTP."""
    if protocol.is_connect():
        return _error(http_status, status, Metadata(), Metadata())
    var response = status_in_head(protocol, status, Metadata())
    response.status = http_status
    return response^


def _error(
    http_status: Int,
    status: GrpcStatus,
    headers: Metadata,
    trailers: Metadata,
) -> Response:
    """Answers with an error of Connect."""
    var json = Buffer()
    write_error(status, json)
    var response = Response(
        http_status,
        list_of(json.span()),
        content_type="application/json",
    )
    _add_metadata(response.headers, headers)
    _add_metadata(response.headers, trailers, TRAILER_PREFIX)
    return response^


def _add_metadata(
    mut fields: HeaderMap, metadata: Metadata, prefix: StaticString = ""
):
    """Adds what there is room for."""
    try:
        append_metadata(fields, metadata, prefix)
    except:
        # The status is what matters.
        return


def append_metadata(
    mut fields: HeaderMap, metadata: Metadata, prefix: StaticString
) raises HeaderError:
    """Adds metadata, each name with a prefix."""
    if prefix == "":
        return metadata.append_to(fields)
    for index in range(len(metadata)):
        fields.unsafe_append_judged(
            String(prefix, metadata.name(index)), metadata.value(index)
        )


def append_end(
    protocol: CallProtocol,
    status: GrpcStatus,
    trailers: Metadata,
    mut out: Buffer,
):
    """Writes the frame that ends a response; nothing where trailers of HTTP do."""
    if protocol.end_flag() == 0:
        return
    var frame = Buffer()
    var start = begin_message(frame)
    if protocol.is_connect():
        write_end(status, trailers, frame)
    else:
        var fields = HeaderMap()
        add_status(fields, status, trailers)
        write_trailers(fields, frame)
    set_prefix(frame, start, protocol.end_flag())
    if protocol.is_text():
        append_text(frame.span(), out)
    else:
        out.append(frame.span())


def add_status(mut fields: HeaderMap, status: GrpcStatus, trailers: Metadata):
    """Adds what ends a call to trailers, or to a head that has no more than a
    content type. What is too long is left out: the code is there in any case."""
    try:
        trailers.append_to(fields)
        append_status(status, fields)
    except:
        _leave_code(fields, status.code)


@no_inline
def _leave_code(mut fields: HeaderMap, code: GrpcCode):
    """Leaves the content type, and adds a code to it."""
    var type = String(fields.content_type())
    fields = HeaderMap()
    try:
        if type.byte_length() > 0:
            fields.append("content-type", type)
        append_status(
            GrpcStatus(code, "what was to be said with it is too long"), fields
        )
    except:
        # Three short lines always fit.
        return


def trailers_of(status: GrpcStatus, metadata: Metadata) -> Trailers:
    """Makes the trailers that end a call."""
    var fields = HeaderMap()
    add_status(fields, status, metadata)
    var trailers = Trailers()
    trailers.box = ArcPointer(fields^)
    return trailers^


def log_status(path: String, status: GrpcStatus):
    """Logs what a status says that is not sent."""
    if status.note.byte_length() > 0:
        log_line(
            Text()
            .add("grpc ")
            .add(path)
            .add(" ")
            .add(status.code.name())
            .add(": ")
            .add(status.note)
            .end()
        )


@always_inline
def says_ok_alone(call: GrpcCall) -> Bool:
    """Tells whether a reply has nothing beside it but the status OK."""
    return (
        len(call.headers) == 0
        and len(call.trailers) == 0
        and call.coding() == MessageCoding.IDENTITY
    )


@always_inline
def ok_alone(
    mut call: GrpcCall, ok: Trailers, mut spare: SpareContent
) -> Response:
    """Answers a call of gRPC with its one reply and the status OK, which `ok`
    says; `says_ok_alone` is true of it."""
    var message = Buffer(0)
    swap(message, call.out)
    return Response(
        200,
        spare.body(message^, ok.copy()),
        content_type=call.protocol().content_type(),
    )


def unary_response(
    mut call: GrpcCall, ok: Trailers, mut spare: SpareContent
) raises HeaderError -> Response:
    """Answers with one reply, which has its prefix, and the status OK; `ok` are
    the trailers that say so and no more."""
    var message = Buffer(0)
    swap(message, call.out)
    var protocol = call.protocol()
    if protocol.has_trailers():
        var trailers = ok.copy()
        if len(call.trailers) > 0:
            trailers = trailers_of(GrpcStatus(), call.trailers)
        var response = Response(
            200,
            spare.body(message^, trailers^),
            content_type=protocol.content_type(),
        )
        add_head(response.headers, call, call.coding())
        return response^
    var response = Response(200, Body(), content_type=protocol.content_type())
    if not protocol.is_framed():
        _add_plain(response, call, message.span())
        return response^
    add_head(response.headers, call, call.coding())
    var content = Buffer()
    if protocol.is_text():
        append_text(message.span(), content)
    else:
        swap(content, message)
    append_end(protocol, GrpcStatus(), call.trailers, content)
    response.body = Body(list_of(content.span()))
    return response^


def _add_plain(
    mut response: Response, call: GrpcCall, message: Span[UInt8, _]
) raises HeaderError:
    """Makes the message itself the content; what its prefix says is in the head."""
    if message.at(0) == 1:
        response.headers.append("content-encoding", "gzip")
    if call.compresses:
        add_vary(response.headers, "accept-encoding")
    call.headers.append_to(response.headers)
    append_metadata(response.headers, call.trailers, TRAILER_PREFIX)
    response.body = Body(list_of(message.after(PREFIX_LEN)))


@no_inline
def add_head(
    mut fields: HeaderMap, call: GrpcCall, coding: MessageCoding
) raises HeaderError:
    """Adds what is said before the replies, which may be compressed so."""
    if coding == MessageCoding.GZIP:
        fields.append(call.protocol().encoding_field(), "gzip")
    call.headers.append_to(fields)
