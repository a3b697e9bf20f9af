"""Windows in both directions (RFC 9113 sections 5.2 and 6.9)."""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.error import ErrorCode
from tests.support.assertions import assert_equal, assert_true
from tests.support.h2_log import Frames, Http2Log

comptime _POST = StaticString("8386840101" + "61")
comptime _WINDOW = 65_535


def _server(stream_count_max: Int = 100) raises -> Http2Log:
    """A server that gives room back in halves of 65,535 octets."""
    var limits = Http2Limits()
    limits.connection_window = _WINDOW
    limits.stream_count_max = stream_count_max
    var log = Http2Log(Http2Role.SERVER, limits)
    var frames = Frames()
    frames.add(4, 1, 0, "")
    log.feed(frames.octets.span())
    _ = log.told()
    return log^


def _feed(
    mut log: Http2Log, type: Int, flags: Int, id: Int, payload: StringSpan
) raises:
    var frames = Frames(has_preface=False)
    frames.add(type, flags, id, payload)
    log.feed(frames.octets.span())


def _check_room(log: Http2Log, rule: StaticString) raises:
    """Nothing is held here, so all of the window is the peer's or is owed."""
    ref state = log.session.state
    assert_equal(state.receive_window + state.owed_len, _WINDOW, rule)
    assert_true(state.owed_len * 2 < _WINDOW, rule)
    assert_true("<" not in log.text, String(rule, log.text))


def test_the_room_of_dropped_content_comes_back() raises:
    # Each of them sends more than half of the connection's window in vain.
    var reset = _server()
    _feed(reset, 1, 4, 1, _POST)
    reset.session.state.reset(reset.out, 1, ErrorCode.CANCEL)
    _send_content(reset, "a stream that was reset here")
    var refused = _server(stream_count_max=0)
    _feed(refused, 1, 4, 1, _POST)
    _send_content(refused, "a stream that was refused")
    var late = _server()
    late.session.end_drain(late.out)
    _feed(late, 1, 4, 1, _POST)
    _send_content(late, "a stream above GOAWAY")
    var over = _server()
    _feed(over, 1, 5, 1, _POST)
    _send_content(over, "a stream that has ended")
    var longer = _server()
    _feed(longer, 1, 4, 1, _POST + "0f0d0135")
    _send_content(longer, "more than content-length")
    var taken = _server()
    _feed(taken, 1, 4, 1, _POST)
    _send_content(taken, "content that is taken")


def _send_content(mut log: Http2Log, rule: StaticString) raises:
    for _ in range(10):
        _feed(log, 0, 8, 1, "ff" + "61" * 12_000 + "00" * 255)
    _check_room(log, rule)


def test_a_stream_that_is_reset_within_a_frame() raises:
    # What is left of the frame is not read as frames.
    var log = _server()
    _feed(log, 1, 4, 1, _POST)
    var frames = Frames(has_preface=False)
    frames.add(0, 9, 1, "03" + "61" * 400 + "000000")
    var octets = frames.octets.span()
    log.feed(octets[0:100])
    log.session.state.reset(log.out, 1, ErrorCode.CANCEL)
    log.text = ""
    log.feed(octets[100:200])
    log.feed(octets[200:])
    _ = log.told()
    _feed(log, 6, 0, 0, "0102030405060708")
    assert_equal(log.text, "")
    assert_equal(log.told(), " 6@0")
    _check_room(log, "the rest of a frame")


def test_padding_alone_does_not_shut_a_stream() raises:
    # 9113-6.9.1: the whole frame counts, and no handler reads padding.
    var log = _server()
    _feed(log, 1, 4, 1, _POST)
    for _ in range(600):
        _feed(log, 0, 8, 1, "ff" + "00" * 255)
    assert_true("R1" not in log.text)
    _check_room(log, "padding")


def test_room_comes_back_when_content_is_taken() raises:
    # 9113-6.9: at half of the window, or with as much as the peer has left.
    var log = _server()
    log.gives_back = False
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 0, 0, 1, "61" * 16_384)
    _feed(log, 0, 0, 1, "61" * 16_384)
    _feed(log, 0, 0, 1, "61" * 10_000)
    assert_equal(log.told(), "")
    log.session.state.consume(log.out, 1, 22_766)
    assert_equal(log.told(), "")
    log.session.state.consume(log.out, 1, 1)
    assert_equal(log.told(), " 8@0:22767")
    log.session.state.consume(log.out, 1, 10_000)
    assert_equal(log.told(), "")
    log.session.state.consume(log.out, 1, 1)
    assert_equal(log.told(), " 8@1:32768")
    assert_equal(log.session.state.receive_window, 45_534)
    # A stream that needs no more gets none.
    _feed(log, 0, 1, 1, "61" * 16_384)
    _feed(log, 1, 4, 3, _POST)
    log.session.state.consume(log.out, 1, 19_148)
    assert_equal(log.told(), "")
    log.session.state.consume(log.out, 1, 1)
    assert_equal(log.told(), " 8@0:29150")
    log.session.state.consume(log.out, 9, 7_235)
    assert_equal(log.told(), "")
    assert_equal(log.session.state.receive_window, 58_300)


def test_content_that_nobody_takes_leaves_the_rest_of_the_window() raises:
    # More than half of it is held: what is taken of others comes back in time.
    var log = _server()
    log.gives_back = False
    for id in [1, 3, 5]:
        _feed(log, 1, 4, id, _POST)
        _feed(log, 0, 0, id, "61" * 16_384)
    _feed(log, 1, 4, 7, _POST)
    for _ in range(24):
        _feed(log, 0, 0, 7, "61" * 1_024)
        log.session.state.consume(log.out, 7, 1_024)
    assert_equal(log.told(), " 8@0:8192" * 3)


def test_a_window_that_is_shut_is_not_opened_by_nothing() raises:
    # 9113-6.9: an increment of 0 is an error.
    var log = _server()
    log.gives_back = False
    for id in [1, 3]:
        _feed(log, 1, 4, id, _POST)
        _feed(log, 0, 0, id, "61" * 16_384)
        _feed(log, 0, 0, id, "61" * 16_383)
    _feed(log, 0, 0, 1, "61")
    assert_equal(log.session.state.receive_window, 0)
    log.session.state.consume(log.out, 1, 0)
    assert_equal(log.told(), "")
    log.session.state.consume(log.out, 1, 1)
    assert_equal(log.told(), " 8@0:1")


def test_a_stream_can_be_widened() raises:
    var log = _server()
    _feed(log, 1, 4, 1, _POST)
    log.session.state.widen(log.out, 1, 262_144)
    assert_equal(log.told(), " 8@1:196608")
    log.session.state.widen(log.out, 1, 1_000)
    log.session.state.widen(log.out, 3, 262_144)
    assert_equal(log.told(), "")


def test_what_we_may_send() raises:
    # 9113-6.9.2: the peer's setting changes open streams, also below 0.
    var log = _server()
    _feed(log, 1, 5, 1, _POST)
    log.answer(1, ends=False)
    assert_equal(log.session.sendable_len(1), 65_535)
    assert_equal(log.session.sendable_len(3), -1)
    var content = List[UInt8](length=40_000, fill=97)
    log.session.write_data(log.out, 1, Span(content)[0:100], False)
    assert_equal(log.session.sendable_len(1), 65_435)
    _feed(log, 4, 0, 0, "000400000000")
    assert_equal(log.session.state.table.at(0).send_window, -100)
    assert_equal(log.session.sendable_len(1), 0)
    _feed(log, 8, 0, 1, "00000064")
    assert_equal(log.session.sendable_len(1), 0)
    _feed(log, 8, 0, 1, "00000020")
    assert_equal(log.session.sendable_len(1), 32)
    # New streams have the new window.
    _feed(log, 1, 5, 3, _POST)
    assert_equal(log.session.sendable_len(3), 0)
    _feed(log, 4, 0, 0, "0004000f4240")
    assert_equal(log.session.sendable_len(3), 65_435)
    _feed(log, 8, 0, 0, "00010000")
    assert_equal(log.session.sendable_len(3), 65_435 + 65_536)
    log.out.clear()
    log.answer(3, ends=False)
    log.session.write_data(log.out, 3, content, True)
    assert_equal(log.told(), " 1@3 0@3 0@3 0@3")
    assert_equal(log.session.sendable_len(3), -1)
    assert_equal(log.session.state.send_window, 65_435 + 65_536 - 40_000)


def test_long_field_blocks_are_cut() raises:
    # 9113-4.3, with frames of the length that the peer takes.
    var log = _server()
    _feed(log, 1, 5, 1, _POST)
    log.session.begin_block()
    for _ in range(40_000):
        log.session.fields.append_octet(0x88)
    log.session.end_block(log.out, 1, True)
    assert_equal(log.told(), " 1@1 9@1 9@1")
    assert_equal(len(log.session.state.table), 0)


def test_draining() raises:
    # 9113-6.8: a first GOAWAY refuses nothing, the last stream never grows.
    var log = _server()
    _feed(log, 1, 5, 1, _POST)
    log.session.begin_drain(log.out)
    _feed(log, 1, 5, 3, _POST)
    assert_true(" H3(" in log.text)
    log.session.end_drain(log.out)
    assert_equal(log.session.state.goaway_id, 3)
    log.text = ""
    _feed(log, 1, 5, 5, _POST)
    assert_equal(log.text, "")
    log.session.end_drain(log.out)
    assert_equal(log.session.state.goaway_id, 3)
    log.out.clear()
    _feed(log, 8, 0, 0, "00000000")
    log.session.fail(log.out, log.error.value())
    assert_equal(log.told(), " 7@0:1")
    log.session.fail(log.out, log.error.value())
    assert_equal(Int(log.out.span()[12]), 3)
