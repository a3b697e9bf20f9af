"""How long a client of HTTP/2 may keep content waiting, over all its streams."""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.deadlines import WAIT_FACTOR
from flare.http.server.connection.link_times import WaitBudget
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime TIMEOUT_MS = 1_000
comptime TOTAL_MS = WAIT_FACTOR * TIMEOUT_MS
comptime RATE = 1_000
# An octet is a millisecond.


def config(rate: Int = RATE) -> ServerConfig:
    return ServerConfig(write_timeout_ms=TIMEOUT_MS, min_send_rate=rate)


def waiting(mut budget: WaitBudget, start_ms: Int, end_ms: Int):
    """Lets something wait for some time, which is then given up."""
    budget.note_wait(True, True, start_ms)
    budget.note_drop()
    budget.note_wait(False, False, end_ms)


def test_nothing_that_waits_has_no_end() raises:
    var budget = WaitBudget(config())
    budget.note_wait(False, False, 0)
    assert_equal(budget.clock.end_ms, NEVER)
    budget.note_wait(False, True, 1_000_000)
    assert_equal(budget.clock.end_ms, NEVER)


def test_what_waits_without_a_break_has_the_total() raises:
    var budget = WaitBudget(config())
    budget.note_wait(True, True, 100)
    # Whatever comes and goes meanwhile.
    budget.note_wait(True, True, 900)
    budget.note_drop()
    budget.note_wait(True, True, 3_000)
    assert_equal(budget.clock.end_ms, 100 + TOTAL_MS)
    assert_false(budget.prolong(0, 100 + TOTAL_MS, config()))


def test_requests_that_replace_each_other_share_one_total() raises:
    var budget = WaitBudget(config())
    var now_ms = 0
    for _ in range(5):
        waiting(budget, now_ms, now_ms + 700)
        # A pause gives nothing back.
        now_ms += 10_000
    budget.note_wait(True, True, now_ms)
    assert_equal(budget.clock.end_ms, now_ms + TOTAL_MS - 5 * 700)


def test_who_has_taken_all_has_its_time_again() raises:
    var budget = WaitBudget(config())
    for index in range(20):
        budget.note_wait(True, True, index * 1_000)
        budget.note_wait(False, False, index * 1_000 + 900)
    budget.note_wait(True, True, 30_000)
    assert_equal(budget.clock.end_ms, 30_000 + TOTAL_MS)


def test_taking_little_does_not_pay_for_what_was_dropped() raises:
    var budget = WaitBudget(config())
    waiting(budget, 0, 900)
    # Something small is let wait and taken.
    budget.note_wait(True, True, 1_000)
    budget.note_wait(False, False, 1_100)
    budget.note_wait(True, True, 2_000)
    assert_equal(budget.clock.end_ms, 2_000 + TOTAL_MS - 900)


def test_time_counts_while_all_goes_out_for_a_moment() raises:
    """A window that opens a little stops the clock and sets it no further."""
    var budget = WaitBudget(config())
    budget.note_wait(True, True, 0)
    budget.note_wait(False, True, 900)
    budget.note_wait(True, True, 950)
    assert_equal(budget.clock.end_ms, 950 + TOTAL_MS - 900)


def test_who_takes_at_the_rate_goes_on() raises:
    var budget = WaitBudget(config())
    budget.note_wait(True, True, 0)
    var now_ms = 0
    for _ in range(10):
        budget.sent_len += budget.clock.end_ms - now_ms
        now_ms = budget.clock.end_ms
        assert_true(budget.prolong(0, now_ms, config()))
    assert_false(budget.prolong(0, budget.clock.end_ms, config()))


def test_an_octet_earns_time_once_and_never_more_than_the_total() raises:
    var budget = WaitBudget(config())
    budget.sent_len = 1_000_000
    budget.note_wait(True, True, 0)
    assert_true(budget.prolong(0, TOTAL_MS, config()))
    assert_equal(budget.clock.end_ms, 2 * TOTAL_MS)
    assert_false(budget.prolong(0, 2 * TOTAL_MS, config()))


def test_what_is_on_its_way_earns_nothing_yet() raises:
    var budget = WaitBudget(config())
    budget.note_wait(True, True, 0)
    budget.sent_len = 500
    assert_true(budget.prolong(200, TOTAL_MS, config()))
    assert_equal(budget.clock.end_ms, TOTAL_MS + 300)
    assert_true(budget.prolong(0, TOTAL_MS + 300, config()))
    assert_equal(budget.clock.end_ms, TOTAL_MS + 500)


def test_without_a_rate_octets_earn_nothing() raises:
    var budget = WaitBudget(config())
    budget.note_wait(True, True, 0)
    budget.sent_len = 1_000_000
    assert_false(budget.prolong(0, TOTAL_MS, config(0)))
    budget.refill(config())
    budget.note_wait(True, True, TOTAL_MS)
    assert_equal(budget.clock.end_ms, 2 * TOTAL_MS)
