"""Tests of threads that start, fail and stop together."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer
from flare.net.socket_addr import SocketAddr
from flare.runtime.scheduler import Scheduler
from flare.runtime.event import Waker
from flare.sys.clock import Deadline
from flare.sys.poll import POLL_READ, wait_for
from flare.sys.process import resident_len
from flare.sys.signal import process_id
from flare.sys.thread import Task
from std.os import listdir
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Waiting(Task):
    """Waits for its waker; fails at once if it is told to."""

    var waker: Waker
    var fails: Bool

    def run(mut self) raises:
        if self.fails:
            raise Error("no luck")
        while self.waker.drain() == 0:
            continue


def _start(mut scheduler: Scheduler, count: Int, failing: Int) raises:
    for index in range(count):
        var waker = Waker()
        scheduler.start(_Waiting(waker.copy(), index == failing), waker^)


def test_scheduler_stops_all() raises:
    var scheduler = Scheduler()
    _start(scheduler, 4, -1)
    assert_equal(scheduler.running_count(), 4)
    scheduler.stop()
    scheduler.wait()
    assert_equal(scheduler.running_count(), 0)


def test_scheduler_says_which_worker_failed_and_why() raises:
    var scheduler = Scheduler()
    _start(scheduler, 3, 1)
    var reason = String()
    try:
        scheduler.wait()
    except error:
        reason = String(error)
    assert_equal(reason, "worker 1: no luck")
    assert_equal(scheduler.running_count(), 0)


def test_scheduler_failure_stops_workers_that_start_later() raises:
    """A worker may fail while the next ones are still being started."""
    var scheduler = Scheduler()
    _start(scheduler, 1, 0)
    assert_true(_all_end(scheduler))
    _start(scheduler, 2, -1)
    var have_ended = _all_end(scheduler)
    scheduler.stop()
    var reason = String()
    try:
        scheduler.wait()
    except error:
        reason = String(error)
    assert_equal(reason, "worker 0: no luck")
    assert_true(have_ended, "they ran until they were told to stop")


def _all_end(mut scheduler: Scheduler) raises -> Bool:
    """Waits until no worker runs, for ten seconds at most."""
    var deadline = Deadline(10_000)
    while scheduler.running_count() > 0:
        if wait_for(scheduler.ended_fd(), POLL_READ, deadline) != 1:
            return False
    return True


def test_scheduler_that_goes_away_takes_its_threads_along() raises:
    var before = len(listdir("/proc/self/task"))
    var scheduler = Scheduler()
    _start(scheduler, 3, -1)
    assert_equal(len(listdir("/proc/self/task")), before + 3)
    _ = scheduler^
    assert_equal(len(listdir("/proc/self/task")), before)


def _hello(req: Request) -> Response:
    return ok("hello")


def _serve_and_stop(threads: Int) raises:
    var server = HttpServer.bind(
        SocketAddr.localhost(0),
        ServerConfig(handles_signals=False, handler_threads=threads),
    )
    server.shutdown()
    server.serve(_hello, num_workers=4)


def test_hundred_starts_and_stops_leave_nothing() raises:
    # The first ones fill the allocator's and the loader's own stores.
    for _ in range(10):
        _serve_and_stop(2)
    var descriptors = len(listdir("/proc/self/fd"))
    var threads = len(listdir("/proc/self/task"))
    var memory = resident_len(process_id())
    for _ in range(100):
        _serve_and_stop(2)
    assert_equal(len(listdir("/proc/self/fd")), descriptors)
    assert_equal(len(listdir("/proc/self/task")), threads)
    # A worker has buffers of 128 KiB: one that stayed a time would be 12 MiB.
    var grown = resident_len(process_id()) - memory
    assert_true(grown < 4 << 20, String("grown by ", grown))


def test_count_out_of_range_is_refused_before_anything_starts() raises:
    for count in [0, 257, -3]:
        var server = HttpServer.bind(
            SocketAddr.localhost(0), ServerConfig(handles_signals=False)
        )
        var threads = len(listdir("/proc/self/task"))
        var reason = String()
        try:
            server.serve(_hello, num_workers=count)
        except error:
            reason = String(error)
        assert_true(
            String("workers is ", count, "; allowed are 1 to 256") in reason
        )
        assert_equal(len(listdir("/proc/self/task")), threads)
        # Nothing was used up: a good count still works.
        server.shutdown()
        server.serve(_hello, num_workers=1)


def test_stats_are_there_after_the_end() raises:
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(handles_signals=False)
    )
    var handle = server.stats_handle()
    server.shutdown()
    server.serve(_hello, num_workers=2)
    assert_equal(server.stats().requests, 0)
    assert_equal(handle.total().open_connections, 0)
    assert_equal(handle.worker(255).requests, 0)
    var is_refused = False
    try:
        _ = handle.worker(256)
    except error:
        is_refused = True
    assert_true(is_refused)
