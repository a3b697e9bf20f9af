"""Waiting for a few descriptors without a selector."""

from flare.sys.clock import Deadline
from flare.sys.errno import EINTR, last_errno
from std.ffi import external_call

comptime POLL_READ: Int16 = 0x1
"""Something can be read, or the other side has ended."""
comptime POLL_WRITE: Int16 = 0x4


@fieldwise_init
struct PollEntry(TrivialRegisterPassable):
    """A descriptor to wait for (`struct pollfd`)."""

    var number: Int32
    """The descriptor; entries with a negative one are passed over."""
    var wanted: Int16
    """`POLL_` constants, or-ed."""
    var found: Int16
    """What is ready: not 0, errors included, if the wait concerns it."""


def poll_descriptors(entries: MutSpan[PollEntry, _], timeout_ms: Int) -> Int:
    """Waits until one of some descriptors is ready, and fills in `found`;
    negative for ever. Returns how many are ready, 0 when the time is over, or a
    negative errno."""
    # nfds_t has 64 bits on Linux and 32 on macOS: the register serves both.
    var count = external_call["poll", Int32](
        entries.unsafe_ptr(), len(entries), Int32(timeout_ms)
    )
    return -last_errno() if count < 0 else Int(count)


def pause(time_ms: Int):
    """Waits, whatever signals come, in milliseconds."""
    # A descriptor that is none is passed over, so only the time ends it.
    _ = wait_for(-1, 0, Deadline(time_ms))


def wait_for(number: Int32, wanted: Int16, deadline: Deadline) -> Int:
    """Waits until a descriptor is ready for `POLL_` constants, or-ed; signals
    do not end the wait. Returns 1 when it is ready or has failed, 0 when the
    time is over, or a negative errno."""
    var entries = Array[PollEntry, 1](fill=PollEntry(number, wanted, 0))
    while True:
        var result = poll_descriptors(Span(entries), deadline.left_ms())
        if result != -EINTR:
            return result
