"""A connection's octets, with calls that wait until a deadline."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.error import Phase
from flare.http.client.connect.connection import ClientConnection
from flare.sys.clock import Deadline
from flare.sys.errno import EAGAIN, EINTR, OsError
from flare.sys.poll import (
    POLL_READ,
    POLL_WRITE,
    PollEntry,
    poll_descriptors,
)
from flare.ws.error import WsError
from flare.ws.stream import StreamWire, rings
from std.memory import OwnedPointer

comptime READ_LEN = 65_536
"""Room for one read, in bytes."""

comptime READ_AHEAD_LEN_MAX = 1 << 20
"""Most octets that are read while a write waits, in bytes.

A server that waits for its own messages to be read would otherwise never read
ours.
"""


struct Wire(Movable):
    """What carries frames, a connection or a stream of one; it is closed when
    its owner goes."""

    # One of both.
    var _socket: Optional[SocketWire]
    var _stream: Optional[StreamWire]

    def __init__(out self, var socket: SocketWire):
        self._socket = socket^
        self._stream = None

    def __init__(out self, var stream: StreamWire):
        self._socket = None
        self._stream = stream^

    @no_inline
    def __deinit__(deinit self):
        return

    def receive(
        mut self, mut input: Buffer, deadline: Deadline, bell: Int32 = -1
    ) raises WsError -> Optional[Int]:
        """Reads what is there, waiting for the first octet, or until the bell
        can be read, if there is one. Returns how many octets; 0 at the end,
        nothing if the bell rings and nothing is there. Raises if the connection
        fails or the time is over."""
        if self._stream:
            return self._stream.value().receive(input, deadline, bell)
        return self._socket.value().receive(input, deadline, bell)

    def send(
        mut self, mut output: Buffer, mut input: Buffer, deadline: Deadline
    ) raises WsError:
        """Sends all that is in a buffer, and consumes it; may read what arrives
        while the peer takes nothing. If the connection fails or the time is
        over, the rest is still in `output`."""
        if self._stream:
            self._stream.value().send(output, deadline)
        else:
            self._socket.value().send(output, input, deadline)


struct SocketWire(Movable):
    """A connection of HTTP/1.1 after its handshake, or about to have it; it is
    closed when its owner goes."""

    var _connection: OwnedPointer[ClientConnection]

    def __init__(out self, var connection: OwnedPointer[ClientConnection]):
        """Takes a connection, with TLS established if it has any."""
        self._connection = connection^

    def receive(
        mut self, mut input: Buffer, deadline: Deadline, bell: Int32 = -1
    ) raises WsError -> Optional[Int]:
        while True:
            var count = self._read(input)
            if count >= 0:
                return count
            if bell >= 0 and rings(bell):
                return None
            if self._wait(POLL_READ, deadline, bell) == 0:
                raise WsError.timeout("receive", deadline.timeout_ms)

    def send(
        mut self, mut output: Buffer, mut input: Buffer, deadline: Deadline
    ) raises WsError:
        while True:
            var count = self._write(output)
            if count == 0:
                return
            var wanted = POLL_WRITE
            if len(input) < READ_AHEAD_LEN_MAX:
                wanted |= POLL_READ
            var found = self._wait(wanted, deadline)
            if found == 0:
                raise WsError.timeout("send", deadline.timeout_ms)
            if (found & POLL_READ) != 0 and self._read(input) == 0:
                # The end is met again when it is read; a peer may end its
                # direction and go on reading. From here on the connection is
                # always readable, which is no progress.
                if self._wait(POLL_WRITE, deadline) == 0:
                    raise WsError.timeout("send", deadline.timeout_ms)

    def _write(mut self, mut output: Buffer) raises WsError -> Int:
        """Sends; gives 0 once all has left, or a negative errno to wait."""
        while len(output) > 0:
            var count = self._connection[].transport.send(output.span())
            if count >= 0:
                output.consume(count)
            elif count == -EAGAIN:
                return count
            else:
                count = self._connection[].transport.read_alert(count)
                raise self._failure(materialize[Phase.WRITE](), count, "write")
        var flushed = self._connection[].transport.flush()
        if flushed < 0 and flushed != -EAGAIN:
            flushed = self._connection[].transport.read_alert(flushed)
            raise self._failure(materialize[Phase.WRITE](), flushed, "write")
        return flushed

    def _read(mut self, mut input: Buffer) raises WsError -> Int:
        """Reads once; gives a negative errno to wait."""
        input.reserve(READ_LEN)
        var count = self._connection[].transport.receive(input.spare())
        if count < 0 and count != -EAGAIN:
            raise self._failure(materialize[Phase.READ_BODY](), count, "read")
        input.commit(max(count, 0))
        return count

    def _wait(
        self, wanted: Int16, deadline: Deadline, bell: Int32 = -1
    ) raises WsError -> Int16:
        """Waits; gives what is ready, with errors as readable, or 0. A bell ends
        the wait, too."""
        ref transport = self._connection[].transport
        if (wanted & POLL_READ) != 0 and transport.has_buffered():
            return POLL_READ
        var all = wanted
        if transport.wants_write():
            all |= POLL_WRITE
        # The system passes over an entry with a negative number.
        var entries = Array[PollEntry, 2](fill=PollEntry(bell, POLL_READ, 0))
        entries[0] = PollEntry(transport.fd(), all, 0)
        while True:
            var result = poll_descriptors(Span(entries), deadline.left_ms())
            if result == -EINTR:
                continue
            if result < 0:
                raise WsError(OsError("poll", -result))
            if result == 0:
                return 0
            var known = entries[0].found & (POLL_READ | POLL_WRITE)
            return known if known != 0 else wanted

    def _failure(
        self, phase: Phase, number: Int, operation: StaticString
    ) -> WsError:
        return WsError(
            self._connection[].transport.failure(
                phase, number, operation, self._connection[].endpoint.name()
            )
        )
