"""How fast a client takes what it is sent.

    deadline, begun: now + timeout
    deadline, over:  + taken / rate, but no later than now + timeout; what was
                     taken counts once

So a client that takes octets steadily is never cut off, one that takes less
than the rate is in the end, and one that stops is within twice the time.
What is taken is what its system has acknowledged: that the own system has
room again is told late, and in portions that are too large for slow clients.
"""


struct WritePace(ImplicitlyCopyable):
    """Counts what a client takes while it keeps the server waiting."""

    var sent_len: Int
    """Octets handed to the system since the wait began."""
    var _queued_len: Int
    var _counted_len: Int

    def __init__(out self):
        """Starts with nothing sent."""
        self.sent_len = 0
        self._queued_len = 0
        self._counted_len = 0

    def begin(mut self, queued_len: Int):
        """Begins to count.

        Args:
            queued_len: Octets that the system has still to deliver.
        """
        self.sent_len = 0
        self._queued_len = queued_len
        self._counted_len = 0

    def taken_len(self, queued_len: Int) -> Int:
        """Tells what the client has taken since the wait began.

        Args:
            queued_len: Octets that the system has still to deliver now.

        Returns:
            How many octets; never less than was counted already.
        """
        var taken = self.sent_len + self._queued_len - queued_len
        return max(taken, self._counted_len)

    def earn_ms(mut self, queued_len: Int, rate: Int) -> Int:
        """Turns what was taken since the last call into time.

        Args:
            queued_len: Octets that the system has still to deliver now.
            rate: Octets a second that a client has to take; 0 gives no time.

        Returns:
            Milliseconds, rounded down; what is lost by that counts next time.
        """
        if rate == 0:
            return 0
        var fresh = self.taken_len(queued_len) - self._counted_len
        var earned_ms = fresh * 1_000 // rate
        # Rounded up: time is not earned twice for one octet.
        self._counted_len += (earned_ms * rate + 999) // 1_000
        return earned_ms
