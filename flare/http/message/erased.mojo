"""A value of any type behind one pointer."""

from std.memory import Allocation, Layout, alloc, dealloc

comptime Erased = OpaquePointer[MutUntrackedOrigin]
"""Where a value is whose type only its makers know."""


def erase[T: Deinitable & Movable](var value: T) -> Erased:
    """Moves a value to the heap and forgets its type.

    Parameters:
        T: The type.

    Args:
        value: The value.

    Returns:
        Where it is; the caller owns it, and gives it to `destroy[T]`.
    """
    # SAFETY: the memory belongs to the caller from here on.
    var typed = alloc(Layout[T](count=1)).unsafe_leak()
    typed.unsafe_write(value^)
    return typed.unsafe_bitcast[NoneType]()


def destroy[T: Deinitable & Movable](value: Erased):
    """Ends a value.

    Parameters:
        T: The type that it was erased from.

    Args:
        value: What `erase[T]` gave; not used any more afterwards.
    """
    # SAFETY: the pointer was made from a `T` that is owned, and this is its end.
    var typed = value.unsafe_bitcast[T]()
    typed.unsafe_deinit_pointee()
    dealloc(Allocation(unsafe_owned_ptr=typed, layout=Layout[T](count=1)))
