"""HTTP/2 as other people's clients speak it: nghttp, h2load, Node, httpx, grpc, Go
and Chromium; curl is in `test_http2.py`, and Go in `test_https_server.py`, too."""

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from browser import Browser
from conftest import Server, shown
from raw_server import RawServer
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
        client.cookies.update({"a": "1", "b": "2"})
        assert client.get("/cookie").text == "a=1\nb=2\n"


@pytest.fixture
def channel(plain):
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel(f"127.0.0.1:{plain.port}") as opened:
        yield opened


def test_grpc_unary(channel):
    """grpc's own HTTP/2 stack: messages up to 4 MB, the status in trailers."""
    call = channel.unary_unary("/grpc.Echo/Unary")
    for size in (0, 1, 10_000, 1_000_000):
        answer, told = call.with_call(bytes(size), timeout=TIMEOUT_S)
        assert (len(answer), told.code().name) == (size, "OK")
    pending = [call.future(str(n).encode(), timeout=TIMEOUT_S) for n in range(100)]
    assert [int(answer.result()) for answer in pending] == list(range(100))


def test_grpc_errors_without_content(channel):
    import grpc

    with pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary("/grpc.Echo/Unary")(b"fail", timeout=TIMEOUT_S)
    failure = raised.value
    assert (failure.code().name, failure.details()) == ("NOT_FOUND", "not here")


def test_grpc_streamed(channel):
    call = channel.unary_stream("/grpc.Echo/Streamed")
    answers = call(b"x" * 5_000, timeout=TIMEOUT_S)
    assert [len(answer) for answer in answers] == [5_000] * 100
    assert dict(answers.trailing_metadata())["x-messages"] == "100"
    # Who has enough breaks off; the channel goes on.
    broken = call(b"y", timeout=TIMEOUT_S)
    assert next(iter(broken)) == b"y"
    broken.cancel()
    assert channel.unary_unary("/grpc.Echo/Unary")(b"on", timeout=TIMEOUT_S) == b"on"


SPEAK = """
(async () => {
  const ws = new WebSocket(`wss://${location.host}/ws`);
  const heard = () => new Promise(done => ws.onmessage = event => done(event.data));
  await new Promise((done, failed) => { ws.onopen = done; ws.onerror = failed; });
  const found = [];
  for (const text of ['', 'hello', 'x'.repeat(300000)]) {
    ws.send(text);
    found.push(await heard() === text);
  }
  const end = new Promise(done => ws.onclose = event => done(event));
  ws.send('close');
  const { code, reason, wasClean } = await end;
  return [...found, code, reason, wasClean];
})()
"""


def test_a_websocket_of_a_page(certs):
    """Chromium opens it as a stream of the connection that the page came by."""
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    server = Server(built("ws_server"), ["compression=1", *options])
    relay = RawServer(lambda connection: connection.pass_on(server.port))
    with Browser("--ignore-certificate-errors") as browser:
        page = browser.open(f"https://127.0.0.1:{relay.port}/")
        protocol = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
        assert page.evaluate(protocol) == "h2"
        before = relay.connection_count
        assert page.evaluate(SPEAK) == [True] * 3 + [4001, "as you say", True]
        assert relay.connection_count == before
    relay.close()
    assert server.stop() == 0


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


def test_go_uploads(sealed, certs):
    """Content longer than a window, which Go's client sends as the windows allow:
    often in pieces that leave an octet over."""
    command = ["go", "run", str(CLIENTS / "uploader.go"), sealed.url, str(certs / "root.pem")]
    told = output(*command, "3000").strip()
    print(f"\n{told}")
    assert told == "0 of 3000 failed: none"
    assert "is cut off" not in sealed.stderr()
