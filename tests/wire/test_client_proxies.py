"""Requests through SOCKS5 and HTTPS proxies, whatever drives the client."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from client_proxies import SocksProxy, TlsProxy
from conftest import Server, built, shown
from processes import next_line
from raw_server import Connection, RawServer, answering

PEERS = Path(__file__).parent / "peers"
START_TIMEOUT_S = 20
LENGTH = 3 << 20
HTTP2 = "HTTP/2.0"


def echo(head: str, content: bytes) -> bytes:
    line = head.split("\r\n")[0].encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(line), line)


@pytest.fixture(scope="module")
def origin():
    server = RawServer(answering(echo))
    yield server
    server.close()


@pytest.fixture(scope="module")
def secure(certs):
    """flare's server over TLS, which speaks HTTP/1.1 and HTTP/2."""
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    server = Server(built("h2_server"), ["handler_threads=2", *options])
    yield server
    assert server.stop() == 0


def test_names_are_looked_up_by_the_proxy(fetcher, origin):
    """`socks5h`: RFC 1928 section 5, a name; the request is no proxy's."""
    proxy = SocksProxy()
    fetcher.client(proxy=f"socks5h://127.0.0.1:{proxy.port}")
    for _ in range(3):
        answer = fetcher.get(f"http://no-such.test:{origin.port}/a?b")
        assert answer["body"] == "GET /a?b HTTP/1.1", answer
    answer = fetcher.get(f"http://127.0.0.1:{origin.port}/")
    assert answer["body"] == "GET / HTTP/1.1"
    proxy.close()
    assert proxy.asked == [
        (3, "no-such.test", origin.port),
        (1, "127.0.0.1", origin.port),
    ]


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "https://127.0.0.1:9/"])
def test_a_proxy_that_is_not_there_is_named_as_such(fetcher, scheme, url):
    with socket.socket() as sock:
        # Bound, and nobody listens.
        sock.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{sock.getsockname()[1]}"
        fetcher.client(proxy=f"{scheme}://{at}")
        answer = fetcher.get(url)
    assert (answer["phase"], answer["kind"]) == ("connect", "ConnectionRefused")
    name = at if scheme == "http" else f"{scheme}://{at}"
    assert f"the proxy {name}: " in answer["text"], answer


def test_a_proxy_without_an_address_is_named_as_such(fetcher):
    fetcher.client(proxy="http://no-such.invalid:3128", pins={"a.test:80": "127.0.0.1"})
    answer = fetcher.get("http://a.test/")
    assert answer["phase"] == "resolve", answer
    assert "the proxy no-such.invalid:3128: " in answer["text"], answer


def test_a_proxy_that_says_nothing_is_named_as_such(fetcher):
    proxy = RawServer(lambda connection: connection.take(1 << 20))
    fetcher.client(proxy=f"http://127.0.0.1:{proxy.port}", connect_timeout_ms=300)
    answer = fetcher.get("https://127.0.0.1:9/")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", "Timeout"), answer
    assert f"the proxy 127.0.0.1:{proxy.port}: nothing within" in answer["text"]


@pytest.mark.parametrize("ends", ["closed", "reset"])
def test_a_proxy_that_ends_is_named_as_such(fetcher, ends):
    def handle(connection: Connection) -> None:
        connection.head()
        if ends == "reset":
            connection.reset()

    proxy = RawServer(handle)
    fetcher.client(proxy=f"http://127.0.0.1:{proxy.port}")
    answer = fetcher.get("https://a.test/")
    proxy.close()
    assert answer["phase"] == "proxy", answer
    assert f"the proxy 127.0.0.1:{proxy.port}: " in answer["text"] and ends in answer["text"]


def test_names_are_looked_up_here(fetcher, origin):
    """`socks5`: the proxy sees addresses alone."""
    proxy = SocksProxy()
    fetcher.client(proxy=f"socks5://127.0.0.1:{proxy.port}")
    answer = fetcher.get(f"http://localhost:{origin.port}/c")
    assert answer["body"] == "GET /c HTTP/1.1", answer
    assert proxy.asked[-1][0] in (1, 4)
    assert proxy.asked[-1][1] in ("127.0.0.1", "::1")
    answer = fetcher.get(f"http://no-such.test:{origin.port}/")
    assert answer["phase"] == "resolve"
    proxy.close()


def test_another_address_is_asked_for(fetcher, origin):
    """localhost has two addresses, whatever the system says."""
    proxy = SocksProxy()
    proxy.replies = {"::1": 4}
    fetcher.client(proxy=f"socks5://127.0.0.1:{proxy.port}")
    answer = fetcher.get(f"http://localhost:{origin.port}/d")
    assert answer["body"] == "GET /d HTTP/1.1", answer
    proxy.replies = {"::1": 4, "127.0.0.1": 5}
    fetcher.client(proxy=f"socks5://127.0.0.1:{proxy.port}")
    proxy.asked.clear()
    answer = fetcher.get(f"http://localhost:{origin.port}/d")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", "ProxyRefused")
    assert {host for _, host, _ in proxy.asked} == {"127.0.0.1", "::1"}


def test_exceptions_hold(fetcher, origin):
    proxy = SocksProxy()
    fetcher.client(
        proxy=f"socks5h://127.0.0.1:{proxy.port}", no_proxy="127.0.0.1, .direct"
    )
    assert fetcher.get(origin.url + "/")["status"] == 200
    assert fetcher.get("http://a.direct/")["phase"] == "resolve"
    assert proxy.asked == []
    proxy.close()


def test_login(fetcher, origin):
    """RFC 1929."""
    proxy = SocksProxy(login=("me", "wörd:@"))
    good = f"socks5h://me:w%C3%B6rd:%40@127.0.0.1:{proxy.port}"
    fetcher.client(proxy=good)
    url = f"http://a.test:{origin.port}/"
    assert fetcher.get(url)["status"] == 200
    fetcher.client(proxy=f"socks5h://me:other@127.0.0.1:{proxy.port}")
    answer = fetcher.get(url)
    assert (answer["phase"], answer["kind"]) == ("proxy", "ProxyRefused")
    assert "user name and password" in answer["text"]
    assert "other" not in answer["text"]
    fetcher.client(proxy=f"socks5h://127.0.0.1:{proxy.port}")
    answer = fetcher.get(url)
    assert "give user name and password" in answer["text"], answer
    proxy.close()
    assert proxy.logins == [("me", "wörd:@"), ("me", "other")]


@pytest.mark.parametrize("http2", [0, 1])
def test_tls_within_socks(fetcher, secure, certs, http2):
    proxy = SocksProxy()
    fetcher.client(
        proxy=f"socks5h://127.0.0.1:{proxy.port}",
        ca_file=str(certs / "root.pem"),
        http2=http2,
    )
    url = f"https://localhost:{secure.port}/"
    text = "x" * LENGTH
    for _ in range(2):
        answer = fetcher.get(url, method="POST", octets=text)
        assert (answer["status"], answer["body_len"]) == (200, LENGTH), answer
    assert (answer["version"] == HTTP2) == bool(http2)
    proxy.close()
    assert proxy.asked == [(3, "localhost", secure.port)]


def cut(*pieces: bytes):
    """Answers each message of the client with a piece, and closes."""

    def handle(connection: Connection) -> None:
        for piece in pieces:
            connection.sock.recv(1024)
            connection.send(piece)

    return handle


def silent(connection: Connection) -> None:
    connection.sock.recv(1024)
    connection.sock.recv(1024)


def silent_later(connection: Connection) -> None:
    connection.sock.recv(1024)
    connection.send(b"\x05\x00")
    connection.sock.recv(1024)
    connection.sock.recv(1024)


def dripping(connection: Connection) -> None:
    """Gives an octet at a time, and never the last."""
    connection.sock.recv(1024)
    connection.send(b"\x05\x00")
    connection.sock.recv(1024)
    connection.send(b"\x05\x00\x00\x03\xff")
    while True:
        connection.send(b"x")
        time.sleep(0.05)


NO_REPLY = "MalformedResponse"
# (name, handler, kind, words of the error)
HOSTILE = [
    ("closed at once", cut(b""), NO_REPLY, "before it answered"),
    ("one octet", cut(b"\x05"), NO_REPLY, "before it answered"),
    ("SOCKS4", cut(b"\x00\x5b"), NO_REPLY, "SOCKS4"),
    ("HTTP", cut(b"HTTP/1.1 400 Bad\r\n\r\n"), NO_REPLY, "write http://"),
    ("version 6", cut(b"\x06\x00"), NO_REPLY, "version 6"),
    ("a method unasked", cut(b"\x05\x02"), NO_REPLY, "method 2"),
    ("no method", cut(b"\x05\xff"), "ProxyRefused", "give user name"),
    ("short reply", cut(b"\x05\x00", b"\x05\x00\x00"), NO_REPLY, "reaches"),
    ("bad type", cut(b"\x05\x00", b"\x05\x00\x00\x07xx"), NO_REPLY, "type 7"),
    ("short name", cut(b"\x05\x00", b"\x05\0\0\x03\x09abc"), NO_REPLY, "reaches"),
    ("rules", cut(b"\x05\x00", b"\x05\x02\0\x01"), "ProxyRefused", "rules"),
    ("reply 5", cut(b"\x05\x00", b"\x05\x05\0\x01"), "ProxyRefused", "refused"),
    ("reply 99", cut(b"\x05\x00", b"\x05\x63\0\x01"), "ProxyRefused", "reply 99"),
]


@pytest.mark.parametrize("row", HOSTILE, ids=lambda row: row[0])
def test_hostile_socks(fetcher, row):
    _, handle, kind, words = row
    proxy = RawServer(handle)
    fetcher.client(proxy=f"socks5h://127.0.0.1:{proxy.port}")
    answer = fetcher.get("http://a.test/")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", kind), answer
    assert words in answer["text"], answer


@pytest.mark.parametrize("handle", [silent, silent_later, dripping])
def test_silence_ends_in_time(fetcher, handle):
    proxy = RawServer(handle)
    fetcher.client(
        proxy=f"socks5h://127.0.0.1:{proxy.port}", connect_timeout_ms=400
    )
    answer = fetcher.get("http://a.test/")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", "Timeout"), answer
    assert "connect_timeout_ms" in answer["text"]


def test_many_at_once(fetcher, origin):
    """On a reactor, one connection to the proxy for each at most."""
    proxy = SocksProxy()
    fetcher.client(proxy=f"socks5h://127.0.0.1:{proxy.port}")
    requests = [
        json.dumps({"url": f"http://a.test:{origin.port}/{number}"})
        for number in range(20)
    ]
    answer = fetcher.ask(do="all", requests=requests, parallel=5)
    proxy.close()
    assert [one["body"] for one in answer["results"]] == [
        f"GET /{number} HTTP/1.1" for number in range(20)
    ]
    assert 1 <= proxy.connection_count <= 5


@pytest.fixture
def https_proxy(certs):
    proxy = TlsProxy(certs / "good_chain.pem", certs / "good.key")
    yield proxy
    proxy.close()


def test_requests_to_an_https_proxy(fetcher, https_proxy, certs):
    """RFC 9112 section 3.2.2, over TLS."""
    url = https_proxy.url.replace("//", "//u:p@")
    fetcher.client(proxy=url, proxy_ca=str(certs / "root.pem"))
    for _ in range(3):
        answer = fetcher.get("http://a.test/x?y")
        assert answer["body"] == "GET http://a.test/x?y", answer
    assert https_proxy.connection_count == 1
    assert "Proxy-Authorization: Basic dTpw\r\n" in https_proxy.heads[0]
    assert https_proxy.protocols == ["http/1.1"]


@pytest.mark.parametrize("http2", [0, 1])
def test_tls_within_tls(fetcher, https_proxy, secure, certs, http2):
    fetcher.client(
        proxy=https_proxy.url.replace("//", "//u:p@"),
        proxy_ca=str(certs / "root.pem"),
        ca_file=str(certs / "root.pem"),
        http2=http2,
    )
    url = f"https://localhost:{secure.port}/"
    text = "y" * LENGTH
    for _ in range(2):
        answer = fetcher.get(url, method="POST", octets=text)
        assert (answer["status"], answer["body_len"]) == (200, LENGTH), answer
    assert (answer["version"] == HTTP2) == bool(http2)
    assert https_proxy.connection_count == len(https_proxy.heads) == 1
    assert https_proxy.heads[0].startswith(f"CONNECT localhost:{secure.port} ")
    assert "Proxy-Authorization: Basic dTpw\r\n" in https_proxy.heads[0]


def test_whom_to_trust(fetcher, https_proxy, secure, certs):
    """The proxy's certificate and the host's are judged apart."""
    ca_file = str(certs / "root.pem")
    url = f"https://localhost:{secure.port}/"
    fetcher.client(proxy=https_proxy.url, ca_file=ca_file)
    answer = fetcher.get(url)
    assert (answer["phase"], answer["kind"]) == ("proxy", "TlsFailed"), answer
    fetcher.client(proxy=https_proxy.url, proxy_ca=ca_file)
    answer = fetcher.get(url)
    assert (answer["phase"], answer["kind"]) == ("tls", "TlsFailed"), answer
    by_address = f"https://127.0.0.2:{https_proxy.port}"
    fetcher.client(proxy=by_address, proxy_ca=ca_file, ca_file=ca_file)
    answer = fetcher.get(url)
    assert answer["phase"] in ("proxy", "connect"), answer


def test_https_proxies_that_refuse(fetcher, certs):
    proxy = TlsProxy(
        certs / "good_chain.pem",
        certs / "good.key",
        b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\n"
        b"Content-Length: 0\r\n\r\n",
    )
    fetcher.client(proxy=proxy.url, proxy_ca=str(certs / "root.pem"))
    answer = fetcher.get("https://a.test/")
    proxy.close()
    assert (answer["phase"], answer["kind"]) == ("proxy", "ProxyRefused")
    assert "407" in answer["text"] and "Basic" in answer["text"]


@pytest.mark.parametrize("handle", [silent, cut(b"HTTP/1.1 400 no\r\n\r\n")])
def test_https_proxies_that_speak_no_tls(fetcher, certs, handle):
    proxy = RawServer(handle)
    fetcher.client(
        proxy=f"https://localhost:{proxy.port}",
        proxy_ca=str(certs / "root.pem"),
        connect_timeout_ms=400,
    )
    answer = fetcher.get("https://a.test/")
    proxy.close()
    assert answer["phase"] == "proxy", answer
    assert answer["kind"] in ("Timeout", "TlsFailed"), answer


@pytest.fixture(scope="module")
def pproxy():
    """A proxy of others, SOCKS5 with a login."""
    pytest.importorskip("pproxy")
    program = PEERS / "pproxy_socks.py"
    process = subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, text=True
    )
    yield int(next_line(process, START_TIMEOUT_S))
    process.kill()
    process.wait(10)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_with_pproxy(fetcher, pproxy, secure, certs, scheme):
    ca_file = str(certs / "root.pem")
    url = f"https://localhost:{secure.port}/"
    fetcher.client(
        proxy=f"{scheme}://me:word@127.0.0.1:{pproxy}", ca_file=ca_file
    )
    text = "z" * LENGTH
    answer = fetcher.get(url, method="POST", octets=text)
    assert (answer["status"], answer["body_len"]) == (200, LENGTH), answer
    assert answer["version"] == HTTP2
