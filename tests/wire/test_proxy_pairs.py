"""ReverseProxy between both versions of HTTP on either side: curl asks, Go answers."""

import hashlib
import json
import re
import subprocess
import time

import pytest
from conftest import Client, Server
from h2_client import H2Client
from peer_servers import start_go
from processes import AnonymousPeak
from wire_programs import built

VERSIONS = {"1.1": "--http1.1", "2": "--http2-prior-knowledge"}
UPSTREAMS = ["1.1", "2 without TLS", "2", "1.1 with TLS"]
TIMEOUT_S = 30
LARGE_LEN = 128 << 20


@pytest.fixture(scope="module", params=UPSTREAMS)
def upstream(request, certs):
    """An upstream that speaks one version, and the proxy to it; gives both."""
    shown = [str(certs / "good_chain.pem"), str(certs / "good.key")]
    options = {"max_body_size": 1 << 30, "ca": certs / "root.pem"}
    if request.param == "1.1":
        peer = start_go()
    elif request.param == "2 without TLS":
        peer = start_go("h2c")
        options["http2_prior_knowledge"] = 1
    else:
        peer = start_go(*shown)
        options["http2"] = int(request.param == "2")
    url = peer.url
    if request.param in UPSTREAMS[2:]:
        url = f"https://localhost:{peer.port}"
    arguments = [f"{name}={value}" for name, value in options.items()]
    proxy = Server(built("proxy_server"), [f"upstream={url}", *arguments])
    yield request.param.split(" ")[0], proxy
    assert proxy.is_alive(), proxy.stderr()
    assert proxy.stop() == 0
    peer.stop()


@pytest.fixture(params=VERSIONS)
def curl(request, upstream, tmp_path):
    """Asks the proxy over one version; gives the head with trailers, and the body."""

    def run(path: str, *arguments: str, content: bytes | None = None) -> tuple[str, bytes]:
        head = tmp_path / "head"
        asked = subprocess.run(
            ["curl", "-sS", VERSIONS[request.param], "-D", head, *arguments,
             upstream[1].url + path],
            check=True, timeout=TIMEOUT_S, input=content, stdout=subprocess.PIPE,
        )
        return head.read_text().lower(), asked.stdout

    return run


def test_requests_and_responses(curl, upstream):
    version = upstream[0]
    for length in (0, 5, 100_000):
        content = b"c" * length
        head, body = curl("/echo?a=b", "--data-binary", "@-", "-H", "X-One: 1", content=content)
        echo = json.loads(body)
        assert re.match(r"http/[\d.]+ 200", head)
        assert echo["Version"] == {"1.1": "HTTP/1.1", "2": "HTTP/2.0"}[version]
        assert (echo["Method"], echo["Target"]) == ("POST", "/echo?a=b")
        assert echo["Content"] == content.decode() and echo["ContentLength"] == length
        assert echo["Header"]["X-One"] == ["1"] and echo["Header"]["X-Forwarded-For"]


def test_uploads_without_a_length(curl):
    content = bytes(range(256)) * 20_000
    _, body = curl("/upload", "-T", "-", content=content)
    assert body.startswith(b"%d true -1" % len(content)), body


def test_trailers(curl):
    head, body = curl("/trailers?count=50")
    assert body == b"".join(str(n % 10).encode() * n for n in range(50))
    assert f"sum: {hashlib.sha256(body).hexdigest()}" in head and "count: 50" in head


def test_head_and_no_content(curl):
    head, body = curl("/download?length=5000", "-I")
    assert "content-length: 5000" in head and b"\0" not in body


def test_drips(upstream):
    """Each piece arrives before the next is made."""
    command = ["curl", "-sSN", upstream[1].url + "/slow?body=100"]
    began = time.monotonic()
    asking = [
        subprocess.Popen([*command, option], stdout=subprocess.PIPE)
        for option in VERSIONS.values()
    ]
    for process in asking:
        assert process.stdout.read(1) == b"x"
    first = time.monotonic() - began
    for process in asking:
        assert process.stdout.read() == b"x" * 9
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 0
    assert time.monotonic() - began > first + 0.3


def test_large_bodies_take_little_memory(curl, upstream, tmp_path):
    """128 MiB each way in less than 4 MB more than an octet each way."""
    pid = upstream[1].process.pid
    file = tmp_path / "large"
    file.write_bytes(b"x")
    curl("/download?length=1", "-o", "/dev/null")
    curl("/upload", "-T", str(file))
    peak = AnonymousPeak(pid)
    _, length = curl(f"/download?length={LARGE_LEN}", "-o", "/dev/null", "-w", "%{size_download}")
    assert length == b"%d" % LARGE_LEN
    with file.open("wb") as out:
        out.truncate(LARGE_LEN)
    _, body = curl("/upload", "-T", str(file))
    assert body.startswith(b"%d true %d" % (LARGE_LEN, LARGE_LEN)), body
    grown = peak.end()
    print(f"{upstream[0]}: {grown / 1e6:.1f} MB more")
    assert grown < 4_000_000


def test_an_upload_that_is_refused(upstream):
    """413 before the content has been read reaches the client (RFC 9113 section 8.1)."""
    server = upstream[1]
    with H2Client(server) as client:
        # So much that Go does not read it first.
        length = [("content-length", "10000000")]
        stream = client.request("/refuse", "POST", length, ends=False)
        client.data(stream, bytes(16_384))
        assert client.answer(stream).status == 413
    with Client(server, TIMEOUT_S) as client:
        client.send(b"POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n")
        client.send(bytes(16_384))
        assert client.response().status == 413
