"""Forms with files: parts that are kept or spilled, limits, clients that leave."""

import os
import random
import resource
import socket
import zlib
from pathlib import Path

import httpx
import pytest
from conftest import Client, Server, wait_until
from processes import descriptor_count
from wire_programs import built

BIG = random.Random(11).randbytes(3_000_000)
BOUNDARY = b"frontier"
KIND = b"multipart/form-data; boundary=" + BOUNDARY
# Limits of the server's handler.
PART_LEN_MAX = 4_000_000
BODY_LEN_MAX = 16_000_000


@pytest.fixture(scope="module")
def temporary(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def server(temporary):
    running = Server(built("file_server"), [f"temporary={temporary}", "handler_threads=2"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert os.listdir(temporary) == []
    assert running.stop() == 0


@pytest.fixture
def client(server):
    with Client(server) as connection:
        yield connection


def described(name: str, content: bytes, place: str) -> str:
    return f"{name} {len(content)} {place} {zlib.adler32(content)}\n"


def part(name: bytes, content: bytes) -> bytes:
    line = b'Content-Disposition: form-data; name="' + name + b'"'
    return b"--" + BOUNDARY + b"\r\n" + line + b"\r\n\r\n" + content + b"\r\n"


def head(length: int, kind: bytes = KIND, path: bytes = b"/upload") -> bytes:
    return (
        b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
        % (path, kind, length)
    )


END = b"--" + BOUNDARY + b"--\r\n"
# Forms that are taken when they are there, and while they arrive.
both_ways = pytest.mark.parametrize("path", [b"/upload", b"/streamed"])


@both_ways
def test_a_form_of_an_ordinary_client(server, temporary, path):
    response = httpx.post(
        server.url + path.decode(),
        data={"title": "Sommer 🌞", "empty": ""},
        files=[
            ("small", ("a.txt", b"x" * 65_536)),
            ("large", ("b.bin", BIG, "application/octet-stream")),
            ("large", ("ü.bin", BIG[:65_537])),
        ],
        trust_env=False,
    )
    assert response.text == (
        described("title", "Sommer 🌞".encode(), "memory")
        + described("empty", b"", "memory")
        + described("small", b"x" * 65_536, "memory")
        + described("large", BIG, "file")
        + described("large", BIG[:65_537], "file")
    )
    assert os.listdir(temporary) == []


@both_ways
def test_a_form_in_single_octets(client, path):
    form = part(b"a", b"\r\n--frontie\r\n--") + part(b"b", b"") + END
    client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.send(head(len(form), path=path))
    for octet in form:
        client.send(bytes([octet]))
    response = client.response()
    assert response.body.decode() == described(
        "a", b"\r\n--frontie\r\n--", "memory"
    ) + described("b", b"", "memory")


@both_ways
@pytest.mark.parametrize("status,kind,form", [
    (400, b"text/plain", END),
    (400, b"multipart/form-data", END),
    (400, KIND, b""),
    (400, KIND, part(b"a", b"x")),
    (400, KIND, part(b"a", b"x") + END[:-4]),
    (400, KIND, b"--frontier\r\nContent-Type: text/plain\r\n\r\nx\r\n" + END),
    (400, KIND, b"--frontier\r\n: x\r\n\r\nx\r\n" + END),
    (413, KIND, part(b"a", b"x") * 9 + END),
    (413, KIND, part(b"a" * 2000, b"x") + END),
    (413, KIND, part(b"a", bytes(PART_LEN_MAX + 1)) + END),
    (200, KIND, part(b"a", b"x") * 8 + END),
    (200, KIND, part(b"a", bytes(PART_LEN_MAX)) + END),
])  # fmt: skip
def test_limits_and_rules(client, server, status, kind, form, path):
    before = descriptor_count(server.process.pid)
    client.send(head(len(form), kind, path) + form)
    assert client.response().status == status
    assert wait_until(lambda: descriptor_count(server.process.pid) <= before + 1)


def test_a_body_that_is_longer_than_the_server_takes(client):
    client.send(head(BODY_LEN_MAX + 1))
    assert client.response().status == 413


@pytest.mark.parametrize("path,sent,opened", [
    (b"/upload", 100, 1),
    (b"/upload", 3_500_000, 1),
    (b"/streamed", 100, 1),
    # The connection, and the one file of both parts.
    (b"/streamed", 3_500_000, 2),
])  # fmt: skip
def test_an_upload_that_is_broken_off(server, temporary, path, sent, opened):
    """Nothing is left: no file with a name, and no descriptor of one without."""
    with Client(server) as watcher:
        # In two pieces, so that all threads that take forms are there.
        watcher.send(head(len(END), path=path) + END[:5])
        watcher.send(END[5:])
        assert watcher.response().status == 200
        before = descriptor_count(server.process.pid)
        with Client(server) as leaver:
            form = part(b"a", BIG) + part(b"b", BIG) + END
            leaver.send(head(len(form), path=path) + form[:sent])
            wanted = before + opened
            assert wait_until(lambda: descriptor_count(server.process.pid) == wanted)
            assert os.listdir(temporary) == []
        assert wait_until(lambda: descriptor_count(server.process.pid) == before)


def test_a_folder_that_is_gone(start, tmp_path):
    server = start("file_server", temporary=tmp_path / "none", handler_threads=2)
    with Client(server) as client:
        form = part(b"a", BIG) + END
        client.send(head(len(form)) + form)
        assert client.response().status == 500
        form = part(b"a", b"x") + END
        client.send(head(len(form)) + form)
        assert client.response().status == 200
    assert server.stop() == 0


@pytest.mark.parametrize("mode", ["threads", "prefork"])
def test_a_file_beyond_the_systems_limit_ends_no_process(start, mode):
    """RLIMIT_FSIZE: a write beyond it raises SIGXFSZ, or fails with EFBIG where
    that is ignored (setrlimit(2))."""
    limit = (resource.RLIMIT_FSIZE, (100_000, 100_000))
    server = start(
        "workers_server", mode=mode, workers=1, handler_threads=2,
        popen={"preexec_fn": lambda: resource.setrlimit(*limit)},
    )  # fmt: skip
    for _ in range(2):
        with httpx.Client() as client:
            files = {"f": ("a.bin", bytes(300_000))}
            response = client.post(f"{server.url}/form", files=files)
        assert response.status_code == 500
    assert "write: the file would be too large" in server.stderr()
    assert "SIGXFSZ" not in server.stderr()
    assert server.stop() == 0
