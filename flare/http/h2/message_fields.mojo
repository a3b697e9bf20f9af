"""The header section of a response as HTTP/2 sends it (RFC 9113 section 8.2)."""

from flare.bytes.ascii import ascii_lower, is_lower
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.hpack_encoder import UsualField, indexing_of
from flare.http.h2.hpack_table import FieldKind, kind_of
from flare.http.h2.session import Http2Session
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response
from flare.http.message.status import RESET_CONTENT
from flare.http.message.trailers import Trailers
from std.sys.intrinsics import likely, unlikely

comptime LENGTH_UNKNOWN = -1
"""The length of content that a source makes until it ends."""


def add_response_fields(
    mut session: Http2Session,
    response: Response,
    content_len: Int,
    date: Span[UInt8, _],
    mut name: Buffer,
):
    """Encodes the header section of a response; `begin_block` comes before.

    Fields of HTTP/1.1 connections that the handler has set are not sent, nor is
    its Content-Length. `content_len` is how much content there is or would be,
    or `LENGTH_UNKNOWN`; `name` is room for names in lower case.
    """
    ref out = session.fields
    ref encoder = session.encoder
    encoder.add_status(out, response.status.code)
    var type = response.headers.content_type().as_bytes()
    if likely(len(type) > 0):
        encoder.add_usual[UsualField.CONTENT_TYPE](
            out, "content-type".as_bytes(), type
        )
    var has_date = False
    if unlikely(len(response.headers.lines_octets()) > 0):
        has_date = "date" in response.headers
        add_fields(session, response.headers, name)
    if not has_date:
        session.encoder.add_usual[UsualField.DATE](
            session.fields, "date".as_bytes(), date
        )
    var length = content_len
    if unlikely(response.status.code == RESET_CONTENT):
        length = 0
    if length >= 0 and response.status.allows_content():
        session.encoder.add_content_length(session.fields, length)


def add_fields(mut session: Http2Session, headers: HeaderMap, mut name: Buffer):
    """Encodes the lines of a header map in a block that is begun, but for
    Content-Type if that has its own place, and for what belongs to HTTP/1.1
    connections. `name` is room for names in lower case."""
    var first = 1 if headers.content_type().byte_length() > 0 else 0
    for index in range(first, len(headers)):
        var value = headers.value(index).as_bytes()
        var own = headers.name(index).as_bytes()
        # What the table has was looked at when it came there.
        if session.encoder.add_kept(session.fields, own, value):
            continue
        if is_lower(own):
            _add_field(session, own, value)
            continue
        name.clear()
        for octet in own:
            name.append_octet(ascii_lower(octet))
        _add_field(session, name.span(), value)


def add_trailers(
    mut session: Http2Session, trailers: Trailers, mut name: Buffer
):
    """Encodes trailers, of which there are some, in a block that is begun. `name`
    is room for names in lower case."""
    ref fields = trailers.box.held()
    if likely(session.encoder.add_shared(session.fields, fields)):
        return
    var start = len(session.fields)
    var count = session.encoder.entry_count()
    add_fields(session, fields[], name)
    # Those that nobody else has will not come again.
    if fields.count() > 1 and session.encoder.entry_count() == count:
        session.encoder.note_shared(fields, session.fields.span().after(start))


@always_inline
def _add_field(
    mut session: Http2Session, name: Span[UInt8, _], value: Span[UInt8, _]
):
    var kind = kind_of(name)
    if kind == FieldKind.OF_CONNECTION or kind == FieldKind.CONTENT_LENGTH:
        return
    session.encoder.add(session.fields, name, value, indexing_of(name))
