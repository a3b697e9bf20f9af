"""Over which connection a response came, and how long that took."""

from flare.http.client.connect.error import Phase
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import monotonic_ns
from flare.sys.openssl.certificate import HeldCertificate
from flare.tls.certificate import PeerCertificate
from std.memory import ArcPointer


struct ConnectTimes(TrivialRegisterPassable):
    """How long each step to a connection took, in nanoseconds."""

    var resolve_ns: Int
    """Looking up names."""
    var connect_ns: Int
    """Connecting, to the first address that answers."""
    var proxy_ns: Int
    """Asking a proxy for a tunnel."""
    var tls_ns: Int
    """The TLS handshake with the host."""
    var _mark_ns: Int

    def __init__(out self):
        """Begins with the first step."""
        self.resolve_ns = 0
        self.connect_ns = 0
        self.proxy_ns = 0
        self.tls_ns = 0
        self._mark_ns = monotonic_ns()

    def end(mut self, phase: Phase):
        """Counts a step that is over; the next one begins.

        Args:
            phase: What it was.
        """
        var now_ns = monotonic_ns()
        var elapsed_ns = now_ns - self._mark_ns
        self._mark_ns = now_ns
        if phase == Phase.RESOLVE:
            self.resolve_ns += elapsed_ns
        elif phase == Phase.PROXY:
            self.proxy_ns += elapsed_ns
        elif phase == Phase.TLS:
            self.tls_ns += elapsed_ns
        else:
            self.connect_ns += elapsed_ns


struct ConnectionInfo(Copyable, Movable):
    """What is known of a connection."""

    var remote: Optional[SocketAddr]
    """Who is at the other end: the host, or the proxy on the way to it; nothing
    for a Unix socket."""
    var local: Optional[SocketAddr]
    """The address of this end."""
    var tls_version: String
    """Such as "TLSv1.3"; empty without TLS."""
    var tls_cipher: String
    """The cipher suite, such as "TLS_AES_128_GCM_SHA256"; empty without TLS."""
    var alpn: String
    """The protocol that TLS has agreed on (RFC 7301), such as "h2"; empty if
    there is none."""
    var is_resumed: Bool
    """True if the TLS session went on from an earlier one."""
    var times: ConnectTimes
    """How long it took to open it."""
    var _certificate: Optional[ArcPointer[HeldCertificate]]

    def __init__(out self, times: ConnectTimes):
        """Begins with nothing known but how long it took to open it."""
        self.remote = None
        self.local = None
        self.tls_version = String()
        self.tls_cipher = String()
        self.alpn = String()
        self.is_resumed = False
        self.times = times
        self._certificate = None

    def keep_certificate(mut self, var certificate: Optional[HeldCertificate]):
        """Takes the certificate that the host has shown.

        Args:
            certificate: The certificate, if there is one.
        """
        if certificate:
            self._certificate = ArcPointer(certificate.take())

    def certificate(self) -> Optional[PeerCertificate]:
        """Gives the certificate that the host has shown, and that was verified
        unless the configuration says otherwise; nothing without TLS."""
        if not self._certificate:
            return None
        return PeerCertificate(self._certificate.held()[])


struct ExchangeFacts(Copyable, Movable):
    """Over which connection a response came, and when.

        var response = client.get("/items")
        var connection = response.exchange.connection()
        if connection:
            print(connection.value().remote.value(), connection.value().alpn)
        print(response.exchange.head_ns // 1_000, "us")

    There is no connection if the response was kept in memory.
    """

    var was_reused: Bool
    """True if the connection had carried a request before; the times of the
    connection are then not a part of this request's."""
    var head_ns: Int
    """Time from the start of the request to the head of this response, in
    nanoseconds: redirections, repetitions and the connection included."""
    var _connection: Optional[ArcPointer[ConnectionInfo]]

    def __init__(out self):
        """Begins with nothing known."""
        self.was_reused = False
        self.head_ns = 0
        self._connection = None

    def note_connection(
        mut self, connection: Optional[ArcPointer[ConnectionInfo]]
    ):
        """Takes what is known of the connection.

        Args:
            connection: What is known of it.
        """
        self._connection = connection

    def connection(self) -> Optional[ConnectionInfo]:
        """Tells what is known of the connection; nothing if there was none."""
        if not self._connection:
            return None
        return self._connection.held()[].copy()
