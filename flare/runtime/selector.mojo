"""Waiting for many descriptors: epoll and kqueue behind one name."""

from flare.bytes.checked import *
from flare.runtime.event import Event, Interest, SelectorContract
from flare.sys.descriptor import Descriptor
from flare.sys.epoll import (
    EPOLLERR,
    EPOLLET,
    EPOLLEXCLUSIVE,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    EPOLLRDHUP,
    EPOLL_ADD,
    EPOLL_DELETE,
    EPOLL_MODIFY,
    EpollEvents,
    control_epoll,
    create_epoll,
)
from flare.sys.errno import EINTR, ENOENT, OsError
from flare.sys.kqueue import (
    EVFILT_READ,
    EVFILT_WRITE,
    EV_ADD,
    EV_CLEAR,
    EV_DELETE,
    EV_EOF,
    EV_ERROR,
    EV_RECEIPT,
    KernelEvent,
    KernelEvents,
    change_kqueue,
    create_kqueue,
)
from flare.sys.platform import IS_MACOS


@always_inline
def epoll_mask(interest: Interest) -> UInt32:
    """Translates an interest to `EPOLL` constants, or-ed."""
    var mask = UInt32(0)
    if interest.has(Interest.EXCLUSIVE):
        # The kernel refuses the flag together with others that we use.
        return EPOLLIN | EPOLLEXCLUSIVE
    if interest.has(Interest.READ):
        mask |= EPOLLIN | EPOLLRDHUP
    if interest.has(Interest.WRITE):
        mask |= EPOLLOUT
    if interest.has(Interest.EDGE):
        mask |= EPOLLET
    return mask


@always_inline
def event_of_epoll(mask: UInt32, token: UInt64) -> Event:
    """Translates the kernel's `EPOLL` constants, or-ed."""
    comptime CLOSED = EPOLLHUP | EPOLLERR | EPOLLRDHUP
    return Event(
        token,
        (mask & (EPOLLIN | CLOSED)) != 0,
        (mask & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0,
        (mask & CLOSED) != 0,
        (mask & EPOLLERR) != 0,
    )


struct EpollSelector(Movable, SelectorContract):
    """Watches descriptors through epoll."""

    var _epoll: Descriptor
    var _events: EpollEvents

    def __init__(out self, capacity: Int) raises OsError:
        self._epoll = create_epoll()
        self._events = EpollEvents(capacity)

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Starts watching a descriptor; raises if it is watched already."""
        control_epoll(
            self._epoll.fd(), EPOLL_ADD, number, epoll_mask(interest), token
        )

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Changes what a descriptor is watched for; raises if it is not
        watched."""
        control_epoll(
            self._epoll.fd(),
            EPOLL_MODIFY,
            number,
            epoll_mask(interest),
            token,
        )

    def deregister(mut self, number: Int32) raises OsError:
        control_epoll(self._epoll.fd(), EPOLL_DELETE, number, 0, 0)

    @always_inline
    def wait(mut self, timeout_ms: Int) raises OsError -> Int:
        var count = self._events.wait(self._epoll.fd(), timeout_ms)
        if count < 0:
            if count == -EINTR:
                return 0
            raise OsError("epoll_wait", -count)
        return count

    @always_inline
    def event(self, index: Int) -> Event:
        return event_of_epoll(
            self._events.events(index), self._events.token(index)
        )


comptime FilterChanges = Array[KernelEvent, 2]
"""The changes of one descriptor: its read filter, then its write filter."""


def changes_of_interest(
    number: Int32, token: UInt64, interest: Interest
) -> FilterChanges:
    """Translates an interest for the kernel; a filter that is not in it is
    deleted."""
    var changes = FilterChanges(fill=KernelEvent.EMPTY)
    changes[0] = _change(
        number, EVFILT_READ, token, interest, interest.has(Interest.READ)
    )
    changes[1] = _change(
        number, EVFILT_WRITE, token, interest, interest.has(Interest.WRITE)
    )
    return changes^


def _change(
    number: Int32,
    filter: Int16,
    token: UInt64,
    interest: Interest,
    is_watched: Bool,
) -> KernelEvent:
    var flags = EV_RECEIPT | (EV_ADD if is_watched else EV_DELETE)
    if is_watched and interest.has(Interest.EDGE):
        flags |= EV_CLEAR
    return KernelEvent(UInt64(number), filter, flags, 0, 0, token)


def refusal_of_receipts(changes: FilterChanges, receipts: FilterChanges) -> Int:
    """Reads the kernel's answers to changes, in the same order. Returns the
    first errno that counts, or 0. To delete a filter that is not there is no
    error, unless nothing else was asked for: then the descriptor was not
    watched at all."""
    var missing_count = 0
    for index in range(2):
        if (receipts.at(index).flags & EV_ERROR) == 0:
            continue
        var number = Int(receipts.at(index).data)
        var is_deletion = (changes.at(index).flags & EV_DELETE) != 0
        if is_deletion and number == ENOENT:
            missing_count += 1
        elif number != 0:
            return number
    return ENOENT if missing_count == 2 else 0


@always_inline
def event_of_kernel_event(event: KernelEvent) -> Event:
    """Translates the kernel's event, for reading or for writing."""
    var has_error = (event.flags & EV_ERROR) != 0
    return Event(
        event.token,
        has_error or event.filter == EVFILT_READ,
        has_error or event.filter == EVFILT_WRITE,
        has_error or (event.flags & EV_EOF) != 0,
        # What ends with an error has it in the filter's flags.
        has_error or ((event.flags & EV_EOF) != 0 and event.filter_flags != 0),
    )


struct KqueueSelector(Movable, SelectorContract):
    """Watches descriptors through kqueue.

    Reading and writing come as two events with one token.
    """

    var _kqueue: Descriptor
    var _events: KernelEvents

    def __init__(out self, capacity: Int) raises OsError:
        self._kqueue = create_kqueue()
        self._events = KernelEvents(capacity)

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        self.modify(number, token, interest)

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        var changes = changes_of_interest(number, token, interest)
        var receipts = changes.copy()
        var count = change_kqueue(self._kqueue.fd(), Span(receipts))
        if count < 0:
            raise OsError("kevent", -count)
        var refusal = refusal_of_receipts(changes, receipts)
        if refusal != 0:
            raise OsError("kevent", refusal)

    def deregister(mut self, number: Int32) raises OsError:
        self.modify(number, 0, Interest.NONE)

    def wait(mut self, timeout_ms: Int) raises OsError -> Int:
        var count = self._events.wait(self._kqueue.fd(), timeout_ms)
        if count < 0:
            if count == -EINTR:
                return 0
            raise OsError("kevent", -count)
        return count

    @always_inline
    def event(self, index: Int) -> Event:
        return event_of_kernel_event(self._events.event(index))


comptime Selector = KqueueSelector if IS_MACOS else EpollSelector
"""What watches descriptors here; its contract is `SelectorContract`."""
