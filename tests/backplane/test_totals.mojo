"""Figures of all processes, also of those that are gone."""

from flare.backplane.backplane import BackplaneCounts
from flare.backplane.totals import BackplaneTotals
from flare.sys.process import end_process, fork_process, reap
from tests.support.assertions import assert_equal, assert_true


def _some(factor: Int) -> BackplaneCounts:
    """Figures of which no two are alike."""
    var counts = BackplaneCounts()
    counts.sent = 1 * factor
    counts.received = 2 * factor
    counts.dropped = 3 * factor
    counts.refused = 4 * factor
    counts.lost = 5 * factor
    counts.repeated = 6 * factor
    counts.malformed = 7 * factor
    counts.gaps = 8 * factor
    counts.waiting = 9 * factor
    return counts^


def _assert_figures(
    totals: BackplaneTotals, factor: Int, *, waiting: Int
) raises:
    var found = totals.counts()
    assert_equal(found.sent, 1 * factor)
    assert_equal(found.received, 2 * factor)
    assert_equal(found.dropped, 3 * factor)
    assert_equal(found.refused, 4 * factor)
    assert_equal(found.lost, 5 * factor)
    assert_equal(found.repeated, 6 * factor)
    assert_equal(found.malformed, 7 * factor)
    assert_equal(found.gaps, 8 * factor)
    assert_equal(found.waiting, waiting)


def test_what_was_told_is_not_added_again() raises:
    var totals = BackplaneTotals()
    var told = BackplaneCounts()
    totals.tell(_some(1), told)
    totals.tell(_some(1), told)
    _assert_figures(totals, 1, waiting=9)
    totals.tell(_some(3), told)
    _assert_figures(totals, 3, waiting=27)
    var sent_out = _some(3)
    sent_out.waiting = 0
    totals.tell(sent_out, told)
    _assert_figures(totals, 3, waiting=0)


def test_what_a_dead_process_counted_stays_and_its_queue_goes() raises:
    var totals = BackplaneTotals()
    var told = BackplaneCounts()
    totals.tell(_some(1), told)
    var child = fork_process()
    if child == 0:
        var told_by_child = BackplaneCounts()
        totals.tell(_some(10), told_by_child)
        end_process(0 if totals.counts().waiting == 99 else 1)
    var status = reap(child)
    while not status:
        status = reap(child)
    assert_true(status.value().is_clean())
    _assert_figures(totals, 11, waiting=9)
