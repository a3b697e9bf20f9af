"""Orders to workers, within one process: without workers, and with one that has
begun. Several processes are in tests/wire/test_worker_control.py."""

from flare.backplane.worker_control import (
    OrderAnswer,
    OrderOutcome,
    OrderReceiver,
    WorkerControl,
)
from flare.sys.mutex import Mutex
from flare.sys.signal import process_id
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct _Noted(OrderReceiver):
    """Notes its orders, and gives their number back."""

    var orders: Mutex[List[String]]

    def carry_out(mut self, order: String) raises -> String:
        if order == "fail":
            raise Error("it cannot be done")
        var guard = self.orders.lock()
        guard[].append(order)
        var count = len(guard[])
        deinit(guard^)
        return String(count)


def _control() raises -> WorkerControl:
    var control = WorkerControl()
    control.add("note", _Noted(Mutex(List[String]())))
    return control


def test_without_workers_it_is_carried_out_at_once() raises:
    var control = _control()
    for count in range(1, 4):
        var outcome = control.order("note", "x", keeps=True, timeout_ms=0)
        assert_equal(outcome.asked_count, 1)
        assert_equal(outcome.answers[0].process_id, process_id())
        assert_equal(outcome.answers[0].text, String(count))
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
            outcome.answers[0].text, "there is no receiver of 'nothing'"
        )


def test_a_topic_has_one_receiver() raises:
    var control = _control()
    var orders = Mutex(List[String]())
    with assert_raises(contains="the topic 'note' has a receiver"):
        control.add("note", _Noted(orders))


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
