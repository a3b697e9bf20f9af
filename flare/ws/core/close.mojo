"""The closing handshake (RFC 6455 section 7), and its codes."""


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
    """The state."""

    comptime OPEN = CloseState(0)
    """Messages go both ways."""
    comptime CLOSING = CloseState(1)
    """The own close frame was sent; the peer's has to come."""
    comptime ANSWERING = CloseState(2)
    """The peer has closed or broken a rule; the own close frame is due."""
    comptime CLOSED = CloseState(3)
    """Nothing is sent or received any more."""

    def after_sending(self) -> Self:
        """Gives the state once the own close frame was sent.

        Returns:
            The next state.
        """
        return Self.CLOSING if self == Self.OPEN else Self.CLOSED

    def after_receiving(self) -> Self:
        """Gives the state once nothing more is received: the peer's close
        frame has come, or it broke a rule.

        Returns:
            The next state.
        """
        if self == Self.OPEN or self == Self.ANSWERING:
            return Self.ANSWERING
        return Self.CLOSED

    def may_send(self) -> Bool:
        """Tells whether frames may be sent.

        Returns:
            False behind the own close frame (RFC 6455 section 5.5.1).
        """
        return self == Self.OPEN or self == Self.ANSWERING

    def may_receive(self) -> Bool:
        """Tells whether frames of the peer count.

        Returns:
            False behind its close frame.
        """
        return self == Self.OPEN or self == Self.CLOSING

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
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

    Args:
        code: Any number.

    Returns:
        True if so.
    """
    if code >= 3000:
        return code <= 4999
    return (code >= 1000 and code <= 1003) or (code >= 1007 and code <= 1014)
