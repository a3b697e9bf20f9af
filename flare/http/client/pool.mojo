"""Connections: where they lead, and those that wait for a request."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.client.error import BadUrl, ClientError, Phase
from flare.http.client.exchange_facts import ConnectionInfo
from flare.http.client.slot import ConnectionSlot
from flare.http.client.transport import Transport
from flare.http.message.header_map import HeaderMap
from flare.http.message.fields import ListElements
from flare.url.percent import percent_decode_lenient
from flare.url.url import Url
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer

comptime _TIMEOUT = StaticString("timeout=")
comptime _TIMEOUT_DIGITS_MAX = 9
comptime _FOR_EVER_MS = 1 << 52


@fieldwise_init
struct PoolLimits(ImplicitlyCopyable):
    """How many connections may wait, and for how long."""

    var max_idle: Int
    """Most connections that wait, to all hosts together."""
    var max_idle_per_host: Int
    """Most connections that wait to one endpoint; and of a batch, most that are
    open to a server which allows few requests at once on each (HTTP/2)."""
    var idle_timeout_ms: Int
    """How long one may wait; -1 for ever. Most servers close after 5 s to 75 s. A server
    that says less with `Keep-Alive: timeout=` is believed."""


def keep_alive_ms(headers: HeaderMap) -> Int:
    """Reads how long a server keeps a connection that is not used.

    The field is of RFC 2068 section 19.7.1.1 and has stayed in use. The server
    counts from when it has sent the response, and closes without asking, so the
    last second, or the last half, does not count.

    Args:
        headers: The header fields of a response.

    Returns:
        Milliseconds; negative if the server does not say.
    """
    var index = headers.find("keep-alive")
    while index >= 0:
        var value = headers.value(index)
        for element in ListElements(value.as_bytes().as_imm()):
            var timeout_ms = _timeout_ms(element)
            if timeout_ms >= 0:
                return max(timeout_ms - 1_000, timeout_ms // 2)
        index = headers.find("keep-alive", index + 1)
    return -1


def _timeout_ms(parameter: Span[UInt8, _]) -> Int:
    """Reads `timeout=5`; -1 if the parameter is another one."""
    var start = _TIMEOUT.byte_length()
    if len(parameter) <= start or not equals_ignore_case(
        parameter[0:start], _TIMEOUT.as_bytes()
    ):
        return -1
    var seconds = 0
    for octet in parameter[
        start : min(len(parameter), start + _TIMEOUT_DIGITS_MAX)
    ]:
        if octet < 48 or octet > 57:
            return -1
        seconds = seconds * 10 + Int(octet) - 48
    return seconds * 1_000


struct _Idle[C: Movable & Deinitable](Movable):
    var endpoint: Endpoint
    var connection: Self.C
    var end_ms: Int

    def __init__(
        out self, var endpoint: Endpoint, var connection: Self.C, end_ms: Int
    ):
        self.endpoint = endpoint^
        self.connection = connection^
        self.end_ms = end_ms

    def take(deinit self) -> Self.C:
        return self.connection^


struct Pool[C: Movable & Deinitable](Movable, Sized):
    """Idle connections by endpoint: pure bookkeeping, with no socket and no
    clock.

    The connection that waited least goes out first, so that those that are not
    needed grow old and are closed.

    Parameters:
        C: What a connection is; dropping it closes it.
    """

    # In the order of arrival, so the oldest stands first.
    var _idle: List[_Idle[Self.C]]
    # When the first of them has waited long enough; no later than that.
    var _first_end_ms: Int
    var limits: PoolLimits
    """The limits."""

    def __init__(out self, limits: PoolLimits):
        """Makes an empty pool.

        Args:
            limits: The limits.
        """
        self._idle = []
        self._first_end_ms = Int.MAX
        self.limits = limits

    def __len__(self) -> Int:
        """Counts the connections that wait.

        Returns:
            How many there are, expired ones included.
        """
        return len(self._idle)

    def take(mut self, endpoint: Endpoint, now_ms: Int) -> Optional[Self.C]:
        """Takes out the connection that waited least.

        Args:
            endpoint: Where it has to lead.
            now_ms: What time it is.

        Returns:
            The connection, or nothing.
        """
        self.expire(now_ms)
        for index in range(len(self._idle) - 1, -1, -1):
            if self._idle[index].endpoint == endpoint:
                return self._idle.pop(index).take()
        return None

    def has(self, endpoint: Endpoint) -> Bool:
        """Tells whether a connection waits, which may have expired.

        Args:
            endpoint: Where it has to lead.

        Returns:
            True if there is one.
        """
        for index in range(len(self._idle)):
            if self._idle[index].endpoint == endpoint:
                return True
        return False

    def put(
        mut self,
        var endpoint: Endpoint,
        var connection: Self.C,
        now_ms: Int,
        server_ms: Int = -1,
    ):
        """Keeps a connection for the next request; may drop an older one.

        Args:
            endpoint: Where it leads.
            connection: The connection, ready for a request.
            now_ms: What time it is.
            server_ms: How long the server keeps it, in milliseconds; negative
                if that is not known.
        """
        self.expire(now_ms)
        var wait_ms = self.limits.idle_timeout_ms
        if wait_ms < 0:
            wait_ms = _FOR_EVER_MS
        if server_ms >= 0:
            wait_ms = min(wait_ms, server_ms)
        if wait_ms < 1:
            return
        if self.limits.max_idle < 1 or self.limits.max_idle_per_host < 1:
            return
        var replaced = self._replaced_by(endpoint)
        if replaced >= 0:
            _ = self._idle.pop(replaced)
        elif len(self._idle) >= self.limits.max_idle:
            _ = self._idle.pop(0)
        var end_ms = now_ms + wait_ms
        self._first_end_ms = min(self._first_end_ms, end_ms)
        self._idle.append(_Idle(endpoint^, connection^, end_ms))

    def _replaced_by(self, endpoint: Endpoint) -> Int:
        """Finds the oldest connection to an endpoint that has all it may have;
        -1 if it may have one more."""
        if len(self._idle) < self.limits.max_idle_per_host:
            # All of them may lead there: no need to compare any.
            return -1
        var count = 0
        var oldest = -1
        for index in range(len(self._idle)):
            if self._idle[index].endpoint == endpoint:
                count += 1
                if oldest < 0:
                    oldest = index
        return oldest if count >= self.limits.max_idle_per_host else -1

    def expire(mut self, now_ms: Int):
        """Drops connections that have waited too long.

        Args:
            now_ms: What time it is.
        """
        if now_ms < self._first_end_ms:
            return
        self._first_end_ms = Int.MAX
        for index in range(len(self._idle) - 1, -1, -1):
            var end_ms = self._idle[index].end_ms
            if now_ms < end_ms:
                self._first_end_ms = min(self._first_end_ms, end_ms)
            else:
                _ = self._idle.pop(index)

    def clear(mut self):
        """Drops all connections."""
        self._idle.clear()


struct ClientConnection(Movable):
    """An open connection and where it leads; dropping it closes it.

    It holds no buffers: those belong to the `Attempt` that uses it.
    """

    var transport: Transport
    """The octets."""
    var endpoint: Endpoint
    """Where it leads."""
    var request_count: Int
    """How many requests it has carried."""
    var is_http2: Bool
    """True if HTTP/2 is spoken on it."""
    var slot: Optional[ConnectionSlot]
    """Tells a pool that threads share when it is closed."""
    var info: Optional[ArcPointer[ConnectionInfo]]
    """What responses tell of it."""

    def __init__(out self, var transport: Transport, var endpoint: Endpoint):
        """Takes an open connection.

        Args:
            transport: The octets.
            endpoint: Where it leads.
        """
        self.transport = transport^
        self.endpoint = endpoint^
        self.request_count = 0
        self.is_http2 = False
        self.slot = None
        self.info = None

    def is_quiet(mut self) -> Bool:
        """Tells whether an idle connection is good for a request.

        What a server sends unasked would be taken for the next response, and
        the end of the stream for a failure of the next request.

        Returns:
            True if the connection is open and nothing has arrived.
        """
        var octet = Array[UInt8, 1](fill=0)
        return self.transport.receive(Span(octet)) == -EAGAIN


comptime UNIX_PROTOCOL = StaticString("http+unix:")
"""Scheme of URLs whose host is the percent-encoded path of a Unix socket, such
as `http+unix://%2Frun%2Fapp.sock/items`."""


struct Endpoint(Copyable, Equatable, Movable):
    """What two requests of a client must have in common to share a connection.

    Their TLS settings are the client's, and so the same.
    """

    var host: String
    """Host name, address without brackets, or path of a Unix socket."""
    var port: UInt16
    """The port; 0 for a Unix socket."""
    var is_tls: Bool
    """True if TLS is spoken with the host."""
    var is_unix: Bool
    """True if `host` is a path."""
    var offers_http2: Bool
    """True to offer HTTP/2 over TLS, and to speak nothing else without TLS."""
    var proxy: String
    """`host:port` of the proxy on the way; empty without one."""

    def __init__(out self, var host: String, port: UInt16):
        """Makes an endpoint without TLS and proxy.

        Args:
            host: Host name or address.
            port: The port.
        """
        self.host = host^
        self.port = port
        self.is_tls = False
        self.is_unix = False
        self.offers_http2 = False
        self.proxy = String()

    @staticmethod
    def of(url: Url) raises ClientError -> Self:
        """Reads where a URL leads.

        Args:
            url: An `http`, `https` or `http+unix` URL.

        Returns:
            The endpoint, without a proxy.

        Raises:
            ClientError: If the scheme is another one, or there is no host.
        """
        var protocol = url.protocol()
        var hostname = url.hostname()
        if hostname.byte_length() == 0:
            raise _bad("the URL has no host")
        if protocol == UNIX_PROTOCOL:
            return Self._unix(hostname)
        var is_tls = protocol == "https:"
        if not is_tls and not (protocol == "http:"):
            raise _bad("the scheme must be http, https or http+unix")
        if hostname.startswith("["):
            hostname = hostname.removeprefix("[").removesuffix("]")
        var endpoint = Self(String(hostname), url.port_number())
        endpoint.is_tls = is_tls
        return endpoint^

    @staticmethod
    def _unix(hostname: StringSpan) raises ClientError -> Self:
        var path = List[UInt8]()
        percent_decode_lenient(hostname.as_bytes(), path)
        for octet in path:
            if octet == 0:
                raise _bad("the path of a Unix socket holds no NUL")
        try:
            var endpoint = Self(String(from_utf8=path), 0)
            endpoint.is_unix = True
            return endpoint^
        except:
            raise _bad("the path of a Unix socket must be UTF-8")

    def origin(self) -> String:
        """Writes scheme, host and port, for challenges.

        Returns:
            Such as `https://example.com:443`.
        """
        var scheme = "https://" if self.is_tls else "http://"
        if ":" in self.host:
            return String(scheme, "[", self.host, "]:", self.port)
        return String(scheme, self.host, ":", self.port)

    def name(self) -> String:
        """Writes host and port, for the tickets of TLS.

        Returns:
            Such as `example.com:443`.
        """
        return String(self.host, ":", self.port)


def _bad(reason: StaticString) -> ClientError:
    return ClientError(
        materialize[Phase.REQUEST](), materialize[BadUrl](), String(reason)
    )
