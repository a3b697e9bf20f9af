"""A window of content between a worker, which receives it, and the handler
thread that reads it.

    worker: put -> [window] -> reader: read
            pause  <- ring <-  (has taken something, or waits for the first)
"""

from flare.bytes.buffer import Buffer
from flare.http.message.body_reader import BodyError, BodyFeed
from flare.http.message.header_map import HeaderMap
from flare.http.message.stream_waker import StreamWaker
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.memory import ArcPointer

comptime WINDOW_LEN = 256 * 1024
"""How much content waits for a handler before the client is not read any more,
in bytes. Beside it the handler has as much in its hands, and the worker what
one read brings."""

comptime _WAIT_MS = 1_000
# The worker ends every wait; this bounds what a lost ring would cost.


struct _Window(Movable):
    """What both sides share, under the monitor's lock."""

    var monitor: Monitor
    var waiting: Buffer
    var trailers: HeaderMap
    var failure: Optional[BodyError]
    var is_complete: Bool
    # True if the reader is to ring when it wants more.
    var is_paused: Bool

    def __init__(out self, is_paused: Bool) raises OsError:
        self.monitor = Monitor()
        self.waiting = Buffer(0)
        self.trailers = HeaderMap()
        self.failure = None
        self.is_complete = False
        self.is_paused = is_paused


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


def _take(
    shared: ArcPointer[_Window], mut taken: Buffer, waker: StreamWaker
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
        if rings:
            window.monitor.unlock()
            waker.wake()
            window.monitor.lock()
        if len(taken) > 0:
            break
        # What has come while the lock was open is still to be taken.
        if len(window.waiting) > 0 or window.failure:
            continue
        if window.is_complete:
            break
        _ = window.monitor.wait_for(_WAIT_MS)
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

    def outlet(self, waker: StreamWaker) -> BodyOutlet:
        """Makes the handler's side.

        Args:
            waker: Wakes the worker for the connection.

        Returns:
            What the handler's thread reads from.
        """
        return BodyOutlet(self._shared, waker)


struct BodyOutlet(BodyFeed):
    """The handler's side of a window."""

    var _shared: ArcPointer[_Window]
    var _waker: StreamWaker
    var _taken: Buffer

    def __init__(out self, shared: ArcPointer[_Window], waker: StreamWaker):
        """Makes the handler's side.

        Args:
            shared: The window.
            waker: Wakes the worker for the connection.
        """
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
            _take(self._shared, self._taken, self._waker)
        var count = min(len(room), len(self._taken))
        room[:count].copy_from(self._taken.span()[:count])
        self._taken.consume(count)
        return count

    def has_failed(self) -> Bool:
        """Tells whether the content has failed.

        Returns:
            True if reads raise.
        """
        return _failure(self._shared).__bool__()

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields.

        Returns:
            The fields; none before the end.
        """
        self._shared[].monitor.lock()
        var trailers = self._shared[].trailers.copy()
        self._shared[].monitor.unlock()
        return trailers^
