"""Content that is handed on while it arrives: the same as if it were waited
for, and the next request starts exactly behind it."""

from flare.http.h1.request_parser import RequestParser
from tests.support.assertions import assert_equal, assert_true
from tests.support.request_log import drain_into
from tests.support.body_log import StreamingSide

comptime _STREAM = StaticString(
    "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\nGET / H"
    "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nSum: 1\r\nT: u\r\n\r\n"
    "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
    "POST /d HTTP/1.0\r\nContent-Length: 5\r\n\r\n\r\n\r\nx"
    "PUT /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    "DELETE /f HTTP/1.1\r\nHost: h\r\n\r\n"
)


def _waited_for(octets: Span[UInt8, _]) -> String:
    var parser = RequestParser(16)
    parser.input.append(octets)
    var log = String()
    drain_into(parser, log)
    return log^


def test_requests_come_out_the_same_at_every_cut() raises:
    var whole = _waited_for(_STREAM.as_bytes())
    assert_equal(whole.count("["), 6, whole)
    for cut in range(1, _STREAM.byte_length()):
        var side = StreamingSide()
        side.receive(_STREAM.as_bytes()[:cut])
        side.receive(_STREAM.as_bytes()[cut:])
        assert_equal(side.log, whole, String("cut at ", cut))


def test_requests_come_out_the_same_in_small_steps() raises:
    var whole = _waited_for(_STREAM.as_bytes())
    var octets = _STREAM.as_bytes()
    for step in range(1, 20):
        var side = StreamingSide()
        for start in range(0, len(octets), step):
            side.receive(octets[start : min(start + step, len(octets))])
        assert_equal(side.log, whole, String("steps of ", step))


@fieldwise_init
struct _Row(Copyable):
    var rule: StaticString
    var content: StaticString
    var status: Int
    """0 if the content is sound."""


def test_broken_content_is_refused_wherever_it_is_cut() raises:
    comptime rows = [
        _Row("9112-7.1 sound", "3\r\nabc\r\n0\r\n\r\n", 0),
        _Row("9112-7.1 no hex digit", "3\r\nabc\r\nx\r\n", 400),
        _Row("9112-7.1 data longer than its chunk", "3\r\nabcd\r\n", 400),
        _Row("9112-7.1 bare LF", "3\nabc\r\n0\r\n\r\n", 400),
        _Row("9112-7.1.2 bad trailer", "0\r\nA b: c\r\n\r\n", 400),
        _Row("limit in all", "6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n", 413),
        _Row("limit at once", "b\r\nabcdefghijk\r\n0\r\n\r\n", 413),
        _Row("limit reached", "6\r\nabcdef\r\n4\r\nghij\r\n0\r\n\r\n", 0),
    ]
    comptime HEAD = StaticString(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for row in materialize[rows]():
        var text = String(HEAD, row.content)
        for cut in range(1, text.byte_length()):
            var side = StreamingSide(limit=10)
            side.receive(text.as_bytes()[:cut])
            side.receive(text.as_bytes()[cut:])
            var wanted = String("<", row.status, ">")
            if row.status == 0:
                assert_true(side.log.endswith("]\n"), String(row.rule, cut))
            else:
                assert_equal(side.log, wanted, String(row.rule, " at ", cut))


def test_trailers_behind_a_piece_count_once() raises:
    """A broken line is met once more behind the content that comes before it:
    60 lines before it are less than 100 fields (RFC 9112 section 7.1.2)."""
    var text = String(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "3\r\nabc\r\n0\r\n",
        "A: b\r\n" * 60,
        "no colon\r\n\r\n",
    )
    for cut in range(1, text.byte_length()):
        var side = StreamingSide()
        side.receive(text.as_bytes()[:cut])
        side.receive(text.as_bytes()[cut:])
        assert_equal(side.log, "<400>", String("cut at ", cut))


def test_framing_does_not_add_up_in_memory() raises:
    """Chunks of one octet are six octets each."""
    var side = StreamingSide(limit=1_000_000)
    side.receive(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".as_bytes()
    )
    for _ in range(5_000):
        side.receive("1\r\nx\r\n1".as_bytes())
        side.receive("\r\ny\r\n".as_bytes())
    side.receive("0\r\n\r\n".as_bytes())
    assert_true(side.log.endswith("]\n"))
    assert_equal(side.log.count("xy"), 5_000)
    assert_true(side.longest_input_len < 20, String(side.longest_input_len))
