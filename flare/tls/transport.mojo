"""A TCP connection and a TLS session that feed each other."""

from flare.bytes.buffer import Buffer
from flare.net.error import NetworkError, Timeout
from flare.sys.clock import Deadline
from flare.tcp.stream import TcpStream
from flare.tls.error import HandshakeTimeout, TlsError
from flare.tls.session import TlsSession

comptime _INPUT_LEN = 16_640
"""Room for one record: 16 KiB, what encryption adds (RFC 8446 section 5.2),
and the header."""

# How long a last word may take; nobody waits for the answer.
comptime _LAST_WORD_TIMEOUT_MS = 1_000


struct TlsTransport(Movable):
    """What is below a `TlsStream`: each call waits until a deadline."""

    var tcp: TcpStream
    """The connection."""
    var session: TlsSession
    """The session."""
    var _peer: String
    var _input: Buffer
    var _output: Buffer

    def __init__(
        out self, var tcp: TcpStream, var session: TlsSession, var peer: String
    ):
        """Joins a connection and a session.

        Args:
            tcp: The connection.
            session: The session, before its handshake.
            peer: What errors call the peer.
        """
        self.tcp = tcp^
        self.session = session^
        self._peer = peer^
        self._input = Buffer(_INPUT_LEN)
        self._output = Buffer()

    def shake_hands(mut self, deadline: Deadline) raises TlsError:
        """Goes through the handshake.

        Args:
            deadline: When to give up.

        Raises:
            TlsError: If it fails.
        """
        while True:
            var failure = self._advance()
            if failure:
                # An alert may be waiting; the peer learns from it what failed.
                self._try_to_flush()
                raise failure.take()
            try:
                self._flush(deadline)
                if self.session.is_established():
                    return
                self.receive(deadline)
                self.check_time("handshake", deadline)
            except error:
                raise _in_time(error^, deadline)

    def _advance(mut self) -> Optional[TlsError]:
        try:
            _ = self.session.advance(self._input, self._output)
            return None
        except error:
            return error^

    def receive(mut self, deadline: Deadline) raises TlsError:
        """Waits for octets of the peer.

        Args:
            deadline: When to give up.

        Raises:
            TlsError: If the connection fails or ends without notice.
        """
        self._input.reserve(_INPUT_LEN)
        self.tcp.set_read_timeout(deadline.left_ms())
        try:
            var count = self.tcp.read(self._input.room())
            self._input.commit(count)
            if count > 0:
                return
        except error:
            raise self._network_error(error)
        self.session.receive_end()

    def check_time(
        self, operation: StaticString, deadline: Deadline
    ) raises TlsError:
        """Gives up if the time is over, though octets come all the time.

        `receive` looks at the clock only when there is nothing to read. A peer
        may send records that hold nothing, without end.

        Args:
            operation: What was tried, for errors.
            deadline: When to give up.

        Raises:
            TlsError: If the time is over.
        """
        if deadline.left_ms() == 0:
            raise self._network_error(
                NetworkError(
                    materialize[Timeout](),
                    operation,
                    self._peer,
                    String(
                        "octets, but nothing of use within ",
                        deadline.timeout_ms,
                        " ms; give the peer up",
                    ),
                )
            )

    def decrypt(mut self, room: MutSpan[UInt8, _]) raises TlsError -> Int:
        """Reads plaintext from the octets that are here.

        Args:
            room: Where to; not empty.

        Returns:
            How many octets; 0 if more must arrive first, or none will.

        Raises:
            TlsError: If the session is broken.
        """
        try:
            var count = self.session.read(self._input, self._output, room)
            self._try_to_flush()
            return count
        except error:
            self._try_to_flush()
            raise error^

    def send(
        mut self, octets: Span[UInt8, _], deadline: Deadline
    ) raises TlsError:
        """Encrypts octets and sends them.

        Args:
            octets: The plaintext.
            deadline: When to give up.

        Raises:
            TlsError: If the session is broken or the connection fails.
        """
        self.session.write(octets, self._output)
        self._flush(deadline)

    def close(mut self):
        """Tells the peer that nothing follows and closes the connection."""
        self.session.close(self._output)
        self._try_to_flush()
        self.tcp.close()

    def _flush(mut self, deadline: Deadline) raises TlsError:
        """Sends what is in the output."""
        try:
            while len(self._output) > 0:
                self.tcp.set_write_timeout(deadline.left_ms())
                self._output.consume(self.tcp.write(self._output.span()))
        except error:
            raise self._network_error(error)

    def _try_to_flush(mut self):
        """Sends what is in the output unless the peer is gone."""
        if len(self._output) == 0:
            return
        try:
            self._flush(Deadline(_LAST_WORD_TIMEOUT_MS))
        except error:
            self._output.clear()

    def _network_error(self, error: NetworkError) -> TlsError:
        var wrapped = TlsError(error)
        wrapped.peer = self._peer
        return wrapped^


def _in_time(var error: TlsError, deadline: Deadline) -> TlsError:
    """Tells a handshake that took too long from other failures."""
    if error.network and error.network.value().kind == Timeout:
        return TlsError(
            materialize[HandshakeTimeout](),
            error.peer,
            String(
                "no end of the handshake within ", deadline.timeout_ms, " ms"
            ),
        )
    return error^


def connect_tcp(
    host: StringSpan, port: UInt16, timeout_ms: Int
) raises TlsError -> TcpStream:
    """Connects below TLS.

    Args:
        host: A host name, or an address without brackets.
        port: The port.
        timeout_ms: How long it may take.

    Returns:
        The connection.

    Raises:
        TlsError: If there is none; its `network` tells why.
    """
    try:
        return TcpStream.connect(host, port, timeout_ms)
    except error:
        var wrapped = TlsError(error)
        wrapped.peer = String(host)
        raise wrapped^
