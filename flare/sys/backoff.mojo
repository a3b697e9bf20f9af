"""How long to wait between attempts."""


@fieldwise_init
struct Backoff(ImplicitlyCopyable):
    """Waits between attempts: twice as long each time, and a random part."""

    var first_ms: Int
    """Longest wait before the first repetition, in milliseconds."""
    var max_ms: Int
    """Longest wait of all, in milliseconds."""

    def longest_ms(self, attempt: Int) -> Int:
        """Tells how many milliseconds a wait may last.

        Args:
            attempt: How many attempts have failed, from 1.
        """
        var longest = min(self.first_ms, self.max_ms)
        for _ in range(1, attempt):
            if longest <= 0 or longest > self.max_ms // 2:
                # It stays so, or the next one is the longest of all.
                return self.max_ms if longest > 0 else 0
            longest *= 2
        return max(longest, 0)

    def wait_ms(self, attempt: Int, random: UInt64) -> Int:
        """Gives a wait in milliseconds: between half of the longest and all of
        it.

        Clients that lost one server do not come back all at once.

        Args:
            random: Random bits.
        """
        var longest = self.longest_ms(attempt)
        return longest - Int(random % UInt64(longest // 2 + 1))

    def spread_ms(self, attempt: Int, random: UInt64) -> Int:
        """Gives a wait in milliseconds: any up to the longest, so that many
        clients are spread over all of it."""
        return Int(random % UInt64(self.longest_ms(attempt) + 1))
