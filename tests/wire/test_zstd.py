"""zstd as others write and read it (RFC 8878, RFC 9659), and where its library
is missing."""

import ctypes
import http.client
import subprocess

import pytest
from conftest import Server
from raw_server import Fetcher, RawServer, answering
from test_client_hostile import sized
from wire_programs import built

LONG = b"all work and no play " * 200
DECODED_MAX = 100_000


def library() -> ctypes.CDLL:
    try:
        found = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("libzstd (Debian: libzstd1) is not installed")
    for name in ("ZSTD_compressBound", "ZSTD_compress"):
        getattr(found, name).restype = ctypes.c_size_t
    return found


def frame_of(content: bytes, level: int = 3) -> bytes:
    zstd = library()
    room = ctypes.create_string_buffer(
        zstd.ZSTD_compressBound(ctypes.c_size_t(len(content)))
    )
    size = zstd.ZSTD_compress(
        room, ctypes.c_size_t(len(room)), content, ctypes.c_size_t(len(content)), level
    )
    assert size < len(room)
    return room.raw[:size]


@pytest.fixture
def no_library(monkeypatch, tmp_path):
    """Hides libzstd from programs that are started."""
    (tmp_path / "libzstd.so.1").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))


class Coded:
    """Answers with zstd, whatever was asked for."""

    def __init__(self, content: bytes) -> None:
        self.heads: list[str] = []
        coded = sized(content, b"Content-Encoding: zstd\r\n")
        self.server = RawServer(
            answering(lambda head, _: self.heads.append(head) or coded)
        )

    def accepted(self) -> str:
        lines = self.heads[-1].split("\r\n")
        return next(x for x in lines if x.startswith("Accept-Encoding: "))


@pytest.mark.parametrize("level", [1, 3, 19])
def test_the_client_reads_what_others_write(fetcher, level):
    library()
    text = b"".join(b"what was said %d times " % n for n in range(30_000))
    server = Coded(frame_of(text[: len(text) // 2]) + frame_of(text[len(text) // 2 :], level))
    fetcher.client()
    answer = fetcher.ask(do="download", url=server.server.url)
    server.server.close()
    assert answer["sink_count"] == len(text), answer
    assert server.accepted().endswith(", zstd")


def test_the_client_bounds_what_comes_out(fetcher):
    """As of gzip: 64 MiB of zeros are 6 KiB as they are sent."""
    server = Coded(frame_of(bytes(64 << 20)))
    fetcher.client(max_decoded_size=DECODED_MAX)
    answer = fetcher.get(server.server.url)
    server.server.close()
    assert (answer["phase"], answer["kind"]) == ("decode", "ResponseTooLarge")
    assert "max_decoded_size" in answer["text"]


def test_a_client_without_the_library(no_library):
    """It asks for what it can read, and says what is missing."""
    client = Fetcher(built("fetcher", "clients"))
    server = Coded(bytes.fromhex("28b52ffd2000010000"))
    client.client()
    answer = client.get(server.server.url)
    server.server.close()
    assert client.close() == 0
    assert "zstd" not in server.accepted() and "gzip" in server.accepted()
    assert (answer["phase"], answer["kind"]) == ("decode", "BadContent")
    assert "libzstd.so.1" in answer["text"]


def coding_of(server: Server, accepted: str) -> tuple[str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", "/long", headers={"Accept-Encoding": accepted})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.headers.get("Content-Encoding", "-"), content


@pytest.fixture
def app():
    server = Server(built("app_server"), ["1"])
    yield server
    server.stop()


def test_compress(app):
    library()
    assert coding_of(app, "zstd, gzip")[0] == "zstd"
    assert coding_of(app, "zstd;q=0.5, gzip")[0] == "gzip"
    version = subprocess.run(["curl", "--version"], capture_output=True, text=True)
    if " zstd/" not in version.stdout:
        pytest.skip("curl is built without zstd")
    asked = ["-H", "Accept-Encoding: zstd", "--compressed", "--max-time", "20"]
    read = subprocess.run(
        ["curl", "-sSi", *asked, app.url + "/long"], capture_output=True, check=True
    )
    head, content = read.stdout.split(b"\r\n\r\n", 1)
    assert b"content-encoding: zstd" in head.lower()
    assert content == LONG


def test_compress_without_the_library(no_library, app):
    assert coding_of(app, "zstd, gzip")[0] == "gzip"
    assert coding_of(app, "zstd") == ("-", LONG)
