"""The selector of Linux."""

from flare.runtime.event import Event, Interest
from flare.runtime.selector_contract import SelectorContract
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
from flare.sys.errno import EINTR, OsError


@always_inline
def epoll_mask(interest: Interest) -> UInt32:
    """Translates an interest for the kernel.

    Args:
        interest: What to watch for.

    Returns:
        `EPOLL` constants, or-ed.
    """
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
    """Translates the kernel's answer.

    Args:
        mask: `EPOLL` constants, or-ed.
        token: What was registered.

    Returns:
        The event.
    """
    comptime CLOSED = EPOLLHUP | EPOLLERR | EPOLLRDHUP
    return Event(
        token,
        (mask & (EPOLLIN | CLOSED)) != 0,
        (mask & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0,
        (mask & CLOSED) != 0,
    )


struct EpollSelector(Movable, SelectorContract):
    """Watches descriptors through epoll."""

    var _epoll: Descriptor
    var _events: EpollEvents

    def __init__(out self, capacity: Int) raises OsError:
        """Makes a selector.

        Args:
            capacity: Most events of one wait.

        Raises:
            OsError: If the kernel refuses.
        """
        self._epoll = create_epoll()
        self._events = EpollEvents(capacity)

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Starts watching a descriptor.

        Args:
            number: The descriptor; stays its owner's.
            token: Handed back with its events.
            interest: What to watch for.

        Raises:
            OsError: If it is watched already, or the kernel refuses.
        """
        control_epoll(
            self._epoll.fd(), EPOLL_ADD, number, epoll_mask(interest), token
        )

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Changes what a descriptor is watched for.

        Args:
            number: The descriptor.
            token: Handed back with its events from now on.
            interest: What to watch for.

        Raises:
            OsError: If it is not watched, or the kernel refuses.
        """
        control_epoll(
            self._epoll.fd(),
            EPOLL_MODIFY,
            number,
            epoll_mask(interest),
            token,
        )

    def deregister(mut self, number: Int32) raises OsError:
        """Stops watching a descriptor; closing it does so too.

        Args:
            number: The descriptor.

        Raises:
            OsError: If it is not watched.
        """
        control_epoll(self._epoll.fd(), EPOLL_DELETE, number, 0, 0)

    @always_inline
    def wait(mut self, timeout_ms: Int) raises OsError -> Int:
        """Waits for events.

        Args:
            timeout_ms: Longest wait; 0 does not wait, -1 has no end.

        Returns:
            How many there are; a signal in between gives 0.

        Raises:
            OsError: If the kernel refuses.
        """
        var count = self._events.wait(self._epoll.fd(), timeout_ms)
        if count < 0:
            if count == -EINTR:
                return 0
            raise OsError("epoll_wait", -count)
        return count

    @always_inline
    def event(self, index: Int) -> Event:
        """Reads one event of the last wait.

        Args:
            index: At least 0 and less than what `wait` answered.

        Returns:
            The event.
        """
        return event_of_epoll(
            self._events.events(index), self._events.token(index)
        )
