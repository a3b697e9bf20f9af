"""Until when a connection of HTTP/2 waits: by what it waits for, for how long
already, and what others do meanwhile."""

from flare.http.server.connection.link_times import LinkTimes, LinkWaits
from flare.http.server.connection.phase import NEVER_MS
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _HEADER_MS = 10
comptime _IDLE_MS = 1_000
comptime _WRITE_MS = 100


@fieldwise_init
struct _Round(Copyable):
    """What is waited for at the end of a round, and until when."""

    var what: String
    var now_ms: Int
    var is_blocked: Bool
    var has_tasks: Bool
    var is_partial: Bool
    var frame_count: Int
    var request_count: Int
    var end_ms: Int


def _rounds() -> List[_Round]:
    comptime N = NEVER_MS
    return [
        _Round("nothing under way", 0, False, False, False, 1, 0, 1_000),
        _Round(
            "frames do not prolong it", 500, False, False, False, 9, 0, 1_000
        ),
        _Round("a request does", 600, False, False, False, 12, 1, 1_600),
        _Round("a part of a frame", 700, False, False, True, 12, 1, 710),
        _Round("more of it", 705, False, False, True, 12, 1, 710),
        _Round("a part of the next", 708, False, False, True, 13, 1, 718),
        _Round("all of that", 712, False, False, False, 14, 1, 1_600),
        _Round("a stream", 720, False, True, False, 15, 1, N),
        _Round("its client takes nothing", 730, True, True, False, 15, 1, 830),
        _Round("and still nothing", 800, True, True, False, 15, 1, 830),
        _Round("it sends part of a frame", 810, True, True, True, 15, 1, 820),
        _Round("it has taken all", 815, False, True, False, 16, 2, N),
        _Round("it takes nothing again", 900, True, True, False, 16, 2, 1_000),
        _Round("the stream is over", 950, True, False, False, 16, 3, 1_000),
        _Round("all is taken", 990, False, False, False, 16, 3, 1_990),
    ]


def test_what_is_waited_for_has_its_time_once() raises:
    var times = LinkTimes(_WRITE_MS)
    var was_blocked = False
    for row in _rounds():
        var begins = times.await_next(
            LinkWaits(
                row.is_blocked,
                row.has_tasks,
                row.is_partial,
                row.frame_count,
                UInt64(row.request_count),
            ),
            row.now_ms,
            _HEADER_MS,
            _IDLE_MS,
            _WRITE_MS,
        )
        assert_equal(begins, row.is_blocked and not was_blocked, row.what)
        assert_equal(times.earliest(False), row.end_ms, row.what)
        was_blocked = row.is_blocked


def test_each_wait_counts() raises:
    for index in range(7):
        var times = LinkTimes(_WRITE_MS)
        var others = 50
        times.write_end_ms = 7 if index == 0 else others
        times.idle_end_ms = 7 if index == 1 else others
        times.window_end_ms = 7 if index == 2 else others
        times.total.end_ms = 7 if index == 3 else others
        times.partial_end_ms = 7 if index == 4 else others
        times.goaway_end_ms = 7 if index == 5 else others
        times.settings_end_ms = 7 if index == 6 else others
        assert_equal(times.earliest(True), 7, String(index))
        # SETTINGS that are acknowledged are waited for no more.
        assert_equal(times.earliest(False), 50 if index == 6 else 7)


def test_a_window_is_waited_for_until_it_opens() raises:
    var times = LinkTimes(_WRITE_MS)
    times.await_window(True, 0, _WRITE_MS)
    assert_equal(times.window_end_ms, 100)
    times.note_sent(5)
    times.await_window(True, 50, _WRITE_MS)
    assert_equal(times.window_end_ms, 100)
    assert_equal(times.window_sent_len, 5)
    times.await_window(False, 60, _WRITE_MS)
    assert_equal(times.window_end_ms, NEVER_MS)
    # What was sent before counts for no later wait.
    times.await_window(True, 70, _WRITE_MS)
    assert_equal(times.window_end_ms, 170)
    assert_equal(times.window_sent_len, 0)
    assert_equal(times.total.sent_len, 5)


def test_a_connection_begins_with_two_waits() raises:
    var times = LinkTimes(_WRITE_MS)
    assert_equal(times.earliest(True), NEVER_MS)
    times.begin(1_000, 20, 30)
    assert_equal(times.earliest(True), 1_020)
    assert_equal(times.earliest(False), 1_030)
    times.begin_goaway(0)
    assert_true(times.earliest(True) == times.goaway_end_ms)
    assert_false(times.goaway_end_ms == NEVER_MS)
