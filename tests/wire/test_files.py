"""Files of a folder: conditions, ranges, neighbours, slow clients, no way out.

RFC 9110 sections 13 and 14 have their tables in `tests/http`; here are real
sockets, descriptors and memory.
"""

import email
import os
import random
import signal
import socket
import ssl
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from conftest import Client, Response, Server, shown, wait_until
from https_client import HttpsClient, trusting
from processes import AnonymousPeak, descriptor_count
from wire_programs import built

BIG = random.Random(7).randbytes(3_000_000)
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"
MIB = 1 << 20
# More than the kernel keeps for a client that does not read.
LONG_LEN = 32 * MIB
SPARSE_LEN = 5 << 30
# What a server's memory may grow by while it sends a file of any length.
GROWTH_MAX = 8 * MIB


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret.txt").write_text("secret")
    root = outer / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "deep" / "<&>.txt").write_text("odd")
    (root / "index.html").write_text("<p>index")
    (root / "sub" / "index.html").write_text("<p>sub")
    (root / "a b.txt").write_text("space")
    (root / "big.bin").write_bytes(BIG)
    (root / "small.css").write_bytes(BIG[:5000])
    (root / "middle.woff2").write_bytes(BIG[:65536])
    (root / "empty.txt").write_bytes(b"")
    (root / ".hidden").write_text("hidden")
    (root / "app.js").write_text("plain")
    (root / "app.js.br").write_text("brotli")
    (root / "app.js.gz").write_text("gzip")
    (root / "link.txt").symlink_to("../secret.txt")
    (root / "linked").symlink_to("sub")
    (root / "null").symlink_to("/dev/null")
    os.mkfifo(root / "pipe")
    os.utime(root / "big.bin", (784111777, 784111777))
    with open(root / "sparse.bin", "wb") as file:
        file.truncate(SPARSE_LEN)
        file.seek(SPARSE_LEN - 5)
        file.write(b"end\n!")
    return root


@pytest.fixture(scope="module")
def plain(root):
    server = Server(built("file_server"), [f"root={root}"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


@pytest.fixture(scope="module", params=["plain", "threads", "tls"])
def connect(request, root, certs):
    """Opens connections to a server of each kind: connect()."""
    options = [f"root={root}"]
    if request.param == "threads":
        options.append("handler_threads=2")
    if request.param == "tls":
        options += [f"{key}={path}" for key, path in shown(certs).items()]
    server = Server(built("file_server"), options)
    if request.param == "tls":
        context = trusting(certs)
        yield lambda: HttpsClient(server, context)
    else:
        yield lambda: Client(server)
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def target(path: str, *fields: str, method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: h", *fields, "", ""]
    return "\r\n".join(lines).encode()


def ask(client: Client, path: str, *fields: str, method: str = "GET") -> Response:
    client.send(target(path, *fields, method=method))
    return client.response(method == "HEAD")


@pytest.fixture
def client(connect):
    with connect() as connection:
        yield connection


def parts_of(response: Response) -> list[bytes]:
    """Takes a multipart/byteranges apart, octet by octet."""
    kind = response.fields["content-type"]
    assert kind.startswith("multipart/byteranges; boundary=")
    message = email.message_from_string(f"Content-Type: {kind}\r\n\r\n")
    boundary = b"\r\n--" + message.get_boundary().encode()
    parts = (b"\r\n" + response.body).split(boundary)[1:]
    assert parts.pop() == b"--\r\n"
    return parts


def test_whole_files(client):
    response = ask(client, "/strict/big.bin")
    assert response.body == BIG
    assert response.fields["last-modified"] == DATE
    assert response.fields["accept-ranges"] == "bytes"
    assert response.fields["cache-control"] == "max-age=60"
    assert "transfer-encoding" not in response.fields
    for name, content, kind in (
        ("big.bin", BIG, "application/octet-stream"),
        ("middle.woff2", BIG[:65536], "font/woff2"),
        ("small.css", BIG[:5000], "text/css; charset=utf-8"),
        ("empty.txt", b"", "text/plain; charset=utf-8"),
        ("a%20b.txt", b"space", "text/plain; charset=utf-8"),
        ("sub/", b"<p>sub", "text/html; charset=utf-8"),
    ):
        response = ask(client, f"/strict/{name}")
        assert (response.status, response.body == content) == (200, True), name
        assert response.fields["content-type"] == kind
    moved = ask(client, "/strict/sub?x=1")
    assert moved.status == 301
    assert moved.fields["location"] == "/strict/sub/?x=1"


def test_head_has_the_length_and_no_content(client):
    for name in ("big.bin", "small.css", "empty.txt"):
        whole = ask(client, f"/strict/{name}")
        head = ask(client, f"/strict/{name}", method="HEAD")
        assert head.fields.pop("date") and whole.fields.pop("date")
        assert head.fields == whole.fields
    refused = ask(client, "/strict/big.bin", method="POST")
    assert refused.status == 405 and "GET" in refused.fields["allow"]


def test_requests_that_come_together(client):
    """Files between other files, of all lengths, in the order of requests."""
    names = ("small.css", "big.bin", "empty.txt", "middle.woff2") * 3
    lengths = {"small.css": 5000, "empty.txt": 0, "middle.woff2": 65536}
    client.send(b"".join(target(f"/strict/{name}") for name in names))
    for name in names:
        assert client.response().body == BIG[: lengths.get(name, len(BIG))]


@pytest.mark.parametrize("path", [
    "/strict/../secret.txt",
    "/strict/%2e%2e/secret.txt",
    "/strict/sub/../../secret.txt",
    "/strict/sub/..%2f..%2fsecret.txt",
    "/strict/sub%2findex.html",
    "/strict/sub/%2e%2e/%2e%2e/secret.txt",
    "/strict//etc/passwd",
    "/strict/%2fetc/passwd",
    "/strict/..%5csecret.txt",
    "/strict/index.html%00.txt",
    "/strict/%00",
    "/strict/index.html/",
    "/strict/index.html/x",
    "/strict/.hidden",
    "/strict/link.txt",
    "/strict/linked/",
    "/strict/linked/index.html",
    "/strict/null",
    "/strict/pipe",
    "/strict/sub/deep/",
    "/strictx",
    "/",
    "/strict/" + "a" * 300,
    "/strict/" + "a/" * 1500,
    "/open/../secret.txt",
    "/open/%2e%2e/secret.txt",
    "/open/%2e%2e%2fsecret.txt",
    "/open/null",
    "/open/pipe",
])  # fmt: skip
def test_no_way_out(plain, path):
    with Client(plain) as client:
        assert ask(client, path).status == 404
        assert ask(client, "/strict/a%20b.txt").body == b"space"


def test_what_is_allowed(client):
    assert ask(client, "/open/link.txt").body == b"secret"
    assert ask(client, "/open/linked/index.html").body == b"<p>sub"
    assert ask(client, "/open/.hidden").body == b"hidden"
    listed = ask(client, "/open/sub/deep/")
    assert listed.fields["content-type"] == "text/html; charset=utf-8"
    assert b"%3C%26%3E.txt" in listed.body and b"<&>" not in listed.body
    for path in ("/app/some/route", "/app/", "/app/sub/deep/"):
        response = ask(client, path)
        assert (response.status, response.body) == (200, b"<p>index")


def test_neighbours_that_are_coded(client):
    tags = set()
    for accepted, coding, content in (
        ("gzip, br", "br", b"brotli"),
        ("gzip, br;q=0.5", "gzip", b"gzip"),
        ("gzip", "gzip", b"gzip"),
        ("identity", None, b"plain"),
        ("br;q=0, gzip;q=0", None, b"plain"),
    ):
        response = ask(client, "/strict/app.js", f"Accept-Encoding: {accepted}")
        assert response.body == content
        assert response.fields.get("content-encoding") == coding
        assert response.fields["vary"] == "Accept-Encoding"
        assert response.fields["content-type"].startswith("text/javascript")
        tags.add(response.fields["etag"])
    assert len(tags) == 3


def test_conditions(client):
    tag = ask(client, "/strict/big.bin", method="HEAD").fields["etag"]
    for field, status in (
        (f'If-None-Match: "x", W/{tag}', 304),
        ('If-None-Match: "x"', 200),
        (f"If-Modified-Since: {DATE}", 304),
        ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200),
        (f"If-Match: {tag}", 200),
        ('If-Match: "x"', 412),
        (f"If-Unmodified-Since: {DATE}", 200),
        ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 412),
    ):
        response = ask(client, "/strict/big.bin", field)
        assert response.status == status, field
        assert len(response.body) == (len(BIG) if status == 200 else 0)
        if status == 304:
            assert response.fields["etag"] == tag


@pytest.mark.parametrize("value,start,end", [
    ("bytes=0-0", 0, 1),
    ("bytes=100-199", 100, 200),
    ("bytes=65536-2000000", 65536, 2000001),
    ("bytes=-70000", len(BIG) - 70000, len(BIG)),
    ("bytes=2999999-", len(BIG) - 1, len(BIG)),
    ("bytes=0-99999999", 0, len(BIG)),
    ("bytes=0-9,5-30,31-99", 0, 100),
])  # fmt: skip
def test_one_range(client, value, start, end):
    response = ask(client, "/strict/big.bin", f"Range: {value}")
    assert response.status == 206
    assert response.body == BIG[start:end]
    expected = f"bytes {start}-{end - 1}/{len(BIG)}"
    assert response.fields["content-range"] == expected


def test_several_ranges(client):
    response = ask(client, "/strict/big.bin", "Range: bytes=0-99,1000000-1200000,-5")
    assert response.status == 206
    parts = parts_of(response)
    contents = [part.split(b"\r\n\r\n", 1)[1] for part in parts]
    assert contents == [BIG[:100], BIG[1000000:1200001], BIG[-5:]]
    assert b"Content-Range: bytes 0-99/3000000\r\n" in parts[0] + b"\r\n"


def test_ranges_that_are_not_followed(client):
    response = ask(client, "/strict/big.bin", "Range: bytes=3000000-")
    assert response.status == 416
    assert response.fields["content-range"] == "bytes */3000000"
    for value in ("lines=1-2", "bytes=5-4", "bytes=" + "0-0," * 65):
        whole = ask(client, "/strict/big.bin", f"Range: {value}")
        assert (whole.status, len(whole.body)) == (200, len(BIG))
    tag = ask(client, "/strict/big.bin", method="HEAD").fields["etag"]
    for validator, status in ((tag, 206), ('"x"', 200), (DATE, 206), (LATER, 200)):
        fields = ("Range: bytes=0-0", f"If-Range: {validator}")
        assert ask(client, "/strict/big.bin", *fields).status == status


def test_a_client_that_takes_little_at_a_time(plain):
    with slow_client(plain) as client, Client(plain) as other:
        client.send(target("/strict/big.bin"))
        # Others are served meanwhile.
        assert ask(other, "/strict/middle.woff2").body == BIG[:65536]
        received = b""
        while b"\r\n\r\n" not in received:
            received += client.sock.recv(1)
        received = received.split(b"\r\n\r\n", 1)[1]
        while len(received) < len(BIG):
            received += client.sock.recv(7001)
        assert received == BIG
        assert ask(client, "/strict/a%20b.txt").body == b"space"


def test_changes_of_a_file_that_is_kept_open(client, root):
    """Each is seen by the next request; a name that moves, within a second."""
    path, other = root / "changing.txt", root / "other.txt"
    for content in ("one", "a longer one", "", "short"):
        path.write_text(content)
        response = ask(client, "/strict/changing.txt")
        assert (response.status, response.body) == (200, content.encode())
    other.write_text("another")
    tag = response.fields["etag"]
    other.rename(path)
    response = ask(client, "/strict/changing.txt", f"If-None-Match: {tag}")
    assert (response.status, response.body) == (200, b"another")
    path.unlink()
    assert ask(client, "/strict/changing.txt").status == 404
    path.write_text("again")
    assert ask(client, "/strict/changing.txt").body == b"again"
    path.rename(other)
    assert wait_until(lambda: ask(client, "/strict/changing.txt").status == 404)


def test_few_files_are_kept_open(start, tmp_path):
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text(str(number))
    server = start("file_server", root=tmp_path)
    with Client(server) as client:
        assert ask(client, "/strict/none").status == 404
        before = descriptor_count(server.process.pid)
        for number in range(200):
            assert ask(client, f"/strict/{number}.txt").body == str(number).encode()
        assert descriptor_count(server.process.pid) <= before + 64

        def are_closed() -> bool:
            ask(client, "/strict/none")
            return descriptor_count(server.process.pid) == before

        assert wait_until(are_closed)
    assert server.stop() == 0


@pytest.mark.parametrize("cache_ms", [0, 1000])
def test_descriptors_come_back(start, root, cache_ms):
    """Whether a client takes a file, hangs up in the middle, or resets."""
    plain = start("file_server", root=root, cache_ms=cache_ms)
    long = root / "long.bin"
    long.write_bytes(bytes(LONG_LEN))
    with Client(plain) as client:
        assert ask(client, "/strict/none").status == 404
        before = descriptor_count(plain.process.pid)
        leavers = [slow_client(plain) for _ in range(8)]
        for number, leaver in enumerate(leavers):
            leaver.send(target("/strict/long.bin"))
            assert leaver.sock.recv(1) == b"H"
            if number % 2:
                linger = b"\x01\0\0\0\0\0\0\0"
                leaver.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        assert descriptor_count(plain.process.pid) > before
        for leaver in leavers:
            leaver.sock.close()

        def are_closed() -> bool:
            # What is kept goes with a request behind its time.
            ask(client, "/strict/none")
            return descriptor_count(plain.process.pid) == before

        assert wait_until(are_closed)
    assert plain.stop() == 0


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_file_that_becomes_shorter(start, start_tls, certs, root, is_tls):
    """The client is told by the end of the connection; nothing hangs."""
    path = root / f"cut-{is_tls}.bin"
    path.write_bytes(BIG * 11)
    if is_tls:
        server = start_tls(server="file_server", root=root)
        connect = partial(HttpsClient, server, trusting(certs))
    else:
        server = start("file_server", root=root)
        connect = partial(Client, server)
    with connect() as client:
        client.send(target(f"/strict/{path.name}"))
        received = client.sock.recv(4000)
        os.truncate(path, 1000)
        # Over TLS the end comes without the notice that it is one.
        with pytest.raises(ssl.SSLEOFError) if is_tls else nullcontext():
            while piece := client.sock.recv(MIB):
                received += piece
        head, content = received.split(b"\r\n\r\n", 1)
        assert b"200 OK" in head
        assert len(content) < len(BIG) * 11
    assert wait_until(lambda: "longer when its response began" in server.stderr())
    with connect() as client:
        assert len(ask(client, f"/strict/{path.name}").body) == 1000
    assert server.stop() == 0


def test_a_client_that_takes_nothing_is_cut_off(start, root):
    (root / "stuck.bin").write_bytes(bytes(LONG_LEN))
    server = start("file_server", root=root, write_timeout_ms=300, cache_ms=0)
    with Client(server) as watcher, slow_client(server) as client:
        assert ask(watcher, "/strict/a%20b.txt").status == 200
        client.send(target("/strict/a%20b.txt"))
        assert client.response().status == 200
        before = descriptor_count(server.process.pid) - 1
        client.send(target("/strict/stuck.bin"))
        assert client.sock.recv(1) == b"H"
        assert descriptor_count(server.process.pid) > before
        assert wait_until(lambda: descriptor_count(server.process.pid) == before)
    assert server.stop() == 0


def test_a_file_is_sent_to_its_end_at_shutdown(start, root):
    server = start("file_server", root=root)
    with slow_client(server) as client:
        client.send(target("/strict/big.bin"))
        assert client.sock.recv(1) == b"H"
        server.process.send_signal(signal.SIGTERM)
        client.buffer = b"H"
        assert client.response().body == BIG
        assert client.is_closed()
    assert server.process.wait(10) == 0


def test_ranges_of_five_gigabytes(client):
    response = ask(client, "/strict/sparse.bin", "Range: bytes=-5")
    assert response.body == b"end\n!"
    size = SPARSE_LEN
    assert response.fields["content-range"] == f"bytes {size - 5}-{size - 1}/{size}"
    head = ask(client, "/strict/sparse.bin", method="HEAD")
    assert head.fields["content-length"] == str(SPARSE_LEN)
    value = f"bytes=0-1,{1 << 32}-{(1 << 32) + 99999},-4"
    parts = parts_of(ask(client, "/strict/sparse.bin", f"Range: {value}"))
    contents = [part.split(b"\r\n\r\n", 1)[1] for part in parts]
    assert contents == [bytes(2), bytes(100_000), b"nd\n!"]


def test_memory_stays_flat(start, start_tls, certs, root):
    """Some hundred megabytes of the file, with a client that hangs up then."""
    for client, server in clients_of(start, start_tls, certs, root):
        assert grown(server, client, 200 * MIB) < GROWTH_MAX


@pytest.mark.nightly
def test_memory_stays_flat_for_all_five_gigabytes(start, start_tls, certs, root):
    for client, server in clients_of(start, start_tls, certs, root):
        assert grown(server, client, SPARSE_LEN) < GROWTH_MAX


def clients_of(start, start_tls, certs, root):
    """Gives a client and its server, without TLS and with it."""
    server = start("file_server", root=root)
    with Client(server) as client:
        yield client, server
    server = start_tls(server="file_server", root=root)
    with HttpsClient(server, trusting(certs)) as client:
        yield client, server


def grown(server: Server, client: Client, length: int) -> int:
    """Takes so much of the sparse file, and tells by how much the server's memory
    grows meanwhile."""
    assert ask(client, "/strict/big.bin").body == BIG
    peak = AnonymousPeak(server.process.pid)
    client.send(target("/strict/sparse.bin"))
    # The content is not taken by this.
    head = client.response(is_head=True).head
    assert f"Content-Length: {SPARSE_LEN}".encode() in head
    room, taken = bytearray(MIB), len(client.buffer)
    while taken < length:
        count = client.sock.recv_into(room)
        assert count > 0
        taken += count
    if length == SPARSE_LEN:
        assert taken == SPARSE_LEN and room[:count].endswith(b"end\n!")
    return peak.end()


def slow_client(server: Server) -> Client:
    """A connection with as little room for octets as the kernel allows."""
    client = Client.__new__(Client)
    client.buffer = b""
    client.sock = socket.socket()
    client.sock.settimeout(5)
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.sock.connect(("127.0.0.1", server.port))
    return client
