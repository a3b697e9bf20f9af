"""How much memory the answers of routes take: what a call of a handler may make is
known before it is begun.
"""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets

comptime UNKNOWN_LEN = -1
"""What is expected of a route that has not answered yet."""
comptime HALF_LIFE_MS = 60_000
"""After so long without an answer of such a length, half of it is expected."""
comptime _ROUTE_COUNT_MAX = 1_024
# More are not known; a router has as many as the program gives it.


@fieldwise_init
struct _Known(TrivialRegisterPassable):
    # SAFETY: the pattern belongs to the router, which outlives the worker.
    var route: StringSpan[ImmUntrackedOrigin]
    var length: Int
    var since_ms: Int

    def now_len(self, now_ms: Int) -> Int:
        var halves = (now_ms - self.since_ms) // HALF_LIFE_MS
        return self.length >> min(max(halves, 0), 62)


struct ResponseLengths(Defaultable, Movable):
    """The longest contents of late, by route.

    The longest and not the usual one: who wants much held asks for what is long.
    """

    var _routes: List[_Known]

    def note(
        mut self,
        route: StringSpan[ImmUntrackedOrigin],
        length: Int,
        now_ms: Int,
    ):
        """Takes note of an answer on a route, as the router lends it, by its
        content in memory; 0 if a source makes it."""
        var index = self._find(route)
        if index < 0:
            if len(self._routes) < _ROUTE_COUNT_MAX:
                self._routes.append(_Known(route, length, now_ms))
        elif length >= self._routes.at(index).now_len(now_ms):
            self._routes.at(index) = _Known(route, length, now_ms)

    def expected(
        self, route: StringSpan[ImmUntrackedOrigin], now_ms: Int
    ) -> Int:
        """Tells how much an answer on a route, as the router lends it, may be
        in bytes, or `UNKNOWN_LEN`."""
        var index = self._find(route)
        if index < 0:
            return UNKNOWN_LEN
        return self._routes.at(index).now_len(now_ms)

    def _find(self, route: StringSpan[ImmUntrackedOrigin]) -> Int:
        for index in range(len(self._routes)):
            ref other = self._routes.at(index).route
            if same_octets(other.as_bytes(), route.as_bytes()):
                return index
        return -1
