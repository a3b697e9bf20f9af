"""What happens by chance in a simulation, all of it from one seed."""


@fieldwise_init
struct Dice(Movable):
    """Numbers that look random, the same for the same seed (SplitMix64)."""

    var _state: UInt64

    def next(mut self) -> UInt64:
        self._state += 0x9E3779B97F4A7C15
        var mixed = self._state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
        return mixed ^ (mixed >> 31)

    def below(mut self, bound: Int) -> Int:
        """Chooses one of 0 to `bound - 1`."""
        return Int(self.next() >> 1) % bound

    def between(mut self, low: Int, high: Int) -> Int:
        """Chooses one of `low` to `high`."""
        return low + self.below(high - low + 1)

    def one_in(mut self, count: Int) -> Bool:
        """Is true once in so many times; never if that is 0."""
        return count > 0 and self.below(count) == 0

    def length(mut self, largest: Int) -> Int:
        """Chooses a length up to `largest`, mostly a small one."""
        return self.below((1 << self.below(_bit_count(largest) + 1)) + 1) if (
            largest > 0
        ) else 0


def _bit_count(number: Int) -> Int:
    var count = 0
    while (number >> (count + 1)) > 0:
        count += 1
    return count
