"""Octets that end where the memory ends, to catch reads past the end."""

from flare.bytes.scan import SCAN_SLACK
from flare.bytes.buffer import TerminatedInput
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


def guarded_input(octets: Span[UInt8, _], filler: UInt8) raises -> GuardedBytes:
    """Puts octets, the terminator, and slack of one octet value before a page.

    Args:
        octets: What a parser is to read.
        filler: What the slack behind the terminator is filled with.

    Returns:
        The memory.

    Raises:
        Error: If the system gives none.
    """
    var padded = List[UInt8](capacity=len(octets) + SCAN_SLACK)
    padded.extend(octets)
    padded.append(0)
    for _ in range(SCAN_SLACK - 1):
        padded.append(filler)
    return GuardedBytes(Span(padded))


def terminated_input(
    mut memory: GuardedBytes, length: Int
) -> TerminatedInput[origin_of(memory)]:
    """Lends what `guarded_input` made, as a buffer would.

    Args:
        memory: The memory.
        length: How many octets stand before the terminator.

    Returns:
        The octets.
    """
    # SAFETY: the origin keeps the memory; terminator and slack are there.
    return TerminatedInput[origin_of(memory)](
        unsafe_base=memory.span()
        .unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[origin_of(memory)](),
        length=length,
    )
