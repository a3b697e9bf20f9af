"""A client's session: what a server's frames do, by section of RFC 9113. A
number in angle brackets is the rule of `Http2Rule` that ended the connection.
"""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.error import ErrorCode, Http2Rule
from flare.http.h2.stream import StreamContent
from tests.support.assertions import assert_equal, assert_true
from tests.support.h2_log import Frames, Http2Log
from tests.support.h2_rows import FrameRow, SessionRow, run_rows


def test_responses() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-8.1 a response without content",
            [FrameRow(1, 5, 1, "88")],
            " H1(200 ).",
        ),
        SessionRow(
            "9113-8.1 informational ones, content, trailers",
            [
                FrameRow(1, 4, 1, "0803313033"),
                FrameRow(1, 4, 1, "0803313030"),
                FrameRow(1, 4, 1, "88"),
                FrameRow(0, 0, 1, "6869746865"),
                FrameRow(1, 5, 1, "0001740176"),
            ],
            " H1(103 ) H1(100 ) H1(200 )hithe T1(t=v;).",
        ),
        SessionRow(
            "9113-8.1 an answer before the request has ended",
            [FrameRow(1, 5, 3, "88"), FrameRow(3, 0, 3, "00000000")],
            " H3(200 ). R3:0",
        ),
        SessionRow(
            "9113-8.1.1 304 has a length, and no content",
            [FrameRow(1, 5, 1, "8b0f0d0133")],
            " H1(304 content-length=3;).",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows)


def test_malformed_responses() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-8.1 an informational one that ends",
            [FrameRow(1, 5, 1, "0803313033")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.6 status 101",
            [FrameRow(1, 4, 1, "0803313031")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1 content before the head",
            [FrameRow(0, 0, 1, "6869746865")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1 content behind an informational one",
            [FrameRow(1, 4, 1, "0803313033"), FrameRow(0, 0, 1, "6869746865")],
            " H1(103 ) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.3.2 no status",
            [FrameRow(1, 5, 1, "0001740176")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.3.2 a status of two digits",
            [FrameRow(1, 5, 1, "08023230")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.3.2 a status with a letter",
            [FrameRow(1, 5, 1, "0803326161")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.3 a response with :path",
            [FrameRow(1, 5, 1, "8884")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 content of 204",
            [FrameRow(1, 4, 1, "89"), FrameRow(0, 1, 1, "61")],
            " H1(204 ) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 less content than announced",
            [FrameRow(1, 4, 1, "880f0d0133"), FrameRow(0, 1, 1, "61")],
            " H1(200 content-length=3;) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "7540-5.3.1 a response that depends on itself is told of",
            [FrameRow(1, 0x25, 1, "000000011088")],
            " R1:1",
            " 3@1:1",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows)


def test_what_ends_the_connection() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-8.4 push was refused",
            [FrameRow(5, 4, 1, "0000000288")],
            "<21>",
        ),
        SessionRow(
            "9113-6.5.2 a server that allows push",
            [FrameRow(4, 0, 0, "000200000001")],
            "<17>",
        ),
        SessionRow(
            "9113-5.1.1 a stream of the server",
            [FrameRow(1, 5, 2, "88")],
            "<7>",
        ),
        SessionRow(
            "9113-5.1 a stream that has not begun",
            [FrameRow(1, 5, 5, "88")],
            "<7>",
        ),
        SessionRow(
            "9113-5.1 DATA on a stream that is over",
            [FrameRow(1, 5, 1, "88"), FrameRow(0, 0, 1, "6869746865")],
            " H1(200 ).<9>",
        ),
        SessionRow(
            "9218-7.1 PRIORITY_UPDATE to a client",
            [FrameRow(16, 0, 0, "00000001")],
            "<45>",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows)


def test_goaway() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-6.8 what is above is over, what is below goes on",
            [
                FrameRow(7, 0, 0, "0000000100000000"),
                FrameRow(1, 5, 3, "88"),
                FrameRow(0, 1, 3, "6869"),
                FrameRow(1, 5, 1, "88"),
            ],
            " G1:0 H1(200 ).",
        ),
        SessionRow(
            "9113-6.8 the last stream grows",
            [
                FrameRow(7, 0, 0, "0000000100000000"),
                FrameRow(7, 0, 0, "0000000300000000"),
            ],
            " G1:0<43>",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows)
    var log = Http2Log(Http2Role.CLIENT)
    _ = log.open()
    var frames = Frames(has_preface=False)
    frames.add(4, 0, 0, "")
    frames.add(7, 0, 0, "0000000300000000")
    log.feed(frames.octets.span())
    assert_equal(log.open(), 0)


def test_streams_keep_to_the_servers_setting() raises:
    # 9113-5.1.2
    var log = Http2Log(Http2Role.CLIENT)
    var frames = Frames(has_preface=False)
    frames.add(4, 0, 0, "000300000002")
    log.feed(frames.octets.span())
    assert_equal(log.open(), 1)
    assert_equal(log.open(), 3)
    assert_equal(log.open(), 0)
    var more = Frames(has_preface=False)
    more.add(1, 5, 1, "88")
    log.feed(more.octets.span())
    assert_equal(log.open(), 5)


def test_a_stream_without_its_headers_is_idle() raises:
    # 9113-5.1: the number is taken, but the server cannot know of it.
    var rows: List[FrameRow] = [
        FrameRow(1, 5, 1, "88"),
        FrameRow(0, 1, 1, "61"),
        FrameRow(3, 0, 1, "00000008"),
        FrameRow(8, 0, 1, "00000100"),
    ]
    for row in rows:
        var log = Http2Log(Http2Role.CLIENT)
        _ = log.session.open_stream()
        var frames = Frames(has_preface=False)
        frames.add(4, 0, 0, "")
        frames.add(row.type, row.flags, row.stream_id, row.payload)
        log.feed(frames.octets.span())
        assert_equal(log.text, String("<", Http2Rule.IDLE_STREAM.number, ">"))


def test_a_stream_without_its_headers_is_given_up() raises:
    # 9113-6.4: RST_STREAM must not be sent for a stream that is idle.
    var log = Http2Log(Http2Role.CLIENT)
    var first = log.session.open_stream()
    log.session.state.reset(log.out, first, ErrorCode.CANCEL)
    assert_equal(log.told(), "")
    var second = log.open()
    log.session.state.reset(log.out, second, ErrorCode.CANCEL)
    assert_equal(log.told(), " 1@3 3@3:8")
    assert_equal(len(log.session.state.table), 0)


def test_large_sections_are_not_cut_silently() raises:
    # 9113-10.5.1: fields that are dropped could be the ones that matter.
    var limits = Http2Limits()
    limits.section.size_max = 100
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-10.5.1 the head",
            [FrameRow(1, 5, 1, "88" + "0001740176" * 2)],
            " R1:11",
            " 3@1:11",
        ),
        SessionRow(
            "9113-10.5.1 the trailers",
            [
                FrameRow(1, 4, 1, "88"),
                FrameRow(1, 5, 1, "0001740176" * 3),
            ],
            " H1(200 ) R1:11",
            " 3@1:11",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows, limits)
    var expects: List[SessionRow] = [
        SessionRow(
            "9110-10.1.1 expect means nothing in a response",
            [FrameRow(1, 5, 1, "88" + "0f140178" + "0001740176")],
            " H1(200 expect=x;t=v;).",
        ),
    ]
    run_rows(Http2Role.CLIENT, expects)


def test_informational_responses_cost() raises:
    var limits = Http2Limits()
    limits.abuse.capacity = 2
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-10.5 without an end",
            [
                FrameRow(1, 4, 1, "0803313033"),
                FrameRow(1, 4, 1, "0803313033"),
                FrameRow(1, 4, 1, "0803313033"),
            ],
            " H1(103 ) H1(103 )<40>",
        ),
    ]
    run_rows(Http2Role.CLIENT, rows, limits)


def _through_a_tunnel(frames: List[FrameRow]) raises -> Tuple[String, String]:
    """Feeds frames to a client that has sent CONNECT on stream 1; gives what
    happens and what the server is told."""
    var log = Http2Log(Http2Role.CLIENT, Http2Limits())
    var id = log.open(ends=False)
    ref table = log.session.state.table
    table.at(table.find(id)).expects = StreamContent.TUNNEL
    log.out.clear()
    var octets = Frames(has_preface=False)
    octets.add(4, 0, 0, "")
    for frame in frames:
        octets.add(frame.type, frame.flags, frame.stream_id, frame.payload)
    log.feed(octets.octets.span())
    return (log.text, log.told())


def test_a_tunnel_carries_nothing_but_data() raises:
    # RFC 9113 section 8.5; RFC 9110 section 9.3.6 for content-length and 204.
    for head in ["880f0d0133", "880f0d0130", "89"]:
        var open: List[FrameRow] = [
            FrameRow(1, 4, 1, head),
            FrameRow(0, 0, 1, "6869746865"),
            FrameRow(0, 1, 1, "61"),
        ]
        var found = _through_a_tunnel(open)
        assert_true(found[0].endswith("hithea."), found[0])
        assert_equal(found[1], " 4@0")
    for flags in [4, 5]:
        var fields: List[FrameRow] = [
            FrameRow(1, 4, 1, "88"),
            FrameRow(1, flags, 1, "0001740176"),
        ]
        var found = _through_a_tunnel(fields)
        assert_equal(found[0], " H1(200 ) R1:1")
        assert_equal(found[1], " 4@0 3@1:1")
    # What is refused is a response as any other.
    var refused: List[FrameRow] = [
        FrameRow(1, 4, 1, "8d0f0d0131"),
        FrameRow(0, 0, 1, "61"),
        FrameRow(1, 5, 1, "0001740176"),
    ]
    var found = _through_a_tunnel(refused)
    assert_equal(found[0], " H1(404 content-length=1;)a T1(t=v;).")
