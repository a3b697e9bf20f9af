"""Writing to a stream in larger pieces than are handed over."""

from flare.bytes.buffer import Buffer
from flare.io.stream import Writable

comptime WRITE_BUFFER_LEN = 8_192
"""What is gathered before the stream is written to, in bytes."""


struct BufWriter[W: Writable](Writable):
    """Gathers small writes into large ones.

    Call `flush` when a message is complete. What was not flushed when the
    writer ends is lost: a write in a destructor could fail with nobody to tell.

    Parameters:
        W: The stream's type.
    """

    var _inner: Self.W
    var _buffer: Buffer

    def __init__(out self, var inner: Self.W):
        """Takes a stream.

        Args:
            inner: The stream.
        """
        self._inner = inner^
        self._buffer = Buffer(WRITE_BUFFER_LEN)

    def write_all(mut self, octets: Span[UInt8, _]) raises:
        """Takes octets; writes when enough of them are gathered.

        Args:
            octets: What to write.

        Raises:
            Error: If the stream fails.
        """
        self._buffer.append(octets)
        if len(self._buffer) >= WRITE_BUFFER_LEN:
            self.flush()

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Takes octets, as `write_all` does.

        Args:
            octets: What to write.

        Returns:
            How many were taken: all.

        Raises:
            Error: If the stream fails.
        """
        self.write_all(octets)
        return len(octets)

    def flush(mut self) raises:
        """Writes all that is gathered.

        Raises:
            Error: If the stream fails; what it has not taken stays here.
        """
        _drain(self._buffer, self._inner)

    def finish(deinit self) raises -> Self.W:
        """Writes all that is gathered and gives the stream back.

        Returns:
            The stream.

        Raises:
            Error: If the stream fails.
        """
        var buffer = self._buffer^
        var inner = self._inner^
        _drain(buffer, inner)
        return inner^


def _drain[W: Writable](mut buffer: Buffer, mut inner: W) raises:
    while len(buffer) > 0:
        var count = inner.write(buffer.span())
        if count < 1 or count > len(buffer):
            raise Error(
                "the stream claims to have taken ",
                count,
                " of ",
                len(buffer),
                " bytes; it must take some, or fail",
            )
        buffer.consume(count)
