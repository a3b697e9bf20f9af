"""Handlers that hold the loop, named in the log."""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.http.server.config import ServerConfig
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.log import log_line

comptime _WARNING_COUNT_MAX = 1_000


struct SlowHandlers(Movable):
    """Finds the routes whose handlers hold the loop, and warns once of each.

    The time is read once a round, at its end. A round that took too long and
    had one request tells whose fault it was. After one that had several, every
    handler is timed from then on: that costs a look at the clock for each
    request, but only where a handler is known to be slow.
    """

    var is_timing: Bool
    """True if every handler is timed."""
    var _limit_ms: Int
    var _has_threads: Bool
    var _last_ms: Int
    var _count: Int
    var _warned: List[String]

    def __init__(out self, config: ServerConfig):
        """Makes a watch that has seen nothing.

        Args:
            config: Says what is slow, and whether anything is logged.
        """
        self.is_timing = False
        self._limit_ms = config.slow_handler_ms
        if self._limit_ms == 0 or not config.logs_errors:
            self._limit_ms = Int.MAX
        self._has_threads = config.handler_threads > 0
        self._last_ms = 0
        self._count = 0
        self._warned = []

    @always_inline
    def begin_round(mut self, now_ms: Int, request_count: Int):
        """Notes how things are when events are there.

        Args:
            now_ms: The time.
            request_count: How many requests were answered so far.
        """
        self._last_ms = now_ms
        self._count = request_count

    @always_inline
    def is_late(self) -> Bool:
        """Looks at the clock at the end of a round.

        Returns:
            True if the round took too long, and nobody was found to have done
            it.
        """
        return coarse_monotonic_ms() - self._last_ms >= self._limit_ms

    def end_late_round(mut self, route: StringSpan, request_count: Int):
        """Finds out whose fault a long round was.

        Args:
            route: That of the request answered last.
            request_count: How many requests were answered so far.
        """
        var elapsed_ms = coarse_monotonic_ms() - self._last_ms
        var count = request_count - self._count
        if count == 1 and not self.is_timing:
            self._warn(route, elapsed_ms)
        elif count == 0:
            self._warn_once(
                "",
                Text()
                .add("a stream or a WebSocket handler held the loop for ")
                .add(elapsed_ms)
                .add(" ms, and with it all connections of the worker;")
                .add(" let it do less at a time")
                .end(),
            )
        else:
            self.is_timing = True

    def end_handler(mut self, route: StringSpan):
        """Looks at the clock behind a handler.

        Args:
            route: The one whose handler has just answered.
        """
        var now_ms = coarse_monotonic_ms()
        var elapsed_ms = now_ms - self._last_ms
        self._last_ms = now_ms
        if elapsed_ms >= self._limit_ms:
            self._warn(route, elapsed_ms)

    def _warn(mut self, route: StringSpan, elapsed_ms: Int):
        var line = Text().add("the handler of route ")
        if route.byte_length() > 0:
            line = line^.add_escaped(route.as_bytes())
        else:
            line = line^.add("(none)")
        line = line^.add(" held the loop for ").add(elapsed_ms).add(" ms")
        line = line^.add(", and with it all connections of the worker; ")
        if self._has_threads:
            line = line^.add("do not say may_block=False of it")
        else:
            line = line^.add("set ServerConfig.handler_threads")
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
