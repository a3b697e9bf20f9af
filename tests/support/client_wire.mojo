"""The client's end of a served connection: octets in the portions that a test says."""

from flare.bytes.buffer import Buffer
from flare.sys.poll import POLL_READ, PollEntry, poll_descriptors
from flare.tls.session import TlsSession
from tests.support.served_connection import ServedConnection


struct ClientWire(Movable):
    """Seals and sends what is told, and opens what comes."""

    var served: ServedConnection
    """The server."""
    var out: Buffer
    """What the client says, before TLS."""
    var sealed: Buffer
    """The same behind TLS, not sent."""
    var input: Buffer
    """What the server has said."""
    var received_len: Int
    """How many octets have come."""
    var _session: Optional[TlsSession]
    var _incoming: Buffer

    def __init__(
        out self,
        var served: ServedConnection,
        var session: Optional[TlsSession],
    ) raises:
        """Takes a connection; a client of TLS speaks first.

        Args:
            served: The server.
            session: A session of TLS, before its handshake.
        """
        self.served = served^
        self.out = Buffer()
        self.sealed = Buffer()
        self.input = Buffer()
        self.received_len = 0
        self._session = session^
        self._incoming = Buffer()
        self._open()

    def seal(mut self, count: Int) raises:
        """Moves octets to what is to be sent, as one write.

        Args:
            count: Most octets.
        """
        var length = min(count, len(self.out))
        if not self._session:
            self.sealed.append(self.out.span()[:length])
        elif not self._session.value().is_established():
            return
        elif length > 0:
            self._session.value().write(self.out.span()[:length], self.sealed)
        self.out.consume(length)

    def send(mut self, count: Int) raises:
        """Sends octets, of which the server then hears.

        Args:
            count: Most octets.
        """
        var length = min(count, len(self.sealed))
        var taken = self.served.client.send(self.sealed.span()[:length])
        self.sealed.consume(max(taken, 0))
        self.served.step()

    def read(mut self, count: Int) raises -> Bool:
        """Reads octets, so that the server may send more.

        Args:
            count: Most octets.

        Returns:
            False at the end.
        """
        self._incoming.reserve(count)
        var got = self.served.client.receive(self._incoming.spare()[:count])
        if got == 0:
            return False
        self._incoming.commit(max(got, 0))
        self.received_len += max(got, 0)
        self._open()
        if got > 0:
            self.served.step()
        return True

    def wait(self, timeout_ms: Int):
        """Waits for octets: the kernel may be late.

        Args:
            timeout_ms: For how long.
        """
        var entries = Array[PollEntry, 1](
            fill=PollEntry(self.served.client.fd(), POLL_READ, 0)
        )
        _ = poll_descriptors(Span(entries), timeout_ms)

    def _open(mut self) raises:
        if not self._session:
            self.input.append(self._incoming.span())
            self._incoming.clear()
            return
        while True:
            self.input.reserve(20_000)
            var got = self._session.value().read(
                self._incoming, self.sealed, self.input.spare()
            )
            self.input.commit(got)
            if got == 0:
                return
