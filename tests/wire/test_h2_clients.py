"""HTTP/2 as other people's clients speak it: nghttp, h2load, Node, httpx and
Chromium; curl is in `test_http2.py`, Go in `test_https_server.py`."""

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from browser import Browser
from conftest import Server, shown
from wire_programs import built

CLIENTS = Path(__file__).parent / "clients"
TIMEOUT_S = 60
IMAGE_COUNT = 100
# A picture of one pixel.
PIXEL = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">'
    b'<rect width="1" height="1"/></svg>'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("page")
    images = "".join(f'<img src="{n}.svg">' for n in range(IMAGE_COUNT))
    (found / "page.html").write_text(f"<!doctype html><title>page</title>{images}")
    for number in range(IMAGE_COUNT):
        (found / f"{number}.svg").write_bytes(PIXEL)
    return found


@pytest.fixture(scope="module")
def plain(folder):
    running = Server(built("h2_server"), [f"root={folder}"])
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def sealed(folder, certs):
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    running = Server(built("h2_server"), [f"root={folder}", *options])
    running.url = f"https://localhost:{running.port}"
    yield running
    assert running.stop() == 0


@pytest.fixture(params=["plain", "sealed"])
def server(request):
    return request.getfixturevalue(request.param)


def output(*command) -> str:
    """What a program prints, if it is here and ends well."""
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_nghttp(server):
    paths = [f"{server.url}/size/{n * 1000}" for n in range(30)]
    told = output("nghttp", "-ns", "--no-verify-peer", *paths)
    sizes = re.findall(r"^\s*\d+ .*?(?:us|ms|s) +(\d+) +(\S+) +/size/(\d+)$", told, re.M)
    assert len(sizes) == 30 and {status for status, *_ in sizes} == {"200"}, told


def test_nghttp_upload(server, tmp_path):
    sent = tmp_path / "sent"
    sent.write_bytes(bytes(range(256)) * 4_000)
    told = output("nghttp", "--no-verify-peer", "-d", str(sent), f"{server.url}/large")
    assert told == "1024000"


def test_h2load(server):
    told = output("h2load", "-n", "20000", "-c", "10", "-m", "50", f"{server.url}/")
    assert "20000 succeeded, 0 failed, 0 errored, 0 timeout" in told, told
    assert "Application protocol: h2" in told


def test_h2load_uploads(server, tmp_path):
    sent = tmp_path / "sent"
    sent.write_bytes(b"x" * 50_000)
    told = output("h2load", "-n", "500", "-c", "5", "-m", "20", "-d", str(sent), f"{server.url}/large")
    assert "500 succeeded, 0 failed, 0 errored" in told, told


def test_node(server, certs):
    arguments = [certs / "root.pem"] if server.url.startswith("https") else []
    told = output("node", CLIENTS / "http2_client.mjs", server.url, *arguments)
    assert told == "220 of 220 right\n"


def test_httpx(sealed, certs):
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("h2")
    context = ssl.create_default_context(cafile=certs / "root.pem")
    with httpx.Client(http2=True, verify=context, base_url=sealed.url) as client:
        for size in (0, 1, 100_000):
            answer = client.get(f"/size/{size}")
            assert (answer.http_version, len(answer.content)) == ("HTTP/2", size)
        pieces = (b"x" * 1_000 for _ in range(300))
        assert client.post("/large", content=pieces).text == "300000"
        assert client.get("/cookie", cookies={"a": "1", "b": "2"}).text == "a=1\nb=2\n"


def test_a_page_with_a_hundred_images(sealed):
    """Chromium takes all of them over one connection."""
    with Browser("--ignore-certificate-errors") as browser:
        page = browser.open(f"{sealed.url}/files/page.html")
        page.wait_for("document.readyState == 'complete'")
        loaded = "[...document.images].filter(i => i.naturalWidth == 1).length"
        assert page.evaluate(loaded) == IMAGE_COUNT
        images = "performance.getEntriesByType('resource').filter(e => e.initiatorType == 'img')"
        assert page.evaluate(f"{images}.map(e => e.nextHopProtocol)") == ["h2"] * IMAGE_COUNT
        # None of them had a connection to wait for.
        assert page.evaluate(f"{images}.filter(e => e.connectEnd > e.connectStart).length") == 0
