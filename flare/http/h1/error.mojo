"""The errors of HTTP/1.1: a peer that breaks its rules, and a request of ours that would."""

from flare.bytes.ascii import write_escaped
from flare.bytes.lines import line_at


@fieldwise_init
struct Rule(Equatable, ImplicitlyCopyable):
    """A rule for what a peer may send.

    Rules for clients come with the status that answers a breach, those for
    servers with the status of a gateway that hits on one.
    """

    var number: UInt8
    var status: Int

    comptime EMPTY_LINES = Rule(1, 400)
    """Few empty lines before a request line (RFC 9112 section 2.2)."""
    comptime METHOD = Rule(2, 400)
    """A method is a token and one space follows (RFC 9112 section 3.1)."""
    comptime TARGET = Rule(3, 400)
    """A target has one of four forms (RFC 9112 section 3.2)."""
    comptime TARGET_LEN = Rule(4, 414)
    """A target keeps to the server's limit (RFC 9110 section 15.5.15)."""
    comptime VERSION_SYNTAX = Rule(5, 400)
    """A version is HTTP/digit.digit (RFC 9112 section 2.3)."""
    comptime VERSION_MAJOR = Rule(6, 505)
    """The major version is 1 (RFC 9110 section 15.6.6)."""
    comptime LINE_END = Rule(7, 400)
    """A line ends with CRLF, and neither CR nor LF stands alone (RFC 9112
    section 2.2)."""
    comptime CONTROL = Rule(8, 400)
    """A field line holds no control octet but HTAB (RFC 9110 section 5.5)."""
    comptime FIELD_NAME = Rule(9, 400)
    """A field name is a token directly before its colon (RFC 9112 section 5.1)."""
    comptime OBS_FOLD = Rule(10, 400)
    """A field line does not begin with whitespace (RFC 9112 section 5.2)."""
    comptime FIELD_COUNT = Rule(11, 431)
    """There are not more field lines than the server's limit."""
    comptime HEADER_LEN = Rule(12, 431)
    """A header section keeps to the server's limit (RFC 6585 section 5)."""
    comptime HOST_MISSING = Rule(13, 400)
    """An HTTP/1.1 request has Host (RFC 9112 section 3.2)."""
    comptime HOST_REPEATED = Rule(14, 400)
    """There is one Host at most (RFC 9112 section 3.2)."""
    comptime HOST_VALUE = Rule(15, 400)
    """Host is a host with an optional port (RFC 9110 sections 4.2.1 and 7.2)."""
    comptime LENGTH_VALUE = Rule(16, 400)
    """A Content-Length is decimal digits (RFC 9110 section 8.6)."""
    comptime LENGTH_REPEATED = Rule(17, 400)
    """There is one Content-Length at most (RFC 9112 section 6.3)."""
    comptime LENGTH_AND_CODING = Rule(18, 400)
    """Content-Length does not stand beside Transfer-Encoding (RFC 9112
    section 6.1)."""
    comptime CODING_UNKNOWN = Rule(19, 501)
    """Chunked is the one transfer coding here (RFC 9112 section 6.1)."""
    comptime CODING_NOT_FINAL = Rule(20, 400)
    """Chunked is the final coding, once (RFC 9112 section 6.3)."""
    comptime CODING_VERSION = Rule(21, 400)
    """HTTP/1.0 has no transfer codings (RFC 9112 section 6.1)."""
    comptime EXPECTATION = Rule(22, 417)
    """The one expectation is 100-continue (RFC 9110 section 10.1.1)."""
    comptime CHUNK_SIZE = Rule(23, 400)
    """A chunk-size is one to 15 hex digits (RFC 9112 section 7.1)."""
    comptime CHUNK_EXTENSION = Rule(24, 400)
    """Chunk extensions are `;name` or `;name=value`, and short (RFC 9112
    section 7.1.1)."""
    comptime CHUNK_END = Rule(25, 400)
    """CRLF follows a chunk's data (RFC 9112 section 7.1)."""
    comptime BODY_LEN = Rule(26, 413)
    """Content keeps to the server's or the route's limit (RFC 9110 section
    15.5.14)."""
    comptime METHOD_LEN = Rule(27, 501)
    """A method's name is not absurdly long."""
    comptime STATUS_LINE = Rule(28, 502)
    """A status line is version, space, three digits, and a reason after a
    space (RFC 9112 section 4)."""
    comptime STATUS_CODE = Rule(29, 502)
    """A status code is at least 100 (RFC 9110 section 15)."""
    comptime REASON_LEN = Rule(30, 502)
    """A reason phrase keeps to the client's limit."""
    comptime INTERIM_COUNT = Rule(31, 502)
    """Few interim responses precede the final one (RFC 9110 section 15.2)."""
    comptime SWITCHING = Rule(32, 502)
    """101 answers a request to switch protocols (RFC 9110 section 15.2.2)."""
    comptime NO_RESPONSE = Rule(33, 502)
    """A server answers before it closes the connection."""
    comptime TRUNCATED_HEAD = Rule(34, 502)
    """A response head is complete before the connection closes (RFC 9112
    section 8)."""
    comptime TRUNCATED_CONTENT = Rule(35, 502)
    """The content is complete before the connection closes (RFC 9112
    section 8)."""
    comptime UNSOLICITED = Rule(36, 502)
    """A server sends nothing before it is asked (RFC 9112 section 9.2)."""
    comptime TUNNEL = Rule(37, 501)
    """A server that is no proxy makes no tunnels (RFC 9110 section 9.3.6)."""

    def text(self) -> StaticString:
        """Says what the rule demands, for the response and the log: one
        sentence with the section that it comes from."""
        return line_at(_TEXTS, Int(self.number) - 1)


# A line for each rule by its number, and one for what is none.
comptime _TEXTS = StaticString(
    "too many empty lines before the request line\n"
    "the method must be a token, followed by one space\n"
    "the request target has none of the forms of RFC 9112\n"
    "the request target is longer than is allowed here\n"
    "the version must be written as HTTP/1.1\n"
    "the version must be HTTP/1.1 or HTTP/1.0\n"
    "a line must end with CRLF\n"
    "a field line must not hold control octets\n"
    "a field name must be a token directly before its colon\n"
    "a field line must not begin with whitespace\n"
    "there are more field lines than are allowed here\n"
    "the header section is larger than is allowed here\n"
    "an HTTP/1.1 request must have a Host field\n"
    "a request must not have more than one Host field\n"
    "Host must be a host with an optional port\n"
    "Content-Length must be decimal digits, 18 at most\n"
    "Content-Length must not be repeated\n"
    "Content-Length must not stand with Transfer-Encoding\n"
    "the only transfer coding here is chunked\n"
    "chunked must be the final transfer coding, once\n"
    "HTTP/1.0 messages must not have Transfer-Encoding\n"
    "the only expectation here is 100-continue\n"
    "a chunk-size must be one to 15 hex digits\n"
    "chunk extensions must be ;name or ;name=value, and short, up to CRLF\n"
    "CRLF must follow a chunk's data\n"
    "the content is larger than is allowed here\n"
    "the method is longer than any that is registered\n"
    "a status line must be as HTTP/1.1 200 OK\n"
    "a status code must be at least 100\n"
    "the reason phrase is longer than is allowed here\n"
    "there are more interim (1xx) responses than are allowed\n"
    "101 must not be sent unless the request asks for it\n"
    "the server closed the connection without a response\n"
    "the server closed the connection within a response head\n"
    "the server closed the connection within the content\n"
    "the server sent octets before it was asked for any\n"
    "there are no tunnels here: CONNECT is for proxies\n"
    "a rule was broken"
)


comptime NOWHERE = -1
"""The offset of what is wrong as a whole, such as one response too many."""


@fieldwise_init
struct RemoteProtocolError(Copyable, Movable, Writable):
    """The peer broke a rule; its connection ends with this answer."""

    var rule: Rule
    var offset: Int
    """Where, in bytes from the start of the message, or of the trailer
    section, or, for a chunk, from the start of the chunked body; `NOWHERE` if
    no octet is wrong of itself."""

    def status(self) -> Int:
        """Gives the 4xx or 5xx code to answer with."""
        return self.rule.status

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.rule.text())
        if self.offset != NOWHERE:
            writer.write(" (byte ", self.offset, ")")


struct LocalProtocolError(Copyable, Movable, Writable):
    """Our caller asked for a request that would break the rules of HTTP/1.1.

    Octets that end a line or a word early are how requests are smuggled, so
    such a request is never sent.
    """

    var part: StaticString
    """What was refused: "method", "request target", "Host" or "framing"."""
    var text: String
    var offset: Int
    """Where in `text` the offending octet stands, in bytes."""
    var demand: StaticString
    """What the rule allows."""

    def __init__(
        out self,
        part: StaticString,
        text: StringSpan,
        offset: Int,
        demand: StaticString,
    ):
        """Describes a refused part; the octet at `offset` breaks `demand`."""
        self.part = part
        self.text = String(text)
        self.offset = offset
        self.demand = demand

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped."""
        writer.write(self.part, " '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("' cannot be sent (byte ", self.offset, "): ")
        writer.write(self.demand)
