"""Whose turn it is while content arrives, and what becomes of a request, and of its
content, in whatever state: over both versions."""

from flare.http.message.body import Body, StreamWaker, WakeTarget
from flare.http.message.header_map import HeaderMap
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
from tests.support.assertions import assert_equal, assert_false

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
    call.plan.timeout_ms = _HANDLER_MS
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


@fieldwise_init
struct _State(Copyable):
    """Where a request is."""

    var what: String
    var wait: Wait
    var has_handler: Bool
    """True if a handler elsewhere has it."""
    var has_pipe: Bool
    """True if its content goes on arriving for a reader."""


def _received() -> _State:
    return _State("received", Wait.CONTENT, False, False)


def _whole() -> _State:
    return _State("a handler has all", Wait.HANDLER, True, False)


def _reads() -> _State:
    return _State("a handler waits for content", Wait.CONTENT, True, True)


def _works() -> _State:
    return _State("a handler has content", Wait.HANDLER, True, True)


def _answered() -> _State:
    return _State("the response has begun", Wait.HANDLER, False, True)


@fieldwise_init
struct _Case(Copyable):
    """What an event does to a request in some state."""

    var state: _State
    var event: String
    var status: Int
    """What the client is answered; 0 if it is not."""
    var is_told: Bool
    """True if the handler hears that nobody waits for it."""
    var read_status: Int
    """With what the reader of its content fails; 0 if it does not."""


def _cases() -> List[_Case]:
    return [
        # RFC 9110 section 15.5.9: 408 where the client was waited for; section
        # 15.6.4: 503 where the handler was.
        _Case(_received(), "late", 408, False, 0),
        _Case(_whole(), "late", 503, True, 0),
        _Case(_reads(), "late", 408, True, 503),
        _Case(_works(), "late", 503, True, 503),
        # RFC 9112 section 8, RFC 9113 section 8.1: a request that is incomplete.
        _Case(_received(), "broken off", 0, False, 0),
        _Case(_whole(), "broken off", 0, True, 0),
        _Case(_reads(), "broken off", 0, True, 400),
        _Case(_works(), "broken off", 0, True, 400),
        _Case(_answered(), "broken off", 0, False, 400),
        # RFC 9112 section 9.3, RFC 9113 section 8.1: a complete response ends it.
        _Case(_whole(), "answered", 0, False, 0),
        _Case(_reads(), "answered", 0, False, 503),
        _Case(_works(), "answered", 0, False, 503),
        _Case(_answered(), "answered", 0, False, 503),
    ]


def test_what_becomes_of_a_request() raises:
    for row in _cases():
        var what = String(row.state.what, ": ", row.event)
        var call = RequestCall()
        var flag = ArcPointer(CancelFlag())
        if row.state.has_handler:
            call.begin(flag)
        assert_equal(call.waits_for(flag), row.state.has_handler, what)
        assert_false(call.waits_for(ArcPointer(CancelFlag())), what)
        var pipe = BodyPipe(waits_to_be_asked=False)
        var ring_count = ArcPointer(Atomic[Int64](0))
        var outlet = pipe.outlet(
            StreamWaker(_Bell(ring_count), 1),
            ClientPace(ArcPointer(Atomic[Int64](0)), 1_000),
        )
        if row.state.has_pipe:
            call.pipe = pipe^
        else:
            pipe.end(HeaderMap())
        _ = call.await_turn(row.state.wait, 0, 0, _config())
        var why = call.late_refusal()
        if row.event == "late":
            assert_equal(why.status, row.status, what)
            call.cancel(Refusal.NOT_WANTED)
        elif row.event == "broken off":
            call.cancel(Refusal.BROKEN_OFF)
        else:
            call.end_content(Refusal.ANSWERED)
        assert_equal(flag[].is_set(), row.is_told, what)
        # What is told once is told for good.
        call.cancel(Refusal.NOT_WANTED)
        var failure = outlet.failure()
        var status = failure.value().status if failure else 0
        assert_equal(status, row.read_status, what)
        # The worker, which has said so, need not hear of it.
        assert_equal(Int(ring_count[].load()), 0, what)


def test_a_new_call_forgets_the_turns_before() raises:
    """Turns of one request take nothing from the time of the next."""
    var call = RequestCall()
    _ = call.await_turn(Wait.CONTENT, 0, 0, _config())
    _ = call.await_turn(Wait.HANDLER, 0, 9_000, _config())
    call.begin(ArcPointer(CancelFlag()))
    assert_equal(call.late_refusal().status, 503)
    assert_equal(call.await_turn(Wait.CONTENT, 0, 9_000, _config()), 19_000)
