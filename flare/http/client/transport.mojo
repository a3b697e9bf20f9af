"""The octets of a connection, with TLS or without."""

from flare.http.client.error import ClientError, Phase
from flare.http.client.tls_layer import TLS_FAILED, TlsLayer
from flare.net.error import NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.errno import ECONNRESET, EPIPE, OsError
from flare.tls.session import TlsSession


struct Transport(Movable):
    """A connected socket whose calls never wait."""

    var _socket: RawSocket
    var _tls: Optional[TlsLayer]

    def __init__(out self, var socket: RawSocket):
        """Takes a connected socket.

        Args:
            socket: The socket.
        """
        self._socket = socket^
        self._tls = None

    def begin_tls(mut self, var session: TlsSession):
        """Speaks TLS from now on; `shake_hands` comes next.

        Args:
            session: The session, before its handshake.
        """
        self._tls = TlsLayer(session^)

    def shake_hands(mut self) -> Int:
        """Goes on with the handshake.

        Returns:
            0 if it is complete or there is none, or a negative number as
            `failure` takes it; -EAGAIN to wait for the connection.
        """
        if self._tls:
            return self._tls.value().shake_hands(self._socket)
        return 0

    def ticket(self) -> List[UInt8]:
        """Packs what a later connection can resume this one's session from.

        Returns:
            The ticket; empty without one.
        """
        if self._tls:
            return self._tls.value().session.ticket()
        return []

    @always_inline
    def number(self) -> Int32:
        """Lends the descriptor, to wait for it.

        Returns:
            The number.
        """
        return self._socket.number()

    @always_inline
    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets.

        Args:
            octets: What to send.

        Returns:
            How many were taken, or a negative number as `failure` takes it.
        """
        if self._tls:
            return self._tls.value().send(self._socket, octets)
        return self._socket.send(octets)

    @always_inline
    def flush(mut self) -> Int:
        """Sends what was taken and has not left yet.

        Returns:
            0 if all has left, or a negative number as `failure` takes it.
        """
        if self._tls:
            return self._tls.value().flush(self._socket)
        return 0

    @always_inline
    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets.

        Args:
            room: Where to.

        Returns:
            How many, 0 at the end of the stream, or a negative number as
            `failure` takes it.
        """
        if self._tls:
            return self._tls.value().receive(self._socket, room)
        return self._socket.receive(room)

    def undelivered_len(self) -> Int:
        """Counts the octets that have not reached the other side's system.

        Returns:
            How many; 0 if the system does not tell.
        """
        return self._socket.undelivered_len()

    def read_alert(mut self, number: Int) -> Int:
        """Looks for a better explanation of a write that has failed for good.

        Args:
            number: What the write has answered.

        Returns:
            What `failure` is to explain: an alert that had come, or the same.
        """
        if self._tls and (number == -EPIPE or number == -ECONNRESET):
            return self._tls.value().read_alert(self._socket, number)
        return number

    @always_inline
    def wants_write(self) -> Bool:
        """Tells whether octets that were taken wait to leave.

        Returns:
            True if so.
        """
        return Bool(self._tls) and self._tls.value().wants_write()

    @always_inline
    def has_buffered(self) -> Bool:
        """Tells whether octets may be had without waiting for the descriptor.

        Returns:
            True if so.
        """
        return Bool(self._tls) and self._tls.value().has_buffered()

    def has_ended(self) -> Bool:
        """Tells whether TLS is over, though the descriptor may stay silent.

        Returns:
            True behind a notice or an alert.
        """
        return Bool(self._tls) and self._tls.value().has_ended()

    def failure(
        self, phase: Phase, number: Int, operation: StaticString, name: String
    ) -> ClientError:
        """Explains what a call has answered.

        Args:
            phase: When it failed.
            number: The negative number that the call has answered.
            operation: What was tried.
            name: What the error calls the peer.

        Returns:
            The error.
        """
        if number == TLS_FAILED and self._tls:
            ref failure = self._tls.value().failure
            if failure:
                return ClientError(phase, failure.value())
        return ClientError(
            phase, NetworkError(OsError(operation, -number), name)
        )
