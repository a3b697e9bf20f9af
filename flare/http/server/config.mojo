"""What a server allows, and how long it waits."""

from flare.http.h1.limits import HeadLimits
from flare.http.server.listeners import ListenerMode
from flare.net.ip_network import IpNetwork

comptime _HEAD_LEN_MAX = 65_000
# Offsets in a `FieldLine` have 16 bits; a request line has some octets beside
# its target.


@fieldwise_init
struct ConfigError(Copyable, Movable, Writable):
    """A configuration contradicts itself or goes beyond what is possible."""

    var reason: String
    """The fields, what they hold, and what is allowed."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write("ServerConfig: ", self.reason)


struct ServerConfig(Copyable, Movable):
    """Limits and times of a server. All are on by default.

    Times are totals for their phase: a client that sends an octet now and then
    does not gain more. Every field may be given by name:
    `ServerConfig(max_body_size=64 * 1024)`.
    """

    var max_header_size: Int
    """Longest header section in bytes; beyond it 431. Default 8 KiB."""
    var max_target_size: Int
    """Longest request target in bytes; beyond it 414. Default 8 KiB."""
    var max_fields: Int
    """Most header fields of a request; beyond it 431. Default 100."""
    var max_body_size: Int
    """Most content of a request in bytes; beyond it 413. Default 10 MiB.

    A handler may choose another for a route: `RequestPolicy.max_body_size`.
    """
    var max_buffered_bodies_size: Int
    """Memory that content of all requests may take together in each worker
    while it is kept, in bytes; beyond it 503 for the request that needs more.
    Content that comes in one piece with its head, up to 128 KiB, is not counted
    unless it waits for a handler thread. Default 256 MiB, at least
    `max_body_size`."""
    var max_keepalive_requests: Int
    """Requests that one connection may carry. Default 0: no end."""
    var max_connections: Int
    """Connections that each worker may have open at once; beyond it 503.
    Default 65,536. The server raises its limit of descriptors as far as it
    may, keeps a quarter of them (4,096 at most) for files and upstreams, and
    answers 503 before that is eaten up."""
    var header_timeout_ms: Int
    """From the first octet of a head (or the connection's begin) to its end.
    Default 10 s."""
    var body_timeout_ms: Int
    """For the content of a request. Default 30 s, and what `min_body_rate`
    adds."""
    var min_body_rate: Int
    """Bytes a second at which a large body may take longer: each such portion
    received adds a second to `body_timeout_ms`. Default 16 KiB; 0 adds none."""
    var idle_timeout_ms: Int
    """Between requests of a connection. Default 60 s."""
    var write_timeout_ms: Int
    """For sending what the client was not ready to take at once. Default
    30 s, and what `min_send_rate` adds."""
    var min_send_rate: Int
    """Bytes a second that a client has to take of a response, a stream or
    WebSocket messages: each such portion adds a second to `write_timeout_ms`,
    as long as no more than that lies ahead; who takes nothing is cut off.
    Default 4 KiB, a quarter of `min_body_rate`: the slowest mobile networks
    bring that much, and who wants to keep a thousand responses in memory has
    to take 4 MB a second. 0 adds nothing: each response, and each piece of a
    stream, has `write_timeout_ms`."""
    var max_connection_age_ms: Int
    """How old a connection may get, less a random part of up to a fifth, so
    that not all end at once: the next response says `Connection: close`, and
    one that idles then is closed. Neither a response under way nor a WebSocket
    is cut. Behind a load balancer it lets new servers get their share. Default
    0: any age."""
    var handler_threads: Int
    """Threads of each worker that run handlers which may block, or read content
    while it arrives; see `RequestPolicy`. Default 0: all handlers run on the
    worker's own thread, and those that are `Streamed` are refused when the
    server starts."""
    var handler_queue: Int
    """Requests that may wait for such a thread; beyond it 503. Default 1,024.
    """
    var handler_timeout_ms: Int
    """For a handler on such a thread, waiting included; then 503, and
    `Request.cancelled` is true. Default 60 s; `Timeout` sets another for a
    route."""
    var linger_timeout_ms: Int
    """For a client to read the last response before its connection is closed.
    Default 2 s."""
    var shutdown_timeout_ms: Int
    """For requests under way when the server is told to stop. Default 30 s."""
    var listener: ListenerMode
    """How several workers get their connections. Default
    `ListenerMode.PER_WORKER`."""
    var proxy_protocol: List[IpNetwork]
    """Where one's own proxies are, if they announce their clients by the PROXY
    protocol, version 1 or 2. Every connection must then come from one of them
    and begin with the header, before TLS, and `Request.peer` is the client that
    it names; connections from elsewhere are closed. Default none: no
    connection has such a header."""
    var inherits_listeners: Bool
    """True to take over listening sockets that a service manager, or a former
    version of the program at SIGUSR2, hands over (`LISTEN_FDS`, `LISTEN_PID`),
    in place of making one. Default False."""
    var handles_signals: Bool
    """True to stop in good order at SIGTERM and SIGINT. Default True."""
    var logs_errors: Bool
    """True to write to standard error what handlers, streams and conversations
    raise, and what goes wrong with connections; to name the request that kills
    the process; and to warn of slow handlers. Default True."""
    var slow_handler_ms: Int
    """How long a handler may hold a worker's own thread before it is warned
    of, once a route and worker. Default 100 ms; 0 warns never."""

    def __init__(
        out self,
        *,
        max_header_size: Int = 8 * 1024,
        max_target_size: Int = 8 * 1024,
        max_fields: Int = 100,
        max_body_size: Int = 10 * 1024 * 1024,
        max_buffered_bodies_size: Int = 256 * 1024 * 1024,
        max_keepalive_requests: Int = 0,
        max_connections: Int = 65_536,
        header_timeout_ms: Int = 10_000,
        body_timeout_ms: Int = 30_000,
        min_body_rate: Int = 16 * 1024,
        idle_timeout_ms: Int = 60_000,
        write_timeout_ms: Int = 30_000,
        min_send_rate: Int = 4 * 1024,
        max_connection_age_ms: Int = 0,
        handler_threads: Int = 0,
        handler_queue: Int = 1_024,
        handler_timeout_ms: Int = 60_000,
        linger_timeout_ms: Int = 2_000,
        shutdown_timeout_ms: Int = 30_000,
        listener: ListenerMode = ListenerMode.PER_WORKER,
        var proxy_protocol: List[IpNetwork] = [],
        inherits_listeners: Bool = False,
        handles_signals: Bool = True,
        logs_errors: Bool = True,
        slow_handler_ms: Int = 100,
    ):
        """Makes a configuration; what is not named has its default.

        Args:
            max_header_size: Longest header section in bytes.
            max_target_size: Longest request target in bytes.
            max_fields: Most header fields.
            max_body_size: Most content in bytes.
            max_buffered_bodies_size: Most memory for content of all requests.
            max_keepalive_requests: Requests of one connection; 0 for no end.
            max_connections: Connections open at once.
            header_timeout_ms: For a request's head.
            body_timeout_ms: For a request's content.
            min_body_rate: Bytes a second that prolong `body_timeout_ms`.
            idle_timeout_ms: Between requests.
            write_timeout_ms: For sending to a slow client.
            min_send_rate: Bytes a second that prolong `write_timeout_ms`.
            max_connection_age_ms: Age after which connections end; 0 for none.
            handler_threads: Threads of each worker for handlers that block.
            handler_queue: Requests that may wait for such a thread.
            handler_timeout_ms: For a handler on such a thread.
            linger_timeout_ms: For a client to read the last response.
            shutdown_timeout_ms: For requests under way at shutdown.
            listener: How several workers get their connections.
            proxy_protocol: Proxies that announce their clients; none by
                default.
            inherits_listeners: Whether `bind` looks for sockets that were
                handed over.
            handles_signals: Whether SIGTERM and SIGINT stop the server.
            logs_errors: Whether errors of handlers, streams, conversations and
                connections are written to standard error.
            slow_handler_ms: After which a handler that holds the loop is warned
                of; 0 for never.
        """
        self.max_header_size = max_header_size
        self.max_target_size = max_target_size
        self.max_fields = max_fields
        self.max_body_size = max_body_size
        self.max_buffered_bodies_size = max_buffered_bodies_size
        self.max_keepalive_requests = max_keepalive_requests
        self.max_connections = max_connections
        self.header_timeout_ms = header_timeout_ms
        self.body_timeout_ms = body_timeout_ms
        self.min_body_rate = min_body_rate
        self.idle_timeout_ms = idle_timeout_ms
        self.write_timeout_ms = write_timeout_ms
        self.min_send_rate = min_send_rate
        self.max_connection_age_ms = max_connection_age_ms
        self.handler_threads = handler_threads
        self.handler_queue = handler_queue
        self.handler_timeout_ms = handler_timeout_ms
        self.linger_timeout_ms = linger_timeout_ms
        self.shutdown_timeout_ms = shutdown_timeout_ms
        self.listener = listener
        self.proxy_protocol = proxy_protocol^
        self.inherits_listeners = inherits_listeners
        self.handles_signals = handles_signals
        self.logs_errors = logs_errors
        self.slow_handler_ms = slow_handler_ms

    def head_limits(self) -> HeadLimits:
        """Gives the bounds that the parser keeps.

        Returns:
            The bounds of a request head.
        """
        return HeadLimits(
            self.max_target_size, self.max_header_size, self.max_fields
        )

    def check(self) raises ConfigError:
        """Checks that the fields make sense, alone and together.

        Raises:
            ConfigError: If one does not; it names the fields and the bounds.
        """
        _check_range("max_header_size", self.max_header_size, 64, _HEAD_LEN_MAX)
        _check_range("max_target_size", self.max_target_size, 1, _HEAD_LEN_MAX)
        _check_range("max_fields", self.max_fields, 1, 10_000)
        _check_range("max_body_size", self.max_body_size, 0, 1 << 40)
        _check_range(
            "max_keepalive_requests", self.max_keepalive_requests, 0, 1 << 40
        )
        _check_range("max_connections", self.max_connections, 1, 1 << 24)
        _check_range("min_body_rate", self.min_body_rate, 0, 1 << 40)
        self._check_times()
        _check_range("min_send_rate", self.min_send_rate, 0, 1 << 40)
        _check_range("handler_threads", self.handler_threads, 0, 4_096)
        _check_range("handler_queue", self.handler_queue, 1, 1 << 20)
        if self.max_header_size + self.max_target_size > _HEAD_LEN_MAX:
            raise ConfigError(
                String(
                    "max_header_size (",
                    self.max_header_size,
                    ") and max_target_size (",
                    self.max_target_size,
                    ") must not be over ",
                    _HEAD_LEN_MAX,
                    " bytes together; lower one of them",
                )
            )
        _check_range(
            "max_buffered_bodies_size",
            self.max_buffered_bodies_size,
            1,
            1 << 50,
        )
        if self.max_buffered_bodies_size < self.max_body_size:
            raise ConfigError(
                String(
                    "max_buffered_bodies_size (",
                    self.max_buffered_bodies_size,
                    ") must not be less than max_body_size (",
                    self.max_body_size,
                    "); raise the first or lower the second",
                )
            )
        if self.max_body_size < self.max_header_size:
            raise ConfigError(
                String(
                    "max_body_size (",
                    self.max_body_size,
                    ") must not be less than max_header_size (",
                    self.max_header_size,
                    "); raise the first or lower the second",
                )
            )

    def _check_times(self) raises ConfigError:
        _check_time("header_timeout_ms", self.header_timeout_ms)
        _check_time("body_timeout_ms", self.body_timeout_ms)
        _check_time("idle_timeout_ms", self.idle_timeout_ms)
        _check_time("write_timeout_ms", self.write_timeout_ms)
        _check_range(
            "max_connection_age_ms", self.max_connection_age_ms, 0, 86_400_000
        )
        _check_time("handler_timeout_ms", self.handler_timeout_ms)
        _check_range("slow_handler_ms", self.slow_handler_ms, 0, 86_400_000)
        _check_time("linger_timeout_ms", self.linger_timeout_ms)
        _check_time("shutdown_timeout_ms", self.shutdown_timeout_ms)

    def problem(self) -> String:
        """Says what `check` refuses, as text that a build can fail with.

        Returns:
            The error's text, or nothing if the fields make sense.
        """
        try:
            self.check()
        except error:
            return String(error)
        return ""


def _check_range(
    name: StaticString, value: Int, least: Int, most: Int
) raises ConfigError:
    if value < least or value > most:
        raise ConfigError(
            String(name, " is ", value, "; allowed are ", least, " to ", most)
        )


def _check_time(name: StaticString, value: Int) raises ConfigError:
    # A day: whatever waits longer is stuck.
    _check_range(name, value, 1, 86_400_000)
