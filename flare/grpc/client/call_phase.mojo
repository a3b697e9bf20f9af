"""How far a call has come with the attempt that it is at.

    IDLE --request--> SENT --head--> ANSWERED --end--> IDLE
      ^                |                                |
      +----failure-----+                                +--told--> OVER
"""


@fieldwise_init
struct CallPhase(Equatable, TrivialRegisterPassable):
    """What a call is at."""

    var number: UInt8

    comptime IDLE = CallPhase(0)
    """No attempt is under way: none was begun, or the last one is over."""
    comptime SENT = CallPhase(1)
    """One is, and the head of its response is not taken."""
    comptime ANSWERED = CallPhase(2)
    """Its head is."""
    comptime OVER = CallPhase(3)
    """The caller knows how the call has ended."""

    comptime COUNT = 4

    def begin(mut self):
        """An attempt begins."""
        if self != Self.OVER:
            self = Self.SENT

    def take_head(mut self):
        """The head of the attempt's response is taken."""
        if self == Self.SENT:
            self = Self.ANSWERED

    def end_attempt(mut self):
        """The attempt is over, for whatever reason."""
        if self != Self.OVER:
            self = Self.IDLE

    def end(mut self):
        """The caller is told how the call has ended."""
        self = Self.OVER
