"""Figures of several processes, of which some have ended."""

from flare.backplane.worker_control import WorkerControl
from flare.http.handler.metric_source import MetricSource
from flare.http.middleware.worker_metrics import TEXT_LEN_MAX, WorkerMetrics
from flare.sys.mutex import Mutex
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Counted(Copyable, MetricSource):
    """A counter, a gauge, and names without end."""

    var count: Mutex[Int]
    var name_len: Mutex[Int]

    def write_metrics(self, mut text: String):
        var count = self.count.lock()[]
        text.write("# TYPE a_total counter\na_total ", count, "\n")
        text.write("# TYPE b gauge\nb ", count * 10, "\n")
        var name_len = self.name_len.lock()[]
        if name_len > 0:
            text.write("# TYPE c_total counter\n")
            text.write('c_total{x="', String("x") * name_len, count, '"} 1\n')


struct _Bench:
    var counted: _Counted
    var control: WorkerControl
    var metrics: WorkerMetrics[_Counted]

    def __init__(out self) raises:
        self.counted = _Counted(Mutex(0), Mutex(0))
        self.control = WorkerControl()
        self.metrics = WorkerMetrics(self.control, self.counted.copy())

    def text(self) -> String:
        var text = String()
        self.metrics.write_metrics(text)
        return text^

    def count_in_a_child(self, count: Int) raises:
        """Has another process count, tell, and end."""
        var pause = SignalPause()
        var child = fork_process()
        if child == 0:
            self.counted.count.lock()[] += count
            self.metrics._board[].tell()
            # What it tells last stands in the place of what it has told before.
            self.counted.count.lock()[] += 1
            self.metrics._board[].tell()
            end_process(0)
        pause^.end()
        while not reap(child):
            pass


def _shown(count: Int, gauge: Int) -> String:
    return String(
        "# TYPE a_total counter\na_total ",
        count,
        "\n# TYPE b gauge\nb ",
        gauge,
        "\n",
    )


def test_one_process() raises:
    var bench = _Bench()
    for count in range(3):
        bench.counted.count.lock()[] = count
        assert_equal(bench.text(), _shown(count, 10 * count))


def test_what_has_ended_is_counted_still() raises:
    var bench = _Bench()
    var sum = 0
    for count in range(1, 400):
        # More processes than there are rows.
        bench.count_in_a_child(count)
        sum += count + 1
        if count % 50 == 0:
            assert_equal(bench.text(), _shown(sum, 0))
    bench.counted.count.lock()[] = 5
    assert_equal(bench.text(), _shown(sum + 5, 50))
    assert_equal(bench.text(), _shown(sum + 5, 50))


def test_names_without_end_leave_room() raises:
    """What nobody has any more goes when there is no room for it."""
    var bench = _Bench()
    bench.counted.name_len.lock()[] = 50_000
    for count in range(1, 5):
        bench.count_in_a_child(count)
        _ = bench.text()
    bench.counted.name_len.lock()[] = 0
    assert_true(bench.text().startswith(_shown(14, 0)))
    # One of those names has come since there was no more room.
    assert_equal(bench.text().count("c_total{"), 1)


def test_what_is_too_long_is_left_out() raises:
    var bench = _Bench()
    bench.counted.count.lock()[] = 1
    assert_equal(bench.text(), _shown(1, 10))
    bench.counted.name_len.lock()[] = TEXT_LEN_MAX
    bench.counted.count.lock()[] = 2
    assert_equal(bench.text(), _shown(1, 10))
    bench.counted.name_len.lock()[] = 0
    assert_equal(bench.text(), _shown(2, 20))


def test_names_are_distinct() raises:
    var bench = _Bench()
    with assert_raises(contains="has a receiver"):
        _ = WorkerMetrics(bench.control, bench.counted.copy())
    _ = WorkerMetrics(bench.control, bench.counted.copy(), name="other")
