"""When the tasks of a worker's loop have their turns."""

from flare.bytes.never import NEVER
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask, WorkerLoop, run_expired
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


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
        task[].turn_count += 100

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].turn_count += 1
        task[].loop[].set_deadline(task[].token, 0)


def test_a_task_has_one_turn_a_round() raises:
    var loop = ArcPointer(WorkerLoop())
    var tasks = List[ArcPointer[_Eager]]()
    for index in range(3):
        tasks.append(ArcPointer(_Eager(loop)))
        tasks[index][].token = loop[].add(tasks[index])
        loop[].set_deadline(tasks[index][].token, 0)
    for round in range(1, 4):
        run_expired(loop)
        for task in tasks:
            assert_equal(task[].turn_count, round)
    for task in tasks:
        loop[].remove(task[].token)


struct _Once(Defaultable, LoopTask):
    """Has a turn and asks for no other."""

    var turn_count: Int

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        task[].turn_count += 100

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].turn_count += 1


def test_a_loop_knows_which_task_has_a_time() raises:
    var loop = ArcPointer(WorkerLoop())
    var task = ArcPointer(_Once())
    var token = loop[].add(task)
    assert_false(loop[].has_deadline(token), "none was set")
    loop[].set_deadline(token, 0)
    assert_true(loop[].has_deadline(token), "it is due")
    run_expired(loop)
    assert_equal(task[].turn_count, 1)
    assert_false(loop[].has_deadline(token), "it has had its turn")
    loop[].set_deadline(token, 1 << 40)
    assert_true(loop[].has_deadline(token), "one that is far away")
    loop[].set_deadline(token, NEVER)
    assert_false(loop[].has_deadline(token), "it was taken back")
    loop[].set_deadline(token, 0)
    loop[].remove(token)
    assert_false(loop[].has_deadline(token), "it is no task any more")
