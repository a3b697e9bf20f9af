"""What one call of a compression library did."""


@fieldwise_init
struct CodecStatus(Equatable, TrivialRegisterPassable):
    """How a call of a compression library ended."""

    var code: UInt8
    """A small number, distinct for each status."""

    comptime GOES_ON = CodecStatus(0)
    """It wants more octets, or more room."""
    comptime ENDED = CodecStatus(1)
    """The stream is complete."""
    comptime CORRUPT = CodecStatus(2)
    """The octets are no such stream."""
    comptime NEEDS_DICTIONARY = CodecStatus(3)
    """The stream was made with a dictionary that nobody gave us."""
    comptime NO_MEMORY = CodecStatus(4)
    """The library could not get memory."""


@fieldwise_init
struct CodecStep(TrivialRegisterPassable):
    """What one call of a compression library took and gave."""

    var status: CodecStatus
    """How it ended."""
    var consumed: Int
    """How many octets of the input were taken."""
    var produced: Int
    """How many octets of the room were filled."""
