"""Functions of compression libraries are looked for once a process, and memory for
deflate is had from the kernel once, not for each message that has a coding."""

import gzip
import re
import sys
from pathlib import Path

import pytest
from raw_server import Fetcher, RawServer, answering
from test_client_hostile import sized
from test_zstd import LONG, app, coding_of, frame_of  # noqa: F401
from wire_programs import built

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the linker of glibc says what it looks for"
)
RESPONSE_COUNT = 200
# "hello", by the brotli of Debian.
BROTLI = bytes.fromhex("0b028068656c6c6f03")
# Others are looked for when the library's own code first gets to them.
LOOKED_UP = re.compile(r"symbol=((?:zlib|inflate|deflate|Brotli|ZSTD_)\w*);")
CODINGS = ["gzip", "br", "zstd"]


@pytest.fixture
def looked_up(monkeypatch, tmp_path):
    """Lists the functions of these libraries that a program has looked for."""
    monkeypatch.setenv("LD_DEBUG", "symbols")
    monkeypatch.setenv("LD_DEBUG_OUTPUT", str(tmp_path / "linker"))
    return lambda pid: LOOKED_UP.findall((tmp_path / f"linker.{pid}").read_text())


@pytest.mark.parametrize("coding", CODINGS)
def test_a_response_looks_for_nothing(looked_up, app, coding):  # noqa: F811
    assert coding_of(app, coding)[0] == coding
    first = looked_up(app.process.pid)
    assert first
    for _ in range(3):
        assert coding_of(app, coding)[0] == coding
    assert looked_up(app.process.pid)[len(first) :] == []


@pytest.mark.parametrize("coding", CODINGS)
def test_reading_a_response_looks_for_nothing(looked_up, coding):
    coded, plain = {
        "gzip": lambda: (gzip.compress(LONG), LONG),
        "br": lambda: (BROTLI, b"hello"),
        "zstd": lambda: (frame_of(LONG), LONG),
    }[coding]()
    content = sized(coded, f"Content-Encoding: {coding}\r\n".encode())
    server = RawServer(answering(lambda head, _: content))
    fetcher = Fetcher(built("fetcher", "clients"))
    fetcher.client()

    def read() -> list[str]:
        answer = fetcher.get(server.url)
        assert answer["body"] == plain.decode(), answer
        return looked_up(fetcher.process.pid)

    first = read()
    assert first
    for _ in range(3):
        last = read()
    assert last[len(first) :] == []
    server.close()
    assert fetcher.close() == 0


def page_faults(pid: int) -> int:
    behind_name = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    return int(behind_name.split()[7])


@pytest.mark.unsanitized
def test_a_response_takes_no_memory_of_the_kernel(app):  # noqa: F811
    for _ in range(10):
        assert coding_of(app, "gzip")[0] == "gzip"
    before = page_faults(app.process.pid)
    for _ in range(RESPONSE_COUNT):
        coding_of(app, "gzip")
    # A stream of deflate has 270 KiB; a fault brings 4.
    assert page_faults(app.process.pid) - before < RESPONSE_COUNT
