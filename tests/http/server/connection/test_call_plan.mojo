"""What the server makes of what a handler says of a request."""

from flare.http.handler.handler import RequestPolicy
from flare.http.server.config import AUTOMATIC_THREADS, ServerConfig
from flare.http.server.connection.call_plan import CallPlace, CallPlan
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var rule: String
    var handler_threads: Int
    var policy: RequestPolicy
    var is_moved: Bool
    var place: CallPlace
    var starts_at_head: Bool


def _rows() -> List[_Row]:
    comptime A = AUTOMATIC_THREADS
    var blocks = RequestPolicy()
    var quick = RequestPolicy(blocks=False)
    var reads = RequestPolicy(streams=True)
    var reads_quickly = RequestPolicy(streams=True, blocks=False)
    var later = RequestPolicy(defers=True)
    var later_reads = RequestPolicy(defers=True, streams=True)
    comptime WORKER = CallPlace.WORKER
    comptime THREAD = CallPlace.THREAD
    comptime ERRAND = CallPlace.ERRAND
    return [
        _Row("threads for all that may block", 4, blocks, False, THREAD, False),
        _Row("but not for what does not", 4, quick, False, WORKER, False),
        _Row("automatic: what was quick", A, blocks, False, WORKER, False),
        _Row(
            "automatic: a route that was slow", A, blocks, True, THREAD, False
        ),
        _Row("a promise counts for more", A, quick, True, WORKER, False),
        _Row("without threads", 0, blocks, False, WORKER, False),
        _Row("reading waits for the client", 4, reads, False, THREAD, True),
        _Row("also automatically", A, reads, False, THREAD, True),
        _Row("whatever else it does", A, reads_quickly, False, THREAD, True),
        _Row("reading without threads", 0, reads, False, WORKER, False),
        _Row("later: behind the content", 4, later, False, ERRAND, False),
        _Row("later: no thread is taken", 0, later, False, ERRAND, False),
        _Row("later: slow or not", A, later, True, ERRAND, False),
        _Row("later: while it arrives", 4, later_reads, False, ERRAND, True),
        _Row("later: without threads", 0, later_reads, False, ERRAND, True),
    ]


def test_where_and_when_a_handler_is_called() raises:
    for row in _rows():
        var config = ServerConfig(handler_threads=row.handler_threads)
        var plan = CallPlan(row.policy, config, row.is_moved)
        assert_true(plan.place == row.place, row.rule)
        assert_equal(plan.starts_at_head, row.starts_at_head, row.rule)
        assert_equal(
            plan.runs_elsewhere(), row.place != CallPlace.WORKER, row.rule
        )
        assert_equal(plan.defers(), row.place == CallPlace.ERRAND, row.rule)
        assert_true(plan.needs_content, row.rule)


@fieldwise_init
struct _Time(Copyable):
    var asked_ms: Int
    var given_ms: Int


def test_a_handler_has_a_time_that_a_clock_can_add() raises:
    comptime DAY_MS = 86_400_000
    var config = ServerConfig(handler_timeout_ms=7)
    for row in [
        _Time(-1, 7),
        _Time(0, 1),
        _Time(-9, 1),
        _Time(5_000, 5_000),
        _Time(DAY_MS, DAY_MS),
        _Time(Int.MAX, DAY_MS),
    ]:
        var policy = RequestPolicy(timeout_ms=row.asked_ms)
        var plan = CallPlan(policy, config, False)
        assert_equal(plan.timeout_ms, row.given_ms, String(row.asked_ms))


def test_limits_are_the_servers_unless_the_handler_has_its_own() raises:
    var config = ServerConfig(max_body_size=1_000)
    assert_equal(CallPlan(RequestPolicy(), config, False).max_body_size, 1_000)
    for own in [0, 5, 9_000]:
        var policy = RequestPolicy(max_body_size=own, needs_content=False)
        var plan = CallPlan(policy, config, False)
        assert_equal(plan.max_body_size, own)
        assert_true(not plan.needs_content)
