"""What a stream of a server waits for, edge by edge, and that a task that is used
again is as a new one."""

from flare.bytes.never import NEVER
from flare.http.exchange.outgoing_body import BodyState, OutgoingBody
from flare.http.message.body import Body
from flare.http.server.connection.body_pipe import BodyPipe
from flare.http.server.connection.phase import StreamPhase, may_follow
from flare.http.server.connection.request_call import Intake
from flare.http.server.connection.stream_task import (
    ReceivedRequest,
    StreamPool,
    StreamTask,
)
from std.memory import OwnedPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Phase(Copyable):
    """A phase, the numbers of those that may follow, and whether the response has
    begun: told from the stream's side."""

    var phase: StreamPhase
    var what: String
    var next: List[Int]
    var has_response: Bool


def _life() -> List[_Phase]:
    return [
        # A request without a handler elsewhere is answered at once, or parked.
        _Phase(StreamPhase.CLIENT, "client", [1, 2, 5], False),
        _Phase(StreamPhase.QUEUED, "queued", [2, 3, 4], False),
        _Phase(StreamPhase.PARKED, "parked", [1], False),
        # Turns of a handler that reads and of its client.
        _Phase(StreamPhase.HANDLER, "handler", [3, 4], False),
        _Phase(StreamPhase.READER, "reader", [3, 4], False),
        # Once the head of the response is sent, there is no way back.
        _Phase(StreamPhase.SENDS, "sends", [5, 6, 7], True),
        _Phase(StreamPhase.SHUT, "shut", [5, 7], True),
        _Phase(StreamPhase.OVER, "over", [], True),
    ]


def test_every_pair_of_phases() raises:
    var life = _life()
    assert_equal(len(life), StreamPhase.COUNT)
    for row in range(len(life)):
        ref cells = life[row]
        assert_equal(Int(cells.phase.number), row, cells.what)
        for column in range(len(life)):
            assert_equal(
                may_follow(cells.phase, life[column].phase),
                column in cells.next,
                String(cells.what, " to ", life[column].what),
            )
        var task = StreamTask(1)
        task.phase = cells.phase
        assert_equal(task.has_response(), cells.has_response, cells.what)


def test_a_task_that_is_used_again_is_as_new() raises:
    var pool = StreamPool()
    var used = OwnedPointer(StreamTask(7))
    ref task = used[]
    task.enter[StreamPhase.SENDS]()
    task.enter[StreamPhase.SHUT]()
    task.is_tunnel = True
    task.call.intake = Intake.ARRIVING
    task.call.is_head = True
    task.piped_len = 5
    task.received_len = 6
    task.expected_len = 7
    task.call.turns.client_ms = 8
    task.call.pipe = BodyPipe(waits_to_be_asked=False)
    task.request = OwnedPointer(ReceivedRequest())
    task.request.held()[].content.write_string("content")
    task.body = OutgoingBody(Body("the response"), offset=3)
    task.piece.write_string("a piece")
    task.unheard.write_string("a message")
    task.pace.turn = 9
    task.pace.clock.end_ms = 10
    task.pace.left_ms = 11
    pool.give(used^)
    var again = pool.take(9)
    assert_equal(again[].id, 9)
    assert_true(again[].phase == StreamPhase.CLIENT)
    assert_false(again[].is_tunnel)
    assert_true(again[].call.intake == Intake.WHOLE)
    assert_false(again[].call.is_head)
    assert_equal(again[].piped_len, 0)
    assert_equal(again[].received_len, 0)
    assert_equal(again[].expected_len, 0)
    assert_equal(again[].call.turns.client_ms, 0)
    assert_false(again[].call.pipe.__bool__())
    # The room of the request stays, not what was in it.
    assert_equal(len(again[].request.held()[].content), 0)
    assert_true(again[].request.held()[].content.capacity() > 0)
    assert_true(again[].body.state == BodyState.MADE)
    assert_true(again[].body.is_sent())
    assert_equal(len(again[].piece), 0)
    assert_equal(len(again[].unheard), 0)
    assert_equal(again[].pace.turn, 0)
    assert_equal(again[].pace.clock.end_ms, NEVER)
    assert_equal(again[].pace.left_ms, 0)


def test_what_has_grown_large_is_not_kept() raises:
    var text = String("x") * 40_000
    for part in ["fields", "content", "piece", "message"]:
        var pool = StreamPool()
        var used = OwnedPointer(StreamTask(7))
        used[].request = OwnedPointer(ReceivedRequest())
        ref request = used[].request.held()[]
        if part == "fields":
            request.section[].octets.write_string(text)
        elif part == "content":
            request.content.write_string(text)
        elif part == "piece":
            used[].piece.write_string(text)
        else:
            used[].unheard.write_string(text)
        pool.give(used^)
        # One that was kept has its request.
        assert_false(pool.take(9)[].request.__bool__(), part)
