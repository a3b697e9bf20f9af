"""The HTTP client over TLS, against servers that close."""

import json
import ssl
import subprocess
import threading
import time

import pytest
from conftest import wait_until
from ports import claim_port
from raw_server import Connection, RawServer

RUN_COUNT = 20
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def serving(certs, version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    context.maximum_version = version
    return context


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("length", [0, 1 << 20])
def test_a_server_that_requires_a_certificate_is_understood(
    fetcher, certs, version, length
):
    """Under TLS 1.3 the alert comes behind the handshake, and with it the end
    of the connection: what is written then fails, but the alert says why."""
    context = serving(certs, version)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certs / "root.pem")

    def refuse(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True):
            raise AssertionError("it has a certificate")

    server = RawServer(refuse)
    fetcher.client(ca_file=str(certs / "root.pem"))
    url = f"https://localhost:{server.port}/"
    request = {"url": url, "method": "POST", "octets": "x" * length}
    answers = [fetcher.ask(do="send", **request) for _ in range(RUN_COUNT)]
    requests = [json.dumps(request)] * RUN_COUNT
    answers += fetcher.ask(do="all", requests=requests)["results"]
    server.close()
    kinds = {(answer["kind"], answer.get("tls")) for answer in answers}
    assert kinds == {("TlsFailed", "ClientCertificateRequired")}, answers


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
@pytest.mark.parametrize("why", ["it is idle for too long", "it is not kept"])
def test_the_client_says_that_it_closes(fetcher, certs, version, protocol, why):
    """RFC 9112 section 9.8, RFC 8446 section 6.1: close_notify comes before the end,
    so that the server knows that nothing was cut off."""
    context = serving(certs, version)
    context.set_alpn_protocols([protocol])
    ends = []

    def answer(connection: Connection) -> None:
        stream = context.wrap_socket(
            connection.sock, server_side=True, suppress_ragged_eofs=False
        )
        with stream:
            if protocol == "h2":
                # SETTINGS, and in stream 1 a head that ends it: `:status` 200.
                stream.sendall(b"\0\0\0\4\0\0\0\0\0")
                stream.recv(65_536)
                stream.sendall(b"\0\0\1\1\5\0\0\0\1\x88")
            else:
                Connection(stream, 0).head()
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try:
                while stream.recv(65_536):
                    pass
                ends.append("close_notify")
            except ssl.SSLEOFError:
                ends.append("nothing")

    server = RawServer(answer)
    habits = {"idle_timeout_ms": 0} if why == "it is not kept" else {"idle_timeout_ms": 50}
    fetcher.client(ca_file=str(certs / "root.pem"), **habits)
    url = f"https://localhost:{server.port}/"
    assert fetcher.get(url).get("status") == 200
    if why != "it is not kept":
        time.sleep(0.1)
        assert fetcher.get(url).get("status") == 200
    assert wait_until(lambda: ends)
    server.close()
    assert ends[0] == "close_notify"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["one by one", "in a batch"])
def test_a_session_goes_on_though_the_server_closes(fetcher, certs, version, kind):
    """RFC 8446 section 2.2: a ticket outlives its connection."""
    context = serving(certs, version)
    resumed = []

    def close(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            resumed.append(stream.session_reused)
            Connection(stream, 0).head()
            stream.sendall(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
            )
            stream.unwrap()

    server = RawServer(close)
    fetcher.client(ca_file=str(certs / "root.pem"))
    request = {"url": f"https://localhost:{server.port}/"}
    if kind == "one by one":
        answers = [fetcher.ask(do="send", **request) for _ in range(3)]
    else:
        answers = fetcher.ask(
            do="all", requests=[json.dumps(request)] * 3, parallel=1
        )["results"]
    server.close()
    assert [answer.get("body") for answer in answers] == ["ok"] * 3, answers
    assert resumed == [False, True, True]


def test_a_refused_renegotiation_is_called_so(fetcher, certs):
    """RFC 9325 section 3.5. OpenSSL then answers handshake_failure, which is
    about suites in a first handshake alone."""
    port = claim_port()
    process = subprocess.Popen(
        [
            "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-tls1_2",
            "-cert", str(certs / "good_chain.pem"),
            "-cert_chain", str(certs / "good_chain.pem"),
            "-key", str(certs / "good.key"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said, answers = [], []

    def listen() -> None:
        for line in process.stdout:
            said.append(line)

    def ask() -> None:
        answers.append(fetcher.get(f"https://localhost:{port}/"))

    threading.Thread(target=listen, daemon=True).start()
    assert wait_until(lambda: any(b"ACCEPT" in line for line in said))
    fetcher.client(ca_file=str(certs / "root.pem"))
    asking = threading.Thread(target=ask)
    asking.start()
    assert wait_until(lambda: any(b"GET / HTTP" in line for line in said)), said
    process.stdin.write(b"r\n")
    process.stdin.flush()
    asking.join(20)
    process.kill()
    process.wait()
    assert answers and answers[0].get("tls") == "RenegotiationRefused", answers
    assert "renegotiation" in answers[0]["text"], answers
