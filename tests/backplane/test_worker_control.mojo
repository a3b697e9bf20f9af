"""Orders to workers, within one process: without workers, and with one that has
begun. Several processes are in tests/wire/test_worker_control.py."""

from flare.backplane.worker_control import (
    OrderAnswer,
    OrderOutcome,
    OrderReceiver,
    WorkerControl,
)
from flare.bytes.checked import *
from flare.sys.clock import Deadline
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.process import end_process, fork_process, reap
from flare.sys.shared_memory import LOCK_ROOM_LEN
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.loopback import PATIENCE_MS


struct _Noted(OrderReceiver):
    """Notes its orders, and gives their number back."""

    var orders: Mutex[List[String]]
    # Whoever holds it holds up the order "wait".
    var gate: Mutex[Int]
    var failed_count: Mutex[Int]

    def __init__(
        out self, orders: Mutex[List[String]], gate: Mutex[Int]
    ) raises:
        self.orders = orders.copy()
        self.gate = gate.copy()
        self.failed_count = Mutex(0)

    def carry_out(mut self, order: String) raises -> String:
        if order == "fail":
            raise Error("it cannot be done")
        if order == "fail once":
            var count = self.failed_count.lock()
            count[] += 1
            if count[] == 1:
                raise Error("not the first time")
            deinit(count^)
        if order == "wait":
            var waiting = self.orders.lock()
            waiting[].append("at the gate")
            deinit(waiting^)
            deinit(self.gate.lock())
        var guard = self.orders.lock()
        guard[].append(order)
        var count = len(guard[])
        deinit(guard^)
        return String(count)


def _control() raises -> WorkerControl:
    return _noting(Mutex(List[String]()), Mutex(0))


def _noting(
    orders: Mutex[List[String]], gate: Mutex[Int]
) raises -> WorkerControl:
    var control = WorkerControl()
    control.add("note", _Noted(orders, gate))
    return control


def test_without_workers_it_is_carried_out_at_once() raises:
    var control = _control()
    for count in range(1, 4):
        var outcome = control.order("note", "x", keeps=True, timeout_ms=0)
        assert_equal(outcome.asked_count, 1)
        assert_equal(outcome.answers.at(0).process_id, process_id())
        assert_equal(outcome.answers.at(0).text, String(count))
        assert_true(outcome.is_complete())
        assert_equal(outcome.problem(), "")


def test_a_worker_carries_orders_out() raises:
    var control = _control()
    control.begin()
    control.begin()
    for count in range(1, 20):
        var outcome = control.order("note", "x")
        assert_equal(String(outcome), "1 of 1 workers")
        assert_equal(outcome.total(), count)


def test_a_worker_is_asked_once() raises:
    """POSIX, fork: the number of a process that has ended is given again, and its
    row stays until another worker takes it."""
    var control = _control()
    control.begin()
    control._shared[].rows.store(LOCK_ROOM_LEN + 8, process_id())
    var outcome = control.order("note", "x", timeout_ms=1_000)
    assert_equal(outcome.asked_count, 1)
    assert_true(outcome.is_complete(), outcome.problem())


def test_rows_of_workers_that_are_gone_are_empty_before_their_numbers_return() raises:
    """POSIX, fork: the number of a process that has ended is given to another
    program one day, which answers no orders."""
    for gives_an_order in [False, True]:
        var child = fork_process()
        if child == 0:
            end_process(0)
        while not reap(child):
            pause(5)
        var control = _control()
        ref rows = control._shared[].rows
        for row in [0, 7]:
            rows.store(LOCK_ROOM_LEN + 8 * row, child)
        if gives_an_order:
            assert_equal(len(control._shared[].workers()), 0)
        else:
            control.begin()
            assert_equal(rows.load(LOCK_ROOM_LEN), process_id())
        assert_equal(rows.load(LOCK_ROOM_LEN + 8 * 7), 0)


def test_a_worker_that_begins_carries_out_what_is_kept() raises:
    var control = _control()
    _ = control.order("note", "kept", keeps=True)
    _ = control.order("note", "not kept")
    # As a process that was forked from one that has carried out nothing.
    control.begin()
    assert_equal(control.order("note", "x").total(), 4)


def test_what_fails_is_told() raises:
    for begins in [False, True]:
        var control = _control()
        if begins:
            control.begin()
        var outcome = control.order("note", "fail")
        assert_false(outcome.is_complete())
        assert_equal(outcome.done_count(), 0)
        assert_equal(
            outcome.problem(),
            String("worker ", process_id(), ": it cannot be done"),
        )
        outcome = control.order("nothing", "x")
        assert_equal(
            outcome.answers.at(0).text, "there is no receiver of 'nothing'"
        )


def test_what_all_refuse_is_not_kept() raises:
    var control = _control()
    assert_true(control.order("note", "fail once", keeps=True).is_refused())
    _ = control.order("note", "kept", keeps=True)
    control.begin()
    # Twice what is kept, and this one.
    assert_equal(control.order("note", "x").total(), 3)


def test_what_a_worker_lost_is_carried_out_if_it_is_kept() raises:
    """A worker that is more than a ring behind goes on with what is kept."""
    var orders = Mutex(List[String]())
    var gate = Mutex(0)
    var control = _noting(orders, gate)
    control.begin()
    _ = control.order("note", "before", keeps=True)
    var held = gate.lock()
    _ = control.order("note", "wait", timeout_ms=0)
    # Behind "before"; else the ring could lose what it is to wait with.
    var deadline = Deadline(PATIENCE_MS)
    while len(orders.lock()[]) < 2:
        assert_true(deadline.left_ms() > 0)
    _ = control.order("note", "kept", keeps=True, timeout_ms=0)
    for _ in range(5):
        _ = control.order("note", String("x") * 250_000, timeout_ms=0)
    deinit(held^)
    assert_true(control.order("note", "last").is_complete())
    var seen = orders.lock()
    var counts = List[Int](length=4, fill=0)
    for ref order in seen[]:
        if order == "before":
            counts.at(0) += 1
        elif order == "kept":
            counts.at(1) += 1
        elif order == "wait" or order == "last" or order == "at the gate":
            counts.at(2) += 1
        else:
            counts.at(3) += 1
    assert_equal(counts.at(0), 1)
    assert_equal(counts.at(1), 1)
    assert_equal(counts.at(2), 3)
    # The ring is shorter than those, so some were lost.
    assert_true(counts.at(3) < 5)
    deinit(seen^)


@fieldwise_init
struct _Giving(Task):
    """Gives orders that are kept."""

    var control: WorkerControl
    var name: String
    var begun_count: Mutex[Int]

    def run(mut self) raises:
        var count = self.begun_count.lock()
        count[] += 1
        deinit(count^)
        for index in range(20):
            _ = self.control.order(
                "note", String(self.name, index), keeps=True, timeout_ms=0
            )


def test_what_is_kept_has_the_sequence_in_which_it_was_carried_out() raises:
    var orders = Mutex(List[String]())
    var control = _noting(orders, Mutex(0))
    control.begin()
    var begun_count = Mutex(0)
    # All of them come while the ring is held.
    assert_true(control._shared[].ring.begin_write(0))
    var threads = List[Thread]()
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"]:
        threads.append(Thread(_Giving(control, String(name), begun_count)))
    var deadline = Deadline(PATIENCE_MS)
    while begun_count.lock()[] < len(threads):
        assert_true(deadline.left_ms() > 0)
    control._shared[].ring.end_write(control._shared[].ring.published())
    while len(threads) > 0:
        threads.pop().join()
    assert_true(control.order("note", "last", keeps=True).is_complete())
    var seen = orders.lock()
    var kept = control._shared[].list_kept()
    assert_equal(len(kept), len(seen[]))
    for index in range(len(kept)):
        assert_equal(kept.at(index).text, seen[].at(index))
    deinit(seen^)


def test_a_topic_has_one_receiver() raises:
    var control = _control()
    var other = _Noted(Mutex(List[String]()), Mutex(0))
    with assert_raises(contains="the topic 'note' has a receiver"):
        control.add("note", other^)


def test_an_order_that_is_too_long() raises:
    var control = _control()
    control.begin()
    with assert_raises(contains="is too long"):
        _ = control.order("note", String("x") * (1 << 18))
    # The next one is as ever.
    assert_true(control.order("note", "x").is_complete())


def test_sums_and_problems() raises:
    var outcome = OrderOutcome()
    outcome.asked_count = 3
    outcome.answers.append(OrderAnswer(1, True, "4"))
    outcome.answers.append(OrderAnswer(2, True, "38"))
    assert_equal(outcome.total(), 42)
    assert_equal(outcome.problem(), "1 workers did not answer")
    outcome.answers.append(OrderAnswer(3, False, "7"))
    assert_equal(outcome.total(), 42)
    assert_equal(outcome.problem(), "worker 3: 7")
    assert_equal(String(outcome), "2 of 3 workers")
