"""What is to happen to a connection after it was driven."""


struct Fate(Equatable, ImplicitlyCopyable):
    """What is to happen to a connection."""

    var number: UInt8
    """The case."""

    comptime WAITS = Fate(0)
    """It waits for its client."""
    comptime CLOSES = Fate(1)
    """It is over."""
    comptime GIVES_WAY = Fate(2)
    """It could go on, and does so in the next round."""
    comptime ENDS = Fate(3)
    """The last response is sent, or parked; the client may still read it."""
    comptime PARKS = Fate(4)
    """A request is in its exchange, for a handler that may block: complete, or
    with content that the handler reads while it arrives."""

    @always_inline
    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.number == other.number
