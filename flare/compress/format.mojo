"""The formats of compressed octets."""

from flare.sys.zlib import GZIP_WRAPPED, RAW_DEFLATE, ZLIB_WRAPPED


@fieldwise_init
struct Format(Equatable, TrivialRegisterPassable, Writable):
    """A way to write compressed octets."""

    var code: UInt8
    """A small number, distinct for each format."""

    comptime GZIP = Format(0)
    """RFC 1952: deflate with a header, a checksum and a length. A stream may
    have several members behind each other."""
    comptime ZLIB = Format(1)
    """RFC 1950: deflate with a short header and a checksum."""
    comptime RAW_DEFLATE = Format(2)
    """RFC 1951: deflate alone, without a checksum."""
    comptime DEFLATE = Format(3)
    """What HTTP calls deflate (RFC 9110 section 8.4.1.2): written as `ZLIB`;
    read as `ZLIB` or as `RAW_DEFLATE`, which some servers send instead."""
    comptime BROTLI = Format(4)
    """RFC 7932. Its library may be missing."""

    def name(self) -> StaticString:
        """Names the format.

        Returns:
            The name for messages.
        """
        if self == Self.GZIP:
            return "gzip"
        if self == Self.ZLIB:
            return "zlib"
        if self == Self.RAW_DEFLATE:
            return "raw deflate"
        if self == Self.DEFLATE:
            return "deflate"
        return "brotli"

    def window_bits(self) -> Int:
        """Gives what zlib knows the format by.

        Returns:
            A number of `flare/sys/zlib.mojo`; for brotli it means nothing.
        """
        if self == Self.GZIP:
            return GZIP_WRAPPED
        if self == Self.RAW_DEFLATE:
            return RAW_DEFLATE
        return ZLIB_WRAPPED

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
        writer.write(self.name())
