"""A server's session: what frames do, by section of RFC 9113."""

from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.error import Http2Rule
from tests.support.h2_log import Frames, Http2Log
from std.testing import assert_equal

comptime _GET = StaticString("828684" + "4101" + "61")
"""GET http://a/ as a field block, with `a` added to the table."""
comptime _POST = StaticString("838684" + "0101" + "61")
"""POST to the same, with nothing added."""


@fieldwise_init
struct _Frame(Copyable, Movable):
    var type: Int
    var flags: Int
    var stream_id: Int
    var payload: String


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var frames: List[_Frame]
    var events: StaticString
    var told: StaticString


def _run(rows: List[_Row], limits: Http2Limits = Http2Limits()) raises:
    for row in rows:
        var frames = Frames()
        for frame in row.frames:
            frames.add(frame.type, frame.flags, frame.stream_id, frame.payload)
        var whole = Http2Log(Http2Role.SERVER, limits)
        whole.feed(frames.octets.span())
        var events = whole.text
        assert_equal(events, row.events, row.rule)
        # The acknowledgement of SETTINGS comes first.
        assert_equal(whole.told(), String(" 4@0", row.told), row.rule)
        # Cut anywhere, the same happens; content may come in more pieces.
        for end in range(len(frames.octets)):
            var parts = Http2Log(Http2Role.SERVER, limits)
            parts.feed(frames.octets.span()[0:end])
            parts.feed(frames.octets.span()[end:])
            assert_equal(parts.text, row.events, row.rule)
            assert_equal(parts.told(), String(" 4@0", row.told), row.rule)


def test_requests() raises:
    var rows: List[_Row] = [
        _Row(
            "9113-8.1 a request without content",
            [_Frame(1, 5, 1, _GET)],
            " H1(a GET / http ).",
            "",
        ),
        _Row(
            "9113-8.1 content, and trailers",
            [
                _Frame(1, 4, 1, _POST),
                _Frame(0, 0, 1, "6869"),
                _Frame(0, 0, 1, "7468657265"),
                _Frame(1, 5, 1, "0001740176"),
            ],
            " H1(a POST / http )hithere T1(t=v;).",
            "",
        ),
        _Row(
            "9113-6.1 padding is no content",
            [_Frame(1, 4, 1, _POST), _Frame(0, 9, 1, "0268690000")],
            " H1(a POST / http )hi.",
            "",
        ),
        _Row(
            "9113-6.2 padding and priority before the block",
            [_Frame(1, 0x2D, 1, "01" + "0000000010" + _GET + "00")],
            " H1(a GET / http ).",
            "",
        ),
        _Row(
            "9113-4.3 a block in three frames",
            [
                _Frame(1, 1, 1, "82"),
                _Frame(9, 0, 1, "8684"),
                _Frame(9, 4, 1, "410161"),
            ],
            " H1(a GET / http ).",
            "",
        ),
        _Row(
            "9113-5.1.1 streams may be left out",
            [_Frame(1, 5, 1, _GET), _Frame(1, 5, 7, "828684be")],
            " H1(a GET / http ). H7(a GET / http ).",
            "",
        ),
    ]
    _run(rows)


def test_what_ends_a_stream() raises:
    var rows: List[_Row] = [
        _Row(
            "9113-8.2.1 a capital in a name",
            [_Frame(1, 5, 1, _GET + "0001580176")],
            " R1:1",
            " 3@1:1",
        ),
        _Row(
            "9113-8.1.1 more content than announced",
            [
                _Frame(1, 4, 1, _POST + "0f0d0131"),
                _Frame(0, 0, 1, "6869686968"),
            ],
            " H1(a POST / http content-length=1;) R1:1",
            " 3@1:1",
        ),
        _Row(
            "9113-5.1 content behind the end",
            [_Frame(1, 5, 1, _GET), _Frame(0, 1, 1, "6869")],
            " H1(a GET / http ). R1:5",
            " 3@1:5",
        ),
        _Row(
            "9113-6.9 an increment of 0",
            [_Frame(1, 5, 1, _GET), _Frame(8, 0, 1, "00000000")],
            " H1(a GET / http ). R1:1",
            " 3@1:1",
        ),
        _Row(
            "9113-6.9.1 a window of 2^31",
            [_Frame(1, 5, 1, _GET), _Frame(8, 0, 1, "7fffffff")],
            " H1(a GET / http ). R1:3",
            " 3@1:3",
        ),
        _Row(
            "9113-6.4 the client resets it",
            [_Frame(1, 4, 1, _POST), _Frame(3, 0, 1, "00000008")],
            " H1(a POST / http ) R1:8",
            "",
        ),
    ]
    _run(rows)


def test_what_ends_the_connection() raises:
    var rows: List[_Row] = [
        _Row(
            "9113-5.1 DATA on an idle stream",
            [_Frame(0, 1, 1, "6869")],
            "<8>",
            "",
        ),
        _Row(
            "9113-5.1.1 an even stream",
            [_Frame(1, 5, 2, _GET)],
            "<7>",
            "",
        ),
        _Row(
            "9113-4.3 a frame between two of a block",
            [_Frame(1, 1, 1, "82"), _Frame(6, 0, 0, "0000000000000000")],
            "<12>",
            "",
        ),
        _Row(
            "9113-6.10 CONTINUATION alone",
            [_Frame(9, 4, 1, _GET)],
            "<13>",
            "",
        ),
        _Row(
            "9113-4.3 a block that is no HPACK",
            [_Frame(1, 5, 1, "80")],
            "<14>",
            "",
        ),
        _Row(
            "9113-6.6 a client pushes nothing",
            [_Frame(5, 4, 1, "00000002" + _GET)],
            "<21>",
            "",
        ),
        _Row(
            "9113-6.9 an increment of 0",
            [_Frame(8, 0, 0, "00000000")],
            "<22>",
            "",
        ),
        _Row(
            "9113-6.9.1 a window of 2^31",
            [_Frame(8, 0, 0, "7fffffff")],
            "<24>",
            "",
        ),
        _Row(
            "9113-6.5.2 a setting out of range",
            [_Frame(4, 0, 0, "000400000000" + "000500000000")],
            "<19>",
            "",
        ),
    ]
    _run(rows)


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
