"""What a request on its way through a reverse proxy waits for."""

comptime STATUS_MAX = 599
"""The largest status of a class that there is (RFC 9110 section 15)."""

comptime CONTINUE_TIMEOUT_MS = 1_000
"""How long 100 (Continue) is waited for, in milliseconds (RFC 9110 section
10.1.1: not for ever)."""


struct ExchangePhase(Equatable, TrivialRegisterPassable):
    """What an exchange waits for."""

    var number: UInt8
    """The case."""

    comptime NEW = ExchangePhase(0)
    """For its beginning."""
    comptime CONNECTING = ExchangePhase(1)
    """For a connection."""
    comptime SENDING = ExchangePhase(2)
    """For the upstream to take the request, or the client to send it."""
    comptime ASKING = ExchangePhase(3)
    """For 100 (Continue)."""
    comptime AWAITING = ExchangePhase(4)
    """For the response."""
    comptime CONTENT = ExchangePhase(5)
    """For the rest of its content, or the client to take it."""
    comptime OVER = ExchangePhase(6)
    """For nothing."""

    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number

    def may_have_head(self) -> Bool:
        """Tells whether the head of the response may come.

        Returns:
            True once there is a connection, until the head is there.
        """
        return (
            self == Self.SENDING or self == Self.ASKING or self == Self.AWAITING
        )

    def may_be_late(self) -> Bool:
        """Tells whether the upstream is waited for.

        Returns:
            True from the connection to the head of the response.
        """
        return (
            self == Self.CONNECTING
            or self == Self.SENDING
            or self == Self.AWAITING
        )
