"""Ids of traces and spans."""

from flare.bytes.checked import *
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters
from flare.sys.random import fill_random
from flare.trace.core.context import TraceContext

comptime _GOLDEN = UInt64(0x9E3779B97F4A7C15)


struct IdSource(Movable):
    """Makes ids that are spread evenly, which sampling by them needs.

    A number that all threads and worker processes count, mixed with seeds from
    the system: no lock, no call of the kernel for each. They are no secrets.
    """

    var _seeds: SIMD[DType.uint64, 4]
    var _count: SharedCounters

    def __init__(out self) raises OsError:
        """Draws the seeds. Raises if the system gives no random octets or no
        memory."""
        var octets = Array[UInt8, 32](fill=0)
        fill_random(Span(octets))
        self._seeds = SIMD[DType.uint64, 4](0)
        for index in range(32):
            self._seeds[index // 8] = self._seeds[index // 8] << 8 | UInt64(
                octets.at(index)
            )
        self._count = SharedCounters(1)

    @always_inline
    def context(self, parent: TraceContext) -> TraceContext:
        """Makes the context of a span with the parent's flags, in its trace or,
        if it is not valid, in one of its own."""
        var mixed = _mix(self._seeds + UInt64(self._count.take(0)) * _GOLDEN)
        # One id in 2^64 would be the one that is not allowed.
        var span_id = max(mixed[2], UInt64(1))
        if parent.is_valid():
            return TraceContext(
                parent.trace_high, parent.trace_low, span_id, parent.flags
            )
        return TraceContext(max(mixed[0], UInt64(1)), mixed[1], span_id, 0)


@always_inline
def _mix(numbers: SIMD[DType.uint64, 4]) -> SIMD[DType.uint64, 4]:
    """Spreads numbers over all bits, each to one of its own (splitmix64)."""
    var mixed = (numbers ^ (numbers >> 30)) * 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
    return mixed ^ (mixed >> 31)
