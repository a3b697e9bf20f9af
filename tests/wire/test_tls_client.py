"""The TLS client against `openssl s_server`, Python's ssl, and worse."""

import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import built, wait_until
from ports import claim_port
from ready import accepted

TIMEOUT_S = 20


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def s_server(certs):
    """Starts `openssl s_server`; it answers GET with a page."""
    running = []

    def start(*arguments: str, shown: str = "good_chain") -> int:
        port = claim_port()
        key = shown.removesuffix("_chain")
        process = subprocess.Popen(
            [
                "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-www",
                "-cert", str(certs / f"{shown}.pem"),
                "-cert_chain", str(certs / f"{shown}.pem"),
                "-key", str(certs / f"{key}.key"),
                *[str(argument) for argument in arguments],
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        running.append(process)
        assert wait_until(lambda: accepts(port) or process.poll() is not None)
        assert process.poll() is None, process.stderr.read().decode()
        return port

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("shown", "host", "outcome"),
    [
        ("good_chain", "localhost", "ok TLSv1.3 TLS_AES_"),
        ("good_chain", "127.0.0.1", "ok TLSv1.3 TLS_AES_"),
        ("rsa", "localhost", "ok TLSv1.3"),
        ("wild", "a.wild.test", "ok TLSv1.3"),
        ("expired", "localhost", "CertificateExpired: TLS with localhost: "),
        ("early", "localhost", "CertificateNotYetValid: TLS with localhost: "),
        ("other", "localhost", "WrongHost: TLS with localhost: "),
        ("other", "127.0.0.1", "WrongHost: TLS with 127.0.0.1: "),
        ("self_signed", "localhost", "SelfSigned: TLS with localhost: "),
        ("strange_chain", "localhost", "UnknownIssuer: TLS with localhost: "),
        ("strange", "localhost", "UnknownIssuer: TLS with localhost: "),
        ("good", "localhost", "IncompleteChain: TLS with localhost: "),
    ],
)
def test_certificates(tls_client, s_server, certs, shown, host, outcome):
    port = s_server(shown=shown)
    lines = tls_client(host, port, at="127.0.0.1", ca=certs / "root.pem")
    assert len(lines) == 1 and lines[0].startswith(outcome), lines


def test_revoked(tls_client, s_server, certs):
    options = {"ca": certs / "root.pem", "crl": certs / "revocations.pem"}
    good = tls_client("localhost", s_server(), at="127.0.0.1", **options)
    assert good[0].startswith("ok "), good
    port = s_server(shown="revoked")
    revoked = tls_client("localhost", port, at="127.0.0.1", **options)
    assert revoked[0].startswith("CertificateRevoked: "), revoked


@pytest.mark.parametrize(
    ("arguments", "shown", "outcome"),
    [
        (["-tls1_3"], "good_chain", "ok TLSv1.3 "),
        (["-tls1_2"], "good_chain", "ok TLSv1.2 ECDHE-ECDSA-AES"),
        (["-tls1_2"], "rsa", "ok TLSv1.2 ECDHE-RSA-AES"),
        (
            ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "good_chain",
            "ProtocolVersionRefused: ",
        ),
        (
            ["-tls1", "-cipher", "ALL:@SECLEVEL=0"], "good_chain",
            "ProtocolVersionRefused: ",
        ),
        # Without encryption, without authentication, without forward secrecy,
        # without AEAD. (Export suites are not in OpenSSL any more: see
        # tests/tls/test_error.mojo.)
        (
            ["-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"], "good_chain",
            "NoSharedCipher: ",
        ),
        (
            ["-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"], "good_chain",
            "NoSharedCipher: ",
        ),
        (
            ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], "rsa",
            "NoSharedCipher: ",
        ),
        (
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], "good_chain",
            "NoSharedCipher: ",
        ),
    ],
)
def test_versions_and_suites(tls_client, s_server, certs, arguments, shown, outcome):
    port = s_server(*arguments, shown=shown)
    lines = tls_client("localhost", port, at="127.0.0.1", ca=certs / "root.pem")
    assert lines[0].startswith(outcome), lines


@pytest.mark.parametrize(
    ("version", "minimum", "outcome"),
    [
        ("-tls1_2", {}, "ok TLSv1.2 "),
        ("-tls1_2", {"minimum": "1.3"}, "ProtocolVersionRefused: "),
        ("-tls1_3", {"minimum": "1.3"}, "ok TLSv1.3 "),
    ],
)
def test_minimum_version(tls_client, s_server, certs, version, minimum, outcome):
    port = s_server(version)
    lines = tls_client("127.0.0.1", port, ca=certs / "root.pem", **minimum)
    assert lines[0].startswith(outcome), lines


@pytest.mark.parametrize(
    ("spoken", "offered", "outcome"),
    [
        ("http/1.1", "h2,http/1.1", " http/1.1 resumed"),
        ("h2,http/1.1", "h2,http/1.1", " h2 resumed"),
        ("h2", "http/1.1", "AlpnRefused: "),
        (None, "http/1.1", " - resumed"),
    ],
)
def test_protocols(tls_client, s_server, certs, spoken, offered, outcome):
    port = s_server(*(["-alpn", spoken] if spoken else []))
    options = {"ca": certs / "root.pem", "alpn": offered}
    lines = tls_client("localhost", port, at="127.0.0.1", **options)
    assert outcome in lines[0], lines


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_resumption(tls_client, s_server, certs, version):
    port = s_server(version)
    lines = tls_client("127.0.0.1", port, times=3, ca=certs / "root.pem")
    resumed = [line.split()[4] for line in lines]
    assert resumed == ["resumed=False", "resumed=True", "resumed=True"], lines


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ("client", "ok "),
        (None, "ClientCertificateRequired: "),
        ("strange_client", "CertificateRefused: "),
    ],
)
def test_client_certificates(tls_client, s_server, certs, version, shown, outcome):
    port = s_server(
        version, "-Verify", "2", "-CAfile", certs / "root.pem",
        "-verify_return_error",
    )
    options = {"ca": certs / "root.pem", "at": "127.0.0.1"}
    if shown:
        options |= {
            "cert": certs / f"{shown}.pem", "key": certs / f"{shown}.key"
        }
    lines = tls_client("localhost", port, **options)
    assert lines[0].startswith(outcome), lines


class RawServer:
    """A server that does one thing to each connection, in a thread."""

    def __init__(self, treat) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.treat = treat
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        for connection in accepted(self.listener):
            try:
                self.treat(connection)
            except OSError:
                connection.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


@pytest.fixture
def raw():
    running = []

    def start(treat) -> int:
        running.append(RawServer(treat))
        return running[-1].port

    yield start
    for server in running:
        server.close()


def python_context(certs: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    return context


def answer(stream: ssl.SSLSocket, body: bytes) -> None:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += stream.recv(4096)
    stream.sendall(body)


def test_python_server(tls_client, raw, certs):
    context = python_context(certs)
    context.set_alpn_protocols(["http/1.1"])

    def treat(connection):
        with context.wrap_socket(connection, server_side=True) as stream:
            answer(stream, b"x" * 300_000)
            stream.unwrap()

    options = {"ca": certs / "root.pem", "alpn": "http/1.1", "times": 2}
    lines = tls_client("127.0.0.1", raw(treat), **options)
    assert len(lines) == 2
    assert lines[0].endswith(" http/1.1 resumed=False 300000"), lines
    assert lines[1].endswith(" http/1.1 resumed=True 300000"), lines


@pytest.mark.parametrize("host,name", [("localhost", "localhost"), ("127.0.0.1", None)])
def test_the_host_is_named(tls_client, raw, certs, host, name):
    """RFC 6066 section 3: always, unless it is an address."""
    names = []
    context = python_context(certs)
    context.sni_callback = lambda _, name, __: names.append(name)

    def treat(connection):
        with context.wrap_socket(connection, server_side=True) as stream:
            answer(stream, b"ok")
            stream.unwrap()

    lines = tls_client(host, raw(treat), at="127.0.0.1", ca=certs / "root.pem")
    assert lines[0].startswith("ok "), lines
    assert names == [name]


def test_python_server_cut_off(tls_client, raw, certs):
    context = python_context(certs)

    def treat(connection):
        stream = context.wrap_socket(connection, server_side=True)
        answer(stream, b"half of it")
        stream.close()

    lines = tls_client("127.0.0.1", raw(treat), ca=certs / "root.pem")
    assert lines[0].startswith("ClosedEarly: TLS with 127.0.0.1: "), lines


def test_python_server_octet_by_octet(tls_client, raw, certs):
    context = python_context(certs)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()

    def treat(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session = context.wrap_bio(incoming, outgoing, server_side=True)

        def send():
            for octet in outgoing.read():
                connection.sendall(bytes([octet]))

        def repeat(step):
            while True:
                try:
                    result = step()
                    send()
                    return result
                except ssl.SSLWantReadError:
                    send()
                    incoming.write(connection.recv(4096))

        repeat(session.do_handshake)
        repeat(lambda: session.read(4096))
        session.write(b"y" * 20_000)
        send()
        repeat(session.unwrap)
        connection.close()

    lines = tls_client("127.0.0.1", raw(treat), ca=certs / "root.pem")
    assert lines[0].endswith(" 20000"), lines


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "NotTls: "),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "NotTls: "),
        (b"", "ClosedEarly: "),
        (b"\x16\x03\x03", "ClosedEarly: "),
        (b"\x15\x03\x01\x00\x02\x02\x46", "ProtocolVersionRefused: "),
        (b"\x16\x03\x03\xff\xff" + b"\0" * 70_000, "ProtocolViolation: "),
    ],
)
def test_not_a_server(tls_client, raw, certs, said, outcome):
    def treat(connection):
        connection.recv(4096)
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            continue
        connection.close()

    lines = tls_client("127.0.0.1", raw(treat), ca=certs / "root.pem")
    assert lines[0].startswith(outcome), lines


def test_silent_server(tls_client, raw, certs):
    done = threading.Event()
    port = raw(lambda connection: done.wait(TIMEOUT_S))
    lines = tls_client("127.0.0.1", port, timeout_ms=200, ca=certs / "root.pem")
    done.set()
    assert lines[0].startswith("HandshakeTimeout: "), lines
    assert "within 200 ms" in lines[0]


def test_dripping_server(tls_client, raw, certs):
    """The deadline is for the whole handshake, not for each octet."""
    done = threading.Event()

    def treat(connection):
        header = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"
        for octet in header + b"\0" * 500:
            connection.sendall(bytes([octet]))
            if done.wait(0.02):
                return

    port = raw(treat)
    lines = tls_client("127.0.0.1", port, timeout_ms=300, ca=certs / "root.pem")
    done.set()
    assert lines[0].startswith("HandshakeTimeout: "), lines


def test_nobody_listens(tls_client, certs):
    lines = tls_client("127.0.0.1", claim_port(), ca=certs / "root.pem")
    assert lines[0].startswith("ConnectionFailed: TLS with 127.0.0.1: ")


def test_tls_is_there_to_the_end_of_a_program():
    """Threads that nobody has joined may speak TLS while main has ended."""
    program = built("tls_client")
    done = subprocess.run([program, "at_exit"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.stdout, done.stderr, done.returncode) == ("ok\nok\n", "", 0)
