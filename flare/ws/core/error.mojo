"""Close codes, and the rules that a peer may break (RFC 6455 section 7)."""

from flare.bytes.lines import line_at


@fieldwise_init
struct WsRule(Equatable, ImplicitlyCopyable):
    """A rule of RFC 6455 or RFC 7692, and how to close when it is broken."""

    var number: UInt8
    var close_code: Int
    """The close code of the answer (RFC 6455 section 7.4.1)."""

    comptime RESERVED_BITS = WsRule(1, CloseCode.PROTOCOL_ERROR)
    """Reserved bits are 0 unless an extension was agreed on (RFC 6455
    section 5.2); RSV1 stands in the first frame of a message only (RFC 7692
    section 6)."""
    comptime OPCODE = WsRule(2, CloseCode.PROTOCOL_ERROR)
    """Opcodes 3 to 7 and 11 to 15 are reserved (RFC 6455 section 5.2)."""
    comptime CONTROL_FRAGMENTED = WsRule(3, CloseCode.PROTOCOL_ERROR)
    """Control frames are not fragmented (RFC 6455 section 5.5)."""
    comptime CONTROL_LEN = WsRule(4, CloseCode.PROTOCOL_ERROR)
    """A control frame's payload has at most 125 bytes (RFC 6455 section 5.5)."""
    comptime UNEXPECTED_CONTINUATION = WsRule(5, CloseCode.PROTOCOL_ERROR)
    """A continuation frame continues a message (RFC 6455 section 5.4)."""
    comptime EXPECTED_CONTINUATION = WsRule(6, CloseCode.PROTOCOL_ERROR)
    """A message is complete before the next begins (RFC 6455 section 5.4)."""
    comptime NOT_MASKED = WsRule(7, CloseCode.PROTOCOL_ERROR)
    """A client masks every frame (RFC 6455 section 5.1)."""
    comptime MASKED = WsRule(8, CloseCode.PROTOCOL_ERROR)
    """A server masks no frame (RFC 6455 section 5.1)."""
    comptime LENGTH_FORM = WsRule(9, CloseCode.PROTOCOL_ERROR)
    """A length is written in the fewest bytes, and has 63 bits (RFC 6455
    section 5.2)."""
    comptime FRAME_LEN = WsRule(10, CloseCode.MESSAGE_TOO_BIG)
    """A frame keeps to the receiver's limit (RFC 6455 section 10.4)."""
    comptime MESSAGE_LEN = WsRule(11, CloseCode.MESSAGE_TOO_BIG)
    """A message keeps to the receiver's limit, decompressed too (RFC 6455
    section 10.4)."""
    comptime UTF8 = WsRule(12, CloseCode.INVALID_PAYLOAD)
    """Text is UTF-8 (RFC 6455 section 8.1)."""
    comptime CLOSE_LEN = WsRule(13, CloseCode.PROTOCOL_ERROR)
    """A close frame's payload is empty or has a code (RFC 6455 section 5.5.1)."""
    comptime CLOSE_CODE = WsRule(14, CloseCode.PROTOCOL_ERROR)
    """A close code is one that may be sent (RFC 6455 section 7.4)."""
    comptime CLOSE_UTF8 = WsRule(15, CloseCode.INVALID_PAYLOAD)
    """The reason in a close frame is UTF-8 (RFC 6455 section 5.5.1)."""
    comptime DEFLATE = WsRule(16, CloseCode.INVALID_PAYLOAD)
    """A compressed message is a deflate stream (RFC 7692 section 7.2.2)."""
    comptime NO_MEMORY = WsRule(17, CloseCode.INTERNAL_ERROR)
    """The library that decompresses has memory; it is no fault of the peer."""

    def text(self) -> StaticString:
        """Says what the rule demands in at most 123 bytes, short enough for a
        close frame."""
        return line_at(_TEXTS, Int(self.number) - 1)


# A line for each rule by its number, and one for what is none.
comptime _TEXTS = StaticString(
    "reserved bits must be 0 unless an extension uses them\n"
    "the opcode must be 0, 1, 2, 8, 9 or 10\n"
    "control frames must not be fragmented\n"
    "a control frame must have at most 125 bytes of payload\n"
    "a continuation frame must continue a message\n"
    "a message must be complete before the next one begins\n"
    "a client must mask every frame\n"
    "a server must not mask its frames\n"
    "a length must be written in the fewest bytes\n"
    "the frame is longer than is allowed here\n"
    "the message is longer than is allowed here\n"
    "text must be UTF-8\n"
    "a close frame must be empty or begin with a code\n"
    "the close code must be one that may be sent\n"
    "the reason in a close frame must be UTF-8\n"
    "a compressed message must be a deflate stream\n"
    "there is no memory to decompress with\n"
    "a rule was broken"
)


@fieldwise_init
struct WsProtocolError(Copyable, Movable, Writable):
    """The peer broke a rule; the connection ends with a close frame."""

    var rule: WsRule
    var offset: Int
    """Where, in bytes from the start of the peer's first frame; for a rule on
    the content of a compressed message, the start of the frame."""

    def close_code(self) -> Int:
        return self.rule.close_code

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.rule.text(), " (byte ", self.offset)
        writer.write(", close code ", self.rule.close_code, ")")


@fieldwise_init
struct WsMisuse(Equatable, ImplicitlyCopyable, Writable):
    """Our caller asked for what the rules of WebSocket forbid."""

    var reason: StaticString
    """What was asked for, and what is allowed."""

    comptime CLOSED = WsMisuse(
        "nothing can be sent behind a close frame (RFC 6455 section 5.5.1);"
        " open another connection"
    )
    comptime CONTROL_LEN = WsMisuse(
        "a ping or pong holds at most 125 bytes (RFC 6455 section 5.5)"
    )
    comptime CLOSE_CODE = WsMisuse(
        "this close code must not be sent; use 1000 to 1003, 1007 to 1014, or"
        " 3000 to 4999 for codes of your own (RFC 6455 section 7.4)"
    )
    comptime CLOSE_REASON = WsMisuse(
        "the reason in a close frame holds at most 123 bytes (RFC 6455 section"
        " 5.5)"
    )
    comptime IN_MESSAGE = WsMisuse(
        "a message is being sent in fragments; end it first (RFC 6455 section"
        " 5.4)"
    )
    comptime NOT_IN_MESSAGE = WsMisuse(
        "there is no message to continue; begin one with text or binary"
    )
    comptime NO_MEMORY = WsMisuse(
        "there is no memory to compress with; switch compression off"
    )

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.reason)


@fieldwise_init
struct CloseState(Equatable, TrivialRegisterPassable, Writable):
    """How far a connection is closed.

    State     | own close frame sent | peer's received | rule broken
    ----------|----------------------|-----------------|------------
    OPEN      | CLOSING              | ANSWERING       | ANSWERING
    CLOSING   | -                    | CLOSED          | CLOSED
    ANSWERING | CLOSED               | -               | -
    CLOSED    | -                    | -               | -
    """

    var number: UInt8

    comptime OPEN = CloseState(0)
    """Messages go both ways."""
    comptime CLOSING = CloseState(1)
    """The own close frame was sent; the peer's has to come."""
    comptime ANSWERING = CloseState(2)
    """The peer has closed or broken a rule; the own close frame is due."""
    comptime CLOSED = CloseState(3)
    """Nothing is sent or received any more."""

    def after_sending(self) -> Self:
        """Gives the state once the own close frame was sent."""
        return Self.CLOSING if self == Self.OPEN else Self.CLOSED

    def after_receiving(self) -> Self:
        """Gives the state once nothing more is received: the peer's close
        frame has come, or it broke a rule.
        """
        if self == Self.OPEN or self == Self.ANSWERING:
            return Self.ANSWERING
        return Self.CLOSED

    def may_send(self) -> Bool:
        """Tells whether frames may be sent: not after the own close frame (RFC
        6455 section 5.5.1)."""
        return self == Self.OPEN or self == Self.ANSWERING

    def may_receive(self) -> Bool:
        """Tells whether frames of the peer count: not after its close frame."""
        return self == Self.OPEN or self == Self.CLOSING

    def write_to(self, mut writer: Some[Writer]):
        match Int(self.number):
            case 0:
                writer.write("open")
            case 1:
                writer.write("closing")
            case 2:
                writer.write("answering")
            case _:
                writer.write("closed")


comptime CLOSE_REASON_LEN_MAX = 123
"""Longest reason in a close frame, in bytes: a control frame holds 125, and
two of them are the code (RFC 6455 sections 5.5 and 5.5.1)."""


struct CloseCode:
    """The codes of RFC 6455 section 7.4.1, and those registered since."""

    comptime NORMAL = 1000
    """All was said."""
    comptime GOING_AWAY = 1001
    """The server shuts down, or the page was left."""
    comptime PROTOCOL_ERROR = 1002
    """The peer broke a rule."""
    comptime UNSUPPORTED_DATA = 1003
    """A kind of message that is not taken, such as binary."""
    comptime NO_STATUS = 1005
    """The close frame had no code. Never sent."""
    comptime ABNORMAL = 1006
    """There was no close frame. Never sent."""
    comptime INVALID_PAYLOAD = 1007
    """Text that is no UTF-8, or deflated octets that are broken."""
    comptime POLICY_VIOLATION = 1008
    """A message that the receiver's policy forbids."""
    comptime MESSAGE_TOO_BIG = 1009
    """A message longer than the receiver takes."""
    comptime MANDATORY_EXTENSION = 1010
    """The server did not agree to an extension that the client needs."""
    comptime INTERNAL_ERROR = 1011
    """The server met with something unexpected."""
    comptime SERVICE_RESTART = 1012
    """The server restarts; try again."""
    comptime TRY_AGAIN_LATER = 1013
    """The server has too much to do."""
    comptime BAD_GATEWAY = 1014
    """A server behind the server failed."""
    comptime TLS_FAILED = 1015
    """There was no TLS connection. Never sent."""


def may_send_close_code(code: Int) -> Bool:
    """Tells whether a close frame may have a code.

    Source: RFC 6455 sections 7.4.1 and 7.4.2: of the codes up to 2999 those
    that are registered and not reserved for use without a frame; from 3000 on
    all that libraries and programs have agreed on.
    """
    if code >= 3000:
        return code <= 4999
    return (code >= 1000 and code <= 1003) or (code >= 1007 and code <= 1014)
