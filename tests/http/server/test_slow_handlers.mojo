"""Whose fault a long round of the loop is."""

from flare.http.server.config import ServerConfig
from flare.http.server.slow_handlers import SlowHandlers
from flare.sys.clock import coarse_monotonic_ms
from std.testing import assert_false, assert_true


def _watch(limit_ms: Int) -> SlowHandlers:
    return SlowHandlers(ServerConfig(slow_handler_ms=limit_ms))


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
    slow.end_late_round("/a", 8)
    assert_false(slow.is_timing)
    slow.end_late_round("/a", 7)
    assert_false(slow.is_timing)
    slow.end_late_round("/a", 9)
    assert_true(slow.is_timing)
