"""A TLS client and a TLS server that talk in memory."""

from flare.bytes.buffer import Buffer
from flare.sys.dynamic_library import DynamicLibrary
from flare.sys.openssl.context import TLS_1_2_NUMBER
from flare.sys.openssl.library import OpenSsl, library_names
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import TlsError
from flare.tls.session import TlsSession
from std.memory import ArcPointer

comptime _ROUND_COUNT_MAX = 12
comptime _TICKET_USE_COUNT_MAX = 50_000
# A ticket is good for two hours (RFC 8446 section 4.6.1 allows a week).
comptime _CTRL_MAX_PROTO_VERSION = Int32(124)


struct TlsPair(Movable):
    """Two sessions, with what is under way between them."""

    var client: TlsSession
    """One side."""
    var server: TlsSession
    """The other side."""
    var to_client: Buffer
    """What the server has sent."""
    var to_server: Buffer
    """What the client has sent."""
    var client_error: Optional[TlsError]
    """What the client has raised."""
    var server_error: Optional[TlsError]
    """What the server has raised."""

    def __init__(out self, var client: TlsSession, var server: TlsSession):
        """Makes a pair that has not talked yet.

        Args:
            client: One side.
            server: The other side.
        """
        self.client = client^
        self.server = server^
        self.to_client = Buffer()
        self.to_server = Buffer()
        self.client_error = None
        self.server_error = None

    def shake_hands(mut self) -> String:
        """Lets both talk until nothing is left to say.

        Returns:
            "ok", or the kinds of the errors: "WrongHost / CertificateRefused"
            for the client's and the server's; "-" for none.
        """
        for _ in range(_ROUND_COUNT_MAX):
            self._client_turn()
            self._server_turn()
            if len(self.to_client) == 0:
                # Nobody has anything to answer.
                break
        if not self.client_error and not self.server_error:
            if self.client.is_established() and self.server.is_established():
                return "ok"
            return "unfinished"
        return String(
            kind_name(self.client_error), " / ", kind_name(self.server_error)
        )

    def take_client(deinit self) -> TlsSession:
        """Takes the client out.

        Returns:
            The client.
        """
        return self.client^

    def take_server(deinit self) -> TlsSession:
        """Takes the server out.

        Returns:
            The server.
        """
        return self.server^

    def _client_turn(mut self):
        if self.client_error:
            return
        try:
            # Reading takes the ticket, or a late alert of TLS 1.3.
            _ = receive(self.client, self.to_client, self.to_server)
        except error:
            self.client_error = error^

    def _server_turn(mut self):
        if self.server_error:
            return
        try:
            _ = receive(self.server, self.to_server, self.to_client)
        except error:
            self.server_error = error^


struct ReturningClient(Movable):
    """Begins sessions that go on from an earlier one: without signatures and
    certificates a handshake costs a fraction."""

    var _client: TlsClientContext
    var _server: TlsServerContext
    # `SSL_SESSION`s for TLS 1.3 and for 1.2, of which each session gets a copy:
    # OpenSSL goes on from none whose connection was dropped without a notice, and
    # to read one from octets is to read the certificate in it.
    var _earlier: List[Int]
    var _copy: def(Int) thin abi("C") -> Int
    var _library: ArcPointer[OpenSsl]
    var _use_count: Int

    def __init__(
        out self, var client: TlsClientContext, var server: TlsServerContext
    ) raises:
        """Makes one that has not been there yet.

        Args:
            client: Makes its sessions.
            server: Where it goes, as `localhost`.

        Raises:
            Error: If OpenSSL cannot be loaded.
        """
        self._library = client.session("localhost")._ssl.library()
        self._copy = DynamicLibrary(library_names("libssl")).symbol[
            def(Int) thin abi("C") -> Int
        ]("SSL_SESSION_dup")
        self._client = client^
        self._server = server^
        self._earlier = []
        self._use_count = 0

    def __deinit__(deinit self):
        """Lets go of what sessions have gone on from."""
        for earlier in self._earlier:
            self._library[].session.session_free(earlier)

    def session(
        mut self, *, is_new: Bool, is_older: Bool = False
    ) raises -> TlsSession:
        """Begins a session.

        Args:
            is_new: True for a whole handshake.
            is_older: True for TLS 1.2.

        Returns:
            The session.

        Raises:
            Error: If the server gives no ticket.
        """
        var session = self._begin(is_older)
        if is_new:
            return session^
        self._use_count += 1
        if self._use_count % _TICKET_USE_COUNT_MAX == 1:
            for earlier in self._earlier:
                self._library[].session.session_free(earlier)
            self._earlier = []
            self._earlier = [self._visit(False), self._visit(True)]
        ref symbols = self._library[].session
        var copy = self._copy(self._earlier[Int(is_older)])
        _ = symbols.set_session(session._ssl.handle(), copy)
        symbols.session_free(copy)
        return session^

    def _begin(self, is_older: Bool) raises -> TlsSession:
        var session = self._client.session("localhost")
        if is_older:
            _ = session._ssl.library()[].session.ctrl(
                session._ssl.handle(),
                _CTRL_MAX_PROTO_VERSION,
                TLS_1_2_NUMBER,
                0,
            )
        return session^

    def _visit(self, is_older: Bool) raises -> Int:
        """Has a session, and keeps what another one can go on from."""
        var pair = TlsPair(self._begin(is_older), self._server.session())
        var outcome = pair.shake_hands()
        var ticket = pair.client.ticket()
        if len(ticket) == 0:
            raise Error("no ticket: ", outcome)
        var place = List[Int](length=1, fill=Int(ticket.unsafe_ptr()))
        var earlier = self._library[].session.d2i_ssl_session(
            0, Int(place.unsafe_ptr()), len(ticket)
        )
        _ = place^
        _ = ticket^
        return earlier


def kind_name(error: Optional[TlsError]) -> String:
    """Names an error's kind.

    Args:
        error: An error or none.

    Returns:
        The name; "-" for none.
    """
    return String(error.value().kind) if error else String("-")


def receive(
    mut session: TlsSession, mut input: Buffer, mut output: Buffer
) raises TlsError -> String:
    """Reads all plaintext that is here.

    Args:
        session: Either side.
        input: What its peer has sent.
        output: Gets what it sends.

    Returns:
        The plaintext.

    Raises:
        TlsError: If the session fails.
    """
    var text = List[UInt8]()
    var room = List[UInt8](length=1_000, fill=0)
    while True:
        var count = session.read(input, output, Span(room))
        if count == 0:
            return String(from_utf8_lossy=text)
        text.extend(Span(room)[0:count])


def drip(
    mut session: TlsSession, octets: Span[UInt8, _], mut output: Buffer
) raises TlsError -> String:
    """Feeds octets one by one.

    Args:
        session: Either side.
        octets: What its peer has sent.
        output: Gets what it sends.

    Returns:
        The plaintext.

    Raises:
        TlsError: If the session fails.
    """
    var text = String()
    var input = Buffer()
    for index in range(len(octets)):
        input.append(octets[index : index + 1])
        text += receive(session, input, output)
    return text^
