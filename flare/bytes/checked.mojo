"""Elements and parts of sequences, checked in a few instructions.

`xs[i]` of the standard library puts its message, with the place it came from,
before each check: 150 lines of IR for each pair of brackets, a quarter of what
a server was. These check the same and end the program as surely; the message
is made where nobody has to wait for it.
"""

from std.os import abort
from std.sys import get_defined_string
from std.sys.intrinsics import unlikely

comptime _ALL_IS_ASSERTED = get_defined_string["ASSERT", "safe"]() == "all"
"""The standard library asserts the index of `unsafe_get` then, in 60 lines."""


@no_inline
def _end(index: Int, length: Int):
    var text = String("index ")
    index.write_to(text)
    text += " is out of range; the length is "
    length.write_to(text)
    abort(text)


@no_inline
def _end_of_nothing():
    abort("there is no value")


__extension Optional:
    @always_inline
    def held(ref self) -> ref[self.value()] Self.T:
        """Lends the value; the program ends if there is none."""
        if unlikely(not self):
            _end_of_nothing()
        # SAFETY: it was asked whether there is one.
        return self.unsafe_value()


__extension List:
    @always_inline
    def at(ref self, index: Int) -> ref[self[0]] Self.T:
        """Lends an element; the program ends if there is none."""
        if unlikely(UInt(index) >= UInt(len(self))):
            _end(index, len(self))
        comptime if _ALL_IS_ASSERTED:
            return self._asserted(index)
        else:
            # SAFETY: the index was checked.
            return self.unsafe_get(index)

    @no_inline
    def _asserted(ref self, index: Int) -> ref[self[0]] Self.T:
        # SAFETY: `at` checked the index.
        return self.unsafe_get(index)

    @always_inline
    def unsafe_at(ref self, index: Int) -> ref[self[0]] Self.T:
        """Lends an element whose index the caller vouches for; where all is asserted,
        the index is checked as by `at`."""
        comptime if _ALL_IS_ASSERTED:
            return self.at(index)
        else:
            # SAFETY: the caller vouches for the index.
            return self.unsafe_get(index)


__extension Array:
    @always_inline
    def at(ref self, index: Int) -> ref[self[0]] Self.T:
        """Lends an element; the program ends if there is none."""
        if unlikely(UInt(index) >= UInt(len(self))):
            _end(index, len(self))
        # SAFETY: the index was checked.
        return self.unsafe_ptr().unsafe_offset(index)[]

    @always_inline
    def unsafe_at(ref self, index: Int) -> ref[self[0]] Self.T:
        """Lends an element whose index the caller vouches for; where all is asserted,
        the index is checked as by `at`."""
        comptime if _ALL_IS_ASSERTED:
            return self.at(index)
        else:
            # SAFETY: the caller vouches for the index.
            return self.unsafe_get(index)


__extension Span:
    @always_inline
    def at(self, index: Int) -> ref[Self.origin, Self.address_space] Self.T:
        """Lends an element; the program ends if there is none."""
        if unlikely(UInt(index) >= UInt(len(self))):
            _end(index, len(self))
        # SAFETY: the index was checked.
        return self.unsafe_ptr().unsafe_offset(index)[]

    @always_inline
    def unsafe_at(
        self, index: Int
    ) -> ref[Self.origin, Self.address_space] Self.T:
        """Lends an element whose index the caller vouches for; where all is asserted,
        the index is checked as by `at`."""
        comptime if _ALL_IS_ASSERTED:
            return self.at(index)
        else:
            # SAFETY: the caller vouches for the index.
            return self.unsafe_get(index)

    @always_inline
    def between(self, start: Int, end: Int) -> Self:
        """Lends the elements from `start` to before `end`; the program ends if
        there are none such."""
        if unlikely(UInt(end) > UInt(len(self))):
            _end(end, len(self))
        if unlikely(UInt(start) > UInt(end)):
            _end(start, end)
        # SAFETY: both ends were checked.
        return self.unsafe_subspan(offset=start, length=end - start)

    @always_inline
    def after(self, start: Int) -> Self:
        """Lends what is left behind some elements; the program ends if there
        are not so many."""
        if unlikely(UInt(start) > UInt(len(self))):
            _end(start, len(self))
        # SAFETY: the start was checked.
        return self.unsafe_subspan(offset=start, length=len(self) - start)

    @always_inline
    def before(self, end: Int) -> Self:
        """Lends the first elements; the program ends if there are not so many."""
        if unlikely(UInt(end) > UInt(len(self))):
            _end(end, len(self))
        # SAFETY: the end was checked.
        return self.unsafe_subspan(offset=0, length=end)
