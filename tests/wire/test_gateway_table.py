"""ReverseProxy as a table: each kind of request, times what an upstream does, times
the versions of HTTP on both sides. What is to come of each follows from the rule that
stands in its row, whichever versions meet."""

import pytest
from conftest import Server, wait_until
from gateway_clients import Http1Client, Http2Client, Seen, WAIT_S
from gateway_rows import (
    HTTP1, HTTP2, KINDS, Asked, Cell, Http1Upstream, Http2Upstream, Kind, Upstream, Want,
)  # fmt: skip
from h2_client import Closed, H2Client, reset
from h2_frames import NO_ERROR
from h2_hpack import encode
from raw_server import reset_at_close
from wire_programs import built

# RFC 9110 section 7.6.1, and what the upstreams below name so.
OF_ONE_CONNECTION = {
    "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding",
    "upgrade", "x-own",
}  # fmt: skip


class Gateway:
    """A proxy, its upstream, and clients of both versions."""

    def __init__(self, upstream: Upstream, **options) -> None:
        self.upstream = upstream
        options |= {"upstream": upstream.server.url, "failures_to_eject": 0}
        self.proxy = Server(
            built("proxy_server"), [f"{name}={value}" for name, value in options.items()]
        )
        self.clients = {"1.1": Http1Client(self.proxy), "2": Http2Client(self.proxy)}

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        assert self.proxy.is_alive(), "the proxy died during the tests"
        assert self.proxy.stop() == 0
        self.upstream.server.close()


@pytest.fixture(scope="module")
def gateways():
    running = {
        "1.1": Gateway(Http1Upstream()),
        "2": Gateway(Http2Upstream(), http2_prior_knowledge=1),
    }
    yield running
    for gateway in running.values():
        gateway.close()


def request_faults(asked: Asked, kind: Kind, client: str, upstream: str) -> list[str]:
    """What is wrong with a request that was sent on and read whole."""
    faults = []

    def expect(rule: str, found, wanted) -> None:
        if found != wanted:
            faults.append(f"{rule}: {found!r}, not {wanted!r}")

    expect("9110-9.1 method", asked.method, kind.method)
    expect("9112-3.2, 9110-7.1 target", asked.target, kind.target)
    expect("9110-6.4 content", asked.content == kind.content, True)
    expect("9110-6.5 trailers", asked.trailers, list(kind.trailers))
    host = ":authority" if upstream == "2" else "host"
    expect("9110-7.2 host", asked.all(host), ["test" if client == "2" else "shop.example"])
    received = "2" if client == "2" else "1.0" if kind.is_1_0 else "1.1"
    expect("9110-7.6.3 via", asked.all("via"), [f"{received} flare"])
    # A length that is known may be said, if the client has not.
    lengths, coded = asked.all("content-length"), asked.all("transfer-encoding")
    if lengths or kind.says_length:
        expect("9110-8.6 length", lengths, [str(len(kind.content))])
    is_chunked = upstream == "1.1" and kind.has_content and not lengths
    expect("9112-6.1 coding", coded, ["chunked"] * is_chunked)
    for name, value in kind.fields:
        expect("9110-7.6 end to end", asked.all(name.lower()), [value])
    takes_trailers = ("TE", "trailers") in kind.fields
    expect("9110-10.1.4 te", asked.all("te"), ["trailers"] * takes_trailers)
    if upstream == "2":
        expect("9113-8.2.2 connection", asked.all("connection"), [])
    elif takes_trailers:
        named = [value.lower() for value in asked.all("connection")]
        expect("9110-10.1.4 connection", named, ["te"])
    return faults


def response_faults(seen: Seen, cell: Cell, want: Want, client: str) -> list[str]:
    """What is wrong with what a client has got."""
    faults, kind = [], cell.kind

    def expect(rule: str, found, wanted) -> None:
        if found != wanted:
            faults.append(f"{rule}: {found!r}, not {wanted!r}")

    names = {name for name, _ in seen.fields}
    if not want.is_whole:
        if kind.method != "HEAD":
            expect("whole", seen.is_whole and seen.status == 200, False)
        return faults
    expect("status", seen.status, want.status)
    expect("whole", seen.is_whole, True)
    expect("9110-6.6.1 date", len(seen.all("date")), 1)
    # What ends a response of HTTP/1.1 is the server's own.
    named = OF_ONE_CONNECTION - ({"connection", "transfer-encoding"} if client != "2" else set())
    expect("9110-7.6.1", names & named, set())
    if want.status == 502:
        expect("9209-2.1", len(seen.all("proxy-status")), 1)
        expect("9110-15.6.3 its content", cell.mark.encode() in seen.content, False)
        return faults
    content = b"" if kind.method == "HEAD" else cell.written(want.content)
    expect("9110-6.4 content", seen.content, content)
    for name in {name for name, _ in want.fields}:
        wanted = [value for key, value in want.fields if key == name]
        expect(f"9110-5.3 {name}", seen.all(name), wanted)
    trailers = [] if kind.method == "HEAD" or kind.is_1_0 else list(want.trailers)
    expect("9110-6.5 trailers", seen.trailers, trailers)
    asked = [100] if kind.asks and not cell.row.is_early else []
    interim = [] if kind.is_1_0 else asked + list(want.interim)
    expect("9110-15.2 interim", seen.interim, interim)
    return faults


def attempt_faults(cell: Cell, want: Want) -> list[str]:
    """RFC 9110 section 9.2.2: what may have been done is not done twice."""
    count = len(cell.attempts)
    allowed = want.attempts if cell.kind.is_idempotent else want.attempts_once
    return [] if count in allowed else [f"9110-9.2.2: {count} attempts"]


def faults_of(gateway: Gateway, row: str, kind: Kind, client: str, upstream: str) -> list[str]:
    cell = gateway.upstream.begin(row, kind)
    want = cell.row.want
    if cell.row.otherwise and not kind.is_idempotent:
        want = cell.row.otherwise
    plain = gateway.upstream.begin("length", KINDS[0])
    if cell.row.needs_idle:
        gateway.clients[client].ask(plain.mark, KINDS[0])
    seen, behind = gateway.clients[client].ask(cell.mark, kind, plain.mark)
    faults = response_faults(seen, cell, want, client) + attempt_faults(cell, want)
    if not cell.row.is_early and want.status != 502 and want.is_whole and cell.attempts:
        faults += request_faults(cell.attempts[-1], kind, client, upstream)
    if behind and behind.content != plain.mark.encode():
        faults.append(f"the next one has got {behind}")
    if behind and cell.row.is_spoilt:
        if plain.attempts[-1].connection == cell.attempts[-1].connection:
            faults.append("9112-9.3: its connection is used again")
    return [f"{kind.name}: {fault}" for fault in faults]


ROWS = [("1.1", row) for row in HTTP1] + [("2", row) for row in HTTP2]


@pytest.mark.parametrize("client", ["1.1", "2"])
@pytest.mark.parametrize("upstream, row", ROWS)
def test_each_cell(gateways, client, upstream, row):
    gateway = gateways[upstream]
    faults = []
    for kind in KINDS:
        if gateway.upstream.rows[row].kinds(kind) and not (kind.is_1_0 and client == "2"):
            try:
                faults += faults_of(gateway, row, kind, client, upstream)
            except (AssertionError, OSError, Closed, EOFError) as error:
                faults.append(f"{kind.name}: {error!r}")
                break
    assert not faults, "\n".join([gateway.upstream.rows[row].rule, *faults])


CUT_POST = b"POST /items HTTP/1.1\r\nHost: a\r\nX-Cell: %s\r\n"
CUT_LENGTH = CUT_POST + b"Content-Length: 10\r\n\r\nhello"
CUT_CHUNKS = CUT_POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
# What a client sends behind a beginning that the upstream has got, before it closes.
CUT_REQUESTS = {
    "length": ("9112-8", CUT_LENGTH, b""),
    "chunks": ("9112-8", CUT_CHUNKS, b""),
    "within a chunk": ("9112-8", CUT_CHUNKS, b"5\r\nhe"),
    "behind a chunk": ("9112-7.1", CUT_CHUNKS, b"5\r\nhello"),
    "within the last chunk": ("9112-7.1", CUT_CHUNKS, b"0\r\n"),
    "within trailers": ("9112-7.1.2", CUT_CHUNKS, b"0\r\nX-Sum: 7\r\n"),
    "no chunk": ("9112-7.1", CUT_CHUNKS, b"xyz\r\n"),
    "no end of a chunk": ("9112-7.1", CUT_CHUNKS, b"5\r\nhelloworld\r\n0\r\n\r\n"),
    "no trailer": ("9112-5.1", CUT_CHUNKS, b"0\r\nX Sum: 7\r\n\r\n"),
}  # fmt: skip


def assert_was_cut(gateway: Gateway, cell: Cell, rule: str) -> None:
    assert wait_until(lambda: cell.attempts[-1].is_over), rule
    assert len(cell.attempts) == 1 and not cell.attempts[0].is_whole, rule
    plain = gateway.upstream.begin("length", KINDS[0])
    for client in gateway.clients.values():
        assert client.ask(plain.mark, KINDS[0])[0].content == plain.mark.encode()


@pytest.mark.parametrize("upstream", ["1.1", "2"])
@pytest.mark.parametrize("name", CUT_REQUESTS)
@pytest.mark.parametrize("resets", [False, True])
def test_what_a_client_cuts_stays_cut(gateways, upstream, name, resets):
    """RFC 9112 section 8: nobody behind may take a part for the whole."""
    gateway = gateways[upstream]
    rule, begins, rest = CUT_REQUESTS[name]
    cell = gateway.upstream.begin("length", KINDS[0])
    with gateway.proxy.connect(WAIT_S) as sock:
        sock.sendall(begins % cell.mark.encode())
        assert wait_until(lambda: cell.attempts)
        sock.sendall(rest)
        if resets:
            reset_at_close(sock)
    assert_was_cut(gateway, cell, rule)


STREAM_CUTS = {
    "reset": ("9113-8.1", [], lambda c, s: c.send(reset(s))),
    "reset without an error": ("9113-8.1", [], lambda c, s: c.send(reset(s, NO_ERROR))),
    "less than announced": (
        "9113-8.1.1", [("content-length", "10")], lambda c, s: c.data(s, b"", ends=True)
    ),
    "more than announced": (
        "9113-8.1.1", [("content-length", "6")], lambda c, s: c.data(s, b"hello", ends=True)
    ),
    "pseudo-field in trailers": (
        "9113-8.1", [], lambda c, s: c.headers(encode([(":path", "/")]), stream=s)
    ),
    "trailers without an end": (
        "9113-8.1", [], lambda c, s: c.headers(encode([("x-a", "1")]), False, stream=s)
    ),
    "large letters in trailers": (
        "9113-8.2.1", [], lambda c, s: c.headers(encode([("X-A", "1")]), stream=s)
    ),
    "the end of the connection": ("9113-8.1", [], lambda c, s: c.sock.close()),
}  # fmt: skip


@pytest.mark.parametrize("upstream", ["1.1", "2"])
@pytest.mark.parametrize("name", STREAM_CUTS)
def test_what_a_client_of_http2_cuts_stays_cut(gateways, upstream, name):
    gateway = gateways[upstream]
    rule, fields, cut = STREAM_CUTS[name]
    cell = gateway.upstream.begin("length", KINDS[0])
    with H2Client(gateway.proxy, timeout=WAIT_S) as client:
        fields = [("x-cell", cell.mark), *fields]
        stream = client.request("/items", "POST", fields, ends=False)
        client.data(stream, b"hello")
        assert wait_until(lambda: cell.attempts)
        cut(client, stream)
        assert_was_cut(gateway, cell, rule)
