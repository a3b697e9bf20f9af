"""What a selector is asked for, and what it answers."""


struct Interest(Equatable, ImplicitlyCopyable):
    """What a descriptor is watched for. Combine with `|`."""

    var bits: UInt8
    """The cases, or-ed."""

    comptime NONE = Interest(0)
    """Nothing."""
    comptime READ = Interest(1)
    """Octets, connections or the end of the stream can be read."""
    comptime WRITE = Interest(2)
    """Octets can be written."""
    comptime EDGE = Interest(4)
    """Report a change once, not a state again and again."""
    comptime EXCLUSIVE = Interest(8)
    """Wake one of several selectors that watch the same descriptor, not all
    of them; a hint, which kqueue does not know."""
    comptime STREAM = Interest(7)
    """Reading and writing, edge-triggered: a connection, registered once."""

    @always_inline
    def __init__(out self, bits: UInt8):
        """Makes an interest.

        Args:
            bits: The cases, or-ed.
        """
        self.bits = bits

    @always_inline
    def __or__(self, other: Self) -> Self:
        """Joins two interests.

        Args:
            other: An interest.

        Returns:
            Both.
        """
        return Self(self.bits | other.bits)

    @always_inline
    def has(self, other: Self) -> Bool:
        """Tells whether a case is part of the interest.

        Args:
            other: A case.

        Returns:
            True if it is.
        """
        return (self.bits & other.bits) != 0

    def __eq__(self, other: Self) -> Bool:
        """Compares two interests.

        Args:
            other: An interest.

        Returns:
            True if they are equal.
        """
        return self.bits == other.bits


@fieldwise_init
struct Event(ImplicitlyCopyable):
    """Readiness of one descriptor."""

    var token: UInt64
    """What the descriptor was registered with."""
    var is_readable: Bool
    """A read will not wait; it may answer the end of the stream or an error."""
    var is_writable: Bool
    """A write will not wait; it may answer an error."""
    var is_closed: Bool
    """The peer has ended its direction, or the descriptor has an error."""
