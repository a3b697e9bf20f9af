"""What a response says of itself beside what is sent."""


@fieldwise_init
struct ResponseOutcome(Equatable, TrivialRegisterPassable):
    """Whether a response is the answer, stands for one, or ends HTTP.

    A status says none of it: a handler may set any.
    """

    var _value: UInt8

    comptime NOW = Self(0)
    """It is the answer, which is sent."""
    comptime LATER = Self(1)
    """It stands for an answer that is made later, and is never sent."""
    comptime UPGRADE = Self(2)
    """Another protocol follows it on the connection, or the stream."""
