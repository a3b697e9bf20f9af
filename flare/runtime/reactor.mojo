"""An event loop to build on: descriptors, timers and wake-ups in one wait.

    poll -> events by index -> next_expired until None -> poll

The reactor owns no descriptor but its own; whoever registers one closes it.
"""

from flare.bytes.checked import *
from flare.runtime.event import Event, Interest, Waker
from flare.runtime.selector import Selector
from flare.runtime.timer_wheel import DEADLINE_MAX_MS, TimerId, TimerWheel
from flare.sys.clock import monotonic_ms, monotonic_ns
from flare.sys.errno import EINVAL, OsError

comptime RESERVED_TOKEN = UInt64.MAX
"""The one token that callers cannot use: it is the waker's."""

comptime EVENT_COUNT_MAX = 512
"""Most events of one poll; the rest come with the next.

As many as a busy loop serves before its buffers leave the cache.
"""

comptime _WAIT_MAX_MS = 3_600_000
# The kernel takes 32 bits; an hour is far below and costs nothing.


struct Reactor(Movable):
    """Waits for descriptors, timers and other threads at once.

    Tokens are the caller's: a slot number with a generation above it tells a
    late event from one of a successor. For one thread; only `waker` leads in
    from others.
    """

    var _selector: Selector
    var _wheel: TimerWheel
    var _waker: Waker
    var _events: List[Event]
    var _now_ms: Int

    def __init__(out self) raises OsError:
        """Makes a reactor that watches nothing.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._selector = Selector(EVENT_COUNT_MAX)
        self._now_ms = monotonic_ms()
        self._wheel = TimerWheel(self._now_ms)
        self._waker = Waker()
        self._events = List[Event](capacity=EVENT_COUNT_MAX)
        self._selector.register(self._waker.fd(), RESERVED_TOKEN, Interest.READ)

    @no_inline
    def __deinit__(deinit self):
        return

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Starts watching a descriptor.

        Args:
            number: The descriptor; stays its owner's.
            token: Handed back with its events; not `RESERVED_TOKEN`.
            interest: What to watch for.

        Raises:
            OsError: If the token is reserved or the kernel refuses.
        """
        if token == RESERVED_TOKEN:
            raise OsError("register", EINVAL)
        self._selector.register(number, token, interest)

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Changes what a descriptor is watched for; the rest is as for
        `register`.

        Args:
            token: Handed back with its events from now on; not
                `RESERVED_TOKEN`.
        """
        if token == RESERVED_TOKEN:
            raise OsError("modify", EINVAL)
        self._selector.modify(number, token, interest)

    def deregister(mut self, number: Int32) raises OsError:
        """Stops watching a descriptor; do so before it is closed.

        Raises:
            OsError: If it is not watched.
        """
        self._selector.deregister(number)

    def waker(self) -> Waker:
        """Gives what ends a `poll` from another thread, which is to keep it."""
        return self._waker.copy()

    def insert_timer(mut self, delay_ms: Int, token: UInt64) -> TimerId:
        """Starts a timer, and gives its name; it never expires early.

        Args:
            delay_ms: Milliseconds from now.
            token: Handed back by `next_expired`.
        """
        # Rounded up, for the clock is read in whole milliseconds later on.
        var now_ms = (monotonic_ns() + 999_999) // 1_000_000
        var delay = min(max(delay_ms, 0), DEADLINE_MAX_MS)
        return self._wheel.insert(now_ms + delay, token)

    def cancel_timer(mut self, id: TimerId) -> Bool:
        """Stops a timer, and gives False if it has expired or was cancelled
        before.

        Args:
            id: Its name.
        """
        return self._wheel.cancel(id)

    def timer_count(self) -> Int:
        """Counts the timers that wait."""
        return len(self._wheel)

    def poll(mut self, timeout_ms: Int = -1) raises OsError -> Int:
        """Waits until a descriptor is ready, a timer expires or `wake` is
        called, and gives how many events there are for `event`.

        It may also return with nothing at all; call it again.

        Args:
            timeout_ms: Longest wait; 0 does not wait, -1 has no end.

        Raises:
            OsError: If the kernel refuses.
        """
        self._events.clear()
        var count = self._selector.wait(self._wait_ms(timeout_ms))
        self._now_ms = monotonic_ms()
        for index in range(count):
            var event = self._selector.event(index)
            if event.token == RESERVED_TOKEN:
                _ = self._waker.drain()
            else:
                self._events.append(event)
        return len(self._events)

    def event(self, index: Int) -> Event:
        """Reads one event of the last `poll`.

        Args:
            index: At least 0 and less than what `poll` answered.
        """
        return self._events.at(index)

    def next_expired(mut self) -> Optional[UInt64]:
        """Takes the token of one timer that had expired at the last `poll`,
        earliest first; None if no more have."""
        return self._wheel.next_expired(self._now_ms)

    def _wait_ms(self, timeout_ms: Int) -> Int:
        """Bounds a wait by the next timer and by what the kernel takes."""
        var wait_ms = min(timeout_ms, _WAIT_MAX_MS)
        var deadline = self._wheel.next_deadline_ms()
        if not deadline:
            return wait_ms
        var now_ms = monotonic_ms()
        var until_ms = min(max(deadline.held() - now_ms, 0), _WAIT_MAX_MS)
        return until_ms if wait_ms < 0 else min(until_ms, wait_ms)
