"""TLS on a socket whose calls never wait."""

from flare.bytes.buffer import Buffer
from flare.net.raw_socket import RawSocket
from flare.sys.errno import EAGAIN, ECONNRESET, EINTR, EPIPE
from flare.tls.error import ProtocolViolation, TlsError
from flare.tls.session import TlsSession

comptime RECORD_LEN_MAX = 16_640
"""Room for one record: 16 KiB, what encryption adds (RFC 8446 section 5.2),
and the header."""

comptime PLAINTEXT_LEN_MAX = 65_536
"""Most plaintext encrypted before it is sent, in bytes."""

comptime ROUND_COUNT_MAX = 4
"""Most reads without plaintext at once: key updates, tickets and requests for
handshakes without end must not keep a caller from looking at the clock."""

comptime UNSENT_LEN_MAX = 1 << 18
"""Most octets that wait to be sent, in bytes: `send` leaves half at most, the
rest is answers that a peer demands and does not read."""

comptime TLS_FAILED = -(1 << 20)
"""What calls answer when TLS has failed; no errno is as large."""


struct TlsLayer(Movable):
    """A session with the records that are on their way."""

    var session: TlsSession
    """The session."""
    var failure: Optional[TlsError]
    """Why a call has answered `TLS_FAILED`."""
    var _input: Buffer
    var _output: Buffer

    def __init__(out self, var session: TlsSession):
        """Takes a session.

        Args:
            session: The session, before its handshake.
        """
        self.session = session^
        self.failure = None
        self._input = Buffer(RECORD_LEN_MAX)
        self._output = Buffer()

    def flush(mut self, mut socket: RawSocket) -> Int:
        """Sends records that are still here.

        Args:
            socket: The connection.

        Returns:
            0 if none is left, or a negative errno.
        """
        while len(self._output) > 0:
            var count = socket.send(self._output.span())
            if count >= 0:
                self._output.consume(count)
            elif count != -EINTR:
                return count
        return 0

    def shake_hands(mut self, mut socket: RawSocket) -> Int:
        """Goes on with the handshake.

        Args:
            socket: The connection.

        Returns:
            0 if it is complete, `TLS_FAILED`, or a negative errno; -EAGAIN to
            wait for the connection, which may be readable already.
        """
        for _ in range(ROUND_COUNT_MAX):
            try:
                _ = self.session.advance(self._input, self._output)
            except error:
                # The peer learns from an alert what failed.
                _ = self.flush(socket)
                self.failure = error^
                return TLS_FAILED
            var flushed = self.flush(socket)
            if flushed == -EPIPE or flushed == -ECONNRESET:
                return self.read_alert(socket, flushed)
            if flushed < 0 or self.session.is_established():
                return flushed
            var count = self._receive_records(socket)
            if count < 0:
                return count
        return -EAGAIN

    def read_alert(mut self, mut socket: RawSocket, number: Int) -> Int:
        """Looks for why the peer has closed before it took what we sent.

        Args:
            socket: The connection, to which nothing can be written any more;
                plaintext that comes before the alert is lost.
            number: The negative errno of the write.

        Returns:
            `TLS_FAILED` if the peer has said why, else the number.
        """
        var room = List[UInt8](length=RECORD_LEN_MAX, fill=0)
        for _ in range(ROUND_COUNT_MAX):
            try:
                _ = self.session.read(self._input, self._output, Span(room))
            except error:
                self.failure = error^
                return TLS_FAILED
            if self._receive_records(socket) <= 0:
                self.failure = None
                return number
        return number

    def wants_write(self) -> Bool:
        """Tells whether records wait to be sent.

        Returns:
            True if so.
        """
        return len(self._output) > 0

    def has_buffered(self) -> Bool:
        """Tells whether plaintext may be had without reading the socket.

        Returns:
            True if the last read filled its room, or came with the notice
            that nothing follows or with what breaks the session: the socket
            may stay silent then.
        """
        if self.has_ended():
            return True
        return len(self._input) > 0 or self.session.held_len() > 0

    def has_ended(self) -> Bool:
        """Tells whether the session gives nothing any more.

        Returns:
            True behind a notice, or behind what breaks the session.
        """
        return self.session.is_peer_done() or self.session.is_broken()

    def send(mut self, mut socket: RawSocket, octets: Span[UInt8, _]) -> Int:
        """Encrypts and sends; `flush` sends what could not be sent yet.

        Args:
            socket: The connection.
            octets: The plaintext.

        Returns:
            How many octets were taken, `TLS_FAILED`, or a negative errno: then
            none of them has left. An error behind the first that have left is
            met by the next call.
        """
        var flushed = self.flush(socket)
        if flushed < 0:
            return flushed
        var count = min(len(octets), PLAINTEXT_LEN_MAX)
        try:
            self.session.write(octets[0:count], self._output)
        except error:
            self.failure = error^
            return TLS_FAILED
        var sealed_len = len(self._output)
        flushed = self.flush(socket)
        if flushed == 0 or flushed == -EAGAIN:
            return count
        return count if len(self._output) < sealed_len else flushed

    def receive(
        mut self, mut socket: RawSocket, room: MutSpan[UInt8, _]
    ) -> Int:
        """Decrypts what has arrived.

        Args:
            socket: The connection.
            room: Where to.

        Returns:
            How many octets, 0 when the peer has said that nothing follows,
            `TLS_FAILED`, or a negative errno.
        """
        for _ in range(ROUND_COUNT_MAX):
            try:
                var count = self.session.read(self._input, self._output, room)
                if self.session.is_broken():
                    _ = self.flush(socket)
                if count > 0 or self.session.is_peer_done():
                    return count
            except error:
                _ = self.flush(socket)
                self.failure = error^
                return TLS_FAILED
            _ = self.flush(socket)
            if len(self._output) > UNSENT_LEN_MAX:
                self.failure = TlsError(
                    materialize[ProtocolViolation](),
                    "the peer",
                    "it demands answers without end and reads none",
                )
                return TLS_FAILED
            var count = self._receive_records(socket)
            if count < 0:
                return count
        return -EAGAIN

    def _receive_records(mut self, mut socket: RawSocket) -> Int:
        self._input.reserve(RECORD_LEN_MAX)
        var count = socket.receive(self._input.room())
        if count > 0:
            self._input.commit(count)
            return count
        if count < 0:
            return count if count != -EINTR else -EAGAIN
        try:
            self.session.receive_end()
            return 0
        except error:
            self.failure = error^
            return TLS_FAILED
