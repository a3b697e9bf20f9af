"""What all calls of a channel have in common."""

from flare.bytes.checked import *
from flare.grpc.client.address_turns import AddressTurns
from flare.grpc.client.call_options import AnyCredentials
from flare.grpc.client.retries import RetryThrottle
from flare.grpc.client.service_config import GrpcServiceConfig
from flare.grpc.core.message_reader import MESSAGE_LEN_MAX_DEFAULT
from flare.grpc.core.message_writer import WRITTEN_LEN_MAX
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.client.message.config import ClientConfig
from flare.http.client.shared_client import SharedClient
from flare.http.client.connect.shared_pool import ConnectionLimits
from flare.http.message.header_map import HeaderMap
from flare.protobuf.json_settings import ProtobufJson
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.mutex import Mutex
from flare.tls.config import TlsConfig
from flare.url.url import Url
from std.memory import ArcPointer

comptime USER_AGENT = StaticString("grpc-mojo-flare")
"""What the client calls itself (PROTOCOL-HTTP2.md of gRPC, "User Agents")."""

comptime CONNECT_USER_AGENT = StaticString("connect-mojo-flare")
"""The same in calls of Connect."""

comptime REPLAY_LEN_MAX = 262_144
"""Most octets of a call that are kept for another attempt."""

comptime ADDRESS_COUNT_MAX = 1_024
"""Most addresses of a channel."""


struct GrpcChannelConfig(Copyable, Movable):
    """Times in milliseconds, limits and habits of a channel."""

    var protocol: CallProtocol
    """How calls go over HTTP: `CallProtocol.GRPC`, `GRPC_WEB`, `CONNECT` or
    `CONNECT_JSON`; others with JSON by `CallProtocol.of_content_type`. Not
    those in base64. Default `CallProtocol.GRPC`."""
    var http2: Bool
    """True to speak HTTP/2: without TLS from the first octet, with TLS if the
    server chooses it; gRPC has nothing else. False for HTTP/1.1, over which a
    call has a connection for itself, and many servers answer a stream both ways
    only when all of it was sent. Default True."""
    var uses_get: Bool
    """True to call methods that only read by GET, if the protocol is Connect
    and the URL has no more than 8,000 octets, so that caches may answer. Which
    do so the caller says (`is_safe`), as code of `flare proto` does. Default
    False."""
    var json: ProtobufJson
    """What is chosen about messages in JSON. Members that are not known are left
    out unless this says otherwise; types that an `Any` may hold are to be
    added."""
    var tls: TlsConfig
    """Whom to trust, and what to show to servers, for `https` addresses."""
    var timeout_ms: Int
    """How long a call with one message each way may take, unless the call or
    the service config says otherwise, in milliseconds; -1 for ever. Calls that
    stream have no such time. Default 60 s."""
    var idle_timeout_ms: Int
    """Longest silence of a server on a call, in milliseconds: none of its
    messages comes, or none of ours goes. -1 for ever. Default 5 min."""
    var connect_timeout_ms: Int
    """Time to connect, TLS included. Default 10 s."""
    var keepalive_ms: Int
    """After how much silence PING asks whether the server is there; -1 for
    never. Many servers end connections with more than one such question in five
    minutes. Default -1."""
    var max_send_len: Int
    """Longest message that is sent, in bytes. Default 4,294,967,295, all that a
    prefix can say."""
    var max_receive_len: Int
    """Longest message that is read, in bytes, as sent and decompressed. Default
    4 MiB."""
    var service: GrpcServiceConfig
    """How methods are called."""
    var credentials: Optional[AnyCredentials]
    """Says who calls. Sent over TLS alone. Default nobody."""
    var limits: ConnectionLimits
    """How many connections there may be: more than one to a server if it allows
    no more calls at once on the first."""
    var user_agent: String
    """Stands before what the client calls itself."""

    def __init__(out self):
        """Makes the default configuration."""
        self.protocol = CallProtocol.GRPC
        self.http2 = True
        self.uses_get = False
        self.json = ProtobufJson()
        # A server may know more than this program, as with octets.
        self.json.ignores_unknown = True
        self.tls = TlsConfig()
        self.timeout_ms = 60_000
        self.idle_timeout_ms = 300_000
        self.connect_timeout_ms = 10_000
        self.keepalive_ms = -1
        self.max_send_len = WRITTEN_LEN_MAX
        self.max_receive_len = MESSAGE_LEN_MAX_DEFAULT
        self.service = GrpcServiceConfig()
        self.credentials = None
        self.limits = ConnectionLimits()
        self.user_agent = String()


struct ChannelCore(Movable):
    """Addresses, connections and settings; threads share it."""

    var client: SharedClient
    var addresses: List[String]
    """URLs without a path, such as `http://127.0.0.1:50051`."""
    var config: GrpcChannelConfig
    var throttle: RetryThrottle
    var json: Optional[ArcPointer[ProtobufJson]]
    # Which address the next call begins with; nothing if there is one alone.
    var _turns: Optional[Mutex[AddressTurns]]

    def __init__(
        out self, addresses: List[String], var config: GrpcChannelConfig
    ) raises GrpcStatus:
        """Makes one without connections. Raises `INVALID_ARGUMENT` if an
        address is none, or the configuration cannot work."""
        if len(addresses) == 0 or len(addresses) > ADDRESS_COUNT_MAX:
            raise _wrong(
                String("a channel has 1 to ", ADDRESS_COUNT_MAX, " addresses")
            )
        self.addresses = []
        for index in range(len(addresses)):
            self.addresses.append(_read_address(addresses.at(index)))
        if config.timeout_ms < -1 or config.timeout_ms == 0:
            raise _wrong("timeout_ms must be 1 or more, or -1 for ever")
        if config.max_send_len < 0 or config.max_receive_len < 0:
            raise _wrong("the lengths of messages must be 0 or more")
        if config.protocol.is_text():
            raise _wrong(
                "messages in base64 are for browsers; write"
                " CallProtocol.GRPC_WEB"
            )
        if config.protocol.has_trailers() and not config.http2:
            raise _wrong(
                "gRPC needs HTTP/2; leave http2, or take CallProtocol.GRPC_WEB"
                " or CONNECT"
            )
        if config.keepalive_ms == 0:
            raise _wrong("keepalive_ms must be 1 or more, or -1 for never")
        for index in range(len(config.service.methods)):
            ref policy = config.service.methods.at(index).retries
            if policy and policy.held().problem().byte_length() > 0:
                raise _wrong(String("retryPolicy: ", policy.held().problem()))
        try:
            self.client = SharedClient(
                config=_http_config(config), limits=config.limits
            )
        except error:
            raise _wrong(String(error))
        self.throttle = RetryThrottle()
        if config.service.max_tokens > 0:
            try:
                self.throttle = RetryThrottle(
                    config.service.max_tokens, config.service.token_ratio
                )
            except error:
                raise GrpcStatus(GrpcCode.UNAVAILABLE, String(error))
        self.json = ArcPointer(config.json.copy())
        self.config = config^
        self._turns = None
        if len(self.addresses) == 1:
            return
        try:
            self._turns = Mutex(
                AddressTurns(
                    len(self.addresses),
                    spreads=self.config.service.spreads_calls,
                )
            )
        except error:
            raise GrpcStatus(GrpcCode.UNAVAILABLE, String(error))

    def first_address(self) -> Int:
        """Chooses the address that a call begins with: that which was reached
        last, unless each call goes to another one."""
        if not self._turns:
            return 0
        return self._turns.held().lock()[].first(coarse_monotonic_ms())

    def address_again(self, address: Int) -> Int:
        """Chooses the address of another attempt of a call that has failed at
        one which was reached: as each call does if they go to another one."""
        if not self.config.service.spreads_calls:
            return address
        return self.first_address()

    def note_reached(self, address: Int):
        """Notes which address has answered."""
        if self._turns:
            self._turns.held().lock()[].note_reached(
                address, coarse_monotonic_ms()
            )

    def note_missed(self, address: Int):
        """Notes to which address there was no connection."""
        if self._turns:
            self._turns.held().lock()[].note_missed(
                address, coarse_monotonic_ms()
            )


def _wrong(var reason: String) -> GrpcStatus:
    return GrpcStatus(GrpcCode.INVALID_ARGUMENT, String("channel: ", reason))


def _http_config(config: GrpcChannelConfig) -> ClientConfig:
    """Has the HTTP client do what a call needs, and nothing of itself."""
    var http = ClientConfig()
    http.tls = config.tls.copy()
    if config.protocol.has_trailers():
        http.tls.alpn = ["h2"]
    else:
        # As `http2` has it.
        http.tls.alpn = []
    http.http2 = config.http2
    http.http2_prior_knowledge = config.http2
    http.http2_ping_after_ms = config.keepalive_ms
    http.connect_timeout_ms = config.connect_timeout_ms
    http.read_timeout_ms = config.idle_timeout_ms
    http.write_timeout_ms = config.idle_timeout_ms
    http.total_timeout_ms = -1
    http.max_redirects = 0
    http.decodes_content = False
    http.headers = HeaderMap()
    return http^


def _read_address(text: StringSpan) raises GrpcStatus -> String:
    """Reads a URL that has neither path nor query; a slash may end it."""
    var url: Url
    try:
        url = Url.parse(text)
    except error:
        raise _wrong(String("'", text, "' is no URL: ", error))
    var is_known = (
        String(url.protocol()) == "http:" or String(url.protocol()) == "https:"
    )
    if not is_known or String(url.request_target()) != "/":
        raise _wrong(
            String(
                "'",
                text,
                "' is no address; write http://host:port, or https://host:port",
            )
        )
    return String(url.protocol(), "//", url.host())
