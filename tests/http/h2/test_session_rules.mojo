"""The rules of RFC 9113 that a client may break, by section. A number in angle
brackets is the rule of `Http2Rule` that ended the connection."""

from flare.http.h2.connection_state import Http2Role
from tests.support.h2_rows import (
    GET_BLOCK,
    POST_BLOCK,
    FrameRow,
    SessionRow,
    run_rows,
)


def test_lengths_of_payloads() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-6.4 RST_STREAM of 3",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(3, 0, 1, "000000")],
            " H1(a POST / http )<4>",
        ),
        SessionRow(
            "9113-6.9 WINDOW_UPDATE of 3",
            [FrameRow(8, 0, 0, "000001")],
            "<4>",
        ),
        SessionRow(
            "9113-6.7 PING of 7",
            [FrameRow(6, 0, 0, "00000000000000")],
            "<4>",
        ),
        SessionRow(
            "9113-6.5 SETTINGS of 5",
            [FrameRow(4, 0, 0, "0004000000")],
            "<4>",
        ),
        SessionRow(
            "9113-6.5 an acknowledgement with settings",
            [FrameRow(4, 1, 0, "000400000001")],
            "<4>",
        ),
        SessionRow(
            "9113-6.8 GOAWAY of 7",
            [FrameRow(7, 0, 0, "00000000000000")],
            "<4>",
        ),
        SessionRow(
            "9113-6.2 a priority of 4",
            [FrameRow(1, 37, 1, "00000000")],
            "<4>",
        ),
        SessionRow(
            "9113-6.1 HEADERS without the length of the padding",
            [FrameRow(1, 13, 1, "")],
            "<4>",
        ),
        SessionRow(
            "9113-6.1 DATA without the length of the padding",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(0, 8, 1, "")],
            " H1(a POST / http )<4>",
        ),
        SessionRow(
            "9218-7.1 PRIORITY_UPDATE of 3",
            [FrameRow(16, 0, 0, "000000")],
            "<4>",
        ),
        SessionRow(
            "9113-6.1 padding as long as DATA",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(0, 8, 1, "036162")],
            " H1(a POST / http )<11>",
        ),
        SessionRow(
            "9113-6.2 padding as long as HEADERS",
            [FrameRow(1, 13, 1, "0282")],
            "<11>",
        ),
        SessionRow(
            "9113-6.2 padding that reaches into the priority",
            [FrameRow(1, 45, 1, "01" + "0000000310")],
            "<11>",
        ),
        SessionRow(
            "9113-6.2 padding, and no room for a priority",
            [FrameRow(1, 45, 1, "00" + "00000003")],
            "<4>",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_where_frames_stand() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-6.1 DATA on stream 0",
            [FrameRow(0, 1, 0, "61")],
            "<5>",
        ),
        SessionRow(
            "9113-6.2 HEADERS on stream 0",
            [FrameRow(1, 5, 0, GET_BLOCK)],
            "<5>",
        ),
        SessionRow(
            "9113-6.3 PRIORITY on stream 0",
            [FrameRow(2, 0, 0, "0000000110")],
            "<5>",
        ),
        SessionRow(
            "9113-6.4 RST_STREAM on stream 0",
            [FrameRow(3, 0, 0, "00000008")],
            "<5>",
        ),
        SessionRow(
            "9113-6.5 SETTINGS on a stream",
            [FrameRow(4, 0, 1, "")],
            "<6>",
        ),
        SessionRow(
            "9113-6.7 PING on a stream",
            [FrameRow(6, 0, 1, "0000000000000000")],
            "<6>",
        ),
        SessionRow(
            "9113-6.8 GOAWAY on a stream",
            [FrameRow(7, 0, 1, "0000000000000000")],
            "<6>",
        ),
        SessionRow(
            "9218-7.1 PRIORITY_UPDATE on a stream",
            [FrameRow(16, 0, 1, "00000001")],
            "<45>",
        ),
        SessionRow(
            "9218-7.1 PRIORITY_UPDATE of stream 0",
            [FrameRow(16, 0, 0, "00000000")],
            "<45>",
        ),
        SessionRow(
            "9218-7.1 PRIORITY_UPDATE of a push",
            [FrameRow(16, 0, 0, "00000002")],
            "<45>",
        ),
        SessionRow(
            "9113-6.10 CONTINUATION of another stream",
            [FrameRow(1, 1, 1, "82"), FrameRow(9, 4, 3, "86")],
            "<12>",
        ),
        SessionRow(
            "9113-5.1 RST_STREAM on an idle stream",
            [FrameRow(3, 0, 1, "00000008")],
            "<8>",
        ),
        SessionRow(
            "9113-5.1 WINDOW_UPDATE on an idle stream",
            [FrameRow(8, 0, 1, "00000001")],
            "<8>",
        ),
        SessionRow(
            "9113-5.1 RST_STREAM on a stream of ours",
            [FrameRow(3, 0, 2, "00000008")],
            "<8>",
        ),
        SessionRow(
            "9113-5.1.1 a number that was left out",
            [FrameRow(1, 5, 3, GET_BLOCK), FrameRow(1, 5, 1, GET_BLOCK)],
            " H3(a GET / http ).<7>",
        ),
        SessionRow(
            "9113-5.1.1 the same, with others below",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(1, 5, 9, GET_BLOCK),
                FrameRow(1, 5, 11, GET_BLOCK),
                FrameRow(1, 5, 7, GET_BLOCK),
            ],
            " H1(a POST / http ) H9(a GET / http ). H11(a GET / http ).<7>",
        ),
        SessionRow(
            "9113-5.1 DATA on a number that was left out",
            [FrameRow(1, 5, 3, GET_BLOCK), FrameRow(0, 1, 1, "61")],
            " H3(a GET / http ).<9>",
        ),
        SessionRow(
            "9113-5.1 DATA on a stream that was reset",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(3, 0, 1, "00000008"),
                FrameRow(0, 0, 1, "6162636465"),
            ],
            " H1(a POST / http ) R1:8<9>",
        ),
        SessionRow(
            "9113-5.1 HEADERS on a stream that was reset",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(3, 0, 1, "00000008"),
                FrameRow(1, 5, 1, GET_BLOCK),
            ],
            " H1(a POST / http ) R1:8<9>",
        ),
        SessionRow(
            "9113-5.1 RST_STREAM and WINDOW_UPDATE may come late",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(3, 0, 1, "00000008"),
                FrameRow(3, 0, 1, "00000008"),
                FrameRow(8, 0, 1, "00000100"),
            ],
            " H1(a POST / http ) R1:8",
        ),
        SessionRow(
            "9113-5.1 PRIORITY may come at any time",
            [
                FrameRow(2, 0, 9, "0000000110"),
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(2, 0, 1, "0000000310"),
            ],
            " H1(a GET / http ).",
        ),
        SessionRow(
            "9113-5.5 unknown types are dropped",
            [FrameRow(32, 255, 1, "0102"), FrameRow(1, 5, 1, GET_BLOCK)],
            " H1(a GET / http ).",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_settings() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-6.5.2 ENABLE_PUSH of 2",
            [FrameRow(4, 0, 0, "000200000002")],
            "<17>",
        ),
        SessionRow(
            "9113-6.5.2 a window of 2^31",
            [FrameRow(4, 0, 0, "000480000000")],
            "<18>",
        ),
        SessionRow(
            "9113-6.5.2 frames of 2^24",
            [FrameRow(4, 0, 0, "000501000000")],
            "<19>",
        ),
        SessionRow(
            "9113-6.5.2 frames of 2^14-1",
            [FrameRow(4, 0, 0, "000500003fff")],
            "<19>",
        ),
        SessionRow(
            "8441-3 ENABLE_CONNECT_PROTOCOL of 2",
            [FrameRow(4, 0, 0, "000800000002")],
            "<20>",
        ),
        SessionRow(
            "8441-3 ENABLE_CONNECT_PROTOCOL is taken back",
            [
                FrameRow(4, 0, 0, "000800000001"),
                FrameRow(4, 0, 0, "000800000000"),
            ],
            "<20>",
            " 4@0",
        ),
        SessionRow(
            "9218-2.1 NO_RFC7540_PRIORITIES of 2",
            [FrameRow(4, 0, 0, "000900000002")],
            "<47>",
        ),
        SessionRow(
            "9113-6.5.2 unknown settings are dropped",
            [FrameRow(4, 0, 0, "00ff00000002")],
            "",
            " 4@0",
        ),
        SessionRow(
            "9113-6.9.2 an open window grows to 2^31",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(8, 0, 1, "7fff0000"),
                FrameRow(4, 0, 0, "00047fffffff"),
            ],
            " H1(a GET / http ).<24>",
        ),
        SessionRow(
            "9113-6.5.3 an acknowledgement is not acknowledged",
            [FrameRow(4, 1, 0, "")],
            "",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_what_ends_one_stream_alone() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-5.1 HEADERS behind the end",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(1, 5, 1, "0001740176")],
            " H1(a GET / http ). R1:5",
            " 3@1:5",
        ),
        SessionRow(
            "7540-5.3.1 HEADERS depend on themselves",
            [FrameRow(1, 37, 1, "0000000110" + GET_BLOCK)],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "7540-5.3.1 with the rest in CONTINUATION",
            [
                FrameRow(1, 33, 1, "000000011082"),
                FrameRow(9, 4, 1, "8684410161"),
            ],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "7540-5.3.1 PRIORITY of an open stream",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(2, 0, 1, "0000000110")],
            " H1(a GET / http ). R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-6.4 an idle stream is not reset",
            [FrameRow(2, 0, 1, "0000000110")],
            "<15>",
        ),
        SessionRow(
            "9113-6.3 PRIORITY of 4 on an open stream",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(2, 0, 1, "00000001")],
            " H1(a GET / http ). R1:6",
            " 3@1:6",
        ),
        SessionRow(
            "9113-6.3 PRIORITY of 4 on an idle stream",
            [FrameRow(2, 0, 1, "00000001")],
            "<16>",
        ),
        SessionRow(
            "9113-8.1 trailers that do not end the stream",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(1, 4, 1, "0001740176")],
            " H1(a POST / http ) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1 trailers with :path",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(1, 5, 1, "84")],
            " H1(a POST / http ) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1 trailers with a capital",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(1, 5, 1, "0001540176")],
            " H1(a POST / http ) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 less content than announced",
            [
                FrameRow(1, 4, 1, POST_BLOCK + "0f0d0133"),
                FrameRow(0, 1, 1, "6162"),
            ],
            " H1(a POST / http content-length=3;) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 no content where some was announced",
            [FrameRow(1, 5, 1, POST_BLOCK + "0f0d0133")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 trailers before all content",
            [
                FrameRow(1, 4, 1, POST_BLOCK + "0f0d0133"),
                FrameRow(1, 5, 1, "0001740176"),
            ],
            " H1(a POST / http content-length=3;) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 as much as announced",
            [
                FrameRow(1, 4, 1, POST_BLOCK + "0f0d0133"),
                FrameRow(0, 1, 1, "616263"),
            ],
            " H1(a POST / http content-length=3;)abc.",
        ),
        SessionRow(
            "8441-4 :protocol where SETTINGS do not offer it",
            [
                FrameRow(
                    1,
                    5,
                    1,
                    "0207434f4e4e454354"
                    + "8684010161"
                    + "00093a70726f746f636f6c"
                    + "09776562736f636b6574",
                )
            ],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-4.3 the next request is in step",
            [
                FrameRow(1, 5, 1, GET_BLOCK + "0001580176"),
                FrameRow(1, 5, 3, "828684be"),
            ],
            " R1:1 H3(a GET / http ).",
            " 3@1:1",
        ),
        SessionRow(
            "9113-5.4.2 what is on its way is dropped",
            [
                FrameRow(1, 4, 1, POST_BLOCK + "0001580176"),
                FrameRow(0, 0, 1, "6162636465"),
                FrameRow(1, 5, 1, "0001740176"),
                FrameRow(1, 5, 3, GET_BLOCK),
            ],
            " R1:1 H3(a GET / http ).",
            " 3@1:1",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_the_end_of_a_connection() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-6.8 GOAWAY is told of",
            [
                FrameRow(7, 0, 0, "7fffffff00000000"),
                FrameRow(7, 0, 0, "0000000000000002"),
            ],
            " G2147483647:0 G0:2",
        ),
        SessionRow(
            "9113-6.8 the last stream grows",
            [
                FrameRow(7, 0, 0, "0000000000000000"),
                FrameRow(7, 0, 0, "0000000100000000"),
            ],
            " G0:0<43>",
        ),
        SessionRow(
            "9113-6.7 PING is answered",
            [
                FrameRow(6, 0, 0, "0102030405060708"),
                FrameRow(6, 1, 0, "0102030405060708"),
            ],
            " P",
            " 6@0",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)
