"""The HTTPS server: clients, versions, certificates, records, ends."""

import shutil
import socket
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from https_client import (
    TIMEOUT_S,
    HttpsClient,
    Sealer,
    asked_to_renegotiate,
    trusting,
)

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSING = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture
def client(probe_tls, certs):
    with HttpsClient(probe_tls, trusting(certs)) as connection:
        yield connection


def s_client(server, *arguments: str, said: bytes = CLOSING):
    """Runs `openssl s_client` to its end."""
    return subprocess.run(
        [
            "openssl", "s_client", "-ign_eof", "-connect",
            f"127.0.0.1:{server.port}", *arguments,
        ],
        input=said,
        capture_output=True,
        timeout=TIMEOUT_S,
    )


@pytest.mark.parametrize(
    ("arguments", "is_served"),
    [
        (["-tls1_3"], True),
        (["-tls1_2"], True),
        (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], False),
        (["-tls1", "-cipher", "ALL:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "ECDHE+AES+SHA"], False),
        (["-tls1_2", "-cipher", "kRSA"], False),
        (["-alpn", "http/1.1"], True),
        (["-alpn", "spdy/3"], False),
        (["-servername", "elsewhere.test", "-no_ticket"], True),
    ],
)
def test_s_client(probe_tls, arguments, is_served):
    result = s_client(probe_tls, *arguments)
    assert (b"HTTP/1.1 200 OK" in result.stdout) == is_served, result
    if "http/1.1" in arguments:
        assert b"ALPN protocol: http/1.1" in result.stdout
    if not is_served:
        assert b"alert" in result.stderr, result.stderr
    else:
        # The end was announced.
        assert b"unexpected eof" not in result.stderr


def test_renegotiation_is_refused(probe_tls):
    result = asked_to_renegotiate(probe_tls.port)
    assert b"no renegotiation" in result.stderr, result.stderr


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_curl(probe_tls, certs, tmp_path, version):
    option = "--http2" if version == "2" else "--http1.1"
    url = f"https://localhost:{probe_tls.port}"
    sent = tmp_path / "sent"
    sent.write_bytes(bytes(range(256)) * 20_000)
    result = subprocess.run(
        [
            "curl", "-sS", option, "--cacert", certs / "root.pem",
            "-w", "%{num_connects} %{http_version}\n",
            "--data-binary", f"@{sent}", "-o", tmp_path / "got", f"{url}/upload",
            "--next", "-sS", option, "--cacert", certs / "root.pem",
            "-w", "%{num_connects} %{size_download}\n",
            "-o", "/dev/null", f"{url}/size/5000000",
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert result.stdout == f"1 {version}\n0 5000000\n", result.stderr
    assert (tmp_path / "got").read_bytes() == sent.read_bytes()


def test_httpx(probe_tls, certs):
    base = f"https://localhost:{probe_tls.port}"
    with httpx.Client(base_url=base, verify=trusting(certs)) as client:
        body = bytes(range(256)) * 10_000
        for _ in range(3):
            assert client.get("/tls").text == "https|True|-"
            assert client.post("/upload", content=body).content == body
            pieces = (body[at : at + 1000] for at in range(0, len(body), 1000))
            assert client.post("/upload", content=pieces).content == body
            assert len(client.get("/shared").content) == 1_000_000


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_go(probe_tls, certs, version):
    """Go's own client: parallel requests over few connections, and uploads."""
    result = subprocess.run(
        [
            "go", "run", Path(__file__).parent / "clients" / "https_client.go",
            f"https://localhost:{probe_tls.port}", certs / "root.pem", version,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.stdout == f"200 requests, TLS 1.3, {version}\n", result.stderr


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_keep_alive_and_pipelining(probe_tls, certs, version):
    context = trusting(certs, maximum_version=version)
    with HttpsClient(probe_tls, context) as client:
        for number in range(100):
            assert client.get(f"/greet/{number}").body == b"hi %d" % number
        client.send(REQUEST * 500)
        for _ in range(500):
            assert client.response().body == b"OK"


def test_pipelining_without_reading(client):
    """Responses stop the server from reading, and reading lets it go on."""
    client.send(b"GET /size/100000 HTTP/1.1\r\nHost: a\r\n\r\n" * 200)
    client.send(b"GET /shared HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
    for _ in range(200):
        assert len(client.response().body) == 100_000
    for _ in range(10):
        assert client.response().body == b"y" * 1_000_000


def test_slow_reader(probe_tls, certs):
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(TIMEOUT_S)
    raw.connect(("127.0.0.1", probe_tls.port))
    with trusting(certs).wrap_socket(raw, server_hostname="localhost") as tls:
        tls.sendall(b"GET /shared HTTP/1.1\r\nHost: a\r\n\r\n" + CLOSING)
        data = b""
        while piece := tls.recv(3001):
            data += piece
        assert b"y" * 1_000_000 in data and data.endswith(b"OK")


def test_silence_does_not_delay_others(probe_tls, certs):
    silent = [probe_tls.connect() for _ in range(500)]
    for half in silent[:100]:
        half.sendall(b"\x16\x03\x01\x02")
    with HttpsClient(probe_tls, trusting(certs), timeout=8) as client:
        assert client.get("/").body == b"OK"
    for each in silent:
        each.close()


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_split_at_every_octet(probe_tls, certs, client, version):
    """The last flight of the handshake with a request behind it, cut once."""
    context = trusting(certs, maximum_version=version)
    cut, length = 0, 1
    while cut < length:
        with probe_tls.connect(TIMEOUT_S) as sock:
            sealer = Sealer(sock, context)
            sock.sendall(sealer.hello())
            flight = sealer.answer()
            if version == "TLSv1_3":
                flight += sealer.seal(CLOSING)
            length = len(flight)
            sock.sendall(flight[:cut])
            # The server has read it when it answers somebody else.
            assert client.get("/").body == b"OK"
            sock.sendall(flight[cut:])
            if version == "TLSv1_2":
                assert sealer.answer() == b""
                sock.sendall(sealer.seal(CLOSING))
            data, is_announced = sealer.read_all()
            assert data.endswith(b"\r\n\r\nOK") and is_announced, cut
        cut += 1 if version == "TLSv1_3" else 7


def test_octet_by_octet(probe_tls, certs):
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        for octet in sealer.hello():
            sock.sendall(bytes([octet]))
        flight = sealer.answer() + sealer.seal(REQUEST + CLOSING)
        for octet in flight:
            sock.sendall(bytes([octet]))
        data, is_announced = sealer.read_all()
        assert data.count(b"HTTP/1.1 200 OK") == 2 and is_announced


@pytest.mark.parametrize("size", [1, 4_095, 4_097, 16_384, 16_385, 70_000])
@pytest.mark.parametrize("at_once", [1_000, 16_384, 1 << 20])
def test_record_larger_than_the_room(probe_tls, certs, client, size, at_once):
    """What does not fit into the input of a connection is not forgotten."""
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        body = bytes(i & 255 for i in range(size))
        head = f"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n"
        sock.sendall(sealer.seal(head.encode()))
        client.get("/")
        octets = sealer.seal(b"\r\n" + body + CLOSING)
        for at in range(0, len(octets), at_once):
            sock.sendall(octets[at : at + at_once])
        data, is_announced = sealer.read_all()
        assert body in data and data.endswith(b"OK") and is_announced


def test_chunked_upload_in_tiny_records(probe_tls, certs):
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        text = (
            b"POST /trailers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n6\r\n world\r\n0\r\nX-T: v\r\n\r\n"
        )
        octets = b"".join(sealer.seal(bytes([octet])) for octet in text)
        sock.sendall(octets)
        data, _ = sealer.read_all()
        assert data.endswith(b"hello world|X-T=v")


@pytest.mark.parametrize(
    ("verify", "identity", "subject"),
    [
        (None, None, "-"),
        (None, "client", "-"),
        ("optional", None, "-"),
        ("optional", "client", "O=flare,CN=a client"),
        ("required", "client", "O=flare,CN=a client"),
        ("required", None, None),
        ("optional", "strange_client", None),
    ],
)
@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_client_certificates(start_tls, certs, verify, identity, subject, version):
    rules = {"verify": verify, "client_ca": certs / "root.pem"} if verify else {}
    server = start_tls(**rules)
    context = trusting(certs, maximum_version=version)
    if identity:
        context.load_cert_chain(certs / f"{identity}.pem", certs / f"{identity}.key")
    if subject is None:
        with pytest.raises((ssl.SSLError, ConnectionError)) as raised:
            with HttpsClient(server, context) as client:
                client.get("/tls")
        assert "alert" in str(raised.value)
        return
    with HttpsClient(server, context) as client:
        assert client.get("/tls").body.decode() == f"https|True|{subject}"
        session = client.sock.session
    with HttpsClient(server, context, session=session) as client:
        assert client.sock.session_reused
        assert client.get("/tls").body.decode() == f"https|True|{subject}"


def test_certificate_by_name(start_tls, certs):
    server = start_tls("good_chain", "wild")
    for host, name in [("good.test", "good.test"), ("a.wild.test", "*.wild.test")]:
        with HttpsClient(server, trusting(certs), host) as client:
            assert ("DNS", name) in client.sock.getpeercert()["subjectAltName"]
            assert client.get("/").body == b"OK"


def test_no_tickets(start_tls, certs):
    server = start_tls(tickets="off")
    context = trusting(certs)
    with HttpsClient(server, context) as client:
        client.get("/")
        session = client.sock.session
    with HttpsClient(server, context, session=session) as client:
        assert not client.sock.session_reused


def is_closed_with_notice(client) -> bool:
    return client.sock.recv(100) == b""


def test_ends_are_announced(start_tls, certs):
    server = start_tls(idle_timeout_ms=200, max_keepalive_requests=3)
    context = trusting(certs)
    with HttpsClient(server, context) as client:
        client.get("/")
        assert is_closed_with_notice(client)  # idle for too long
    with HttpsClient(server, context) as client:
        client.get("/", "Connection: close")
        assert is_closed_with_notice(client)
    with HttpsClient(server, context) as client:
        for _ in range(3):
            client.get("/")
        assert is_closed_with_notice(client)  # enough requests
    with HttpsClient(server, context) as client:
        client.send(b"BAD\r\n\r\n")
        assert client.response().status == 400
        assert is_closed_with_notice(client)


@pytest.mark.parametrize("path", ["/", "/shared"])
def test_half_closed_client_is_answered(probe_tls, certs, path):
    """A close_notify ends one direction (RFC 8446 section 6.1)."""
    with probe_tls.connect(TIMEOUT_S) as sock:
        sealer = Sealer(sock, trusting(certs))
        sealer.shake()
        request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        sock.sendall(sealer.seal(request) + sealer.goodbye())
        raw = b""
        while piece := sock.recv(65536):
            raw += piece
        assert len(raw) > (1_000_000 if path == "/shared" else 150)


def test_end_without_notice(probe_tls, certs):
    """A whole request is answered; a cut one never reaches a handler."""
    body = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
    for octets, count in [(REQUEST, 1), (REQUEST + body, 1), (body, 0)]:
        with probe_tls.connect(TIMEOUT_S) as sock:
            sealer = Sealer(sock, trusting(certs))
            sealer.shake()
            sock.sendall(sealer.seal(octets))
            sock.shutdown(socket.SHUT_WR)
            data, _ = sealer.read_all()
            assert data.count(b"HTTP/1.1") == count


def test_openssl_is_loaded_by_https_alone(probe, probe_tls):
    def libraries(server) -> str:
        return Path(f"/proc/{server.process.pid}/maps").read_text()

    assert "libssl" in libraries(probe_tls)
    assert "libssl" not in libraries(probe)
    assert "libcrypto" not in libraries(probe)


def test_requests_of_many_connections(probe_tls, certs):
    context = trusting(certs)

    def ask(number: int) -> bytes:
        with HttpsClient(probe_tls, context) as client:
            client.get(f"/size/{number * 1000}")
            return client.get(f"/greet/{number}").body

    with ThreadPoolExecutor(16) as pool:
        bodies = list(pool.map(ask, range(100)))
    assert bodies == [b"hi %d" % number for number in range(100)]
