"""The protocols by which a call goes over HTTP, each as one value: how a request is
recognised, how its messages are framed, and which fields say what."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.compare import same_octets, same_words
from flare.grpc.core.codec import MessageCodec
from flare.grpc.core.coding import ACCEPT_ENCODING_FIELD, ENCODING_FIELD
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.timeout import (
    TIMEOUT_FIELD,
    format_milliseconds,
    format_timeout,
    parse_milliseconds,
    parse_timeout,
)
from std.builtin.globals import global_constant


@fieldwise_init
struct ProtocolFamily(Equatable, TrivialRegisterPassable):
    """What several content types have in common."""

    var code: UInt8
    """The row of the table of families."""

    comptime GRPC = ProtocolFamily(0)
    """That of gRPC over HTTP/2 (PROTOCOL-HTTP2.md): the status is in trailers."""
    comptime WEB = ProtocolFamily(1)
    """That of gRPC-Web (PROTOCOL-WEB.md): the trailers are a last frame of the
    content."""
    comptime WEB_TEXT = ProtocolFamily(2)
    """The same in base64."""
    comptime CONNECT_STREAM = ProtocolFamily(3)
    """Connect where a side is a stream: a last frame of JSON says how it ended.
    """
    comptime CONNECT_UNARY = ProtocolFamily(4)
    """Connect with a request and a reply: the content is the message, and the
    status that of HTTP."""


@fieldwise_init
struct _Family(TrivialRegisterPassable):
    var name: StaticString
    var timeout_field: StaticString
    var encoding_field: StaticString
    var accept_field: StaticString
    # The flag of the frame that ends a stream; 0 if there is none.
    var end_flag: UInt8


comptime _CONNECT_TIMEOUT = StaticString("connect-timeout-ms")

comptime _FAMILIES: Array[_Family, 5] = [
    _Family("gRPC", TIMEOUT_FIELD, ENCODING_FIELD, ACCEPT_ENCODING_FIELD, 0),
    _Family(
        "gRPC-Web", TIMEOUT_FIELD, ENCODING_FIELD, ACCEPT_ENCODING_FIELD, 0x80
    ),
    _Family(
        "gRPC-Web", TIMEOUT_FIELD, ENCODING_FIELD, ACCEPT_ENCODING_FIELD, 0x80
    ),
    _Family(
        "Connect",
        _CONNECT_TIMEOUT,
        "connect-content-encoding",
        "connect-accept-encoding",
        0x02,
    ),
    _Family(
        "Connect", _CONNECT_TIMEOUT, "content-encoding", "accept-encoding", 0
    ),
]


@fieldwise_init
struct _Type(TrivialRegisterPassable):
    var content_type: StaticString
    var family: ProtocolFamily
    var codec: MessageCodec


comptime _TYPE_COUNT = 13
comptime _TYPES: Array[_Type, _TYPE_COUNT] = [
    _Type("application/grpc", ProtocolFamily.GRPC, MessageCodec.PROTO),
    _Type("application/grpc+proto", ProtocolFamily.GRPC, MessageCodec.PROTO),
    _Type("application/grpc+json", ProtocolFamily.GRPC, MessageCodec.JSON),
    _Type("application/grpc-web", ProtocolFamily.WEB, MessageCodec.PROTO),
    _Type("application/grpc-web+proto", ProtocolFamily.WEB, MessageCodec.PROTO),
    _Type("application/grpc-web+json", ProtocolFamily.WEB, MessageCodec.JSON),
    _Type(
        "application/grpc-web-text",
        ProtocolFamily.WEB_TEXT,
        MessageCodec.PROTO,
    ),
    _Type(
        "application/grpc-web-text+proto",
        ProtocolFamily.WEB_TEXT,
        MessageCodec.PROTO,
    ),
    _Type(
        "application/grpc-web-text+json",
        ProtocolFamily.WEB_TEXT,
        MessageCodec.JSON,
    ),
    _Type(
        "application/connect+proto",
        ProtocolFamily.CONNECT_STREAM,
        MessageCodec.PROTO,
    ),
    _Type(
        "application/connect+json",
        ProtocolFamily.CONNECT_STREAM,
        MessageCodec.JSON,
    ),
    _Type(
        "application/proto", ProtocolFamily.CONNECT_UNARY, MessageCodec.PROTO
    ),
    _Type("application/json", ProtocolFamily.CONNECT_UNARY, MessageCodec.JSON),
]


@fieldwise_init
struct CallProtocol(Equatable, TrivialRegisterPassable):
    """How one call goes over HTTP: a row of the table of content types."""

    var row: UInt8
    """Which row."""

    comptime GRPC = CallProtocol(0)
    """What a call has that nobody says anything of."""
    comptime GRPC_WEB = CallProtocol(4)
    """That of browsers, gRPC-Web, with messages as octets."""
    comptime CONNECT = CallProtocol(11)
    """Connect, with messages as octets; `for_kind` gives its form for streams."""
    comptime CONNECT_JSON = CallProtocol(12)
    """The same with messages as JSON."""

    @staticmethod
    @always_inline
    def is_plain_grpc(value: Span[UInt8, _]) -> Bool:
        """Tells whether a Content-Type is that of gRPC in the form that most
        clients send: `application/grpc`, in small letters and with nothing
        behind it; of others `of_content_type` tells more.

        Args:
            value: The Content-Type.
        """
        comptime TYPE = StaticString("application/grpc")
        return len(value) == TYPE.byte_length() and same_words(
            value, TYPE.as_bytes()
        )

    @staticmethod
    def of_content_type(value: Span[UInt8, _]) -> Optional[Self]:
        """Finds the protocol of a request; nothing if it is none of a call.

        Args:
            value: Its Content-Type; parameters are not looked at.
        """
        ref types = global_constant[_TYPES]()
        # Most say no more than the type, and that of gRPC comes first.
        for row in range(_TYPE_COUNT):
            if same_octets(value, types.at(row).content_type.as_bytes()):
                return Self(UInt8(row))
        var end = find_octet(value, 59)
        var type = trim_whitespace(value.before(end).as_imm())
        for row in range(_TYPE_COUNT):
            if equals_ignore_case(type, types.at(row).content_type.as_bytes()):
                return Self(UInt8(row))
        return None

    @staticmethod
    def of_query(codec: Span[UInt8, _]) -> Optional[Self]:
        """Finds the protocol of a request without content, which names its
        codec in the query: Connect with one reply; nothing if the codec is not
        known.

        Args:
            codec: `proto` or `json`.
        """
        var name = StringSpan(unsafe_from_utf8=codec)
        for protocol in [Self.CONNECT, Self.CONNECT_JSON]:
            if name == protocol.codec().name():
                return protocol
        return None

    def for_kind(self, kind: GrpcKind) -> Self:
        """Gives the form in which a method is called: of Connect that with or
        without a stream, with the same codec; of the others the same.

        Args:
            kind: Which of the method's sides are streams.
        """
        if self.takes(kind):
            return self
        ref types = global_constant[_TYPES]()
        for row in range(_TYPE_COUNT):
            var other = Self(UInt8(row))
            if (
                other.is_connect()
                and types.at(row).codec == self.codec()
                and other.takes(kind)
            ):
                return other
        return self

    def content_type(self) -> StaticString:
        """Gives the content type of requests and of replies, such as
        `application/grpc-web+proto`, without parameters."""
        return global_constant[_TYPES]().at(Int(self.row)).content_type

    def family(self) -> ProtocolFamily:
        """Tells what it has in common with others."""
        return global_constant[_TYPES]().at(Int(self.row)).family

    def codec(self) -> MessageCodec:
        """Tells how messages are written: as octets or JSON."""
        return global_constant[_TYPES]().at(Int(self.row)).codec

    def name(self) -> StaticString:
        """Names the protocol, for people: `gRPC`, `gRPC-Web` or `Connect`."""
        return self._row().name

    def is_connect(self) -> Bool:
        """Tells whether it is one of the two forms of Connect, neither gRPC nor
        gRPC-Web."""
        return self.family().code >= ProtocolFamily.CONNECT_STREAM.code

    def is_framed(self) -> Bool:
        """Tells whether messages have prefixes; else the content is one
        message."""
        return self.family() != ProtocolFamily.CONNECT_UNARY

    def has_trailers(self) -> Bool:
        """Tells whether the status is in the trailers of HTTP: that of gRPC,
        which needs HTTP/2 for that."""
        return self.family() == ProtocolFamily.GRPC

    def is_text(self) -> Bool:
        """Tells whether all content is in base64, as that of
        `application/grpc-web-text`."""
        return self.family() == ProtocolFamily.WEB_TEXT

    def end_flag(self) -> UInt8:
        """Gives the flag of the frame that ends a response, the first octet of
        its prefix; 0 if no frame does."""
        return self._row().end_flag

    def timeout_field(self) -> StaticString:
        """Names the field of the caller's deadline, in lower case."""
        return self._row().timeout_field

    def encoding_field(self) -> StaticString:
        """Names the field that says how a side's messages are compressed, in
        lower case."""
        return self._row().encoding_field

    def accept_field(self) -> StaticString:
        """Names the field that says which codings a side reads, in lower case."""
        return self._row().accept_field

    def _row(self) -> _Family:
        return global_constant[_FAMILIES]().at(Int(self.family().code))

    def parse_timeout(self, value: Span[UInt8, _]) -> Optional[Int]:
        """Reads the caller's deadline in nanoseconds; nothing if it is written
        otherwise.

        Args:
            value: What `timeout_field` says.
        """
        if self.is_connect():
            return parse_milliseconds(value)
        return parse_timeout(value)

    def format_timeout(self, timeout_ns: Int) -> String:
        """Gives the caller's deadline as `timeout_field` says it.

        Args:
            timeout_ns: Nanoseconds, which are rounded up.
        """
        if self.is_connect():
            return format_milliseconds(timeout_ns)
        return format_timeout(timeout_ns)

    def timeout_rule(self) -> StaticString:
        """Gives a sentence on how a deadline is written, for who has written it
        otherwise; it begins with the name of the field."""
        if self.is_connect():
            return "connect-timeout-ms: write up to 10 digits, milliseconds"
        return "grpc-timeout: write up to 8 digits and one of H, M, S, m, u, n"

    def takes(self, kind: GrpcKind) -> Bool:
        """Tells whether a method can be called so: not by a form of Connect
        that is not that of the kind."""
        if not self.is_connect():
            return True
        return (kind == GrpcKind.UNARY) != self.is_framed()


def accepted_types(kind: GrpcKind) -> String:
    """Lists the content types by which a method can be called, for
    `Accept-Post`."""
    var list = String()
    for row in range(_TYPE_COUNT):
        var protocol = CallProtocol(UInt8(row))
        if not protocol.takes(kind):
            continue
        if list.byte_length() > 0:
            list += ", "
        list += protocol.content_type()
    return list^
