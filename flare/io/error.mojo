"""What goes wrong with a stream besides the stream itself."""


@fieldwise_init
struct UnexpectedEnd(Copyable, Movable, Writable):
    """A stream ended before all was read that had to be there."""

    var wanted: Int
    """How many octets were asked for."""
    var got: Int
    """How many there were."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes both counts.

        Args:
            writer: Where to.
        """
        writer.write("the stream ended after ", self.got)
        writer.write(" of ", self.wanted, " bytes")


@fieldwise_init
struct LimitExceeded(Copyable, Movable, Writable):
    """A stream holds more than the caller allows."""

    var what: StaticString
    """What is too long, such as "line"."""
    var limit: Int
    """The caller's limit in bytes."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes what is too long, and the limit.

        Args:
            writer: Where to.
        """
        writer.write("the ", self.what, " is longer than ", self.limit)
        writer.write(" bytes; pass a higher limit to read it")
