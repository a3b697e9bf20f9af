"""Which address a call begins with, by what has come of the calls before it;
without clock and socket."""

from flare.bytes.checked import *
from flare.sys.backoff import Backoff

comptime MISS_FIRST_MS = 1_000
"""For how long an address that was not reached is passed over, the first time, in
milliseconds (connection-backoff.md of gRPC)."""

comptime MISS_MAX_MS = 120_000
"""The longest that it is, in milliseconds, after several times in turn."""


@fieldwise_init
struct _Misses(TrivialRegisterPassable):
    """What is known of an address."""

    # How often in turn it was not reached.
    var count: Int
    # Until when it is passed over.
    var until_ms: Int
    # When it has last answered.
    var reached_ms: Int


struct AddressTurns(Movable):
    """The addresses of a channel, by their numbers.

    One that was not reached is passed over for a while, as long as there is
    another one: a call would wait for it as long as it takes to connect, and may
    have no more time than that. When that is over, one call tries it, and the
    others go on without it. So it is with one of those that calls are spread
    over, if it was silent for as long as the first time is: what it has may be
    connections that lead nowhere. Times are in milliseconds of a clock that does
    not go back.
    """

    # Whether each call goes to another one.
    var _spreads: Bool
    # Whose turn is next; without `_spreads` that which was reached last, or the one
    # behind one that was not.
    var _turn: Int
    var _misses: List[_Misses]

    def __init__(out self, count: Int, *, spreads: Bool):
        """Takes so many addresses, 1 or more, of which nothing is known."""
        self._spreads = spreads
        self._turn = 0
        self._misses = List[_Misses](length=count, fill=_Misses(0, 0, 0))

    def first(mut self, now_ms: Int) -> Int:
        """Chooses the address that a call, or another attempt of one, begins
        with."""
        var count = len(self._misses)
        var chosen = self._turn
        for step in range(count):
            var address = (self._turn + step) % count
            ref misses = self._misses.at(address)
            if misses.count == 0:
                var silent_ms = now_ms - misses.reached_ms
                misses.count = Int(self._spreads and silent_ms >= MISS_FIRST_MS)
            elif now_ms < misses.until_ms:
                continue
            if misses.count > 0:
                # One call tries it; the others do not wait with that.
                misses.until_ms = now_ms + _pause_ms(misses.count)
            chosen = address
            break
        if self._spreads:
            self._turn = (chosen + 1) % count
        return chosen

    def note_reached(mut self, address: Int, now_ms: Int):
        """Takes note that an address has answered."""
        self._misses.at(address) = _Misses(0, 0, now_ms)
        if not self._spreads:
            self._turn = address

    def note_missed(mut self, address: Int, now_ms: Int):
        """Takes note that there was no connection to an address."""
        ref misses = self._misses.at(address)
        misses.count += 1
        misses.until_ms = now_ms + _pause_ms(misses.count)
        if not self._spreads and self._turn == address:
            self._turn = (address + 1) % len(self._misses)


def _pause_ms(count: Int) -> Int:
    return Backoff(MISS_FIRST_MS, MISS_MAX_MS).longest_ms(count)
