"""Responses that a client reads while they arrive, and downloads that go on,
from servers of others: nginx, and Go's net/http over HTTP/1.1 and HTTP/2."""

import random
import shutil

import peer_servers
import pytest
from test_client_downloads import field_of_part, names
from test_client_open import on, opened, program, reader

__all__ = ["program", "reader"]
LENGTH = 64 << 20
MEMORY_KIB_MAX = 6_000
CONTENT = random.Random(7).randbytes(4 << 20)


@pytest.fixture(scope="module")
def nginx():
    server = peer_servers.start_nginx({})
    with open(server.files / "large", "wb") as file:
        file.truncate(LENGTH)
    (server.files / "random").write_bytes(CONTENT)
    yield server
    server.stop()
    shutil.rmtree(server.files.parent)


class Way:
    """A server, and how the client gets to it."""

    def __init__(self, port: int, version: str, **config) -> None:
        is_tls = "ca_file" in config
        scheme, host = ("https", "localhost") if is_tls else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{port}"
        self.version, self.config = version, config


@pytest.fixture(scope="module", params=["HTTP/1.1", "clear", "tls"])
def go(request, certs):
    chain, key = str(certs / "good_chain.pem"), str(certs / "good.key")
    words = {"HTTP/1.1": [], "clear": ["h2c"], "tls": [chain, key]}[request.param]
    peer = peer_servers.start_go(*words)
    config = {
        "HTTP/1.1": {}, "clear": {"h2c": 1}, "tls": {"ca_file": str(certs / "root.pem")}
    }[request.param]
    version = "HTTP/1.1" if request.param == "HTTP/1.1" else "HTTP/2.0"
    yield Way(peer.port, version, **config)
    peer.stop()


def test_a_long_response_in_little_memory(reader, go):
    reader.client(**go.config)
    answer = opened(reader, f"{go.url}/download?length={LENGTH}")
    assert (answer["status"], answer["version"]) == (200, go.version)
    before = reader.memory_kib()
    got = on(reader, "count", answer, limit=1 << 40)
    assert (got.get("count"), got["is_complete"], got["idle"]) == (LENGTH, True, 1)
    assert reader.memory_kib() - before < MEMORY_KIB_MAX


def test_what_is_given_up_harms_no_other(reader, go):
    """Over HTTP/2 the connection goes on; over HTTP/1.1 there is another."""
    reader.client(**go.config)
    for _ in range(3):
        answer = opened(reader, f"{go.url}/download?length={LENGTH}")
        assert on(reader, "count", answer, limit=100_000)["count"] >= 100_000
        kept = int(go.version == "HTTP/2.0")
        assert on(reader, "close", answer)["idle"] == kept
    answer = opened(reader, f"{go.url}/download?length=1000")
    assert on(reader, "count", answer, limit=1 << 30)["count"] == 1000


def test_nginx_sends_a_long_response(reader, nginx):
    answer = opened(reader, f"http://127.0.0.1:{nginx.port}/large")
    assert answer["content_len"] == LENGTH
    before = reader.memory_kib()
    assert on(reader, "count", answer, limit=1 << 40)["count"] == LENGTH
    assert reader.memory_kib() - before < MEMORY_KIB_MAX


def test_a_download_from_nginx_goes_on(reader, nginx, tmp_path):
    url, path = f"http://127.0.0.1:{nginx.port}/random", tmp_path / "file"
    got = reader.ask(do="download", url=url, path=str(path), stop_at=1 << 20)
    assert "stopped at" in got["error"], got
    assert names(tmp_path) == ["file.part", "file.part.info"]
    assert field_of_part(path, 2).startswith('"')
    got = reader.ask(do="download", url=url, path=str(path))
    assert got.get("resumed_from", 0) >= (1 << 20) - 65_536, got
    assert path.read_bytes() == CONTENT
    assert names(tmp_path) == ["file"]


def test_a_file_of_nginx_that_changes_is_fetched_anew(reader, nginx, tmp_path):
    url, path = f"http://127.0.0.1:{nginx.port}/changing", tmp_path / "file"
    source = nginx.files / "changing"
    source.write_bytes(CONTENT)
    reader.ask(do="download", url=url, path=str(path), stop_at=1 << 20)
    source.write_bytes(CONTENT[::-1][:-1])
    got = reader.ask(do="download", url=url, path=str(path))
    assert got.get("resumed_from") == 0, got
    assert path.read_bytes() == CONTENT[::-1][:-1]


def test_nginx_says_that_all_is_there(reader, nginx, tmp_path):
    """416 with the length that we have: only the name was missing."""
    url, path = f"http://127.0.0.1:{nginx.port}/random", tmp_path / "file"
    reader.ask(do="download", url=url, path=str(path), stop_at=1 << 20)
    (tmp_path / "file.part").write_bytes(CONTENT)
    got = reader.ask(do="download", url=url, path=str(path))
    assert got.get("resumed_from") == len(CONTENT), got
    assert path.read_bytes() == CONTENT
