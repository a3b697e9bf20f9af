"""Until when a connection of HTTP/2 waits: by what it waits for, for how long
already, and what others do meanwhile."""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.link_times import LinkTimes, LinkWaits
from flare.http.server.http2_config import Http2Config
from tests.support.assertions import assert_equal, assert_false, assert_true


def _config() -> ServerConfig:
    return ServerConfig(
        header_timeout_ms=10,
        idle_timeout_ms=1_000,
        write_timeout_ms=100,
        http2_limits=Http2Config(settings_timeout_ms=20),
    )


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
    comptime N = NEVER
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
        # How long the socket is waited for is told by what waits in its way.
        _Round("its client takes nothing", 730, True, True, False, 15, 1, N),
        _Round("it sends part of a frame", 810, True, True, True, 15, 1, 820),
        _Round("it has taken all", 815, False, True, False, 16, 2, N),
        _Round("the stream is over", 950, True, False, False, 16, 3, N),
        _Round("all is taken", 990, False, False, False, 16, 3, 1_990),
    ]


def test_what_is_waited_for_has_its_time_once() raises:
    var times = LinkTimes(_config())
    for row in _rounds():
        times.await_next(
            LinkWaits(
                row.is_blocked,
                row.has_tasks,
                row.is_partial,
                row.frame_count,
                UInt64(row.request_count),
            ),
            row.now_ms,
            _config(),
        )
        assert_equal(times.earliest(False), row.end_ms, row.what)


def test_each_wait_counts() raises:
    for index in range(6):
        var times = LinkTimes(_config())
        var others = 50
        times.idle_end_ms = 7 if index == 0 else others
        times.window.end_ms = 7 if index == 1 else others
        times.total.clock.end_ms = 7 if index == 2 else others
        times.partial_end_ms = 7 if index == 3 else others
        times.goaway_end_ms = 7 if index == 4 else others
        times.settings_end_ms = 7 if index == 5 else others
        assert_equal(times.earliest(True), 7, String(index))
        # SETTINGS that are acknowledged are waited for no more.
        assert_equal(times.earliest(False), 50 if index == 5 else 7)


def test_a_window_is_waited_for_until_it_opens() raises:
    var times = LinkTimes(_config())
    times.await_window(True, 0, _config())
    assert_equal(times.window.end_ms, 100)
    times.note_sent(5)
    times.await_window(True, 50, _config())
    assert_equal(times.window.end_ms, 100)
    assert_equal(times.window_sent_len, 5)
    times.await_window(False, 60, _config())
    assert_equal(times.window.end_ms, NEVER)
    # What was sent before counts for no later wait.
    times.await_window(True, 70, _config())
    assert_equal(times.window.end_ms, 170)
    assert_equal(times.window_sent_len, 0)
    assert_equal(times.total.sent_len, 5)


def test_a_connection_begins_with_two_waits() raises:
    var times = LinkTimes(_config())
    assert_equal(times.earliest(True), NEVER)
    times.begin(1_000, _config())
    assert_equal(times.settings_end_ms, 1_020)
    assert_equal(times.earliest(True), 1_010)
    assert_equal(times.partial_end_ms, 1_010)
    times.begin_goaway(0, _config())
    assert_true(times.earliest(True) == min(1_010, times.goaway_end_ms))
    assert_false(times.goaway_end_ms == NEVER)
