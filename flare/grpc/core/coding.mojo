"""How messages are compressed."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    trim_whitespace,
)
from flare.bytes.checked import *

comptime ENCODING_FIELD = StaticString("grpc-encoding")
"""The field that says how a side's messages are compressed."""
comptime ACCEPT_ENCODING_FIELD = StaticString("grpc-accept-encoding")
"""The field that says which codings a side reads."""
comptime ACCEPTED_CODINGS = StaticString("identity, gzip")
"""What is read here, as the value of that field."""


@fieldwise_init
struct MessageCoding(Equatable, TrivialRegisterPassable, Writable):
    """A coding of messages."""

    var code: UInt8
    """A small number, distinct for each coding."""

    comptime IDENTITY = MessageCoding(0)
    """Messages are not compressed."""
    comptime GZIP = MessageCoding(1)
    """Each compressed message is a stream of gzip (RFC 1952)."""

    def name(self) -> StaticString:
        """Names the coding as fields do: `identity` or `gzip`."""
        return "gzip" if self == Self.GZIP else "identity"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name, as `name` gives it."""
        writer.write_string(self.name())


def parse_coding(name: Span[UInt8, _]) -> Optional[MessageCoding]:
    """Reads `grpc-encoding`, and what Connect has in its place, in any case
    (RFC 9110 section 8.4.1). Gives the coding; nothing if it is not known
    here."""
    if equals_ignore_case(name, "identity".as_bytes()):
        return MessageCoding.IDENTITY
    return MessageCoding.GZIP if _is_gzip(name) else None


def _is_gzip(name: Span[UInt8, _]) -> Bool:
    """Tells whether a coding is gzip, by its old name, too (RFC 9110 section
    8.4.1.3)."""
    return equals_ignore_case(name, "gzip".as_bytes()) or (
        equals_ignore_case(name, "x-gzip".as_bytes())
    )


def accepts_gzip(list: Span[UInt8, _]) -> Bool:
    """Reads `grpc-accept-encoding`, and what Connect has in its place: tells
    whether gzip is among the names, and not with a weight of 0 (RFC 9110
    section 12.5.3)."""
    var start = 0
    for index in range(len(list) + 1):
        if index < len(list) and list.at(index) != 44:
            continue
        var element = list.between(start, index).as_imm()
        var end = find_octet(element, 59)
        var name = trim_whitespace(element.before(end))
        if _is_gzip(name):
            return not _is_none(element.after(end))
        start = index + 1
    return False


def _is_none(weight: Span[UInt8, _]) -> Bool:
    """Tells whether what stands after a name is a weight of 0."""
    var digits = 0
    for index in range(len(weight)):
        if weight.at(index) >= 49 and weight.at(index) <= 57:
            return False
        if weight.at(index) == 48:
            digits += 1
    return digits > 0
