"""Sending a part of a file without a copy of it in the program."""

from flare.sys.errno import EAGAIN, EINTR, last_errno
from flare.sys.platform import IS_MACOS
from std.ffi import external_call
from std.memory import OptionalPointer


def send_file(socket: Int32, file: Int32, offset: Int, length: Int) -> Int:
    """Writes octets of a file to a socket, as they lie there.

    The file's own position is neither used nor changed, so several threads may
    send from one descriptor. On Linux a closed peer raises SIGPIPE, which the
    program must ignore: there is no flag against it.

    Args:
        socket: A connected stream socket.
        file: A regular file.
        offset: Where the octets begin, in bytes from the file's start.
        length: How many they are; more than 0.

    Returns:
        How many were taken, 0 at the end of the file, or a negative errno;
        `-EINVAL`, `-ENOSYS` or `-ENOTSUP` where files of this kind cannot be
        sent and have to be read.
    """
    comptime if IS_MACOS:
        # How many are wanted, and then how many were taken.
        var count = length
        var nothing: OptionalPointer[UInt8, MutUntrackedOrigin] = None
        var result = external_call["sendfile", Int32](
            file, socket, offset, Pointer(to=count), nothing, Int32(0)
        )
        if result == 0:
            return count
        var number = last_errno()
        # A part may have gone before the socket was full.
        if (number == EAGAIN or number == EINTR) and count > 0:
            return count
        return -number
    else:
        # The C library's other name for it: its arguments differ from those
        # of macOS, and a symbol can be declared once.
        var start = offset
        var count = external_call["sendfile64", Int](
            socket, file, Pointer(to=start), length
        )
        return -last_errno() if count < 0 else count
