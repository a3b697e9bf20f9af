"""Routes whose handlers hold the loop: found, named in the log, and moved to
handler threads where their number is automatic.

The coarse clock is read at the end of a round, and within one that has several
events. If it has moved on, which it does every few milliseconds, the handlers of
the next few requests are timed each. So what is slow is found soon, and what is
quick pays for the look at a clock some thousand times a second at most, whatever
its rate. If a turn was long, handlers are timed until the one is called that was
called last in it; so are the first ones of connections that had to give way.
"""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.server.config import AUTOMATIC_THREADS, ServerConfig
from flare.http.message.request import no_route
from flare.sys.clock import coarse_monotonic_ms, monotonic_ns, thread_cpu_ns
from flare.sys.log import log_line
from flare.sys.usage import thread_wait_count

comptime _WARNING_COUNT_MAX = 1_000

comptime HELD_LONG_NS = 2_000_000
"""A handler that holds the loop for so long runs on a thread from then on."""
comptime QUICK_COUNT = 256
"""So many answers in turn must be quick before a route is called on the loop
again."""
comptime QUICK_FOR_MS = 10_000
"""They must have taken at least so long together, in milliseconds."""

comptime _TIMED_COUNT = 8
# Requests that are timed when the coarse clock has moved on.
comptime _FIRST_COUNT = 64
# Requests that are timed when a worker begins, or a round seems to be long.
comptime _LONG_ROUND_MS = 8
# So long is no mere step of the coarse clock, of which some are 4 ms.
comptime _SUSPECTED_COUNT = 1_024
# Requests that are timed at most until one is of the route that is suspected.


struct HandlerTimer(TrivialRegisterPassable):
    """What one call of a handler took of its thread.

    A thread that is interrupted in favour of others has not held anything: time
    counts if the handler worked for so long, or waited.
    """

    var _start_ns: Int
    var _cpu_ns: Int
    var _wait_count: Int

    def __init__(out self):
        self._start_ns = monotonic_ns()
        self._cpu_ns = thread_cpu_ns()
        self._wait_count = thread_wait_count()

    def elapsed_ns(self) -> Int:
        """Ends the measurement: how long the handler took; 0 if it was short
        but for interruptions."""
        var elapsed_ns = monotonic_ns() - self._start_ns
        if elapsed_ns < HELD_LONG_NS:
            return elapsed_ns
        var worked_long = thread_cpu_ns() - self._cpu_ns >= HELD_LONG_NS
        var wait_count = thread_wait_count()
        var waited = wait_count < 0 or wait_count > self._wait_count
        return elapsed_ns if worked_long or waited else 0


@fieldwise_init
struct _SlowRoute(ImplicitlyCopyable):
    # SAFETY: the pattern belongs to the router, which outlives the worker.
    var route: StringSpan[ImmUntrackedOrigin]
    var quick_since_ms: Int
    var quick_count: Int


struct SlowHandlers(Movable):
    """Finds the routes whose handlers hold the loop, and warns once of each."""

    var is_timing: Bool
    var _is_automatic: Bool
    var _has_threads: Bool
    var _limit_ms: Int
    # From how much on a round is looked into.
    var _look_ms: Int
    var _last_ms: Int
    # SAFETY: as for `_SlowRoute`.
    var _suspect: StringSpan[ImmUntrackedOrigin]
    var _suspected_left: Int
    var _count: Int
    var _timed_left: Int
    var _timer: HandlerTimer
    var _routes: List[_SlowRoute]
    var _warned: List[String]

    def __init__(out self, config: ServerConfig):
        """Makes a watch that has seen nothing."""
        self._is_automatic = config.handler_threads == AUTOMATIC_THREADS
        self._timed_left = _FIRST_COUNT if self._is_automatic else 0
        self.is_timing = self._is_automatic
        self._has_threads = config.handler_threads > 0
        self._limit_ms = config.slow_handler_ms
        if self._limit_ms == 0 or not config.logs_errors:
            self._limit_ms = NEVER
        self._look_ms = 1 if self._is_automatic else self._limit_ms
        self._last_ms = 0
        self._suspect = no_route()
        self._suspected_left = 0
        self._count = 0
        self._timer = HandlerTimer()
        self._routes = []
        self._warned = []

    @always_inline
    def begin_round(mut self, now_ms: Int, request_count: Int):
        """Notes how things are when events are there, and so many requests were
        answered."""
        self._last_ms = now_ms
        self._count = request_count

    def note_long_turn(mut self, route: StringSpan[ImmUntrackedOrigin]):
        """Times handlers until the next call of one that may have held the
        loop, and those of the other clients that wait for it now. The route is
        that of the request answered last."""
        if not self._is_automatic:
            return
        self._time(_FIRST_COUNT)
        if self._suspected_left == 0 and self._find(route) < 0:
            self._suspect = route
            self._suspected_left = _SUSPECTED_COUNT

    def time_next(mut self):
        if self._is_automatic:
            self._time(1)

    @always_inline
    def is_late(self) -> Bool:
        """Tells whether a round, at its end, took so long that it is to be
        looked into."""
        return coarse_monotonic_ms() - self._last_ms >= self._look_ms

    def end_late_round(
        mut self, route: StringSpan[ImmUntrackedOrigin], request_count: Int
    ):
        """Finds out whose fault a long round was, with so many requests
        answered, the last of them on a route."""
        var elapsed_ms = coarse_monotonic_ms() - self._last_ms
        var count = request_count - self._count
        if elapsed_ms < self._limit_ms:
            # The coarse clock has moved on, whether the round was long or not.
            self._time(_TIMED_COUNT)
        elif count == 0:
            self._warn_once(
                "",
                Text()
                .add("a stream or a WebSocket handler held the loop for ")
                .add(elapsed_ms)
                .add(" ms, and with it all connections of the worker: let it")
                .add(" do less at a time (so may very many connections that")
                .add(" end in the same moment)")
                .end(),
            )
        elif count == 1 and not self.is_timing:
            self._warn(route, elapsed_ms)
            if self._is_automatic:
                self._move(route)
        else:
            # What is slow is found again where it is looked for all the time.
            self._time(_FIRST_COUNT if self._is_automatic else Int.MAX)
        if elapsed_ms >= _LONG_ROUND_MS and count > 0:
            self.note_long_turn(route)

    def _time(mut self, count: Int):
        self._timed_left = max(self._timed_left, count)
        self.is_timing = True

    def begin_handler(mut self):
        self._timer = HandlerTimer()

    def end_handler(mut self, route: StringSpan[ImmUntrackedOrigin]):
        """Looks at the clock after the handler of a route."""
        if self._timed_left != Int.MAX:
            self._timed_left = max(0, self._timed_left - 1)
            if self._suspected_left > 0:
                self._suspected_left -= 1
                if same_octets(route.as_bytes(), self._suspect.as_bytes()):
                    self._suspected_left = 0
            self.is_timing = self._timed_left + self._suspected_left > 0
        var elapsed_ns = self._timer.elapsed_ns()
        if elapsed_ns >= HELD_LONG_NS and self._is_automatic:
            self._move(route)
        var elapsed_ms = elapsed_ns // 1_000_000
        if elapsed_ms >= self._limit_ms:
            self._warn(route, elapsed_ms)

    def has_moved_any(self) -> Bool:
        """Tells whether any route is called on a thread because it is slow."""
        return len(self._routes) > 0

    def is_moved(self, route: StringSpan[ImmUntrackedOrigin]) -> Bool:
        """Tells whether a route, as the router lends it, is called on a thread
        because it is slow."""
        return len(self._routes) > 0 and self._find(route) >= 0

    def note_elsewhere(
        mut self,
        route: StringSpan[ImmUntrackedOrigin],
        elapsed_ns: Int,
        now_ms: Int,
    ):
        """Notes how long a handler took on a thread; after many that were quick
        its route, as the router lends it, is called on the loop again."""
        var index = self._find(route)
        if index < 0:
            return
        ref slow = self._routes.at(index)
        if elapsed_ns >= HELD_LONG_NS:
            slow.quick_count = 0
            return
        if slow.quick_count == 0:
            slow.quick_since_ms = now_ms
        slow.quick_count += 1
        if (
            slow.quick_count >= QUICK_COUNT
            and now_ms - slow.quick_since_ms >= QUICK_FOR_MS
        ):
            _ = self._routes.pop(index)

    def _find(self, route: StringSpan[ImmUntrackedOrigin]) -> Int:
        for index in range(len(self._routes)):
            ref other = self._routes.at(index).route
            if same_octets(other.as_bytes(), route.as_bytes()):
                return index
        return -1

    def _move(mut self, route: StringSpan[ImmUntrackedOrigin]):
        if self._find(route) < 0:
            self._routes.append(_SlowRoute(route, 0, 0))
        if same_octets(route.as_bytes(), self._suspect.as_bytes()):
            self._suspected_left = 0

    def _warn(mut self, route: StringSpan, elapsed_ms: Int):
        var line = Text().add("the handler of route ")
        if route.byte_length() > 0:
            line = line^.add_escaped(route.as_bytes())
        else:
            line = line^.add("(none)")
        line = line^.add(" held the loop for ").add(elapsed_ms).add(" ms")
        line = line^.add(", and with it all connections of the worker; ")
        if self._is_automatic:
            line = line^.add("from now on it runs on a thread of its own,")
            line = line^.add(" unless its route says may_block=False")
        elif self._has_threads:
            line = line^.add("do not say may_block=False of it")
            line = line^.add(", so that it runs on a thread of its own")
        else:
            line = line^.add("do not set ServerConfig.handler_threads to 0")
            line = line^.add(", so that it runs on a thread of its own")
        self._warn_once(Text().add("route ").add(route).end(), line^.end())

    def _warn_once(mut self, key: String, line: String):
        for warned in self._warned:
            if same_octets(warned.as_bytes(), key.as_bytes()):
                return
        if len(self._warned) >= _WARNING_COUNT_MAX:
            return
        self._warned.append(key)
        log_line(line)
