"""The HTTP client against servers that follow the rules."""

import gzip
import json
import socket
import threading
import time

import pytest
from conftest import wait_until
from raw_server import Connection, RawServer, answering, once


def sized(content: bytes, more: bytes = b"") -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\n"
        + more
        + b"Content-Length: %d\r\n\r\n" % len(content)
        + content
    )


def echo(head: str, content: bytes) -> bytes:
    """Answers with what was asked."""
    line, *fields = head.split("\r\n")
    said = {
        "line": line,
        "fields": [field for field in fields if field],
        "content": content.decode("latin-1"),
    }
    return sized(json.dumps(said).encode(), b"Content-Type: application/json\r\n")


@pytest.fixture
def server():
    """An echoing server."""
    running = RawServer(answering(echo))
    yield running
    running.close()


def said(answer: dict) -> dict:
    assert answer.get("status") == 200, answer
    return json.loads(answer["body"])


def test_every_method(fetcher, server):
    fetcher.client(base=server.url)
    for method in ["GET", "DELETE", "OPTIONS", "PUT", "POST", "PATCH", "PURGE"]:
        answer = said(fetcher.get("/a?b", method=method))
        assert answer["line"] == f"{method} /a?b HTTP/1.1"
        has_length = "Content-Length: 0" in answer["fields"]
        assert has_length == (method in ("PUT", "POST", "PATCH"))
    assert server.connection_count == 1


def test_head_has_no_content(fetcher):
    server = RawServer(
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    )
    fetcher.client()
    for _ in range(3):
        answer = fetcher.get(server.url, method="HEAD")
        assert (answer["status"], answer["body_len"]) == (200, 0)
    assert server.connection_count == 1
    server.close()


def test_a_plain_request_says_little(fetcher, server):
    fetcher.client()
    fields = said(fetcher.get(server.url + "/"))["fields"]
    assert fields[0] == f"Host: 127.0.0.1:{server.port}"
    assert fields[1:3] == ["User-Agent: flare", "Accept: */*"]
    assert fields[3].startswith("Accept-Encoding: gzip, deflate")
    assert len(fields) == 4
    fetcher.client(decodes_content=0)
    fields = said(fetcher.get(server.url + "/"))["fields"]
    assert len(fields) == 3


def test_content_by_kind(fetcher, server):
    fetcher.client(base=server.url)
    answer = said(fetcher.get("/", method="POST", json='{"k": 1}'))
    assert "Content-Type: application/json" in answer["fields"]
    assert answer["content"] == '{"k": 1}'
    answer = said(fetcher.get("/", method="PUT", octets="abc"))
    assert "Content-Type: application/octet-stream" in answer["fields"]
    answer = said(fetcher.get("/", method="POST", form={"a": "b c", "d": "&"}))
    assert answer["content"] == "a=b+c&d=%26"
    answer = said(fetcher.get("/x", query={"q": "1 2", "r": "/"}))
    assert answer["line"] == "GET /x?q=1+2&r=%2F HTTP/1.1"


@pytest.mark.parametrize("size", [0, 1, 1000, 65_536, 65_537, 1_000_000])
def test_content_of_any_size(fetcher, size):
    server = RawServer(answering(lambda head, content: sized(content)))
    fetcher.client()
    answer = fetcher.get(server.url, method="POST", octets="x" * size)
    server.close()
    assert answer["body_len"] == size, answer


def test_credentials_and_own_fields(fetcher, server):
    fetcher.client(base=server.url, bearer="tok")
    assert "Authorization: Bearer tok" in said(fetcher.get("/"))["fields"]
    answer = said(fetcher.get("/", headers={"User-Agent": "me", "X": "y"}))
    assert "User-Agent: me" in answer["fields"]
    assert "User-Agent: flare" not in answer["fields"]
    # The base URL's credentials are for its origin alone.
    other = RawServer(answering(echo))
    answer = said(fetcher.get(other.url + "/"))
    other.close()
    assert not any("Authorization" in field for field in answer["fields"])


def test_a_header_with_a_line_end_is_never_sent(fetcher, server):
    fetcher.client(base=server.url)
    for command in [{"method": "GET\r\nX: y"}, {"method": "G ET"}]:
        answer = fetcher.get("/", **command)
        assert (answer["phase"], answer["kind"]) == ("request", "BadRequest")
    # Line ends in URLs vanish (URL Standard), and do not break the line.
    answer = said(fetcher.get("/a\r\nX: y"))
    assert answer["line"] == "GET /aX:%20y HTTP/1.1"
    assert server.connection_count == 1


def test_connections_are_kept(fetcher, server):
    fetcher.client(base=server.url)
    for _ in range(100):
        assert fetcher.get("/")["idle"] == 1
    assert server.connection_count == 1
    fetcher.ask(do="close")
    said(fetcher.get("/"))
    assert server.connection_count == 2


def test_connections_expire(fetcher, server):
    fetcher.client(base=server.url, idle_timeout_ms=100)
    said(fetcher.get("/"))
    time.sleep(0.3)
    said(fetcher.get("/"))
    assert server.connection_count == 2


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\n\r\na",
    ],
)
def test_connections_that_end_with_their_response(fetcher, head):
    server = RawServer(once(head))
    fetcher.client()
    for count in range(1, 4):
        answer = fetcher.get(server.url)
        assert (answer["body"], answer["idle"]) == ("a", 0)
        assert server.connection_count == count
    server.close()


def closing_after_one(connection: Connection) -> None:
    connection.body(connection.head())
    connection.send(sized(b"one"))


def closing_on_the_second(connection: Connection) -> None:
    connection.body(connection.head())
    connection.send(sized(b"one"))
    connection.sock.recv(1)


def test_a_connection_closed_meanwhile_is_replaced(fetcher):
    """Even for POST: the end of the stream is seen before anything is sent."""
    server = RawServer(closing_after_one)
    fetcher.client()
    for count in range(1, 5):
        method = "POST" if count % 2 else "GET"
        assert fetcher.get(server.url, method=method)["body"] == "one"
        assert wait_until(lambda: server.ended_count == count)
        assert server.connection_count == count
    server.close()


def test_a_connection_closed_before_the_content_was_read(fetcher):
    """All of the content is still at its source: PUT is repeated as GET is (RFC 9110
    section 9.2.2)."""
    server = RawServer(closing_on_the_second)
    fetcher.client()
    assert fetcher.get(server.url)["body"] == "one"
    request = {"url": server.url, "expect": 1, "length": 3, "announced": 3}
    answer = fetcher.ask(do="upload", **request, method="PUT")
    assert answer.get("body") == "one", answer
    assert server.connection_count == 2
    server.close()


def test_retries_with_backoff(fetcher):
    def handle(connection: Connection) -> None:
        connection.head()
        if connection.number > 2:
            connection.send(sized(b"third"))

    server = RawServer(handle)
    fetcher.client(max_retries=2)
    assert fetcher.get(server.url)["body"] == "third"
    assert server.connection_count == 3
    server.close()
    server = RawServer(handle)
    assert fetcher.get(server.url, method="POST")["kind"] == "NoResponse"
    assert server.connection_count == 1
    server.close()
    # Nobody is there: any method may be tried again.
    began = time.monotonic()
    fetcher.client(max_retries=3, retry_base_ms=100)
    answer = fetcher.get("http://127.0.0.1:1/", method="POST")
    assert (answer["phase"], answer["kind"]) == ("connect", "ConnectionRefused")
    assert time.monotonic() - began > 0.3
    # A bound on each wait: without it the total time would be over first.
    fetcher.client(max_retries=3, retry_base_ms=60_000, retry_max_ms=1)
    answer = fetcher.get("http://127.0.0.1:1/", method="POST")
    assert (answer["phase"], answer["kind"]) == ("connect", "ConnectionRefused")


@pytest.mark.parametrize(
    "code,method,next_method",
    [
        (301, "POST", "GET"),
        (308, "PUT", "PUT"),
    ],
)
def test_redirections(fetcher, code, method, next_method):
    def answer(head: str, content: bytes) -> bytes:
        if head.split(" ")[1] == "/from":
            return (
                b"HTTP/1.1 %d Elsewhere\r\nLocation: to?x\r\n" % code
                + b"Content-Length: 3\r\n\r\nold"
            )
        return echo(head, content)

    server = RawServer(answering(answer))
    fetcher.client()
    got = fetcher.get(server.url + "/from", method=method, json="{}")
    body = said(got)
    assert body["line"] == f"{next_method} /to?x HTTP/1.1"
    assert body["content"] == ("{}" if next_method == method else "")
    has_type = "Content-Type: application/json" in body["fields"]
    assert has_type == (next_method == method)
    assert got["url"] == server.url + "/to?x" and got["redirects"] == 1
    # The redirection's content was read, so its connection served both.
    assert server.connection_count == 1
    fetcher.client(max_redirects=0)
    assert fetcher.get(server.url + "/from", method=method)["status"] == code
    server.close()


def test_chunks_and_trailers(fetcher):
    server = RawServer(
        answering(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nSum: 1\r\n\r\n"
        )
    )
    fetcher.client()
    for _ in range(2):
        answer = fetcher.get(server.url)
        assert answer["body"] == "hello world"
        assert answer["trailers"] == [["Sum", "1"]]
    assert server.connection_count == 1
    server.close()


def test_asking_before_sending(fetcher):
    events = []

    def handle(connection: Connection) -> None:
        head = connection.head()
        assert "Expect: 100-continue\r\n" in head
        time.sleep(0.1)
        events.append(len(connection.buffer))
        if connection.number == 1:
            connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.send(sized(connection.body(head)))
        elif connection.number == 2:
            connection.send(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")
        else:
            connection.send(sized(connection.body(head)))

    server = RawServer(handle)
    fetcher.client(max_idle_per_host=0)
    first = fetcher.get(server.url, method="POST", octets="abc", expect=1)
    assert first["body"] == "abc"
    second = fetcher.get(server.url, method="POST", octets="abc", expect=1)
    assert second["status"] == 413
    # A server that knows nothing of it gets the content after a second.
    third = fetcher.get(server.url, method="POST", octets="abc", expect=1)
    assert third["body"] == "abc"
    assert events == [0, 0, 0]
    server.close()


def test_who_answers_without_asking_is_not_sent_the_content(fetcher):
    """RFC 9110 section 10.1.1. What the server waits for then is not known, so the
    connection ends with the response."""
    behind = []

    def handle(connection: Connection) -> None:
        assert "Expect: 100-continue\r\n" in connection.head()
        connection.send(sized(b"%d" % connection.number))
        behind.append(connection.buffer + connection.sock.recv(1))

    server = RawServer(handle)
    fetcher.client()
    for number in (1, 2):
        answer = fetcher.get(server.url, method="POST", octets="abc", expect=1)
        assert answer["body"] == str(number), answer
    assert wait_until(lambda: len(behind) == 2)
    server.close()
    assert behind == [b"", b""]


def test_a_blank_location_is_no_redirection(fetcher):
    server = RawServer(
        answering(b"HTTP/1.1 302 Found\r\nLocation: \r\nContent-Length: 4\r\n\r\nhere")
    )
    fetcher.client()
    answer = fetcher.get(server.url)
    server.close()
    assert (answer.get("status"), answer["body"]) == (302, "here"), answer
    assert answer["redirects"] == 0


def test_a_server_says_how_long_it_keeps_connections(fetcher):
    """RFC 2068 section 19.7.1.1; the last second is left to the way."""
    server = RawServer(answering(sized(b"a", b"Keep-Alive: timeout=3\r\n")))
    fetcher.client()
    for _ in range(2):
        fetcher.get(server.url)
    assert server.connection_count == 1
    # The time is the server's, which itself keeps the connection.
    time.sleep(2.1)
    fetcher.get(server.url)
    assert server.connection_count == 2
    server.close()
    server = RawServer(answering(sized(b"a", b"Keep-Alive: timeout=0\r\n")))
    fetcher.client()
    assert fetcher.get(server.url)["idle"] == 0
    server.close()


def test_a_wide_batch_leaves_its_connections_to_the_next(fetcher):
    gate = threading.Barrier(40)

    def handle(connection: Connection) -> None:
        while connection.head():
            gate.wait(20)
            connection.send(sized(b"a"))

    server = RawServer(handle)
    fetcher.client(read_timeout_ms=20_000, max_idle_per_host=-1)
    requests = [json.dumps({"url": server.url})] * 40
    for _ in range(3):
        answer = fetcher.ask(do="all", requests=requests, parallel=40)
        assert all(result.get("body") == "a" for result in answer["results"])
        assert answer["idle"] == 40
    server.close()
    assert server.connection_count == 40


def test_connect_and_names_with_a_colon_are_refused(fetcher, server):
    fetcher.client()
    answer = fetcher.get(server.url, method="CONNECT")
    assert (answer.get("phase"), answer.get("kind")) == ("request", "BadRequest")
    assert "tunnel" in answer["text"], answer
    answer = fetcher.get(server.url.replace("//", "//me%3Ayou:secret@"))
    assert (answer.get("phase"), answer.get("kind")) == ("request", "BadRequest")
    assert "colon" in answer["text"] and "secret" not in answer["text"], answer


@pytest.mark.parametrize(
    ("charset", "octets", "text"),
    [
        (b"; charset=iso-8859-1", b"caf\xe9", "caf\u00e9"),
        (b'; charset="Windows-1252"', b"\x80", "\u20ac"),
        (b"; charset=utf-16", "\ufeff\u20ac".encode("utf-16-be"), "\u20ac"),
        (b"", "\u20ac".encode(), "\u20ac"),
        (b"; charset=koi8-r", b"\xc1", "error: the charset 'koi8-r' is unknown"),
        (b"; charset=utf-8", b"\xc1", "error: the charset 'utf-8' is not what"),
    ],
)
def test_text_is_in_the_charset_of_the_content(fetcher, charset, octets, text):
    """RFC 9110 section 8.3.2."""
    server = RawServer(
        answering(sized(octets, b"Content-Type: text/plain" + charset + b"\r\n"))
    )
    fetcher.client()
    decoded = fetcher.get(server.url)["decoded"]
    server.close()
    is_error = text.startswith("error: ") and decoded.startswith("error: ")
    assert decoded == text or (is_error and text.removeprefix("error: ") in decoded)


def test_a_url_that_is_too_long_is_called_so(fetcher):
    fetcher.client()
    answer = fetcher.get("http://me:secret@127.0.0.1/" + "a" * 70_000)
    assert (answer["phase"], answer["kind"]) == ("request", "BadUrl"), answer
    assert "65536 bytes" in answer["text"] and len(answer["text"]) < 300
    assert "secret" not in answer["text"]


def test_http_1_0(fetcher, server):
    fetcher.client()
    answer = fetcher.get(server.url + "/", http_1_0=1)
    assert said(answer)["line"] == "GET / HTTP/1.0"
    # 9112-9.3: it has not asked for the connection to stay.
    assert answer["idle"] == 0


def test_downloads_and_uploads_in_bounded_memory(fetcher):
    length = 100 << 20

    def handle(connection: Connection) -> None:
        head = connection.head()
        if head.startswith("PUT"):
            count = len(connection.buffer)
            while count < length:
                count += len(connection.sock.recv(1 << 20))
            connection.send(sized(str(count).encode()))
            return
        # The next request has a connection of its own: a stream cannot be
        # repeated on another when this one ends under it.
        connection.send(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n" % length
        )
        piece = bytes(1 << 20)
        for _ in range(length >> 20):
            connection.send(piece)

    server = RawServer(handle)
    fetcher.client(total_timeout_ms=60_000)
    before = fetcher.memory_kib()
    answer = fetcher.ask(do="download", url=server.url)
    assert answer["sink_count"] == length, answer
    answer = fetcher.ask(
        do="upload", method="PUT", url=server.url, length=length, announced=length
    )
    assert answer["body"] == str(length), answer
    server.close()
    assert fetcher.memory_kib() - before < 8_000


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_download_has_a_limit_of_its_own(fetcher, coding):
    """What goes to a sink is bounded as it is sent, and as it is decoded."""
    content = bytes(1 << 20)
    extra = b"Content-Encoding: gzip\r\n" if coding else b""
    sent = gzip.compress(content) if coding else content
    server = RawServer(answering(sized(sent, extra)))
    for limit, is_large in [(len(content), False), (len(content) - 1, True)]:
        fetcher.client(max_download_size=limit, max_response_size=10, max_decoded_size=10)
        answer = fetcher.ask(do="download", url=server.url)
        assert (answer.get("kind") == "ResponseTooLarge") == is_large, answer
        assert is_large or answer["sink_count"] == len(content), answer
    server.close()


def test_a_compressed_download_is_decoded_in_pieces(fetcher):
    content = gzip.compress(bytes(64 << 20), 9)
    server = RawServer(once(sized(content, b"Content-Encoding: gzip\r\n")))
    fetcher.client()
    before = fetcher.memory_kib()
    answer = fetcher.ask(do="download", url=server.url)
    server.close()
    assert answer["sink_count"] == 64 << 20, answer
    assert fetcher.memory_kib() - before < 8_000


def test_streams_that_fail(fetcher):
    server = RawServer(answering(lambda head, content: sized(bytes(1 << 20))))
    fetcher.client()
    answer = fetcher.ask(do="download", url=server.url, sink_limit=1000)
    assert (answer["phase"], answer["kind"]) == ("read body", "SinkFailed")
    assert "the disk is full" in answer["text"]
    for length, announced in [(10, 20), (20, 10)]:
        answer = fetcher.ask(
            do="upload", method="PUT", url=server.url, length=length, announced=announced
        )
        assert answer["kind"] == "SourceFailed", answer
    answer = fetcher.ask(do="upload", method="PUT", url=server.url, length=200_000)
    assert answer["status"] == 200
    # An error page is the response's, not the sink's.
    failing = RawServer(once(b"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nwhy"))
    answer = fetcher.ask(do="download", url=failing.url)
    assert (answer["sink_count"], answer["body"]) == (0, "why")
    failing.close()
    server.close()


def test_unix_sockets(fetcher, tmp_path):
    path = tmp_path / "a b.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            sock, _ = listener.accept()
            handle = answering(echo)
            handle(Connection(sock, 1))

        threading.Thread(target=serve, daemon=True).start()
        host = str(path).replace("/", "%2F").replace(" ", "%20")
        fetcher.client(base=f"http+unix://{host}")
        for _ in range(3):
            answer = said(fetcher.get("/x"))
        assert answer["line"] == "GET /x HTTP/1.1"
        assert "Host: localhost" in answer["fields"]
        fetcher.client()
        answer = fetcher.get("http+unix://%2Fno%2Fsuch.sock/")
        assert (answer["phase"], answer["kind"]) == ("connect", "PathNotFound")


def test_proxies_for_plain_requests(fetcher):
    proxy = RawServer(answering(echo))
    fetcher.client(proxy=f"http://u:p@127.0.0.1:{proxy.port}", no_proxy="b.test")
    answer = said(fetcher.get("http://a.test/x?y#z"))
    assert answer["line"] == "GET http://a.test/x?y HTTP/1.1"
    assert "Host: a.test" in answer["fields"]
    assert "Proxy-Authorization: Basic dTpw" in answer["fields"]
    said(fetcher.get("http://a.test/"))
    assert proxy.connection_count == 1
    answer = fetcher.get("http://b.test/")
    assert answer["phase"] == "resolve"
    proxy.close()


def test_proxies_that_refuse_a_tunnel(fetcher):
    proxy = RawServer(
        once(
            b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=x\r\n"
            b"Content-Length: 0\r\n\r\n"
        )
    )
    fetcher.client(proxy=f"127.0.0.1:{proxy.port}")
    answer = fetcher.get("https://a.test/")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", "ProxyRefused")
    assert "407" in answer["text"] and "Digest" in answer["text"]


def test_errors_name_the_url_without_credentials(fetcher):
    fetcher.client()
    answer = fetcher.get("http://me:secret@127.0.0.1:1/a?b#c")
    assert answer["url"] == "http://127.0.0.1:1/a?b"
    assert "secret" not in answer["text"]
    answer = fetcher.get("http://no-such-host.invalid/")
    assert (answer["phase"], answer["kind"]) == ("resolve", "DnsError")
    answer = fetcher.get("gopher://a/")
    assert (answer["phase"], answer["kind"]) == ("request", "BadUrl")


def test_digest_is_refused_clearly(fetcher):
    server = RawServer(
        once(
            b"HTTP/1.1 401 Unauthorized\r\n"
            b'WWW-Authenticate: Digest realm="a, b", qop="auth"\r\n'
            b"Content-Length: 0\r\n\r\n"
        )
    )
    fetcher.client()
    answer = fetcher.get(server.url)
    server.close()
    assert answer["status"] == 401
    assert "it accepts Digest; this client has BasicAuth" in answer["verdict"]


def test_a_client_that_cannot_connect_in_time(fetcher):
    # An address of a network that drops everything (RFC 5737) may also be
    # refused at once; either way it does not take long.
    began = time.monotonic()
    fetcher.client(connect_timeout_ms=300)
    answer = fetcher.get("http://192.0.2.1/")
    assert answer["phase"] in ("connect", "total"), answer
    # By itself it would be 10 s.
    assert time.monotonic() - began < 8


def test_files_in_a_form(fetcher, server):
    from email.parser import BytesParser

    fetcher.client(base=server.url)
    files = {"a.txt": "first", 'b".txt': "--not-a-boundary\r\n"}
    answer = said(fetcher.get("/", method="POST", files=files))
    fields = [field for field in answer["fields"] if "multipart" in field]
    content = "\r\n".join(fields) + "\r\n\r\n" + answer["content"]
    parts = BytesParser().parsebytes(content.encode()).get_payload()
    assert [part.get_payload() for part in parts] == [
        "two files",
        "first",
        "--not-a-boundary\r\n",
    ]
    assert parts[1].get_filename() == "a.txt"
    assert 'filename="b%22.txt"' in parts[2]["Content-Disposition"]


def test_each_form_has_a_boundary_of_its_own(fetcher, server):
    """Whoever could guess it would write content that looks like more parts."""
    fetcher.client(base=server.url)
    boundaries = set()
    for _ in range(20):
        answer = said(fetcher.get("/", method="POST", files={"a.txt": "first"}))
        [field] = [field for field in answer["fields"] if "multipart" in field]
        boundaries.add(field.rpartition("boundary=")[2])
    assert len(boundaries) == 20 and min(map(len, boundaries)) >= 16


def test_credentials_of_one_request(fetcher, server):
    fetcher.client(base=server.url, bearer="tok")
    answer = said(fetcher.get("/", basic="pw"))
    assert "Authorization: Basic b3duOnB3" in answer["fields"]
    answer = said(fetcher.get("/", headers={"Authorization": "Mine"}))
    assert "Authorization: Mine" in answer["fields"]
    assert "Authorization: Bearer tok" in said(fetcher.get("/"))["fields"]


def test_cookies_are_kept_on_request(fetcher):
    def answer(head: str, content: bytes) -> bytes:
        if head.startswith("GET /login"):
            return (
                b"HTTP/1.1 303 See Other\r\nLocation: /home\r\n"
                b"Set-Cookie: id=42; Path=/; HttpOnly\r\n"
                b"Set-Cookie: far=1; Domain=example.com\r\n"
                b"Set-Cookie: deep=1; Path=/deep\r\nContent-Length: 0\r\n\r\n"
            )
        if head.startswith("GET /logout"):
            return sized(b"", b"Set-Cookie: id=; Max-Age=0; Path=/\r\n")
        return echo(head, content)

    def cookies(reply: dict) -> list[str]:
        return [field for field in said(reply)["fields"] if "Cookie" in field]

    server = RawServer(answering(answer))
    fetcher.client(base=server.url)
    assert cookies(fetcher.get("/login")) == []
    fetcher.client(base=server.url, cookies=1)
    assert cookies(fetcher.get("/login")) == ["Cookie: id=42"]
    assert cookies(fetcher.get("/deep/x")) == ["Cookie: deep=1; id=42"]
    own = fetcher.get("/", headers={"Cookie": "mine=1"})
    assert cookies(own) == ["Cookie: mine=1"]
    fetcher.get("/logout")
    assert cookies(fetcher.get("/")) == []
    server.close()


@pytest.mark.parametrize("where", ["request", "client"])
def test_who_says_that_it_closes_sends_nothing_more(fetcher, where):
    """RFC 9112 section 9.6, whatever the server says of the connection."""
    server = RawServer(answering(sized(b"ok")))
    fields = {"Connection": "Close"}
    fetcher.client(**({"closes": 1} if where == "client" else {}))
    for _ in range(2):
        answer = fetcher.get(server.url, headers=fields if where == "request" else {})
        assert (answer["body"], answer["idle"]) == ("ok", 0)
    server.close()
    assert server.connection_count == 2
