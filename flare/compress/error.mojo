"""The error of compression: bad octets, too many, a misuse, a missing library."""

from flare.compress.format import Format


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
    """There are octets behind the end of the stream."""
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
    """How many octets of the stream had been taken by then."""
    var output_len_max: Int
    """The caller's limit for decompressed octets; -1 if there was none."""
    var reason: String
    """More, for people; may be empty."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message.

        Args:
            writer: Where to.
        """
        writer.write(self.format, ": ")
        if self.kind == CompressErrorKind.UNAVAILABLE:
            writer.write("this format needs a library: ", self.reason)
            writer.write("; install it, or use gzip")
            return
        if self.kind == CompressErrorKind.MISUSED:
            writer.write(self.reason)
            return
        if self.kind == CompressErrorKind.NO_MEMORY:
            writer.write("the library got no memory")
            return
        writer.write("at byte ", self.offset, " of the stream, ")
        if self.kind == CompressErrorKind.CORRUPT:
            writer.write("the octets are not of this format")
            if self.reason.byte_length() > 0:
                writer.write(" (", self.reason, ")")
            writer.write("; the sender must send them whole and unchanged")
        elif self.kind == CompressErrorKind.TRUNCATED:
            writer.write("the octets end before the stream does;")
            writer.write(" the transfer was cut short, try it again")
        elif self.kind == CompressErrorKind.TRAILING:
            writer.write("the stream has ended, but octets follow;")
            writer.write(" the sender must send nothing behind it")
        else:
            writer.write("it comes to more than ", self.output_len_max)
            writer.write(" bytes decompressed; raise the limit to read it,")
            writer.write(" if the sender is to be trusted")
