"""SETTINGS: bounds, order, and what becomes of each (RFC 9113 section 6.5)."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.session import Http2Session
from flare.http.h2.settings import Settings
from tests.support.assertions import assert_equal, assert_true
from tests.support.h2_log import Frames, Http2Log
from tests.vectors.hex_text import hex_of


@fieldwise_init
struct _Bound(Copyable, Movable):
    var rule: StaticString
    var id: Int
    var value: Int
    var code: Int
    """What refuses it; 0 if it is taken."""


def _code(mut settings: Settings, id: Int, value: Int) -> Int:
    try:
        settings.apply(id, value)
        return 0
    except error:
        if error.rule.is_of_stream or error.stream_id != 0:
            return -1
        return Int(error.rule.code.number)


def test_bounds() raises:
    comptime MAX = 0xFFFF_FFFF
    var rows: List[_Bound] = [
        _Bound("9113-6.5.2 HEADER_TABLE_SIZE 0", 1, 0, 0),
        _Bound("9113-6.5.2 HEADER_TABLE_SIZE 2^32-1", 1, MAX, 0),
        _Bound("9113-6.5.2 ENABLE_PUSH 0", 2, 0, 0),
        _Bound("9113-6.5.2 ENABLE_PUSH 1", 2, 1, 0),
        _Bound("9113-6.5.2 ENABLE_PUSH 2", 2, 2, 1),
        _Bound("9113-6.5.2 ENABLE_PUSH 2^32-1", 2, MAX, 1),
        _Bound("9113-6.5.2 MAX_CONCURRENT_STREAMS 0", 3, 0, 0),
        _Bound("9113-6.5.2 MAX_CONCURRENT_STREAMS 2^32-1", 3, MAX, 0),
        _Bound("9113-6.5.2 INITIAL_WINDOW_SIZE 0", 4, 0, 0),
        _Bound("9113-6.5.2 INITIAL_WINDOW_SIZE 2^31-1", 4, 0x7FFF_FFFF, 0),
        _Bound("9113-6.5.2 INITIAL_WINDOW_SIZE 2^31", 4, 0x8000_0000, 3),
        _Bound("9113-6.5.2 INITIAL_WINDOW_SIZE 2^32-1", 4, MAX, 3),
        _Bound("9113-6.5.2 MAX_FRAME_SIZE 0", 5, 0, 1),
        _Bound("9113-6.5.2 MAX_FRAME_SIZE 2^14-1", 5, 16_383, 1),
        _Bound("9113-6.5.2 MAX_FRAME_SIZE 2^14", 5, 16_384, 0),
        _Bound("9113-6.5.2 MAX_FRAME_SIZE 2^24-1", 5, 16_777_215, 0),
        _Bound("9113-6.5.2 MAX_FRAME_SIZE 2^24", 5, 16_777_216, 1),
        _Bound("9113-6.5.2 MAX_HEADER_LIST_SIZE 0", 6, 0, 0),
        _Bound("9113-6.5.2 MAX_HEADER_LIST_SIZE 2^32-1", 6, MAX, 0),
        _Bound("8441-3 ENABLE_CONNECT_PROTOCOL 0", 8, 0, 0),
        _Bound("8441-3 ENABLE_CONNECT_PROTOCOL 1", 8, 1, 0),
        _Bound("8441-3 ENABLE_CONNECT_PROTOCOL 2", 8, 2, 1),
        _Bound("9218-2.1 NO_RFC7540_PRIORITIES 0", 9, 0, 0),
        _Bound("9218-2.1 NO_RFC7540_PRIORITIES 1", 9, 1, 0),
        _Bound("9218-2.1 NO_RFC7540_PRIORITIES 2", 9, 2, 1),
        _Bound("9113-6.5.2 unknown ones are ignored", 0, MAX, 0),
        _Bound("9113-6.5.2 unknown ones are ignored", 7, MAX, 0),
        _Bound("9113-6.5.2 unknown ones are ignored", 0xFFFF, MAX, 0),
    ]
    for row in rows:
        var settings = Settings()
        assert_equal(_code(settings, row.id, row.value), row.code, row.rule)
        # What is refused or unknown changes nothing.
        if row.code != 0 or row.id in (0, 7, 0xFFFF):
            var written = Buffer()
            settings.write_to(written)
            assert_equal(hex_of(written.span()), "000000040000000000", row.rule)


def test_what_holds_at_first() raises:
    # 9113-6.5.2, 8441-3, 9218-2.1
    var settings = Settings()
    assert_equal(settings.header_table_size, 4_096)
    assert_true(settings.enable_push)
    assert_equal(settings.max_concurrent_streams, 0xFFFF_FFFF)
    assert_equal(settings.initial_window_size, 65_535)
    assert_equal(settings.max_frame_size, 16_384)
    assert_equal(settings.max_header_list_size, 0xFFFF_FFFF)
    assert_true(not settings.enable_connect_protocol)
    assert_true(not settings.no_rfc7540_priorities)


def test_each_setting_is_taken_and_written() raises:
    var rows: List[_Bound] = [
        _Bound("9113-6.5.1 HEADER_TABLE_SIZE", 1, 0x0102_0304, 0),
        _Bound("9113-6.5.1 ENABLE_PUSH", 2, 0, 0),
        _Bound("9113-6.5.1 MAX_CONCURRENT_STREAMS", 3, 7, 0),
        _Bound("9113-6.5.1 INITIAL_WINDOW_SIZE", 4, 1, 0),
        _Bound("9113-6.5.1 MAX_FRAME_SIZE", 5, 0x0102_03, 0),
        _Bound("9113-6.5.1 MAX_HEADER_LIST_SIZE", 6, 0xFFFF_FFFE, 0),
        _Bound("8441-3 ENABLE_CONNECT_PROTOCOL", 8, 1, 0),
        _Bound("9218-2.1 NO_RFC7540_PRIORITIES", 9, 1, 0),
    ]
    var all = Settings()
    var wanted = String()
    for row in rows:
        var one = Settings()
        assert_equal(_code(one, row.id, row.value), 0, row.rule)
        assert_equal(_code(all, row.id, row.value), 0, row.rule)
        var octets = Buffer()
        for shift in [8, 0]:
            octets.append_octet(UInt8((row.id >> shift) & 255))
        for shift in [24, 16, 8, 0]:
            octets.append_octet(UInt8((row.value >> shift) & 255))
        var entry = hex_of(octets.span())
        wanted += entry
        var out = Buffer()
        one.write_to(out)
        assert_equal(hex_of(out.span()), "000006040000000000" + entry, row.rule)
    var out = Buffer()
    all.write_to(out)
    assert_equal(hex_of(out.span()), "000030040000000000" + wanted)


def test_what_each_side_announces() raises:
    # 9113-3.4: first of all; a server says nothing of push, a client refuses it.
    var limits = Http2Limits()
    limits.stream_count_max = 3
    limits.stream_window = 0x1_0000
    limits.section.size_max = 0x200
    limits.connection_window = 65_535
    var out = Buffer()
    var server = Http2Session(Http2Role.SERVER, limits, 0)
    server.begin(out)
    assert_equal(
        hex_of(out.span()),
        "000018040000000000"
        + "000300000003"
        + "000400010000"
        + "000600000200"
        + "000900000001",
    )
    out.clear()
    var client = Http2Session(Http2Role.CLIENT, limits, 0)
    client.begin(out)
    assert_equal(
        hex_of(out.span()),
        hex_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_bytes())
        + "000012040000000000"
        + "000200000000"
        + "000400010000"
        + "000600000200",
    )


def _log() raises -> Http2Log:
    var log = Http2Log(Http2Role.SERVER)
    log.feed(Frames().octets.span())
    _ = log.told()
    return log^


def _feed(mut log: Http2Log, payload: StringSpan) raises:
    var frames = Frames(has_preface=False)
    frames.add(4, 0, 0, payload)
    log.feed(frames.octets.span())


def test_settings_are_taken_in_order() raises:
    # 9113-6.5.3: the last one of a kind holds, and all before a wrong one count.
    var log = _log()
    _feed(
        log, "000400000001" + "000400000002" + "00ff00000009" + "000500004001"
    )
    assert_equal(log.session.state.remote.initial_window_size, 2)
    assert_equal(log.session.state.remote.max_frame_size, 16_385)
    assert_equal(log.told(), " 4@0")
    _feed(log, "000400000007" + "000500000000" + "000400000008")
    assert_equal(log.text, "<19>")
    assert_equal(log.told(), "")


def test_nothing_of_none() raises:
    var log = _log()
    _feed(log, "")
    assert_equal(log.text, "")
    assert_equal(log.told(), " 4@0")


def _first_octets(mut log: Http2Log) -> String:
    log.session.begin_block()
    return hex_of(log.session.fields.span())


def test_the_table_of_our_fields_follows_the_peer() raises:
    # 7541-4.2: the next block begins with the least size that was set, if the
    # last one is larger, and with the last one.
    var log = _log()
    assert_equal(_first_octets(log), "-")
    _feed(log, "000100000064")
    assert_equal(_first_octets(log), "3f45")
    assert_equal(_first_octets(log), "-")
    _feed(log, "000100000000" + "000100001000")
    assert_equal(_first_octets(log), "20" + "3fe11f")
    _feed(log, "000100000064")
    _feed(log, "000100000020" + "0001000000c8")
    assert_equal(_first_octets(log), "3f01" + "3fa901")
    _feed(log, "000100000000")
    assert_equal(_first_octets(log), "20")
    # No more than 4,096 of it is used; the same size is no news.
    _feed(log, "000100001000")
    assert_equal(_first_octets(log), "3fe11f")
    _feed(log, "0001ffffffff")
    assert_equal(_first_octets(log), "-")
    assert_equal(log.session.state.remote.header_table_size, 0xFFFF_FFFF)


def test_entries_that_no_longer_fit_are_gone() raises:
    # 7541-4.3
    var log = _log()
    var frames = Frames(has_preface=False)
    frames.add(1, 5, 1, "828684" + "010161")
    frames.add(1, 5, 3, "828684" + "010161")
    log.feed(frames.octets.span())
    log.answer(1)
    _feed(log, "000100000000" + "000100001000")
    log.out.clear()
    log.answer(3)
    # A table that is emptied has nothing that could be referred to.
    assert_equal(hex_of(log.out.span()[9:]), "20" + "3fe11f" + "88")


def test_longer_frames_of_fields() raises:
    # 9113-6.5.2 MAX_FRAME_SIZE is the peer's; DATA keep to what all take.
    var log = _log()
    _feed(log, "000500008000")
    var frames = Frames(has_preface=False)
    frames.add(1, 5, 1, "828684" + "010161")
    log.feed(frames.octets.span())
    _ = log.told()
    log.session.begin_block()
    for _ in range(40_000):
        log.session.fields.append_octet(0x88)
    log.session.end_block(log.out, 1, True)
    assert_equal(log.told(), " 1@1 9@1")
