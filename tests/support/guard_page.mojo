"""Octets that end where the memory ends, to catch reads past the end."""

from flare.sys.memory_map import GuardedMemory


struct GuardedBytes(Movable):
    """A copy of some octets right before a page that may not be touched."""

    var _memory: GuardedMemory
    var _length: Int

    def __init__(out self, octets: Span[UInt8, _]) raises:
        """Copies octets.

        Args:
            octets: What to copy.

        Raises:
            Error: If the kernel has no memory.
        """
        self._memory = GuardedMemory(max(len(octets), 1))
        self._length = len(octets)
        var room = self._memory.last(self._length)
        for index in range(self._length):
            room[index] = octets[index]

    def span(ref self) -> Span[UInt8, origin_of(self._memory)]:
        """Lends the octets; one more would be a crash.

        Returns:
            The copy.
        """
        return self._memory.last(self._length)
