"""Requests over HTTP/2 as handlers see them, and the same answers as over HTTP/1.1
(RFC 9113 section 8, RFC 9110)."""

import re
import socket
import ssl

import pytest
from conftest import Client, Server, wait_until
from h2_client import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADER_TABLE_SIZE, HEADERS, NO_ERROR,
    PADDED, H2Client, frame, settings,
)  # fmt: skip
from h2_hpack import encode, literal, reference
from wire_programs import built


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with defaults, and a file to serve."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "digits.txt").write_bytes(bytes(48 + n % 10 for n in range(100_000)))
    running = Server(built("h2_server"), [f"root={folder}"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture
def client(server):
    with H2Client(server) as connection:
        yield connection


def test_heads_of_the_same_octets(client):
    """Each is a request of its own, whose content may come long after."""
    streams = [client.request("/", "POST", ends=False) for _ in range(3)]
    other = client.request("/line?a")
    streams.append(client.request("/", "POST", ends=False))
    for stream in reversed(streams):
        client.data(stream, b"content of %d" % stream, ends=True)
    for stream in streams:
        answer = client.answer(stream)
        assert (answer.status, answer.body) == (200, b"content of %d" % stream)
    assert b"/line?a" in client.answer(other).body
    for _ in range(3):
        assert client.post("/", b"more").body == b"more"
        assert client.get("/line?a").body == client.answers[other].body


# What depends on time, or belongs to a version.
OWN_FIELDS = {"date", "connection", "x-request-id", "etag", "last-modified", "keep-alive"}

SAME = [
    ("9110-9.3.1 GET", "GET", "/", [], b""),
    ("9110-9.3.2 HEAD", "HEAD", "/size/100", [], b""),
    ("9110-9.3.3 POST", "POST", "/", [], b"some content"),
    ("9110-9.3.3 POST of nothing", "POST", "/", [("content-length", "0")], b""),
    ("9110-9.3.7 OPTIONS", "OPTIONS", "/small", [], b""),
    ("9110-9.3.7 OPTIONS *", "OPTIONS", "*", [], b""),
    ("9110-9.1 a method of its own", "PURGE", "/line", [], b""),
    ("9110-15.5.6 no such method", "DELETE", "/small", [], b""),
    ("9110-15.5.5 no such path", "GET", "/nowhere", [], b""),
    ("9110-15.5.14 content", "POST", "/small", [], b"x" * 1_001),
    ("9110-15.6.1 a handler raises", "GET", "/fail", [], b""),
    ("9110-15.3.5 no content", "GET", "/status/204", [], b""),
    ("9110-15.4.5 not modified", "GET", "/status/304", [], b""),
    ("9110-8.6 framing is the server's", "GET", "/framing", [], b""),
    ("3986-2.1 percent", "GET", "/line/a%20b?q=%zz&r", [], b""),
    ("3986-3.4 empty query", "GET", "/line?", [], b""),
    ("9110-14.2 range", "GET", "/files/digits.txt", [("range", "bytes=5-9")], b""),
    ("9110-14.4 no such range", "GET", "/files/digits.txt", [("range", "bytes=200000-")], b""),
    ("9110-14.6 two ranges", "GET", "/files/digits.txt", [("range", "bytes=0-1,90-99")], b""),
    ("9110-12.5.3 coding", "GET", "/compressed", [("accept-encoding", "gzip")], b""),
    ("fetch cors", "GET", "/cors", [("origin", "https://a.test")], b""),
    ("fetch preflight", "OPTIONS", "/cors", [("origin", "https://a.test"), ("access-control-request-method", "PUT")], b""),
    ("9110-11.6.1 challenge", "POST", "/guarded", [], b"x" * 20_000),
    ("9110-10.1.1 expectation", "POST", "/", [("expect", "tea")], b"x"),
    ("content streamed", "GET", "/pieces?count=3&length=50", [], b""),
    ("content streamed, length known", "GET", "/pieces?count=3&length=50&announced=150", [], b""),
    ("HEAD of streamed content", "HEAD", "/pieces?count=3&length=50&announced=150", [], b""),
]  # fmt: skip


def without_boundary(text: bytes) -> bytes:
    """Multipart content has a boundary of its own each time."""
    return re.sub(rb"--[-\w]{8,}", b"--boundary", text)


def over_http1(server, method: str, path: str, fields, content: bytes):
    lines = [f"{method} {path} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in fields]
    if content:
        lines.append(f"Content-Length: {len(content)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    with Client(server) as client:
        client.send(head.encode() + content)
        while b"\r\n\r\n" not in client.buffer:
            client._more()
        if b"chunked" not in client.buffer.split(b"\r\n\r\n")[0]:
            return client.response(is_head=method == "HEAD")
        while not client.buffer.endswith(b"0\r\n\r\n") and method != "HEAD":
            client._more()
        head, rest = client.buffer.split(b"\r\n\r\n", 1)
        client.buffer = head + b"\r\n\r\n"
        response = client.response(is_head=True)
        while rest:
            size, rest = rest.split(b"\r\n", 1)
            length = int(size, 16)
            response.body += rest[:length]
            rest = rest[length + 2 :]
        return response


def over_http2(server, method: str, path: str, fields, content: bytes):
    with H2Client(server) as client:
        if not content:
            return client.get(path, method, fields)
        length = [("content-length", str(len(content)))]
        stream = client.request(path, method, fields + length, ends=False)
        client.data(stream, content[:16_384], len(content) <= 16_384)
        if len(content) > 16_384:
            client.data(stream, content[16_384:], True)
        return client.answer(stream)


@pytest.mark.parametrize("row", SAME, ids=lambda row: row[0])
def test_both_versions_give_the_same_answer(server, row):
    _, *request = row
    first, second = over_http1(server, *request), over_http2(server, *request)
    assert second.status == first.status
    assert without_boundary(second.body.replace(b"HTTP/2.0", b"HTTP/1.1")) == without_boundary(first.body)
    wanted = {k: v for k, v in first.fields.items() if k not in OWN_FIELDS}
    got = {k: v for k, v in second.fields.items() if k not in OWN_FIELDS}
    for name in ("transfer-encoding",):
        wanted.pop(name, None)
        assert name not in got  # RFC 9113 section 8.2.2
    for found in (wanted, got):
        found["content-type"] = re.sub("boundary=.*", "", found.get("content-type", ""))
    assert got == wanted
    assert "date" in second.fields and "connection" not in second.fields


def test_parts_of_the_request(client):
    # RFC 9113 section 8.3.1: :authority is what Host is in HTTP/1.1.
    block = encode([(":method", "GET"), (":scheme", "http"), (":path", "/line/a?b=c"), (":authority", "h.test:81")])
    got = client.answer(client.headers(block)).body
    assert got == b"GET|/line/a?b=c|/line/a|b=c|HTTP/2.0|h.test:81|127.0.0.1"


def test_host_without_authority(client):
    block = encode([(":method", "GET"), (":scheme", "http"), (":path", "/line"), ("host", "h.test")])
    assert client.answer(client.headers(block)).body.split(b"|")[5] == b"h.test"


def test_crumbs_of_a_cookie_are_one_field(client):
    # RFC 9113 section 8.2.3.
    crumbs = [("cookie", "a=1"), ("x-between", "y"), ("cookie", "b=2"), ("cookie", "c=3")]
    assert client.get("/cookie", fields=crumbs).body == b"a=1\nb=2\nc=3\n"
    got = client.get("/echo", fields=crumbs).body
    assert b"cookie: a=1; b=2; c=3\n" in got and got.count(b"cookie") == 1


def test_fields_as_they_were_sent(client):
    fields = [("x-a", "1"), ("x-empty", ""), ("x-a", "2")]
    got = client.get("/echo", fields=fields).body
    assert got.endswith(b"x-a: 1\nx-empty: \nx-a: 2\n")


def test_trailers_of_a_request(client):
    # RFC 9113 section 8.1.
    stream = client.request("/trailers", "POST", ends=False)
    client.data(stream, b"content")
    client.headers(encode([("x-sum", "7"), ("x-more", "z")]), True, stream)
    assert client.answer(stream).body == b"content|x-sum=7x-more=z"


@pytest.mark.parametrize("ends", [True, False])
def test_padding_is_no_content(client, ends):
    stream = client.request("/", "POST", ends=False)
    client.send(frame(DATA, PADDED | (END_STREAM if ends else 0), stream, b"\x05abc" + bytes(5)))
    if not ends:
        client.data(stream, b"def", True)
    assert client.answer(stream).body == (b"abc" if ends else b"abcdef")


def test_field_block_in_pieces(client):
    block = encode(client.fields("GET", "/greet") + [("x-long", "v" * 500)])
    stream, client.next_id = client.next_id, client.next_id + 2
    client.send(frame(HEADERS, END_STREAM, stream, block[:10]))
    client.send(frame(CONTINUATION, 0, stream, block[10:300]))
    client.send(frame(CONTINUATION, END_HEADERS, stream, block[300:]))
    assert client.answer(stream).status == 404


def test_every_octet_alone(server):
    """The same answer wherever what is sent is cut (RFC 9113 section 4)."""
    with H2Client(server) as client:
        client.settle()
        block = encode(client.fields("POST", "/"))
        octets = frame(HEADERS, END_HEADERS, 1, block)
        octets += frame(DATA, 0, 1, b"ab") + frame(DATA, END_STREAM, 1, b"c")
        client.next_id = 3
        for octet in octets:
            client.send(bytes([octet]))
        assert client.answer(1).body == b"abc"


def test_a_table_that_the_client_makes_smaller(server):
    # RFC 7541 section 4.2: a change is told of at the begin of the next block.
    with H2Client(server) as client:
        assert client.get("/").status == 200
        client.send(settings({HEADER_TABLE_SIZE: 100}) + settings({HEADER_TABLE_SIZE: 200}))
        assert client.get("/").status == 200
        assert client.decoder.size_updates == [100, 200]
        client.send(settings({HEADER_TABLE_SIZE: 0}))
        for _ in range(3):
            assert client.get("/").fields["content-length"] == "2"
        assert client.decoder.size_updates == [100, 200, 0]
        assert client.decoder.table == []


def test_a_table_from_the_begin(server):
    with H2Client(server, {HEADER_TABLE_SIZE: 0}) as client:
        assert client.get("/").status == 200
        assert client.decoder.size_updates == [0] and client.decoder.table == []


def test_fields_of_the_table_are_used_again(client):
    # RFC 7541 section 2.3: entries of both tables, the newest dynamic one is 62.
    client.answer(client.headers(encode(client.fields("GET", "/")) + literal("x-kept", "v", True)))
    block = encode(client.fields("GET", "/echo")) + reference(62)
    assert b"x-kept: v\n" in client.answer(client.headers(block)).body


@pytest.mark.parametrize(
    ("method", "scheme", "status", "word"),
    [
        # RFC 9110 section 7.4: no resource of this server.
        ("GET", "ftp", 421, b"http and https"),
        # RFC 9110 section 9.1; longer than any that is registered.
        ("X" * 300, "http", 501, b"method"),
    ],
)
def test_a_refusal_says_why(client, method, scheme, status, word):
    fields = [(":method", method), (":scheme", scheme), (":path", "/"), (":authority", "test")]
    answer = client.answer(client.headers(encode(fields)))
    assert answer.status == status and word in answer.body


def test_head_ends_the_stream(client):
    answer = client.get("/size/100000", "HEAD")
    assert answer.fields["content-length"] == "100000"
    assert answer.body == b"" and client.order == []


@pytest.mark.parametrize("content", [b"x", b"x" * 30_000])
def test_an_answer_before_the_content(client, content):
    """The stream is ended with NO_ERROR: the rest need not come (RFC 9113
    section 8.1), and what comes is not counted against the client."""
    stream = client.request("/guarded", "POST", ends=False)
    answer = client.reset_of(stream)
    assert (answer.status, answer.ended, answer.reset) == (401, True, NO_ERROR)
    for at in range(0, len(content), 16_384):
        client.data(stream, content[at : at + 16_384], at + 16_384 >= len(content))
    assert client.get("/").status == 200


def test_expectation_is_met(client):
    # RFC 9110 section 10.1.1.
    stream = client.request("/", "POST", [("expect", "100-continue")], ends=False)
    client.until(lambda: stream in client.answers and client.answers[stream].informational)
    client.data(stream, b"now", True)
    assert client.answer(stream).body == b"now"


def test_no_continue_for_what_is_refused(client):
    fields = [("expect", "100-continue"), ("content-length", "2000")]
    answer = client.answer(client.request("/small", "POST", fields, ends=False))
    assert answer.status == 413 and answer.informational == []


def test_id_log_and_metrics(server, client):
    fields = [("x-request-id", "abcdef-123"), ("user-agent", "raw")]
    assert client.get("/id?n=1", fields=fields).body == b"abcdef-123"
    assert wait_until(lambda: "/id?n=1" in server.stderr())
    (line,) = [x for x in server.stderr().splitlines() if "/id?n=1" in x]
    assert "HTTP/2.0" in line and " 200 " in line and " 10" in line, line
    before = requests(client)
    client.get("/")
    assert requests(client) == before + 2


def requests(client) -> int:
    text = client.get("/metrics").body.decode()
    return sum(int(float(n)) for n in re.findall(r"^\w*requests_total\{[^}]*\} (\S+)$", text, re.M))


def test_failures_are_told_without_their_reason(server, client):
    answer = client.get("/fail")
    assert answer.status == 500 and b"secret" not in answer.body
    assert wait_until(lambda: "secret detail" in server.stderr())


def test_close_of_a_handler_ends_the_connection(server):
    """`Connection: close` is no field of HTTP/2 (RFC 9113 section 8.2.2): GOAWAY
    says it."""
    with H2Client(server) as client:
        answer = client.get("/closing")
        assert (answer.body, "connection" in answer.fields) == (b"bye", False)
        last = client.end()
        assert (last.code, last.last_id) == (NO_ERROR, 1)


def test_the_preface_is_acknowledged(server):
    # RFC 9113 sections 3.4 and 6.5.3.
    with H2Client(server) as client:
        client.settle()
        assert client.acked == 1
        client.send(settings({}) + settings({4: 70_000}))
        client.settle()
        assert client.acked == 3


@pytest.mark.parametrize("count", [1, 2, 30, 100])
def test_many_at_once(server, count):
    with H2Client(server) as client:
        block = b"".join(
            frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, encode(client.fields("GET", f"/size/{n * 37}")))
            for n in range(count)
        )
        client.next_id = 2 * count + 1
        client.send(block)
        for number in range(count):
            assert len(client.answer(2 * number + 1).body) == number * 37


def test_what_was_answered_goes_to_nobody_else(server):
    """A client that ends its side behind its requests, and the next one: each
    gets its own."""
    for _ in range(50):
        with H2Client(server) as first, H2Client(server) as second:
            first.settle()
            first.grants = False
            block = encode(first.fields("GET", "/size/5000"))
            first.send(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, s, block) for s in (1, 3)))
            first.sock.shutdown(socket.SHUT_WR)
            first.next_id = 5
            assert len(second.get("/size/10").body) == 10
            assert len(first.answer(3).body) == 5000


def test_what_tls_tells_of_the_client(start_tls, certs):
    server = start_tls(server="h2_server", client_ca=certs / "root.pem", verify="optional")
    with H2Client(server, tls=True) as client:
        assert client.get("/tls").body == b"https|True|-"
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(certs / "client.pem", certs / "client.key")
    with H2Client(server, tls=context) as client:
        assert client.get("/tls").body == b"https|True|O=flare,CN=a client"


@pytest.mark.parametrize("is_sealed", [False, True])
def test_who_is_behind_a_proxy(start, start_tls, is_sealed):
    options = {"proxy_protocol": "127.0.0.0/8"}
    server = (
        start_tls(server="h2_server", **options)
        if is_sealed
        else start("h2_server", **options)
    )
    before = b"PROXY TCP4 192.0.2.7 192.0.2.1 4567 443\r\n"
    with H2Client(server, tls=is_sealed, before=before) as client:
        assert client.get("/peer").body == b"192.0.2.7:4567"
        assert client.get("/size/100000").fields["content-length"] == "100000"


def test_all_octets_over_tls_in_any_cut(start_tls):
    """Records that end anywhere in a frame."""
    server = start_tls(server="h2_server")
    with H2Client(server, tls=True) as client:
        client.settle()
        block = encode(client.fields("POST", "/"))
        octets = frame(HEADERS, END_HEADERS, 1, block) + frame(DATA, END_STREAM, 1, b"abc" * 20)
        client.next_id = 3
        for at in range(0, len(octets), 3):
            client.send(octets[at : at + 3])
        assert client.answer(1).body == b"abc" * 20
