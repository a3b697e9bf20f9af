"""Slots, tokens and generations; and what a worker does in one round."""

from flare.http.handler.any_handler import SharedHandler
from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.connection_table import ConnectionTable
from flare.http.server.listen import Listeners
from flare.http.server.shutdown import ShutdownSignal
from flare.http.server.worker import Worker
from flare.http.server.worker_state import StatsRow
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.event import Event, Waker
from flare.runtime.stats_board import SharedStats
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_true
from tests.support.served_connection import answer

comptime _TURN_COUNT_MAX = 100


def test_a_token_never_finds_the_successor_in_its_slot() raises:
    var table = ConnectionTable()
    var peer = SocketAddr.any(0)
    var tokens = List[UInt64]()
    for _ in range(100):
        var slot = table.open(RawSocket.tcp(), peer)
        assert_equal(slot, 0)
        var token = table.token(slot)
        assert_equal(table.find(token), slot)
        for old in tokens:
            assert_equal(table.find(old), -1)
        tokens.append(token)
        table.close(slot)
        assert_equal(table.find(token), -1)
    assert_equal(len(table), 0)
    assert_equal(table.slot_count(), 1)


def test_slots_are_used_again() raises:
    var table = ConnectionTable()
    var peer = SocketAddr.any(0)
    for _ in range(10):
        _ = table.open(RawSocket.tcp(), peer)
    table.close(3)
    table.close(7)
    assert_equal(len(table), 8)
    var reused = table.open(RawSocket.tcp(), peer)
    assert_true(reused == 7 or reused == 3)
    assert_equal(table.slot_count(), 10)
    assert_equal(table.find(UInt64(99)), -1)


struct _Eager(LoopTask):
    """Wants to go on at once, whenever it has had its turn."""

    var loop: ArcPointer[WorkerLoop]
    var token: UInt64
    var turn_count: Int

    def __init__(out self, loop: ArcPointer[WorkerLoop]):
        self.loop = loop.copy()
        self.token = 0
        self.turn_count = 0

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        task[].turn_count += _TURN_COUNT_MAX

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].turn_count += 1
        if task[].turn_count < _TURN_COUNT_MAX:
            task[].loop[].set_deadline(task[].token, 0)


def test_a_round_of_timers_ends_though_a_task_is_due_again() raises:
    """Connections have their turns between two of a task that has always
    something to do."""
    var worker = Worker(
        SharedHandler(FnHandler(answer)),
        Listeners(List[RawSocket](), False),
        ServerContext(ServerConfig(handler_threads=0)),
        ShutdownSignal(Waker(), False),
        StatsRow(ArcPointer(SharedStats()), 0),
    )
    ref loop = worker._jobs.deferred.loop
    var task = ArcPointer(_Eager(loop))
    task[].token = loop[].add(task)
    loop[].set_deadline(task[].token, 0)
    worker._jobs.deferred.end_settling(worker._wheel)
    for round in range(1, 4):
        worker._state.begin_round()
        worker._on_timers()
        assert_equal(task[].turn_count, round)
    worker._jobs.deferred.loop[].remove(task[].token)
