"""The octets of a connection, with TLS or without."""

from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.exchange_facts import ConnectionInfo
from flare.http.exchange.outgoing_request import OctetStream
from flare.net.error import NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.errno import EAGAIN, ECONNRESET, EPIPE, OsError
from flare.sys.signal import process_id
from flare.tls.error import TlsError
from flare.tls.pump import RECORD_LEN_MAX, TlsChannel, TlsStatus
from flare.tls.session import TlsSession
from std.memory import OwnedPointer


struct Transport(Movable, OctetStream):
    """A connected socket whose calls never wait. A negative number that one of
    them answers is for `failure` to explain."""

    var _socket: RawSocket
    # In a box: most connections have none, and all are moved.
    var _tls: Optional[OwnedPointer[TlsLayer]]

    def __init__(out self, var socket: RawSocket):
        self._socket = socket^
        self._tls = None

    def __deinit__(deinit self):
        """Says that nothing follows, and closes."""
        if self._tls:
            self._tls.value()[].say_goodbye(self._socket)

    def begin_tls(mut self, var session: TlsSession):
        """Speaks TLS from now on, by a session before its handshake;
        `shake_hands` comes next.

        Where TLS is spoken already, with a proxy, the new session lies within.
        """
        var layer = OwnedPointer(TlsLayer(session^))
        if self._tls:
            layer[]._outer = self._tls.take()
        self._tls = layer^

    def shake_hands(mut self) -> Int:
        """Goes on with the handshake. Returns 0 if it is complete or there is
        none, or a negative number; -EAGAIN to wait for the connection."""
        if self._tls:
            return self._tls.value()[].shake_hands(self._socket)
        return 0

    def protocol(self) -> String:
        """Names the application protocol that TLS has agreed on, such as "h2";
        empty for none."""
        if self._tls:
            return self._tls.value()[].channel.pump.session.alpn()
        return String()

    def tell(self, mut info: ConnectionInfo, is_tls: Bool):
        """Says what is known of an IP connection; `is_tls` if TLS is spoken
        with the host, and not with a proxy alone."""
        try:
            info.local = self._socket.local_addr()
            info.remote = self._socket.peer_addr()
        except:
            # It has ended; the next read will tell.
            pass
        if not is_tls or not self._tls:
            return
        ref session = self._tls.value()[].channel.pump.session
        info.tls_version = session.version()
        info.tls_cipher = session.cipher()
        info.alpn = session.alpn()
        info.is_resumed = session.is_resumed()
        info.keep_certificate(session.peer_certificate())

    def ticket(self) -> List[UInt8]:
        """Packs what a later connection can resume this one's session from;
        empty without a ticket."""
        if self._tls:
            return self._tls.value()[].channel.pump.session.ticket()
        return []

    @always_inline
    def fd(self) -> Int32:
        return self._socket.fd()

    @always_inline
    def send(mut self, octets: Span[UInt8, _]) -> Int:
        if self._tls:
            return self._tls.value()[].send(self._socket, octets)
        return self._socket.send(octets)

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        if self._tls:
            return self._tls.value()[].send(self._socket, first)
        return self._socket.send_two(first, second)

    @always_inline
    def flush(mut self) -> Int:
        if self._tls:
            return self._tls.value()[].flush(self._socket)
        return 0

    @always_inline
    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        if self._tls:
            return self._tls.value()[].receive(self._socket, room)
        return self._socket.receive(room)

    def reset_on_close(mut self):
        """Has the other side see that nobody reads on, as a half-closed
        connection would not tell it."""
        try:
            self._socket.reset_on_close()
        except:
            # Then it ends as others do.
            pass

    def finish_sending(mut self):
        """Tells the other side that nothing follows, behind what was taken; what
        it sends is still received. With TLS that is a close_notify alone.

        Source: RFC 8446 section 6.1. Before TLS 1.3 the other side ends its own
        direction with that (RFC 5246 section 7.2.1).
        """
        if self._tls:
            self._tls.value()[].say_goodbye(self._socket)
        else:
            self._socket.finish_writing()

    def undelivered_len(self) -> Int:
        """Counts the octets that have not reached the other side's system; 0 if
        the system does not tell."""
        return self._socket.undelivered_len()

    def read_alert(mut self, number: Int) -> Int:
        """Looks for a better explanation of a write that has failed for good,
        with this number. Returns what `failure` is to explain: an alert that
        had come, or the same."""
        if self._tls and (number == -EPIPE or number == -ECONNRESET):
            return self._tls.value()[].read_alert(self._socket, number)
        return number

    @always_inline
    def wants_write(self) -> Bool:
        """Tells whether octets that were taken wait to leave."""
        return Bool(self._tls) and self._tls.value()[].wants_write()

    @always_inline
    def has_buffered(self) -> Bool:
        """Tells whether octets may be had without waiting for the descriptor."""
        return Bool(self._tls) and self._tls.value()[].has_buffered()

    def has_ended(self) -> Bool:
        """Tells whether TLS is over, by a notice or an alert, though the
        descriptor may stay silent."""
        return Bool(self._tls) and self._tls.value()[].is_over()

    def failure(
        self, phase: Phase, number: Int, operation: StaticString, name: String
    ) -> ClientError:
        """Explains the negative number that a call has answered; the error
        calls the peer by that name."""
        if number == TLS_FAILED and self._tls:
            var failure = self._tls.value()[].failure()
            if failure:
                return ClientError(phase, failure.value())
        return ClientError(
            phase, NetworkError(OsError(operation, -number), name)
        )


comptime TURN_LEN_MAX = 1 << 17
"""How many octets are read at once before there is plaintext, at most: key updates,
tickets and requests for handshakes without end must not keep a caller from looking
at the clock. They are octets, not reads: a record and a server's part of the
handshake, which are shorter, come in pieces of any length, and whoever waits for
more while the last of them lies here waits in vain."""

comptime TLS_FAILED = -(1 << 20)
"""What calls answer when TLS has failed; no errno is as large."""


struct TlsLayer(Movable):
    """TLS on a socket whose calls never wait."""

    var channel: TlsChannel
    """The session with the records that are on their way."""
    # TLS with a proxy, in whose plaintext the records of this one lie.
    var _outer: Optional[OwnedPointer[TlsLayer]]
    # The process that speaks here.
    var _process: Int

    def __init__(out self, var session: TlsSession):
        self.channel = TlsChannel(session^)
        self._outer = None
        self._process = process_id()

    def __deinit__(deinit self):
        """Drops the layers; the type holds itself, so this is written out."""
        pass

    def wants_write(self) -> Bool:
        if len(self.channel.output) > 0:
            return True
        return Bool(self._outer) and self._outer.value()[].wants_write()

    def has_buffered(self) -> Bool:
        """Tells whether plaintext may be had without octets of the peer."""
        if self.channel.has_buffered():
            return True
        return Bool(self._outer) and self._outer.value()[].has_buffered()

    def is_over(self) -> Bool:
        """Tells whether the peer, or the proxy, sends no more plaintext."""
        if self.channel.pump.is_over():
            return True
        return Bool(self._outer) and self._outer.value()[].is_over()

    def failure(self) -> Optional[TlsError]:
        """Says why a call has answered `TLS_FAILED`."""
        if self.channel.pump.failure or not self._outer:
            return self.channel.pump.failure.copy()
        return self._outer.value()[].failure()

    def _carry(mut self, mut socket: RawSocket) -> Int:
        """Hands records to what is below, which may keep them for a while."""
        if self._outer:
            return self._outer.value()[].send(
                socket, self.channel.output.span()
            )
        return socket.send(self.channel.output.span())

    def flush(mut self, mut socket: RawSocket) -> Int:
        """Sends records that are still here. Returns 0 if none is left, or a
        negative errno."""
        while len(self.channel.output) > 0:
            var count = self._carry(socket)
            if count < 0:
                return count
            self.channel.output.consume(count)
        if self._outer:
            return self._outer.value()[].flush(socket)
        return 0

    def say_goodbye(mut self, mut socket: RawSocket):
        """Tells the peer that nothing follows, as far as the connection takes it
        at once; the session is over.

        Source: RFC 9112 section 9.8, RFC 8446 section 6.1. A process that was
        forked since says nothing: the session goes on without it.
        """
        if self._process != process_id():
            return
        self.channel.send_close_notify()
        _ = self.flush(socket)
        if self._outer:
            self._outer.value()[].say_goodbye(socket)

    def shake_hands(mut self, mut socket: RawSocket) -> Int:
        """Goes on with the handshake. Returns 0 if it is complete,
        `TLS_FAILED`, or a negative errno; -EAGAIN to wait for the connection,
        which may be readable already."""
        var left_len = TURN_LEN_MAX
        while left_len > 0:
            var status = self.channel.shake_hands().status
            # The peer learns from an alert what failed.
            var flushed = self.flush(socket)
            if status == TlsStatus.FAILED:
                return TLS_FAILED
            if flushed == -EPIPE or flushed == -ECONNRESET:
                return self.read_alert(socket, flushed)
            if flushed < 0 or status == TlsStatus.DONE:
                return flushed
            var count = self._receive_records(socket)
            if count < 0:
                return count
            left_len -= count
        return -EAGAIN

    def read_alert(mut self, mut socket: RawSocket, number: Int) -> Int:
        """Looks for why the peer has closed before it took what we sent, on a
        connection to which nothing can be written any more; plaintext that
        comes before the alert is lost. Returns `TLS_FAILED` if the peer has
        said why, else the negative errno of the write."""
        var room = List[UInt8](length=RECORD_LEN_MAX, fill=0)
        var left_len = TURN_LEN_MAX
        while left_len > 0:
            if self.channel.read(Span(room)).status == TlsStatus.FAILED:
                return TLS_FAILED
            var count = self._receive_records(socket)
            if count <= 0:
                self.channel.pump.failure = None
                return number
            left_len -= count
        return number

    def send(mut self, mut socket: RawSocket, octets: Span[UInt8, _]) -> Int:
        """Encrypts and sends; `flush` sends what could not be sent yet. Returns
        how many octets were taken, `TLS_FAILED`, or a negative errno: then none
        of them has left. An error after the first that have left is met by the
        next call."""
        var flushed = self.flush(socket)
        if flushed < 0:
            return flushed
        var step = self.channel.write(octets)
        if step.status == TlsStatus.FAILED:
            return TLS_FAILED
        var sealed_len = len(self.channel.output)
        flushed = self.flush(socket)
        if flushed == 0 or flushed == -EAGAIN:
            return step.count
        return step.count if len(self.channel.output) < sealed_len else flushed

    def receive(
        mut self, mut socket: RawSocket, room: MutSpan[UInt8, _]
    ) -> Int:
        """Decrypts what has arrived. Returns how many octets, 0 when the peer
        has said that nothing follows, `TLS_FAILED`, or a negative errno."""
        var left_len = TURN_LEN_MAX
        while left_len > 0:
            var step = self.channel.read(room)
            if len(self.channel.output) > 0:
                _ = self.flush(socket)
            if step.status == TlsStatus.FAILED:
                return TLS_FAILED
            if step.status != TlsStatus.WANTS_OCTETS:
                return step.count
            var count = self._receive_records(socket)
            if count < 0:
                return count
            left_len -= count
        return -EAGAIN

    def _receive_records(mut self, mut socket: RawSocket) -> Int:
        var count: Int
        if self._outer:
            count = self._outer.value()[].receive(socket, self.channel.spare())
        else:
            count = socket.receive(self.channel.spare())
        if count < 0:
            return count
        if self.channel.receive(count).status == TlsStatus.FAILED:
            return TLS_FAILED
        return count
