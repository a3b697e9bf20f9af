"""Requests as they are written (RFC 9112 sections 3 and 6), read back by the
server's parser."""

from flare.bytes.buffer import Buffer
from flare.http.h1.chunk_writer import LAST_CHUNK, append_chunk
from flare.http.h1.exchange import Exchange
from flare.http.h1.request_writer import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from std.testing import assert_equal, assert_true
from tests.support.exchange_log import drain_into


def _written(
    headers: HeaderMap,
    framing: RequestFraming = RequestFraming.none(),
    minor_version: UInt8 = 1,
) raises -> String:
    var defaults = HeaderMap()
    defaults.set("User-Agent", "flare")
    defaults.set("Accept", "*/*")
    var out = Buffer(0)
    write_request_head(
        out,
        RequestStart("PUT", "/a?b", "h:81", minor_version),
        headers,
        defaults,
        framing,
    )
    return String(StringSpan(unsafe_from_utf8=out.span()))


def test_host_is_first_and_framing_is_ours() raises:
    var headers = HeaderMap()
    assert_equal(
        _written(headers),
        "PUT /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: flare\r\nAccept: */*\r\n\r\n",
    )
    headers.set("Content-Length", "99")
    headers.set("transfer-encoding", "chunked")
    headers.set("Content-Type", "text/x")
    headers.set("accept", "text/y")
    headers.set("host", "other")
    assert_equal(
        _written(headers, RequestFraming(3)),
        "PUT /a?b HTTP/1.1\r\nHost: other\r\nUser-Agent: flare\r\nContent-Type: text/x\r\naccept: text/y\r\nContent-Length: 3\r\n\r\n",
    )


def test_framing() raises:
    var headers = HeaderMap()
    headers.set("User-Agent", "")
    headers.set("Accept", "")
    comptime START = "PUT /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: \r\nAccept: \r\n"
    assert_equal(
        _written(headers, RequestFraming(0)),
        START + "Content-Length: 0\r\n\r\n",
    )
    assert_equal(
        _written(headers, RequestFraming.chunked(expects_continue=True)),
        START + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    assert_true(
        _written(headers, minor_version=0).startswith("PUT /a?b HTTP/1.0\r\n")
    )


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var target: StaticString
    var host: StaticString
    var part: StaticString
    var offset: Int


def test_refuses_what_would_end_a_part_early() raises:
    var rows: List[_Refused] = [
        _Refused("9110-9.1 empty", "", "/", "h", "method", 0),
        _Refused("9110-9.1", "G T", "/", "h", "method", 1),
        _Refused("9110-9.1 CR", "GET\r\nA: b", "/", "h", "method", 3),
        _Refused("9112-3.2 empty", "GET", "", "h", "request target", 0),
        _Refused("9112-3.2 SP", "GET", "/a b", "h", "request target", 2),
        _Refused("9112-3.2 LF", "GET", "/\nA: b", "h", "request target", 1),
        _Refused("9112-3.2 CR", "GET", "/\rA: b", "h", "request target", 1),
        _Refused("9112-3.2 NUL", "GET", "/\0", "h", "request target", 1),
        _Refused("9112-3.2 #", "GET", "/a#b", "h", "request target", 2),
        _Refused("9112-3.2 high", "GET", "/\xc3\xa4", "h", "request target", 1),
        _Refused("9110-7.2 CR", "GET", "/", "h\r\nA: b", "Host", 1),
        _Refused("9110-7.2 SP", "GET", "/", "h b", "Host", 1),
        _Refused("9110-7.2 path", "GET", "/", "h/b", "Host", 1),
    ]
    var none = HeaderMap()
    for row in rows:
        var out = Buffer(0)
        try:
            write_request_head(
                out,
                RequestStart(row.method, row.target, row.host, 1),
                none,
                none,
                RequestFraming.none(),
            )
        except error:
            assert_equal(error.part, row.part, row.rule)
            assert_equal(error.offset, row.offset, row.rule)
            assert_equal(len(out), 0, row.rule)
            assert_true("\r" not in String(error), row.rule)
            continue
        raise Error(row.rule, ": was written")


def test_http_1_0_has_no_chunks() raises:
    try:
        _ = _written(HeaderMap(), RequestFraming.chunked(), 0)
    except error:
        assert_true("framing 'chunked' cannot be sent" in String(error))
        return
    raise Error("was written")


def test_what_is_written_is_read_back() raises:
    var headers = HeaderMap()
    headers.set("X-A", "b c")
    headers.append("X-A", "d")
    var text = _written(headers, RequestFraming.chunked())
    var exchange = Exchange(16)
    exchange.input.append(text.as_bytes())
    var whole = String()
    for length in [1, 15, 16, 255, 256, 4097]:
        var piece = List[UInt8](length=length, fill=97)
        append_chunk(exchange.input, piece)
        append_chunk(exchange.input, piece[0:0])
        whole.write(StringSpan(unsafe_from_utf8=piece))
    exchange.input.append(LAST_CHUNK.as_bytes())
    var log = String()
    drain_into(exchange, log, 10_000)
    assert_equal(
        log,
        String(
            "[PUT /a?b /a b HTTP/1.1\nHost: h:81\nUser-Agent: flare\n",
            "Accept: */*\nX-A: b c\nX-A: d\nTransfer-Encoding: chunked\n|",
            whole,
            "|]\n",
        ),
    )
