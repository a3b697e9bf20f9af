"""Whose fault a long round of the loop is, and what follows for a route."""

from flare.bytes.buffer import unsafe_lend_text
from flare.http.server.config import AUTOMATIC_THREADS, ServerConfig
from flare.http.server.slow_handlers import (
    HELD_LONG_NS,
    QUICK_COUNT,
    QUICK_FOR_MS,
    HandlerTimer,
    SlowHandlers,
)
from flare.sys.clock import coarse_monotonic_ms, thread_cpu_ns
from std.time import sleep
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _FIXED = 4


def _watch(limit_ms: Int, handler_threads: Int = _FIXED) -> SlowHandlers:
    return SlowHandlers(
        ServerConfig(slow_handler_ms=limit_ms, handler_threads=handler_threads)
    )


def _route(name: StaticString) -> StringSpan[ImmUntrackedOrigin]:
    # SAFETY: a literal lives as long as the program.
    return unsafe_lend_text[ImmUntrackedOrigin](
        name.unsafe_ptr(), name.byte_length()
    )


def _work():
    """Works for longer than a handler may hold the loop."""
    var end_ns = thread_cpu_ns() + 2 * HELD_LONG_NS
    while thread_cpu_ns() < end_ns:
        continue


def test_a_round_is_late_from_the_limit_on() raises:
    var slow = _watch(100)
    slow.begin_round(coarse_monotonic_ms(), 0)
    assert_false(slow.is_late())
    slow.begin_round(coarse_monotonic_ms() - 100, 0)
    assert_true(slow.is_late())


def test_zero_is_never() raises:
    var slow = _watch(0)
    slow.begin_round(coarse_monotonic_ms() - 1_000_000, 0)
    assert_false(slow.is_late())


def test_handlers_are_timed_when_several_may_have_been_it() raises:
    var slow = _watch(100)
    slow.begin_round(coarse_monotonic_ms() - 100, 7)
    slow.end_late_round(_route("/a"), 8)
    assert_false(slow.is_timing)
    slow.end_late_round(_route("/a"), 7)
    assert_false(slow.is_timing)
    slow.end_late_round(_route("/a"), 9)
    assert_true(slow.is_timing)


def test_fixed_threads_move_nothing() raises:
    for count in [0, _FIXED]:
        var slow = _watch(100, count)
        slow.begin_round(coarse_monotonic_ms() - 200, 0)
        slow.end_late_round(_route("/a"), 2)
        slow.begin_round(coarse_monotonic_ms(), 2)
        slow.begin_handler()
        sleep(0.005)
        slow.end_handler(_route("/a"))
        assert_false(slow.has_moved_any())


def test_a_handler_that_waits_is_moved() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    assert_true(slow.is_timing)
    slow.begin_round(coarse_monotonic_ms(), 0)
    # What stands between two handlers is nobody's.
    sleep(0.005)
    slow.begin_handler()
    slow.end_handler(_route("/quick"))
    slow.begin_handler()
    sleep(0.005)
    slow.end_handler(_route("/waits"))
    assert_false(slow.is_moved(_route("/quick")))
    assert_true(slow.is_moved(_route("/waits")))


def test_a_handler_that_works_is_moved() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    slow.begin_round(coarse_monotonic_ms(), 0)
    slow.begin_handler()
    _work()
    slow.end_handler(_route("/works"))
    slow.begin_handler()
    slow.end_handler(_route("/quick"))
    assert_true(slow.is_moved(_route("/works")))
    assert_false(slow.is_moved(_route("/quick")))


def test_requests_without_a_route_are_one() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    slow.begin_handler()
    sleep(0.005)
    slow.end_handler(_route(""))
    assert_true(slow.is_moved(_route("")))
    assert_false(slow.is_moved(_route("/a")))


def test_few_are_timed_while_all_are_quick() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    slow.begin_round(coarse_monotonic_ms(), 0)
    var timed_count = 0
    while slow.is_timing and timed_count < 1_000:
        slow.end_handler(_route("/quick"))
        timed_count += 1
    assert_equal(timed_count, 64)
    # The coarse clock has moved on by the end of a round.
    slow.begin_round(coarse_monotonic_ms() - 5, 0)
    assert_true(slow.is_late())
    slow.end_late_round(_route("/quick"), 3)
    assert_true(slow.is_timing)
    slow.begin_round(coarse_monotonic_ms(), 3)
    for _ in range(8):
        slow.end_handler(_route("/quick"))
    assert_false(slow.is_timing)


def _found_quick(mut slow: SlowHandlers):
    """Times what is to be timed at first."""
    while slow.is_timing:
        slow.end_handler(_route("/quick"))


def test_a_route_of_a_long_turn_is_timed_when_it_is_called_again() raises:
    # However many others are called before.
    var slow = _watch(0, AUTOMATIC_THREADS)
    _found_quick(slow)
    slow.note_long_turn(_route("/a"))
    for _ in range(1_000):
        assert_true(slow.is_timing)
        slow.begin_handler()
        slow.end_handler(_route("/quick"))
    slow.begin_handler()
    sleep(0.005)
    slow.end_handler(_route("/a"))
    assert_true(slow.is_moved(_route("/a")))
    assert_false(slow.is_timing)
    # It is no suspect any more.
    slow.note_long_turn(_route("/a"))
    var timed_count = 0
    while slow.is_timing and timed_count < 10_000:
        slow.end_handler(_route("/quick"))
        timed_count += 1
    assert_equal(timed_count, 64)


def test_one_that_is_not_called_again_is_not_waited_for_long() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    _found_quick(slow)
    slow.note_long_turn(_route("/a"))
    slow.note_long_turn(_route("/b"))
    var timed_count = 0
    while slow.is_timing and timed_count < 10_000:
        slow.end_handler(_route("/quick"))
        timed_count += 1
    assert_equal(timed_count, 1_024)
    slow.note_long_turn(_route("/a"))
    _found_quick(slow)
    assert_false(slow.has_moved_any())


def test_a_long_round_has_a_suspect() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    _found_quick(slow)
    slow.begin_round(coarse_monotonic_ms() - 20, 0)
    slow.end_late_round(_route("/a"), 3)
    for _ in range(500):
        slow.begin_handler()
        slow.end_handler(_route("/quick"))
    slow.begin_handler()
    sleep(0.005)
    slow.end_handler(_route("/a"))
    assert_true(slow.is_moved(_route("/a")))


def test_who_had_to_give_way_is_timed_first() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    _found_quick(slow)
    slow.time_next()
    assert_true(slow.is_timing)
    slow.begin_handler()
    slow.end_handler(_route("/quick"))
    assert_false(slow.is_timing)
    # Where nothing is moved, nothing is timed for that.
    var fixed = _watch(0)
    fixed.time_next()
    fixed.note_long_turn(_route("/a"))
    assert_false(fixed.is_timing)


def test_a_route_that_is_quick_for_long_comes_back() raises:
    var slow = _watch(0, AUTOMATIC_THREADS)
    slow.begin_handler()
    sleep(0.005)
    slow.end_handler(_route("/a"))
    # Quick ones count from the last slow one on.
    for _ in range(QUICK_COUNT):
        slow.note_elsewhere(_route("/a"), 1_000, 1_000)
    assert_true(slow.is_moved(_route("/a")))
    slow.note_elsewhere(_route("/a"), HELD_LONG_NS, 20_000)
    for number in range(QUICK_COUNT - 1):
        var now_ms = 30_000 if number == 0 else 30_000 + QUICK_FOR_MS
        slow.note_elsewhere(_route("/a"), HELD_LONG_NS - 1, now_ms)
    assert_true(slow.is_moved(_route("/a")))
    slow.note_elsewhere(_route("/b"), 1_000, 50_000)
    slow.note_elsewhere(_route("/a"), 1_000, 30_000 + QUICK_FOR_MS)
    assert_false(slow.has_moved_any())


def test_short_and_long_times() raises:
    var timer = HandlerTimer()
    assert_true(timer.elapsed_ns() < HELD_LONG_NS)
    sleep(0.005)
    assert_true(timer.elapsed_ns() >= 5_000_000)


def test_where_threads_are_automatic_one_looks_for_a_while() raises:
    # To time every handler for ever costs each request two clocks.
    var slow = _watch(100, AUTOMATIC_THREADS)
    for round in range(2):
        assert_true(slow.is_timing, String(round))
        for _ in range(1_000):
            slow.begin_handler()
            slow.end_handler(_route("/a"))
        assert_false(slow.is_timing, String(round))
        slow.begin_round(coarse_monotonic_ms() - 100, 7)
        slow.end_late_round(_route("/a"), 9)
