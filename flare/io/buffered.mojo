"""Buffered reading and writing."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.io.stream import LimitExceeded, Readable, UnexpectedEnd, Writable

comptime LINE_LEN_MAX = 8_192
"""Default limit for a line in bytes: the one for a request target."""

comptime _READ_LEN = 8_192


struct BufReader[R: Readable](Readable):
    """Reads lines and exact counts from a stream.

    What is read ahead waits in a buffer. All reads have a limit, because the
    other side chooses what it sends.

    Parameters:
        R: The stream's type.
    """

    var _inner: Self.R
    var _buffer: Buffer

    def __init__(out self, var inner: Self.R):
        """Takes a stream.

        Args:
            inner: The stream.
        """
        self._inner = inner^
        self._buffer = Buffer(_READ_LEN)

    def _fill(mut self) raises -> Bool:
        """Reads more from the stream; False at its end."""
        self._buffer.reserve(_READ_LEN)
        var room = self._buffer.spare()
        var count = self._inner.read(room)
        if count < 0 or count > len(room):
            raise Error(
                "the stream claims to have read ",
                count,
                " bytes into ",
                len(room),
            )
        self._buffer.commit(count)
        return count > 0

    def _take(mut self, count: Int) -> List[UInt8]:
        var octets = List[UInt8](capacity=count)
        octets.extend(self._buffer.span().before(count))
        self._buffer.consume(count)
        return octets^

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Reads what is there, from the buffer first, then from the stream, and
        gives how many octets; 0 at the end.

        Raises:
            Error: If the stream fails.
        """
        if len(self._buffer) == 0 and not self._fill():
            return 0
        var count = min(len(room), len(self._buffer))
        var here = self._buffer.span()
        for index in range(count):
            room.at(index) = here.at(index)
        self._buffer.consume(count)
        return count

    def read_until(
        mut self, octet: UInt8, limit: Int = LINE_LEN_MAX
    ) raises -> List[UInt8]:
        """Reads up to and with the first occurrence of an octet; at the end of
        the stream what is left, perhaps nothing.

        Args:
            octet: What ends the piece.
            limit: Longest piece in bytes, its end included.

        Raises:
            Error: If the piece is longer than the limit, or the stream fails.
        """
        return self._read_until(octet, limit, "piece")

    def _read_until(
        mut self, octet: UInt8, limit: Int, what: StaticString
    ) raises -> List[UInt8]:
        var looked_at = 0
        while True:
            var here = self._buffer.span()
            while looked_at < len(here):
                if looked_at >= limit:
                    raise LimitExceeded(what, limit)
                looked_at += 1
                if here.at(looked_at - 1) == octet:
                    return self._take(looked_at)
            if not self._fill():
                return self._take(len(self._buffer))

    def read_line(
        mut self, limit: Int = LINE_LEN_MAX
    ) raises -> Optional[String]:
        """Reads a line that ends with LF or CRLF, without its end; None at the
        end of the stream. A last line without an end is a line.

        Args:
            limit: Longest line in bytes, its end included.

        Raises:
            Error: If the line is longer than the limit or no UTF-8, or the
                stream fails.
        """
        var line = self._read_until(10, limit, "line")
        if len(line) == 0:
            return None
        if line.at(len(line) - 1) == 10:
            line.shrink(len(line) - 1)
            if len(line) > 0 and line.at(len(line) - 1) == 13:
                line.shrink(len(line) - 1)
        return String(from_utf8=line)

    def read_exact(mut self, count: Int) raises -> List[UInt8]:
        """Reads a known number of octets.

        Args:
            count: How many, at least 0.

        Raises:
            Error: If the count is negative, or the stream ends before or
                fails.
        """
        if count < 0:
            raise Error("read_exact: ", count, " bytes; it must be 0 or more")
        while len(self._buffer) < count:
            if not self._fill():
                raise UnexpectedEnd(count, len(self._buffer))
        return self._take(count)

    def read_all(mut self, limit: Int) raises -> List[UInt8]:
        """Reads all that is left of the stream.

        Args:
            limit: Most octets.

        Raises:
            Error: If there is more than the limit, or the stream fails.
        """
        while self._fill():
            if len(self._buffer) > limit:
                raise LimitExceeded("rest of the stream", limit)
        if len(self._buffer) > limit:
            raise LimitExceeded("rest of the stream", limit)
        return self._take(len(self._buffer))


comptime WRITE_BUFFER_LEN = 8_192
"""What is gathered before the stream is written to, in bytes."""


struct BufWriter[W: Writable](Writable):
    """Gathers small writes into large ones.

    Call `flush` when a message is complete. What was not flushed when the
    writer ends is lost: a write in a destructor could fail with nobody to tell.
    Each raises `Error` if the stream fails.

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
        """
        self._buffer.append(octets)
        if len(self._buffer) >= WRITE_BUFFER_LEN:
            self.flush()

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Takes octets, as `write_all` does, and gives how many: all."""
        self.write_all(octets)
        return len(octets)

    def flush(mut self) raises:
        """Writes all that is gathered.

        Raises:
            Error: If the stream fails; what it has not taken stays here.
        """
        _drain(self._buffer, self._inner)

    def finish(deinit self) raises -> Self.W:
        """Writes all that is gathered, and gives the stream back."""
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
