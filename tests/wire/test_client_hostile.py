"""Servers that mean no good: each ends in an error of its own, nothing hangs,
and memory stays bounded."""

import gzip
import json
import socket
import threading
import time
import zlib

import pytest
from client_asker import meet
from raw_server import Connection, RawServer, answering, once

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MEMORY_KIB_MAX = 120_000


def sized(content: bytes, more: bytes = b"") -> bytes:
    return OK + more + b"Content-Length: %d\r\n\r\n" % len(content) + content


def endless(start: bytes, piece: bytes):
    """Sends the same piece until the client has had enough."""

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(start)
        while True:
            connection.send(piece)

    return handle


def dripping(start: bytes, piece: bytes, pause_s: float):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(start)
        while True:
            connection.send(piece)
            time.sleep(pause_s)

    return handle


def silent(connection: Connection) -> None:
    connection.head()
    connection.sock.recv(1)


def resetting(connection: Connection) -> None:
    import socket
    import struct

    connection.head()
    linger = struct.pack("ii", 1, 0)
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


SETTINGS = [
    "max_response_size",
    "max_decoded_size",
    "head_limits.max_header_size",
    "head_limits.max_target_size",
    "head_limits.max_fields",
    "read_timeout_ms",
    "total_timeout_ms",
]
BOMB = gzip.compress(bytes(100 << 20), 9)

# (name, handler, configuration, phase, kind)
ROWS = [
    ("reset", resetting, {}, "read head", "ConnectionReset"),
    (
        "closed within the head",
        once(OK + b"A: b\r\n"),
        {},
        "read head",
        "TruncatedResponse",
    ),
    (
        "within the trailers",
        once(CHUNKED + b"0\r\nA: b\r\n"),
        {},
        "read body",
        "TruncatedResponse",
    ),
    (
        "negative length",
        once(OK + b"Content-Length: -1\r\n\r\n"),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "length that overflows",
        once(OK + b"Content-Length: 99999999999999999999\r\n\r\n"),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "chunk size that overflows",
        once(CHUNKED + b"fffffffffffffffff\r\n"),
        {},
        "read body",
        "MalformedResponse",
    ),
    (
        "negative chunk size",
        once(CHUNKED + b"-1\r\n"),
        {},
        "read body",
        "MalformedResponse",
    ),
    (
        "chunk longer than its size",
        once(CHUNKED + b"2\r\nabc\r\n0\r\n\r\n"),
        {},
        "read body",
        "MalformedResponse",
    ),
    ("not HTTP", once(b"SSH-2.0-x\r\n"), {}, "read head", "MalformedResponse"),
    (
        "HTTP/2 preface",
        once(b"\0\0\x12\x04\0\0\0\0\0" + bytes(18)),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "HTTP/0.9",
        once(b"<html>hello</html>"),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "a bare carriage return",
        once(b"HTTP/1.1 200 OK\nA: b\rc\n\n"),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "bare line feeds and two framings",
        once(
            b"HTTP/1.1 200 OK\nContent-Length: 1\n"
            b"Transfer-Encoding:\n chunked\n\n0\r\n\r\n"
        ),
        {},
        "read head",
        "MalformedResponse",
    ),
    (
        "an endless fold",
        endless(OK + b"A: b", b"\r\n " * 1000),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless padding before a chunk size",
        endless(CHUNKED, b" " * 4096),
        {},
        "read body",
        "MalformedResponse",
    ),
    (
        "endless reason",
        endless(b"HTTP/1.1 200 ", b"a" * 4096),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless header line",
        endless(OK + b"A: ", b"a" * 4096),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless headers",
        endless(OK, b"A: b\r\n" * 1000),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless interim responses",
        endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 100),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless interim responses with heads",
        endless(b"", b"HTTP/1.1 103 Early\r\n" + b"A: b\r\n" * 100 + b"\r\n"),
        {},
        "read head",
        "ResponseTooLarge",
    ),
    (
        "endless trailers",
        endless(CHUNKED + b"0\r\n", b"A: b\r\n" * 1000),
        {},
        "read body",
        "ResponseTooLarge",
    ),
    (
        "endless chunk extensions",
        endless(CHUNKED + b"1;a=", b"a" * 4096),
        {},
        "read body",
        "MalformedResponse",
    ),
    (
        "endless small chunks with extensions",
        endless(CHUNKED, b"1;" + b"a" * 1000 + b"\r\nx\r\n"),
        {},
        "read body",
        "MalformedResponse",
    ),
    (
        "endless content until close",
        endless(OK + b"\r\n", b"a" * 65536),
        {"max_response_size": 1 << 20},
        "read body",
        "ResponseTooLarge",
    ),
    (
        "endless chunks",
        endless(CHUNKED, b"1000\r\n" + b"a" * 4096 + b"\r\n"),
        {"max_response_size": 1 << 20},
        "read body",
        "ResponseTooLarge",
    ),
    (
        "announced too large",
        once(OK + b"Content-Length: 1048577\r\n\r\n"),
        {"max_response_size": 1 << 20},
        "read body",
        "ResponseTooLarge",
    ),
    (
        "gzip bomb",
        once(sized(BOMB, b"Content-Encoding: gzip\r\n")),
        {"max_decoded_size": 8 << 20},
        "decode",
        "ResponseTooLarge",
    ),
    (
        "deflate bomb in chunks",
        once(
            OK
            + b"Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"%x\r\n" % len(zlib.compress(bytes(50 << 20), 9))
            + zlib.compress(bytes(50 << 20), 9)
            + b"\r\n0\r\n\r\n"
        ),
        {"max_decoded_size": 8 << 20},
        "decode",
        "ResponseTooLarge",
    ),
    (
        "bomb in a bomb",
        once(sized(gzip.compress(BOMB, 9), b"Content-Encoding: gzip, gzip\r\n")),
        {"max_decoded_size": 8 << 20},
        "decode",
        "ResponseTooLarge",
    ),
    (
        "gzip cut short",
        once(sized(gzip.compress(b"abc" * 100)[:-6], b"Content-Encoding: gzip\r\n")),
        {},
        "decode",
        "BadContent",
    ),
    (
        "octets behind gzip",
        once(sized(gzip.compress(b"abc") + b"more", b"Content-Encoding: gzip\r\n")),
        {},
        "decode",
        "BadContent",
    ),
    (
        "more codings than anybody uses",
        once(sized(b"abc", b"Content-Encoding: gzip, gzip, gzip, gzip\r\n")),
        {},
        "decode",
        "BadContent",
    ),
    ("silence", silent, {"read_timeout_ms": 200}, "read head", "Timeout"),
    (
        "silence within the content",
        dripping(OK + b"Content-Length: 9\r\n\r\na", b"", 1),
        {"read_timeout_ms": 200},
        "read body",
        "Timeout",
    ),
    (
        "a head that drips past the total time",
        dripping(OK + b"A: ", b"a", 0.02),
        {"total_timeout_ms": 400},
        "total",
        "Timeout",
    ),
    (
        "content that drips past the total time",
        dripping(OK + b"\r\n", b"a", 0.02),
        {"total_timeout_ms": 400},
        "total",
        "Timeout",
    ),
    (
        "redirection to no URL",
        once(b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n"),
        {},
        "redirect",
        "RedirectRefused",
    ),
    (
        "redirection to a dead port",
        once(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
        {},
        "connect",
        "ConnectionRefused",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_ends_in_an_error_of_its_own(fetcher_of_module, row):
    _, handle, config, phase, kind = row
    server = RawServer(handle)
    fetcher_of_module.client(**config)
    began = time.monotonic()
    answer = fetcher_of_module.get(server.url + "/")
    server.close()
    assert (answer.get("phase"), answer.get("kind")) == (phase, kind), answer
    assert answer["url"].startswith("http://127.0.0.1"), answer
    # Who is told of a limit is told which one; that of 1xx cannot be set.
    is_limit = kind in ("ResponseTooLarge", "Timeout") and "interim" not in row[0]
    allows_more = [f"{setting} allows more" in answer["text"] for setting in SETTINGS]
    assert sum(allows_more) == is_limit, answer
    # After a redirection the connection itself may be good.
    assert answer["idle"] == 0 or phase == "redirect", answer
    # Some have 2 s of their own, and none has the 30 s of a client as it is.
    assert time.monotonic() - began < 20
    assert fetcher_of_module.memory_kib() < MEMORY_KIB_MAX


def test_a_flood_past_the_total_time(fetcher):
    server = RawServer(endless(OK + b"\r\n", b"a" * 1000))
    fetcher.client(total_timeout_ms=300)
    answer = fetcher.ask(do="download", url=server.url)
    server.close()
    assert (answer["phase"], answer["kind"]) == ("total", "Timeout"), answer


def test_a_download_that_goes_on_past_its_limit_names_it(fetcher):
    server = RawServer(once(OK + b"Content-Length: 99999999999999\r\n\r\n"))
    fetcher.client()
    answer = fetcher.ask(do="download", url=server.url)
    server.close()
    assert answer["kind"] == "ResponseTooLarge", answer
    assert "max_download_size allows more" in answer["text"], answer


def test_what_dripped_is_counted(fetcher):
    server = RawServer(dripping(OK + b"\r\n", b"a", 0.02))
    fetcher.client(total_timeout_ms=400)
    text = fetcher.get(server.url)["text"]
    server.close()
    assert "not complete within 400 ms" in text, text
    assert "bytes of content had come" in text and "nothing" not in text, text


def test_octets_behind_a_response_are_not_the_next_one(fetcher):
    """Sent at once or later, they spoil the connection."""
    evil = sized(b"evil")
    may_spoil, is_spoilt = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(sized(b"good") + (evil if connection.number == 1 else b""))
        if connection.number == 2:
            assert may_spoil.wait(10)
            connection.send(evil)
            is_spoilt.set()
        connection.sock.recv(1)

    server = RawServer(handle)
    fetcher.client()
    assert fetcher.get(server.url)["idle"] == 0
    assert fetcher.get(server.url)["idle"] == 1
    may_spoil.set()
    assert is_spoilt.wait(10)
    assert fetcher.get(server.url)["body"] == "good"
    assert server.connection_count == 3
    server.close()


def test_a_response_before_the_request_ends(fetcher):
    """The answer is taken, and the connection is not used again."""

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        time.sleep(1)

    server = RawServer(handle)
    fetcher.client()
    answer = fetcher.ask(
        do="upload", method="POST", url=server.url, length=50 << 20, announced=50 << 20
    )
    server.close()
    assert (answer["status"], answer["body"]) == (413, "no")
    assert answer["idle"] == 0


def test_a_server_that_stops_reading(fetcher):
    has_ended = threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        has_ended.wait(25)

    server = RawServer(handle)
    fetcher.client(write_timeout_ms=800)
    began = time.monotonic()
    answer = fetcher.ask(
        do="upload", method="POST", url=server.url, length=50 << 20, announced=50 << 20
    )
    took = time.monotonic() - began
    has_ended.set()
    server.close()
    assert (answer["phase"], answer["kind"]) == ("write", "Timeout"), answer
    assert "nothing within 800 ms" in answer["text"], answer
    # What its kernel takes before it is full is progress, at the beginning.
    assert 0.7 < took < 20


@pytest.mark.parametrize("way", ["upload", "parallel"])
def test_a_server_that_reads_slowly_is_waited_for(fetcher, way):
    """The connection takes octets again only when much of its buffer is free;
    the server takes them all the time."""
    length = 6_000_000

    def handle(connection: Connection) -> None:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.head()
        taken = len(connection.buffer)
        while taken < length:
            taken += len(connection.sock.recv(60_000))
            time.sleep(0.04)
        connection.send(sized(b"ok"))

    server = RawServer(handle)
    fetcher.client(write_timeout_ms=400, read_timeout_ms=400)
    if way == "upload":
        answer = fetcher.ask(
            do="upload", method="POST", url=server.url, length=length,
            announced=length,
        )
    else:
        request = {"method": "POST", "url": server.url, "octets": "x" * length}
        texts = [json.dumps(request)]
        answer = fetcher.ask(do="all", requests=texts, parallel=2)["results"][0]
    server.close()
    assert answer.get("body") == "ok", answer


def test_credentials_stay_with_their_origin(fetcher):
    seen = []

    def note(head: str, _: bytes) -> bytes:
        seen.append(head)
        return sized(b"ok")

    other = RawServer(answering(note))
    first = RawServer(
        once(b"HTTP/1.1 302 Found\r\nLocation: %s/\r\n\r\n" % other.url.encode())
    )
    fetcher.client(base=first.url, user="me", password="secret")
    answer = fetcher.get("/", headers={"Cookie": "a=b", "X-Mine": "yes"})
    first.close()
    other.close()
    assert answer["body"] == "ok" and answer["redirects"] == 1
    assert "authorization" not in seen[0].lower()
    assert "cookie" not in seen[0].lower()
    assert "X-Mine: yes" in seen[0]


def test_a_redirection_with_endless_content(fetcher):
    other = RawServer(answering(sized(b"ok")))
    start = b"HTTP/1.1 302 Found\r\nLocation: %s/\r\n\r\n" % other.url.encode()
    first = RawServer(endless(start, b"a" * 65536))
    fetcher.client()
    assert fetcher.get(first.url)["body"] == "ok"
    first.close()
    other.close()


@pytest.mark.parametrize("status", [302, 307, 401, 503])
@pytest.mark.parametrize("end", ["cut", "reset", "silent", "bad chunk"])
@pytest.mark.parametrize("by", ["plain", "open", "batch"])
def test_content_that_nobody_wants_may_be_broken(asker, status, end, by):
    """RFC 9110 section 15.4: the head says where to go, or what to do. A server that
    answers before it has read all, and closes, has the rest of its answer lost (RFC
    9112 section 9.6)."""

    def handle(connection: Connection) -> None:
        if connection.number > 1:
            return answering(lambda head, content: sized(content + head.encode()))(connection)
        connection.body(connection.head())
        framing = "Transfer-Encoding: chunked" if end == "bad chunk" else "Content-Length: 9"
        connection.send(
            f"HTTP/1.1 {status} X\r\nLocation: /there\r\nSet-Cookie: a=b\r\n"
            'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"\r\n'
            f"{framing}\r\n\r\nxx".encode()
        )
        if end == "reset":
            connection.reset()
        elif end == "silent":
            connection.head()

    server = RawServer(handle)
    meet(asker, False, {} if status == 503 else None, read_timeout_ms=300)
    more = {"method": "PUT", "octets": "all", "digest": "secret"}
    answer = asker.get(server.url, by=by, **more)
    server.close()
    assert answer.get("status") == 200, answer
    assert answer["body"].startswith("allPUT /there" if status < 400 else "allPUT / ")


# (name, response): what is irregular, but can be read in one way alone.
IRREGULAR_ROWS = [
    ("bare line feeds", b"HTTP/1.1 200 OK\nX: b c\nContent-Length: 2\n\nok"),
    ("a folded line", OK + b"X: b\r\n\tc\r\nContent-Length: 2\r\n\r\nok"),
    ("equal lengths", sized(b"ok", b"X: b c\r\nContent-Length: 2\r\n")),
    (
        "padded chunk sizes",
        OK + b"X: b c\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2 \r\nok\r\n 0\r\n\r\n",
    ),
    ("an irregular 1xx", b"HTTP/1.1 103 Early\n\n" + sized(b"ok", b"X: b c\r\n")),
]


@pytest.mark.parametrize("row", IRREGULAR_ROWS, ids=[row[0] for row in IRREGULAR_ROWS])
def test_irregular_responses_are_read_and_spoil_the_connection(fetcher, row):
    """RFC 9112 sections 2.2, 5.2, 6.3 and 7.1: a recipient may."""
    server = RawServer(answering(row[1]))
    fetcher.client(base=server.url)
    for _ in range(2):
        answer = fetcher.get("/")
        assert answer.get("body") == "ok", answer
        assert ["X", "b c"] in answer["headers"], answer
        assert answer["idle"] == 0
    assert server.connection_count == 2
    fetcher.client(base=server.url, strict=1)
    answer = fetcher.get("/")
    server.close()
    assert answer.get("kind") == "MalformedResponse", answer
