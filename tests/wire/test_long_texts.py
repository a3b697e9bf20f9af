"""Texts made to be slow to read: lists of commas, quotes that never end, names that
begin again and again. Each is as long as may be, and costs as much as another of its
length (CVE-2020-7662, CVE-2021-32640, CVE-2021-33503 and many others)."""

from collections.abc import Callable

import pytest
from conftest import Client, Server
from processes import cpu_s
from raw_server import RawServer, answering
from wire_programs import built

LENGTH = 7_500
# So many times what a plain text costs in CPU time, and a millisecond a request.
FACTOR = 6
ALLOWED_S = 0.02
COUNT = 20
# Other programs make a request dearer (caches, interrupts), none makes it cheaper.
ROUNDS = 3
CLIENT_LENGTH = 28_000


def long(piece: str, start: str = "", length: int = LENGTH) -> str:
    return (start + piece * (length // len(piece)))[:length].rstrip(" ")


# (server, target, field, text)
FIELDS = [
    ("app_server", "/long", "Accept-Encoding", long("gzip;q=0.1,")),
    ("app_server", "/long", "Accept-Encoding", long(",")),
    ("app_server", "/long", "Accept-Encoding", long("a;q=0.", "gzip;")),
    ("app_server", "/note", "If-None-Match", long('W/"a",')),
    ("app_server", "/note", "If-None-Match", long('"')),
    ("app_server", "/note", "If-Match", long('"a" ')),
    ("app_server", "/note", "If-Modified-Since", long("Sun, 06 ")),
    ("app_server", "/visitor", "Cookie", long("sid=a;")),
    ("app_server", "/visitor", "Cookie", long(";")),
    ("app_server", "/visitor", "Cookie", long("=")),
    ("app_server", "/visitor", "Cookie", long('"', "a=")),
    ("app_server", "/whence", "X-Forwarded-For", long("127.0.0.1,")),
    ("app_server", "/whence", "X-Forwarded-For", long("[::1]:1, ")),
    ("app_server", "/whence", "X-Forwarded-For", long(",")),
    ("app_server", "/who", "Authorization", long("AAAA", "Basic ")),
    ("app_server", "/token", "Authorization", long(" ", "Bearer") + "x"),
    ("app_server", "/id", "Origin", long("http://a.", "")),
    ("app_server", "/id", "X-Request-Id", long("a-")),
    ("app_server", "/id", "Connection", long("close,")),
    ("app_server", "/id", "Connection", long("a,")),
    ("app_server", "/id", "Expect", long("100-continue,")),
    ("app_server", "/find/a?" + "b=c&" * 1_000, "X", "y"),
    ("app_server", "/find/" + "%2e" * 2_000, "X", "y"),
    ("app_server", "/" + "a/" * 2_000, "X", "y"),
    ("h2_server", "/files/h2_server.mojo", "Range", long("0-1,", "bytes=")),
    ("h2_server", "/files/h2_server.mojo", "Range", long(",", "bytes=")),
    ("h2_server", "/files/h2_server.mojo", "If-Range", long('"')),
    ("h2_server", "/files/" + "a/../" * 1_000, "X", "y"),
    ("h2_server", "/cors", "Access-Control-Request-Headers", long("a,")),
    ("h2_server", "/", "TE", long("trailers,")),
    ("ws_server", "/echo", "Sec-WebSocket-Extensions", long("permessage-deflate;")),
    ("ws_server", "/echo", "Sec-WebSocket-Extensions", long("permessage-deflate,")),
    ("ws_server", "/echo", "Sec-WebSocket-Extensions", long("\\", 'a;b="')),
    ("ws_server", "/echo", "Sec-WebSocket-Protocol", long("a,")),
    ("ws_server", "/echo", "Origin", long("http://")),
    ("proxy_server", "/x", "Via", long("1.1 a,")),
    ("proxy_server", "/x", "Forwarded", long("for=a;")),
    ("proxy_server", "/x", "Forwarded", long('"', "for=")),
    ("proxy_server", "/x", "X-Forwarded-For", long("1.1.1.1,")),
    ("proxy_server", "/x", "Connection", long("a,")),
    ("proxy_server", "/x", "traceparent", long("00-")),
    ("proxy_server", "/x", "tracestate", long("a=b,")),
    ("proxy_server", "/" + "a/../" * 1_000, "X", "y"),
    ("proxy_server", "/" + "%2e/" * 1_500, "X", "y"),
]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def servers():
    """One server of each kind."""
    upstream = RawServer(answering(OK))
    arguments = {
        "app_server": ["1"],
        "h2_server": ["root=tests/wire/servers", "handler_threads=0"],
        "ws_server": [],
        "proxy_server": [f"upstream={upstream.url}"],
    }
    running: dict[str, Server] = {}

    def of(name: str) -> Server:
        if name not in running:
            running[name] = Server(built(name), arguments[name])
        return running[name]

    yield of
    for server in running.values():
        assert server.is_alive(), "a server died of a text"
        assert server.stop() == 0
    upstream.close()


def cheapest_s(pid: int, ask: Callable[[], object]) -> float:
    """Asks often; the CPU time of the cheapest round."""
    costs = []
    for _ in range(ROUNDS):
        before = cpu_s(pid)
        for _ in range(COUNT):
            ask()
        costs.append(cpu_s(pid) - before)
    return min(costs)


def cost_s(server: Server, target: str, name: str, value: str) -> float:
    """What requests cost, each over a connection of its own."""
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    more = upgrade if name in ("Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol") else ""
    octets = f"GET {target} HTTP/1.1\r\nHost: a\r\n{more}{name}: {value}\r\n\r\n".encode()

    def ask() -> None:
        with Client(server) as client:
            client.send(octets)
            assert client.sock.recv(65_536).startswith(b"HTTP/1.1 ")

    return cheapest_s(server.process.pid, ask)


@pytest.mark.parametrize("number", range(len(FIELDS)), ids=[f"{row[2]} {n}" for n, row in enumerate(FIELDS)])
def test_a_text_costs_no_more_than_its_length(servers, number):
    kind, target, name, value = FIELDS[number]
    server = servers(kind)
    plain = cost_s(server, "/", "X-Plain", long("a"))
    assert cost_s(server, target, name, value) < FACTOR * plain + ALLOWED_S


# Of responses, as the client reads them.
RESPONSES = [
    ("Set-Cookie", "a=b;"), ("Set-Cookie", "Path=/;"), ("Set-Cookie", "="),
    ("WWW-Authenticate", "Digest realm=a,"), ("WWW-Authenticate", "Basic "),
    ("WWW-Authenticate", "a=b,"), ("WWW-Authenticate", '\\"'), ("WWW-Authenticate", ","),
    ("Location", "a/../"), ("Location", "%41"), ("Location", "//"), ("Location", "\u00e4."),
    ("Content-Type", ";a=b"), ("Content-Type", '\\"'), ("Content-Encoding", "gzip,"),
    ("Content-Encoding", ","), ("Retry-After", "1"), ("Keep-Alive", "timeout=1,"),
    ("Cache-Control", "max-age=1,"), ("Vary", "a,"), ("Link", "<a>,"),
    ("Connection", "a,"), ("Transfer-Encoding", ","), ("Content-Length", "0"),
]


@pytest.mark.parametrize("number", range(len(RESPONSES)), ids=[f"{row[0]} {n}" for n, row in enumerate(RESPONSES)])
def test_a_text_of_a_server_costs_the_client_no_more(fetcher_of_module, number):
    name, piece = RESPONSES[number]
    status = {"Location": "302 X", "WWW-Authenticate": "401 X", "Retry-After": "503 X"}

    def cost(name: str, value: str, status: str) -> float:
        head = f"HTTP/1.1 {status}\r\n{name}: {value}\r\n"
        if name != "Content-Length":
            head += "Content-Length: 2\r\n"
        server = RawServer(answering(head.encode("utf-8") + b"\r\nok"))
        config = {"digest_user": "me", "password": "word"} if name == "WWW-Authenticate" else {}
        fetcher_of_module.client(base=server.url, cookies=1, max_redirects=1, **config)
        found = cheapest_s(fetcher_of_module.process.pid, lambda: fetcher_of_module.get("/"))
        server.close()
        return found

    plain = cost("X-Plain", long("a", length=CLIENT_LENGTH), "200 OK")
    slow = cost(name, long(piece, length=CLIENT_LENGTH), status.get(name, "200 OK"))
    assert slow < FACTOR * plain + ALLOWED_S
