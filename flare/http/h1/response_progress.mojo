"""What a client connection finds in its input."""


struct ResponseProgress(Equatable, ImplicitlyCopyable):
    """What `ResponseExchange.advance` found."""

    var number: UInt8
    """The case."""

    comptime NEEDS_OCTETS = ResponseProgress(0)
    """More of the response has to arrive."""
    comptime INTERIM = ResponseProgress(1)
    """The head of a 1xx response is complete; the final one follows."""
    comptime HEAD_READY = ResponseProgress(2)
    """The final head is complete: set `max_body_size`, go on."""
    comptime CONTENT = ResponseProgress(3)
    """A piece of content is in `content()`."""
    comptime END = ResponseProgress(4)
    """The response is complete."""

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
