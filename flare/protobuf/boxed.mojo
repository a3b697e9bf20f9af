"""A message that may be absent, in a box of its own."""

from std.memory import Allocation, Layout, alloc, dealloc


struct Boxed[T: Copyable & Deinitable](Boolable, Copyable, Defaultable):
    """Holds a value on the heap, or none.

    A message can hold one of its own type this way; that is what it is for. A
    message that cannot come back to its own type is an `Optional`.

    Parameters:
        T: The value's type.
    """

    # SAFETY: the memory belongs to this value alone, and holds a T.
    var _pointer: OptionalPointer[Self.T, MutUntrackedOrigin]

    def __init__(out self):
        """Makes a box that is empty."""
        self._pointer = None

    @implicit
    def __init__(out self, var value: Self.T):
        """Makes a box around a value.

        Args:
            value: What it holds.
        """
        # SAFETY: the memory is new, and one T is written to it.
        var place = alloc(Layout[Self.T](count=1)).unsafe_leak()
        place.unsafe_write(value^)
        self._pointer = place

    def __init__(out self, *, copy: Self):
        """Makes a box with a copy of what another holds.

        Args:
            copy: The other.
        """
        self._pointer = None
        if copy:
            self = Self(copy.value().copy())

    def __deinit__(deinit self):
        """Ends what the box holds."""
        # SAFETY: `__init__` allocated it and wrote a T.
        if self._pointer:
            var place = self._pointer.value()
            place.unsafe_deinit_pointee()
            dealloc(
                Allocation(
                    unsafe_owned_ptr=place, layout=Layout[Self.T](count=1)
                )
            )

    @always_inline
    def __bool__(self) -> Bool:
        """Tells whether the box holds a value."""
        return Bool(self._pointer)

    @always_inline
    def value(ref self) -> ref[self] Self.T:
        """Lends the value, which may be changed where the box may; the program
        ends if the box is empty."""
        # SAFETY: the value lives as long as the box, whose origin is named.
        return (
            self._pointer.value()
            .unsafe_mut_cast[origin_of(self).mut]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )
