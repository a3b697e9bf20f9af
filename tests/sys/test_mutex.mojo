"""Tests of the lock around a value, and of waiting for its change."""

from flare.sys.clock import monotonic_ns
from flare.sys.mutex import Condvar, Mutex
from flare.sys.thread import Task, Thread
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_true


struct _Pair(Movable):
    """Two numbers that are the same whenever the lock is open."""

    var left: Int
    var right: Int
    var lost: ArcPointer[Atomic[Int64]]

    def __init__(out self, lost: ArcPointer[Atomic[Int64]]):
        self.left = 0
        self.right = 0
        self.lost = lost.copy()

    def __deinit__(deinit self):
        _ = self.lost[].fetch_add(1)

    def add(mut self):
        self.left += 1
        self.right += 1


def _no_loss() -> ArcPointer[Atomic[Int64]]:
    return ArcPointer(Atomic[Int64](0))


@fieldwise_init
struct _Adding(Task):
    var pair: Mutex[_Pair]
    var changed: Condvar
    var times: Int

    def run(mut self) raises:
        for _ in range(self.times):
            var pair = self.pair.lock()
            # Were the lock to end before the last use of the guard, another
            # thread would come between these.
            pair[].left += 1
            pair[].right += 1
            if pair[].left != pair[].right:
                raise Error("two threads had the lock")
            self.changed.notify_all()
            deinit(pair^)


def test_mutex_lets_one_in_at_a_time_and_notifies() raises:
    var pair = Mutex(_Pair(_no_loss()))
    var changed = Condvar()
    var threads = List[Thread]()
    for _ in range(4):
        threads.append(Thread(_Adding(pair, changed, 10_000)))
    var guard = pair.lock()
    while guard[].left < 40_000:
        assert_true(changed.wait_for(guard, 10_000), "a call was lost")
    assert_equal(guard[].right, 40_000)
    deinit(guard^)
    while len(threads) > 0:
        threads.pop().join()


@fieldwise_init
struct _Asking(Task):
    """Says how the value looked when this thread had the lock."""

    var value: Mutex[Int]
    var seen: Mutex[Int]

    def run(mut self) raises:
        var value = self.value.lock()[]
        self.seen.lock()[] = value


def _seen_while_held(value: Mutex[Int]) raises -> Int:
    """Changes a value in two steps; gives what another thread saw."""
    var seen = Mutex(-1)
    var guard = value.lock()
    guard[] = 1
    var thread = Thread(_Asking(value, seen))
    # The other thread has time to come between, which it must not.
    var began_ns = monotonic_ns()
    while monotonic_ns() - began_ns < 20_000_000:
        assert_equal(seen.lock()[], -1, "it came in while the lock was held")
    guard[] = 2
    deinit(guard^)
    thread^.join()
    return seen.lock()[]


def test_guard_holds_the_lock_until_its_last_use() raises:
    assert_equal(_seen_while_held(Mutex(0)), 2)


def _add_by_method(pair: Mutex[_Pair]) -> Int:
    pair.lock()[].add()
    return pair.lock()[].left


def test_guard_of_one_expression_gives_the_lock_away() raises:
    var pair = Mutex(_Pair(_no_loss()))
    # A lock that stayed would wait for itself for ever.
    assert_equal(_add_by_method(pair), 1)
    assert_equal(_add_by_method(pair), 2)


def test_copies_are_the_same_value_which_goes_with_the_last() raises:
    var lost = _no_loss()
    var first = Mutex(_Pair(lost))
    var second = first
    deinit(first^)
    assert_equal(lost[].load(), 0)
    second.lock()[].add()
    assert_equal(second.lock()[].right, 1)
    deinit(second^)
    assert_equal(lost[].load(), 1)


def test_snapshot_is_a_copy() raises:
    var list = Mutex([1, 2, 3])
    var copy = list.snapshot()
    list.lock()[][0] = 9
    assert_equal(copy[0], 1)
    assert_equal(list.lock()[][0], 9)


def _fail_with_lock(value: Mutex[Int]) raises:
    var guard = value.lock()
    guard[] += 1
    if guard[] > 0:
        raise Error("in the middle")
    guard[] += 1


def test_an_error_gives_the_lock_away() raises:
    var value = Mutex(0)
    var raised = False
    try:
        _fail_with_lock(value)
    except:
        raised = True
    assert_true(raised)
    assert_equal(value.lock()[], 1)


def test_condvar_wait_ends_when_the_time_is_over() raises:
    var value = Mutex(0)
    var changed = Condvar()
    var guard = value.lock()
    var began_ns = monotonic_ns()
    # It may also end without a call, now and then.
    for _ in range(1_000):
        if not changed.wait_for(guard, 30):
            break
    else:
        raise Error("a wait never ends in time")
    assert_true(monotonic_ns() - began_ns >= 25_000_000)
    # The lock is there again.
    guard[] += 1
    assert_equal(guard[], 1)


@fieldwise_init
struct _Taking(Task):
    """Takes one of what another thread puts."""

    var stock: Mutex[Int]
    var changed: Condvar
    var taken: Mutex[Int]

    def run(mut self) raises:
        var stock = self.stock.lock()
        while stock[] == 0:
            if not self.changed.wait_for(stock, 10_000):
                raise Error("nobody called")
        stock[] -= 1
        deinit(stock^)
        self.taken.lock()[] += 1


def test_notify_one_lets_one_thread_take_each() raises:
    var stock = Mutex(0)
    var changed = Condvar()
    var taken = Mutex(0)
    var threads = List[Thread]()
    for _ in range(8):
        threads.append(Thread(_Taking(stock, changed, taken)))
    for _ in range(8):
        stock.lock()[] += 1
        changed.notify_one()
    while len(threads) > 0:
        threads.pop().join()
    assert_equal(taken.lock()[], 8)
    assert_equal(stock.lock()[], 0)
