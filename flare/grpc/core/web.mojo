"""What gRPC-Web has beside gRPC: trailers as a frame, and content in base64."""

from flare.bytes.ascii import find_octet, trim_whitespace
from flare.bytes.base64 import base64_decode, base64_encode
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.message.header_map import HeaderMap

comptime _PAD: UInt8 = 61
comptime _GROUP_LEN = 4


def write_trailers(fields: HeaderMap, mut out: Buffer):
    """Writes fields as the content of the frame that ends a response.

    Source: PROTOCOL-WEB.md: as lines of HTTP/1.1, with names in lower case.
    """
    for index in range(len(fields)):
        out.append(fields.name(index).as_bytes())
        out.append_literal[": "]()
        out.append(fields.value(index).as_bytes())
        out.append_literal["\r\n"]()


def read_trailers(octets: Span[UInt8, _]) raises GrpcStatus -> HeaderMap:
    """Reads the content of the frame that ends a response. Raises `INTERNAL` if
    a line is no field, or all together are longer than a field section may be.

    Source: PROTOCOL-WEB.md: as lines of HTTP/1.1. Names may be in any case, and
    the last line may lack its end.
    """
    var fields = HeaderMap()
    var start = 0
    while start < len(octets):
        var end = find_octet(octets, 10, start)
        _read_line(octets.between(start, end).as_imm(), fields)
        start = end + 1
    return fields^


def _read_line(line: Span[UInt8, _], mut fields: HeaderMap) raises GrpcStatus:
    var length = len(line)
    if length > 0 and line.at(length - 1) == 13:
        length -= 1
    if length == 0:
        return
    var colon = find_octet(line.before(length), 58)
    if colon == length:
        raise GrpcStatus(
            GrpcCode.INTERNAL,
            "trailers in the content: a line has no colon; each is a name, a"
            " colon and a value",
        )
    var value = trim_whitespace(line.between(colon + 1, length).as_imm())
    try:
        fields.append(
            StringSpan(unsafe_from_utf8=line.before(colon)),
            StringSpan(unsafe_from_utf8=value),
        )
    except error:
        raise GrpcStatus(
            GrpcCode.INTERNAL, String("trailers in the content: ", error)
        )


def append_text(octets: Span[UInt8, _], mut out: Buffer):
    """Writes octets as a piece of base64, with its padding: a reader takes any
    number of such pieces (PROTOCOL-WEB.md, "text-encoded streams").
    """
    out.append(base64_encode(octets).as_bytes())


struct TextDecoder(Movable):
    """Reads base64 that comes in any pieces; padding ends a part, and another may
    follow."""

    # Digits of a group that is not whole.
    var _digits: List[UInt8]

    def __init__(out self):
        self._digits = []

    def receive(mut self, text: Span[UInt8, _], mut out: Buffer) -> Bool:
        """Takes the next piece. False if it is no base64."""
        self._digits.extend(text)
        var whole = len(self._digits) - len(self._digits) % _GROUP_LEN
        var start = 0
        # A padded group ends a part, so each is read for itself.
        while start < whole:
            var end = start + _GROUP_LEN
            while end < whole and Span(self._digits).at(end - 1) != _PAD:
                end += _GROUP_LEN
            var octets = base64_decode(Span(self._digits).between(start, end))
            if not octets:
                return False
            out.append(octets.held())
            start = end
        var rest = list_of(Span(self._digits).after(whole))
        self._digits = rest^
        return True

    def is_whole(self) -> Bool:
        """Tells whether no part of a group waits for the rest. True if the text
        may end here."""
        return len(self._digits) == 0
