"""What a client may do, and for how long."""

from flare.compress.content_coding import ContentCoding, can_decode
from flare.http.client.connect.addresses import HostAddresses
from flare.http.client.message.hooks import AnyHook
from flare.http.client.connect.netrc import Netrc
from flare.http.client.connect.proxy import ProxySettings
from flare.http.client.message.retry_policy import RetryPolicy
from flare.http.exchange.idle_pool import PoolLimits
from flare.http.h1.field_section import HeadLimits
from flare.http.message.header_map import HeaderMap
from flare.sys.clock import NO_TIMEOUT_MS
from flare.tls.config import TlsConfig

comptime USER_AGENT = StaticString("flare")
"""What the client calls itself (RFC 9110 section 10.1.5)."""

comptime _HEAD_LEN_MAX = 65_000

comptime WHILE_PROGRESSING = -3
"""A total time for what makes progress: it starts anew with each KiB of content
that went either way, and is `PROGRESS_TIMEOUT_MS` long."""

comptime TIME_MAX_MS = 24 * 86_400_000
"""Longest time that can be set, in milliseconds: 24 days, as long as the system
waits at once. What is to wait longer waits for ever."""

comptime PROGRESS_TIMEOUT_MS = 120_000
"""Time for a request until its content flows, redirections and repetitions
included, and then for each `PROGRESS_LEN_MIN` of it, in milliseconds."""

comptime PROGRESS_LEN_MIN = 1_024
"""Least content that counts as progress, in bytes. Slower than 9 octets a
second is no download, but a server that drips to hold its client."""


struct ClientConfig(Copyable, Movable):
    """Times, limits and habits of a client.

    Times are in milliseconds, and finite by default. A time of -1
    (`NO_TIMEOUT_MS`) never comes; what is less, or more than `TIME_MAX_MS`, is
    refused.
    """

    var connect_timeout_ms: Int
    """Time to resolve a name, connect, and open a tunnel or TLS on the
    connection. Default 10 s."""
    var read_timeout_ms: Int
    """Longest silence of a server while octets are awaited. Default 30 s."""
    var write_timeout_ms: Int
    """Longest time in which a server takes no octet of a request. Default 30 s.
    """
    var total_timeout_ms: Int
    """Time for a request with all its redirections and repetitions. By default
    `WHILE_PROGRESSING`: what has not got to its content within 120 s ends, and
    then what has not moved a KiB of it within another 120 s; a download that
    goes on is not ended. A number is a total for all of it."""
    var max_redirects: Int
    """Most redirections to follow; 0 to see the first one as the response.
    Default 10."""
    var max_response_size: Int
    """Most content of a response in memory, in bytes, as transferred. Default
    64 MiB."""
    var max_decoded_size: Int
    """Most content of a response in memory, in bytes, decoded. Default 64 MiB.
    """
    var max_download_size: Int
    """Most content that goes to a sink, in bytes, transferred and decoded.
    Default 16 GiB."""
    var head_limits: HeadLimits
    """Bounds of a response's head. Default 8,192 bytes for the reason phrase,
    32,768 for the fields, of which there may be 200."""
    var pool: PoolLimits
    """How many connections wait for their next request, and how long. Default
    100 to all hosts, 100 to one, and 30 s."""
    var max_retries: Int
    """How often a request that failed is sent again, if it is safe: the method
    is idempotent, or nothing was sent, and no octet of a response came. A
    connection that went stale in the pool is replaced in any case. Default 0.
    """
    var retry_base_ms: Int
    """Longest wait before the first repetition; it doubles for each other.
    Default 200 ms."""
    var retry_max_ms: Int
    """Longest wait before any repetition. Default 5 s."""
    var retries: Optional[RetryPolicy]
    """Which requests are repeated, in place of the three settings before it:
    also those answered with a status such as 503. Nothing by default."""
    var hooks: List[AnyHook]
    """What sees each attempt of every request: see `ClientHook`. Default none.
    """
    var headers: HeaderMap
    """Fields of every request, unless a request has its own. Credentials among
    them are dropped when a redirection leads to another origin; `auth` of a
    client with a base URL also stays away from other absolute URLs. Default
    User-Agent and Accept."""
    var decodes_content: Bool
    """True to ask for compressed content, and decompress it. Default True."""
    var tls: TlsConfig
    """Whom to trust, and what to show to servers. What `alpn` names is offered
    as it stands; by default that is empty, and `http2` decides."""
    var http2: Bool
    """True to offer HTTP/2 with TLS (ALPN), which servers then choose or not.
    Requests of one client to one server share a connection then. Default True.
    """
    var http2_prior_knowledge: Bool
    """True to speak HTTP/2 to `http` URLs, too, with no way back: for servers
    that are known to speak it without TLS (RFC 9113 section 3.3). Default
    False."""
    var http2_ping_after_ms: Int
    """How long a connection of HTTP/2 may be silent, idle or while a response
    is awaited, before PING asks whether the server is there; -1 for never.
    Default 15 s."""
    var http2_ping_timeout_ms: Int
    """Time for the answer to PING; without one the connection is given up, and
    its requests are repeated if that is safe. Default 5 s."""
    var proxy: ProxySettings
    """Which requests go through a proxy; none does by default."""
    var addresses: HostAddresses
    """Where hosts are to be found, instead of asking the system. Default none.
    """
    var netrc: Netrc
    """Who logs in where, for requests that bring no credentials; nobody by
    default, and no file is looked for."""
    var strict: Bool
    """True to refuse responses that are irregular but clear. False by default:
    bare LF as line ends of the head, folded field lines, equal Content-Lengths
    and whitespace around chunk sizes are read, and the connection is not used
    again. What frames a response in two ways is refused in any case."""
    # True once Accept-Encoding among `headers` is the client's own.
    var _asks_codings: Bool

    def __init__(out self, *, strict: Bool = False):
        """Makes the default configuration."""
        self.strict = strict
        self._asks_codings = False
        self.connect_timeout_ms = 10_000
        self.read_timeout_ms = 30_000
        self.write_timeout_ms = 30_000
        self.total_timeout_ms = WHILE_PROGRESSING
        # As the Fetch standard's 20, halved: nobody needs as many.
        self.max_redirects = 10
        self.max_response_size = 64 << 20
        self.max_decoded_size = 64 << 20
        # A disk image; what is larger is announced to the caller anyway.
        self.max_download_size = 16 << 30
        self.head_limits = HeadLimits(8_192, 32_768, 200)
        # As many to one host as in all, so that what a batch of `send_all` has
        # opened is there for the next batch.
        self.pool = PoolLimits(100, 100, 30_000)
        self.max_retries = 0
        self.retry_base_ms = 200
        self.retry_max_ms = 5_000
        self.retries = None
        self.hooks = []
        self.headers = HeaderMap()
        try:
            self.headers.set("User-Agent", USER_AGENT)
            self.headers.set("Accept", "*/*")
        except:
            # Literal text, and good.
            pass
        self.netrc = Netrc()
        self.decodes_content = True
        self.tls = TlsConfig()
        self.http2 = True
        self.http2_prior_knowledge = False
        # Half of what a load balancer lets pass, and a NAT far more.
        self.http2_ping_after_ms = 15_000
        self.http2_ping_timeout_ms = 5_000
        self.proxy = ProxySettings()
        self.addresses = HostAddresses()

    @no_inline
    def __deinit__(deinit self):
        return

    def drops_codings(self, headers: HeaderMap) -> Bool:
        """Tells whether a request goes out without the client's own
        Accept-Encoding: if it asks for a range.

        A range counts octets of the content as it is coded (RFC 9110 section
        14.1.2), and a part of coded content cannot be decoded.

        Args:
            headers: The request's own fields.
        """
        return self._asks_codings and len(headers) > 0 and "range" in headers

    def offers_http2(self, is_tls: Bool) -> Bool:
        """Tells whether HTTP/2 is offered with TLS, or begun with without.

        Args:
            is_tls: True for a connection with TLS.
        """
        if not is_tls:
            return self.http2_prior_knowledge
        return self.http2 and (len(self.tls.alpn) == 0 or "h2" in self.tls.alpn)

    def problem(self) -> String:
        """Tells what is wrong with values that cannot work, and what would be
        right; empty if all is well."""
        ref head = self.head_limits
        if head.max_header_size + head.max_target_size > _HEAD_LEN_MAX:
            return String(
                "head_limits: a head of ",
                head.max_header_size + head.max_target_size,
                " bytes is too long; ",
                _HEAD_LEN_MAX,
                " is the most",
            )
        if head.max_fields < 1 or head.max_header_size < 1:
            return "head_limits: a response needs some room; allow 1 or more"
        var problem = self._times_problem()
        if problem.byte_length() > 0:
            return problem^
        if self.max_redirects < 0 or self.max_retries < 0:
            return "max_redirects and max_retries must be 0 or more"
        if self.retries:
            if self.max_retries > 0:
                return (
                    "max_retries: retries.max_attempts counts instead; leave"
                    " one of both"
                )
            problem = self.retries.value().problem()
            if problem.byte_length() > 0:
                return problem^
        for name in [
            StaticString("Host"),
            StaticString("Content-Length"),
            StaticString("Transfer-Encoding"),
        ]:
            if name in self.headers:
                # RFC 9112 sections 3.2 and 6.3: twice they cut requests wrong.
                return String(
                    "headers: ",
                    name,
                    " differs between requests; leave it to the client",
                )
        if "h2" in self.tls.alpn and not self.http2:
            return (
                "tls.alpn offers h2, which http2=False turns off; leave one of"
                " both"
            )
        var smallest = min(self.max_response_size, self.max_decoded_size)
        if min(smallest, self.max_download_size) < 0:
            return "the sizes of content allowed must be 0 or more"
        return String()

    def _times_problem(self) -> String:
        """Looks for times, and counts of the pool, that cannot work."""
        for time in [
            (StaticString("connect_timeout_ms"), self.connect_timeout_ms),
            (StaticString("read_timeout_ms"), self.read_timeout_ms),
            (StaticString("write_timeout_ms"), self.write_timeout_ms),
            (StaticString("pool.idle_timeout_ms"), self.pool.idle_timeout_ms),
            (StaticString("http2_ping_after_ms"), self.http2_ping_after_ms),
        ]:
            var problem = time_problem(time[0], time[1])
            if problem.byte_length() > 0:
                return problem^
        var problem = total_problem("total_timeout_ms", self.total_timeout_ms)
        if problem.byte_length() > 0:
            return problem^
        if self.pool.max_idle < 0 or self.pool.max_idle_per_host < 0:
            return "pool: max_idle and max_idle_per_host must be 0 or more"
        if self.http2_ping_timeout_ms < 1:
            return String(
                "http2_ping_timeout_ms: ",
                self.http2_ping_timeout_ms,
                " is no time for an answer; allow 1 or more",
            )
        if self.retry_base_ms < 0 or self.retry_max_ms < 0:
            return String(
                "retry_base_ms and retry_max_ms: ",
                min(self.retry_base_ms, self.retry_max_ms),
                " is no pause; allow 0 or more",
            )
        return String()


def time_problem(name: StaticString, time_ms: Int) -> String:
    """Looks whether a time can be waited for. Returns what was found under that
    name, and what is allowed; empty if all is well."""
    if time_ms >= NO_TIMEOUT_MS and time_ms <= TIME_MAX_MS:
        return String()
    return String(
        name,
        ": ",
        time_ms,
        " is no time; allow 0 to ",
        TIME_MAX_MS,
        " ms, or NO_TIMEOUT_MS (-1) for ever",
    )


def total_problem(name: StaticString, time_ms: Int) -> String:
    """Does the same for the time of a whole request."""
    if time_ms == WHILE_PROGRESSING:
        return String()
    var problem = time_problem(name, time_ms)
    if problem.byte_length() > 0:
        problem.write(", or WHILE_PROGRESSING")
    return problem^


def accept_codings(mut config: ClientConfig):
    """Asks for compressed content by an Accept-Encoding among the fields,
    unless the caller does or wants none."""
    if not config.decodes_content or "accept-encoding" in config.headers:
        return
    # See `drops_codings`.
    if "range" in config.headers:
        return
    var codings = accepted_codings()
    if codings.byte_length() == 0:
        return
    try:
        config.headers.set("Accept-Encoding", codings)
        config._asks_codings = True
    except:
        # The fields are full; then compressed content is not asked for.
        return


def accepted_codings() -> String:
    """Writes the Accept-Encoding field for what can be decoded here, such as
    `gzip, deflate, br, zstd`; empty if no library is there."""
    var names = String()
    for coding in [
        ContentCoding.GZIP,
        ContentCoding.DEFLATE,
        ContentCoding.BR,
        ContentCoding.ZSTD,
    ]:
        if can_decode(coding):
            if names.byte_length() > 0:
                names.write(", ")
            names.write(coding)
    return names^
