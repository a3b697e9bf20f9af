"""The epoll calls of Linux."""

from flare.bytes.checked import *
from flare.sys.errno import OsError, last_errno
from flare.sys.descriptor import Descriptor
from std.ffi import external_call
from std.sys import CompilationTarget

comptime EPOLLIN: UInt32 = 1
"""Octets, or the end of the stream, can be read."""
comptime EPOLLOUT: UInt32 = 4
"""Octets can be written."""
comptime EPOLLERR: UInt32 = 8
"""The descriptor has an error."""
comptime EPOLLHUP: UInt32 = 0x10
"""Both directions have ended."""
comptime EPOLLRDHUP: UInt32 = 0x2000
"""The peer has ended its direction."""
comptime EPOLLEXCLUSIVE: UInt32 = 0x10000000
"""Wake one of several that watch the same descriptor; with EPOLLIN alone."""
comptime EPOLLET: UInt32 = 0x80000000
"""Report changes only (edge-triggered)."""

comptime EPOLL_ADD = 1
comptime EPOLL_DELETE = 2
comptime EPOLL_MODIFY = 3

comptime _EPOLL_CLOEXEC = 0o2000000

# `struct epoll_event` is 12 packed bytes on x86-64 and 16 elsewhere, where the
# second word is padding. Words of 32 bits need no packing.
comptime _EVENT_WORD_COUNT = 3 if CompilationTarget.is_x86() else 4
comptime _TOKEN_WORD = _EVENT_WORD_COUNT - 2


struct EpollEvents(Movable):
    """Room for the events of one wait, in the kernel's layout."""

    var _words: List[UInt32]
    var _capacity: Int

    def __init__(out self, capacity: Int):
        """Makes room for at most so many events at once."""
        self._words = List[UInt32](length=capacity * _EVENT_WORD_COUNT, fill=0)
        self._capacity = capacity

    @always_inline
    def events(self, index: Int) -> UInt32:
        """Reads what happened: `EPOLL` constants, or-ed."""
        return self._words.at(index * _EVENT_WORD_COUNT)

    @always_inline
    def token(self, index: Int) -> UInt64:
        """Reads whose event it is."""
        var word = index * _EVENT_WORD_COUNT + _TOKEN_WORD
        return UInt64(self._words.at(word)) | (
            UInt64(self._words.at(word + 1)) << 32
        )

    @always_inline
    def wait(mut self, epoll: Int32, timeout_ms: Int) -> Int:
        """Waits for events: 0 does not wait, -1 has no end. Returns how many
        there are, or a negative errno."""
        var count = external_call["epoll_wait", Int32](
            epoll,
            self._words.unsafe_ptr(),
            Int32(self._capacity),
            Int32(timeout_ms),
        )
        return -last_errno() if count < 0 else Int(count)


def create_epoll() raises OsError -> Descriptor:
    var number = external_call["epoll_create1", Int32](Int32(_EPOLL_CLOEXEC))
    if number < 0:
        raise OsError("epoll_create1", last_errno())
    return Descriptor(owned=number)


def control_epoll(
    epoll: Int32, operation: Int, number: Int32, events: UInt32, token: UInt64
) raises OsError:
    """Changes what an instance watches: `EPOLL_ADD`, `EPOLL_DELETE` or
    `EPOLL_MODIFY`. The kernel hands the token back."""
    var words = Array[UInt32, 4](fill=0)
    words[0] = events
    words[_TOKEN_WORD] = UInt32(token & 0xFFFFFFFF)
    words[_TOKEN_WORD + 1] = UInt32(token >> 32)
    if (
        external_call["epoll_ctl", Int32](
            epoll, Int32(operation), number, Pointer(to=words)
        )
        != 0
    ):
        raise OsError("epoll_ctl", last_errno())
