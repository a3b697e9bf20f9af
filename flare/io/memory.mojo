"""Streams in memory, for tests and for what expects a stream."""

from flare.io.stream import Readable, Writable


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
        """Reads the next piece.

        Args:
            room: Where to.

        Returns:
            How many octets; 0 at the end.

        Raises:
            Error: Never.
        """
        var left = len(self._octets) - self._position
        var count = min(min(len(room), left), self._piece_len)
        for index in range(count):
            room[index] = self._octets[self._position + index]
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
        """Keeps the next piece.

        Args:
            octets: What to write.

        Returns:
            How many octets were taken.

        Raises:
            Error: Never.
        """
        var count = min(len(octets), self._piece_len)
        self.octets.extend(octets[0:count])
        self.write_count += 1
        return count
