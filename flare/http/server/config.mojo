"""Limits and times of a server, and in what context its clients are served."""

from flare.bytes.from_text import FromText, TextError
from flare.bytes.ranges import range_problem
from flare.bytes.text import Text
from flare.http.h1.field_section import HeadLimits
from flare.http.handler.ready_switch import ReadySwitch
from flare.http.server.field_help import about_field
from flare.net.ip import IpNetwork
from flare.settings.fields import SettingsDefaults, SettingsGroup
from flare.settings.settings import SettingsError, read_args, read_env
from flare.sys.descriptor import duplicate_from
from flare.sys.log import log_line
from flare.sys.process import descriptor_limit, raise_descriptor_limit
from flare.tls.config import TlsServerConfig
from flare.http.server.http2_config import Http2Config
from flare.http.server.connection.tls import HTTP_2_PROTOCOL, ServerTls
from flare.tls.context import TlsServerContext


comptime AUTOMATIC_THREADS = -1
"""For `ServerConfig.handler_threads`: as many as handlers that hold the loop
turn out to need."""


@fieldwise_init
struct ListenerMode(Equatable, FromText, ImplicitlyCopyable, Writable):
    """How several workers get their connections."""

    var number: UInt8
    """The case."""

    comptime PER_WORKER = ListenerMode(0)
    """Each worker has a socket of its own (`SO_REUSEPORT`), and the kernel
    spreads connections over them by their addresses. No worker touches
    another's queue; a busy worker's connections wait for it. On macOS, whose
    kernel does not spread, this is the same as `SHARED`."""
    comptime SHARED = ListenerMode(1)
    """All workers accept from one socket, so a busy one takes fewer: for
    requests of very uneven cost."""

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads a case, for settings.

        Args:
            text: `per_worker` or `shared`.

        Raises:
            TextError: If it is none of them.
        """
        if text == "per_worker":
            return Self.PER_WORKER
        if text == "shared":
            return Self.SHARED
        raise TextError("is neither per_worker nor shared")

    def write_to(self, mut writer: Some[Writer]):
        """Writes the case as `from_text` reads it."""
        writer.write_string("shared" if self == Self.SHARED else "per_worker")


comptime _HEAD_LEN_MAX = 65_000
# Offsets in a `FieldLine` have 16 bits; a request line has some octets beside
# its target.


@fieldwise_init
struct ConfigError(Copyable, Movable, Writable):
    """A configuration contradicts itself or goes beyond what is possible."""

    var reason: String
    """The fields, what they hold, and what is allowed."""

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string("ServerConfig: ")
        writer.write_string(self.reason)


struct ServerConfig(Copyable, SettingsDefaults, SettingsGroup):
    """Limits and times of a server. All are on by default, but for how many
    requests a connection may carry and how old it may get.

    Times are totals for their phase: a client that sends an octet now and then
    does not gain more. Every field may be given by name:
    `ServerConfig(max_body_size=64 * 1024)`. From outside they are set where the
    program says so: by `from_env`, by `from_args`, or as a part of
    `ServerSettings`.
    """

    comptime IS_FLAT = True
    """Within another struct of settings its fields are called the same."""
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
    received adds a second to `body_timeout_ms`. Default 16 KiB; 0 adds none.
    Both hold up to the head of the response: content that goes on after it has
    the times of that."""
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
    stream, has `write_timeout_ms`. Over HTTP/2 it also prolongs the four times
    `write_timeout_ms` that a client may keep content of all streams waiting.
    """
    var max_connection_age_ms: Int
    """How old a connection may get, less a random part of up to a fifth, so
    that not all end at once: the next response says `Connection: close`, and
    one that idles then is closed. Neither a response under way nor a WebSocket
    is cut. Behind a load balancer it lets new servers get their share. Default
    0: any age."""
    var handler_threads: Int
    """Threads of each worker that run handlers which may block, or read content
    while it arrives; see `RequestPolicy`. Default `AUTOMATIC_THREADS`: a route whose
    handler has held the worker's own thread for 2 ms runs on such threads until
    it has been quick for long, as do handlers that are `Streamed`; there are as
    many threads as that takes, up to 256. A number: so many, and all handlers
    run there unless their policy says `blocks=False`. 0: none, and handlers that
    are `Streamed` are refused when the server starts."""
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
    var http2: Bool
    """True to speak HTTP/2 with clients that do: by ALPN over TLS, with prior
    knowledge without. Default True."""
    var http2_limits: Http2Config
    """What a client may ask for over HTTP/2."""

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
        handler_threads: Int = AUTOMATIC_THREADS,
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
        http2: Bool = True,
        http2_limits: Http2Config = Http2Config(),
    ):
        """Makes a configuration; what is not named has its default."""
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
        self.http2 = http2
        self.http2_limits = http2_limits

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def from_env(
        prefix: StringSpan, var base: Self = Self()
    ) raises SettingsError -> Self:
        """Reads and checks fields from the environment, such as
        `APP_MAX_BODY_SIZE` for `max_body_size` if `APP_` is the prefix; see
        `read_env`.

        Args:
            prefix: What names of the variables begin with; one that begins so
                and names no field is refused.
            base: What holds for the other fields.

        Raises:
            SettingsError: All that is unknown or bad, and what contradicts
                itself.
        """
        return read_env(prefix, base^)

    @staticmethod
    def from_args(var base: Self = Self()) raises SettingsError -> Self:
        """Reads and checks fields from the arguments of the program, such as
        `--max-body-size=1048576`; `--help` lists them and ends the program. See
        `read_args`; the rest is as for `from_env`.

        Args:
            base: What holds for the other fields, such as what `from_env` has
                read.
        """
        return read_args(base^)

    @staticmethod
    def defaults() -> Self:
        """Gives the defaults, those of `ServerConfig()`, for `read_settings`
        and its like."""
        return Self()

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Gives a line that says what a field means, for `--help`; empty for a
        name that is none."""
        return about_field(name)

    def head_limits(self) -> HeadLimits:
        """Gives the bounds of a request head, which the parser keeps."""
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
        _check_range(
            "handler_threads", self.handler_threads, AUTOMATIC_THREADS, 4_096
        )
        _check_range("handler_queue", self.handler_queue, 1, 1 << 20)
        if self.max_header_size + self.max_target_size > _HEAD_LEN_MAX:
            raise ConfigError(
                Text()
                .add("max_header_size (")
                .add(self.max_header_size)
                .add(") and max_target_size (")
                .add(self.max_target_size)
                .add(") must not be over ")
                .add(_HEAD_LEN_MAX)
                .add(" bytes together; lower one of them")
                .end()
            )
        _check_range(
            "max_buffered_bodies_size",
            self.max_buffered_bodies_size,
            1,
            1 << 50,
        )
        if self.max_buffered_bodies_size < self.max_body_size:
            raise ConfigError(
                Text()
                .add("max_buffered_bodies_size (")
                .add(self.max_buffered_bodies_size)
                .add(") must not be less than max_body_size (")
                .add(self.max_body_size)
                .add("); raise the first or lower the second")
                .end()
            )
        if self.max_body_size < self.max_header_size:
            raise ConfigError(
                Text()
                .add("max_body_size (")
                .add(self.max_body_size)
                .add(") must not be less than max_header_size (")
                .add(self.max_header_size)
                .add("); raise the first or lower the second")
                .end()
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
        var problem = self.http2_limits.problem()
        if problem.byte_length() > 0:
            raise ConfigError(problem^)

    def problem(self) -> String:
        """Gives the text of what `check` refuses, for a build to fail with;
        nothing if the fields make sense."""
        try:
            self.check()
        except error:
            return String(error)
        return ""


def _check_range(
    name: StaticString, value: Int, least: Int, most: Int
) raises ConfigError:
    var problem = range_problem(name, value, least, most)
    if problem.byte_length() > 0:
        raise ConfigError(problem^)


def _check_time(name: StaticString, value: Int) raises ConfigError:
    # A day: whatever waits longer is stuck.
    _check_range(name, value, 1, 86_400_000)


comptime RESERVE_COUNT_MAX = 4_096
"""Most descriptors that are kept from connections.

A quarter of the limit is: what files and upstreams take grows with the
connections, one each at most, and only while they answer.
"""


struct DescriptorBudget(ImplicitlyCopyable):
    """Bounds for the numbers of accepted sockets.

    The system gives the lowest number that is free, so a socket's own number
    tells how full the process is, whoever fills it.
    """

    var refused_from: Int
    """A socket with this number or a higher one is answered 503."""
    var dropped_from: Int
    """A socket with this number or a higher one is closed at once: answers,
    too, must not eat up the reserve."""

    def __init__(out self, limit: Int):
        var reserve = min(limit // 4, RESERVE_COUNT_MAX)
        self.refused_from = limit - reserve
        self.dropped_from = self.refused_from + reserve // 4

    @staticmethod
    def of_process() -> Self:
        """Divides the descriptors that this process may have now; none is
        missing if the system does not tell the limit."""
        try:
            return Self(descriptor_limit())
        except error:
            log_line(
                Text()
                .add(error)
                .add("; no descriptors are kept in reserve")
                .end()
            )
            return Self(Int(Int32.MAX))


def prepare_descriptors(
    config: ServerConfig, listener: Int32, workers_of_process: Int
) -> DescriptorBudget:
    """Raises the limit of descriptors as far as the process may, and says so if
    it is too low for its workers and the configured connections all the same.
    Returns what connections may take."""
    try:
        raise_descriptor_limit()
    except error:
        log_line(Text().add(error).add("; the limit stays as it is").end())
    var budget = DescriptorBudget.of_process()
    # The lowest that is free: as many are in use, or a few more.
    var used = Int(duplicate_from(listener, 0).fd())
    var possible = max(0, budget.refused_from - max(used, 0))
    var is_short = possible < config.max_connections * workers_of_process
    if is_short and config.logs_errors:
        var line = Text().add(
            "the limit of descriptors (RLIMIT_NOFILE) leaves "
        )
        line = line^.add(possible).add(" for connections of a process, and ")
        line = line^.add("max_connections is ").add(config.max_connections)
        if workers_of_process > 1:
            line = line^.add(" for each of ").add(workers_of_process).add(
                " workers"
            )
        line = line^.add(
            "; those beyond are answered 503. Raise the hard limit, or"
        )
        line = line^.add(" lower max_connections")
        log_line(line^.end())
    return budget


comptime HTTP_1_1_PROTOCOL = "http/1.1"
"""What HTTP/1.1 is called in the handshake (RFC 7301 section 6)."""


struct ServerContext(Copyable, Movable):
    """Limits and times of a server, and TLS if it is spoken.

    Every worker has a copy; the certificates are shared by all of them.
    """

    var config: ServerConfig
    var tls: Optional[ServerTls]
    """What TLS is spoken with; nothing for plain HTTP."""
    var descriptors: DescriptorBudget
    var ready: ReadySwitch
    """Turned off when the server begins to stop."""

    def __init__(out self, var config: ServerConfig) raises ConfigError:
        """Makes the context of plain HTTP. Raises if the configuration
        contradicts itself."""
        config.check()
        self.config = config^
        self.tls = None
        self.descriptors = DescriptorBudget.of_process()
        self.ready = ReadySwitch()

    @no_inline
    def __deinit__(deinit self):
        return

    def speak_tls(mut self, var config: TlsServerConfig) raises:
        """Chooses HTTP over TLS; reads the files that are named. An empty
        `alpn` becomes "h2" and "http/1.1", or the latter alone if HTTP/2 is
        off.

        A program that never calls this holds nothing of what speaks TLS. Raises
        if it cannot work, or OpenSSL is missing; the text says why.
        """
        _check_time("handshake_timeout_ms", config.handshake_timeout_ms)
        if len(config.alpn) == 0:
            if self.config.http2:
                config.alpn.append(HTTP_2_PROTOCOL)
            config.alpn.append(HTTP_1_1_PROTOCOL)
        for protocol in config.alpn:
            var is_known = protocol == HTTP_1_1_PROTOCOL or (
                protocol == HTTP_2_PROTOCOL and self.config.http2
            )
            if not is_known:
                raise Error(
                    Text()
                    .add("alpn names the protocol '")
                    .add(protocol)
                    .add("'; this server speaks ")
                    .add("h2 and " if self.config.http2 else "")
                    .add("http/1.1, so leave alpn empty")
                    .end()
                )
        self.tls = ServerTls(TlsServerContext(config^))
