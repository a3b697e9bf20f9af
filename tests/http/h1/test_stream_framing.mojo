from flare.bytes.buffer import Buffer
from flare.http.h1.serialiser import (
    DateLine,
    ResponseFraming,
    append_chunk,
    ends_with_close,
    is_chunked,
    write_response_head,
)
from flare.http.message.body_source import BodySource, Supply
from flare.http.message.response import Response, ok, ok_stream
from std.testing import assert_equal, assert_false, assert_true


@fieldwise_init
struct Nothing(BodySource):
    var unused: Int

    def fill(mut self, mut out: Buffer) raises -> Supply:
        return Supply.END


def _head(response: Response, minor_version: UInt8) raises -> String:
    var out = Buffer()
    write_response_head(
        out, response, ResponseFraming(False, True, minor_version), DateLine()
    )
    return String(from_utf8=out.span())


def test_sizes_of_chunks() raises:
    # RFC 9112 section 7.1
    comptime TABLE: List[Tuple[Int, StaticString]] = [
        (0, ""),
        (1, "1\r\n"),
        (9, "9\r\n"),
        (10, "a\r\n"),
        (15, "f\r\n"),
        (16, "10\r\n"),
        (255, "ff\r\n"),
        (256, "100\r\n"),
        (65_536, "10000\r\n"),
    ]
    for row in materialize[TABLE]():
        var out = Buffer()
        append_chunk(out, List[UInt8](length=row[0], fill=UInt8(ord("x"))))
        var text = String(from_utf8=out.span())
        assert_true(text.startswith(row[1]))
        var extra = 2 if row[0] > 0 else 0
        assert_equal(len(out), row[0] + row[1].byte_length() + extra)


def test_framing_of_streams() raises:
    # RFC 9112 section 6.3
    var unknown = ok_stream(Nothing(0))
    assert_true("Transfer-Encoding: chunked\r\n\r\n" in _head(unknown, 1))
    assert_true(is_chunked(unknown, ResponseFraming(False, True, 1)))
    assert_false("Transfer-Encoding" in _head(unknown, 0))
    assert_false("Content-Length" in _head(unknown, 0))
    assert_true(ends_with_close(unknown, 0))
    assert_false(ends_with_close(unknown, 1))
    var known = ok_stream(Nothing(0), length=12)
    assert_true("Content-Length: 12\r\n\r\n" in _head(known, 1))
    assert_true("Content-Length: 12\r\n\r\n" in _head(known, 0))
    assert_false(is_chunked(known, ResponseFraming(False, True, 1)))
    assert_false(ends_with_close(known, 0))
    assert_false(ends_with_close(ok("text"), 0))
