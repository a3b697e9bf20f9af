"""Random octets of the operating system, fit for keys."""

from flare.sys.errno import EINTR, OsError, last_errno
from std.ffi import external_call

# getentropy gives no more at once, on Linux and on macOS.
comptime _PIECE_LEN_MAX = 256


def fill_random(room: MutSpan[UInt8, _]) raises OsError:
    """Fills memory with octets that nobody can foretell.

    Args:
        room: What to fill.

    Raises:
        OsError: If the system has no such source.
    """
    var start = 0
    while start < len(room):
        var end = min(start + _PIECE_LEN_MAX, len(room))
        var piece = room[start:end]
        var result = external_call["getentropy", Int32](
            piece.unsafe_ptr(), len(piece)
        )
        if result == 0:
            start = end
        elif last_errno() != EINTR:
            raise OsError("getentropy", last_errno())
