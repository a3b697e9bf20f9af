"""The TLS side of a connection: a session and what waits on either side of it.

    socket -> worker's buffer -> [session] -> input of an exchange
    socket <- worker's buffer <- [session] <- output of the worker

Between events a link holds no octets, as a rule: `rest` only while there was
no room for what is in them, `unsent` only while the client does not read.
"""

from flare.bytes.buffer import Buffer
from flare.http.message.request import TlsPeer
from flare.net.raw_socket import RawSocket
from flare.tls.error import PlainHttpRequest, TlsError
from flare.tls.session import TlsSession
from std.memory import ArcPointer


struct TlsLink(Movable):
    """What a connection has beside its socket if it speaks TLS."""

    var rest: Buffer
    """Octets of the client whose plaintext there was no room for."""
    var unsent: Buffer
    """Octets to the client that go before anything else."""
    var peer: ArcPointer[TlsPeer]
    """What is known of the client; handlers on other threads share it."""
    var holds_plaintext: Bool
    """True if plaintext may be had without octets from the socket."""
    var is_plain_http: Bool
    """True if the client speaks HTTP without TLS."""
    var is_plain_head: Bool
    """True if it does, and its method is HEAD."""
    var _session: TlsSession
    var _is_broken: Bool

    def __init__(out self, var session: TlsSession):
        """Makes a link whose handshake is awaited.

        Args:
            session: A server's session, before its handshake.
        """
        self.rest = Buffer(0)
        self.unsent = Buffer(0)
        self.peer = ArcPointer(TlsPeer())
        self.holds_plaintext = False
        self.is_plain_http = False
        self.is_plain_head = False
        self._session = session^
        self._is_broken = False

    def is_established(self) -> Bool:
        """Tells whether the handshake is complete.

        Returns:
            True once it is.
        """
        return self._session.is_established()

    def is_over(self) -> Bool:
        """Tells whether the client sends no more plaintext.

        Returns:
            True if it has said so, or the session is broken.
        """
        return self._is_broken or self._session.is_peer_done()

    def is_broken(self) -> Bool:
        """Tells whether the session cannot be used any further.

        Returns:
            True after a failed handshake, a broken record or a fatal alert,
            also if plaintext stood before it.
        """
        return self._is_broken

    def tells_why(self) -> Bool:
        """Tells whether an alert of ours says why the session is broken.

        Returns:
            True if it should reach the client.
        """
        return self._session.tells_why()

    def open(
        mut self,
        mut sealed: Buffer,
        mut answer: Buffer,
        room: MutSpan[UInt8, _],
    ) -> Int:
        """Decrypts what has arrived; goes on with the handshake before.

        Args:
            sealed: Octets of the client; used up unless the room is full, or
                `is_over`.
            answer: Gets what the session itself has to say to the client.
            room: Where the plaintext goes.

        Returns:
            How many octets of plaintext.
        """
        var was_established = self._session.is_established()
        var count = 0
        try:
            count = self._session.read(sealed, answer, room)
        except error:
            self._break(error)
            self.is_plain_head = self.is_plain_http and _is_head(sealed.span())
        if self._session.is_broken():
            # Nothing of the socket will announce it again.
            self._is_broken = True
        if not was_established and self._session.is_established():
            self.peer = ArcPointer(TlsPeer(self._session.peer_subject()))
        self.holds_plaintext = count == len(room) and not self._is_broken
        return count

    def seal(mut self, octets: Span[UInt8, _], mut sealed: Buffer) -> Bool:
        """Encrypts.

        Args:
            octets: Plaintext.
            sealed: Gets what is to be sent to the client.

        Returns:
            False if the session cannot be used any further.
        """
        try:
            self._session.write(octets, sealed)
            return True
        except error:
            self._break(error)
            return False

    def _break(mut self, error: TlsError):
        self._is_broken = True
        self.is_plain_http = error.kind == PlainHttpRequest

    def send_close_notify(mut self, mut socket: RawSocket):
        """Tells the client that nothing follows, unless something is missing.

        Args:
            socket: The connection's; what it does not take is dropped.
        """
        if self._is_broken or len(self.unsent) > 0:
            return
        var notice = Buffer(0)
        self._session.close(notice)
        if len(notice) > 0:
            _ = socket.send(notice.span())


def _is_head(octets: Span[UInt8, _]) -> Bool:
    comptime START = StaticString("HEAD ")
    return (
        len(octets) >= START.byte_length()
        and octets[0 : START.byte_length()] == START.as_bytes()
    )
