"""Values whose type only their makers know: how a table of functions holds what it
was made for.
"""

from std.memory import (
    Allocation,
    ArcPointer,
    Layout,
    alloc,
    dealloc,
    forget_deinit,
)
from std.sys import size_of

comptime Erased = OpaquePointer[MutUntrackedOrigin]
"""Where a value is whose type only its makers know."""


def erase[T: Deinitable & Movable](var value: T) -> Erased:
    """Moves a value to the heap and forgets its type. The caller owns it, and
    gives it to `destroy[T]`."""
    # SAFETY: the memory belongs to the caller from here on.
    var typed = alloc(Layout[T](count=1)).unsafe_leak()
    typed.unsafe_write(value^)
    return typed.unsafe_bitcast[NoneType]()


def destroy[T: Deinitable & Movable](value: Erased):
    """Ends a value that `erase[T]` gave; it is not used any more afterwards."""
    # SAFETY: the pointer was made from a `T` that is owned, and this is its end.
    var typed = value.unsafe_bitcast[T]()
    typed.unsafe_deinit_pointee()
    dealloc(Allocation(unsafe_owned_ptr=typed, layout=Layout[T](count=1)))


struct ErasedBox(Movable):
    """Owns a value whose type only its makers know.

    It dies with its last use as any value: who calls with `at` in its own
    `__deinit__` uses this once more after that.
    """

    # SAFETY: owned by this value, which ends it with the function beside it.
    var at: Erased
    """Where it is, while this is."""
    var _destroy: def(Erased) thin -> None

    def __init__[T: Deinitable & Movable](out self, var value: T):
        self.at = erase(value^)
        self._destroy = destroy[T]

    def __deinit__(deinit self):
        self._destroy(self.at)


def erase_counted[T: Deinitable & Movable](var held: ArcPointer[T]) -> Erased:
    """Forgets the type of a counted pointer; unlike `erase`, it needs no
    memory. Returns the pointer's own octets; the caller owns them, and gives
    them to `drop_counted[T]`."""
    comptime assert size_of[ArcPointer[T]]() == size_of[Erased]()
    # SAFETY: the count that `held` has goes over to the result.
    var octets = Pointer(to=held).unsafe_bitcast[Erased]()[]
    forget_deinit(held^)
    return octets


def counted[T: Deinitable & Movable](held: Erased) -> ArcPointer[T]:
    """Copies a counted pointer that `erase_counted[T]` gave."""
    # SAFETY: the octets are those of such a pointer, see `erase_counted`.
    var octets = held
    return Pointer(to=octets).unsafe_bitcast[ArcPointer[T]]()[].copy()


def drop_counted[T: Deinitable & Movable](held: Erased):
    """Ends a counted pointer that `erase_counted[T]` gave; it is not used any
    more afterwards."""
    # SAFETY: as for `counted`, and this is the end of it.
    var octets = held
    Pointer(to=octets).unsafe_bitcast[ArcPointer[T]]().unsafe_deinit_pointee()


def notify_counted[
    T: Deinitable & Movable, method: def(ArcPointer[T]) thin -> None
](held: Erased):
    """Calls a method with the counted pointer that `erase_counted[T]` gave. Its copy
    outlives the call, in which the first one may go."""
    # SAFETY: the copy outlives the call.
    var owner = counted[T](held)
    method(owner)
    _ = owner^


def tell_counted[
    A: AnyType,
    T: Deinitable & Movable,
    method: def(ArcPointer[T], A) thin -> None,
](held: Erased, what: A):
    """Does what `notify_counted` does, for a method that is told something."""
    # SAFETY: as above.
    var owner = counted[T](held)
    method(owner, what)
    _ = owner^
