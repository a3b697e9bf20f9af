"""Tests of the figures of workers."""

from flare.runtime.stats_board import (
    BANK_LEN,
    STAT_CONNECTIONS,
    STAT_OPEN,
    STAT_PROCESS,
    STAT_REQUESTS,
    STAT_RESTARTS,
    SharedStats,
)
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal


def test_board_sums_over_workers_and_their_rows() raises:
    var board = SharedStats()
    assert_equal(board.total().requests, 0)
    for worker in range(WORKER_COUNT_MAX):
        board.set(worker, STAT_REQUESTS, worker)
        board.set(worker + BANK_LEN, STAT_REQUESTS, 1)
        board.set(worker, STAT_CONNECTIONS, 2)
        board.set(worker, STAT_OPEN, 3)
        board.add(worker, STAT_RESTARTS, 1)
    var total = board.total()
    assert_equal(total.requests, 255 * 128 + 256)
    assert_equal(total.connections, 512)
    assert_equal(total.open_connections, 768)
    assert_equal(total.restarts, 256)
    assert_equal(board.worker(7).requests, 8)


def test_board_keeps_the_sums_of_former_processes() raises:
    var board = SharedStats()
    for count in range(1, 4):
        board.set(2, STAT_REQUESTS, 10 * count)
        board.set(2, STAT_CONNECTIONS, count)
        board.set(2, STAT_OPEN, 5)
        board.set(2, STAT_PROCESS, 77)
        board.carry_over(2)
    var row = board.worker(2)
    assert_equal(row.requests, 60)
    assert_equal(row.connections, 6)
    assert_equal(row.open_connections, 0)
    assert_equal(row.process_id, 0)
    assert_equal(String(row), "60 requests, 6 connections (0 open), 0 restarts")


def test_board_is_one_for_parent_and_child() raises:
    var board = SharedStats()
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        board.set(3, STAT_REQUESTS, 41)
        end_process(5)
    pause^.end()
    while True:
        var status = reap(child)
        if status:
            assert_equal(status.value().code, 5)
            assert_equal(String(status.value()), "exited with code 5")
            break
    assert_equal(board.worker(3).requests, 41)
