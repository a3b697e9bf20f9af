"""What a WebSocket client offers, allows, and waits for."""

from flare.http.client.connect.proxy import ProxySettings
from flare.http.message.header_map import HeaderMap
from flare.tls.config import TlsConfig
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.receiver import WsLimits


struct WsClientConfig(Copyable, Defaultable, Movable):
    """Times, limits and offers of a connection.

    Times are in milliseconds, and finite by default. A time of -1
    (`NO_TIMEOUT_MS`) never comes.
    """

    var connect_timeout_ms: Int
    """Time to resolve a name, connect, and shake hands: with a proxy, TLS and
    WebSocket together. Default 10 s."""
    var read_timeout_ms: Int
    """Time for one `recv` or `recv_message`. The connection is still good when
    it is over: call again, or send a ping. Default 30 s."""
    var write_timeout_ms: Int
    """Time for the connection to take one message. Default 30 s."""
    var close_timeout_ms: Int
    """Time for the server to answer a close frame. Default 5 s."""
    var max_frame_size: Int
    """Longest payload of a frame that is taken, in bytes. Default 16 MiB."""
    var max_message_size: Int
    """Longest message that is taken, in bytes, decompressed. Default 16 MiB."""
    var max_queue_size: Int
    """Most that waits of what a `WsClientSender` sends, in bytes, each message
    with 64 more than it holds. Default 1 MiB."""
    var headers: HeaderMap
    """Further fields of the handshake, such as Authorization or Origin."""
    var subprotocols: List[String]
    """Subprotocols to offer, best first. Default none."""
    var compression: Optional[DeflateAgreement]
    """What to offer about compression (RFC 7692); nothing to go without. It is
    not offered if zlib is missing. Default `DeflateAgreement.widest()`."""
    var tls: TlsConfig
    """Whom to trust, and what to show to servers. What `alpn` names is offered,
    `h2` only with `http2`; by default it is empty, and `http2` decides."""
    var http2: Bool
    """True to offer HTTP/2 with TLS (ALPN). A server that chooses it, and takes
    WebSocket over it (RFC 8441), gets it on a stream; one that chooses it and
    does not is connected to once more, with HTTP/1.1. False by default: a
    connection for one WebSocket gains nothing by it, and waits a round trip
    longer for the server's SETTINGS."""
    var http2_prior_knowledge: Bool
    """True to speak HTTP/2 to `ws` URLs, with no way back: for servers that are
    known to speak it without TLS (RFC 9113 section 3.3). Default False."""
    var proxy: ProxySettings
    """Which connections go through a tunnel of a proxy; none by default."""

    def __init__(out self):
        """Makes the default configuration."""
        self.connect_timeout_ms = 10_000
        self.read_timeout_ms = 30_000
        self.write_timeout_ms = 30_000
        self.close_timeout_ms = 5_000
        # As much as other clients take; a stream of video comes in pieces.
        self.max_frame_size = 16 << 20
        self.max_message_size = 16 << 20
        self.max_queue_size = 1 << 20
        self.headers = HeaderMap()
        self.subprotocols = []
        self.compression = DeflateAgreement.widest()
        self.tls = TlsConfig()
        self.http2 = False
        self.http2_prior_knowledge = False
        self.proxy = ProxySettings()

    @no_inline
    def __deinit__(deinit self):
        return

    def offers_http2(self, is_tls: Bool) -> Bool:
        """Tells whether HTTP/2 may be spoken: offered with TLS, or begun with
        without.

        Args:
            is_tls: True for a connection with TLS.
        """
        return self.http2 if is_tls else self.http2_prior_knowledge

    def limits(self) -> WsLimits:
        """Gives the bounds of what is received."""
        return WsLimits(self.max_frame_size, self.max_message_size)
