"""Numbers that no two things of a process share."""

from std.atomic import Atomic, Ordering
from std.ffi import _Global


def _nothing() -> Int64:
    return 0


# One for the whole process, whichever object asks; a fork's child goes on from
# what its parent had.
comptime _COUNT = _Global["flare.process_number", _nothing]


def next_process_number() raises -> UInt64:
    """Takes a number, from any thread.

    Returns:
        1, then 2, and so on: a number that this function has not returned in
        this process before.

    Raises:
        Error: If the process has no memory for the count.
    """
    return UInt64(
        Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            _COUNT.get_or_create_ptr(), 1
        )
        + 1
    )
