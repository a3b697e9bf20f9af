from flare.bytes.buffer import Buffer
from flare.http.h1.chunk_writer import append_chunk
from flare.http.h1.serialiser import (
    DateLine,
    ResponseFraming,
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


def _expect_size(length: Int, line: StaticString) raises:
    var out = Buffer()
    append_chunk(out, List[UInt8](length=length, fill=UInt8(ord("x"))))
    assert_true(String(from_utf8=out.span()).startswith(line))
    var end_len = 2 if length > 0 else 0
    assert_equal(len(out), length + line.byte_length() + end_len)


def test_sizes_of_chunks() raises:
    # RFC 9112 section 7.1
    _expect_size(0, "")
    _expect_size(1, "1\r\n")
    _expect_size(9, "9\r\n")
    _expect_size(10, "a\r\n")
    _expect_size(15, "f\r\n")
    _expect_size(16, "10\r\n")
    _expect_size(255, "ff\r\n")
    _expect_size(256, "100\r\n")
    _expect_size(65_536, "10000\r\n")


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
