"""The content codings of HTTP."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.compress.decoder import Decoder
from flare.compress.encoder import Encoder
from flare.compress.error import Format


@fieldwise_init
struct ContentCoding(Equatable, TrivialRegisterPassable, Writable):
    """A content coding (RFC 9110 section 8.4.1)."""

    var code: UInt8
    """A small number, distinct for each coding."""

    comptime IDENTITY = ContentCoding(0)
    """No coding; stands in Accept-Encoding only (RFC 9110 section 12.5.3)."""
    comptime GZIP = ContentCoding(1)
    """RFC 9110 section 8.4.1.3."""
    comptime DEFLATE = ContentCoding(2)
    """RFC 9110 section 8.4.1.2."""
    comptime BR = ContentCoding(3)
    """RFC 7932 section 13."""
    comptime ZSTD = ContentCoding(4)
    """RFC 8878 section 7.2, RFC 9659."""

    @staticmethod
    def parse(token: Span[UInt8, _]) -> Optional[Self]:
        """Reads the name of a coding; nothing if it is unknown.

        Source: RFC 9110 section 8.4.1: case does not matter, and `x-gzip` is
        `gzip`. Registered codings that flare has no library for, such as
        `dcb`, are unknown here.

        Args:
            token: The name.
        """
        if equals_ignore_case(token, "gzip".as_bytes()):
            return Self.GZIP
        if equals_ignore_case(token, "x-gzip".as_bytes()):
            return Self.GZIP
        if equals_ignore_case(token, "deflate".as_bytes()):
            return Self.DEFLATE
        if equals_ignore_case(token, "br".as_bytes()):
            return Self.BR
        if equals_ignore_case(token, "zstd".as_bytes()):
            return Self.ZSTD
        if equals_ignore_case(token, "identity".as_bytes()):
            return Self.IDENTITY
        return None

    def format(self) -> Optional[Format]:
        """Gives the format of content in this coding; nothing for `IDENTITY`."""
        if self == Self.GZIP:
            return Format.GZIP
        if self == Self.DEFLATE:
            return Format.DEFLATE
        if self == Self.BR:
            return Format.BROTLI
        if self == Self.ZSTD:
            return Format.ZSTD
        return None

    def name(self) -> StaticString:
        """Names the coding, as fields write it."""
        if self == Self.GZIP:
            return "gzip"
        if self == Self.DEFLATE:
            return "deflate"
        if self == Self.BR:
            return "br"
        if self == Self.ZSTD:
            return "zstd"
        return "identity"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name())


def can_decode(coding: ContentCoding) -> Bool:
    """Tells whether content in a coding can be read on this machine.

    Args:
        coding: The coding.

    Returns:
        False if its library is missing. Looking costs microseconds: keep the
        answer.
    """
    var format = coding.format()
    if not format:
        return True
    try:
        _ = Decoder(format.held())
        return True
    except:
        return False


def can_encode(coding: ContentCoding) -> Bool:
    """Tells whether content in a coding can be written on this machine.

    Args:
        coding: The coding.

    Returns:
        False if its library is missing. Looking costs microseconds: keep the
        answer.
    """
    var format = coding.format()
    if not format:
        return True
    try:
        _ = Encoder(format.held())
        return True
    except:
        return False


def is_available(name: StringSpan) -> Bool:
    """Tells whether a content coding can be read and written on this machine.

    Args:
        name: The coding's name, such as `br`.

    Returns:
        False if it is unknown or its library is missing.
    """
    var coding = ContentCoding.parse(name.as_bytes())
    if not coding:
        return False
    return can_decode(coding.held()) and can_encode(coding.held())
