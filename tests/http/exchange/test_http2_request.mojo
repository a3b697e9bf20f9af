"""Requests on streams of HTTP/2, however windows and the connection hold them up:
what the server gets is the content, its end, and the trailers, once each."""

from flare.bytes.buffer import Buffer
from flare.http.exchange.forwarded_request import Http1Request, Http2Request
from flare.http.exchange.outgoing_request import (
    KEPT_LEN_MAX,
    PIECE_LEN,
    RequestStream,
    send_piece,
    Supply,
)
from flare.http.exchange.request_phase import RequestEvent
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.header_map import HeaderMap
from flare.http.message.trailers import Trailers
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.request_log import drain_into


struct _Stream(RequestStream):
    """Takes as much as its window lets it, and is congested now and then."""

    var got: Buffer
    var log: String
    var window: Int
    var window_len: Int
    var is_over: Bool
    # It is congested each time after so many questions; 0 for never.
    var congested_after: Int
    var asked_count: Int

    def __init__(out self, window_len: Int, congested_after: Int):
        self.got = Buffer(0)
        self.log = String()
        self.window = window_len
        self.window_len = window_len
        self.is_over = False
        self.congested_after = congested_after
        self.asked_count = 0

    def is_congested(mut self) -> Bool:
        self.asked_count += 1
        return (
            self.congested_after > 0
            and self.asked_count % self.congested_after == 0
        )

    def has_sent_end(self) -> Bool:
        return self.is_over

    def sendable_len(self) -> Int:
        return self.window

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        debug_assert[assert_mode="safe"](not self.is_over, "behind the end")
        debug_assert[assert_mode="safe"](
            len(octets) <= self.window, "more than the window"
        )
        debug_assert[assert_mode="safe"](
            len(octets) > 0 or ends, "a frame that says nothing"
        )
        self.window -= len(octets)
        self.got.append(octets)
        if ends:
            self.log.write("END")
            self.is_over = True

    def send_trailers(mut self, fields: HeaderMap):
        debug_assert[assert_mode="safe"](not self.is_over, "behind the end")
        self.log.write("TRAILERS ", len(fields))
        self.is_over = True


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: String
    var framing: RequestFraming
    var here: String
    var pieces: List[String]
    var arrives: Bool
    var has_trailers: Bool
    # RFC 9113 section 8.1: what ends the request.
    var end: String
    # The same in HTTP/1.1, behind `Host`.
    var octets: String


def _rows() -> List[_Row]:
    var parts: List[String] = ["hel", "lo", " ", "world"]
    var chunked = String("Transfer-Encoding: chunked\r\n\r\n")
    var whole = chunked + "b\r\nhello world\r\n0\r\n\r\n"
    var trailed = chunked + "b\r\nhello world\r\n0\r\nX-T: t\r\n\r\n"
    var sized = String("Content-Length: 11\r\n\r\nhello world")
    return [
        _Row(
            "0",
            RequestFraming(0),
            "",
            [],
            False,
            False,
            "END",
            "Content-Length: 0\r\n\r\n",
        ),
        _Row(
            "1",
            RequestFraming(11),
            "hello world",
            [],
            False,
            False,
            "END",
            sized,
        ),
        _Row(
            "2", RequestFraming(11), "", parts.copy(), True, False, "END", sized
        ),
        _Row(
            "3",
            RequestFraming(11),
            "",
            ["hello world"],
            True,
            False,
            "END",
            sized,
        ),
        _Row(
            "4",
            RequestFraming.chunked(),
            "",
            parts.copy(),
            True,
            False,
            "END",
            whole,
        ),
        _Row(
            "5",
            RequestFraming.chunked(),
            "",
            parts.copy(),
            True,
            True,
            "TRAILERS 1",
            trailed,
        ),
        _Row(
            "6",
            RequestFraming.chunked(),
            "hello world",
            [],
            False,
            True,
            "TRAILERS 1",
            trailed,
        ),
        _Row(
            "7",
            RequestFraming.chunked(),
            "",
            [],
            True,
            False,
            "END",
            chunked + "0\r\n\r\n",
        ),
        _Row(
            "8",
            RequestFraming.chunked(),
            "",
            [],
            True,
            True,
            "TRAILERS 1",
            chunked + "0\r\nX-T: t\r\n\r\n",
        ),
        _Row(
            "9",
            RequestFraming(11, True),
            "",
            parts.copy(),
            True,
            False,
            "END",
            "Expect: 100-continue\r\nContent-Length: 11\r\n\r\nhello world",
        ),
    ]


def _begun(row: _Row) raises -> Http2Request:
    var request = Http2Request(
        "/p?q",
        HeaderMap(),
        row.framing,
        Supply.ARRIVING if row.arrives else Supply.ALL,
    )
    if not row.arrives:
        request.outgoing.output.append(row.here.as_bytes())
        request.trailers = _trailers(row)
    return request^


def _trailers(row: _Row) raises -> Trailers:
    var trailers = Trailers()
    if row.has_trailers:
        trailers.append("X-T", "t")
    return trailers^


def _send_all(
    mut request: Http2Request, mut stream: _Stream, row: _Row
) raises -> Int:
    """Sends a request to its end; gives how often it has asked for 100."""
    var asked_count = 0
    var next = 0
    request.outgoing.begin_attempt()
    for _ in range(10_000):
        var event = request.push(stream)
        if event == RequestEvent.SENT:
            return asked_count
        if event == RequestEvent.ASKED:
            asked_count += 1
            assert_equal(len(stream.got), 0)
        elif event == RequestEvent.DRY:
            assert_false(request.outgoing.left_len() > 0)
            if request.outgoing.supply.has_all():
                raise Error("it wants more than all")
            request.outgoing.make_room()
            if next < len(row.pieces):
                request.outgoing.output.append(row.pieces[next].as_bytes())
                next += 1
            else:
                request.end(_trailers(row))
        else:
            assert_true(event == RequestEvent.BLOCKED)
            stream.window = stream.window_len
    raise Error("it is never sent")


def test_each_request_through_each_window() raises:
    var count = 0
    for row in _rows():
        for window_len in [1, 2, 3, 10, 11, 100]:
            for congested_after in [0, 3, 5, 7]:
                count += 1
                var told = String(
                    row.name, " / ", window_len, " / ", congested_after
                )
                var request = _begun(row)
                assert_equal(
                    request.is_empty(), row.end == "END" and row.name == "0"
                )
                var stream = _Stream(window_len, congested_after)
                var asks = 1 if row.framing.expects_continue else 0
                assert_equal(_send_all(request, stream, row), asks, told)
                var content = "hello world"
                if row.name == "0" or row.name == "7" or row.name == "8":
                    content = ""
                assert_equal(
                    String(from_utf8_lossy=stream.got.span()), content, told
                )
                assert_equal(stream.log, row.end, told)
                # All of it is kept, so it goes once more as it went.
                assert_true(request.outgoing.supply == Supply.ALL, told)
                var second = _Stream(7, 0)
                assert_equal(_send_all(request, second, row), asks, told)
                assert_equal(
                    String(from_utf8_lossy=second.got.span()), content, told
                )
                assert_equal(second.log, row.end, told)
    assert_true(count >= 150, String(count, " rows"))


def test_as_http1_it_is_the_same() raises:
    for row in _rows():
        for sends_first in [False, True]:
            var request = _begun(row)
            for piece in row.pieces:
                request.outgoing.output.append(piece.as_bytes())
            if row.arrives:
                request.end(_trailers(row))
            if sends_first:
                request.outgoing.begin_attempt()
                var stream = _Stream(3, 0)
                _ = request.push(stream)
            var plain = Http1Request(Buffer(0))
            request.write_to(plain, "POST", "up:1")
            assert_true(plain.outgoing.supply == Supply.ALL)
            assert_equal(
                _log(plain.outgoing.output.span()),
                _log(
                    String(
                        "POST /p?q HTTP/1.1\r\nHost: up:1\r\n", row.octets
                    ).as_bytes()
                ),
                row.name,
            )


def test_as_http1_the_rest_follows() raises:
    # What has come is written, and what comes goes behind it.
    for row in _rows():
        if not row.arrives:
            continue
        for taken_count in range(len(row.pieces) + 1):
            var request = _begun(row)
            for index in range(taken_count):
                request.outgoing.output.append(row.pieces[index].as_bytes())
            var plain = Http1Request(Buffer(0))
            request.write_to(plain, "POST", "up:1")
            assert_true(plain.outgoing.supply == Supply.ARRIVING)
            for index in range(taken_count, len(row.pieces)):
                plain.outgoing.append(row.pieces[index].as_bytes())
            plain.outgoing.append_end(_trailers(row))
            assert_equal(
                _log(plain.outgoing.output.span()),
                _log(
                    String(
                        "POST /p?q HTTP/1.1\r\nHost: up:1\r\n", row.octets
                    ).as_bytes()
                ),
                row.name,
            )


def _log(octets: Span[UInt8, _]) -> String:
    var parser = RequestParser(16)
    parser.input.append(octets)
    var log = String()
    drain_into(parser, log)
    log.write(len(parser.input), " left")
    return log^


@fieldwise_init
struct _Kept(Copyable, Movable):
    var piece_len: Int
    var count: Int
    var is_kept: Bool


def test_how_much_is_kept() raises:
    # What is kept is bounded; behind that, nothing is sent once more.
    var rows: List[_Kept] = [
        _Kept(1, 10, True),
        _Kept(KEPT_LEN_MAX - 1, 1, True),
        _Kept(KEPT_LEN_MAX - 1, 2, True),
        _Kept(KEPT_LEN_MAX, 1, True),
        _Kept(KEPT_LEN_MAX, 2, False),
        _Kept(KEPT_LEN_MAX // 2, 2, True),
        _Kept(KEPT_LEN_MAX // 2, 3, False),
        _Kept(KEPT_LEN_MAX * 2, 1, True),
        _Kept(KEPT_LEN_MAX * 2, 4, False),
    ]
    for row in rows:
        var request = Http2Request(
            "/", HeaderMap(), RequestFraming.chunked(), Supply.ARRIVING
        )
        var stream = _Stream(1 << 30, 0)
        request.outgoing.begin_attempt()
        for _ in range(row.count):
            assert_true(request.push(stream) == RequestEvent.DRY)
            request.outgoing.make_room()
            request.outgoing.output.append(
                List[UInt8](length=row.piece_len, fill=UInt8(97))
            )
        assert_equal(request.outgoing.supply.is_kept(), row.is_kept)
        # It never holds more than what is kept and one piece.
        assert_true(len(request.outgoing.output) < KEPT_LEN_MAX + row.piece_len)
        assert_true(request.push(stream) == RequestEvent.DRY)
        assert_equal(len(stream.got), row.count * row.piece_len)


@fieldwise_init
struct _Piece(Copyable, Movable):
    var length: Int
    var window: Int
    var is_congested: Bool
    var ends: Bool
    var count: Int
    var log: String


def test_pieces() raises:
    var rows: List[_Piece] = [
        _Piece(0, 0, False, False, -1, ""),
        _Piece(0, 10, False, False, -1, ""),
        _Piece(0, 0, False, True, 0, "END"),
        _Piece(0, 10, False, True, 0, "END"),
        _Piece(5, 0, False, True, -1, ""),
        _Piece(5, 4, False, True, 4, ""),
        _Piece(5, 5, False, True, 5, "END"),
        _Piece(5, 5, False, False, 5, ""),
        _Piece(5, 9, False, True, 5, "END"),
        _Piece(5, 9, True, True, -1, ""),
        _Piece(0, 9, True, True, -1, ""),
        _Piece(PIECE_LEN + 1, 1 << 20, False, True, PIECE_LEN, ""),
        _Piece(PIECE_LEN, 1 << 20, False, True, PIECE_LEN, "END"),
    ]
    for row in rows:
        var stream = _Stream(row.window, 1 if row.is_congested else 0)
        var octets = List[UInt8](length=row.length, fill=UInt8(97))
        var count = send_piece(stream, Span(octets), ends=row.ends)
        assert_equal(count, row.count)
        assert_equal(len(stream.got), max(row.count, 0))
        assert_equal(stream.log, row.log)


def test_a_stream_that_has_ended_takes_nothing() raises:
    for row in _rows():
        var request = _begun(row)
        var stream = _Stream(100, 0)
        stream.is_over = True
        request.outgoing.begin_attempt()
        assert_true(request.push(stream) == RequestEvent.SENT)
        assert_equal(len(stream.got), 0)
