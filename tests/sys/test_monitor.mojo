"""Tests of the lock with a bell."""

from flare.sys.clock import monotonic_ns
from flare.sys.monitor import Monitor
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer
from std.testing import assert_equal, assert_false, assert_true


struct _Shared(Movable):
    var monitor: Monitor
    var count: Int

    def __init__(out self) raises:
        self.monitor = Monitor()
        self.count = 0


@fieldwise_init
struct _Adding(Task):
    var shared: ArcPointer[_Shared]
    var times: Int

    def run(mut self) raises:
        for _ in range(self.times):
            self.shared[].monitor.lock()
            self.shared[].count += 1
            self.shared[].monitor.ring_all()
            self.shared[].monitor.unlock()


def test_monitor_lets_one_in_at_a_time_and_rings() raises:
    var shared = ArcPointer(_Shared())
    var threads = List[Thread]()
    for _ in range(4):
        threads.append(Thread(_Adding(shared.copy(), 10_000)))
    shared[].monitor.lock()
    while shared[].count < 40_000:
        assert_true(shared[].monitor.wait_for(10_000), "a ring was lost")
    shared[].monitor.unlock()
    while len(threads) > 0:
        threads.pop().join()
    assert_equal(shared[].count, 40_000)


def test_monitor_wait_ends_when_the_time_is_over() raises:
    var monitor = Monitor()
    monitor.lock()
    var began_ns = monotonic_ns()
    # It may also end without a ring, now and then.
    for _ in range(1_000):
        if not monitor.wait_for(30):
            break
    else:
        raise Error("a wait never ends in time")
    assert_true(monotonic_ns() - began_ns >= 25_000_000)
    monitor.unlock()
