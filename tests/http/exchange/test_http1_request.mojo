"""Requests over HTTP/1.1 and their responses, however the connection cuts them: what
the server gets is the request, and what comes back is its response alone."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.exchange.forwarded_request import Http1Request
from flare.http.exchange.outgoing_request import OctetStream, Supply
from flare.http.exchange.request_phase import RequestEvent
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.h1.serialiser import RequestFraming, RequestStart
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.trailers import Trailers
from flare.sys.errno import EAGAIN, EPIPE
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.request_log import drain_into
from std.memory import OwnedPointer


struct _Wire(OctetStream):
    """Takes and gives so many octets, then none once, and so on."""

    var got: Buffer
    var answer: List[UInt8]
    var answer_pos: Int
    var closes: Bool
    var room_len: Int
    var out_left: Int
    var in_left: Int
    var is_broken: Bool
    # True to keep the last octets that were taken until `flush` is called twice.
    var lingers: Bool

    def __init__(out self, answer: StringSpan, closes: Bool, room_len: Int):
        self.got = Buffer(0)
        self.answer = List[UInt8](answer.as_bytes())
        self.answer_pos = 0
        self.closes = closes
        self.room_len = room_len
        self.out_left = room_len
        self.in_left = room_len
        self.is_broken = False
        self.lingers = False

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        debug_assert[assert_mode="safe"](len(octets) > 0, "no octets")
        if self.is_broken:
            return -EPIPE
        var count = min(len(octets), self.out_left)
        if count == 0:
            self.out_left = self.room_len
            return -EAGAIN
        self.out_left -= count
        self.got.append(octets[:count])
        return count

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        debug_assert[assert_mode="safe"](len(second) > 0, "no second piece")
        var count = self.send(first)
        if count < len(first) or self.out_left == 0:
            return count
        return count + self.send(second)

    def flush(mut self) -> Int:
        if self.lingers:
            self.lingers = False
            return -EAGAIN
        return 0

    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        var left = len(self.answer) - self.answer_pos
        if left == 0:
            return 0 if self.closes else -EAGAIN
        var count = min(left, len(room), self.in_left)
        if count == 0:
            self.in_left = self.room_len
            return -EAGAIN
        self.in_left -= count
        for index in range(count):
            room.at(index) = self.answer.at(self.answer_pos + index)
        self.answer_pos += count
        return count


@fieldwise_init
struct _Asked(Copyable, Movable):
    """A request, and the octets that say the same."""

    var name: String
    var framing: RequestFraming
    # Content that is here, and content that comes bit by bit.
    var here: String
    var pieces: List[String]
    var arrives: Bool
    var trailer: String
    var octets: String


@fieldwise_init
struct _Answered(Copyable, Movable):
    """A response, and what it is."""

    var name: String
    var octets: String
    var closes: Bool
    var text: String
    # RFC 9112 section 9.3, if the request was sent.
    var is_reusable: Bool


def _requests() -> List[_Asked]:
    var start = String("POST /p?q HTTP/1.1\r\nHost: up:1\r\nX-A: b\r\n")
    var sized = String(start, "Content-Length: 11\r\n\r\nhello world")
    var empty = String(start, "Content-Length: 0\r\n\r\n")
    var chunked = String(start, "Transfer-Encoding: chunked\r\n\r\n")
    var parts: List[String] = ["hel", "lo", " ", "world"]
    return [
        _Asked(
            "none", RequestFraming.none(), "", [], False, "", start + "\r\n"
        ),
        _Asked("length 0", RequestFraming(0), "", [], False, "", empty),
        _Asked(
            "sized", RequestFraming(11), "hello world", [], False, "", sized
        ),
        _Asked(
            "in pieces", RequestFraming(11), "", parts.copy(), True, "", sized
        ),
        _Asked(
            "in two", RequestFraming(11), "hel", ["lo world"], True, "", sized
        ),
        _Asked(
            "asks",
            RequestFraming(11, True),
            "",
            parts.copy(),
            True,
            "",
            String(
                start,
                "Expect: 100-continue\r\n",
                "Content-Length: 11\r\n\r\nhello world",
            ),
        ),
        _Asked(
            "chunked",
            RequestFraming.chunked(),
            "",
            parts.copy(),
            True,
            "",
            chunked + "b\r\nhello world\r\n0\r\n\r\n",
        ),
        _Asked(
            "chunked, empty",
            RequestFraming.chunked(),
            "",
            [],
            True,
            "",
            chunked + "0\r\n\r\n",
        ),
        _Asked(
            "chunked, asks",
            RequestFraming.chunked(True),
            "",
            parts.copy(),
            True,
            "",
            String(
                start,
                "Expect: 100-continue\r\n",
                "Transfer-Encoding: chunked\r\n\r\n",
                "b\r\nhello world\r\n0\r\n\r\n",
            ),
        ),
        _Asked(
            "chunked, with trailers",
            RequestFraming.chunked(),
            "",
            parts.copy(),
            True,
            "t",
            chunked + "b\r\nhello world\r\n0\r\nX-T: t\r\n\r\n",
        ),
        _Asked(
            "here, with trailers",
            RequestFraming.chunked(),
            "hello world",
            [],
            False,
            "t",
            chunked + "b\r\nhello world\r\n0\r\nX-T: t\r\n\r\n",
        ),
    ]


def _answers() -> List[_Answered]:
    return [
        _Answered(
            "sized",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            False,
            "200[abc]",
            True,
        ),
        _Answered(
            "empty",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            False,
            "200[]",
            True,
        ),
        _Answered(
            "chunked",
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
            ),
            False,
            "200[abc]",
            True,
        ),
        _Answered(
            "to the end (9112-6.3)",
            "HTTP/1.1 200 OK\r\n\r\nabc",
            True,
            "200[abc]",
            False,
        ),
        _Answered(
            "with close (9112-9.6)",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
            False,
            "200[a]",
            False,
        ),
        _Answered(
            "of HTTP/1.0 (9112-9.3)",
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
            False,
            "200[a]",
            False,
        ),
        _Answered("204", "HTTP/1.1 204 \r\n\r\n", False, "204[]", True),
        _Answered("304", "HTTP/1.1 304 \r\n\r\n", False, "304[]", True),
        _Answered(
            "behind 100",
            (
                "HTTP/1.1 100 \r\n\r\n"
                "HTTP/1.1 201 \r\nContent-Length: 1\r\n\r\na"
            ),
            False,
            "(100)201[a]",
            True,
        ),
        _Answered(
            "behind 103 and 102",
            (
                "HTTP/1.1 103 \r\nLink: <x>\r\n\r\nHTTP/1.1 102 \r\n\r\n"
                "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na"
            ),
            False,
            "(103)(102)200[a]",
            True,
        ),
        _Answered(
            "with octets behind it",
            "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 \r\n",
            False,
            "200[a]",
            False,
        ),
        _Answered(
            "cut in its content",
            "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nab",
            True,
            "200[ab!",
            False,
        ),
        _Answered(
            "cut in its head", "HTTP/1.1 200 OK\r\nConte", True, "!", False
        ),
        _Answered("nothing", "", True, "!", False),
        _Answered("no HTTP", "SSH-2.0-x\r\n\r\n", False, "!", False),
    ]


def _log(octets: Span[UInt8, _]) -> String:
    var parser = RequestParser(16)
    parser.input.append(octets)
    var log = String()
    drain_into(parser, log)
    log.write(len(parser.input), " left")
    return log^


def _begun(asked: _Asked) raises -> Http1Request:
    var request = Http1Request(Buffer(0))
    var headers = HeaderMap()
    headers.append("X-A", "b")
    if asked.arrives:
        request.outgoing.supply = Supply.ARRIVING
    request.write_head(
        RequestStart(
            StringSpan("POST"), StringSpan("/p?q"), StringSpan("up:1"), 1
        ),
        headers,
        asked.framing,
    )
    request.outgoing.append(asked.here.as_bytes())
    if not asked.arrives:
        request.outgoing.append_end(_trailers(asked))
    return request^


def _trailers(asked: _Asked) raises -> Trailers:
    var trailers = Trailers()
    if asked.trailer.byte_length() > 0:
        trailers.append("X-T", asked.trailer)
    return trailers^


def _send_all(
    mut request: Http1Request, mut wire: _Wire, asked: _Asked
) raises -> Int:
    """Sends a request to its end; gives how often it has asked for 100."""
    var asked_count = 0
    var next = 0
    request.outgoing.begin_attempt()
    for _ in range(2_000):
        var event = request.outgoing.push(wire)
        if event == RequestEvent.SENT:
            assert_true(request.outgoing.has_sent_all())
            return asked_count
        assert_false(request.outgoing.has_sent_all())
        if event == RequestEvent.ASKED:
            asked_count += 1
            # Nothing but the head has left.
            assert_true(
                String(from_utf8_lossy=wire.got.span()).endswith("\r\n\r\n")
            )
        elif event == RequestEvent.DRY:
            request.outgoing.replace_sent()
            if next < len(asked.pieces):
                request.outgoing.append(asked.pieces.at(next).as_bytes())
                next += 1
            else:
                request.outgoing.append_end(_trailers(asked))
        else:
            assert_true(event == RequestEvent.BLOCKED)
    raise Error("it is never sent")


def _receive_all(mut request: Http1Request, mut wire: _Wire) raises -> String:
    """Receives a response to its end, or to where it fails."""
    var text = String()
    request.begin_response(OwnedPointer(ResponseParser(16)), Method.POST)
    assert_false(request.has_response())
    for _ in range(2_000):
        var progress: ResponseProgress
        try:
            progress = request.receive(wire, HeadLimits(8_192, 8_192, 100))
        except:
            text.write("!")
            return text^
        # From the head to the end.
        var is_amid = (
            progress == ResponseProgress.HEAD_READY
            or progress == ResponseProgress.CONTENT
            or (progress == ResponseProgress.NEEDS_OCTETS and "[" in text)
        )
        assert_equal(
            request.is_amid_response(),
            is_amid and request.outgoing.has_sent_all(),
        )
        ref parser = request.parser.value()[]
        if progress == ResponseProgress.INTERIM:
            text.write("(", parser.head.status, ")")
        elif progress == ResponseProgress.HEAD_READY:
            parser.body.max_body_size = Int.MAX
            text.write(parser.head.status, "[")
        elif progress == ResponseProgress.CONTENT:
            text.write(String(from_utf8_lossy=parser.content()))
        elif progress == ResponseProgress.END:
            text.write("]")
            return text^
    raise Error("it never ends")


def test_each_request_with_each_response_cut_everywhere() raises:
    var count = 0
    for asked in _requests():
        for answered in _answers():
            count += 1
            for room_len in [1, 2, 3, 7, 31, 1_000]:
                var told = String(asked.name, " / ", answered.name)
                var wire = _Wire(answered.octets, answered.closes, room_len)
                var request = _begun(asked)
                var asked_count = _send_all(request, wire, asked)
                var asks = 1 if asked.framing.expects_continue else 0
                assert_equal(asked_count, asks, told)
                assert_equal(
                    _log(wire.got.span()), _log(asked.octets.as_bytes()), told
                )
                assert_equal(_receive_all(request, wire), answered.text, told)
                # What goes behind may not have come yet.
                if wire.answer_pos == len(wire.answer):
                    assert_equal(
                        not answered.text.endswith("!")
                        and request.end_response(),
                        answered.is_reusable,
                        told,
                    )
    assert_true(count >= 150, String(count, " rows"))


def test_a_response_before_all_is_sent_is_not_amid() raises:
    # What is left of the request would go with a reset.
    for asked in _requests():
        if not asked.arrives:
            continue
        var wire = _Wire(
            "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nab", False, 1_000
        )
        var request = _begun(asked)
        request.outgoing.begin_attempt()
        _ = request.outgoing.push(wire)
        request.begin_response(OwnedPointer(ResponseParser(16)), Method.POST)
        var progress = request.receive(wire, HeadLimits(8_192, 8_192, 100))
        assert_true(progress == ResponseProgress.HEAD_READY, asked.name)
        assert_false(request.is_amid_response(), asked.name)
        _ = request.outgoing.take_output()
        assert_false(request.is_amid_response(), asked.name)


def test_an_attempt_begins_at_the_start() raises:
    # However far the first one came, the second server gets all of it.
    for asked in _requests():
        if asked.arrives:
            continue
        var whole = asked.octets.byte_length()
        for first_len in range(1, whole + 1):
            var broken = _Wire("", True, first_len)
            var request = _begun(asked)
            request.outgoing.begin_attempt()
            _ = request.outgoing.push(broken)
            assert_equal(request.outgoing.sent_count, min(first_len, whole))
            broken.is_broken = True
            if first_len < whole:
                assert_true(
                    request.outgoing.push(broken) == RequestEvent.BROKEN
                )
                assert_equal(request.outgoing.error_number, -EPIPE)
            assert_true(request.outgoing.supply.is_kept())
            var wire = _Wire("", True, 5)
            _ = _send_all(request, wire, asked)
            assert_equal(request.outgoing.sent_count, len(wire.got))
            assert_equal(_log(wire.got.span()), _log(asked.octets.as_bytes()))


def test_each_attempt_asks_before_it_sends_content() raises:
    # RFC 9110 section 10.1.1: the next server has not said that it wants it.
    var count = 0
    for asked in _requests():
        if not asked.framing.expects_continue:
            continue
        count += 1
        var request = _begun(asked)
        for _ in range(3):
            var wire = _Wire("", True, 1_000)
            request.outgoing.begin_attempt()
            assert_true(
                request.outgoing.push(wire) == RequestEvent.ASKED, asked.name
            )
            assert_true(
                request.outgoing.push(wire) == RequestEvent.DRY, asked.name
            )
    assert_true(count > 0)


def test_content_behind_the_head_is_not_asked_for() raises:
    # The same section: a server that has received content may omit 100.
    var count = 0
    for asked in _requests():
        if not asked.framing.expects_continue:
            continue
        count += 1
        var request = _begun(asked)
        var wire = _Wire("", True, 1_000)
        request.outgoing.begin_attempt()
        assert_true(request.outgoing.push(wire) == RequestEvent.ASKED)
        request.outgoing.append("hel".as_bytes())
        for _ in range(3):
            assert_true(
                request.outgoing.push(wire) == RequestEvent.DRY, asked.name
            )
            request.outgoing.begin_attempt()
    assert_true(count > 0)


def test_what_was_replaced_is_sent_once() raises:
    for asked in _requests():
        if not asked.arrives:
            continue
        var wire = _Wire("", True, 1_000)
        var request = _begun(asked)
        assert_true(request.outgoing.supply.is_kept())
        _ = _send_all(request, wire, asked)
        assert_false(request.outgoing.supply.is_kept(), asked.name)


def test_octets_of_tls_are_part_of_it() raises:
    # What `flush` has not sent has not left.
    var asked = _requests().at(2).copy()
    var wire = _Wire("", True, 1_000)
    wire.lingers = True
    var request = _begun(asked)
    request.outgoing.begin_attempt()
    assert_true(request.outgoing.push(wire) == RequestEvent.BLOCKED)
    assert_true(request.outgoing.push(wire) == RequestEvent.SENT)


@fieldwise_init
struct _Renamed(Copyable, Movable):
    var first: String
    var second: String


def test_another_host() raises:
    # RFC 9112 section 3.2: the one field, in its place.
    var rows: List[_Renamed] = [
        _Renamed("up:1", "other.example:8080"),
        _Renamed("a.long.name.example:1", "b"),
        _Renamed("same:1", "same:1"),
        _Renamed("", "late:1"),
    ]
    for row in rows:
        for content in ["", "content"]:
            var request = Http1Request(Buffer(0))
            request.write_head(
                RequestStart(
                    StringSpan("PUT"),
                    StringSpan("/a"),
                    StringSpan(row.first),
                    1,
                ),
                HeaderMap(),
                RequestFraming(String(content).byte_length()),
            )
            request.outgoing.append(String(content).as_bytes())
            request.replace_host(row.second)
            request.replace_host(row.first)
            request.replace_host(row.second)
            assert_equal(
                String(from_utf8_lossy=request.outgoing.output.span()),
                String(
                    "PUT /a HTTP/1.1\r\nHost: ",
                    row.second,
                    "\r\nContent-Length: ",
                    String(content).byte_length(),
                    "\r\n\r\n",
                    content,
                ),
            )


def test_lent_content_goes_behind_the_head() raises:
    var content = String("what is lent to be sent")
    for room_len in range(1, 120):
        var request = Http1Request(Buffer(0))
        request.write_head(
            RequestStart(
                StringSpan("PUT"), StringSpan("/a"), StringSpan("up"), 1
            ),
            HeaderMap(),
            RequestFraming(content.byte_length()),
        )
        # SAFETY: the text outlives the loan.
        request.outgoing.lent.unsafe_begin(content.as_bytes())
        var wire = _Wire("", True, room_len)
        request.outgoing.begin_attempt()
        var event = request.outgoing.push(wire)
        while event == RequestEvent.BLOCKED:
            assert_equal(request.outgoing.sent_count, len(wire.got))
            event = request.outgoing.push(wire)
        assert_true(event == RequestEvent.SENT)
        request.outgoing.end_loan()
        assert_true(request.outgoing.has_sent_all())
        assert_true(
            String(from_utf8_lossy=wire.got.span()).endswith(
                String("\r\n\r\n", content)
            )
        )
    _ = content^


def test_a_loan_ends_anywhere() raises:
    # With a copy all goes on; without, what is not sent never will be.
    var content = String("what is lent to be sent")
    for room_len in range(1, 120):
        for copies in [False, True]:
            var request = Http1Request(Buffer(0))
            request.write_head(
                RequestStart(
                    StringSpan("PUT"), StringSpan("/a"), StringSpan("up"), 1
                ),
                HeaderMap(),
                RequestFraming(content.byte_length()),
            )
            var lent = content.copy()
            # SAFETY: the text outlives the loan.
            request.outgoing.lent.unsafe_begin(lent.as_bytes())
            var whole = len(request.outgoing.output) + content.byte_length()
            var wire = _Wire("", True, room_len)
            request.outgoing.begin_attempt()
            var event = request.outgoing.push(wire)
            if copies:
                request.outgoing.copy_loan()
            else:
                request.outgoing.end_loan()
            _ = lent^
            if copies:
                while event == RequestEvent.BLOCKED:
                    event = request.outgoing.push(wire)
                assert_equal(len(wire.got), whole)
                assert_true(request.outgoing.has_sent_all())
                assert_true(
                    String(from_utf8_lossy=wire.got.span()).endswith(content)
                )
            else:
                assert_equal(
                    request.outgoing.has_sent_all(), len(wire.got) == whole
                )


def test_what_is_given_away_is_not_sent() raises:
    var asked = _requests().at(2).copy()
    for room_len in range(1, asked.octets.byte_length() + 2):
        var request = _begun(asked)
        var wire = _Wire("", True, room_len)
        request.outgoing.begin_attempt()
        _ = request.outgoing.push(wire)
        var was_sent = len(wire.got) == asked.octets.byte_length()
        assert_equal(request.outgoing.has_sent_all(), was_sent)
        _ = request.outgoing.take_output()
        assert_equal(request.outgoing.has_sent_all(), was_sent)


def test_content_that_is_to_come_is_cut_off_with_the_room() raises:
    # However much of it was here: nobody waits for the rest of it.
    for asked in _requests():
        if not asked.arrives:
            continue
        var request = _begun(asked)
        var wire = _Wire("", True, 1_000)
        request.outgoing.begin_attempt()
        _ = request.outgoing.push(wire)
        assert_equal(request.outgoing.left_len(), 0)
        _ = request.outgoing.take_output()
        assert_true(request.outgoing.supply == Supply.CUT, asked.name)


@fieldwise_init
struct _Early(Copyable, Movable):
    var head: String
    var wants_rest: Bool


def test_who_wants_no_more() raises:
    # RFC 9112 section 9.5: an error with which the connection ends.
    var rows: List[_Early] = [
        _Early("HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\n", True),
        _Early("HTTP/1.1 200 \r\nConnection: close\r\n\r\n", True),
        _Early("HTTP/1.0 200 \r\n\r\n", True),
        _Early("HTTP/1.1 413 \r\nContent-Length: 1\r\n\r\n", True),
        _Early("HTTP/1.1 413 \r\nConnection: close\r\n\r\n", False),
        _Early("HTTP/1.0 400 \r\n\r\n", False),
        _Early("HTTP/1.1 503 \r\nConnection: close\r\n\r\n", False),
        _Early("HTTP/1.1 399 \r\nConnection: close\r\n\r\n", True),
    ]
    for row in rows:
        var wire = _Wire(row.head, False, 1_000)
        var request = _begun(_requests().at(2))
        request.begin_response(OwnedPointer(ResponseParser(16)), Method.POST)
        assert_true(
            request.receive(wire, HeadLimits(8_192, 8_192, 100))
            == ResponseProgress.HEAD_READY
        )
        assert_equal(request.wants_rest(), row.wants_rest, row.head)


@fieldwise_init
struct _Length(Copyable, Movable):
    var head: String
    var length: Int


def test_announced_lengths() raises:
    var rows: List[_Length] = [
        _Length("HTTP/1.1 200 \r\nContent-Length: 12\r\n\r\n", 12),
        _Length("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", 0),
        _Length("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", -1),
        _Length("HTTP/1.1 200 \r\n\r\n", -1),
    ]
    for row in rows:
        var wire = _Wire(row.head, False, 1_000)
        var request = _begun(_requests().at(2))
        request.begin_response(OwnedPointer(ResponseParser(16)), Method.POST)
        _ = request.receive(wire, HeadLimits(8_192, 8_192, 100))
        assert_equal(request.announced_len().or_else(-1), row.length, row.head)


def test_an_early_end_is_not_reused() raises:
    # RFC 9112 section 9.3: the request has to be complete, too.
    var asked = _requests().at(2).copy()
    var answer = _answers().at(0).copy()
    for sent_len in range(1, asked.octets.byte_length()):
        var request = _begun(asked)
        var wire = _Wire(answer.octets, False, sent_len)
        request.outgoing.begin_attempt()
        assert_true(request.outgoing.push(wire) == RequestEvent.BLOCKED)
        wire.in_left = 1_000
        assert_equal(_receive_all(request, wire), answer.text)
        assert_false(request.end_response())
