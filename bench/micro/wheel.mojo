"""Measures the timer wheel: inserting, cancelling, expiring, idle ticks."""

from flare.runtime.timer_wheel import TimerId, TimerWheel
from flare.sys.clock import thread_cpu_ns
from std.benchmark import keep

comptime ROUNDS = 9
comptime TIMER_COUNT = 10_000
comptime PASSES = 50


def _report(name: StaticString, var times: List[Float64]):
    sort(times)
    print('{"name": "', name, '", "ns": ', times[len(times) // 2], "}", sep="")


def _delay_ms(index: Int) -> Int:
    """Spreads delays over a minute, as deadlines of connections are."""
    return 1 + (index * 7_919) % 60_000


def _insert_and_cancel() -> Float64:
    """Re-arms each of many waiting timers, as a busy server may."""
    var wheel = TimerWheel(1_000_000)
    var ids = List[TimerId](capacity=TIMER_COUNT)
    for index in range(TIMER_COUNT):
        ids.append(wheel.insert(1_000_000 + _delay_ms(index), UInt64(index)))
    var start = thread_cpu_ns()
    for turn in range(PASSES):
        for index in range(TIMER_COUNT):
            _ = wheel.cancel(ids[index])
            var deadline_ms = 1_000_000 + _delay_ms(index + turn)
            ids[index] = wheel.insert(deadline_ms, UInt64(index))
    var elapsed = thread_cpu_ns() - start
    keep(len(wheel))
    return Float64(elapsed) / Float64(TIMER_COUNT * PASSES)


def _insert_and_expire() -> Float64:
    """Lets every timer cascade to its end, a look each millisecond."""
    var elapsed = 0
    for turn in range(PASSES):
        var now_ms = 1_000_000 + turn
        var wheel = TimerWheel(now_ms)
        var start = thread_cpu_ns()
        for index in range(TIMER_COUNT):
            _ = wheel.insert(now_ms + _delay_ms(index), UInt64(index))
        var sum = UInt64(0)
        while len(wheel) > 0:
            now_ms += 10
            var token = wheel.next_expired(now_ms)
            while token:
                sum += token.value()
                token = wheel.next_expired(now_ms)
        elapsed += thread_cpu_ns() - start
        keep(sum)
    return Float64(elapsed) / Float64(TIMER_COUNT * PASSES)


def _idle_tick() -> Float64:
    """Looks at a wheel whose timers are far away."""
    var wheel = TimerWheel(1_000_000)
    for index in range(TIMER_COUNT):
        _ = wheel.insert(100_000_000 + index, UInt64(index))
    var count = TIMER_COUNT * PASSES
    var sum = 0
    var start = thread_cpu_ns()
    for step in range(count):
        sum += wheel.next_deadline_ms().value()
        if wheel.next_expired(1_000_000 + step):
            sum += 1
    var elapsed = thread_cpu_ns() - start
    keep(sum)
    return Float64(elapsed) / Float64(count)


def _measure[round: def() thin -> Float64](name: StaticString):
    var times = List[Float64]()
    for _ in range(ROUNDS):
        times.append(round())
    _report(name, times^)


def main():
    """Prints one JSON line a measurement, in CPU time of this thread."""
    _measure[_insert_and_cancel]("wheel: cancel + insert, 10k waiting")
    _measure[_insert_and_expire]("wheel: insert + cascade + expire")
    _measure[_idle_tick]("wheel: idle tick with hint, 10k waiting")
