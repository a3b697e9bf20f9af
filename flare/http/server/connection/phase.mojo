"""The phases of a connection, and what is to happen to one after it was driven."""


comptime PHASE_IDLE: UInt8 = 0
"""Between requests."""

comptime PHASE_HEAD: UInt8 = 1
"""A request's head is awaited: of the first, or in part here."""

comptime PHASE_BODY: UInt8 = 2
"""A request's content is awaited."""

comptime PHASE_WRITE: UInt8 = 3
"""The client is not ready to take what is to be sent."""

comptime PHASE_HANDLER: UInt8 = 4
"""A handler on another thread has the request."""

comptime PHASE_HANDSHAKE: UInt8 = 5
"""The TLS handshake is under way."""

comptime PHASE_SOURCE: UInt8 = 6
"""The source of a response's content has nothing yet."""

comptime PHASE_LINGER: UInt8 = 7
"""All is sent and the own direction ended; the client may still read. From
here on, what comes is no request."""

comptime PHASE_PROXY: UInt8 = 8
"""A proxy is to announce its client."""

comptime NEVER_MS = Int.MAX
"""A time that never comes."""

comptime FRESH_GRACE_MS = 1_000
"""How long a connection that is to end waits for a request which may be on its
way."""


struct NextAction(Equatable, ImplicitlyCopyable):
    """What is to happen to a connection."""

    var number: UInt8
    """The case."""

    comptime WAIT = NextAction(0)
    """It waits for its client."""
    comptime CLOSE = NextAction(1)
    """It is over."""
    comptime YIELD = NextAction(2)
    """It could go on, and does so in the next round."""
    comptime SHUTDOWN = NextAction(3)
    """The last response is sent, or parked; the client may still read it."""
    comptime OFFLOAD = NextAction(4)
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
