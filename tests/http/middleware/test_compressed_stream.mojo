"""Content that is compressed while its source makes it."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.decoder import Decoder, decompress
from flare.compress.error import Format
from flare.http.client.message.request import ClientRequest
from flare.http.handler.handler import FnHandler
from flare.http.message.body import Body, BodySource, BodyStream, Poll
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.middleware.compress import Compress
from flare.http.middleware.compressed_stream import CompressedStream, StreamRoom
from flare.testing.test_client import TestClient
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime TEXT = StaticString("all work and no play ")


@fieldwise_init
struct _Scripted(BodySource):
    """Makes a text each time, `p` of a script having nothing to make for now,
    and ends behind the script's last, which is what `r` and `p` say."""

    var script: String
    var text: String
    var turn: Int

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.turn += 1
        if self.turn > self.script.byte_length():
            return Poll.DONE
        if self.script.as_bytes().at(self.turn - 1) == 112:
            return Poll.PENDING
        out.append(self.text.as_bytes())
        return Poll.READY

    def trailers(mut self) raises -> Trailers:
        var fields = Trailers()
        fields.append("x-sum", "7")
        return fields^

    def is_endless(self) -> Bool:
        return True

    def end_early(mut self, mut out: Buffer) -> Poll:
        out.append("bye".as_bytes())
        return Poll.DONE


def _stream(
    script: StringSpan,
    text: StringSpan,
    room: ArcPointer[StreamRoom],
    length: Optional[Int] = None,
) raises -> ArcPointer[BodyStream]:
    var source = Body(_Scripted(String(script), String(text), 0), length=length)
    assert_true(room[].take())
    return Body(CompressedStream(source.stream(), room)).stream()


def _room() -> ArcPointer[StreamRoom]:
    return ArcPointer(StreamRoom(1))


def test_content_is_whole_however_it_was_made() raises:
    for script in ["", "r", "rrr", "p", "prprrp", "ppr"]:
        var stream = _stream(script, TEXT, _room())
        var out = Buffer()
        while stream[].fill(out) != Poll.DONE:
            pass
        assert_equal(
            String(from_utf8=decompress(out.span(), Format.GZIP, 1_000)),
            String(TEXT) * script.count("r"),
            script,
        )


def test_what_there_is_can_be_read_when_the_source_waits() raises:
    var stream = _stream("rrprpp", TEXT, _room())
    var decoder = Decoder(Format.GZIP)
    var seen = Buffer()
    for count in [2, 3]:
        var out = Buffer()
        var poll = Poll.READY
        while poll == Poll.READY:
            poll = stream[].fill(out)
        decoder.receive(out.span(), seen)
        assert_equal(len(seen), TEXT.byte_length() * count)
    # It costs nothing to ask again.
    var out = Buffer()
    assert_true(stream[].fill(out) == Poll.PENDING)
    assert_equal(len(out), 0)


def test_content_that_shrinks_to_nothing_comes_out_in_turns() raises:
    # 64 KiB at a time, so that others have their turn.
    var stream = _stream("rrrr", String("x") * 32_768, _room())
    var longest = 0
    var poll = Poll.READY
    var decoder = Decoder(Format.GZIP)
    var seen = Buffer()
    while poll != Poll.DONE:
        var out = Buffer()
        var before = len(seen)
        poll = stream[].fill(out)
        decoder.receive(out.span(), seen)
        longest = max(longest, len(seen) - before)
    assert_equal(longest, 65_536)
    assert_equal(len(seen), 4 * 32_768)


def test_what_a_source_says_besides_is_passed_on() raises:
    var stream = _stream("r", TEXT, _room())
    var out = Buffer()
    while stream[].fill(out) != Poll.DONE:
        pass
    assert_equal(stream[].trailers().fields()["x-sum"], "7")
    assert_true(stream[].is_endless())


def test_an_early_end_is_compressed() raises:
    var stream = _stream("rp", TEXT, _room())
    var out = Buffer()
    while stream[].fill(out) != Poll.PENDING:
        pass
    assert_true(stream[].end_early(out) == Poll.DONE)
    assert_equal(
        String(from_utf8=decompress(out.span(), Format.GZIP, 1_000)),
        String(TEXT, "bye"),
    )


def test_content_of_another_length_has_no_end() raises:
    # RFC 9112-8: it is incomplete, which the coding alone would not show.
    for length in [1, 100]:
        var stream = _stream("r", TEXT, _room(), length)
        var out = Buffer()
        with assert_raises(
            contains=String("a stream of ", length, " octets made 21")
        ):
            while stream[].fill(out) != Poll.DONE:
                pass


def _endless(req: Request) raises -> Response:
    return Response(
        200, Body(_Scripted("r", String(TEXT), 0)), content_type="text/plain"
    )


def test_no_more_are_compressed_at_once_than_allowed() raises:
    var handler = Compress(FnHandler(_endless), stream_count_max=1)
    var request = OwnedRequest("GET", "/")
    request.add_header("Accept-Encoding", "gzip")
    var first = handler.serve(request.view())
    var second = handler.serve(request.view())
    assert_true("content-encoding" in first.headers)
    assert_false("content-encoding" in second.headers)
    # What is given varies all the same.
    assert_equal(second.headers["vary"], "Accept-Encoding")
    deinit(first^)
    deinit(second^)
    var third = handler.serve(request.view())
    assert_true("content-encoding" in third.headers)


def _with_trailer(req: Request) raises -> Response:
    var response = _endless(req)
    response.add_trailer("Content-Digest", "sha-256=:AA==:")
    return response^


def test_content_that_announces_trailers_stays_as_it_is() raises:
    # RFC 9530-2: a digest is of the content in its coding.
    var client = TestClient(Compress(FnHandler(_with_trailer)))
    var request = ClientRequest("GET", "/")
    request.set_header("Accept-Encoding", "gzip")
    var response = client.send(request^)
    assert_false("content-encoding" in response.headers)
    assert_false("vary" in response.headers)


def test_none_are_compressed_where_none_may_be() raises:
    var client = TestClient(Compress(FnHandler(_endless), stream_count_max=0))
    var request = ClientRequest("GET", "/")
    request.set_header("Accept-Encoding", "gzip")
    var response = client.send(request^)
    assert_false("content-encoding" in response.headers)
    assert_equal(response.text(), String(TEXT))
