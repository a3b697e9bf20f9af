"""Small random differences that keep things from happening all at once."""


struct Jitter(Movable):
    """Random numbers to spread moments, not to keep secrets (xorshift64)."""

    var _state: UInt64

    def __init__(out self, seed: UInt64):
        """Starts a sequence.

        Args:
            seed: Where; each has its own sequence.
        """
        # The one state that never changes is 0.
        self._state = seed if seed != 0 else 1

    def next(mut self) -> UInt64:
        """Gives the next number.

        Returns:
            Any number but 0.
        """
        self._state ^= self._state << 13
        self._state ^= self._state >> 7
        self._state ^= self._state << 17
        return self._state

    def raised(mut self, limit: Int, percent: Int) -> Int:
        """Raises a limit a little.

        Args:
            limit: At least 0.
            percent: By how much at most.

        Returns:
            The limit and up to so much of it.
        """
        var most = limit // 100 * percent + limit % 100 * percent // 100
        return limit + Int(self.next() % UInt64(most + 1))
