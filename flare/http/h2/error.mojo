"""Error codes of HTTP/2, and the rules that a peer may break (RFC 9113 section 7)."""

from flare.bytes.lines import line_at


@fieldwise_init
struct ErrorCode(Equatable, TrivialRegisterPassable, Writable):
    """Why a stream was reset, or a connection ended (RFC 9113 section 7)."""

    var number: UInt32
    """The code as sent; unknown ones count as INTERNAL_ERROR."""

    comptime NO_ERROR = ErrorCode(0)
    """Nothing is wrong."""
    comptime PROTOCOL_ERROR = ErrorCode(1)
    """A rule was broken that has no code of its own."""
    comptime INTERNAL_ERROR = ErrorCode(2)
    """The endpoint failed."""
    comptime FLOW_CONTROL_ERROR = ErrorCode(3)
    """More was sent than a window allowed."""
    comptime SETTINGS_TIMEOUT = ErrorCode(4)
    """SETTINGS were not acknowledged in time."""
    comptime STREAM_CLOSED = ErrorCode(5)
    """A frame came on a stream that was closed."""
    comptime FRAME_SIZE_ERROR = ErrorCode(6)
    """A frame has a length that it cannot have."""
    comptime REFUSED_STREAM = ErrorCode(7)
    """Nothing was done with the stream; it may be sent again."""
    comptime CANCEL = ErrorCode(8)
    """The stream is not needed any more."""
    comptime COMPRESSION_ERROR = ErrorCode(9)
    """The compression of fields is out of step."""
    comptime CONNECT_ERROR = ErrorCode(10)
    """The connection behind a CONNECT failed."""
    comptime ENHANCE_YOUR_CALM = ErrorCode(11)
    """The peer asks for too much work."""
    comptime INADEQUATE_SECURITY = ErrorCode(12)
    """TLS is weaker than HTTP/2 allows."""
    comptime HTTP_1_1_REQUIRED = ErrorCode(13)
    """HTTP/1.1 has to be used for this request."""

    @no_inline
    def name(self) -> StaticString:
        """Names the code as the RFC does; "UNKNOWN_ERROR" for any other."""
        return line_at(_CODE_NAMES, Int(self.number))

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write_string(self.name())


# A line for each code by its number, and one for all others.
comptime _CODE_NAMES = StaticString(
    "NO_ERROR\n"
    "PROTOCOL_ERROR\n"
    "INTERNAL_ERROR\n"
    "FLOW_CONTROL_ERROR\n"
    "SETTINGS_TIMEOUT\n"
    "STREAM_CLOSED\n"
    "FRAME_SIZE_ERROR\n"
    "REFUSED_STREAM\n"
    "CANCEL\n"
    "COMPRESSION_ERROR\n"
    "CONNECT_ERROR\n"
    "ENHANCE_YOUR_CALM\n"
    "INADEQUATE_SECURITY\n"
    "HTTP_1_1_REQUIRED\n"
    "UNKNOWN_ERROR"
)


@fieldwise_init
struct Http2Rule(Equatable, TrivialRegisterPassable):
    """A rule for what a peer may send, with the code that answers a breach.

    Its scope is the connection, or one stream (RFC 9113 section 5.4).
    """

    var number: UInt8
    """The rule's number in this library."""
    var code: ErrorCode
    """What the peer is told."""
    var is_of_stream: Bool
    """True if only a stream ends (a stream error)."""

    comptime PREFACE = Self._connection(1, ErrorCode.PROTOCOL_ERROR)
    """A client begins with the connection preface (section 3.4)."""
    comptime FIRST_FRAME = Self._connection(2, ErrorCode.PROTOCOL_ERROR)
    """SETTINGS are the first frame of either side (section 3.4)."""
    comptime FRAME_LEN = Self._connection(3, ErrorCode.FRAME_SIZE_ERROR)
    """A frame keeps to SETTINGS_MAX_FRAME_SIZE (section 4.2)."""
    comptime PAYLOAD_LEN = Self._connection(4, ErrorCode.FRAME_SIZE_ERROR)
    """A payload has a length that its type allows (section 6)."""
    comptime ON_STREAM_0 = Self._connection(5, ErrorCode.PROTOCOL_ERROR)
    """A frame of a stream does not stand on stream 0 (section 6)."""
    comptime NOT_ON_STREAM_0 = Self._connection(6, ErrorCode.PROTOCOL_ERROR)
    """A frame of the connection stands on stream 0 (section 6)."""
    comptime STREAM_ID = Self._connection(7, ErrorCode.PROTOCOL_ERROR)
    """A client opens streams of odd, growing numbers (section 5.1.1)."""
    comptime IDLE_STREAM = Self._connection(8, ErrorCode.PROTOCOL_ERROR)
    """An idle stream begins with HEADERS (section 5.1)."""
    comptime CLOSED_STREAM = Self._connection(9, ErrorCode.STREAM_CLOSED)
    """Nothing follows END_STREAM on a closed stream (section 5.1)."""
    comptime HALF_CLOSED_STREAM = Self._stream(10, ErrorCode.STREAM_CLOSED)
    """Neither content nor fields follow END_STREAM (section 5.1)."""
    comptime PADDING = Self._connection(11, ErrorCode.PROTOCOL_ERROR)
    """Padding is shorter than the payload (section 6.1)."""
    comptime EXPECTED_CONTINUATION = Self._connection(
        12, ErrorCode.PROTOCOL_ERROR
    )
    """Nothing comes between the frames of a field block (section 4.3)."""
    comptime UNEXPECTED_CONTINUATION = Self._connection(
        13, ErrorCode.PROTOCOL_ERROR
    )
    """CONTINUATION continues a field block (section 6.10)."""
    comptime COMPRESSION = Self._connection(14, ErrorCode.COMPRESSION_ERROR)
    """A field block is well-formed HPACK (section 4.3, RFC 7541)."""
    comptime SELF_DEPENDENCY = Self._stream(15, ErrorCode.PROTOCOL_ERROR)
    """A stream does not depend on itself (RFC 7540 section 5.3.1)."""
    comptime PRIORITY_LEN = Self._stream(16, ErrorCode.FRAME_SIZE_ERROR)
    """PRIORITY has five octets (section 6.3)."""
    comptime ENABLE_PUSH = Self._connection(17, ErrorCode.PROTOCOL_ERROR)
    """SETTINGS_ENABLE_PUSH is 0 or 1, and 0 of a server (section 6.5.2)."""
    comptime INITIAL_WINDOW = Self._connection(18, ErrorCode.FLOW_CONTROL_ERROR)
    """SETTINGS_INITIAL_WINDOW_SIZE has 31 bits (section 6.5.2)."""
    comptime MAX_FRAME_SIZE = Self._connection(19, ErrorCode.PROTOCOL_ERROR)
    """SETTINGS_MAX_FRAME_SIZE is 2^14 to 2^24-1 (section 6.5.2)."""
    comptime ENABLE_CONNECT = Self._connection(20, ErrorCode.PROTOCOL_ERROR)
    """SETTINGS_ENABLE_CONNECT_PROTOCOL is 0 or 1, and is not taken back (RFC
    8441 section 3)."""
    comptime PUSH_PROMISE = Self._connection(21, ErrorCode.PROTOCOL_ERROR)
    """Nobody pushes here (section 8.4)."""
    comptime WINDOW_ZERO = Self._connection(22, ErrorCode.PROTOCOL_ERROR)
    """WINDOW_UPDATE of the connection adds at least 1 (section 6.9)."""
    comptime STREAM_WINDOW_ZERO = Self._stream(23, ErrorCode.PROTOCOL_ERROR)
    """WINDOW_UPDATE of a stream adds at least 1 (section 6.9)."""
    comptime WINDOW_OVERFLOW = Self._connection(
        24, ErrorCode.FLOW_CONTROL_ERROR
    )
    """The connection's window stays below 2^31 (section 6.9.1)."""
    comptime STREAM_WINDOW_OVERFLOW = Self._stream(
        25, ErrorCode.FLOW_CONTROL_ERROR
    )
    """A stream's window stays below 2^31 (section 6.9.1)."""
    comptime BEYOND_WINDOW = Self._connection(26, ErrorCode.FLOW_CONTROL_ERROR)
    """DATA keep to the connection's window (section 6.9)."""
    comptime BEYOND_STREAM_WINDOW = Self._stream(
        27, ErrorCode.FLOW_CONTROL_ERROR
    )
    """DATA keep to the stream's window (section 6.9)."""
    comptime TOO_MANY_STREAMS = Self._stream(28, ErrorCode.REFUSED_STREAM)
    """Streams keep to SETTINGS_MAX_CONCURRENT_STREAMS (section 5.1.2)."""
    comptime CONTENT_LENGTH = Self._stream(29, ErrorCode.PROTOCOL_ERROR)
    """Content is as long as content-length says (section 8.1.1)."""
    comptime TRAILERS = Self._stream(30, ErrorCode.PROTOCOL_ERROR)
    """Trailers end the stream, and have no pseudo-header fields (section
    8.1)."""
    comptime FIELD_NAME = Self._stream(31, ErrorCode.PROTOCOL_ERROR)
    """A field name is a token without capitals (section 8.2.1)."""
    comptime FIELD_VALUE = Self._stream(32, ErrorCode.PROTOCOL_ERROR)
    """A field value has no NUL, CR or LF, and no space around it (section
    8.2.1)."""
    comptime CONNECTION_FIELD = Self._stream(33, ErrorCode.PROTOCOL_ERROR)
    """Fields of HTTP/1.1 connections have no place here (section 8.2.2)."""
    comptime PSEUDO_LATE = Self._stream(34, ErrorCode.PROTOCOL_ERROR)
    """Pseudo-header fields stand before all others (section 8.3)."""
    comptime PSEUDO_UNKNOWN = Self._stream(35, ErrorCode.PROTOCOL_ERROR)
    """No other pseudo-header fields are sent than are known (section 8.3)."""
    comptime PSEUDO_REPEATED = Self._stream(36, ErrorCode.PROTOCOL_ERROR)
    """Each pseudo-header field is sent once (section 8.3)."""
    comptime PSEUDO_MISSING = Self._stream(37, ErrorCode.PROTOCOL_ERROR)
    """A request has :method, :scheme and :path (section 8.3.1), a response
    :status (section 8.3.2)."""
    comptime PSEUDO_VALUE = Self._stream(38, ErrorCode.PROTOCOL_ERROR)
    """Pseudo-header fields have well-formed values (section 8.3.1)."""
    comptime HOST = Self._stream(39, ErrorCode.PROTOCOL_ERROR)
    """Host is sent at most once, and is what :authority is (section 8.3.1)."""
    comptime CALM = Self._connection(40, ErrorCode.ENHANCE_YOUR_CALM)
    """A peer does not make work of which nothing comes (section 10.5)."""
    comptime FIELD_BLOCK_LEN = Self._connection(41, ErrorCode.ENHANCE_YOUR_CALM)
    """A field block is of a bounded length (section 10.5.1)."""
    comptime SETTINGS_LATE = Self._connection(42, ErrorCode.SETTINGS_TIMEOUT)
    """SETTINGS are acknowledged in time (section 6.5.3)."""
    comptime GOAWAY_GROWS = Self._connection(43, ErrorCode.PROTOCOL_ERROR)
    """The last stream in GOAWAY does not grow (section 6.8)."""
    comptime INFORMATIONAL = Self._stream(44, ErrorCode.PROTOCOL_ERROR)
    """A response has one final status, after informational ones that do not
    end the stream; none is 101 (section 8.1)."""
    comptime PRIORITY_UPDATE = Self._connection(45, ErrorCode.PROTOCOL_ERROR)
    """PRIORITY_UPDATE names a stream that a client may open, and not more of
    them than it may have (RFC 9218 section 7.1)."""
    comptime SECTION_LEN = Self._stream(46, ErrorCode.ENHANCE_YOUR_CALM)
    """A response's fields, or trailers, keep to SETTINGS_MAX_HEADER_LIST_SIZE
    and to the number of fields allowed here (section 10.5.1)."""
    comptime NO_PRIORITIES = Self._connection(47, ErrorCode.PROTOCOL_ERROR)
    """SETTINGS_NO_RFC7540_PRIORITIES is 0 or 1 (RFC 9218 section 2.1)."""
    comptime TUNNEL = Self._stream(48, ErrorCode.PROTOCOL_ERROR)
    """A tunnel carries nothing but DATA (section 8.5)."""

    @staticmethod
    def _connection(number: UInt8, code: ErrorCode) -> Self:
        return Self(number, code, False)

    @staticmethod
    def _stream(number: UInt8, code: ErrorCode) -> Self:
        return Self(number, code, True)

    @no_inline
    def text(self) -> StaticString:
        """Gives the sentence that says what the rule demands, for GOAWAY and
        the log."""
        return line_at(_TEXTS, Int(self.number) - 1)


# A line for each rule, in the order of their numbers.
comptime _TEXTS = StaticString(
    "the connection must begin with the client's preface\n"
    "SETTINGS must be the first frame\n"
    "a frame must keep to SETTINGS_MAX_FRAME_SIZE\n"
    "the payload must have a length that the frame's type allows\n"
    "this frame must belong to a stream\n"
    "this frame must stand on stream 0\n"
    "new streams must have odd numbers that grow\n"
    "an idle stream must begin with HEADERS\n"
    "nothing may follow on a closed stream\n"
    "nothing may follow END_STREAM\n"
    "padding must be shorter than the payload\n"
    "a field block must be complete before any other frame\n"
    "CONTINUATION must continue a field block\n"
    "the field block must be well-formed HPACK\n"
    "a stream must not depend on itself\n"
    "PRIORITY must have five octets\n"
    "SETTINGS_ENABLE_PUSH must be 0 or 1, and 0 of a server\n"
    "SETTINGS_INITIAL_WINDOW_SIZE must be less than 2^31\n"
    "SETTINGS_MAX_FRAME_SIZE must be 2^14 to 2^24-1\n"
    "SETTINGS_ENABLE_CONNECT_PROTOCOL must be 0 or 1, and stay 1\n"
    "nothing may be pushed\n"
    "WINDOW_UPDATE must add at least 1\n"
    "WINDOW_UPDATE of a stream must add at least 1\n"
    "the connection's window must stay below 2^31\n"
    "the stream's window must stay below 2^31\n"
    "DATA must keep to the connection's window\n"
    "DATA must keep to the stream's window\n"
    "there are too many streams at once; send it again later\n"
    "the content must be as long as content-length says\n"
    "trailers must end the stream, without pseudo-header fields\n"
    "field names must be tokens in lower case\n"
    "field values must have no NUL, CR or LF, and no space around\n"
    "fields of an HTTP/1.1 connection must not be sent\n"
    "pseudo-header fields must stand before all others\n"
    "the pseudo-header field is not known here\n"
    "a pseudo-header field must not be repeated\n"
    "a request must have :method, :scheme and :path, a response :status\n"
    "the pseudo-header field has no valid value\n"
    "host must be sent once at most, and be what :authority is\n"
    "too much work was asked for of which nothing comes\n"
    "the field block is longer than is allowed here\n"
    "SETTINGS were not acknowledged in time\n"
    "the last stream in GOAWAY must not grow\n"
    "a response must have one final status\n"
    "PRIORITY_UPDATE must name a stream that the client may open\n"
    "the fields are more than is allowed here\n"
    "SETTINGS_NO_RFC7540_PRIORITIES must be 0 or 1\n"
    "nothing but DATA may come through a tunnel"
)


@fieldwise_init
struct Http2Error(Copyable, Movable, Writable):
    """The peer broke a rule of HTTP/2 (RFC 9113 section 5.4)."""

    var rule: Http2Rule
    """The rule."""
    var stream_id: Int
    """The stream on which it was broken; 0 if that is the connection."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes code, stream and rule."""
        writer.write_string(self.rule.code.name())
        if self.stream_id > 0:
            writer.write_string(" on stream ")
            self.stream_id.write_to(writer)
        writer.write_string(": ")
        writer.write_string(self.rule.text())
