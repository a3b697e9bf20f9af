"""Where a Redis server is, how to log in, and how long to wait."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.net.socket_addr import host_and_port
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.parser import ReplyLimits
from flare.redis.core.reply import read_integer
from flare.sys.backoff import Backoff
from flare.tls.config import TlsConfig
from flare.url.percent import percent_decode
from flare.url.url import Url

comptime REDIS_PORT = UInt16(6379)
comptime SENTINEL_PORT = UInt16(26379)
comptime _DATABASE_MAX = 65_535
# More than any server is built with.


struct RedisConfig(Copyable, Defaultable, Movable):
    """Address, login, times and limits of connections to a server.

    Every time is finite by default; -1 (`NO_TIMEOUT_MS`) waits for ever.

        var config = RedisConfig.from_url("rediss://user:secret@cache.example")
        config.timeout_ms = 500
        var redis = RedisClient(config^)
    """

    var host: String
    """Host name or address. Default 127.0.0.1."""
    var port: UInt16
    """Port. Default 6379."""
    var unix_path: String
    """Path of the server's Unix socket; wins over host and port if not empty.
    """
    var username: String
    """Name for AUTH (ACL, Redis 6); empty for the default user."""
    var password: String
    """Password for AUTH; empty for a user who needs none. Without name and
    password there is no AUTH."""
    var database: Int
    """Number of the database (SELECT). Default 0."""
    var client_name: String
    """What CLIENT LIST shows; none if empty."""
    var protocol: Int
    """3 to ask for RESP3 and fall back to RESP2; 2 never to ask. Default 3."""
    var is_tls: Bool
    """True to speak TLS. Default False."""
    var tls: TlsConfig
    """Whom to trust, and what to show to the server."""
    var connect_timeout_ms: Int
    """Time for one attempt to connect and log in. Default 5 s."""
    var timeout_ms: Int
    """Time for one command or pipeline, repetitions included. Default 5 s; a
    command that waits on purpose (BLPOP) has its own wait on top."""
    var retry_max: Int
    """How often a command is repeated that the server did not carry out, or
    that changes nothing. Default 3. A `RedisCluster` is held to the time alone:
    its nodes may take seconds to agree on who has a slot."""
    var backoff: Backoff
    """How long to wait before that. Default 50 ms, doubled up to 2 s."""
    var max_reply_size: Int
    """Longest reply in bytes; those of a pipeline count together. Default
    64 MiB."""
    var max_reply_elements: Int
    """Most replies within one, or within a pipeline. Default 1,048,576."""
    var sentinels: List[String]
    """Sentinels, as `host:port`, that are asked where the master is; then host
    and port above do not count. None by default."""
    var master_name: String
    """Name of the master that the sentinels watch."""
    var sentinel_username: String
    """Name for AUTH at the sentinels."""
    var sentinel_password: String
    """Password for AUTH at the sentinels; none if empty."""

    def __init__(out self):
        """Makes the default configuration."""
        self.host = String("127.0.0.1")
        self.port = REDIS_PORT
        self.unix_path = String()
        self.username = String()
        self.password = String()
        self.database = 0
        self.client_name = String()
        self.protocol = 3
        self.is_tls = False
        self.tls = TlsConfig()
        self.connect_timeout_ms = 5_000
        self.timeout_ms = 5_000
        self.retry_max = 3
        self.backoff = Backoff(50, 2_000)
        self.max_reply_size = ReplyLimits.DEFAULT.len_max
        self.max_reply_elements = ReplyLimits.DEFAULT.element_count_max
        self.sentinels = []
        self.master_name = String()
        self.sentinel_username = String()
        self.sentinel_password = String()

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def from_url(text: StringSpan) raises RedisError -> Self:
        """Reads a URL; what is not said is as by default.

        `redis://user:password@host:port/database`, the same over TLS with
        `rediss`, or `redis+unix://user:password@/path/of.sock?db=1`. The query
        takes `db`, `protocol`, `timeout_ms`, `connect_timeout_ms` and
        `client_name`.

        Args:
            text: The URL.

        Raises:
            RedisError: If it is no such URL (`BAD_ARGUMENT`). The password is
                not in the message.
        """
        var url = _parse(text)
        var config = Self()
        var scheme = String(url.scheme())
        var is_unix = scheme == "redis+unix" or scheme == "unix"
        if scheme == "rediss":
            config.is_tls = True
        elif scheme != "redis" and not is_unix:
            raise _bad(
                "the scheme of a Redis URL is redis, rediss or redis+unix"
            )
        config.username = _decoded(url.username())
        config.password = _decoded(url.password())
        var path = _decoded(url.path())
        if is_unix:
            if path.byte_length() < 2 or url.hostname().byte_length() > 0:
                raise _bad(
                    "a Redis URL of a Unix socket is redis+unix:///path, with"
                    " three slashes"
                )
            config.unix_path = path^
        else:
            config.host = _host(url)
            if url.port().byte_length() > 0:
                config.port = url.port_number()
            if path.byte_length() > 1:
                config.database = _number(
                    "database", StringSpan(path)[byte=1:], _DATABASE_MAX
                )
        config._read_query(url.query())
        return config^

    def _read_query(mut self, query: StringSpan) raises RedisError:
        if query.byte_length() == 0:
            return
        for pair in query.split("&"):
            var mark = pair.find("=")
            if mark < 0:
                raise _bad("a parameter of a Redis URL is name=value")
            var name = pair[byte=0:mark]
            var value = _decoded(pair[byte = mark + 1 :])
            if name == "db":
                self.database = _number("db", value, _DATABASE_MAX)
            elif name == "protocol":
                self.protocol = _number("protocol", value, 3)
            elif name == "timeout_ms":
                self.timeout_ms = _number("timeout_ms", value, Int.MAX)
            elif name == "connect_timeout_ms":
                self.connect_timeout_ms = _number(
                    "connect_timeout_ms", value, Int.MAX
                )
            elif name == "client_name":
                self.client_name = value
            else:
                raise _bad(
                    Text()
                    .add("a Redis URL has no parameter '")
                    .add_escaped(name.as_bytes())
                    .add("'; it takes db, protocol, timeout_ms,")
                    .add(" connect_timeout_ms and client_name")
                    .end()
                )

    def check(self) raises RedisError:
        """Looks for values that cannot work.

        Raises:
            RedisError: If there is one (`BAD_ARGUMENT`); it says which, and
                what is allowed.
        """
        if self.protocol != 2 and self.protocol != 3:
            raise _out_of_range("protocol", self.protocol, "2 or 3")
        if self.database < 0 or self.database > _DATABASE_MAX:
            raise _out_of_range("database", self.database, "0 to 65535")
        if self.retry_max < 0:
            raise _out_of_range("retry_max", self.retry_max, "0 or more")
        if self.backoff.first_ms < 0 or self.backoff.max_ms < 0:
            raise _out_of_range("backoff", self.backoff.first_ms, "0 or more")
        if self.max_reply_size < 64:
            raise _out_of_range(
                "max_reply_size", self.max_reply_size, "64 or more"
            )
        if self.max_reply_size >= 1 << 31:
            raise _out_of_range(
                "max_reply_size", self.max_reply_size, "less than 2 GiB"
            )
        var elements = self.max_reply_elements
        if elements < 1 or elements >= 1 << 28:
            raise _out_of_range(
                "max_reply_elements", elements, "1 to 268435455"
            )
        if len(self.sentinels) > 0 and self.master_name.byte_length() == 0:
            raise _bad("sentinels are given, so master_name must be, too")

    def server_name(self) -> String:
        """Names the server for errors: path, or host and port; no password."""
        if self.unix_path.byte_length() > 0:
            return self.unix_path
        return host_and_port(self.host, self.port)

    def limits(self) -> ReplyLimits:
        """Gives the bounds of replies for the parser."""
        var limits = ReplyLimits.DEFAULT
        limits.len_max = self.max_reply_size
        limits.element_count_max = self.max_reply_elements
        return limits


def _parse(text: StringSpan) raises RedisError -> Url:
    try:
        return Url.parse(text)
    except:
        # The parser's message would show the password.
        raise _bad("this is no URL; a Redis URL is redis://host:port/database")


def _host(url: Url) raises RedisError -> String:
    """Gives the host without the brackets of IPv6; none is this machine."""
    var octets = url.hostname().as_bytes()
    var end = len(octets)
    if end == 0:
        return String("127.0.0.1")
    if octets.at(0) == 0x5B and octets.at(end - 1) == 0x5D:
        return String(StringSpan(unsafe_from_utf8=octets.between(1, end - 1)))
    return _decoded(url.hostname())


def _decoded(text: StringSpan) raises RedisError -> String:
    try:
        return percent_decode(text.as_bytes())
    except:
        raise _bad(
            "a part of the Redis URL has a percent sign without two hex digits,"
            " or is no UTF-8"
        )


def _number(
    name: StaticString, text: StringSpan, limit: Int
) raises RedisError -> Int:
    var number = -1
    if not read_integer(text.as_bytes(), number) or number < 0:
        number = -1
    if number < 0 or number > limit:
        raise _bad(
            Text()
            .add("the ")
            .add(StringSpan(name))
            .add(" of the Redis URL is no number from 0 to ")
            .add(limit)
            .end()
        )
    return number


def _bad(var message: String) -> RedisError:
    return RedisError(RedisErrorKind.BAD_ARGUMENT, message^)


@no_inline
def _out_of_range(
    name: StaticString, value: Int, allowed: StaticString
) -> RedisError:
    return _bad(
        Text()
        .add("RedisConfig.")
        .add(StringSpan(name))
        .add(" is ")
        .add(value)
        .add("; allowed is ")
        .add(StringSpan(allowed))
        .end()
    )
