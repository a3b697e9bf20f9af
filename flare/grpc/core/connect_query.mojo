"""A call of Connect by GET, which has all in the query."""

from flare.bytes.ascii import find_octet
from flare.bytes.base64 import base64url_decode, base64url_encode
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.grpc.core.codec import MessageCodec
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.url.percent import FORM_SET, percent_decode_lenient, percent_encode

comptime _PAD: UInt8 = 61
comptime _VERSION = StaticString("v1")


struct ConnectQuery(Movable):
    """What a query says ("Unary-Get-Request" of the protocol)."""

    var codec: List[UInt8]
    """How the message is written, `encoding`."""
    var coding: List[UInt8]
    """How it is compressed, `compression`; `identity` if nothing is said."""
    var _message: Optional[List[UInt8]]
    var _is_base64: Bool
    var _version: Optional[List[UInt8]]

    def __init__(out self, query: Span[UInt8, _]):
        """Reads a query as it was sent, without its `?`; of a name that is
        there twice the last value counts."""
        self.codec = []
        self.coding = List[UInt8](StaticString("identity").as_bytes())
        self._message = None
        self._is_base64 = False
        self._version = None
        var start = 0
        while start <= len(query):
            var end = find_octet(query, 38, start)
            var middle = find_octet(query.before(end), 61, start)
            if middle < end:
                self._take(
                    _decoded(query.between(start, middle)),
                    _decoded(query.between(middle + 1, end)),
                )
            start = end + 1

    @no_inline
    def __deinit__(deinit self):
        return

    def _take(mut self, name: List[UInt8], var value: List[UInt8]):
        var text = StringSpan(unsafe_from_utf8=Span(name))
        if text == "encoding":
            self.codec = value^
        elif text == "compression":
            self.coding = value^
        elif text == "message":
            self._message = value^
        elif text == "base64":
            self._is_base64 = len(value) == 1 and value.at(0) == 49
        elif text == "connect":
            self._version = value^

    def message(self) raises GrpcStatus -> List[UInt8]:
        """Decodes the message. Gives its octets, which may be compressed.
        Raises `INVALID_ARGUMENT` if there is none, it is no base64, or the
        version of the protocol is another."""
        if (
            self._version
            and StringSpan(unsafe_from_utf8=self._version.held()) != _VERSION
        ):
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT, "query: connect must be v1"
            )
        if not self._message:
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT, "query: there is no message"
            )
        if not self._is_base64:
            return self._message.held().copy()
        ref text = self._message.held()
        var length = len(text)
        while length > 0 and text.at(length - 1) == _PAD:
            length -= 1
        var octets = base64url_decode(Span(text).before(length))
        if not octets:
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT,
                "query: message is said to be base64 for URLs, and is not",
            )
        return octets.take()


def write_query(
    message: Span[UInt8, _], codec: MessageCodec, coding: MessageCoding
) -> String:
    """Writes a query, without its `?`, with its names in the order by which
    caches know it again. The message is compressed as `coding` says.

    Source: "Unary-Get-Request" of the protocol.
    """
    var text = List[UInt8](capacity=len(message) * 2 + 64)
    text.extend(StaticString("connect=v1").as_bytes())
    # What is no text has to be base64.
    var is_base64 = (
        codec != MessageCodec.JSON or coding != MessageCoding.IDENTITY
    )
    if is_base64:
        text.extend(StaticString("&base64=1").as_bytes())
    if coding != MessageCoding.IDENTITY:
        text.extend(StaticString("&compression=").as_bytes())
        text.extend(coding.name().as_bytes())
    text.extend(StaticString("&encoding=").as_bytes())
    text.extend(codec.name().as_bytes())
    text.extend(StaticString("&message=").as_bytes())
    if is_base64:
        base64url_encode(message, text)
    else:
        percent_encode[FORM_SET](message, text)
    return text_of(text)


def _decoded(value: Span[UInt8, _]) -> List[UInt8]:
    var plain = List[UInt8](capacity=len(value))
    for octet in value:
        plain.append(32 if octet == 43 else octet)
    var decoded = List[UInt8](capacity=len(value))
    percent_decode_lenient(plain, decoded)
    return decoded^
