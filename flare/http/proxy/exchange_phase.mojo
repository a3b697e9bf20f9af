"""What a request on its way through a reverse proxy waits for."""


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
