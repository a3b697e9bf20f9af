"""Responses that are irregular but clear: a client reads them however they are
cut, does not use the connection again, and refuses them if it is strict
(RFC 9112 sections 2.2, 5.2, 6.3 and 7.1)."""

from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.error import Rule
from flare.http.h1.response_head import ResponseHead
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import guarded_input, terminated_input
from tests.support.response_log import ResponseLog

comptime _OK = "HTTP/1.1 200 OK\r\n"
comptime _CHUNKED = _OK + "Transfer-Encoding: chunked\r\n\r\n"


def _of(text: StringSpan, step: Int, is_strict: Bool) -> String:
    """Feeds a text in steps, then the end; gives the log."""
    var log = ResponseLog(is_strict=is_strict)
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        log.feed(octets[start:end])
        start = end
    log.close()
    return log.text


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var octets: StaticString
    var log: StaticString
    """Of the lenient reading; `!` says that the connection is not reusable."""
    var strict: UInt8
    """Number of the rule by which it is refused if the client is strict."""


def _rows() -> List[_Row]:
    var rows: List[_Row] = [
        _Row(
            "9112-2.2 LF",
            "HTTP/1.1 200 OK\nA: b\nContent-Length: 1\n\na",
            "[200 OK 1.1\nA: b\nContent-Length: 1\n|a|]!\n",
            Rule.LINE_END.number,
        ),
        _Row(
            "9112-2.2 LF without a reason",
            "HTTP/1.1 200\nContent-Length: 0\r\n\r\n",
            "[200  1.1\nContent-Length: 0\n||]!\n",
            Rule.STATUS_LINE.number,
        ),
        _Row(
            "9112-2.2 one LF in a field line",
            _OK + "A: b\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nA: b\nContent-Length: 0\n||]!\n",
            Rule.LINE_END.number,
        ),
        _Row(
            "9112-2.2 LF as the empty line",
            _OK + "Content-Length: 1\r\n\n\r",
            "[200 OK 1.1\nContent-Length: 1\n|\\x0d|]!\n",
            Rule.LINE_END.number,
        ),
        _Row(
            "9112-2.2 LF in an interim response alone",
            "HTTP/1.1 100 Continue\n\nHTTP/1.1 204 No\r\n\r\n",
            "(100)[204 No 1.1\n||]!\n",
            Rule.LINE_END.number,
        ),
        _Row(
            "9112-5.2 a fold is a space",
            _OK + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nA: b c\nContent-Length: 0\n||]!\n",
            Rule.OBS_FOLD.number,
        ),
        _Row(
            "9112-5.2 folds with whitespace around",
            _OK + "A: b \t\r\n\t  c\r\n  d\t\r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nA: b c d\nContent-Length: 0\n||]!\n",
            Rule.OBS_FOLD.number,
        ),
        _Row(
            "9112-5.2 folds of nothing",
            _OK + "A:\r\n \r\n\tb\r\n \r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nA: b\nContent-Length: 0\n||]!\n",
            Rule.OBS_FOLD.number,
        ),
        _Row(
            "9112-5.2 a value of folds alone",
            _OK + "A:\r\n \r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nA: \nContent-Length: 0\n||]!\n",
            Rule.OBS_FOLD.number,
        ),
        _Row(
            "9112-5.2 fold behind LF, octets from 0x80 up",
            _OK + "A: b\n \xc3\xa4\nContent-Length: 0\n\n",
            "[200 OK 1.1\nA: b \xc3\xa4\nContent-Length: 0\n||]!\n",
            Rule.LINE_END.number,
        ),
        _Row(
            "9112-5.2 what a fold hides counts for the framing",
            _OK + "Connection: x,\r\n close\r\nContent-Length:\r\n 1\r\n\r\na",
            "[200 OK 1.1\nConnection: x, close\nContent-Length: 1\n|a|]!\n",
            Rule.OBS_FOLD.number,
        ),
        _Row(
            "9112-6.3 (5) equal lines",
            _OK + "Content-Length: 1\r\nContent-Length: 01\r\n\r\na",
            "[200 OK 1.1\nContent-Length: 1\nContent-Length: 01\n|a|]!\n",
            Rule.LENGTH_REPEATED.number,
        ),
        _Row(
            "9112-6.3 (5) equal elements",
            _OK + "Content-Length: 1, 1,1\r\n\r\na",
            "[200 OK 1.1\nContent-Length: 1, 1,1\n|a|]!\n",
            Rule.LENGTH_VALUE.number,
        ),
        _Row(
            "9112-7.1 whitespace around sizes",
            _CHUNKED + "1 \r\na\r\n \t1\r\nb\r\n  1\t \r\nc\r\n0 \r\n\r\n",
            "[200 OK 1.1\nTransfer-Encoding: chunked\n|abc|]!\n",
            Rule.CHUNK_EXTENSION.number,
        ),
        _Row(
            "9112-7.1 whitespace before the last size alone",
            _CHUNKED + "1\r\na\r\n 0\r\n\r\n",
            "[200 OK 1.1\nTransfer-Encoding: chunked\n|a|]!\n",
            Rule.CHUNK_SIZE.number,
        ),
    ]
    return rows^


def test_it_is_read_however_it_is_cut() raises:
    var rows = _rows()
    for row in rows:
        for step in range(1, row.octets.byte_length() + 1):
            var name = String(row.rule, " in ", step)
            assert_equal(_of(row.octets, step, False), row.log, name)


def test_who_is_strict_refuses_it() raises:
    var rows = _rows()
    for row in rows:
        for step in range(1, row.octets.byte_length() + 1):
            var log = _of(row.octets, step, True)
            var name = String(row.rule, " in ", step, ": ", log)
            assert_true(String("<", row.strict, " @") in log, name)


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var octets: StaticString
    var number: UInt8
    var offset: Int


def test_what_could_be_read_in_two_ways_is_refused() raises:
    var rows: List[_Refused] = [
        _Refused(
            "9112-2.2 bare CR",
            _OK + "A: b\rc\r\n\r\n",
            Rule.LINE_END.number,
            21,
        ),
        _Refused(
            "9112-2.2 whitespace behind the status line",
            _OK + " A: b\r\n\r\n",
            Rule.OBS_FOLD.number,
            17,
        ),
        _Refused(
            "9110-5.5 NUL in a fold",
            _OK + "A: b\r\n \0c\r\n\r\n",
            Rule.CONTROL.number,
            24,
        ),
        _Refused(
            "9112-5.1 a fold within a name",
            _OK + "A\r\n : b\r\n\r\n",
            Rule.FIELD_NAME.number,
            18,
        ),
        _Refused(
            "9112-6.3 (3) length and coding",
            _OK + "Content-Length: 1\nTransfer-Encoding:\n chunked\n\n",
            Rule.LENGTH_AND_CODING.number,
            64,
        ),
        _Refused(
            "9112-6.3 (5) differing lines",
            _OK + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Rule.LENGTH_REPEATED.number,
            52,
        ),
        _Refused(
            "9112-6.3 (5) differing elements",
            _OK + "Content-Length: 1, 2\r\n\r\n",
            Rule.LENGTH_REPEATED.number,
            33,
        ),
        _Refused(
            "9110-8.6 an empty element",
            _OK + "Content-Length: 1,\r\n\r\n",
            Rule.LENGTH_VALUE.number,
            33,
        ),
        _Refused(
            "9112-6.1 a coding twice",
            _OK + "Transfer-Encoding: chunked,\r\n chunked\r\n\r\n",
            Rule.CODING_NOT_FINAL.number,
            36,
        ),
        _Refused(
            "9112-7.1 a size in two parts",
            _CHUNKED + "1 0\r\n",
            Rule.CHUNK_EXTENSION.number,
            2,
        ),
        _Refused(
            "9112-7.1 whitespace alone",
            _CHUNKED + " \r\n",
            Rule.CHUNK_SIZE.number,
            1,
        ),
        _Refused(
            "9112-7.1 LF behind a size",
            _CHUNKED + "1\na\r\n",
            Rule.CHUNK_EXTENSION.number,
            1,
        ),
        _Refused(
            "9112-7.1 LF behind a padded size",
            _CHUNKED + "1 \na\r\n",
            Rule.CHUNK_EXTENSION.number,
            2,
        ),
        _Refused(
            "9112-7.1 LF behind data",
            _CHUNKED + "1\r\na\n0\r\n\r\n",
            Rule.CHUNK_END.number,
            4,
        ),
        _Refused(
            "9112-7.1.2 LF in trailers",
            _CHUNKED + "0\r\nA: b\n\r\n",
            Rule.LINE_END.number,
            4,
        ),
    ]
    for row in rows:
        var wanted = String("<", row.number, " @", row.offset, ">")
        for step in range(1, row.octets.byte_length() + 1):
            var log = _of(row.octets, step, False)
            assert_true(
                log.endswith(wanted), String(row.rule, " in ", step, ": ", log)
            )


def test_an_endless_fold_and_endless_padding_are_bounded() raises:
    var text = String(_OK, "A: b")
    for _ in range(5_000):
        text.write("\r\n ")
    var log = _of(text, 1_000, False)
    assert_true(log.startswith(String("<", Rule.HEADER_LEN.number, " @")), log)
    text = String(_CHUNKED)
    for _ in range(20_000):
        text.write(" ")
    assert_true(
        _of(text, 1_000, False).endswith(
            String("<", Rule.CHUNK_EXTENSION.number, " @16384>")
        )
    )


def test_nothing_is_read_beyond_the_slack() raises:
    comptime HEAD = StaticString(
        "HTTP/1.1 200\nA:\r\n b \r\n\tc\nContent-Length: 5, 5\n\n"
    )
    comptime BODY = StaticString(" 3 \r\nabc\r\n\t0\t\r\nA: b\r\n\r\n")
    comptime LIMITS = HeadLimits(8192, 8192, 100)
    var fillers: List[UInt8] = [0, 9, 10, 13, 32, 48, 255]
    for filler in fillers:
        for length in range(len(HEAD.as_bytes()) + 1):
            var memory = guarded_input(HEAD.as_bytes()[0:length], filler)
            var head = ResponseHead()
            head.is_strict = False
            var is_complete = head.parse(
                terminated_input(memory, length), materialize[LIMITS]()
            )
            assert_equal(is_complete, length == len(HEAD.as_bytes()))
            _ = memory^
        for length in range(len(BODY.as_bytes()) + 1):
            var memory = guarded_input(BODY.as_bytes()[0:length], filler)
            var decoder = ChunkedDecoder()
            decoder.begin()
            decoder.reads_padding = True
            var is_complete = decoder.decode(
                terminated_input(memory, length), 1000, materialize[LIMITS]()
            )
            assert_equal(is_complete, length == len(BODY.as_bytes()))
            _ = memory^


def test_the_decoder_of_servers_reads_no_padding() raises:
    assert_false(ChunkedDecoder().reads_padding)
    assert_true(ResponseHead().is_strict)
