"""Traits of streams, their errors, and streams in memory."""

from flare.bytes.checked import *
from std.format import Writable as Writes


trait Readable(Deinitable, Movable):
    """A source of octets."""

    comptime ReadError: Deinitable & Movable & Writes = Error
    """What a failed read raises."""

    def read(mut self, room: MutSpan[UInt8, _]) raises Self.ReadError -> Int:
        """Reads what is there, waiting for the first octet, and gives how many
        octets, at most `len(room)`; 0 at the end.

        Args:
            room: Where to; not empty.

        Raises:
            ReadError: If the source fails.
        """
        ...


trait Writable(Deinitable, Movable):
    """A sink of octets; not the prelude's trait for values that print."""

    comptime WriteError: Deinitable & Movable & Writes = Error
    """What a failed write raises."""

    def write(mut self, octets: Span[UInt8, _]) raises Self.WriteError -> Int:
        """Writes what the sink takes, waiting until it takes some, and gives
        how many octets, at least 1.

        Args:
            octets: What to write; not empty.

        Raises:
            WriteError: If the sink fails.
        """
        ...


@fieldwise_init
struct UnexpectedEnd(Copyable, Movable, Writes):
    """A stream ended before all was read that had to be there."""

    var wanted: Int
    """How many octets were asked for."""
    var got: Int
    """How many there were."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes both counts."""
        writer.write("the stream ended after ", self.got)
        writer.write(" of ", self.wanted, " bytes")


@fieldwise_init
struct LimitExceeded(Copyable, Movable, Writes):
    """A stream holds more than the caller allows."""

    var what: StaticString
    """What is too long, such as "line"."""
    var limit: Int
    """The caller's limit in bytes."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes what is too long, and the limit."""
        writer.write("the ", self.what, " is longer than ", self.limit)
        writer.write(" bytes; pass a higher limit to read it")


struct MemoryReader(Readable):
    """Reads octets that are there already, a piece at a time."""

    var _octets: List[UInt8]
    var _position: Int
    var _piece_len: Int

    def __init__(out self, var octets: List[UInt8], piece_len: Int = 8_192):
        """Takes octets.

        Args:
            octets: What is read.
            piece_len: Most octets of one read, at least 1.
        """
        self._octets = octets^
        self._position = 0
        self._piece_len = max(piece_len, 1)

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Reads the next piece, and gives how many octets; 0 at the end.

        Raises:
            Error: Never.
        """
        var left = len(self._octets) - self._position
        var count = min(min(len(room), left), self._piece_len)
        for index in range(count):
            room.at(index) = self._octets.at(self._position + index)
        self._position += count
        return count


struct MemoryWriter(Writable):
    """Keeps what is written."""

    var octets: List[UInt8]
    """All that was written."""
    var write_count: Int
    """How often the stream was written to."""
    var _piece_len: Int

    def __init__(out self, piece_len: Int = 8_192):
        """Makes an empty sink.

        Args:
            piece_len: Most octets taken by one write, at least 1.
        """
        self.octets = List[UInt8]()
        self.write_count = 0
        self._piece_len = max(piece_len, 1)

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Keeps the next piece, and gives how many octets.

        Args:
            octets: What to write.

        Raises:
            Error: Never.
        """
        var count = min(len(octets), self._piece_len)
        self.octets.extend(octets.before(count))
        self.write_count += 1
        return count
