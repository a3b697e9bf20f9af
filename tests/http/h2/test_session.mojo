"""A server's session: what frames do, by section of RFC 9113. A number in angle
brackets is the rule of `Http2Rule` that ended the connection."""

from flare.http.h2.connection_state import Http2Role
from flare.http.h2.error import Http2Rule
from flare.http.h2.field_section import Http2FieldSection
from tests.support.assertions import assert_equal
from tests.support.h2_log import Frames, Http2Log
from tests.support.h2_rows import (
    GET_BLOCK,
    POST_BLOCK,
    FrameRow,
    SessionRow,
    run_rows,
)
from std.memory import OwnedPointer


def test_requests() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-8.1 a request without content",
            [FrameRow(1, 5, 1, GET_BLOCK)],
            " H1(a GET / http ).",
        ),
        SessionRow(
            "9113-8.1 content, and trailers",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(0, 0, 1, "6869"),
                FrameRow(0, 0, 1, "7468657265"),
                FrameRow(1, 5, 1, "0001740176"),
            ],
            " H1(a POST / http )hithere T1(t=v;).",
        ),
        SessionRow(
            "9113-6.1 padding is no content",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(0, 9, 1, "0268690000")],
            " H1(a POST / http )hi.",
        ),
        SessionRow(
            "9113-6.2 padding and priority before the block",
            [FrameRow(1, 0x2D, 1, "01" + "0000000010" + GET_BLOCK + "00")],
            " H1(a GET / http ).",
        ),
        SessionRow(
            "9113-4.3 a block in three frames",
            [
                FrameRow(1, 1, 1, "82"),
                FrameRow(9, 0, 1, "8684"),
                FrameRow(9, 4, 1, "410161"),
            ],
            " H1(a GET / http ).",
        ),
        SessionRow(
            "9113-5.1.1 streams may be left out",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(1, 5, 7, "828684be")],
            " H1(a GET / http ). H7(a GET / http ).",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


comptime _AGAIN = StaticString("828684be")
# The GET of `GET_BLOCK` once more, by the entry that this has added.


def test_requests_that_come_again() raises:
    """The same octets say the same, until the table is another one."""
    var rows: List[SessionRow] = [
        SessionRow(
            "7541-2.3.3 an index means the same",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(1, 5, 3, _AGAIN),
                FrameRow(1, 5, 5, _AGAIN),
                FrameRow(1, 4, 7, POST_BLOCK + "0001740176"),
                FrameRow(0, 1, 7, "6869"),
                FrameRow(1, 4, 9, POST_BLOCK + "0001740176"),
                FrameRow(0, 1, 9, "6869"),
            ],
            (
                " H1(a GET / http ). H3(a GET / http ). H5(a GET / http )."
                " H7(a POST / http t=v;)hi. H9(a POST / http t=v;)hi."
            ),
        ),
        SessionRow(
            "7541-6.2.1 what is to be added is added each time",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(1, 5, 3, GET_BLOCK),
                FrameRow(1, 5, 5, "828684bf"),
            ],
            " H1(a GET / http ). H3(a GET / http ). H5(a GET / http ).",
        ),
        SessionRow(
            "7541-2.3.2 a new entry moves the others",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(1, 5, 3, _AGAIN),
                FrameRow(1, 5, 5, "828684410162"),
                FrameRow(1, 5, 7, _AGAIN),
                FrameRow(1, 5, 9, "828684bf"),
            ],
            (
                " H1(a GET / http ). H3(a GET / http ). H5(b GET / http )."
                " H7(b GET / http ). H9(a GET / http )."
            ),
        ),
        SessionRow(
            "7541-2.3.2 so does one of trailers",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(1, 4, 3, "838684be"),
                FrameRow(1, 5, 3, "4001740176"),
                FrameRow(1, 5, 5, "838684be"),
                FrameRow(1, 5, 7, "838684bf"),
            ],
            (
                " H1(a GET / http ). H3(a POST / http ) T3(t=v;). R5:1"
                " H7(a POST / http )."
            ),
            " 3@5:1",
        ),
        SessionRow(
            "7541-4.3 a smaller table has lost entries",
            [
                FrameRow(1, 5, 1, GET_BLOCK),
                FrameRow(1, 5, 3, _AGAIN),
                FrameRow(1, 5, 5, "20828684010161"),
                FrameRow(1, 5, 7, "20828684010161"),
                FrameRow(1, 5, 9, _AGAIN),
            ],
            (
                " H1(a GET / http ). H3(a GET / http ). H5(a GET / http )."
                " H7(a GET / http ).<14>"
            ),
        ),
        SessionRow(
            "9113-8.1.1 what is malformed is so again",
            [FrameRow(1, 5, 1, "828684"), FrameRow(1, 5, 3, "828684")],
            " R1:1 R3:1",
            " 3@1:1 3@3:1",
        ),
        SessionRow(
            "9113-8.1 a head is no trailers",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(1, 5, 1, POST_BLOCK),
                FrameRow(1, 5, 3, POST_BLOCK),
            ],
            " H1(a POST / http ) R1:1 H3(a POST / http ).",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1 and trailers no head",
            [
                FrameRow(1, 4, 1, POST_BLOCK),
                FrameRow(1, 5, 1, "0001740176"),
                FrameRow(1, 5, 3, "0001740176"),
                FrameRow(1, 5, 5, POST_BLOCK),
            ],
            " H1(a POST / http ) T1(t=v;). R3:1 H5(a POST / http ).",
            " 3@3:1",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_a_request_that_is_kept_stays_what_it_was() raises:
    """`Http2Session.take_section`"""
    var blocks: List[String] = [
        GET_BLOCK + "0001740176",
        _AGAIN + "0001740176",
        _AGAIN + "0001740176",
        "838684be" + "0001740177",
        _AGAIN + "0001740176",
    ]
    var log = Http2Log(Http2Role.SERVER)
    var frames = Frames()
    for index in range(len(blocks)):
        frames.add(1, 5, 2 * index + 1, blocks[index])
    var offset = 0
    var kept = List[OwnedPointer[Http2FieldSection]]()
    # The preface and SETTINGS first, then each frame.
    var all = frames.octets.span()
    var ends: List[Int] = [33]
    for block in blocks:
        ends.append(ends[len(ends) - 1] + 9 + block.byte_length() // 2)
    for index in range(len(ends)):
        log.feed(all[offset : ends[index]])
        offset = ends[index]
        if index > 0:
            # What it has had before does not count.
            var section = OwnedPointer(Http2FieldSection())
            log.session.take_section(section)
            kept.append(section^)
    assert_equal(offset, len(all))
    assert_equal(
        log.text,
        (
            " H1(a GET / http t=v;). H3(a GET / http t=v;)."
            " H5(a GET / http t=v;). H7(a POST / http t=w;)."
            " H9(a GET / http t=v;)."
        ),
    )
    for index in range(len(kept)):
        ref section = kept[index][]
        var line = section.unsafe_request_line[ImmUntrackedOrigin]()
        assert_equal(line.method_name, "POST" if index == 3 else "GET")
        assert_equal(line.authority, "a")
        assert_equal(line.path, "/")
        assert_equal(section.facts.content_length, -1)
        var fields = section.unsafe_fields[ImmUntrackedOrigin]()
        assert_equal(len(fields), 1)
        assert_equal(fields.value(0), "w" if index == 3 else "v")
    _ = kept^


def test_what_ends_a_stream() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-8.2.1 a capital in a name",
            [FrameRow(1, 5, 1, GET_BLOCK + "0001580176")],
            " R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-8.1.1 more content than announced",
            [
                FrameRow(1, 4, 1, POST_BLOCK + "0f0d0131"),
                FrameRow(0, 0, 1, "6869686968"),
            ],
            " H1(a POST / http content-length=1;) R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-5.1 content behind the end",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(0, 1, 1, "6869")],
            " H1(a GET / http ). R1:5",
            " 3@1:5",
        ),
        SessionRow(
            "9113-6.9 an increment of 0",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(8, 0, 1, "00000000")],
            " H1(a GET / http ). R1:1",
            " 3@1:1",
        ),
        SessionRow(
            "9113-6.9.1 a window of 2^31",
            [FrameRow(1, 5, 1, GET_BLOCK), FrameRow(8, 0, 1, "7fffffff")],
            " H1(a GET / http ). R1:3",
            " 3@1:3",
        ),
        SessionRow(
            "9113-6.4 the client resets it",
            [FrameRow(1, 4, 1, POST_BLOCK), FrameRow(3, 0, 1, "00000008")],
            " H1(a POST / http ) R1:8",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_what_ends_the_connection() raises:
    var rows: List[SessionRow] = [
        SessionRow(
            "9113-5.1 DATA on an idle stream",
            [FrameRow(0, 1, 1, "6869")],
            "<8>",
        ),
        SessionRow(
            "9113-5.1.1 an even stream",
            [FrameRow(1, 5, 2, GET_BLOCK)],
            "<7>",
        ),
        SessionRow(
            "9113-4.3 a frame between two of a block",
            [FrameRow(1, 1, 1, "82"), FrameRow(6, 0, 0, "0000000000000000")],
            "<12>",
        ),
        SessionRow(
            "9113-6.10 CONTINUATION alone",
            [FrameRow(9, 4, 1, GET_BLOCK)],
            "<13>",
        ),
        SessionRow(
            "9113-4.3 a block that is no HPACK",
            [FrameRow(1, 5, 1, "80")],
            "<14>",
        ),
        SessionRow(
            "9113-6.6 a client pushes nothing",
            [FrameRow(5, 4, 1, "00000002" + GET_BLOCK)],
            "<21>",
        ),
        SessionRow(
            "9113-6.9 an increment of 0",
            [FrameRow(8, 0, 0, "00000000")],
            "<22>",
        ),
        SessionRow(
            "9113-6.9.1 a window of 2^31",
            [FrameRow(8, 0, 0, "7fffffff")],
            "<24>",
        ),
        SessionRow(
            "9113-6.5.2 a setting out of range",
            [FrameRow(4, 0, 0, "000400000000" + "000500000000")],
            "<19>",
        ),
    ]
    run_rows(Http2Role.SERVER, rows)


def test_the_preface_comes_first() raises:
    var log = Http2Log(Http2Role.SERVER)
    log.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\rX".as_bytes())
    assert_equal(log.text, String("<", Http2Rule.PREFACE.number, ">"))
    var late = Http2Log(Http2Role.SERVER)
    late.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_bytes())
    var ping = Frames(has_preface=False)
    ping.add(6, 0, 0, "0000000000000000")
    late.feed(ping.octets.span())
    assert_equal(late.text, String("<", Http2Rule.FIRST_FRAME.number, ">"))
