"""Streams of octets: what can be read from, and what can be written to."""

from std.format import Writable as Writes


trait Readable(Deinitable, Movable):
    """A source of octets."""

    comptime ReadError: Deinitable & Movable & Writes = Error
    """What a failed read raises."""

    def read(mut self, room: MutSpan[UInt8, _]) raises Self.ReadError -> Int:
        """Reads what is there, waiting for the first octet.

        Args:
            room: Where to; not empty.

        Returns:
            How many octets were read, at most `len(room)`; 0 at the end.

        Raises:
            ReadError: If the source fails.
        """
        ...


trait Writable(Deinitable, Movable):
    """A sink of octets; not the prelude's trait for values that print."""

    comptime WriteError: Deinitable & Movable & Writes = Error
    """What a failed write raises."""

    def write(mut self, octets: Span[UInt8, _]) raises Self.WriteError -> Int:
        """Writes what the sink takes, waiting until it takes some.

        Args:
            octets: What to write; not empty.

        Returns:
            How many octets were taken, at least 1.

        Raises:
            WriteError: If the sink fails.
        """
        ...
