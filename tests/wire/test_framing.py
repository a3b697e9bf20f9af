"""HTTP/1.1 framing over real sockets (RFC 9112), section 3 of the specification."""

import socket

import pytest
from conftest import Client, read_all

HOST = b"Host: a\r\n"


def get(target: bytes = b"/", extra: bytes = b"") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + HOST + extra + b"\r\n"


def test_get_answers_with_date_and_length(client):
    client.send(get())
    response = client.response()
    assert response.status == 200 and response.body == b"OK"
    assert response.fields["date"].endswith(" GMT")
    assert response.fields["content-length"] == "2"


def test_request_split_at_every_byte(probe):
    request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
    for cut in range(1, len(request)):
        with Client(probe) as client:
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.send(request[:cut])
            client.send(request[cut:] + get())
            assert client.response().body == b"hello"
            assert client.response().body == b"OK"


def test_request_octet_by_octet(client):
    client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for (
        octet
    ) in b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n":
        client.send(bytes([octet]))
    assert client.response().body == b"abc"


def test_thousand_pipelined_requests_in_order(client):
    client.send(b"".join(get(b"/greet/n%d" % n) for n in range(1000)))
    for number in range(1000):
        assert client.response().body == b"hi n%d" % number


def test_pipelined_without_reading_then_reading(probe):
    """A batch larger than all buffers must neither stall nor be lost."""
    with Client(probe, timeout=20) as client:
        count = 400
        client.sock.setblocking(False)
        data = b"".join(get(b"/size/20000") for _ in range(count))
        sent = client.sock.send(data)
        client.sock.setblocking(True)
        client.sock.settimeout(20)
        received = 0
        import threading

        rest = threading.Thread(target=lambda: client.sock.sendall(data[sent:]))
        rest.start()
        for _ in range(count):
            received += len(client.response().body)
        rest.join()
        assert received == count * 20000


def test_chunked_then_pipelined(client):
    client.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n" + get(b"/greet/b")
    )
    assert client.response().body == b"hello world"
    assert client.response().body == b"hi b"


def test_trailers_are_kept_apart(client):
    client.send(
        b"POST /trailers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\nX-Sum: 42\r\n\r\n"
    )
    assert client.response().body == b"hi|X-Sum=42"


def test_body_that_looks_like_a_request_is_a_body(client):
    body = get(b"/fail")
    client.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
        + get()
    )
    assert client.response().body == body
    assert client.response().body == b"OK"


@pytest.mark.parametrize(
    "field",
    [
        b"X-Content-Length: 40\r\n",
        b"Referer: ?content-length:44\r\n",
        b"Content-Lengthy: 7\r\n",
        b"X-Transfer-Encoding: chunked\r\n",
    ],
)
def test_fields_that_do_not_frame(client, field):
    client.send(get(extra=field) + get(b"/greet/x"))
    assert client.response().body == b"OK"
    assert client.response().body == b"hi x"


def refused(name, status, request):
    return pytest.param(status, request, id=name)


REFUSED = [
    refused(
        "9112-6.3 differing lengths",
        400,
        get(extra=b"Content-Length: 5\r\nContent-Length: 6\r\n"),
    ),
    refused(
        "9112-6.3 repeated length",
        400,
        get(extra=b"Content-Length: 5\r\nContent-Length: 5\r\n"),
    ),
    refused(
        "9110-8.6 length list", 400, get(extra=b"Content-Length: 5, 5\r\n")
    ),
    refused("9110-8.6 +5", 400, get(extra=b"Content-Length: +5\r\n")),
    refused("9110-8.6 -5", 400, get(extra=b"Content-Length: -5\r\n")),
    refused("9110-8.6 5abc", 400, get(extra=b"Content-Length: 5abc\r\n")),
    refused("9110-8.6 0x5", 400, get(extra=b"Content-Length: 0x5\r\n")),
    refused("9110-8.6 empty", 400, get(extra=b"Content-Length:\r\n")),
    refused(
        "9110-8.6 2^64+5",
        400,
        get(extra=b"Content-Length: 18446744073709551621\r\n"),
    ),
    refused("9112-6.1 gzip", 400, get(extra=b"Transfer-Encoding: gzip\r\n")),
    refused(
        "9112-6.1 chunked, gzip",
        400,
        get(extra=b"Transfer-Encoding: chunked, gzip\r\n"),
    ),
    refused(
        "9112-6.1 gzip, chunked",
        501,
        get(extra=b"Transfer-Encoding: gzip, chunked\r\n"),
    ),
    refused(
        "9112-6.1 chunked twice",
        400,
        get(extra=b"Transfer-Encoding: chunked, chunked\r\n"),
    ),
    refused(
        "9112-6.1 two lines",
        400,
        get(
            extra=b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"
        ),
    ),
    refused(
        "9112-6.1 xchunked", 501, get(extra=b"Transfer-Encoding: xchunked\r\n")
    ),
    refused(
        "9112-6.1 identity", 501, get(extra=b"Transfer-Encoding: identity\r\n")
    ),
    refused(
        "9112-6.1 vertical tab",
        400,
        get(extra=b"Transfer-Encoding: \x0bchunked\r\n"),
    ),
    refused(
        "9112-6.1 quoted",
        400,
        get(extra=b'Transfer-Encoding: "chunked"\r\n'),
    ),
    refused(
        "9112-6.1 folded", 400, get(extra=b"Transfer-Encoding:\r\n chunked\r\n")
    ),
    refused("9110-8.6 two words", 400, get(extra=b"Content-Length: 5 0\r\n")),
    refused("9112-2.2 CR behind a line", 400, get(extra=b"X: a\r\n\rY: b\r\n")),
    refused(
        "9112-7.1.1 quoted over lines",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b'1;a="\r\na"\r\nb\r\n0\r\n\r\n',
    ),
    refused(
        "9112-7.1 other octets behind a chunk",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1\r\naXX0\r\n\r\n",
    ),
    refused(
        "9112-7.1.2 folded trailer",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"0\r\nX: a\r\n b\r\n\r\n",
    ),
    refused(
        "9112-6.1 with length",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
    ),
    refused(
        "9112-6.1 HTTP/1.0",
        400,
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    refused("9112-5.2 obs-fold", 400, get(extra=b"X: a\r\n b\r\n")),
    refused("9112-5.2 first line", 400, b"GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    refused("9112-2.2 bare LF", 400, b"GET / HTTP/1.1\nHost: a\n\n"),
    refused("9112-2.2 bare LF in fields", 400, get(extra=b"X: a\nY: b\r\n")),
    refused("9112-2.2 bare CR", 400, get(extra=b"X: a\rb\r\n")),
    refused("9110-5.5 NUL", 400, get(extra=b"X: a\x00b\r\n")),
    refused("9110-5.5 DEL", 400, get(extra=b"X: a\x7fb\r\n")),
    refused("9112-5.1 space before colon", 400, get(extra=b"X : a\r\n")),
    refused("9112-5.1 no colon", 400, get(extra=b"abc\r\n")),
    refused("9112-5.1 empty name", 400, get(extra=b": a\r\n")),
    refused("9110-5.1 bad token", 400, get(extra=b"X(Y): a\r\n")),
    refused("9112-3.2 no Host", 400, b"GET / HTTP/1.1\r\n\r\n"),
    refused("9112-3.2 two Hosts", 400, get(extra=b"Host: b\r\n")),
    refused("9110-4.2.1 empty Host", 400, b"GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    refused("9110-7.2 userinfo", 400, b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
    refused(
        "9110-7.2 path in Host", 400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"
    ),
    refused(
        "9110-7.2 space in Host", 400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"
    ),
    refused(
        "3986-3.2.2 open bracket", 400, b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"
    ),
    refused(
        "3986-3.2.2 empty literal", 400, b"GET / HTTP/1.1\r\nHost: []\r\n\r\n"
    ),
    refused(
        "3986-3.2.2 behind the literal",
        400,
        b"GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n",
    ),
    refused("3986-3.2.3 port", 400, b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    refused(
        "3986-3.2.3 long port", 400, b"GET / HTTP/1.1\r\nHost: a:123456\r\n\r\n"
    ),
    refused(
        "3986-3.2.3 two ports", 400, b"GET / HTTP/1.1\r\nHost: a:80:90\r\n\r\n"
    ),
    refused(
        "9112-3.2.2 port", 400, b"GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n"
    ),
    refused(
        "9110-9.3.6 no tunnels",
        501,
        b"CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n",
    ),
    refused(
        "9110-9.3.6 nor for content",
        501,
        b"CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 3\r\n\r\nabc",
    ),
    refused(
        "9110-4.2.1 no host", 400, b"GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n"
    ),
    refused("9110-4.2.1 port alone", 400, b"GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
    refused("3986-2.1 percent", 400, b"GET / HTTP/1.1\r\nHost: a%zz\r\n\r\n"),
    refused("3986-3.2.2 address", 400, b"GET / HTTP/1.1\r\nHost: [:::]\r\n\r\n"),
    refused("9112-3 nothing for a version", 400, b"GET / \r\n\r\n"),
    refused("9112-3 a part of a version", 400, b"GET / HTTP\r\n"),
    refused("9112-6.3 no coding", 400, get(extra=b"Transfer-Encoding: ,\r\n")),
    refused(
        "9112-7.1.1 open quote",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b'1;a="b\r\na\r\n',
    ),
    refused(
        "9112-7.1.1 LF behind an extension",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1;a\n",
    ),
    refused(
        "9112-3.2.3 no port", 400, b"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"
    ),
    refused(
        "9112-3.2.3 IPv6 without port",
        400,
        b"CONNECT [::1] HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    refused("9112-3.2 fragment", 400, b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("9112-3.1 method", 400, b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("9112-3.1 no method", 400, b" / HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("9112-3 two spaces", 400, b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("9112-3 no version", 400, b"GET /\r\n\r\n"),
    refused(
        "9112-3.2 relative target", 400, b"GET abc HTTP/1.1\r\nHost: a\r\n\r\n"
    ),
    refused("9112-3.2.4 asterisk", 400, b"GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused(
        "9110-4.2.4 userinfo",
        400,
        b"GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    refused(
        "9112-3.2 scheme", 400, b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"
    ),
    refused("9112-2.3 lower case", 400, b"GET / http/1.1\r\nHost: a\r\n\r\n"),
    refused("9112-2.3 HTTP/1.10", 400, b"GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
    refused("9110-15.6.6 HTTP/2.0", 505, b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    refused("9110-15.5.15 target", 414, get(b"/" + b"a" * 9000)),
    refused("6585-5 section", 431, get(extra=b"X: " + b"a" * 9000 + b"\r\n")),
    refused(
        "fields",
        431,
        get(extra=b"".join(b"X%d: a\r\n" % n for n in range(101))),
    ),
    refused(
        "9110-15.5.14 length",
        413,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10485761\r\n\r\n",
    ),
    refused("9110-10.1.1 expectation", 417, get(extra=b"Expect: 200-ok\r\n")),
    refused(
        "9112-7.1 chunk size",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"xyz\r\n",
    ),
    refused(
        "9112-7.1 minus",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"-1\r\n",
    ),
    refused(
        "9112-7.1 0x",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"0x1\r\n",
    ),
    refused(
        "9112-7.1 oversize",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"10000000000000000\r\n",
    ),
    refused(
        "9112-7.1 too much",
        413,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"fffffff\r\n",
    ),
    refused(
        "9112-7.1 no CRLF",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1\r\nabc",
    ),
    refused(
        "9112-7.1 bare LF",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1\na\r\n0\r\n\r\n",
    ),
    refused(
        "9112-7.1 space",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1 \r\na\r\n0\r\n\r\n",
    ),
    refused(
        "9112-7.1.1 long extension",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"1;" + b"a" * 2000,
    ),
    refused(
        "9112-7.1.2 bad trailer",
        400,
        get(extra=b"Transfer-Encoding: chunked\r\n") + b"0\r\nX y: z\r\n\r\n",
    ),
]


@pytest.mark.parametrize("status, request_octets", REFUSED)
def test_refused_with_status_and_closed(probe, status, request_octets):
    with Client(probe) as client:
        client.send(request_octets)
        response = client.response()
        assert response.status == status, response.body
        assert response.fields["connection"] == "close"
        assert client.is_closed()


def test_smuggled_request_behind_a_refused_one_is_not_answered(probe):
    with Client(probe) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\n" + get(b"/greet/evil")
        )
        data = read_all(client.sock)
        assert data.count(b"HTTP/1.1 ") == 1 and b"evil" not in data


ACCEPTED = [
    (
        "9112-3.2.2 absolute-form",
        b"GET http://b.c:80/line?q=1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET|http://b.c:80/line?q=1|/line|q=1|HTTP/1.1|b.c:80|127.0.0.1",
    ),
    ("9110-4.2.3 an empty path", b"GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", b"OK"),
    (
        "9110-4.2.3 an empty path, a query",
        b"GET http://b?c HTTP/1.1\r\nHost: a\r\n\r\n",
        b"OK",
    ),
    (
        "9110-5.6.1 empty elements",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\n\r\n",
        b"hi",
    ),
    (
        "9110-5.3 one list as two lines",
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, 100-continue\r\n"
        b"Content-Length: 2\r\n\r\nhi",
        b"hi",
    ),
    (
        "9112-2.2 leading CRLF",
        b"\r\n\r\n" + get(b"/line"),
        b"GET|/line|/line||HTTP/1.1|a|127.0.0.1",
    ),
    (
        "9112-5 no space",
        b"GET /line HTTP/1.1\r\nHost:a\r\n\r\n",
        b"GET|/line|/line||HTTP/1.1|a|127.0.0.1",
    ),
    (
        "9112-5 much space",
        b"GET /line HTTP/1.1\r\nHost: \t a \t\r\n\r\n",
        b"GET|/line|/line||HTTP/1.1|a|127.0.0.1",
    ),
    (
        "9110-2.5 HTTP/1.2",
        b"GET /line HTTP/1.2\r\nHost: a\r\n\r\n",
        b"GET|/line|/line||HTTP/1.2|a|127.0.0.1",
    ),
    (
        "9110-7.2 IPv6 host",
        b"GET /line HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        b"GET|/line|/line||HTTP/1.1|[::1]:80|127.0.0.1",
    ),
    (
        "9110-9.1 other method",
        b"PURGE /line HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PURGE|/line|/line||HTTP/1.1|a|127.0.0.1",
    ),
    (
        "9110-5.5 obs-text",
        b"GET /line HTTP/1.1\r\nHost: a\r\nX: \xe4\r\n\r\n",
        b"GET|/line|/line||HTTP/1.1|a|127.0.0.1",
    ),
]


@pytest.mark.parametrize("name, request_octets, body", ACCEPTED)
def test_accepted(client, name, request_octets, body):
    client.send(request_octets + get())
    assert client.response().body == body
    assert client.response().body == b"OK"


@pytest.mark.parametrize("target", [b"*", b"http://a", b"HTTPS://a:443"])
def test_asterisk_form(client, target):
    """9112-3.2.4: a proxy sends `*` for a URI without path and query."""
    client.send(b"OPTIONS " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    response = client.response()
    assert response.status == 204
    allowed = response.fields["allow"].split(", ")
    assert "GET" in allowed and "POST" in allowed
    assert "CONNECT" not in allowed and "TRACE" not in allowed


def test_expect_100_continue(client):
    client.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    )
    assert client.response().status == 100
    client.send(b"data")
    assert client.response().body == b"data"


def test_expect_100_continue_with_too_large_a_body(client):
    client.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 99999999\r\n\r\n"
    )
    assert client.response().status == 413


def test_no_100_if_the_body_is_there(client):
    client.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\ndata"
    )
    assert client.response().body == b"data"


def test_head_has_the_length_and_no_body(client):
    client.send(b"HEAD /greet/bob HTTP/1.1\r\nHost: a\r\n\r\n" + get())
    response = client.response(is_head=True)
    assert response.status == 200 and response.fields["content-length"] == "6"
    assert client.response().body == b"OK"


@pytest.mark.parametrize(
    "status, rest",
    [
        (400, b"\r\n"),
        (400, b"Host: a\r\nX : y\r\n\r\n"),
        (413, b"Host: a\r\nContent-Length: 99999999\r\n\r\n"),
        (417, b"Host: a\r\nExpect: x\r\n\r\n"),
        (431, b"Host: a\r\nX: " + b"y" * 9_000 + b"\r\n\r\n"),
        (501, b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    ],
)
def test_refusals_of_head_have_no_content(probe, status, rest):
    """9110-9.3.2; a client that waits for the content would wait for ever."""
    with Client(probe) as client:
        client.send(b"HEAD / HTTP/1.1\r\n" + rest)
        response = client.response(is_head=True)
        assert response.status == status
        assert int(response.fields["content-length"]) > 0
        assert client.is_closed()


@pytest.mark.parametrize("before", [b"", b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"])
@pytest.mark.parametrize("broken", [b"(\r\n", b"\rX", b"GET / \r\n"])
def test_refusals_of_others_have_content(probe, before, broken):
    """Also behind a HEAD, whose method must not be taken for this one's."""
    with Client(probe) as client:
        client.send(before + broken)
        if before:
            assert client.response(is_head=True).status == 200
        response = client.response()
        assert response.status == 400 and response.body
        assert client.is_closed()


def test_head_keeps_the_length_of_a_handler(client):
    """9110-8.6: what GET would send, which only the handler knows."""
    client.send(b"HEAD /announced/12345 HTTP/1.1\r\nHost: a\r\n\r\n" + get())
    response = client.response(is_head=True)
    assert response.fields["content-length"] == "12345"
    assert client.response().body == b"OK"


@pytest.mark.parametrize("code", [204, 304])
def test_statuses_without_content(client, code):
    client.send(get(b"/status/%d" % code) + get())
    response = client.response()
    assert response.status == code and "content-length" not in response.fields
    assert client.response().body == b"OK"


def test_reset_content_has_none(client):
    client.send(get(b"/status/205") + get())
    response = client.response()
    assert response.status == 205 and response.fields["content-length"] == "0"
    assert client.response().body == b"OK"


@pytest.mark.parametrize("code", [0, 99, 100, 101, 199, 600, 99999, -5])
def test_statuses_that_are_no_final_response(client, code):
    client.send(get(b"/status/%d" % code) + get())
    assert client.response().status == 500
    assert client.response().body == b"OK"


def test_http_1_0_closes(probe):
    with Client(probe) as client:
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        response = client.response()
        assert (
            response.body == b"OK" and response.fields["connection"] == "close"
        )
        assert client.is_closed()


def test_http_1_0_keep_alive(client):
    client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert client.response().fields["connection"] == "keep-alive"
    client.send(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
    assert client.response().body == b"OK"


@pytest.mark.parametrize(
    "value", [b"close", b"Close", b"x, close", b"close, keep-alive"]
)
def test_connection_close(probe, value):
    with Client(probe) as client:
        client.send(get(extra=b"Connection: " + value + b"\r\n") + get())
        assert client.response().fields["connection"] == "close"
        assert client.is_closed()


def test_handler_may_close(probe):
    with Client(probe) as client:
        client.send(get(b"/closing"))
        assert client.response().fields["connection"] == "close"
        assert client.is_closed()


def test_framing_belongs_to_the_server(client):
    client.send(get(b"/framing") + get())
    response = client.response()
    assert response.body == b"framed" and response.fields["x-kept"] == "yes"
    assert "transfer-encoding" not in response.fields
    assert client.response().body == b"OK"


def test_handler_error_says_nothing_internal(start):
    server = start()
    with Client(server) as client:
        client.send(get(b"/fail") + get())
        response = client.response()
        assert response.status == 500 and b"secret" not in response.body
        assert client.response().body == b"OK"
    assert (
        "secret detail" in server.stderr()
        and "GET /fail HTTP/1.1" in server.stderr()
    )


def test_response_splitting_is_impossible(client):
    client.send(get(b"/split"))
    response = client.response()
    assert response.status == 500 and "set-cookie" not in response.fields


def test_log_lines_cannot_be_forged(start):
    server = start()
    with Client(server) as client:
        client.send(get(b"/fail?a\\x0aflare:"))
        client.response()
    assert len(server.stderr().splitlines()) == 1


def test_route_body_limit(client):
    body = b"z" * 12_000_000
    client.send(
        b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    client.send(body)
    assert client.response().body == body


def test_cookies(client):
    client.send(get(b"/cookie", b"Cookie: a=b; c=d=e\r\nCookie: f=\r\n"))
    assert client.response().body == b"a=b\nc=d=e\nf=\n"


def test_echo_prints_fields_as_received(client):
    client.send(get(b"/echo", b"X-One: 1\r\nx-two:  2 \r\n"))
    assert client.response().body == b"Host: a\nX-One: 1\nx-two: 2\n"
