"""A window of content between a worker, which receives it, and the handler
thread that reads it; and the memory that content takes, counted.

    worker: put -> [window] -> reader: read
            pause  <- ring <-  (has taken something, or waits for the first)
"""

from flare.bytes.buffer import Buffer
from flare.http.message.body_reader import BodyError, BodyFeed
from flare.http.message.header_map import HeaderMap
from flare.http.message.body import StreamWaker
from flare.sys.clock import monotonic_ns
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.atomic import Atomic
from std.memory import ArcPointer


struct BodyCharge(Movable):
    """What one connection's content takes of a worker's bound.

    It is taken off the sum when it goes, wherever the content ends: with its
    connection, or with a job on another thread.
    """

    var length: Int
    """Bytes; `set` changes it."""
    var _sum: ArcPointer[Atomic[Int64]]

    def __init__(out self, sum: ArcPointer[Atomic[Int64]]):
        """Starts with nothing.

        Args:
            sum: What all content of the worker takes, in bytes.
        """
        self.length = 0
        self._sum = sum.copy()

    def set(mut self, length: Int):
        """Says how much it is now.

        Args:
            length: In bytes.
        """
        _ = self._sum[].fetch_add(Int64(length - self.length))
        self.length = length

    def __deinit__(deinit self):
        """Takes it off the sum."""
        _ = self._sum[].fetch_add(Int64(-self.length))


comptime WINDOW_LEN = 256 * 1024
"""How much content waits for a handler before the client is not read any more,
in bytes. Beside it the handler has as much in its hands, and the worker what
one read brings."""

comptime STALL_MS = 2_000
"""How long a handler waits for its client in all, while others wait for a
thread, before the client has to have sent `min_body_rate`, in milliseconds.
A client that is not connected any more, or waits on purpose, is told apart from
a slow one within that time."""

comptime _WAIT_MS = 500
# The worker ends every wait, but for that of a client that is too slow.


struct ClientPace(Movable):
    """How fast a client sends while a handler waits for it."""

    var _demand: ArcPointer[Atomic[Int64]]
    var _rate: Int
    var _waited_ms: Int
    var _received_len: Int

    def __init__(out self, demand: ArcPointer[Atomic[Int64]], rate: Int):
        """Starts to count.

        Args:
            demand: How many requests wait for a thread.
            rate: What a client has to send, in bytes a second.
        """
        self._demand = demand.copy()
        self._rate = max(rate, 1)
        self._waited_ms = 0
        self._received_len = 0

    def add(mut self, received_len: Int, waited_ms: Int):
        """Counts on.

        Args:
            received_len: What has come, in bytes.
            waited_ms: How long the handler has waited.
        """
        self._received_len += received_len
        self._waited_ms += waited_ms

    def is_too_slow(self) -> Bool:
        """Tells whether the thread is of more use to others.

        Returns:
            True if some wait, and the client has not sent at the rate.
        """
        if self._waited_ms < STALL_MS or self._demand[].load() == 0:
            return False
        return self._received_len * 1_000 < self._rate * self._waited_ms


struct _Window(Movable):
    """What both sides share, under the monitor's lock."""

    var monitor: Monitor
    var waiting: Buffer
    var trailers: HeaderMap
    var failure: Optional[BodyError]
    var is_complete: Bool
    # True if the reader is to ring when it wants more.
    var is_paused: Bool
    # The memory of what the reader has taken.
    var taken_len: Int

    def __init__(out self, is_paused: Bool) raises OsError:
        self.monitor = Monitor()
        self.waiting = Buffer(0)
        self.trailers = HeaderMap()
        self.failure = None
        self.is_complete = False
        self.is_paused = is_paused
        self.taken_len = 0


# As in the handler pool, locked values are reached by their counted pointer.


def _put(shared: ArcPointer[_Window], octets: Span[UInt8, _]) -> Bool:
    ref window = shared[]
    window.monitor.lock()
    window.waiting.append(octets)
    window.is_paused = len(window.waiting) >= WINDOW_LEN
    var has_room = not window.is_paused
    window.monitor.ring()
    window.monitor.unlock()
    return has_room


def _finish(
    shared: ArcPointer[_Window],
    var trailers: HeaderMap,
    var failure: Optional[BodyError],
):
    ref window = shared[]
    window.monitor.lock()
    if not window.is_complete and not window.failure:
        window.trailers = trailers^
        window.is_complete = not failure.__bool__()
        window.failure = failure^
        if window.failure:
            window.waiting = Buffer(0)
    window.monitor.ring()
    window.monitor.unlock()


def _is_paused(shared: ArcPointer[_Window]) -> Bool:
    shared[].monitor.lock()
    var is_paused = shared[].is_paused
    shared[].monitor.unlock()
    return is_paused


def _failure(shared: ArcPointer[_Window]) -> Optional[BodyError]:
    shared[].monitor.lock()
    var failure = shared[].failure.copy()
    shared[].monitor.unlock()
    return failure^


def _held_len(shared: ArcPointer[_Window]) -> Int:
    shared[].monitor.lock()
    var length = shared[].waiting.capacity() + shared[].taken_len
    shared[].monitor.unlock()
    return length


def _take(
    shared: ArcPointer[_Window],
    mut taken: Buffer,
    waker: StreamWaker,
    mut pace: ClientPace,
) raises BodyError:
    """Waits for content; takes none at the end alone."""
    ref window = shared[]
    var failure = Optional[BodyError](None)
    taken.clear()
    window.monitor.lock()
    while True:
        if window.failure:
            failure = window.failure.copy()
            break
        var rings = window.is_paused
        window.is_paused = False
        swap(taken, window.waiting)
        window.taken_len = taken.capacity()
        if rings:
            window.monitor.unlock()
            waker.wake()
            window.monitor.lock()
        if len(taken) > 0:
            pace.add(len(taken), 0)
            break
        # What has come while the lock was open is still to be taken.
        if len(window.waiting) > 0 or window.failure:
            continue
        if window.is_complete:
            break
        if pace.is_too_slow():
            window.failure = BodyError(
                408, "the client sends too slowly, and others wait"
            )
            continue
        var began_ns = monotonic_ns()
        _ = window.monitor.wait_for(_WAIT_MS)
        pace.add(0, (monotonic_ns() - began_ns) // 1_000_000)
    window.monitor.unlock()
    if failure:
        raise failure.take()


struct BodyPipe(Copyable, Movable):
    """The worker's side of a window."""

    var _shared: ArcPointer[_Window]

    def __init__(out self, *, waits_to_be_asked: Bool) raises OsError:
        """Makes an empty window.

        Args:
            waits_to_be_asked: True if nothing is put before the handler reads.

        Raises:
            OsError: If the system has no more locks.
        """
        self._shared = ArcPointer(_Window(waits_to_be_asked))

    def put(self, octets: Span[UInt8, _]) -> Bool:
        """Adds content.

        Args:
            octets: What has arrived.

        Returns:
            False if the window is full: the reader rings when it is not.
        """
        return _put(self._shared, octets)

    def end(self, var trailers: HeaderMap):
        """Says that the content is complete.

        Args:
            trailers: The trailer fields.
        """
        _finish(self._shared, trailers^, None)

    def fail(self, var error: BodyError):
        """Says that no more will come; what waits is dropped. Nothing happens
        if the content is complete, or has failed before.

        Args:
            error: What the handler's reads raise.
        """
        _finish(self._shared, HeaderMap(), error^)

    def is_paused(self) -> Bool:
        """Tells whether the reader will ring when it wants more.

        Returns:
            False once it has rung.
        """
        return _is_paused(self._shared)

    def held_len(self) -> Int:
        """Tells how much memory the window takes.

        Returns:
            Bytes, with what the handler has in its hands.
        """
        return _held_len(self._shared)

    def outlet(self, waker: StreamWaker, var pace: ClientPace) -> BodyOutlet:
        """Makes the handler's side.

        Args:
            waker: Wakes the worker for the connection.
            pace: Tells when the client is too slow.

        Returns:
            What the handler's thread reads from.
        """
        return BodyOutlet(self._shared, waker, pace^)


struct BodyOutlet(BodyFeed):
    """The handler's side of a window."""

    var _shared: ArcPointer[_Window]
    var _waker: StreamWaker
    var _taken: Buffer
    var _pace: ClientPace

    def __init__(
        out self,
        shared: ArcPointer[_Window],
        waker: StreamWaker,
        var pace: ClientPace,
    ):
        """Makes the handler's side.

        Args:
            shared: The window.
            waker: Wakes the worker for the connection.
            pace: Tells when the client is too slow.
        """
        self._pace = pace^
        self._shared = shared.copy()
        self._waker = waker.copy()
        self._taken = Buffer(0)

    def read(mut self, room: MutSpan[UInt8, _]) raises BodyError -> Int:
        """Waits for content and copies what is there.

        Args:
            room: Where to; not empty.

        Returns:
            How many octets, 0 at the end.

        Raises:
            BodyError: What the worker says.
        """
        if len(self._taken) == 0:
            _take(self._shared, self._taken, self._waker, self._pace)
        var count = min(len(room), len(self._taken))
        room[:count].copy_from(self._taken.span()[:count])
        self._taken.consume(count)
        return count

    def failure(self) -> Optional[BodyError]:
        """Tells how the content has failed.

        Returns:
            What reads raise; nothing if it has not.
        """
        return _failure(self._shared)

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields.

        Returns:
            The fields; none before the end.
        """
        self._shared[].monitor.lock()
        var trailers = self._shared[].trailers.copy()
        self._shared[].monitor.unlock()
        return trailers^
