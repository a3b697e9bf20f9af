"""Formats of compressed octets, and what may be wrong with them."""

from flare.bytes.text import Text
from flare.sys.codecs.zlib import GZIP_WRAPPED, RAW_DEFLATE, ZLIB_WRAPPED


@fieldwise_init
struct CompressErrorKind(Equatable, TrivialRegisterPassable):
    """What went wrong."""

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime CORRUPT = CompressErrorKind(0)
    """The octets are no stream of the format."""
    comptime TRUNCATED = CompressErrorKind(1)
    """The octets ended before the stream did."""
    comptime TRAILING = CompressErrorKind(2)
    """There are octets after the end of the stream."""
    comptime OUTPUT_LIMIT = CompressErrorKind(3)
    """The stream decompresses to more octets than the caller allows."""
    comptime UNAVAILABLE = CompressErrorKind(4)
    """The format's library is not on this machine."""
    comptime NO_MEMORY = CompressErrorKind(5)
    """The format's library could not get memory."""
    comptime MISUSED = CompressErrorKind(6)
    """Our caller asked for what cannot be."""


@fieldwise_init
struct CompressError(Copyable, Movable, Writable):
    """Says what is wrong with a stream, or with its library."""

    var kind: CompressErrorKind
    """What went wrong."""
    var format: Format
    """The stream's format."""
    var offset: Int
    """How many octets of the stream had been taken by then. A library reads
    somewhat ahead of what comes out, and how far hangs on the cuts."""
    var output_len_max: Int
    """The caller's limit for decompressed octets; -1 if there was none."""
    var reason: String
    """More, for people; may be empty."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var message = Text()
        message = message^.add(self.format).add(": ")
        if self.kind == CompressErrorKind.UNAVAILABLE:
            message = message^.add("this format needs a library: ").add(
                self.reason
            )
            message = message^.add("; install it, or use gzip")
            return message^.end()
        if self.kind == CompressErrorKind.MISUSED:
            message = message^.add(self.reason)
            return message^.end()
        if self.kind == CompressErrorKind.NO_MEMORY:
            message = message^.add("the library got no memory")
            return message^.end()
        message = message^.add("at byte ").add(self.offset).add(
            " of the stream, "
        )
        if self.kind == CompressErrorKind.CORRUPT:
            message = message^.add("the octets are not of this format")
            if self.reason.byte_length() > 0:
                message = message^.add(" (").add(self.reason).add(")")
            message = message^.add(
                "; the sender must send them whole and unchanged"
            )
        elif self.kind == CompressErrorKind.TRUNCATED:
            message = message^.add("the octets end before the stream does;")
            message = message^.add(" the transfer was cut short, try it again")
        elif self.kind == CompressErrorKind.TRAILING:
            message = message^.add("the stream has ended, but octets follow;")
            message = message^.add(" the sender must send nothing behind it")
        else:
            message = message^.add("it comes to more than ").add(
                self.output_len_max
            )
            message = message^.add(
                " bytes decompressed; raise the limit to read it,"
            )
            message = message^.add(" if the sender is to be trusted")
        return message^.end()


@fieldwise_init
struct Format(Equatable, TrivialRegisterPassable, Writable):
    """A way to write compressed octets."""

    var code: UInt8
    """A small number, distinct for each format."""

    comptime GZIP = Format(0)
    """RFC 1952: deflate with a header, a checksum and a length. A stream may
    have several members, one after the other."""
    comptime ZLIB = Format(1)
    """RFC 1950: deflate with a short header and a checksum."""
    comptime RAW_DEFLATE = Format(2)
    """RFC 1951: deflate alone, without a checksum."""
    comptime DEFLATE = Format(3)
    """What HTTP calls deflate (RFC 9110 section 8.4.1.2): written as `ZLIB`;
    read as `ZLIB` or as `RAW_DEFLATE`, which some servers send instead."""
    comptime BROTLI = Format(4)
    """RFC 7932. Its library may be missing."""
    comptime ZSTD = Format(5)
    """RFC 8878, with the windows of RFC 9659. Its library may be missing. A
    stream may have several frames, one after the other."""

    def name(self) -> StaticString:
        """Names the format, for messages."""
        if self == Self.GZIP:
            return "gzip"
        if self == Self.ZLIB:
            return "zlib"
        if self == Self.RAW_DEFLATE:
            return "raw deflate"
        if self == Self.DEFLATE:
            return "deflate"
        if self == Self.ZSTD:
            return "zstd"
        return "brotli"

    def window_bits(self) -> Int:
        """Gives what zlib knows the format by, a number of
        `flare/sys/codecs/zlib.mojo`; for brotli and zstd it means nothing."""
        if self == Self.GZIP:
            return GZIP_WRAPPED
        if self == Self.RAW_DEFLATE:
            return RAW_DEFLATE
        return ZLIB_WRAPPED

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name())
