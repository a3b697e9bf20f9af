"""A window of content between a worker, which receives it, and the handler
elsewhere that reads it, a thread or an errand; and the memory that content takes,
counted.

    worker: put -> [window] -> reader: read
                <- ring, if the worker waits for it: `WindowState` says for what

Over HTTP/1.1 a full window stops the receiving. Over HTTP/2 the receiving goes on
for other streams: what is in the window is not given back to the client's
(`Http2Config.upload_window_size`), which bounds it, and each reading rings.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.body_reader import BodyError, BodyFeed
from flare.http.message.header_map import HeaderMap
from flare.http.message.body import StreamWaker
from flare.http.handler.later import ArrivingContent, LaterBell
from flare.sys.clock import monotonic_ns
from flare.sys.errno import OsError
from flare.sys.mutex import Condvar, Mutex
from std.atomic import Atomic
from std.memory import ArcPointer


struct BodyCharge(Movable):
    """What one connection's content takes of a worker's bound.

    It is taken off the sum when it goes, wherever the content ends: with its
    connection, or with a job elsewhere.
    """

    var length: Int
    """Bytes; `set` changes it."""
    var _sum: ArcPointer[Atomic[Int64]]

    def __init__(out self, sum: ArcPointer[Atomic[Int64]]):
        """Starts with nothing; the sum is of all content of the worker."""
        self.length = 0
        self._sum = sum.copy()

    def set(mut self, length: Int):
        _ = self._sum[].fetch_add(Int64(length - self.length))
        self.length = length

    def __deinit__(deinit self):
        """Takes it off the sum."""
        _ = self._sum[].fetch_add(Int64(-self.length))


comptime WINDOW_LEN = 256 * 1024
"""How much content waits for a handler before a client of HTTP/1.1 is not read
any more, in bytes. Beside it the handler has as much in its hands, and the worker
what one read brings."""

comptime STALL_MS = 2_000
"""How long a handler waits for its client in all, while others wait for a
thread, before the client has to have sent `min_body_rate`, in milliseconds.
A client that is not connected any more, or waits on purpose, is told apart from
a slow one within that time."""

comptime NOBODY_WAITS = StaticString("nobody waits for the response any more")
"""Why a handler's reads of content fail whose client has gone, or was answered
otherwise."""

comptime _WAIT_MS = 500
# The worker ends every wait, but for that of a client that is too slow.


struct ClientPace(Movable):
    """How fast a client sends while a handler waits for it."""

    var _demand: ArcPointer[Atomic[Int64]]
    var _rate: Int
    var _waited_ms: Int
    var _received_len: Int

    def __init__(out self, demand: ArcPointer[Atomic[Int64]], rate: Int):
        """Starts to count; `demand` requests wait for a thread, and a client
        has to send `rate` bytes a second."""
        self._demand = demand.copy()
        self._rate = max(rate, 1)
        self._waited_ms = 0
        self._received_len = 0

    def add(mut self, received_len: Int, waited_ms: Int):
        """Counts on, with what has come, and how long the handler has waited
        for it."""
        self._received_len += received_len
        self._waited_ms += waited_ms

    def is_too_slow(self) -> Bool:
        """Tells whether the thread is of more use to others: some wait, and the
        client has not sent at the rate."""
        if self._waited_ms < STALL_MS or self._demand[].load() == 0:
            return False
        return self._received_len * 1_000 < self._rate * self._waited_ms


@fieldwise_init
struct WindowState(Equatable, TrivialRegisterPassable):
    """What the worker waits for before it goes on with a window."""

    var number: UInt8

    comptime OPEN = WindowState(0)
    """Nothing: content is put as it comes."""
    comptime UNASKED = WindowState(1)
    """The first read, which asks the client for its content (`Expect:
    100-continue`)."""
    comptime FULL = WindowState(2)
    """Room: the client of HTTP/1.1 is not read until some is taken."""
    comptime LENT = WindowState(3)
    """That what is there is taken: until then the client of HTTP/2 misses it in
    its own window."""
    comptime LEFT = WindowState(4)
    """Nobody: there is no reader any more, and what is put is dropped."""

    comptime COUNT = 5

    @always_inline
    def rings(self) -> Bool:
        """Tells whether the reader is to ring when it takes what is there."""
        return self != Self.OPEN and self != Self.LEFT


@fieldwise_init
struct WindowEvent(Equatable, TrivialRegisterPassable):
    """What happens to a window."""

    var number: UInt8

    comptime PUT = WindowEvent(0)
    """Content was put, over HTTP/1.1, and there is room for more."""
    comptime FILLED = WindowEvent(1)
    """Content was put, over HTTP/1.1, and there is no room for more."""
    comptime PUT_LENT = WindowEvent(2)
    """Content was put, over HTTP/2."""
    comptime TAKEN = WindowEvent(3)
    """The reader has taken all that was there, or has found nothing."""
    comptime LEFT = WindowEvent(4)
    """The reader has gone."""

    comptime COUNT = 5


@fieldwise_init
struct _Row(TrivialRegisterPassable):
    var state: WindowState
    var event: WindowEvent
    var next: WindowState


# What is not here leaves the state as it is: a client that sends before it is asked
# has not been asked for that, and whoever has left stays away.
comptime _ROWS = [
    _Row(WindowState.OPEN, WindowEvent.FILLED, WindowState.FULL),
    _Row(WindowState.OPEN, WindowEvent.PUT_LENT, WindowState.LENT),
    _Row(WindowState.OPEN, WindowEvent.LEFT, WindowState.LEFT),
    _Row(WindowState.UNASKED, WindowEvent.TAKEN, WindowState.OPEN),
    _Row(WindowState.UNASKED, WindowEvent.LEFT, WindowState.LEFT),
    _Row(WindowState.FULL, WindowEvent.TAKEN, WindowState.OPEN),
    _Row(WindowState.FULL, WindowEvent.LEFT, WindowState.LEFT),
    _Row(WindowState.LENT, WindowEvent.TAKEN, WindowState.OPEN),
    _Row(WindowState.LENT, WindowEvent.LEFT, WindowState.LEFT),
]


def window_state_after(state: WindowState, event: WindowEvent) -> WindowState:
    """Tells what is waited for when something has happened."""
    comptime for index in range(len(_ROWS)):
        comptime ROW = _ROWS[index]
        if state == ROW.state and event == ROW.event:
            return ROW.next
    return state


struct _Window(Movable):
    """What waits for the reader, and what is known of the end."""

    var waiting: Buffer
    var trailers: HeaderMap
    var failure: Optional[BodyError]
    var is_complete: Bool
    var state: WindowState
    # The memory of what the reader has taken: of the buffer that it got in exchange
    # for its own, or the octets that were copied.
    var taken_len: Int
    # Tells an errand on the worker's own thread of what has come.
    var bell: Optional[LaterBell]
    # True if the reader goes on when the response has begun.
    var goes_on: Bool

    def __init__(out self, state: WindowState):
        self.waiting = Buffer(0)
        self.trailers = HeaderMap()
        self.failure = None
        self.is_complete = False
        self.state = state
        self.taken_len = 0
        self.bell = None
        self.goes_on = False

    def held_len(self) -> Int:
        return self.waiting.capacity() + self.taken_len

    def note(mut self, event: WindowEvent) -> Bool:
        """Takes note of what happened; True if the worker has waited for it."""
        var rings = self.state.rings()
        self.state = window_state_after(self.state, event)
        return rings


@fieldwise_init
struct _Shared(Copyable):
    """A window, and how its sides tell each other of a change."""

    var window: Mutex[_Window]
    var changed: Condvar

    def put(self, octets: Span[UInt8, _], rings: Bool) -> Bool:
        var window = self.window.lock()
        if window[].state == WindowState.LEFT:
            return True
        window[].waiting.append(octets)
        var is_full = len(window[].waiting) >= WINDOW_LEN
        var event = WindowEvent.FILLED if is_full else WindowEvent.PUT
        _ = window[].note(WindowEvent.PUT_LENT if rings else event)
        if window[].bell:
            window[].bell.held().ring()
        self.changed.notify_one()
        return not is_full

    def leave(self, waker: StreamWaker):
        """Drops what waits and what will come, of which the worker hears if it
        receives on after the head of the response."""
        var window = self.window.lock()
        window[].waiting = Buffer(0)
        window[].taken_len = 0
        var rings = window[].note(WindowEvent.LEFT) and window[].goes_on
        deinit(window^)
        if rings:
            waker.wake()

    def finish(self, var trailers: HeaderMap, var failure: Optional[BodyError]):
        var window = self.window.lock()
        if window[].is_complete or window[].failure:
            return
        window[].trailers = trailers^
        window[].is_complete = not failure.__bool__()
        window[].failure = failure^
        if window[].failure:
            window[].waiting = Buffer(0)
        if window[].bell:
            window[].bell.held().ring()
        self.changed.notify_one()
        deinit(window^)

    def take(
        self, mut taken: Buffer, waker: StreamWaker, mut pace: ClientPace
    ) raises BodyError:
        """Waits for content; takes none at the end alone."""
        taken.clear()
        while not self._try_take(taken, waker, pace):
            self._wait(pace)

    def take_now(
        self,
        mut out: Buffer,
        mut failure: Optional[BodyError],
        waker: StreamWaker,
    ) -> Bool:
        """Takes what is there without a wait; True at the end."""
        var window = self.window.lock()
        failure = window[].failure.copy()
        if len(out) == 0:
            swap(out, window[].waiting)
            window[].taken_len = out.capacity()
        else:
            out.append(window[].waiting.span())
            window[].taken_len = len(window[].waiting)
        window[].waiting.clear()
        var rings = window[].note(WindowEvent.TAKEN)
        var is_complete = window[].is_complete
        deinit(window^)
        if rings:
            waker.wake()
        return is_complete

    def _try_take(
        self, mut taken: Buffer, waker: StreamWaker, mut pace: ClientPace
    ) raises BodyError -> Bool:
        """Takes what is there; False if there may still come some."""
        var window = self.window.lock()
        if window[].failure:
            raise window[].failure.held().copy()
        var rings = window[].note(WindowEvent.TAKEN)
        swap(taken, window[].waiting)
        window[].taken_len = taken.capacity()
        var is_complete = window[].is_complete
        deinit(window^)
        if rings:
            waker.wake()
        pace.add(len(taken), 0)
        return len(taken) > 0 or is_complete

    def _wait(self, mut pace: ClientPace):
        """Waits for a change, for a while, unless there is one."""
        var window = self.window.lock()
        # What has come while the lock was open is still to be taken.
        if (
            len(window[].waiting) > 0
            or window[].failure
            or window[].is_complete
        ):
            return
        if pace.is_too_slow():
            window[].failure = BodyError(
                408, "the client sends too slowly, and others wait"
            )
            return
        var began_ns = monotonic_ns()
        _ = self.changed.wait_for(window, _WAIT_MS)
        pace.add(0, (monotonic_ns() - began_ns) // 1_000_000)


struct BodyPipe(Movable):
    """The worker's side of a window. When it goes, and no end was said, reads
    fail: whatever has ended the request, nobody waits for what does not come."""

    var _shared: _Shared

    def __init__(out self, *, waits_to_be_asked: Bool) raises OsError:
        """Makes an empty window; nothing is put before the handler reads if it
        `waits_to_be_asked`."""
        var state = WindowState.OPEN
        if waits_to_be_asked:
            state = WindowState.UNASKED
        self._shared = _Shared(Mutex(_Window(state)), Condvar())

    @no_inline
    def __deinit__(deinit self):
        """Has reads fail, unless the content is complete or has failed."""
        self._shared.finish(HeaderMap(), BodyError(503, String(NOBODY_WAITS)))

    def put(self, octets: Span[UInt8, _], *, rings: Bool = False) -> Bool:
        """Adds content; False if the window is full: the reader rings when it
        is not. With `rings`, it rings whenever it has taken some: the client of
        HTTP/2 waits for that."""
        return self._shared.put(octets, rings)

    def end(self, var trailers: HeaderMap):
        """Says that the content is complete."""
        self._shared.finish(trailers^, None)

    def fail(self, var error: BodyError):
        """Says that no more will come; what waits is dropped. Nothing happens
        if the content is complete, or has failed before."""
        self._shared.finish(HeaderMap(), error^)

    def is_asked_for(self) -> Bool:
        """Tells whether the client may be asked for its content, if it waits for
        that: the reader wants some, or has gone."""
        return self._state() != WindowState.UNASKED

    def has_room(self) -> Bool:
        """Tells whether a client of HTTP/1.1 is to be read: it was asked for its
        content, and the window is not full. The reader rings when that changes.
        """
        var state = self._state()
        return state != WindowState.UNASKED and state != WindowState.FULL

    def _state(self) -> WindowState:
        return self._shared.window.lock()[].state

    def goes_on(self) -> Bool:
        """Tells whether the reader has said that it takes more when the
        response has begun."""
        return self._shared.window.lock()[].goes_on

    def is_left(self) -> Bool:
        """Tells whether nobody reads any more: what is put is dropped."""
        return self._state() == WindowState.LEFT

    def waiting_len(self) -> Int:
        """Tells how much content waits for the handler."""
        return len(self._shared.window.lock()[].waiting)

    def held_len(self) -> Int:
        """Tells how many bytes the window takes, with what the handler has in
        its hands."""
        return self._shared.window.lock()[].held_len()

    def outlet(self, waker: StreamWaker, var pace: ClientPace) -> BodyOutlet:
        """Makes the handler's side; the pace tells when the client is too slow."""
        return BodyOutlet(self._shared.copy(), waker, pace^)


struct BodyOutlet(ArrivingContent, BodyFeed):
    """The handler's side of a window."""

    var _shared: _Shared
    var _waker: StreamWaker
    var _taken: Buffer
    var _pace: ClientPace

    def __init__(
        out self,
        var shared: _Shared,
        waker: StreamWaker,
        var pace: ClientPace,
    ):
        """Makes the handler's side; the pace tells when the client is too slow."""
        self._pace = pace^
        self._shared = shared^
        self._waker = waker.copy()
        self._taken = Buffer(0)

    def __deinit__(deinit self):
        """Lets the worker drop what is not read."""
        self._shared.leave(self._waker)

    def read(mut self, room: MutSpan[UInt8, _]) raises BodyError -> Int:
        """Waits for content and copies what is there into room that is not
        empty. Returns how many octets, 0 at the end."""
        if len(self._taken) == 0:
            self._shared.take(self._taken, self._waker, self._pace)
        var count = min(len(room), len(self._taken))
        room.before(count).copy_from(self._taken.span().before(count))
        self._taken.consume(count)
        return count

    def take(
        mut self, mut out: Buffer, mut failure: Optional[BodyError]
    ) -> Bool:
        """Appends what has arrived, without a wait, and tells whether that was
        all; more is received then. Sets `failure` if no more will come."""
        return self._shared.take_now(out, failure, self._waker)

    def set_bell(mut self, var bell: LaterBell):
        """Names who is told of what comes, on the worker's own thread."""
        self._shared.window.lock()[].bell = bell^

    def go_on(mut self, task: UInt64):
        """Goes on arriving when the response has begun; the task is told of
        what comes from now on, nobody if nobody was told before."""
        var window = self._shared.window.lock()
        window[].goes_on = True
        if window[].bell:
            window[].bell.held().task = task

    def failure(self) -> Optional[BodyError]:
        """Tells how the content has failed, if it has."""
        return self._shared.window.lock()[].failure.copy()

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields; none before the end."""
        return self._shared.window.lock()[].trailers.copy()
