"""Streams of octets: what can be read from, and what can be written to."""


trait Readable(Deinitable, Movable):
    """A source of octets."""

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Reads what is there, waiting for the first octet.

        Args:
            room: Where to; not empty.

        Returns:
            How many octets were read, at most `len(room)`; 0 at the end.

        Raises:
            Error: If the source fails.
        """
        ...


trait Writable(Deinitable, Movable):
    """A sink of octets; not the prelude's trait for values that print."""

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what the sink takes, waiting until it takes some.

        Args:
            octets: What to write; not empty.

        Returns:
            How many octets were taken, at least 1.

        Raises:
            Error: If the sink fails.
        """
        ...
