"""Sending content in fewer octets."""

from flare.bytes.ascii import ascii_lower, equals_ignore_case
from flare.compress.content_coding import ContentCoding, can_encode
from flare.compress.encoder import compress
from flare.http.conditional.conditional import (
    EntityTag,
    TagListMatch,
    match_tag_list,
)
from flare.http.message.body import Body
from flare.http.message.content_length import announced_len
from flare.http.message.content_coding import AcceptEncoding
from flare.http.message.fields import ListElements
from flare.http.message.header_map import HeaderError, HeaderMap, add_vary
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.compressed_stream import (
    CompressedStream,
    StreamRoom,
)
from flare.http.middleware.late_response import (
    ChangesResponses,
    change_later,
)
from flare.http.handler.handler import Handler
from flare.http.handler.later import is_later
from flare.http.routing.stack import Layer
from std.memory import ArcPointer

comptime COMPRESSED_STREAM_COUNT = 1_024
"""How many contents of sources are compressed at once by default."""

comptime COMPRESSED_LEN_MIN = 1_024
"""Shortest content that is compressed by default, in bytes.

Shorter content fits into one packet either way.
"""


struct Compress[H: Handler](ChangesResponses, Layer):
    """Compresses content for clients that take it (RFC 9110 section 12.5.3).

    Brotli and zstd where their libraries are there, else gzip. What a source
    makes while it is sent, such as a file of more than 8 KiB, gets gzip, whose
    compressor takes 270 KiB where those of the others take MiB; what there is
    goes out whenever the source has to wait. Content stays as it is if it is
    short, coded already, a part (206), of a type that does not shrink (images,
    archives, server-sent events, streams of gRPC and Connect), marked
    `no-transform`, or has a digest or announced trailers. Vary tells caches
    about it, on a 304 too, and a strong ETag becomes a weak one, since the
    octets are others (RFC 9110 section 8.8.1).

    A page that holds a secret and repeats what the request says tells by its
    compressed length about the secret (BREACH): leave such routes out.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Compress[I]
    var handler: Self.H
    """What answers."""
    var content_len_min: Int
    """Shortest content that is compressed, in bytes."""
    var _offered: List[ContentCoding]
    var _room: ArcPointer[StreamRoom]

    def __init__(
        out self,
        var handler: Self.H,
        *,
        content_len_min: Int = COMPRESSED_LEN_MIN,
        stream_count_max: Int = COMPRESSED_STREAM_COUNT,
    ):
        """Wraps a handler.

        Args:
            stream_count_max: How many contents of sources are compressed at once
                in a process, 0 for none; others go as they are.
        """
        self.handler = handler^
        self.content_len_min = content_len_min
        self._offered = _codings()
        self._room = ArcPointer(StreamRoom(max(stream_count_max, 0)))

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and compresses its content."""
        var response = self.handler.serve(req)
        if is_later(req, response):
            change_later(self, req, response)
            return response^
        return self.change(req, response^)

    def change(self, req: Request, var response: Response) raises -> Response:
        """Gives a response in a coding, if that is worth it.

        Raises:
            Error: If there is no memory.
        """
        if response.body.is_stream():
            return _compressed_stream(
                req, response^, self.content_len_min, self._room
            )
        return _compressed(req, response^, self.content_len_min, self._offered)


def _codings() -> List[ContentCoding]:
    """Lists what can be offered, best first."""
    var codings = List[ContentCoding]()
    for coding in [ContentCoding.BR, ContentCoding.ZSTD, ContentCoding.GZIP]:
        if can_encode(coding):
            codings.append(coding)
    codings.append(ContentCoding.IDENTITY)
    return codings^


def _compressed(
    req: Request,
    var response: Response,
    content_len_min: Int,
    offered: List[ContentCoding],
) raises -> Response:
    """Compresses a response if that is worth it."""
    if response.status == 304:
        _describe_unchanged(req, response)
        return response^
    var length = len(response.body)
    var is_left_out = req.method == Method.HEAD and length == 0
    if is_left_out:
        length = announced_len(response.headers)
        if length < 0:
            # GET may get any.
            length = Int.MAX
    if not _is_fit(response, length, content_len_min):
        return response^
    add_vary(response.headers, "Accept-Encoding")
    var coding = _choose(req, offered)
    var format = coding.format()
    if not format:
        return response^
    if is_left_out:
        # Whether GET would get a coding depends on the content, and with it how
        # long it is.
        _ = response.headers.remove("Content-Length")
    else:
        var octets = compress(response.body.as_bytes(), format.value())
        if len(octets) >= length:
            return response^
        response.body = Body(octets^)
        response.headers.set("Content-Encoding", coding.name())
    _note_coding(response.headers)
    return response^


def _compressed_stream(
    req: Request,
    var response: Response,
    content_len_min: Int,
    room: ArcPointer[StreamRoom],
) raises -> Response:
    """Has content compressed while it is made, if that is worth it."""
    if "trailer" in response.headers:
        # It may be a digest of what the source makes.
        return response^
    var source = response.body.stream()
    # As long as it may be, if nobody knows.
    if not _is_fit(response, source[].length.or_else(Int.MAX), content_len_min):
        return response^
    add_vary(response.headers, "Accept-Encoding")
    var coding = _choose(req, [ContentCoding.GZIP, ContentCoding.IDENTITY])
    if coding == ContentCoding.IDENTITY or not can_encode(coding):
        return response^
    if not room[].take():
        return response^
    response.body = Body(CompressedStream(source, room))
    _ = response.headers.remove("Content-Length")
    response.headers.set("Content-Encoding", coding.name())
    _note_coding(response.headers)
    return response^


def _note_coding(mut headers: HeaderMap) raises HeaderError:
    """Says what else differs where content is coded."""
    # Ranges of it are not offered: the next one might be coded otherwise.
    _ = headers.remove("Accept-Ranges")
    var tag = headers.get("etag")
    if tag and not tag.value().startswith("W/"):
        var weak = "W/" + String(tag.value())
        headers.set("ETag", weak)


def _choose(req: Request, offered: List[ContentCoding]) -> ContentCoding:
    var chosen = AcceptEncoding(req.headers).choose(offered)
    return chosen.or_else(ContentCoding.IDENTITY)


def _is_fit(response: Response, length: Int, content_len_min: Int) -> Bool:
    if length < max(content_len_min, 1):
        return False
    if not response.status.allows_content() or response.status == 206:
        return False
    if "content-range" in response.headers:
        return False
    if not _may_be_coded(response.headers):
        return False
    return shrinks(response.headers.content_type().as_bytes())


def _may_be_coded(headers: HeaderMap) -> Bool:
    """Tells whether content may be coded: it is not yet, and not forbidden."""
    if "content-encoding" in headers:
        return False
    # Digests of what the handler gave (RFC 9530 sections 2 and 3).
    if "content-digest" in headers or "repr-digest" in headers:
        return False
    var control = headers.find("cache-control")
    while control >= 0:
        for element in ListElements(headers.value(control).as_bytes()):
            if equals_ignore_case(element, "no-transform".as_bytes()):
                return False
        control = headers.find("cache-control", control + 1)
    return True


def _describe_unchanged(req: Request, mut response: Response) raises:
    """Says of a 304 what its 200 would say (RFC 9110 section 15.4.5).

    Length and type of the content are not known here, so Vary stands also where
    the 200 is not compressed, which costs a cache an entry and no more. A
    client that has the weak tag has the compressed content: a strong one would
    keep its cache from updating it (RFC 9111 section 4.3.4).
    """
    if not _may_be_coded(response.headers):
        return
    add_vary(response.headers, "Accept-Encoding")
    var tag = response.headers.get("etag")
    if not tag or tag.value().startswith("W/"):
        return
    var known: Optional[EntityTag]
    try:
        known = EntityTag.parse(tag.value().as_bytes())
    except:
        return
    var index = req.headers.find("if-none-match")
    if index < 0:
        return
    while index >= 0:
        var found = match_tag_list(
            req.headers.value_bytes(index), known, is_strong=True
        )
        if found == TagListMatch.SOME or found == TagListMatch.ANY:
            return
        index = req.headers.find("if-none-match", index + 1)
    known.value().is_weak = True
    response.headers.set("ETag", String(known.value()))


def shrinks(content_type: Span[UInt8, _]) -> Bool:
    """Tells whether content of a type, with or without parameters, is worth
    compressing: text, what is written as JSON or XML, and a few others."""
    var essence = String()
    for octet in content_type:
        if octet == 59 or octet == 32:
            break
        essence += chr(Int(ascii_lower(octet)))
    # Messages in a stream have codings of their own.
    if essence.startswith("application/connect+"):
        return False
    if essence.startswith("application/grpc"):
        return False
    if essence.startswith("text/"):
        return essence != "text/event-stream"
    if essence.endswith("+json") or essence.endswith("+xml"):
        return True
    for known in [
        "application/json",
        "application/javascript",
        "application/xml",
        "application/wasm",
        "application/x-ndjson",
        "application/vnd.ms-fontobject",
        "font/ttf",
        "font/otf",
        "image/bmp",
        "image/x-icon",
    ]:
        if essence == known:
            return True
    return False
