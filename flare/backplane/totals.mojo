"""Figures of backplanes over all processes of a server."""

from flare.backplane.backplane import BackplaneCounts
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters
from flare.sys.process_gauge import ProcessGauge

comptime _SENT = 0
comptime _RECEIVED = 1
comptime _DROPPED = 2
comptime _REFUSED = 3
comptime _LOST = 4
comptime _REPEATED = 5
comptime _MALFORMED = 6
comptime _GAPS = 7
comptime _COUNTER_COUNT = 8


struct BackplaneTotals(Movable):
    """What all processes that were forked after its making have counted, also
    those that have ended; what waits is counted of those that live."""

    var _counters: SharedCounters
    var _waiting: ProcessGauge[1]

    def __init__(out self) raises OsError:
        self._counters = SharedCounters(_COUNTER_COUNT)
        self._waiting = ProcessGauge[1]()

    def tell(self, now: BackplaneCounts, mut told: BackplaneCounts):
        """Adds what this process has counted since it told `told`, which
        becomes `now`."""
        self._add(_SENT, now.sent, told.sent)
        self._add(_RECEIVED, now.received, told.received)
        self._add(_DROPPED, now.dropped, told.dropped)
        self._add(_REFUSED, now.refused, told.refused)
        self._add(_LOST, now.lost, told.lost)
        self._add(_REPEATED, now.repeated, told.repeated)
        self._add(_MALFORMED, now.malformed, told.malformed)
        self._add(_GAPS, now.gaps, told.gaps)
        if now.waiting != told.waiting:
            _ = self._waiting.add(now.waiting - told.waiting)
        told = now.copy()

    def _add(self, index: Int, now: Int, told: Int):
        if now != told:
            self._counters.add(index, now - told)

    def counts(self) -> BackplaneCounts:
        """Sums over all processes."""
        var sums = BackplaneCounts()
        sums.sent = self._counters.load(_SENT)
        sums.received = self._counters.load(_RECEIVED)
        sums.dropped = self._counters.load(_DROPPED)
        sums.refused = self._counters.load(_REFUSED)
        sums.lost = self._counters.load(_LOST)
        sums.repeated = self._counters.load(_REPEATED)
        sums.malformed = self._counters.load(_MALFORMED)
        sums.gaps = self._counters.load(_GAPS)
        sums.waiting = self._waiting.total()
        return sums^
