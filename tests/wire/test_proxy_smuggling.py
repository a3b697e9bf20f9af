"""Request smuggling: what the server refuses never gets to an upstream, and what
does get there is framed in one way (RFC 9112 sections 6 and 11.2)."""

import re
import threading

import pytest
from conftest import Client, Server, read_all
from peer_servers import start_go, start_nginx, start_node_echo
from raw_server import RawServer
from test_framing import ACCEPTED, REFUSED, get
from wire_programs import built

STATUS = re.compile(rb"HTTP/1\.1 \d{3} ")
TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"


class Recorder:
    """An upstream that keeps each octet, and reads requests by rules of its own:
    the strictest ones, and nothing of ours."""

    def __init__(self) -> None:
        self.octets = b""
        self.requests: list[tuple[bytes, bytes, dict[bytes, list[bytes]], bytes]] = []
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self.server = RawServer(self._serve)

    def clear(self) -> None:
        with self._lock:
            self.octets, self.requests, self.faults = b"", [], []

    def _serve(self, connection) -> None:
        data = b""
        while piece := connection.sock.recv(65536):
            with self._lock:
                self.octets += piece
            data += piece
            while taken := self._take(data):
                data = data[taken:]
                connection.send(OK)

    def _take(self, data: bytes) -> int:
        """Takes a request off the start; 0 if a part is still missing."""
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return 0
        try:
            line, fields = strict_head(head)
            content, length = strict_content(fields, rest)
        except ValueError as fault:
            with self._lock:
                self.faults.append(f"{fault}: {head!r}")
            raise EOFError from None
        if length < 0:
            return 0
        method, target, _ = line.split(b" ")
        with self._lock:
            self.requests.append((method, target, fields, content))
        return len(head) + 4 + length


def strict_head(head: bytes) -> tuple[bytes, dict[bytes, list[bytes]]]:
    """Reads a head; raises ValueError for anything two readers could differ on."""
    line, *lines = head.split(b"\r\n")
    if not re.fullmatch(rb"[A-Z]+ (/[\x21-\x7e]*|\*) HTTP/1\.1", line):
        raise ValueError("request line")
    fields: dict[bytes, list[bytes]] = {}
    for one in lines:
        name, colon, value = one.partition(b":")
        if not colon or not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
            raise ValueError("field line")
        fields.setdefault(name.lower(), []).append(value.strip(b" \t"))
    if len(fields.get(b"host", [])) != 1:
        raise ValueError("not one Host")
    return line, fields


def strict_content(fields: dict, rest: bytes) -> tuple[bytes, int]:
    """Reads content; its length with the framing, -1 if more has to come."""
    lengths, codings = fields.get(b"content-length", []), fields.get(b"transfer-encoding", [])
    if len(lengths) + len(codings) > 1:
        raise ValueError("framed twice")
    if lengths:
        if not re.fullmatch(rb"0|[1-9][0-9]*", lengths[0]):
            raise ValueError("Content-Length")
        length = int(lengths[0])
        return rest[:length], length if len(rest) >= length else -1
    if not codings:
        return b"", 0
    if codings != [b"chunked"]:
        raise ValueError("Transfer-Encoding")
    return strict_chunks(rest)


def strict_chunks(rest: bytes) -> tuple[bytes, int]:
    content, at = b"", 0
    while True:
        line, end, _ = rest[at:].partition(b"\r\n")
        if not end:
            return b"", -1
        if not re.fullmatch(rb"[0-9a-fA-F]+", line):
            raise ValueError("chunk size")
        size, at = int(line, 16), at + len(line) + 2
        if size == 0:
            break
        if len(rest) < at + size + 2:
            return b"", -1
        if rest[at + size : at + size + 2] != b"\r\n":
            raise ValueError("end of a chunk")
        content, at = content + rest[at : at + size], at + size + 2
    while True:
        line, end, _ = rest[at:].partition(b"\r\n")
        if not end:
            return b"", -1
        at += len(line) + 2
        if not line:
            return content, at
        if not TOKEN.fullmatch(line.split(b":")[0]):
            raise ValueError("trailer")


@pytest.fixture(scope="module")
def recorder():
    recording = Recorder()
    yield recording
    recording.server.close()


@pytest.fixture(scope="module")
def start_for_module():
    running = []

    def launch(**config):
        options = [f"{name}={value}" for name, value in config.items()]
        running.append(Server(built("proxy_server"), options))
        return running[-1]

    yield launch
    for server in running:
        assert server.is_alive(), "the proxy died during the tests"
        assert server.stop() == 0


@pytest.fixture(scope="module")
def proxy(start_for_module, recorder):
    return start_for_module(upstream=recorder.server.url)


@pytest.mark.parametrize("status, request_octets", REFUSED)
def test_what_is_refused_does_not_reach_the_upstream(proxy, recorder, status, request_octets):
    recorder.clear()
    with Client(proxy) as client:
        client.send(request_octets + get(b"/smuggled"))
        data = read_all(client.sock)
    assert data.startswith(b"HTTP/1.1 %d " % status), data
    assert len(STATUS.findall(data)) == 1, data
    # What content is malformed shows when the head is on its way: then the
    # request is broken off, and never complete.
    assert recorder.requests == [] and b"smuggled" not in recorder.octets


# Beside those that the server accepts: content that frames itself otherwise, and
# fields by which a reader behind could be led astray.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
TRICKY = [
    ("a body that is a request", POST + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
     b"/a"),
    ("a chunk that is a request", CHUNKED + b"%x\r\n" % len(SMUGGLED) + SMUGGLED
     + b"\r\n0\r\n\r\n", b"/a"),
    ("chunk extensions", CHUNKED + b'3;a="b\\"c"\r\nabc\r\n0;x\r\n\r\n', b"/a"),
    ("leading zeros", CHUNKED + b"0000003\r\nabc\r\n000\r\n\r\n", b"/a"),
    ("trailers that would frame", CHUNKED + b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", b"/a"),
    ("an underscore", get(b"/a", b"Transfer_Encoding: chunked\r\nContent_Length: 9\r\n"), b"/a"),
    ("named by Connection", get(b"/a", b"Connection: Host, Content-Length, X-A\r\nX-A: b\r\n"), b"/a"),
    ("framing named by Connection", b"POST /a HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\n"
     b"Content-Length: 3\r\n\r\nabc", b"/a"),
    ("GET with content", get(b"/a", b"Content-Length: 3\r\n") + b"abc", b"/a"),
    ("HEAD with content", b"HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", b"/a"),
    ("length 0", get(b"/a", b"Content-Length: 0\r\n"), b"/a"),
    ("a length with zeros", get(b"/a", b"Content-Length: 003\r\n") + b"abc", b"/a"),
    ("h2c", get(b"/a", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"), b"/a"),
    ("Expect", b"POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", b"/a"),
    ("HTTP/1.0", b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", b"/a"),
    ("absolute", b"GET http://b/a HTTP/1.1\r\nHost: c\r\n\r\n", b"/a"),
    ("a fragment of a target", get(b"/a?b=http://c/\\..;%00%0d%0a"), b"/a?b=http://c/\\..;%00%0d%0a"),
]


@pytest.mark.parametrize("name, octets, target", TRICKY, ids=[row[0] for row in TRICKY])
def test_what_gets_there_is_framed_in_one_way(proxy, recorder, name, octets, target):
    recorder.clear()
    with Client(proxy) as client:
        client.send(octets)
        first = client.response(is_head=octets.startswith(b"HEAD"))
        while first.status == 100:
            first = client.response()
        assert first.status in (200, 400), first.body
        if first.status == 200:
            client.send(get(b"/next"))
            assert client.response().status == 200
    assert recorder.faults == []
    assert b"\r\nGET /smuggled" not in recorder.octets.replace(content_of(recorder), b"")
    targets = [request[1] for request in recorder.requests]
    assert targets == ([target, b"/next"] if first.status == 200 else []), targets
    for _, _, fields, _ in recorder.requests:
        # Via and where it comes from are ours; nothing is left of the others.
        for gone in (b"connection", b"keep-alive", b"http2-settings", b"transfer_encoding",
                     b"content_length", b"x-a"):
            assert gone not in fields or fields[gone] == [b"keep-alive"], fields
        assert fields[b"via"] == [b"1.1 flare"] or fields[b"via"] == [b"1.0 flare"]


def content_of(recorder: Recorder) -> bytes:
    return next((request[3] for request in recorder.requests if request[3]), b"\0none")


@pytest.mark.parametrize("name, octets, body", ACCEPTED)
def test_what_is_accepted_gets_there_whole(proxy, recorder, name, octets, body):
    recorder.clear()
    with Client(proxy) as client:
        client.send(octets)
        while client.response().status == 100:
            pass
        client.send(get(b"/next"))
        assert client.response().body == b"OK"
    assert recorder.faults == []
    assert [request[1] for request in recorder.requests][1:] == [b"/next"]
    assert recorder.requests[0][3] == (b"hi" if b"hi" in octets else b"")


PEERS = {"nginx": lambda: start_nginx({}), "Go": start_go, "node": start_node_echo}


@pytest.mark.parametrize("peer_name", PEERS)
def test_through_to_others(start_for_module, peer_name):
    """No response is another request's, and each request is seen once."""
    peer = PEERS[peer_name]()
    try:
        proxy = start_for_module(upstream=peer.url)
        for number, parameter in enumerate(REFUSED):
            status, octets = parameter.values
            with Client(proxy) as client:
                client.send(octets + get(b"/smuggled"))
                data = read_all(client.sock)
            assert len(STATUS.findall(data)) == 1, data
            assert data.startswith(b"HTTP/1.1 %d " % status), data
            assert echoed(proxy, number) == number
        for number, (_, octets, target) in enumerate(TRICKY):
            with Client(proxy) as client:
                client.send(octets.replace(target, b"/echo?x", 1))
                is_head = octets.startswith(b"HEAD")
                while (answer := client.response(is_head)).status == 100:
                    pass
                assert b"smuggled" not in answer.body or b"POST" in answer.body
            assert echoed(proxy, number) == number
    finally:
        peer.stop()


def echoed(proxy, number: int) -> int:
    """Asks once more, and reads in the answer which request it is of."""
    with Client(proxy) as client:
        client.send(get(b"/echo?n%d" % number))
        body = client.response().body
    return int(re.search(rb"n(\d+)", body)[1])
