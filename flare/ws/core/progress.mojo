"""What a WebSocket connection finds in its input."""


@fieldwise_init
struct WsProgress(Equatable, TrivialRegisterPassable):
    """What `FrameReceiver.advance` found."""

    var number: UInt8
    """The case."""

    comptime NEEDS_OCTETS = WsProgress(0)
    """All input was taken; more has to arrive."""
    comptime MESSAGE = WsProgress(1)
    """A message is complete."""
    comptime FRAME = WsProgress(2)
    """A frame of a message is complete."""
    comptime PING = WsProgress(3)
    """The peer asks for a pong."""
    comptime PONG = WsProgress(4)
    """The peer has answered a ping, or spoken up unasked."""
    comptime CLOSE = WsProgress(5)
    """The peer closes; nothing follows."""
