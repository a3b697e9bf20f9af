"""Responses of gRPC: a status alone, one message with a status behind it, and what
every head has."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.grpc.core.coding import (
    ACCEPTED_CODINGS,
    ACCEPT_ENCODING_FIELD,
    ENCODING_FIELD,
    MessageCoding,
)
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import (
    GrpcCode,
    GrpcStatus,
    STATUS_FIELD,
    append_status,
)
from flare.grpc.server.call import GrpcCall
from flare.http.message.body import Body, BodySource, Poll
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.sys.log import log_line
from std.memory import OwnedPointer

comptime CONTENT_TYPE = StaticString("application/grpc")
"""The media type of requests and responses."""


def status_alone(status: GrpcStatus, trailers: Metadata) -> Response:
    """Answers with a head that has a status, and nothing else
    ("Trailers-Only")."""
    var response = Response(200, Body(), content_type=CONTENT_TYPE)
    add_status(response.headers, status, trailers)
    return response^


def add_status(mut fields: HeaderMap, status: GrpcStatus, trailers: Metadata):
    """Adds what ends a call to a head or to trailers. What is too long is left
    out: the code is there in any case."""
    try:
        trailers.append_to(fields)
        append_status(status, fields)
    except:
        fields = HeaderMap()
        _add_code(fields, status.code)


def _add_code(mut fields: HeaderMap, code: GrpcCode):
    try:
        append_status(
            GrpcStatus(code, "what was to be said with it is too long"), fields
        )
    except:
        # Two short lines always fit.
        return


def trailers_of(status: GrpcStatus, metadata: Metadata) -> Trailers:
    """Makes the trailers that end a call."""
    var fields = HeaderMap()
    add_status(fields, status, metadata)
    var trailers = Trailers()
    trailers.box = OwnedPointer(fields^)
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


def begin_reply[
    S: BodySource
](call: GrpcCall, var source: S) raises HeaderError -> Response:
    """Makes the response of a call whose replies and status a source gives."""
    var response = Response(200, Body(source^), content_type=CONTENT_TYPE)
    add_head(response.headers, call)
    return response^


@no_inline
def add_head(mut fields: HeaderMap, call: GrpcCall) raises HeaderError:
    """Adds what is said before the replies."""
    if call.coding() == MessageCoding.GZIP:
        fields.append(ENCODING_FIELD, "gzip")
    call.headers.append_to(fields)


struct UnaryReply(BodySource):
    """One message, and the status behind it."""

    var _message: Buffer
    var _trailers: Trailers

    def __init__(out self, var message: Buffer, var trailers: Trailers):
        self._message = message^
        self._trailers = trailers^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Gives all there is."""
        out.append(self._message.span())
        return Poll.DONE

    def trailers(mut self) raises -> Trailers:
        """Gives the status."""
        var trailers = Trailers()
        swap(trailers, self._trailers)
        return trailers^
