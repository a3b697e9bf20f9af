"""Error numbers of the kernel, and the error that carries one."""

from flare.bytes.text import Text
from flare.sys.platform import by_platform
from std.ffi import ErrNo, get_errno, set_errno

comptime EPERM = 1
"""Operation not permitted."""
comptime ENOENT = 2
"""No such file."""
comptime ESRCH = 3
"""There is no such process."""
comptime EINTR = 4
"""A signal came in between."""
comptime EBADF = 9
"""Not an open descriptor."""
comptime ECHILD = 10
"""No child process."""
comptime EAGAIN = by_platform(11, 35)
"""Nothing to do right now."""
comptime EACCES = 13
"""Permission denied."""
comptime ENOMEM = 12
"""There is no memory for it."""
comptime EBUSY = 16
"""In use."""
comptime EEXIST = 17
"""There already."""
comptime EFBIG = 27
"""A file would be longer than this process may make one."""
comptime ENOSPC = 28
"""There is no room left on the device."""
comptime ENODEV = 19
"""No such network interface."""
comptime ENOTDIR = 20
"""A part of the path is no folder."""
comptime EINVAL = 22
"""Invalid argument."""
comptime ENOSYS = by_platform(38, 78)
"""The system does not have the call."""
comptime ENODATA = by_platform(61, 96)
"""There are no octets, or less than there should be."""
comptime ENOTSUP = by_platform(95, 45)
"""Not possible with a file or socket of this kind."""
comptime ENFILE = 23
"""The system has no more open files."""
comptime EMFILE = 24
"""The process has no more descriptors."""
comptime EPIPE = 32
"""The other side no longer reads."""
comptime EDESTADDRREQ = by_platform(89, 39)
"""A datagram socket has no peer."""
comptime EMSGSIZE = by_platform(90, 40)
"""The datagram is larger than the socket takes."""
comptime EPROTOTYPE = by_platform(91, 41)
"""The socket at the address is of another kind."""
comptime EAFNOSUPPORT = by_platform(97, 47)
"""The system has no such address family."""
comptime EADDRINUSE = by_platform(98, 48)
"""The address is taken."""
comptime EADDRNOTAVAIL = by_platform(99, 49)
"""The address is not one of this machine's."""
comptime ENETDOWN = by_platform(100, 50)
"""The network is down."""
comptime ENETUNREACH = by_platform(101, 51)
"""No route to the network."""
comptime ECONNABORTED = by_platform(103, 53)
"""A waiting connection was given up by its peer."""
comptime ECONNRESET = by_platform(104, 54)
"""The peer reset the connection."""
comptime ENOTCONN = by_platform(107, 57)
"""The socket is not connected."""
comptime ETIMEDOUT = by_platform(110, 60)
"""The peer did not answer."""
comptime ECONNREFUSED = by_platform(111, 61)
"""Nothing listens there."""
comptime EHOSTDOWN = by_platform(112, 64)
"""The host is down."""
comptime EHOSTUNREACH = by_platform(113, 65)
"""No route to the host."""
comptime EINPROGRESS = by_platform(115, 36)
"""The connection is under way."""


@always_inline
def last_errno() -> Int:
    """Reads the calling thread's error number of the call before."""
    return Int(get_errno().value)


@always_inline
def result_of(count: Int) -> Int:
    """Gives what a call of the system has just answered: its count, or a negative
    errno where that is negative. `-EINTR` is for its caller to make it again."""
    return -last_errno() if count < 0 else count


@always_inline
def keep_errno(number: Int):
    """Puts an error number back, for code that may interrupt other code."""
    set_errno(ErrNo(Int32(number)))


@fieldwise_init
struct OsError(Copyable, Movable, Writable):

    var operation: StaticString
    var number: Int

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string(self.operation)
        writer.write_string(": ")
        writer.write_string(errno_text(self.number))


def errno_text(number: Int) -> String:
    """Describes an error number by a phrase, with the number."""
    return (
        Text().add(_phrase(number)).add(" (errno ").add(number).add(")").end()
    )


def _phrase(number: Int) -> StaticString:
    if number == EACCES or number == EPERM:
        return "permission denied"
    if number == EADDRINUSE:
        return "the address is in use"
    if number == EADDRNOTAVAIL:
        return "the address is not one of this machine's"
    if number == ECONNREFUSED:
        return "connection refused"
    if number == ECONNRESET:
        return "connection reset by the peer"
    if number == EPIPE:
        return "the peer no longer reads"
    if number == ETIMEDOUT:
        return "timed out"
    if number == EMFILE:
        return "the process has no more descriptors (raise its limit)"
    if number == ENFILE:
        return "the system has no more open files"
    if number == ENETUNREACH or number == EHOSTUNREACH:
        return "unreachable"
    if number == ENETDOWN or number == EHOSTDOWN:
        return "the network or the host is down"
    if number == EAGAIN:
        return "nothing to do right now"
    if number == ENOENT:
        return "no such file"
    if number == EEXIST:
        return "there is such a file already"
    if number == EFBIG:
        return "the file would be too large (see RLIMIT_FSIZE)"
    if number == ENOSPC:
        return "no space left on the device"
    if number == ENOTDIR:
        return "a part of the path is no folder"
    if number == ENODEV:
        return "no such network interface"
    if number == EBADF:
        return "closed already"
    if number == ENOTCONN:
        return "not connected"
    if number == EDESTADDRREQ:
        return "the socket has no peer"
    if number == EMSGSIZE:
        return "too large for one datagram"
    if number == EPROTOTYPE:
        return "the socket there is of another kind"
    if number == EAFNOSUPPORT:
        return "the system has no such address family"
    return "failed"
