"""What a frame is for."""


@fieldwise_init
struct Opcode(Equatable, TrivialRegisterPassable, Writable):
    """The purpose of a frame (RFC 6455 section 5.2)."""

    var code: UInt8
    """The four bits that are sent."""

    comptime CONTINUATION = Opcode(0)
    """A further frame of a message."""
    comptime TEXT = Opcode(1)
    """The first frame of a message of text."""
    comptime BINARY = Opcode(2)
    """The first frame of a message of octets."""
    comptime CLOSE = Opcode(8)
    """The last frame of a side."""
    comptime PING = Opcode(9)
    """Asks for a `PONG`."""
    comptime PONG = Opcode(10)
    """Answers a `PING`, or comes unasked."""

    @always_inline
    def is_control(self) -> Bool:
        """Tells whether such a frame stands for itself.

        Returns:
            False for the frames of messages.
        """
        return (self.code & 8) != 0

    @always_inline
    def is_known(self) -> Bool:
        """Tells whether the opcode is defined.

        Returns:
            False for those that are reserved (RFC 6455 section 5.2).
        """
        return self.code <= 2 or (self.code >= 8 and self.code <= 10)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
        match Int(self.code):
            case 0:
                writer.write("continuation")
            case 1:
                writer.write("text")
            case 2:
                writer.write("binary")
            case 8:
                writer.write("close")
            case 9:
                writer.write("ping")
            case 10:
                writer.write("pong")
            case _:
                writer.write("opcode ", self.code)
