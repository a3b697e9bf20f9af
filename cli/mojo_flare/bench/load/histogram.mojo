"""A histogram of times whose error is the same part of small and large ones."""

from std.bit import count_leading_zeros

comptime _HALF_BITS = 10
comptime _HALF = 1 << _HALF_BITS
# Values of one power of two share this many slots, so that a value is known to
# one part in 1024: three digits, as HDR histograms have.
comptime _SHIFT_MAX = 27
comptime VALUE_MAX = (2 << (_HALF_BITS + _SHIFT_MAX)) - 1
"""Largest value that is told apart; larger ones count as this: 274 s in ns."""


def slot_of(value: Int) -> Int:
    """Finds the slot of a value of at least 0 and at most `VALUE_MAX`."""
    var bits = 64 - Int(count_leading_zeros(UInt64(value)))
    var shift = max(bits - _HALF_BITS - 1, 0)
    return shift * _HALF + (value >> shift)


def highest_of(slot: Int) -> Int:
    """Gives the largest value of a slot."""
    if slot < 2 * _HALF:
        return slot
    var shift = slot // _HALF - 1
    return ((slot - shift * _HALF + 1) << shift) - 1


struct Histogram(Movable):
    """Counts values; asks for no memory after it is made."""

    var count: Int
    """Values recorded."""
    var least: Int
    """The smallest of them, exactly; 0 without one."""
    var most: Int
    """The largest of them, exactly; 0 without one."""
    var _slots: List[Int]

    def __init__(out self):
        """Makes one without values."""
        self.count = 0
        self.least = 0
        self.most = 0
        self._slots = List[Int](length=(_SHIFT_MAX + 2) * _HALF, fill=0)

    def record(mut self, value: Int):
        """Counts a value; a negative one counts as 0."""
        var known = min(max(value, 0), VALUE_MAX)
        self.least = known if self.count == 0 else min(self.least, known)
        self.most = max(self.most, known)
        self.count += 1
        self._slots[slot_of(known)] += 1

    def at(self, share: Float64) -> Int:
        """Gives a value that a share of all values does not exceed.

        Args:
            share: From 0 to 1; 0.5 asks for the median.

        Returns:
            The value, at most one part in 1024 too large; 0 without values.
        """
        var wanted = max(Int(share * Float64(self.count) + 0.999_999), 1)
        var seen = 0
        for slot in range(len(self._slots)):
            seen += self._slots[slot]
            if seen >= wanted:
                return max(min(highest_of(slot), self.most), self.least)
        return 0

    def clear(mut self):
        """Forgets all values."""
        self.count = 0
        self.least = 0
        self.most = 0
        for slot in range(len(self._slots)):
            self._slots[slot] = 0

    def write_slots(self, mut text: String):
        """Writes `[largest value, count]` of each slot with values."""
        var separator = ""
        for slot in range(len(self._slots)):
            if self._slots[slot] > 0:
                text.write(separator, "[", min(highest_of(slot), self.most))
                text.write(", ", self._slots[slot], "]")
                separator = ", "
