"""Limits of the process."""

from flare.sys.errno import OsError, last_errno
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import external_call

comptime _RLIMIT_NOFILE = by_platform(7, 8)
comptime _MACOS_OPEN_MAX: UInt64 = 10_240


struct _Limit(Movable):
    """`struct rlimit`."""

    var soft: UInt64
    var hard: UInt64

    def __init__(out self):
        self.soft = 0
        self.hard = 0


def _read_limit() raises OsError -> _Limit:
    var limit = _Limit()
    if (
        external_call["getrlimit", Int32](
            Int32(_RLIMIT_NOFILE), Pointer(to=limit)
        )
        != 0
    ):
        raise OsError("getrlimit", last_errno())
    return limit^


def descriptor_limit() raises OsError -> Int:
    """Reads how many descriptors the process may have.

    Returns:
        The soft limit.

    Raises:
        OsError: If the kernel refuses.
    """
    # No limit at all is the largest number, which an Int cannot hold.
    return Int(min(_read_limit().soft, 1_000_000_000))


def raise_descriptor_limit() raises OsError:
    """Lets the process have as many descriptors as it may.

    Raises:
        OsError: If the kernel refuses; nothing has changed then.
    """
    var limit = _read_limit()
    if limit.soft >= limit.hard:
        return
    comptime if IS_MACOS:
        # The kernel's own bound (OPEN_MAX) is lower than the hard limit says.
        limit.hard = min(limit.hard, _MACOS_OPEN_MAX)
    set_descriptor_limit(Int(min(limit.hard, 1_000_000_000)))


def set_descriptor_limit(count: Int) raises OsError:
    """Changes how many descriptors the process may have.

    Args:
        count: The new soft limit, at most the hard limit.

    Raises:
        OsError: If it is over the hard limit.
    """
    var limit = _read_limit()
    limit.soft = UInt64(count)
    if (
        external_call["setrlimit", Int32](
            Int32(_RLIMIT_NOFILE), Pointer(to=limit)
        )
        != 0
    ):
        raise OsError("setrlimit", last_errno())
