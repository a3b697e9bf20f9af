"""The settings of a reverse proxy, and the upstreams that it was given."""

from flare.http.client.error import ClientError
from flare.http.client.pool import Endpoint
from flare.http.h1.field_section import HeadLimits
from flare.http.proxy.forwarding import ForwardingRules
from flare.http.routing.handler import DEFAULT_BODY_LIMIT
from flare.tls.config import TlsConfig
from flare.url.url import Url

comptime _HEAD_LEN_MAX = 65_000


struct ProxyConfig(Copyable, Movable):
    """Times, limits and rules of a `ReverseProxy`."""

    var rules: ForwardingRules
    """What is passed on, and how it is changed."""
    var connect_timeout_ms: Int
    """Time to resolve a name, connect and open TLS."""
    var write_timeout_ms: Int
    """Longest time in which an upstream takes no octet of a request."""
    var head_timeout_ms: Int
    """Time from the end of the request to the head of the response."""
    var idle_timeout_ms: Int
    """Longest silence of an upstream within the content of a response, or of
    both sides of a connection that has changed its protocol."""
    var max_idle_connections: Int
    """Most connections to one upstream that wait for a request, for each
    worker."""
    var keep_idle_ms: Int
    """How long such a connection waits before it is closed. Best less than the
    upstream's own time, for what it closes at that moment fails."""
    var max_body_size: Int
    """Most content of a request in bytes; the server's own limit by default."""
    var head_limits: HeadLimits
    """Bounds of a response's head."""
    var tls: TlsConfig
    """Whom to trust of upstreams that are reached over TLS, and what to show
    them."""

    def __init__(out self):
        """Makes the default settings."""
        self.rules = ForwardingRules()
        self.connect_timeout_ms = 5_000
        self.write_timeout_ms = 30_000
        self.head_timeout_ms = 60_000
        self.idle_timeout_ms = 60_000
        self.max_idle_connections = 256
        self.keep_idle_ms = 30_000
        self.max_body_size = DEFAULT_BODY_LIMIT
        self.head_limits = HeadLimits(_HEAD_LEN_MAX, _HEAD_LEN_MAX, 256)
        self.tls = TlsConfig()


struct Upstream(Copyable, Movable):
    """Where requests are sent."""

    var endpoint: Endpoint
    """How it is reached."""
    var authority: String
    """Host and port, as in Host."""

    def __init__(out self, url: StringSpan) raises:
        """Reads the address of an upstream.

        Args:
            url: Such as `http://127.0.0.1:8080`, `https://host` or
                `http+unix://%2Frun%2Fapp.sock`, without path and query.

        Raises:
            Error: If it is not of that form.
        """
        var parsed = Url.parse(url)
        if parsed.username().byte_length() > 0 or (
            parsed.pathname().byte_length() > 1
            or parsed.search().byte_length() > 0
        ):
            raise Error(
                "the upstream '",
                url,
                "' must be scheme, host and port alone; ForwardingRules.paths"
                " changes what paths begin with",
            )
        try:
            self.endpoint = Endpoint.of(parsed)
        except error:
            raise Error("the upstream '", url, "': ", error.reason)
        self.authority = String(parsed.host())
        if self.endpoint.is_unix:
            # RFC 9112 section 3.2: there is always a Host.
            self.authority = "localhost"


struct ProxyShared(Movable):
    """What all workers know of a reverse proxy."""

    var config: ProxyConfig
    """Its settings."""
    var upstream: Upstream
    """Where requests are sent."""

    def __init__(out self, var config: ProxyConfig, var upstream: Upstream):
        """Takes settings and upstream."""
        self.config = config^
        self.upstream = upstream^
