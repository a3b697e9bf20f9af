"""Fields behind content (RFC 9110 section 6.5)."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import BodySource, Poll
from flare.http.message.response import ok, ok_stream
from flare.http.message.trailers import Trailers, may_be_trailer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct _Summed(BodySource):
    """A piece, and what is known behind it."""

    var fails: Bool

    def fill(mut self, mut out: Buffer) raises -> Poll:
        out.write_string("piece")
        return Poll.DONE

    def trailers(mut self) raises -> Trailers:
        if self.fails:
            raise Error("no sum")
        var trailers = Trailers()
        trailers.set("Content-Digest", "sha-256=:AA==:")
        return trailers^


def test_names_that_may_be_trailers() raises:
    # RFC 9110 section 6.5.1: framing, routing, request modifiers,
    # authentication, response controls, and how content is read.
    var refused: List[String] = [
        "Transfer-Encoding",
        "CONTENT-LENGTH",
        "Host",
        "Cache-Control",
        "Max-Forwards",
        "TE",
        "If-Range",
        "Authorization",
        "Proxy-Authenticate",
        "WWW-Authenticate",
        "Set-Cookie",
        "Age",
        "Date",
        "Location",
        "Retry-After",
        "Vary",
        "Warning",
        "Content-Encoding",
        "content-type",
        "Content-Range",
        "Content-Anything",
        "Content-",
        "Trailer",
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "Upgrade",
        "Accept-Ranges",
    ]
    for name in refused:
        assert_false(may_be_trailer(name.as_bytes()), name)
    # RFC 9530 section 6.2 and RFC 9110 section 8.8.3 make these for trailers.
    var allowed: List[String] = [
        "Content-Digest",
        "Repr-Digest",
        "ETag",
        "Server-Timing",
        "grpc-status",
        "x",
        "Hosts",
        "Ag",
        "te-x",
        "content",
    ]
    for name in allowed:
        assert_true(may_be_trailer(name.as_bytes()), name)


def test_what_is_refused_says_why() raises:
    var trailers = Trailers()
    with assert_raises(
        contains="trailer 'Set-Cookie': it is needed before the content"
    ):
        trailers.set("Set-Cookie", "a=b")
    with assert_raises(contains="field value 'a\\x0d\\x0ab'"):
        trailers.append("X-A", "a\r\nb")
    with assert_raises(contains="field name 'a b'"):
        trailers.append("a b", "c")
    assert_false(trailers.__bool__())
    assert_equal(len(trailers), 0)


def test_fields_are_set_and_added() raises:
    var trailers = Trailers()
    trailers.append("X-A", "1")
    trailers.append("x-a", "2")
    trailers.append("X-B", "3")
    assert_equal(len(trailers), 3)
    var copy = trailers.copy()
    trailers.set("X-A", "4")
    assert_equal(String(trailers.fields()), "X-B: 3\nX-A: 4\n")
    assert_equal(String(copy.fields()), "X-A: 1\nx-a: 2\nX-B: 3\n")
    assert_true("x-b" in trailers)
    assert_false("x-c" in trailers)
    copy.add_all(trailers)
    assert_equal(len(copy), 5)


def test_content_in_memory_gets_trailers() raises:
    var response = ok("hello").with_trailer("Server-Timing", "db;dur=3")
    response.add_trailer("X-B", "c")
    assert_true(response.body.is_stream())
    assert_equal(response.body.stream()[].length.value(), 5)
    assert_equal(response.headers["trailer"], "Server-Timing, X-B")
    assert_equal(
        String(response.trailers().fields()),
        "Server-Timing: db;dur=3\nX-B: c\n",
    )
    var out = Buffer(0)
    assert_true(response.body.stream()[].fill(out) == Poll.DONE)
    assert_equal(String(unsafe_from_utf8=out.span()), "hello")
    assert_equal(len(response.body.stream()[].trailers()), 2)
    assert_equal(len(ok("x").trailers()), 0)


def test_content_in_memory_is_lent_whole() raises:
    var response = ok("hello").with_trailer("X-A", "b")
    var stream = response.body.stream()
    assert_equal(String(unsafe_from_utf8=stream[].whole()), "hello")
    # One that makes its content has none before.
    var other = ok_stream(_Summed(False)).body.stream()
    assert_equal(len(other[].whole()), 0)


def test_long_content_comes_in_pieces() raises:
    var text = String("0123456789") * 5_000
    var response = ok(text).with_trailer("X-A", "b")
    var out = Buffer(0)
    var count = 1
    while response.body.stream()[].fill(out) != Poll.DONE:
        count += 1
    assert_equal(count, 4)
    assert_equal(String(unsafe_from_utf8=out.span()), text)


def test_a_refused_trailer_leaves_the_response_as_it_is() raises:
    var response = ok("hello")
    with assert_raises(contains="Content-Type"):
        response.add_trailer("Content-Type", "text/html")
    assert_false(response.body.is_stream())
    assert_false("trailer" in response.headers)


def test_those_of_the_source_come_first() raises:
    var response = ok_stream(_Summed(False)).with_trailer("X-A", "b")
    var trailers = response.body.stream()[].trailers()
    assert_equal(
        String(trailers.fields()),
        "Content-Digest: sha-256=:AA==:\nX-A: b\n",
    )
    with assert_raises(contains="no sum"):
        _ = ok_stream(_Summed(True)).body.stream()[].trailers()
