"""A TLS connection with calls that wait."""

from flare.bytes.checked import *
from flare.io.stream import Readable, Writable
from flare.net.blocking_socket import READ_TIMEOUT_MS, WRITE_TIMEOUT_MS
from flare.net.error import NetworkError, Timeout
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline
from flare.sys.errno import EAGAIN
from flare.sys.sockets.socket import peek_now, send
from flare.tcp.stream import CONNECT_TIMEOUT_MS, TcpStream
from flare.tls.config import TlsConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import HandshakeTimeout, TlsError
from flare.tls.pump import TlsChannel, TlsStatus, TlsStep
from flare.tls.session import TlsSession

# How long a last word may take; nobody waits for the answer.
comptime _LAST_WORD_TIMEOUT_MS = 1_000


struct TlsTransport(Movable):
    """What is below a `TlsStream`: each call waits until a deadline."""

    var tcp: TcpStream
    var channel: TlsChannel
    """The session, with the octets that are on their way."""
    var _peer: String

    def __init__(
        out self, var tcp: TcpStream, var session: TlsSession, var peer: String
    ):
        """Joins a connection and a session, before its handshake, with what
        errors call the peer."""
        self.tcp = tcp^
        self.channel = TlsChannel(session^)
        self._peer = peer^

    def shake_hands(mut self, deadline: Deadline) raises TlsError:
        while True:
            var status = self.channel.shake_hands().status
            if status == TlsStatus.FAILED:
                # An alert may be waiting; the peer learns from it what failed.
                self._try_to_flush()
                raise self.failure()
            try:
                self._flush(deadline)
                if status == TlsStatus.DONE:
                    return
                self.receive(deadline)
                self.check_time("handshake", deadline)
            except error:
                raise _in_time(error^, deadline)

    def failure(self) -> TlsError:
        """Gives why the channel has failed."""
        return self.channel.pump.failure.held().copy()

    def receive(mut self, deadline: Deadline) raises TlsError:
        """Waits for octets of the peer. Raises if the connection fails or ends
        without notice."""
        self.tcp.set_read_timeout(deadline.left_ms())
        var count: Int
        try:
            count = self.tcp.read(self.channel.spare())
        except error:
            raise self._network_error(error)
        if self.channel.receive(count).status == TlsStatus.FAILED:
            raise self.failure()

    def check_time(
        self, operation: StaticString, deadline: Deadline
    ) raises TlsError:
        """Gives up an operation if the time is over, though octets come all the
        time. `receive` looks at the clock only when there is nothing to read. A
        peer may send records that hold nothing, without end."""
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

    def read(mut self, room: MutSpan[UInt8, _]) raises TlsError -> TlsStep:
        """Reads plaintext from the octets that are here into room that is not
        empty. Raises if the session is broken."""
        var step = self.channel.read(room)
        try:
            # What the connection does not take now, such as an answer to
            # KeyUpdate, goes before what is sent next: records are counted (RFC
            # 8446 section 5.3).
            _ = self._send_unsent()
        except:
            # Reading says what has happened to the connection.
            self.channel.output.clear()
        if step.status == TlsStatus.FAILED:
            raise self.failure()
        return step

    def send(
        mut self, octets: Span[UInt8, _], deadline: Deadline
    ) raises TlsError:
        """Encrypts octets and sends them. Raises if the session is broken or
        the connection fails."""
        var sent = 0
        while sent < len(octets):
            var step = self.channel.write(octets.after(sent))
            if step.status == TlsStatus.FAILED:
                raise self.failure()
            self._flush(deadline)
            sent += step.count

    def send_now(mut self, octets: Span[UInt8, _]) raises TlsError -> Int:
        """Sends what goes without waiting, and takes octets unless some wait
        before them. Returns how many were taken. Raises as `send` does."""
        var taken = 0
        while self._send_unsent() and taken < len(octets):
            var step = self.channel.write(octets.after(taken))
            if step.status == TlsStatus.FAILED:
                raise self.failure()
            taken += step.count
        return taken

    def _send_unsent(mut self) raises TlsError -> Bool:
        """Sends what waits, as far as it goes without waiting; True if that was
        all. Raises if the connection fails."""
        while self.has_unsent():
            var count = send[never_waits=True](
                self.tcp.fd(), self.channel.output.span()
            )
            if count == -EAGAIN:
                return False
            if count < 0:
                # It fails there in the same way, and says so.
                self._flush(Deadline(0))
                return False
            self.channel.output.consume(count)
        return True

    def has_unsent(self) -> Bool:
        """Tells whether something waits to be sent."""
        return len(self.channel.output) > 0

    def close(mut self):
        """Tells the peer that nothing follows and closes the connection."""
        self.channel.send_close_notify()
        self._try_to_flush()
        self.tcp.close()

    def _flush(mut self, deadline: Deadline) raises TlsError:
        """Sends what is in the output."""
        try:
            while len(self.channel.output) > 0:
                self.tcp.set_write_timeout(deadline.left_ms())
                var count = self.tcp.write(self.channel.output.span())
                self.channel.output.consume(count)
        except error:
            raise self._network_error(error)

    def _try_to_flush(mut self):
        """Sends what is in the output unless the peer is gone."""
        if len(self.channel.output) == 0:
            return
        try:
            self._flush(Deadline(_LAST_WORD_TIMEOUT_MS))
        except error:
            self.channel.output.clear()

    def _network_error(self, error: NetworkError) -> TlsError:
        var wrapped = TlsError(error)
        wrapped.peer = self._peer
        return wrapped^


def _in_time(var error: TlsError, deadline: Deadline) -> TlsError:
    """Tells a handshake that took too long from other failures."""
    if error.network and error.network.held().kind == Timeout:
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
    """Connects below TLS to a host name, or an address without brackets. If
    that fails, the error's `network` tells why."""
    try:
        return TcpStream.connect(host, port, timeout_ms)
    except error:
        var wrapped = TlsError(error)
        wrapped.peer = String(host)
        raise wrapped^


struct TlsStream(Readable, Writable):
    """A connection over TLS; it is closed when its owner goes.

    Call `close` when all is said: it tells the peer that nothing was cut off.
    Each call has a deadline, as with `TcpStream`. Errors are of the type
    `TlsError`; what the network says is in its field `network`.
    """

    comptime ReadError = TlsError
    """What a failed read raises."""
    comptime WriteError = TlsError
    """What a failed write raises."""

    var _transport: TlsTransport
    var _read_timeout_ms: Int
    var _write_timeout_ms: Int
    # Where the ticket goes when the stream is closed, and under which name.
    var _context: Optional[TlsClientContext]
    var _ticket_key: String

    def __init__(out self, var transport: TlsTransport):
        """Takes over a connection; programs call `connect` or `accept`.

        Args:
            transport: The connection, after its handshake.
        """
        self._transport = transport^
        self._read_timeout_ms = READ_TIMEOUT_MS
        self._write_timeout_ms = WRITE_TIMEOUT_MS
        self._context = None
        self._ticket_key = String()

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def connect(
        host: StringSpan,
        port: UInt16,
        config: TlsConfig = TlsConfig(),
        timeout_ms: Int = CONNECT_TIMEOUT_MS,
    ) raises TlsError -> Self:
        """Connects to a server that speaks TLS, verifies it, and gives the
        connection, ready to be written to.

        A configuration is read anew for each call; make a `TlsClientContext`
        for several connections.

        Args:
            host: A host name, or an address without brackets. Its certificate
                must have it.
            port: The port.
            config: What to trust, show and offer.
            timeout_ms: How long name lookup, connecting and handshake may take
                together; negative for as long as it takes.

        Raises:
            TlsError: If there is no connection, or the server is not trusted.
        """
        return Self.connect(host, port, TlsClientContext(config), timeout_ms)

    @staticmethod
    def connect(
        host: StringSpan,
        port: UInt16,
        context: TlsClientContext,
        timeout_ms: Int = CONNECT_TIMEOUT_MS,
    ) raises TlsError -> Self:
        """Connects to a server, going on from an earlier session if it can, and
        gives the connection.

        Args:
            context: What to trust, show and offer; it keeps the tickets.
        """
        var deadline = Deadline(timeout_ms)
        # A bad host is refused before a resolver sees it.
        var session = context.session(host)
        var key = String(host, ":", port)
        _ = session.resume(Span(context.tickets.take(key)))
        var transport = TlsTransport(
            connect_tcp(host, port, timeout_ms), session^, String(host)
        )
        transport.shake_hands(deadline)
        var stream = Self(transport^)
        stream._context = context
        stream._ticket_key = key^
        return stream^

    @staticmethod
    def over(
        var tcp: TcpStream,
        host: StringSpan,
        context: TlsClientContext,
        timeout_ms: Int = CONNECT_TIMEOUT_MS,
    ) raises TlsError -> Self:
        """Speaks TLS as a client over a connection that is there already, and
        gives it, ready to be written to.

        Args:
            tcp: The connection, such as one through a proxy.
            timeout_ms: How long the handshake may take.

        Raises:
            TlsError: If the handshake fails.
        """
        var deadline = Deadline(timeout_ms)
        var transport = TlsTransport(tcp^, context.session(host), String(host))
        transport.shake_hands(deadline)
        return Self(transport^)

    @staticmethod
    def accept(
        var tcp: TcpStream, context: TlsServerContext
    ) raises TlsError -> Self:
        """Speaks TLS as a server over a connection that was accepted, and gives
        it, ready to be read from.

        Args:
            tcp: The connection.
            context: Certificates and rules; its configuration also says how
                long the handshake may take.

        Raises:
            TlsError: If the handshake fails.
        """
        var deadline = Deadline(context.config.handshake_timeout_ms)
        var transport = TlsTransport(tcp^, context.session(), "the client")
        transport.shake_hands(deadline)
        return Self(transport^)

    def read(mut self, room: MutSpan[UInt8, _]) raises TlsError -> Int:
        """Reads what is there, waiting for the first octet, and gives how many
        octets; 0 when the peer has said that nothing follows.

        Raises:
            TlsError: If the connection fails or the time is over
                (`ConnectionFailed`), ends without notice (`ClosedEarly`), or
                was tampered with.
        """
        if len(room) == 0:
            return 0
        var deadline = Deadline(self._read_timeout_ms)
        var has_received = False
        while True:
            var step = self._transport.read(room)
            if step.status != TlsStatus.WANTS_OCTETS:
                return step.count
            if has_received:
                self._transport.check_time("read", deadline)
            self._transport.receive(deadline)
            has_received = True

    def read_now(mut self, room: MutSpan[UInt8, _]) raises TlsError -> Int:
        """Reads what is there, without waiting, and gives how many octets; 0
        when the peer has said that nothing follows, and -1 if nothing is there;
        the rest is as for `read`."""
        var deadline = Deadline(self._read_timeout_ms)
        while True:
            var step = self._transport.read(room)
            if step.status != TlsStatus.WANTS_OCTETS:
                return step.count
            var octet = Array[UInt8, 1](fill=0)
            if peek_now(self.fd(), Span(octet)) == -EAGAIN:
                return -1
            self._transport.receive(deadline)
            self._transport.check_time("read", deadline)

    def read(
        mut self, start: MutPointer[UInt8, _], count: Int
    ) raises TlsError -> Int:
        """Reads as the other `read` does, to a place in memory.

        Args:
            start: Where to.
            count: Room in bytes; a count below 1 reads nothing.

        Raises:
            TlsError: As for the other `read`.
        """
        if count < 1:
            return 0
        # SAFETY: The caller vouches for `count` bytes after the pointer, as
        # in C; the pointer's origin keeps their owner alive during the call.
        return self.read(Span(unsafe_ptr=start, length=count))

    def write(mut self, octets: Span[UInt8, _]) raises TlsError -> Int:
        """Writes octets, as `write_all` does, and gives how many: all.

        Args:
            octets: What to write.

        Raises:
            TlsError: If the connection fails or the time is over.
        """
        self.write_all(octets)
        return len(octets)

    def write_all(mut self, octets: Span[UInt8, _]) raises TlsError:
        """Writes all octets; the timeout is for all of them together.

        Raises:
            TlsError: If the connection fails or the time is over; some of the
                octets may have been sent.
        """
        self._transport.send(octets, Deadline(self._write_timeout_ms))

    def write_now(mut self, octets: Span[UInt8, _]) raises TlsError -> Int:
        """Writes what can be sent without waiting, for whoever reads meanwhile:
        a peer that waits for its own octets to be read may read none. Between
        two calls the descriptor is waited for, and what has come is read; until
        all is taken, and nothing is unsent.

        Returns:
            How many were taken, which are not to be given again. The last of
            them may wait to be sent, see `has_unsent`.

        Raises:
            TlsError: If the connection fails.
        """
        return self._transport.send_now(octets)

    def has_unsent(self) -> Bool:
        """Tells whether octets that were taken wait to be sent, by a call of
        `write_now` or `write_all`."""
        return self._transport.has_unsent()

    def close(mut self):
        """Tells the peer that nothing follows and closes the connection.

        A second call does nothing. The peer may not be there to be told.
        """
        if not self._transport.tcp.is_open():
            return
        self._keep_ticket()
        self._transport.close()

    def _keep_ticket(mut self):
        if self._context:
            self._context.held().tickets.put(
                self._ticket_key, self._transport.channel.pump.session.ticket()
            )

    def is_open(self) -> Bool:
        """Tells whether `close` has not been called on this side."""
        return self._transport.tcp.is_open()

    def set_read_timeout(mut self, timeout_ms: Int):
        """Chooses how long one read may take.

        Args:
            timeout_ms: Milliseconds; negative (`NO_TIMEOUT_MS`) waits as long
                as it takes.
        """
        self._read_timeout_ms = timeout_ms

    def set_write_timeout(mut self, timeout_ms: Int):
        """Chooses how long one `write` or `write_all` may take.

        Args:
            timeout_ms: As for `set_read_timeout`.
        """
        self._write_timeout_ms = timeout_ms

    def session(
        ref self,
    ) -> ref[self._transport.channel.pump.session] TlsSession:
        """Lends the session: version, cipher, protocol, peer, resumption."""
        return self._transport.channel.pump.session

    def alpn(self) -> String:
        """Names the application protocol that was agreed on, such as "h2";
        empty for none."""
        return self._transport.channel.pump.session.alpn()

    def peer_addr(self) -> SocketAddr:
        """Gives the address of the other side, the one that answered."""
        return self._transport.tcp.peer_addr()

    def local_addr(self) raises TlsError -> SocketAddr:
        """Reads the address of the own side.

        Raises:
            TlsError: If the connection is closed.
        """
        return self._transport.tcp.local_addr()

    def fd(self) -> Int32:
        """Lends the descriptor, which is non-blocking, for a reactor; good
        while this stream lives; -1 if closed."""
        return self._transport.tcp.fd()
