"""The closing handshake (RFC 6455 section 7)."""


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
