"""Octets with a readable terminator behind them: what parsers take.

A parser that scans to a stop needs no bounds check, if there is a stop. This
type is that promise: only `Buffer.terminate` makes one, and its lifetime is
the buffer's. What is read through it is asserted in builds with ASSERT=all.
"""

from flare.bytes.scan import (
    BytePtr,
    SCAN_SLACK,
    FieldValueStop,
    scan_class,
    scan_field_value,
    scan_target,
)
from flare.bytes.octet_class import OctetClass
from flare.bytes.word import load16, load32, load64
from std.memory import unsafe_memmove
from std.sys import get_defined_string

comptime _ASSERTS = get_defined_string["ASSERT", "safe"]() == "all"
# Asked before the condition is made, since this code is inlined everywhere.


struct TerminatedInput[o: MutOrigin](Sized, TrivialRegisterPassable):
    """Octets, a 0 behind them, and `SCAN_SLACK` readable octets from there on.

    The 0 is in no class, so every scan stops at it. It ends with the next
    change of the buffer.

    Parameters:
        o: The buffer's origin.
    """

    # SAFETY: the buffer that made this owns `_length + SCAN_SLACK` octets from
    # `_base` on, and its origin keeps it alive.
    var _base: Pointer[UInt8, Self.o]
    var _length: Int

    @always_inline
    def __init__(out self, *, unsafe_base: Pointer[UInt8, Self.o], length: Int):
        """Takes the word of a buffer; nothing else makes one.

        Args:
            unsafe_base: Memory with a 0 at `length` and the slack behind it.
            length: How many octets there are.
        """
        comptime if _ASSERTS:
            debug_assert(
                unsafe_base[unsafe_offset=length] == 0, "no terminator"
            )
        self._base = unsafe_base
        self._length = length

    @always_inline
    def __len__(self) -> Int:
        """Counts the octets before the terminator."""
        return self._length

    @always_inline
    def unsafe_base(self) -> BytePtr:
        """Lends the first octet's address, which keeps nothing alive."""
        return self._base.unsafe_origin_cast[MutUntrackedOrigin]()

    @always_inline
    def __getitem__(self, offset: Int) -> UInt8:
        """Reads an octet; the terminator, and the slack behind it, too."""
        self._check(offset, 1)
        return self._base[unsafe_offset=offset]

    @always_inline
    def __setitem__(self, offset: Int, octet: UInt8):
        """Writes an octet before the terminator."""
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and offset < self._length, "written beyond"
            )
        self._base[unsafe_offset=offset] = octet

    @always_inline
    def load16(self, offset: Int) -> UInt16:
        """Reads two octets, little end first."""
        self._check(offset, 2)
        return load16(self.unsafe_base(), offset)

    @always_inline
    def load32(self, offset: Int) -> UInt32:
        """Reads four octets, little end first."""
        self._check(offset, 4)
        return load32(self.unsafe_base(), offset)

    @always_inline
    def load64(self, offset: Int) -> UInt64:
        """Reads eight octets, little end first."""
        self._check(offset, 8)
        return load64(self.unsafe_base(), offset)

    @always_inline
    def scan_class[members: OctetClass](self, start: Int) -> Int:
        """Finds the first octet that is no member of a class.

        Parameters:
            members: The class.

        Args:
            start: Where to begin, not behind the terminator.

        Returns:
            Its offset; that of the terminator at most.
        """
        self._check_start(start)
        return scan_class[members](self.unsafe_base(), start)

    @always_inline
    def scan_target(self, start: Int) -> Int:
        """Finds the end of a request target, as `scan_class` does."""
        self._check_start(start)
        return scan_target(self.unsafe_base(), start)

    @always_inline
    def scan_field_value(self, start: Int) -> FieldValueStop:
        """Finds the end of a field value, as `scan_class` does."""
        self._check_start(start)
        return scan_field_value(self.unsafe_base(), start)

    @always_inline
    def tail(self, offset: Int) -> Self:
        """Leaves out the first octets.

        Args:
            offset: How many; at most all.

        Returns:
            The rest, with the same terminator.
        """
        self._check_start(offset)
        return Self(
            unsafe_base=self._base.unsafe_offset(offset),
            length=self._length - offset,
        )

    @always_inline
    def span(self, offset: Int, length: Int) -> Span[UInt8, ImmOrigin(Self.o)]:
        """Lends a part of the octets, for as long as the buffer does not change.

        Args:
            offset: Where it starts.
            length: How long it is; it ends before the terminator.

        Returns:
            The part.
        """
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and 0 <= length and offset + length <= self._length,
                "a part beyond the input",
            )
        return {
            unsafe_ptr = self._base.unsafe_offset(offset)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmOrigin(Self.o)](),
            length = length,
        }

    def move_down(self, target: Int, source: Int, count: Int):
        """Moves octets towards the start, over what was read before them.

        Args:
            target: Where to.
            source: Where from, not before `target`.
            count: How many; they end before the terminator.
        """
        comptime if _ASSERTS:
            debug_assert(
                0 <= target
                and target <= source
                and source + count <= self._length
                and count >= 0,
                "moved beyond the input",
            )
        # SAFETY: both parts lie within the octets.
        var base = self.unsafe_base()
        unsafe_memmove(
            dest=base.unsafe_offset(target),
            src=base.unsafe_offset(source),
            count=count,
        )

    @always_inline
    def _check(self, offset: Int, count: Int):
        comptime if _ASSERTS:
            debug_assert(
                0 <= offset and offset + count <= self._length + SCAN_SLACK,
                "read beyond the slack",
            )

    @always_inline
    def _check_start(self, start: Int):
        comptime if _ASSERTS:
            debug_assert(0 <= start and start <= self._length, "begun beyond")
