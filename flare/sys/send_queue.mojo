"""What the kernel has still to deliver for a socket."""

from flare.sys.errno import OsError
from flare.sys.platform import IS_MACOS
from flare.sys.socket_option import SocketOption, get_option
from std.ffi import external_call

comptime _SIOCOUTQ: UInt = 0x5411
comptime _SO_NWRITE = SocketOption(0xFFFF, 0x1024)
# The same question on macOS.


def undelivered_len(number: Int32) -> Int:
    """Counts what was sent and has not arrived.

    A socket is not writable again before a good part of its buffer is free,
    which takes a slow peer minutes; this shrinks with all that it takes.

    Args:
        number: A connected stream socket.

    Returns:
        Octets that the peer's system has not acknowledged, for a Unix socket
        those that the peer has not read and what keeps them; 0 if unknown.
    """
    comptime if IS_MACOS:
        try:
            return get_option(number, _SO_NWRITE)
        except error:
            return 0
    else:
        var count = Int32(0)
        var result = external_call["ioctl", Int32](
            number, _SIOCOUTQ, Pointer(to=count)
        )
        return Int(count) if result == 0 else 0
