"""Which messages of other processes have come: none twice, and how many are
missing; pure."""

from flare.bytes.checked import *
from std.collections import Dict

comptime ORIGIN_COUNT_MAX = 4_096


@fieldwise_init
struct _Origin(Copyable, Movable):
    var sequence: Int
    var heard_ms: Int


struct OriginTable(Defaultable, Movable, Sized):
    """The last message of each process."""

    var lost_count: Int
    """Messages that never came."""
    var repeated_count: Int
    """Messages that came again."""
    var _origins: Dict[UInt64, _Origin]

    def note(mut self, origin: UInt64, sequence: Int, now_ms: Int) -> Bool:
        """Takes note of a message; False if it has come before."""
        var last = self._origins.get(origin)
        if last:
            var known = last.value().sequence
            if sequence <= known:
                self.repeated_count += 1
                return False
            self.lost_count += sequence - known - 1
        elif len(self._origins) >= ORIGIN_COUNT_MAX:
            self._forget_oldest()
        self._origins[origin] = _Origin(sequence, now_ms)
        return True

    def last(self, origin: UInt64) -> Int:
        """Tells the number of the last message of a process; 0 if none has
        come."""
        var last = self._origins.get(origin)
        return last.value().sequence if last else 0

    def __len__(self) -> Int:
        """Counts the processes that are remembered."""
        return len(self._origins)

    def _forget_oldest(mut self):
        """Forgets the half that has been silent for the longest."""
        var times = List[Int]()
        for item in self._origins.values():
            times.append(item.heard_ms)
        sort(Span(times))
        var left_count = len(times) // 2
        var limit_ms = times.at(left_count)
        for time_ms in times:
            # Those of the last millisecond go only as far as needed.
            left_count -= Int(time_ms < limit_ms)
        var kept = Dict[UInt64, _Origin]()
        for item in self._origins.items():
            var is_oldest = item.value.heard_ms == limit_ms and left_count > 0
            left_count -= Int(is_oldest)
            if item.value.heard_ms >= limit_ms and not is_oldest:
                kept[item.key] = item.value.copy()
        self._origins = kept^
