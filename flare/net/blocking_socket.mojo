"""A socket whose calls wait, each until a deadline of its own."""

from flare.bytes.checked import *
from flare.net.error import NetworkError, Timeout, send_failure, truncation
from flare.net.raw_socket import Accepted, RawSocket, Shutdown
from flare.sys.clock import Deadline
from flare.sys.errno import EAGAIN, ECONNABORTED, EINTR, ENOTCONN, OsError
from flare.sys.sockets.message import receive_from
from flare.sys.poll import POLL_READ, POLL_WRITE, wait_for
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket import shutdown_socket

comptime READ_TIMEOUT_MS = 30_000
"""How long a read waits unless told otherwise, in milliseconds.

A peer that is silent for so long is gone more often than it is slow.
"""
comptime WRITE_TIMEOUT_MS = 30_000
"""How long a write waits unless told otherwise, in milliseconds."""


struct BlockingSocket(Movable):
    """A non-blocking socket with calls that wait for it.

    This is the ground that the streams and datagram sockets stand on. A call
    first tries, and waits with `poll` only when there is nothing to do.
    """

    var raw: RawSocket
    var name: String
    """What errors call the other side."""
    var read_timeout_ms: Int
    """How long one read may take; negative for as long as it takes."""
    var write_timeout_ms: Int
    """How long one write may take; negative for as long as it takes."""

    def __init__(out self, var raw: RawSocket, var name: String):
        """Takes a socket; the name is what errors call the other side, such as
        its address."""
        self.raw = raw^
        self.name = name^
        self.read_timeout_ms = READ_TIMEOUT_MS
        self.write_timeout_ms = WRITE_TIMEOUT_MS

    def take_raw(deinit self) -> RawSocket:
        return self.raw^

    def read(mut self, room: MutSpan[UInt8, _]) raises NetworkError -> Int:
        """Reads what is there into room that is not empty, waiting for the
        first octet. Returns how many; 0 at the end of the stream. Raises if the
        connection fails or the time is over."""
        var count = self.raw.receive(room)
        if count >= 0:
            return count
        var deadline = Deadline(self.read_timeout_ms)
        while count < 0:
            self.wait_after(count, "read", POLL_READ, deadline)
            count = self.raw.receive(room)
        return count

    def write(mut self, octets: Span[UInt8, _]) raises NetworkError -> Int:
        """Writes what the socket takes, waiting until it takes some, and
        returns how many octets. Raises if the connection fails or the time is
        over."""
        var count = self.raw.send(octets)
        if count >= 0:
            return count
        var deadline = Deadline(self.write_timeout_ms)
        while count < 0:
            self.wait_after(count, "write", POLL_WRITE, deadline)
            count = self.raw.send(octets)
        return count

    def write_all(mut self, octets: Span[UInt8, _]) raises NetworkError:
        """Writes all octets; the timeout is for all of them together. Raises if
        the connection fails or the time is over; some of the octets may have
        been sent."""
        var sent = 0
        var deadline = Deadline(self.write_timeout_ms)
        while sent < len(octets):
            var count = self.raw.send(octets.after(sent))
            if count >= 0:
                sent += count
                continue
            self.wait_after(count, "write", POLL_WRITE, deadline)

    def accept(mut self, timeout_ms: Int) raises NetworkError -> Accepted:
        """Takes the next connection of a listener, waiting for it. Raises if
        the time is over, or the listener fails."""
        var deadline = Deadline(timeout_ms)
        while True:
            var accepted = self.raw.accept()
            if accepted.error_number == 0:
                return accepted^
            # A client that left the queue again is nobody's error.
            if accepted.error_number != ECONNABORTED:
                self.wait_after(
                    -accepted.error_number, "accept", POLL_READ, deadline
                )

    def send_datagram(
        mut self, octets: Span[UInt8, _]
    ) raises NetworkError -> Int:
        """Sends one datagram, which may be empty, to the peer of a connected
        socket. Returns how many octets were sent: all. Raises if it cannot be
        sent, or the time is over."""
        var deadline = Deadline(self.write_timeout_ms)
        while True:
            var count = self.raw.send(octets)
            if count >= 0:
                return count
            if not self.is_worth_waiting(count):
                raise send_failure(-count, self.name, len(octets))
            self.wait_after(count, "send", POLL_WRITE, deadline)

    def receive_datagram(
        mut self, room: MutSpan[UInt8, _], mut sender: SockAddr
    ) raises NetworkError -> Int:
        """Takes one datagram, and its sender's address, waiting for it. Raises
        if the time is over, or the datagram is longer than the room, which then
        holds its start."""
        var deadline = Deadline(self.read_timeout_ms)
        while True:
            var taken = receive_from(self.raw.fd(), room, sender)
            if taken.count >= 0 and taken.is_truncated:
                raise truncation(self.name, taken.count, len(room))
            if taken.count >= 0:
                return taken.count
            self.wait_after(taken.count, "receive", POLL_READ, deadline)

    @staticmethod
    def is_worth_waiting(result: Int) -> Bool:
        """Tells whether an operation that answered a negative errno only had
        nothing to do: `wait_after` will wait and not raise at once."""
        return result == -EAGAIN or result == -EINTR

    def wait_after(
        self,
        result: Int,
        operation: StaticString,
        wanted: Int16,
        deadline: Deadline,
    ) raises NetworkError:
        """Waits until an operation that had nothing to do, and answered a
        negative errno, is worth a retry: for `POLL_READ` or `POLL_WRITE`.
        Raises if the errno is another failure or the time is over."""
        if result == -EINTR:
            return
        if result != -EAGAIN:
            raise NetworkError(OsError(operation, -result), self.name)
        var ready = wait_for(self.raw.fd(), wanted, deadline)
        if ready < 0:
            raise NetworkError(OsError("poll", -ready), self.name)
        if ready == 0:
            raise NetworkError(
                materialize[Timeout](),
                operation,
                self.name,
                String(
                    "nothing within ",
                    deadline.timeout_ms,
                    " ms; allow more time, or give the peer up",
                ),
            )

    def shutdown(mut self, how: Shutdown) raises NetworkError:
        """Ends one or both directions; a peer that is gone is no error. Raises
        if the socket is closed."""
        var result = shutdown_socket(self.raw.fd(), how.number)
        if result < 0 and result != -ENOTCONN:
            raise NetworkError(OsError("shutdown", -result), self.name)


trait SocketOwner(Deinitable, Movable):
    """What has a socket with calls that wait, each until a deadline."""

    def _blocking(ref self) -> ref[self] BlockingSocket:
        ...

    def set_read_timeout(mut self, timeout_ms: Int):
        """Chooses how long one read or receive may take.

        Args:
            timeout_ms: Milliseconds; 0 takes only what is there, negative
                (`NO_TIMEOUT_MS`) waits as long as it takes.
        """
        self._blocking().read_timeout_ms = timeout_ms

    def set_write_timeout(mut self, timeout_ms: Int):
        """Chooses how long one write or send may take; that of `write_all` is
        for all octets together."""
        self._blocking().write_timeout_ms = timeout_ms

    def close(mut self):
        """Closes the socket now; a second call does nothing."""
        self._blocking().raw.close()

    def is_open(self) -> Bool:
        """Tells whether `close` has not been called on this side."""
        return self._blocking().raw.is_open()

    def fd(self) -> Int32:
        """Lends the descriptor, which is non-blocking, for a reactor; good
        while the socket's owner lives; -1 if closed."""
        return self._blocking().raw.fd()


trait SocketStream(SocketOwner):
    """A connection over a socket, whatever its family. Each raises
    `NetworkError` if the connection fails or the time is over."""

    def read(mut self, room: MutSpan[UInt8, _]) raises NetworkError -> Int:
        """Reads what is there, waiting for the first octet, and gives how many
        octets; 0 when the peer has ended its direction.

        Args:
            room: Where to; not empty.
        """
        return self._blocking().read(room)

    def write(mut self, octets: Span[UInt8, _]) raises NetworkError -> Int:
        """Writes what the connection takes, waiting until it takes some, and
        gives how many octets, perhaps not all.

        Args:
            octets: What to write.
        """
        return self._blocking().write(octets)

    def write_all(mut self, octets: Span[UInt8, _]) raises NetworkError:
        """Writes all octets; the timeout is for all of them together.

        Raises:
            NetworkError: If the connection fails or the time is over; some of
                the octets may have been sent.
        """
        self._blocking().write_all(octets)

    def shutdown(mut self, how: Shutdown = Shutdown.WRITE) raises NetworkError:
        """Ends one or both directions; a peer that is gone is no error.

        Args:
            how: Which; after `Shutdown.WRITE` the peer may still answer.

        Raises:
            NetworkError: If the connection is closed.
        """
        self._blocking().shutdown(how)
