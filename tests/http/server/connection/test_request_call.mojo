"""Whose turn it is while a handler elsewhere reads content, and what becomes of the
content when the response begins."""

from flare.http.message.body import Body, StreamWaker, WakeTarget
from flare.http.message.request import CancelFlag
from flare.http.server.config import ServerConfig
from flare.http.server.connection.body_pipe import BodyPipe, ClientPace
from flare.http.server.connection.deadlines import Wait
from flare.http.server.connection.request_call import (
    Intake,
    Refusal,
    RequestCall,
)
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _HANDLER_MS = 30_000


def _config() -> ServerConfig:
    return ServerConfig(body_timeout_ms=10_000, min_body_rate=1_000)


@fieldwise_init
struct _Turn(Copyable):
    """Who is waited for at some time, whether that begins anew, and until when it
    is waited for then."""

    var now_ms: Int
    var wait: Wait
    var begins: Bool
    var end_ms: Int


def _turns() -> List[_Turn]:
    return [
        # The handler is called; it has not asked for anything.
        _Turn(100, Wait.HANDLER, True, 30_100),
        # It is the same turn as long as nothing changes.
        _Turn(200, Wait.HANDLER, False, 30_100),
        _Turn(1_000, Wait.CONTENT, False, 11_000),
        _Turn(4_000, Wait.CONTENT, False, 11_000),
        # The client has used three seconds of its ten.
        _Turn(4_000, Wait.HANDLER, False, 34_000),
        _Turn(5_000, Wait.HANDLER, True, 35_000),
        _Turn(6_000, Wait.CONTENT, False, 13_000),
        # Two more; a turn that begins anew does not give them back.
        _Turn(8_000, Wait.CONTENT, True, 13_000),
        # All of its time is over: no less than none is left.
        _Turn(20_000, Wait.HANDLER, False, 50_000),
        _Turn(21_000, Wait.CONTENT, False, 21_000),
    ]


def test_turns_share_the_time() raises:
    var call = RequestCall()
    call.policy.timeout_ms = _HANDLER_MS
    for turn in _turns():
        var end_ms = call.await_turn(
            turn.wait, 0, turn.now_ms, _config(), begins=turn.begins
        )
        assert_equal(end_ms, turn.end_ms, String(turn.now_ms))


def test_content_that_comes_gives_the_client_time() raises:
    var call = RequestCall()
    assert_equal(call.await_turn(Wait.CONTENT, 0, 0, _config()), 10_000)
    assert_equal(call.await_turn(Wait.CONTENT, 2_000, 5, _config()), 12_000)


@fieldwise_init
struct _Head(Copyable):
    """What is known of a request when its response begins."""

    var what: String
    var has_pipe: Bool
    var intake: Intake
    var is_head: Bool


def test_content_ends_with_a_response_that_is_complete() raises:
    var rows = [
        _Head("nobody reads", False, Intake.ARRIVING, False),
        _Head("got in place of 100", True, Intake.HELD_BACK, False),
        _Head("all has come", True, Intake.WHOLE, False),
        _Head("HEAD", True, Intake.ARRIVING, True),
        # The response is no stream.
        _Head("complete", True, Intake.ARRIVING, False),
    ]
    for row in rows:
        var call = RequestCall()
        call.intake = row.intake
        call.is_head = row.is_head
        if row.has_pipe:
            call.pipe = BodyPipe(waits_to_be_asked=False)
        assert_false(call.goes_on_behind(Body("response")), row.what)


@fieldwise_init
struct _Bell(WakeTarget):
    var ring_count: ArcPointer[Atomic[Int64]]

    def wake(self, token: UInt64):
        _ = self.ring_count[].fetch_add(1)


def test_who_gives_up_tells_the_reader() raises:
    var pipe = BodyPipe(waits_to_be_asked=False)
    var ring_count = ArcPointer(Atomic[Int64](0))
    var outlet = pipe.outlet(
        StreamWaker(_Bell(ring_count), 1),
        ClientPace(ArcPointer(Atomic[Int64](0)), 1_000),
    )
    var flag = ArcPointer(CancelFlag())
    var call = RequestCall()
    call.pipe = pipe^
    call.job = flag.copy()
    assert_false(flag[].is_set())
    call.cancel(Refusal.NOT_WANTED)
    assert_true(flag[].is_set())
    assert_equal(outlet.failure().value().status, 503)
    # The worker, which has said so, need not hear of it.
    assert_equal(Int(ring_count[].load()), 0)
    # What is told once is told for good.
    call.cancel(Refusal.BROKEN_OFF)
    assert_equal(outlet.failure().value().status, 503)
