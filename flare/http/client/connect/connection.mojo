"""Connections, where they lead, and the right to have one more of them open."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.http.client.connect.error import BadUrl, ClientError, Phase
from flare.http.client.connect.exchange_facts import ConnectionInfo
from flare.http.client.connect.transport import Transport
from flare.net.socket_addr import host_and_port
from flare.sys.errno import EAGAIN
from flare.sys.signal import process_id
from flare.url.percent import percent_decode_lenient
from flare.url.url import Url
from std.memory import ArcPointer


struct ClientConnection(Movable):
    """An open connection and where it leads; dropping it closes it.

    It holds no buffers: those belong to the `Attempt` that uses it.
    """

    var transport: Transport
    var endpoint: Endpoint
    var request_count: Int
    var is_http2: Bool
    var slot: Optional[ConnectionSlot]
    """Tells a pool that threads share when it is closed."""
    var info: Optional[ArcPointer[ConnectionInfo]]
    """What responses tell of it."""
    var process: Int

    def __init__(out self, var transport: Transport, var endpoint: Endpoint):
        self.transport = transport^
        self.endpoint = endpoint^
        self.request_count = 0
        self.is_http2 = False
        self.slot = None
        self.info = None
        self.process = process_id()

    def is_own(self) -> Bool:
        """Tells whether this process has opened it; one that was forked since
        leaves it to the other: it sends nothing, and reads nothing."""
        return self.process == process_id()

    def is_quiet(mut self) -> Bool:
        """Tells whether an idle connection is good for a request: it is open,
        and nothing has arrived.

        What a server sends unasked would be taken for the next response, and
        the end of the stream for a failure of the next request.
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
    var is_unix: Bool
    var offers_http2: Bool
    """True to offer HTTP/2 over TLS, and to speak nothing else without TLS."""
    var proxy: String
    """`host:port` of the proxy on the way; empty without one."""

    def __init__(out self, var host: String, port: UInt16):
        """Makes an endpoint without TLS and proxy, by host name or address."""
        self.host = host^
        self.port = port
        self.is_tls = False
        self.is_unix = False
        self.offers_http2 = False
        self.proxy = String()

    @staticmethod
    def of(url: Url) raises ClientError -> Self:
        """Reads where an `http`, `https` or `http+unix` URL leads, without a
        proxy. Raises if the scheme is another one, or there is no host."""
        var protocol = url.protocol()
        var is_tls = protocol == "https:"
        var is_unix = protocol == UNIX_PROTOCOL
        # First, since a host without a scheme is taken for one.
        if not (is_tls or is_unix or protocol == "http:"):
            raise ClientError(
                Phase.REQUEST,
                BadUrl,
                String(
                    "the scheme is '",
                    protocol.removesuffix(":"),
                    (
                        "'; allowed are http, https and http+unix, as in"
                        " http://localhost:8080"
                    ),
                ),
            )
        var hostname = url.hostname()
        if hostname.byte_length() == 0:
            raise _bad("the URL has no host")
        if is_unix:
            return Self._unix(hostname)
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
        """Writes scheme, host and port, such as `https://example.com:443`, for
        challenges."""
        var scheme = "https://" if self.is_tls else "http://"
        return String(scheme, host_and_port(self.host, self.port))

    def name(self) -> String:
        """Writes host and port, such as `example.com:443`, for errors and the
        tickets of TLS."""
        return host_and_port(self.host, self.port)


def _bad(reason: StaticString) -> ClientError:
    return ClientError(Phase.REQUEST, BadUrl, String(reason))


comptime HTTP1_COUNT_MAX = 64
"""Most endpoints of which is remembered that they chose HTTP/1.1."""


struct Http1Endpoints(Defaultable, Movable):
    """Endpoints that were offered HTTP/2 and chose HTTP/1.1 (RFC 7301), so that
    nobody waits for a connection of others to them."""

    # The oldest first.
    var _endpoints: List[Endpoint]

    def __contains__(self, endpoint: Endpoint) -> Bool:
        return endpoint in self._endpoints

    def add(mut self, endpoint: Endpoint):
        """Notes that one has chosen HTTP/1.1; the oldest goes if there are too
        many."""
        if endpoint in self._endpoints:
            return
        if len(self._endpoints) >= HTTP1_COUNT_MAX:
            _ = self._endpoints.pop(0)
        self._endpoints.append(endpoint.copy())

    def remove(mut self, endpoint: Endpoint):
        """Notes that one has chosen HTTP/2, as a server that was renewed."""
        for index in range(len(self._endpoints)):
            if self._endpoints.at(index) == endpoint:
                _ = self._endpoints.pop(index)
                return


trait SlotKeeper(Deinitable, Movable):
    """What counts connections and is told when one is no more."""

    def release(self, host: Int):
        """Counts one connection less for where it led, by the number that the
        slot was made with."""
        ...


def _release[K: SlotKeeper](keeper: Erased, host: Int):
    # SAFETY: `ConnectionSlot` was made of a K, and keeps it.
    keeper.unsafe_bitcast[K]()[].release(host)


struct ConnectionSlot(Movable):
    """One connection that a pool counts as open: it is counted no more when the
    slot is dropped, with the connection or because none was made.

    The pool's type is erased, since the pool holds connections, and each of
    them a slot.
    """

    var host: Int
    """The pool's number for where the connection leads."""
    # SAFETY: the function was made for the type of the keeper.
    var _keeper: ErasedBox
    var _release: def(Erased, Int) thin -> None

    def __init__[K: SlotKeeper](out self, var keeper: K, host: Int):
        """Takes a connection that the pool has counted, by its number for where
        that leads."""
        self.host = host
        self._keeper = ErasedBox(keeper^)
        self._release = _release[K]

    def __deinit__(deinit self):
        self._release(self._keeper.at, self.host)
        # The keeper is there until it has been told.
        _ = self._keeper^

    def keep(deinit self):
        """Ends without telling the pool, which has the connection back."""
        return
