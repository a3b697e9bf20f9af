"""Which limit holds where something is waited for, over both versions, and what octets
that move give."""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.deadlines import (
    TakingClock,
    WAIT_FACTOR,
    Wait,
    deadline_of,
    earned_ms,
    limit_ms,
    wait_of,
)
from flare.http.server.connection.phase import Phase, StreamPhase
from flare.http.server.http2_config import Http2Config
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _OWN_MS = 77
# What a handler's policy, or TLS, says of itself.


def _config() -> ServerConfig:
    """Each limit is another."""
    return ServerConfig(
        header_timeout_ms=1,
        body_timeout_ms=2,
        idle_timeout_ms=3,
        write_timeout_ms=4,
        handler_timeout_ms=5,
        linger_timeout_ms=6,
        shutdown_timeout_ms=7,
        min_body_rate=1_000,
        min_send_rate=500,
        http2_limits=Http2Config(settings_timeout_ms=8),
    )


def _value(limit: StringSpan) raises -> Int:
    """The value of a limit by its name."""
    var config = _config()
    if limit == "header_timeout_ms":
        return config.header_timeout_ms
    if limit == "body_timeout_ms":
        return config.body_timeout_ms
    if limit == "idle_timeout_ms":
        return config.idle_timeout_ms
    if limit == "write_timeout_ms":
        return config.write_timeout_ms
    if limit == "four times write_timeout_ms":
        return 4 * config.write_timeout_ms
    if limit == "linger_timeout_ms":
        return config.linger_timeout_ms
    if limit == "http2_limits.settings_timeout_ms":
        return config.http2_limits.settings_timeout_ms
    if limit == "what it says itself":
        return _OWN_MS
    if limit == "a second":
        return 1_000
    if limit == "two seconds":
        return 2_000
    if limit == "none":
        return NEVER
    raise Error("no limit is called ", limit)


@fieldwise_init
struct _Row(Copyable):
    var what: String
    var wait: Wait
    var limit: String


def _waits() -> List[_Row]:
    return [
        _Row("nothing", Wait.NOTHING, "none"),
        # `TlsServerConfig.handshake_timeout_ms`.
        _Row("a handshake", Wait.HANDSHAKE, "what it says itself"),
        _Row("the rest of a head or frame", Wait.HEAD, "header_timeout_ms"),
        _Row("content", Wait.CONTENT, "body_timeout_ms"),
        # `handler_timeout_ms`, or the `Timeout` of its route.
        _Row("a handler", Wait.HANDLER, "what it says itself"),
        _Row("the client, to take", Wait.CLIENT, "write_timeout_ms"),
        _Row(
            "the same, over all streams",
            Wait.CLIENT_IN_ALL,
            "four times write_timeout_ms",
        ),
        _Row("the next request", Wait.NEXT_REQUEST, "idle_timeout_ms"),
        _Row("the last request", Wait.LAST_REQUEST, "a second"),
        _Row("the last is read", Wait.GOODBYE, "linger_timeout_ms"),
        _Row(
            "SETTINGS are acknowledged",
            Wait.SETTINGS,
            "http2_limits.settings_timeout_ms",
        ),
        _Row("who may have gone", Wait.HALF_CLOSED, "two seconds"),
    ]


def test_each_wait_has_its_limit() raises:
    var waits = _waits()
    assert_equal(len(waits), Wait.COUNT)
    for number in range(len(waits)):
        ref row = waits[number]
        assert_equal(Int(row.wait.number), number, row.what)
        var limit = _value(row.limit)
        assert_equal(limit_ms(row.wait, _config(), _OWN_MS), limit, row.what)
        var end_ms = deadline_of(row.wait, 1_000, _config(), own_ms=_OWN_MS)
        if limit == NEVER:
            assert_equal(end_ms, NEVER, row.what)
        else:
            assert_equal(end_ms, 1_000 + limit, row.what)
        # What is waited for has come in part: content alone earns by that.
        var later_ms = deadline_of(
            row.wait, 1_000, _config(), received_len=50, own_ms=_OWN_MS
        )
        if row.wait == Wait.CONTENT:
            end_ms += 50
        assert_equal(later_ms, end_ms, row.what)


def test_what_says_nothing_has_no_limit() raises:
    assert_equal(deadline_of(Wait.HANDLER, 5, _config()), NEVER)


@fieldwise_init
struct _PhaseRow(Copyable):
    var phase: Phase
    var limit: String


def _phases() -> List[_PhaseRow]:
    """Each phase of a connection: of HTTP/1.1, but for the last."""
    return [
        _PhaseRow(Phase.IDLE, "idle_timeout_ms"),
        _PhaseRow(Phase.HEAD, "header_timeout_ms"),
        _PhaseRow(Phase.BODY, "body_timeout_ms"),
        _PhaseRow(Phase.WRITE, "write_timeout_ms"),
        _PhaseRow(Phase.HANDLER, "what it says itself"),
        _PhaseRow(Phase.HANDSHAKE, "what it says itself"),
        # It is asked when it wants to be.
        _PhaseRow(Phase.SOURCE, "none"),
        _PhaseRow(Phase.LINGER, "linger_timeout_ms"),
        _PhaseRow(Phase.PROXY, "header_timeout_ms"),
        _PhaseRow(Phase.CLOSED, "none"),
        # HTTP/2 has the earliest of its own waits and its streams'.
        _PhaseRow(Phase.STREAMS, "none"),
    ]


def test_each_phase_has_its_limit() raises:
    var phases = _phases()
    assert_equal(len(phases), Phase.COUNT)
    for number in range(len(phases)):
        ref row = phases[number]
        assert_equal(Int(row.phase.number), number)
        assert_equal(
            limit_ms(wait_of(row.phase), _config(), _OWN_MS),
            _value(row.limit),
            String(row.phase),
        )


def test_each_phase_of_a_stream_has_its_limit() raises:
    var rows = [
        (StreamPhase.CLIENT, "body_timeout_ms"),
        (StreamPhase.QUEUED, "none"),
        (StreamPhase.PARKED, "none"),
        (StreamPhase.HANDLER, "what it says itself"),
        (StreamPhase.READER, "body_timeout_ms"),
        # Its source is asked when it wants to be; others end by themselves.
        (StreamPhase.SENDS, "none"),
        (StreamPhase.SHUT, "write_timeout_ms"),
        (StreamPhase.OVER, "none"),
    ]
    assert_equal(len(rows), StreamPhase.COUNT)
    for number in range(len(rows)):
        ref row = rows[number]
        assert_equal(Int(row[0].number), number)
        assert_equal(
            limit_ms(wait_of(row[0]), _config(), _OWN_MS),
            _value(row[1]),
            String(number),
        )


def test_time_is_earned_by_the_rate() raises:
    # moved octets, octets a second, milliseconds
    var rows = [
        (0, 4_096, 0),
        (4, 4_096, 0),
        (5, 4_096, 1),
        (4_096, 4_096, 1_000),
        (6_144, 4_096, 1_500),
        (1 << 40, 1, 1_000 << 40),
        (1 << 40, 0, 0),
    ]
    for row in rows:
        assert_equal(earned_ms(row[0], row[1]), row[2])


def _sending(rate: Int) -> ServerConfig:
    return ServerConfig(write_timeout_ms=500, min_send_rate=rate)


def test_an_end_is_put_off_but_never_beyond_the_timeout_from_now() raises:
    # end, taken, now, then
    var rows = [
        (1_000, 0, 1_000, 1_000),
        (1_000, 200, 1_000, 1_200),
        (1_000, 500, 1_000, 1_500),
        (1_000, 90_000, 1_000, 1_500),
        (1_000, 300, 1_400, 1_300),
    ]
    for row in rows:
        var clock = TakingClock(row[0])
        var is_left = clock.prolong(
            Wait.CLIENT, row[1], row[2], _sending(1_000)
        )
        assert_equal(clock.end_ms, row[3])
        assert_equal(is_left, row[3] > row[2])


def test_all_streams_together_may_save_up_more() raises:
    var clock = TakingClock(1_000)
    _ = clock.prolong(Wait.CLIENT_IN_ALL, 90_000, 1_000, _sending(1_000))
    assert_equal(clock.end_ms, 1_000 + WAIT_FACTOR * 500)


def test_each_octet_earns_time_once() raises:
    var clock = TakingClock(0)
    assert_true(clock.prolong(Wait.CLIENT, 400, 0, _sending(1_000)))
    assert_equal(clock.end_ms, 400)
    assert_false(clock.prolong(Wait.CLIENT, 400, 400, _sending(1_000)))
    # Less than before takes nothing back.
    assert_false(clock.prolong(Wait.CLIENT, 100, 400, _sending(1_000)))
    assert_true(clock.prolong(Wait.CLIENT, 450, 400, _sending(1_000)))
    assert_equal(clock.end_ms, 450)


def test_single_octets_add_up() raises:
    var clock = TakingClock(0)
    for taken in range(1, 1_025):
        _ = clock.prolong(Wait.CLIENT, taken, 0, _sending(4_096))
    # A quarter of a second's worth, less what rounding takes: never more.
    assert_true(clock.end_ms <= 250)
    assert_true(clock.end_ms >= 200)


def test_no_rate_earns_nothing() raises:
    var clock = TakingClock(1_000)
    assert_false(clock.prolong(Wait.CLIENT, 1 << 40, 1_000, _sending(0)))
