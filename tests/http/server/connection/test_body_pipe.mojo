"""The window of content between two threads, and the count of its memory."""

from flare.bytes.buffer import Buffer
from flare.http.message.body_reader import BodyError
from flare.http.message.header_map import HeaderMap
from flare.http.message.body import StreamWaker, WakeTarget
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.any_handler import share_handler
from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.connection.body_pipe import (
    BodyCharge,
    BodyOutlet,
    BodyPipe,
    ClientPace,
    STALL_MS,
    WINDOW_LEN,
    WindowEvent,
    WindowState,
    window_state_after,
)
from flare.http.server.worker_state import WorkerState
from flare.sys.thread import Task, Thread
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


struct _Rings(Movable):
    var count: Atomic[Int64]

    def __init__(out self):
        self.count = Atomic[Int64](0)


@fieldwise_init
struct _Bell(WakeTarget):
    var rings: ArcPointer[_Rings]

    def wake(self, token: UInt64):
        _ = self.rings[].count.fetch_add(1)


def _nothing(req: Request) raises -> Response:
    return Response(204)


def _pace(waiting_count: Int) -> ClientPace:
    return ClientPace(ArcPointer(Atomic[Int64](Int64(waiting_count))), 1_000)


def _outlet(pipe: BodyPipe, rings: ArcPointer[_Rings]) -> BodyOutlet:
    return pipe.outlet(StreamWaker(_Bell(rings), 7), _pace(0))


def _read(mut outlet: BodyOutlet, count: Int) raises BodyError -> String:
    var room = List[UInt8](length=count, fill=0)
    var got = outlet.read(Span(room))
    return String(from_utf8_lossy=Span(room)[:got])


def test_content_comes_in_order_and_ends() raises:
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=False)
    var outlet = _outlet(pipe, rings)
    assert_true(pipe.put("abc".as_bytes()))
    assert_true(pipe.put("def".as_bytes()))
    assert_equal(_read(outlet, 2), "ab")
    assert_true(pipe.put("ghi".as_bytes()))
    assert_equal(_read(outlet, 10), "cdef")
    var trailers = HeaderMap()
    trailers.append("sum", "1")
    assert_equal(len(outlet.trailers()), 0)
    pipe.end(trailers^)
    assert_equal(_read(outlet, 10), "ghi")
    assert_equal(_read(outlet, 10), "")
    assert_equal(_read(outlet, 10), "")
    assert_equal(outlet.trailers()["sum"], "1")
    assert_equal(rings[].count.load(), 0, "nobody was waited for")


def test_what_has_arrived_is_taken_in_order_without_a_wait() raises:
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=False)
    var outlet = _outlet(pipe, rings)
    var out = Buffer()
    var failure = Optional[BodyError](None)
    assert_true(pipe.put("abc".as_bytes(), rings=True))
    assert_false(outlet.take(out, failure))
    assert_equal(rings[].count.load(), 1)
    assert_equal(pipe.waiting_len(), 0)
    # Behind what the reader still has, and to a reader that has nothing.
    assert_true(pipe.put("def".as_bytes(), rings=True))
    assert_false(outlet.take(out, failure))
    assert_equal(String(from_utf8_lossy=out.span()), "abcdef")
    out.clear()
    assert_false(outlet.take(out, failure))
    assert_equal(len(out), 0)
    assert_true(pipe.put("ghi".as_bytes()))
    pipe.end(HeaderMap())
    assert_true(outlet.take(out, failure))
    assert_equal(String(from_utf8_lossy=out.span()), "ghi")
    assert_equal(rings[].count.load(), 2)
    # The memory of what was taken counts until more is.
    assert_true(pipe.held_len() >= out.capacity())
    _ = outlet^


@fieldwise_init
struct _Edge(Copyable):
    """What is waited for behind each event: PUT, FILLED, PUT_LENT, TAKEN, LEFT."""

    var state: WindowState
    var next: List[WindowState]
    var rings: Bool


def test_what_is_waited_for_after_each_event() raises:
    comptime O = WindowState.OPEN
    comptime U = WindowState.UNASKED
    comptime F = WindowState.FULL
    comptime T = WindowState.LENT
    comptime L = WindowState.LEFT
    var rows = [
        _Edge(O, [O, F, T, O, L], False),
        # 9110-10.1.1: content that comes unasked is no question for it.
        _Edge(U, [U, U, U, O, L], True),
        _Edge(F, [F, F, F, O, L], True),
        _Edge(T, [T, T, T, O, L], True),
        _Edge(L, [L, L, L, L, L], False),
    ]
    assert_equal(len(rows), WindowState.COUNT)
    for row in rows:
        assert_equal(len(row.next), WindowEvent.COUNT)
        assert_equal(row.state.rings(), row.rings)
        for number in range(WindowEvent.COUNT):
            var next = window_state_after(row.state, WindowEvent(UInt8(number)))
            assert_true(
                next == row.next[number],
                String("from ", row.state.number, " by ", number),
            )


@fieldwise_init
struct _Wait(Copyable):
    """A pipe behind some steps: u waits to be asked, p and l put an octet (over
    HTTP/1.1, over HTTP/2), f fills the window, t takes, g goes on behind the
    response, x goes away."""

    var steps: String
    var is_asked_for: Bool
    var has_room: Bool
    var is_left: Bool
    var ring_count: Int64


def test_the_reader_rings_for_what_is_waited_for_alone() raises:
    for row in [
        _Wait("", True, True, False, 0),
        _Wait("p", True, True, False, 0),
        _Wait("pt", True, True, False, 0),
        _Wait("u", False, False, False, 0),
        _Wait("ut", True, True, False, 1),
        _Wait("utt", True, True, False, 1),
        _Wait("utpt", True, True, False, 1),
        # It came without being asked for: the first read rings once, for both.
        _Wait("ul", False, False, False, 0),
        _Wait("ult", True, True, False, 1),
        _Wait("f", True, False, False, 0),
        _Wait("ft", True, True, False, 1),
        _Wait("ftt", True, True, False, 1),
        _Wait("l", True, True, False, 0),
        _Wait("lt", True, True, False, 1),
        _Wait("llt", True, True, False, 1),
        _Wait("ltlt", True, True, False, 2),
        # Who leaves rings only if the worker receives on behind the response.
        _Wait("ux", True, True, True, 0),
        _Wait("fx", True, True, True, 0),
        _Wait("gfx", True, True, True, 1),
        _Wait("glx", True, True, True, 1),
        _Wait("gpx", True, True, True, 0),
        _Wait("gfxp", True, True, True, 1),
        _Wait("gfxf", True, True, True, 1),
    ]:
        var rings = ArcPointer(_Rings())
        var pipe = BodyPipe(waits_to_be_asked=row.steps.startswith("u"))
        var outlet = Optional(_outlet(pipe, rings))
        var out = Buffer()
        var failure = Optional[BodyError](None)
        for step in row.steps.codepoint_slices():
            if step == "p":
                assert_true(pipe.put("x".as_bytes()), row.steps)
            elif step == "l":
                assert_true(pipe.put("x".as_bytes(), rings=True), row.steps)
            elif step == "f":
                var octets = List[UInt8](length=WINDOW_LEN, fill=1)
                assert_equal(pipe.put(octets), pipe.is_left(), row.steps)
            elif step == "t":
                assert_false(outlet.value().take(out, failure), row.steps)
            elif step == "g":
                outlet.value().go_on(9)
            elif step == "x":
                outlet = None
        assert_equal(pipe.is_asked_for(), row.is_asked_for, row.steps)
        assert_equal(pipe.has_room(), row.has_room, row.steps)
        assert_equal(pipe.is_left(), row.is_left, row.steps)
        assert_equal(rings[].count.load(), row.ring_count, row.steps)
        _ = outlet^


def test_full_window_pauses_until_something_is_taken() raises:
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=False)
    var outlet = _outlet(pipe, rings)
    var octets = List[UInt8](length=WINDOW_LEN - 1, fill=120)
    assert_true(pipe.put(octets))
    assert_false(pipe.put("y".as_bytes()))
    assert_false(pipe.has_room())
    assert_equal(_read(outlet, 1), "x")
    assert_equal(rings[].count.load(), 1)
    assert_true(pipe.has_room())
    # What is in the handler's hands already needs no further ring.
    assert_equal(_read(outlet, WINDOW_LEN).byte_length(), WINDOW_LEN - 1)
    assert_equal(rings[].count.load(), 1)


@fieldwise_init
struct _Prompt(WakeTarget):
    """Gives all of the content, or fails, before the bell has rung out."""

    var pipe: ArcPointer[BodyPipe]
    var fails: Bool

    def wake(self, token: UInt64):
        _ = self.pipe[].put("all".as_bytes())
        if self.fails:
            self.pipe[].fail(BodyError(400, "gone"))
        else:
            self.pipe[].end(HeaderMap())


def test_what_nobody_reads_any_more_is_dropped() raises:
    # Behind the head of a response the client is not held by it: 9113-5.2.2.
    for goes_on in [True, False]:
        var rings = ArcPointer(_Rings())
        var pipe = BodyPipe(waits_to_be_asked=False)
        var outlet = _outlet(pipe, rings)
        if goes_on:
            outlet.go_on(9)
        assert_false(pipe.put(List[UInt8](length=WINDOW_LEN, fill=1)))
        assert_false(pipe.is_left())
        deinit(outlet^)
        assert_true(pipe.is_left())
        assert_equal(pipe.waiting_len(), 0)
        assert_equal(pipe.held_len(), 0)
        assert_equal(rings[].count.load(), Int64(1 if goes_on else 0))
        assert_true(pipe.put(List[UInt8](length=WINDOW_LEN, fill=1)))
        assert_equal(pipe.waiting_len(), 0)


def test_what_comes_while_the_bell_rings_is_not_lost() raises:
    var pipe = ArcPointer(BodyPipe(waits_to_be_asked=True))
    var outlet = pipe[].outlet(
        StreamWaker(_Prompt(pipe.copy(), False), 7), _pace(0)
    )
    assert_equal(_read(outlet, 10), "all")
    assert_equal(_read(outlet, 10), "")
    pipe = ArcPointer(BodyPipe(waits_to_be_asked=True))
    outlet = pipe[].outlet(StreamWaker(_Prompt(pipe.copy(), True), 7), _pace(0))
    with assert_raises(contains="gone"):
        _ = _read(outlet, 10)


def test_failure_drops_what_waits_and_is_raised_each_time() raises:
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=False)
    var outlet = _outlet(pipe, rings)
    _ = pipe.put("abc".as_bytes())
    pipe.fail(BodyError(413, "too long"))
    pipe.fail(BodyError(400, "not heard"))
    pipe.end(HeaderMap())
    for _ in range(2):
        var status = 0
        try:
            _ = _read(outlet, 10)
        except error:
            status = error.status
        assert_equal(status, 413)
    assert_true(outlet.failure().__bool__())


def test_reads_fail_when_the_worker_has_dropped_the_request() raises:
    """Whatever has ended it: a reset, a source that fails, the connection."""
    var rings = ArcPointer(_Rings())
    for is_complete in [False, True]:
        var pipe = BodyPipe(waits_to_be_asked=False)
        var outlet = _outlet(pipe, rings)
        _ = pipe.put("abc".as_bytes())
        if is_complete:
            pipe.end(HeaderMap())
        deinit(pipe^)
        if is_complete:
            assert_equal(_read(outlet, 10), "abc")
            assert_equal(_read(outlet, 10), "")
        else:
            with assert_raises(contains="nobody waits"):
                _ = _read(outlet, 10)


def test_what_is_complete_does_not_fail() raises:
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=False)
    var outlet = _outlet(pipe, rings)
    _ = pipe.put("abc".as_bytes())
    pipe.end(HeaderMap())
    pipe.fail(BodyError(400, "not heard"))
    assert_equal(_read(outlet, 10), "abc")
    assert_equal(_read(outlet, 10), "")


@fieldwise_init
struct _Feeder(Task):
    """Puts what the window takes, when it is asked to."""

    var pipe: BodyPipe
    var rings: ArcPointer[_Rings]
    var count: Int

    def run(mut self) raises:
        var octets = List[UInt8](length=1_000, fill=0)
        var is_open = False
        for number in range(self.count):
            # The bell of the first read, and of each full window.
            while not is_open and not self.pipe.has_room():
                pass
            for index in range(len(octets)):
                octets[index] = UInt8((number + index) & 255)
            is_open = self.pipe.put(octets)
        while not is_open and not self.pipe.has_room():
            pass
        self.pipe.end(HeaderMap())


def test_two_threads() raises:
    comptime COUNT = 5_000
    var rings = ArcPointer(_Rings())
    var pipe = BodyPipe(waits_to_be_asked=True)
    var outlet = _outlet(pipe, rings)
    var thread = Thread(_Feeder(pipe^, rings, COUNT))
    var room = List[UInt8](length=7_777, fill=0)
    var offset = 0
    while True:
        var count = outlet.read(Span(room))
        if count == 0:
            break
        for index in range(count):
            var wanted = (offset // 1_000 + offset % 1_000) & 255
            if Int(room[index]) != wanted:
                raise Error("octet ", offset, " is ", room[index])
            offset += 1
    thread^.join()
    assert_equal(offset, COUNT * 1_000)
    assert_true(rings[].count.load() >= 1)


def test_pace_of_a_client() raises:
    """Too slow is who is below the rate for long, and in the way of others."""
    var rows = [
        # others wait, octets, milliseconds of waiting, too slow
        (1, 0, STALL_MS, True),
        (0, 0, 10 * STALL_MS, False),
        (1, 0, STALL_MS - 1, False),
        (1, STALL_MS, STALL_MS, False),
        (1, STALL_MS - 1, STALL_MS, True),
        (1, 9 * STALL_MS, 10 * STALL_MS, True),
    ]
    for row in rows:
        var pace = _pace(row[0])
        pace.add(row[1], 0)
        pace.add(0, row[2])
        assert_equal(
            pace.is_too_slow(), row[3], String(row[0], " ", row[1], " ", row[2])
        )


def _drop(var charge: BodyCharge):
    _ = charge^


def test_sum_follows_each_charge_and_its_end() raises:
    var sum = ArcPointer(Atomic[Int64](0))
    var first = BodyCharge(sum)
    var second = BodyCharge(sum)
    first.set(100)
    second.set(20)
    assert_equal(sum[].load(), 120)
    first.set(30)
    assert_equal(sum[].load(), 50)
    _drop(first^)
    assert_equal(sum[].load(), 20)
    _drop(second^)
    assert_equal(sum[].load(), 0)


def test_bound_is_kept_and_what_ends_makes_room() raises:
    var config = ServerConfig(
        max_body_size=10_000, max_buffered_bodies_size=10_000
    )
    var state = WorkerState(
        ServerContext(config^), share_handler(FnHandler(_nothing))
    )
    var first = Optional[BodyCharge](None)
    var second = Optional[BodyCharge](None)
    assert_true(state.charge(first, 10_000))
    assert_false(state.charge(second, 1))
    assert_true(state.charge(first, 6_000), "it may always shrink")
    assert_true(state.charge(second, 4_000))
    assert_false(state.charge(second, 4_001))
    assert_equal(second.value().length, 4_000, "a refusal changes nothing")
    # Used here, or else it would have ended behind its last use above.
    assert_equal(first.value().length, 6_000)
    first = None
    assert_true(state.charge(second, 10_000))
