"""Tests of threads."""

from flare.sys.thread import Task, Thread
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import assert_equal


struct _Counter(Movable):
    var count: Atomic[Int64]

    def __init__(out self):
        self.count = Atomic[Int64](0)


@fieldwise_init
struct _Adding(Task):
    var shared: ArcPointer[_Counter]
    var times: Int

    def run(mut self) raises:
        for _ in range(self.times):
            self.shared[].count += 1


@fieldwise_init
struct _Allocating(Task):
    var shared: ArcPointer[_Counter]

    def run(mut self) raises:
        var texts = List[String]()
        for number in range(1_000):
            texts.append(
                String("a text that is too long to be inline ", number)
            )
        self.shared[].count += Int64(len(texts))


@fieldwise_init
struct _Catching(Task):
    var shared: ArcPointer[_Counter]

    def run(mut self) raises:
        try:
            raise Error("expected")
        except:
            self.shared[].count += 1


def test_thread_runs_its_task() raises:
    var shared = ArcPointer(_Counter())
    var threads = List[Thread]()
    for _ in range(4):
        threads.append(Thread(_Adding(shared, 1_000)))
    while len(threads) > 0:
        threads.pop().join()
    assert_equal(shared[].count.load(), 4_000)


def test_thread_drops_its_task_at_the_end() raises:
    var shared = ArcPointer(_Counter())
    var thread = Thread(_Adding(shared, 1))
    thread^.join()
    assert_equal(shared.count(), 1)


def test_thread_may_allocate_and_raise() raises:
    var shared = ArcPointer(_Counter())
    var first = Thread(_Allocating(shared))
    var second = Thread(_Catching(shared))
    first^.join()
    second^.join()
    assert_equal(shared[].count.load(), 1_001)
