"""The cores read no further than their contract says: `SCAN_SLACK` octets behind
the stop, with a forbidden page right behind those."""

from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.h1.response_head import ResponseHead
from tests.support.assertions import assert_equal
from tests.support.guard_page import guarded_input, terminated_input

comptime _LIMITS = HeadLimits(8192, 8192, 100)


def test_heads_stay_within_the_slack_however_they_are_cut() raises:
    comptime HEAD = StaticString(
        "POST http://a.b/c?d HTTP/1.1\r\nHost: a.b:80\r\nConnection: keep-alive"
        "\r\nExpect: 100-continue\r\nContent-Length: 5\r\nX:  y\t \r\n\r\n"
    )
    var fillers: List[UInt8] = [0, 13, 10, 32, 58, 65, 255]
    for filler in fillers:
        for length in range(len(HEAD.as_bytes()) + 1):
            var memory = guarded_input(HEAD.as_bytes()[0:length], filler)
            var head = RequestHead()
            var is_complete = head.parse(
                terminated_input(memory, length), materialize[_LIMITS]()
            )
            assert_equal(is_complete, length == len(HEAD.as_bytes()))
            _ = memory^


def test_response_heads_stay_within_the_slack_however_they_are_cut() raises:
    comptime HEAD = StaticString(
        "HTTP/1.1 200 Fine\r\nConnection: keep-alive, x\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\nX:  y\t \r\n\r\n"
    )
    var fillers: List[UInt8] = [0, 13, 10, 32, 48, 58, 255]
    for filler in fillers:
        for length in range(len(HEAD.as_bytes()) + 1):
            var memory = guarded_input(HEAD.as_bytes()[0:length], filler)
            var head = ResponseHead()
            var is_complete = head.parse(
                terminated_input(memory, length), materialize[_LIMITS]()
            )
            assert_equal(is_complete, length == len(HEAD.as_bytes()))
            _ = memory^


def test_chunks_stay_within_the_slack_however_they_are_cut() raises:
    comptime BODY = StaticString(
        "3;a=b\r\nabc\r\n00a\r\n0123456789\r\n0\r\nA: b\r\n\r\n"
    )
    var fillers: List[UInt8] = [0, 13, 10, 48, 59, 65, 255]
    for filler in fillers:
        for length in range(len(BODY.as_bytes()) + 1):
            var memory = guarded_input(BODY.as_bytes()[0:length], filler)
            var decoder = ChunkedDecoder()
            decoder.begin()
            var is_complete = decoder.decode(
                terminated_input(memory, length), 1000, materialize[_LIMITS]()
            )
            assert_equal(is_complete, length == len(BODY.as_bytes()))
            _ = memory^
