"""The kqueue calls of macOS. Checked on every platform, called on macOS only."""

from flare.sys.descriptor import Descriptor, close_on_exec
from flare.sys.errno import OsError, last_errno
from std.ffi import external_call
from std.memory import OptionalPointer

comptime EVFILT_READ: Int16 = -1
"""Octets, or the end of the stream, can be read."""
comptime EVFILT_WRITE: Int16 = -2
"""Octets can be written."""

comptime EV_ADD: UInt16 = 0x1
"""Starts watching, or changes what is watched."""
comptime EV_DELETE: UInt16 = 0x2
comptime EV_CLEAR: UInt16 = 0x20
"""Report changes only (edge-triggered)."""
comptime EV_RECEIPT: UInt16 = 0x40
"""Answer each change with its errno instead of with events."""
comptime EV_ERROR: UInt16 = 0x4000
"""The answer to a change; its `data` is an errno or 0."""
comptime EV_EOF: UInt16 = 0x8000
"""The peer has ended the direction that the filter watches."""


@fieldwise_init
struct KernelEvent(TrivialRegisterPassable):
    """A change to make or an event that came (`struct kevent`)."""

    var ident: UInt64
    var filter: Int16
    """An `EVFILT_` constant."""
    var flags: UInt16
    """`EV_` constants, or-ed."""
    var filter_flags: UInt32
    """The errno of a socket when the flags have `EV_EOF`."""
    var data: Int64
    """The errno of a change when the flags have `EV_ERROR`."""
    var token: UInt64
    """Handed back as it was registered."""

    comptime EMPTY = KernelEvent(0, 0, 0, 0, 0, 0)
    """Room for an answer."""


struct _Timeout:
    """`struct timespec`."""

    var seconds: Int
    var nanoseconds: Int

    def __init__(out self, timeout_ms: Int):
        self.seconds = timeout_ms // 1_000
        self.nanoseconds = timeout_ms % 1_000 * 1_000_000


struct KernelEvents(Movable):

    var _events: List[KernelEvent]

    def __init__(out self, capacity: Int):
        """Makes room for at most so many events at once."""
        self._events = List[KernelEvent](
            length=capacity, fill=KernelEvent.EMPTY
        )

    @always_inline
    def event(self, index: Int) -> KernelEvent:
        return self._events[index]

    def wait(mut self, kqueue: Int32, timeout_ms: Int) -> Int:
        """Waits for events: 0 does not wait, -1 has no end. Returns how many
        there are, or a negative errno."""
        var timeout = _Timeout(max(timeout_ms, 0))
        var bound = OptionalPointer[_Timeout, origin_of(timeout)](
            Pointer(to=timeout)
        )
        if timeout_ms < 0:
            bound = None
        return _kevent(kqueue, None, 0, Span(self._events), bound)


def create_kqueue() raises OsError -> Descriptor:
    var number = external_call["kqueue", Int32]()
    if number < 0:
        raise OsError("kqueue", last_errno())
    var kqueue = Descriptor(owned=number)
    close_on_exec(number)
    return kqueue^


def change_kqueue(kqueue: Int32, changes: MutSpan[KernelEvent, _]) -> Int:
    """Changes what a queue watches, with `EV_RECEIPT`; the answers come in
    place of the changes. Returns how many there are, or a negative errno."""
    var now = _Timeout(0)
    var bound = OptionalPointer[_Timeout, origin_of(now)](Pointer(to=now))
    # An answer is written after its change was read, so they may share memory.
    var change_list = changes.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    return _kevent(kqueue, change_list, len(changes), changes, bound)


def _kevent(
    kqueue: Int32,
    changes: OptionalPointer[KernelEvent, MutUntrackedOrigin],
    change_count: Int,
    room: MutSpan[KernelEvent, _],
    timeout: OptionalPointer[_Timeout, _],
) -> Int:
    var count = external_call["kevent", Int32](
        kqueue,
        changes,
        Int32(change_count),
        room.unsafe_ptr(),
        Int32(len(room)),
        timeout,
    )
    return -last_errno() if count < 0 else Int(count)
