"""Priorities of responses (RFC 9218), and the budget of what costs us more than
the peer.
"""

from flare.bytes.checked import *

comptime URGENCY_DEFAULT = UInt8(3)
"""The urgency of what names none (RFC 9218 section 4.1)."""

comptime URGENCY_MAX = UInt8(7)
"""The lowest urgency (RFC 9218 section 4.1)."""


@fieldwise_init
struct Priority(Equatable, TrivialRegisterPassable):
    """How urgent a response is (RFC 9218 section 4)."""

    var urgency: UInt8
    """0 to 7; the lowest number goes first."""
    var is_incremental: Bool
    """True if it is of use while it is not complete, so that it may share."""

    @always_inline
    def __init__(out self):
        """Makes what holds if nothing is said."""
        self.urgency = URGENCY_DEFAULT
        self.is_incremental = False

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Self:
        """Reads a Priority field value (RFC 9218 section 4, RFC 8941).

        Args:
            value: A dictionary; parameters and unknown members are skipped.

        Returns:
            What it says; of members that are malformed, what holds if nothing
            is said.
        """
        var priority = Self()
        var position = 0
        while position < len(value):
            var end = position
            while end < len(value) and value.at(end) != 44:
                end += 1
            priority._take(_trimmed(value.between(position, end)))
            position = end + 1
        return priority

    def _take(mut self, member: Span[UInt8, _]):
        var end = 0
        while end < len(member) and member.at(end) != 59:
            end += 1
        var bare = member.before(end)
        if len(bare) == 0:
            return
        if bare.at(0) == 117 and len(bare) == 3 and bare.at(1) == 61:
            var digit = bare.at(2)
            if digit >= 48 and digit <= 48 + URGENCY_MAX:
                self.urgency = digit - 48
        elif bare == "i".as_bytes() or bare == "i=?1".as_bytes():
            self.is_incremental = True
        elif bare == "i=?0".as_bytes():
            self.is_incremental = False


def _trimmed[o: ImmOrigin](octets: Span[UInt8, o]) -> Span[UInt8, o]:
    var start = 0
    var end = len(octets)
    while start < end and (octets.at(start) == 32 or octets.at(start) == 9):
        start += 1
    while end > start and (octets.at(end - 1) == 32 or octets.at(end - 1) == 9):
        end -= 1
    return octets.between(start, end)


@fieldwise_init
struct AbuseLimits(TrivialRegisterPassable):
    """How much of what makes work and has no use a peer may send."""

    var capacity: Int
    """How many such frames at once."""
    var refill_per_s: Int
    """How many more each second."""


struct AbuseBudget(TrivialRegisterPassable):
    """A bucket of tokens; what is needed seldom costs one each (RFC 9113 section
    10.5)."""

    var limits: AbuseLimits
    """How many tokens there are."""
    # Thousandths of a token, since time is counted in thousandths, too.
    var _level: Int
    var _filled_ms: Int

    def __init__(out self, limits: AbuseLimits, now_ms: Int):
        """Makes a full bucket.

        Args:
            limits: How many tokens there are.
            now_ms: The time now.
        """
        self.limits = limits
        self._level = limits.capacity * 1_000
        self._filled_ms = now_ms

    def spend(mut self, now_ms: Int) -> Bool:
        """Takes a token.

        Args:
            now_ms: The time now.

        Returns:
            False if there is none left.
        """
        var fresh = (now_ms - self._filled_ms) * self.limits.refill_per_s
        self._level = min(self._level + fresh, self.limits.capacity * 1_000)
        self._filled_ms = now_ms
        if self._level < 1_000:
            return False
        self._level -= 1_000
        return True
