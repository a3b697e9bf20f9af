"""What a peer may ask of a session: each limit, and the abuse budget."""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.frame import FRAME_HEADER_LEN
from flare.http.h2.session import Http2Session
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.h2_log import Frames, Http2Log

comptime _GET = StaticString("8286840101" + "61")
comptime _POST = StaticString("8386840101" + "61")


def _server(limits: Http2Limits) raises -> Http2Log:
    """A server that has SETTINGS, and whose own are acknowledged."""
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


def test_streams_at_once() raises:
    # 9113-5.1.2
    var limits = Http2Limits()
    limits.stream_count_max = 2
    var log = _server(limits)
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 1, 4, 3, _POST)
    log.text = ""
    # The refused block adds to the table, which the next one counts on.
    _feed(log, 1, 4, 5, "838684410161")
    _feed(log, 0, 0, 5, "6162636465")
    _feed(log, 1, 5, 5, "0001740176")
    assert_equal(log.text, " R5:7")
    _feed(log, 3, 0, 1, "00000008")
    _feed(log, 1, 5, 7, "828684be")
    assert_equal(log.text, " R5:7 R1:8 H7(a GET / http ).")
    # Handlers that outlive their streams count, too.
    log.session.foreign_count = 1
    log.answer(7)
    _ = log.told()
    _feed(log, 1, 5, 9, "828684be")
    assert_equal(log.told(), " 3@9:7")


def test_the_stream_that_is_one_too_many_is_refused() raises:
    # A stream ends between HEADERS and CONTINUATION, so that the new one is not
    # the last in the table any more.
    var limits = Http2Limits()
    limits.stream_count_max = 3
    var log = _server(limits)
    for id in range(1, 7, 2):
        _feed(log, 1, 5, id, _GET)
    log.session.foreign_count = 1
    _feed(log, 1, 1, 7, "8286")
    log.answer(1)
    log.text = ""
    _ = log.told()
    _feed(log, 9, 4, 7, "840101" + "61")
    assert_equal(log.text, " R7:7")
    assert_equal(log.told(), " 3@7:7")


def test_the_window_of_a_stream() raises:
    # 9113-6.9.1: 10 octets are taken, 11 are not.
    var limits = Http2Limits()
    limits.stream_window = 10
    var log = _server(limits)
    log.gives_back = False
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 0, 0, 1, "61" * 10)
    log.text = ""
    _feed(log, 0, 1, 1, "61")
    assert_equal(log.text, " R1:3")


def test_a_window_that_the_peer_does_not_know_yet() raises:
    # 9113-6.9.2: SETTINGS are not acknowledged, so 65,535 are allowed; then the
    # rest shrinks, maybe below 0.
    var limits = Http2Limits()
    limits.stream_window = 10
    var log = Http2Log(Http2Role.SERVER, limits)
    log.gives_back = False
    var start = Frames()
    log.feed(start.octets.span())
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 0, 0, 1, "61" * 100)
    _feed(log, 4, 1, 0, "")
    assert_equal(log.session.state.table.at(0).receive_window, -90)
    log.text = ""
    _feed(log, 0, 0, 1, "61" * 5)
    assert_equal(log.text, " R1:3")


def test_the_window_of_the_connection() raises:
    # 9113-6.9.1
    var limits = Http2Limits()
    limits.connection_window = 65_535
    var log = _server(limits)
    log.gives_back = False
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 1, 4, 3, _POST)
    for _ in range(3):
        _feed(log, 0, 0, 1, "61" * 16_384)
    _feed(log, 0, 0, 3, "61" * 16_383)
    assert_true("<" not in log.text)
    _feed(log, 0, 1, 3, "61")
    assert_true(log.text.endswith("<26>"))


def test_a_wide_connection_is_announced() raises:
    # 9113-6.9.2: SETTINGS do not change the window of the connection.
    var limits = Http2Limits()
    limits.connection_window = 100_000
    var log = Http2Log(Http2Role.SERVER, limits)
    log.session = Http2Session(Http2Role.SERVER, limits, 0)
    log.session.begin(log.out)
    assert_equal(log.told(), " 4@0 8@0:34465")
    assert_equal(log.session.state.receive_window, 100_000)


def test_sizes_of_field_sections() raises:
    # 9113-10.5.1. Counted: 42 + 43 + 38 + 43 are 166 of the request.
    var limits = Http2Limits()
    limits.section.size_max = 166 + 34
    var log = _server(limits)
    _feed(log, 1, 5, 1, _GET + "0001740176")
    assert_equal(log.session.section[].facts.status, 0)
    _feed(log, 1, 5, 3, _GET + "000174027676")
    assert_equal(log.session.section[].facts.status, 431)
    limits = Http2Limits()
    limits.section.field_count_max = 2
    log = _server(limits)
    _feed(log, 1, 5, 1, _GET + "0001740176" * 2)
    assert_equal(log.session.section[].facts.status, 0)
    _feed(log, 1, 5, 3, _GET + "0001740176" * 3)
    assert_equal(log.session.section[].facts.status, 431)
    limits = Http2Limits()
    limits.section.target_len_max = 5
    log = _server(limits)
    _feed(log, 1, 5, 1, "8286" + "04052f61616161" + "010161")
    assert_equal(log.session.section[].facts.status, 0)
    _feed(log, 1, 5, 3, "8286" + "04062f6161616161" + "010161")
    assert_equal(log.session.section[].facts.status, 414)


def test_frames_of_a_field_block() raises:
    # CVE-2024-27316
    var limits = Http2Limits()
    limits.continuation_count_max = 2
    var log = _server(limits)
    _feed(log, 1, 1, 1, "82")
    _feed(log, 9, 0, 1, "86")
    _feed(log, 9, 4, 1, "84010161")
    assert_equal(log.text, " H1(a GET / http ).")
    _feed(log, 1, 1, 3, "82")
    _feed(log, 9, 0, 3, "86")
    _feed(log, 9, 0, 3, "84")
    _feed(log, 9, 4, 3, "010161")
    assert_true(log.text.endswith("<40>"))


def test_octets_of_a_field_block() raises:
    # 9113-10.5.1: 3 times 16 KiB are more than are collected.
    var log = _server(Http2Limits())
    var part = "0001747f817c" + "61" * 16_000
    _feed(log, 1, 1, 1, part)
    _feed(log, 9, 0, 1, part)
    assert_equal(log.text, "")
    _feed(log, 9, 0, 1, part)
    assert_equal(log.text, "<41>")


def test_a_block_that_refers_to_one_entry_again_and_again() raises:
    # CVE-2016-6581: an entry of 4,000 octets, then an octet for each reference.
    var log = _server(Http2Limits())
    var entry = "400174" + "7fa11e" + "61" * 4_000
    _feed(log, 1, 5, 1, _GET + entry + "be" * 10)
    assert_equal(log.session.section[].facts.status, 431)
    _feed(log, 1, 5, 3, _GET + "be" * 16_000)
    assert_true(log.text.endswith("<41>"))


def test_settings_in_a_frame() raises:
    # CVE-2020-11080
    var limits = Http2Limits()
    limits.setting_count_max = 2
    var log = _server(limits)
    _feed(log, 4, 0, 0, "000400000001" * 2)
    assert_equal(log.text, "")
    _feed(log, 4, 0, 0, "000400000001" * 3)
    assert_equal(log.text, "<40>")


def test_longest_frame() raises:
    # 9113-4.2: the header is enough to know.
    var log = _server(Http2Limits())
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 0, 0, 1, "61" * 16_384)
    assert_true("<" not in log.text)
    var header: List[UInt8] = [0, 0x40, 1, 0x20, 0, 0, 0, 0, 1]
    log.feed(Span(header)[0 : FRAME_HEADER_LEN - 1])
    assert_true("<" not in log.text)
    log.feed(Span(header)[FRAME_HEADER_LEN - 1 :])
    assert_true(log.text.endswith("<3>"))


@fieldwise_init
struct _Work(Copyable, Movable):
    var rule: StaticString
    var type: Int
    var flags: Int
    var stream_id: Int
    var payload: String


def test_what_costs() raises:
    # Two are taken, the third ends the connection, and time brings more.
    var rows: List[_Work] = [
        _Work("CVE-2019-9512 PING", 6, 0, 0, "00" * 8),
        _Work("CVE-2019-9512 PING that was not asked", 6, 1, 0, "00" * 8),
        _Work("CVE-2019-9515 SETTINGS", 4, 0, 0, ""),
        _Work("CVE-2019-9515 acknowledgements", 4, 1, 0, ""),
        _Work("CVE-2019-9513 PRIORITY", 2, 0, 1, "0000000510"),
        _Work("9218-7 PRIORITY_UPDATE", 16, 0, 0, "00000001"),
        _Work("9113-10.5 WINDOW_UPDATE of an octet", 8, 0, 1, "00000001"),
        _Work("9113-10.5 the same of all", 8, 0, 0, "0000000f"),
        _Work("CVE-2019-9518 empty DATA", 0, 0, 1, ""),
        _Work("CVE-2019-9518 tiny DATA", 0, 0, 1, "61626364"),
        _Work("CVE-2019-9518 padding alone", 0, 8, 1, "020000"),
        _Work("9113-10.5 unknown types", 0x20, 0, 1, ""),
        _Work("9113-10.5 GOAWAY", 7, 0, 0, "00" * 8),
        _Work("9113-10.5 RST_STREAM of what is over", 3, 0, 3, "00000008"),
    ]
    for row in rows:
        var limits = Http2Limits()
        limits.abuse.capacity = 3
        limits.abuse.refill_per_s = 1_000
        var log = _server(limits)
        _feed(log, 1, 4, 1, _POST)
        _feed(log, 1, 4, 3, _POST)
        _feed(log, 3, 0, 3, "00000008")
        # These may give back what both streams have ended with.
        for _ in range(4):
            _feed(log, 8, 0, 0, "00000001")
        for _ in range(2):
            _feed(log, row.type, row.flags, row.stream_id, row.payload)
        assert_true("<" not in log.text, String(row.rule, log.text))
        var later = Frames(has_preface=False)
        later.add(row.type, row.flags, row.stream_id, row.payload)
        log.feed(later.octets.span(), now_ms=1)
        assert_true("<" not in log.text, String(row.rule, log.text))
        log.feed(later.octets.span(), now_ms=1)
        assert_true(log.text.endswith("<40>"), String(row.rule, log.text))


def _upload(mut log: Http2Log, lengths: List[Int]) raises:
    """Feeds frames of content on stream 1, behind which it goes on."""
    for length in lengths:
        _feed(log, 0, 0, 1, "61" * length)


def test_what_windows_cut_off_is_free() raises:
    # 9113-6.9.1: a sender that has pieces of a frame's length, as Go's client
    # does, sends what a window allows of one and the rest when it is opened.
    for knows in range(2):
        var log = _strict_server()
        if knows == 0:
            # It has not seen our SETTINGS, so its window is one of 65,535.
            log.session.state.owes_settings_ack = True
        _feed(log, 1, 4, 1, _POST)
        if knows == 0:
            _upload(log, [16_384, 16_384, 16_384, 16_383, 1])
        else:
            _upload(log, [16_384, 16_384, 16_384, 16_383, 1, 16_384])
        assert_false(log.error.__bool__(), String(knows))
    # It stops where its window ended before it hears that there is more.
    var late = _strict_server()
    _feed(late, 1, 4, 1, _POST)
    _upload(late, [16_384, 16_384])
    for _ in range(30):
        # Each half is given back at once.
        _upload(late, [16_384, 16_382, 2])
        _upload(late, [1, 16_384, 16_383])
    assert_false(late.error.__bool__())


def test_what_is_left_of_a_frame_is_free() raises:
    # 9113-4.2: a piece of one octet more than a frame may have.
    var log = _strict_server()
    _feed(log, 1, 4, 1, _POST)
    for _ in range(100):
        _upload(log, [16_384, 1])
    assert_false(log.error.__bool__())


def test_the_connection_window_cuts_off_too() raises:
    # 9113-6.9.1, of two streams; the first has the rest of its piece to send.
    var log = _strict_server()
    log.gives_back = False
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 1, 4, 3, _POST)
    log.session.state.receive_window = 20_001
    _feed(log, 0, 0, 3, "61" * 4_000)
    _upload(log, [16_000, 1])
    log.session.state.owe(1 << 19, log.out)
    _upload(log, [3])
    assert_false(log.error.__bool__())


def test_tiny_frames_within_windows_cost() raises:
    # CVE-2019-9518: a window that is nearly used up is not used up, the rest of
    # a piece has no rest, and what is empty is none.
    var tails: List[List[Int]] = [
        [1, 1],
        [4, 4],
        [16_384, 1, 1, 1],
        [16_384, 0, 0],
    ]
    for tail in tails:
        var log = _strict_server()
        _feed(log, 1, 4, 1, _POST)
        _upload(log, [16_384, 8_000])
        _upload(log, tail)
        assert_true(log.text.endswith("<40>"))


def _strict_server(capacity: Int = 1) raises -> Http2Log:
    """A server that takes so many frames of no use, and no other one later."""
    var limits = Http2Limits()
    limits.abuse.capacity = capacity
    limits.abuse.refill_per_s = 0
    return _server(limits)


def test_room_given_back_for_short_frames_is_free() raises:
    # 9113-6.9: an echo of words; the peer gives each back, twice.
    var log = _strict_server()
    _feed(log, 1, 4, 1, _POST)
    log.answer(1, ends=False)
    var word = List[UInt8](length=15, fill=97)
    for _ in range(1_000):
        log.session.write_data(log.out, 1, word, False)
        _feed(log, 8, 0, 0, "0000000f")
        _feed(log, 8, 0, 1, "0000000f")
    assert_true("<" not in log.text, log.text)
    # What the stream may still end with, then the one, then no more.
    for _ in range(3):
        _feed(log, 8, 0, 0, "0000000f")
    assert_true("<" not in log.text, log.text)
    _feed(log, 8, 0, 0, "0000000f")
    assert_true(log.text.endswith("<40>"), log.text)


def test_room_given_back_for_what_windows_cut_off_is_free() raises:
    # 9113-6.9: a long response; the peer gives each frame back by itself.
    var log = _strict_server()
    _feed(log, 1, 4, 1, _POST)
    log.answer(1, ends=False)
    var most = List[UInt8](length=65_530, fill=97)
    for _ in range(1_000):
        log.session.write_data(log.out, 1, most, False)
        log.session.write_data(log.out, 1, Span(most)[0:5], False)
        log.out.clear()
        for id in range(2):
            _feed(log, 8, 0, id, "0000fffa")
            _feed(log, 8, 0, id, "00000005")
    assert_true("<" not in log.text, log.text)


def test_room_given_back_for_short_responses_is_free() raises:
    # 9113-6.9: on the connection, for their streams are over.
    var log = _strict_server()
    for id in range(1, 2_001, 2):
        _feed(log, 1, 5, id, _GET)
        log.answer(id)
        _feed(log, 8, 0, 0, "00000002")
    assert_true("<" not in log.text, log.text)


def test_streams_that_were_left_out_give_no_room_back() raises:
    var log = _strict_server()
    _feed(log, 1, 4, 2_001, _POST)
    _feed(log, 8, 0, 0, "00000001")
    assert_true("<" not in log.text, log.text)
    _feed(log, 8, 0, 0, "00000001")
    assert_true(log.text.endswith("<40>"), log.text)


def test_room_for_an_octet_at_a_time_costs() raises:
    # CVE-2019-9511: windows that are always used up, of a stream or of all.
    for shut in range(2):
        # Settings that follow the first ones cost, too.
        var log = _strict_server(2 - shut)
        if shut == 0:
            _feed(log, 4, 0, 0, "000400000000")
        _feed(log, 1, 4, 1, _POST)
        log.answer(1, ends=False)
        if shut == 1:
            _feed(log, 8, 0, 1, "00100000")
            var all = List[UInt8](length=65_535, fill=97)
            log.session.write_data(log.out, 1, all, False)
        var octet = List[UInt8](length=1, fill=97)
        # Two for the end of the stream, two for what was sent, and one.
        for _ in range(3 + 2 * shut):
            _feed(log, 8, 0, 1 - shut, "00000001")
            log.session.write_data(log.out, 1, octet, False)
        assert_true("<" not in log.text, log.text)
        _feed(log, 8, 0, 1 - shut, "00000001")
        assert_true(log.text.endswith("<40>"), log.text)


def test_streams_that_cost() raises:
    # CVE-2023-44487 and CVE-2025-8671: who resets does not matter.
    var limits = Http2Limits()
    limits.abuse.capacity = 4
    var rapid = _server(limits)
    var provoked = _server(limits)
    var refused = _server(limits)
    for id in range(1, 9, 2):
        _feed(rapid, 1, 4, id, _POST)
        _feed(rapid, 3, 0, id, "00000008")
        _feed(provoked, 1, 4, id, _POST)
        _feed(provoked, 8, 0, id, "7fffffff")
        _feed(refused, 1, 4, id, "82")
    assert_true(rapid.text.endswith(" R7:8"), rapid.text)
    assert_true(provoked.text.endswith(" R7:3"), provoked.text)
    assert_true(refused.text.endswith(" R7:1"), refused.text)
    _feed(rapid, 1, 4, 9, _POST)
    _feed(rapid, 3, 0, 9, "00000008")
    _feed(provoked, 1, 4, 9, _POST)
    _feed(provoked, 8, 0, 9, "7fffffff")
    _feed(refused, 1, 4, 9, "82")
    assert_true(rapid.text.endswith("<40>"), rapid.text)
    assert_true(provoked.text.endswith("<40>"), provoked.text)
    assert_true(refused.text.endswith("<40>"), refused.text)


def test_empty_continuations_cost() raises:
    # CVE-2026-33871
    var limits = Http2Limits()
    limits.abuse.capacity = 2
    var log = _server(limits)
    _feed(log, 1, 1, 1, "82")
    for _ in range(2):
        _feed(log, 9, 0, 1, "")
    assert_equal(log.text, "")
    _feed(log, 9, 0, 1, "")
    assert_equal(log.text, "<40>")


def test_content_behind_a_reset_has_a_bound() raises:
    # 9113-5.1, 9113-6.9.1: no more is on its way than the window of the stream,
    # and one that nobody has opened again.
    var log = _server(Http2Limits())
    _feed(log, 1, 4, 1, _POST)
    _feed(log, 8, 0, 1, "00000000")
    assert_true(log.text.endswith(" R1:1"))
    log.text = ""
    for _ in range(7):
        _feed(log, 0, 0, 1, "61" * 16_384)
    assert_equal(log.text, "")
    _feed(log, 0, 0, 1, "61" * 16_383)
    assert_equal(log.text, "")
    _feed(log, 0, 0, 1, "61")
    assert_equal(log.text, "<9>")


def test_as_many_resets_as_the_budget_allows_are_remembered() raises:
    # 9113-5.1: what is on its way to a stream that was reset here is no fault.
    var log = _server(Http2Limits())
    for index in range(900):
        _feed(log, 1, 4, 2 * index + 1, "82")
    log.text = ""
    _feed(log, 0, 0, 1, "6162636465")
    assert_equal(log.text, "")
