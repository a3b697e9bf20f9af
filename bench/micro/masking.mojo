"""Measures WebSocket masking at every alignment, beside one octet at a time,
beside memcpy, and beside the check of UTF-8."""

from flare.sys.clock import thread_cpu_ns
from flare.ws.core.frame import MaskingKey, apply_mask, apply_mask_scalar
from flare.ws.core.receiver import Utf8Checker
from std.benchmark import keep
from std.memory import unsafe_memcpy

comptime ROUNDS = 7
comptime ALIGNMENT_COUNT = 32
comptime ROUND_LEN = 1 << 24

comptime Work = def(MutSpan[UInt8, _], Span[UInt8, _], Int) thin -> None


def _report(name: String, what: StaticString, ns: Float64):
    print('{"name": "masking, ', name, what, '", "ns": ', ns, "}", sep="")


def _median[
    work: Work
](room: MutSpan[UInt8, _], source: Span[UInt8, _], count: Int) -> Float64:
    var times = List[Float64]()
    for _ in range(ROUNDS):
        var begin = thread_cpu_ns()
        for index in range(count):
            work(room, source, index)
        times.append(Float64(thread_cpu_ns() - begin) / Float64(count))
    sort(times)
    return times[ROUNDS // 2]


def _measure[
    work: Work
](name: String, what: StaticString, length: Int, round_len: Int):
    """Reports the time for one call on aligned octets."""
    var room = List[UInt8](length=length + 64, fill=97)
    var source = List[UInt8](length=length, fill=98)
    var skip_len = -Int(room.unsafe_ptr()) & 63
    var octets = Span(room)[skip_len : skip_len + length]
    _report(name, what, _median[work](octets, source, round_len // length))
    keep(room)


def _measure_masking(name: String, length: Int):
    """Reports the mean over all alignments, and the worst."""
    var room = List[UInt8](length=length + ALIGNMENT_COUNT, fill=97)
    var source = List[UInt8]()
    var worst = Float64(0)
    var sum = Float64(0)
    for start in range(ALIGNMENT_COUNT):
        var octets = Span(room)[start : start + length]
        var median = _median[_mask](octets, source, ROUND_LEN // length)
        worst = max(worst, median)
        sum += median
    keep(room)
    _report(name, "", sum / ALIGNMENT_COUNT)
    _report(name, ", worst alignment", worst)


@no_inline
def _mask(room: MutSpan[UInt8, _], source: Span[UInt8, _], index: Int):
    apply_mask(room, MaskingKey(0x9A3F11C7 + UInt32(index)))


@no_inline
def _mask_scalar(room: MutSpan[UInt8, _], source: Span[UInt8, _], index: Int):
    apply_mask_scalar(room, MaskingKey(0x9A3F11C7 + UInt32(index)))


@no_inline
def _copy(room: MutSpan[UInt8, _], source: Span[UInt8, _], index: Int):
    unsafe_memcpy(
        dest=room.unsafe_ptr(), src=source.unsafe_ptr(), count=len(source)
    )


@no_inline
def _check_text(room: MutSpan[UInt8, _], source: Span[UInt8, _], index: Int):
    var checker = Utf8Checker()
    keep(checker.check(source))


def main():
    """Prints one JSON line a measurement, in CPU time of this thread."""
    var names: List[String] = ["125 bytes", "1 KiB", "64 KiB", "1 MiB"]
    var lengths: List[Int] = [125, 1_024, 65_536, 1 << 20]
    for index in range(len(lengths)):
        ref name = names[index]
        var length = lengths[index]
        _measure_masking(name, length)
        _measure[_mask_scalar](name, ", scalar", length, ROUND_LEN // 16)
        _measure[_copy](name, ", memcpy", length, ROUND_LEN)
        _measure[_check_text](name, ", check of UTF-8", length, ROUND_LEN)
