"""The settings of a reverse proxy, and the upstreams that it was given."""

from flare.bytes.checked import *
from flare.http.client.connect.addresses import HostAddresses
from flare.http.h1.field_section import HeadLimits
from flare.http.proxy.rules.forwarding import ForwardingRules
from flare.http.proxy.upstreams.group_config import (
    DAY_MS,
    GroupConfig,
    check_within,
)
from flare.http.proxy.upstreams.request_key import RequestKey
from flare.http.proxy.upstreams.upstreams import Upstreams
from flare.http.handler.handler import DEFAULT_BODY_LIMIT
from flare.tls.config import TlsConfig

comptime _HEAD_LEN_MAX = 65_000


struct ProxyConfig(Copyable, Movable):
    """Times in milliseconds, limits and rules of a `ReverseProxy`."""

    var rules: ForwardingRules
    """What is passed on, and how it is changed."""
    var group: GroupConfig
    """How requests are shared among upstreams, when one is left out, and when a
    request is sent again."""
    var key: RequestKey
    """What `Balance.CONSISTENT_HASH` looks at. Default `RequestKey.client()`.
    """
    var connect_timeout_ms: Int
    """Time to resolve a name, connect and open TLS. Default 5 s."""
    var write_timeout_ms: Int
    """Longest time in which an upstream takes no octet of a request. Default 30
    s."""
    var head_timeout_ms: Int
    """Time from the end of the request to the head of the response, on however
    many connections of one upstream. Default 60 s."""
    var idle_timeout_ms: Int
    """Longest silence of an upstream within the content of a response, in which
    it takes nothing of the request either; or of both sides of a connection
    that has changed its protocol. Default 60 s."""
    var max_idle_connections: Int
    """Most connections to one upstream that wait for a request, for each
    worker. With fewer than there are requests at a time, connections are opened
    and closed all the while, which costs more than the requests. Default 1,024.
    """
    var keep_idle_ms: Int
    """How long such a connection waits before it is closed. Best less than the
    upstream's own time, for what it closes at that moment fails. Default 30 s.
    """
    var max_body_size: Int
    """Most content of a request in bytes; the server's own limit by default."""
    var head_limits: HeadLimits
    """Bounds of a response's head. Default 65,000 bytes, and 256 fields."""
    var tls: TlsConfig
    """Whom to trust of upstreams that are reached over TLS, and what to show
    them."""
    var addresses: HostAddresses
    """Where upstreams are that have a name: addresses, or a resolver of one's own,
    which the loop waits for; the system is asked for all others."""
    var http2: Bool
    """True to offer HTTP/2 to upstreams that are reached over TLS (ALPN): those
    that agree get all requests of a worker on one connection. Default True."""
    var http2_prior_knowledge: Bool
    """True to speak HTTP/2 to `http` upstreams, too, with no way back: for
    those that are known to speak it without TLS (RFC 9113 section 3.3). Default
    False."""
    var http2_ping_after_ms: Int
    """How long a connection of HTTP/2 may be silent while a response is
    awaited, before PING asks whether the upstream is there; -1 for never.
    Default 15 s."""
    var http2_ping_timeout_ms: Int
    """Time for the answer to PING; without one the connection is given up.
    Default 5 s."""

    def __init__(out self):
        """Makes the default settings."""
        self.rules = ForwardingRules()
        self.group = GroupConfig()
        self.key = RequestKey.client()
        self.connect_timeout_ms = 5_000
        self.write_timeout_ms = 30_000
        self.head_timeout_ms = 60_000
        self.idle_timeout_ms = 60_000
        self.max_idle_connections = 1_024
        self.keep_idle_ms = 30_000
        self.max_body_size = DEFAULT_BODY_LIMIT
        self.head_limits = HeadLimits(_HEAD_LEN_MAX, _HEAD_LEN_MAX, 256)
        self.tls = TlsConfig()
        self.addresses = HostAddresses()
        self.http2 = True
        self.http2_prior_knowledge = False
        self.http2_ping_after_ms = 15_000
        self.http2_ping_timeout_ms = 5_000

    @no_inline
    def __deinit__(deinit self):
        return

    def check(self) raises:
        """Looks for values that cannot work; those of the group are its own;
        the rest is as for `GroupConfig.check`."""
        _within("connect_timeout_ms", self.connect_timeout_ms, 1, DAY_MS)
        _within("write_timeout_ms", self.write_timeout_ms, 1, DAY_MS)
        _within("head_timeout_ms", self.head_timeout_ms, 1, DAY_MS)
        _within("idle_timeout_ms", self.idle_timeout_ms, 1, DAY_MS)
        _within("keep_idle_ms", self.keep_idle_ms, 0, DAY_MS)
        _within("max_idle_connections", self.max_idle_connections, 0, 1 << 20)
        _within("http2_ping_after_ms", self.http2_ping_after_ms, -1, DAY_MS)
        _within("http2_ping_timeout_ms", self.http2_ping_timeout_ms, 1, DAY_MS)
        self.rules.check()

    def offers_http2(self, is_tls: Bool) -> Bool:
        """Tells whether to offer HTTP/2 to an upstream over TLS, or to begin
        with it without.

        Args:
            is_tls: True for one that is reached over TLS.
        """
        if not is_tls:
            return self.http2_prior_knowledge
        return self.http2 and (len(self.tls.alpn) == 0 or "h2" in self.tls.alpn)


def _within(name: StaticString, value: Int, low: Int, high: Int) raises:
    check_within("reverse proxy", name, value, low, high)


struct ProxyShared(Movable):
    """What all workers know of a reverse proxy."""

    var config: ProxyConfig
    var upstreams: Upstreams
    var group: GroupConfig
    """The rules by which; a copy that needs no lock."""

    def __init__(
        out self, var config: ProxyConfig, urls: Span[String, _]
    ) raises:
        """Takes the settings, and reads where the upstreams are. Raises if
        there is none, one is no such URL, or the settings contradict
        themselves."""
        config.check()
        if len(urls) == 0:
            raise Error(
                "a ReverseProxy has no upstream; name one, such as"
                " http://127.0.0.1:8080"
            )
        self.group = config.group.copy()
        self.upstreams = Upstreams(config.group.copy())
        for index in range(len(urls)):
            self.upstreams.add(urls.at(index))
        self.config = config^
