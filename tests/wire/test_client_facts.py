"""What a response tells of its connection, and of the time it took."""

import hashlib
import ssl
import threading
from pathlib import Path

import pytest
from client_asker import KINDS, meet
from conftest import START_TIMEOUT_S
from raw_http2 import answering_all, speaking
from raw_server import Connection, RawServer, answering
from test_client_hostile import sized

SECOND_NS = 1_000_000_000


def peers(server: RawServer, handle) -> list[tuple]:
    """Notes the addresses of both ends of each connection."""
    seen: list[tuple] = []

    def note(connection: Connection) -> None:
        here, there = connection.sock.getsockname(), connection.sock.getpeername()
        seen.append((f"{here[0]}:{here[1]}", f"{there[0]}:{there[1]}"))
        handle(connection)

    server.handle = note
    return seen


@pytest.mark.parametrize("h2c", [False, True])
@pytest.mark.parametrize("by", KINDS)
def test_addresses_and_reuse(asker, by, h2c):
    server = RawServer(answering(sized(b"done")))
    handle = speaking(answering_all) if h2c else server.handle
    seen = peers(server, handle)
    meet(asker, h2c)
    first = asker.get(server.url + "/a", by=by)
    second = asker.get(server.url + "/b", by=by)
    server.close()
    assert first["version"] == ("HTTP/2.0" if h2c else "HTTP/1.1")
    assert [(first["remote"], first["local"])] == seen
    assert (second["remote"], second["local"]) == seen[0]
    assert (first["reused"], second["reused"]) == (False, True)
    # Without TLS there is nothing of it.
    assert first["tls"].strip() == "" and "certificate" not in first
    resolve_ns, connect_ns, proxy_ns, tls_ns = first["times"]
    assert resolve_ns >= 0 and 0 < connect_ns < first["head_ns"]
    assert (proxy_ns, tls_ns) == (0, 0)
    # They are the connection's; the head's time is the request's own.
    assert second["times"] == first["times"]
    assert 0 < second["head_ns"] < START_TIMEOUT_S * SECOND_NS


def test_the_time_to_the_head_is_the_servers(asker):
    held = threading.Event()

    def handle(connection: Connection) -> None:
        while connection.head():
            held.wait(0.3)
            connection.send(sized(b"done"))

    server = RawServer(handle)
    meet(asker)
    got = asker.get(server.url)
    server.close()
    assert got["head_ns"] >= 0.29 * SECOND_NS, got
    assert got["times"][1] < got["head_ns"]


def test_a_unix_socket_has_no_addresses(asker, tmp_path):
    path = tmp_path / "s"
    server = RawServer(answering(sized(b"done")), path)
    meet(asker)
    got = asker.get("http+unix://" + str(path).replace("/", "%2F") + "/")
    server.close()
    assert (got["remote"], got["local"], got["status"]) == ("", "", 200)


@pytest.mark.parametrize("kind", ["1.2", "1.3"])
def test_tls_facts(asker, certs: Path, kind):
    version = ssl.TLSVersion.TLSv1_2 if kind == "1.2" else ssl.TLSVersion.TLSv1_3
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    context.set_alpn_protocols(["http/1.1"])
    context.minimum_version = context.maximum_version = version
    ciphers = []

    def handle(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            ciphers.append(stream.cipher()[0])
            inner = Connection(stream, connection.number)
            while inner.head():
                inner.send(sized(b"done"))

    server = RawServer(handle)
    meet(asker, ca_file=str(certs / "root.pem"))
    got = asker.get(f"https://localhost:{server.port}/")
    server.close()
    assert got["status"] == 200, got
    # OpenSSL has names of its own for the suites of TLS 1.2.
    protocol, cipher, alpn = got["tls"].split(" ")
    assert (protocol, alpn) == (f"TLSv{kind}", "http/1.1")
    assert cipher.replace("-", "_").endswith(ciphers[0].replace("-", "_")[-10:])
    assert got["resumed"] is False
    resolve_ns, connect_ns, _, tls_ns = got["times"]
    assert connect_ns > 0 and tls_ns > 0
    assert resolve_ns + connect_ns + tls_ns < got["head_ns"]
    pem = (certs / "good.pem").read_text()
    octets = ssl.PEM_cert_to_DER_cert(pem[: pem.index("-----END") + 26].strip() + "\n")
    known = ssl._ssl._test_decode_cert(str(certs / "good.pem"))
    subject, issuer, before, after, names, addresses, digest = got["certificate"]
    assert digest == hashlib.sha256(octets).hexdigest()
    alternatives = known["subjectAltName"]
    assert names.split(",") == [value for key, value in alternatives if key == "DNS"]
    assert len(addresses.split(",")) == sum(
        key == "IP Address" for key, _ in alternatives
    )
    name = dict(pair for part in known["subject"] for pair in part).get("commonName")
    assert not name or f"CN={name}" in subject
    assert issuer and issuer != subject
    assert after.endswith(" UTC") and known["notAfter"].split()[3] == after[:4]
    assert before.endswith(" UTC") and known["notBefore"].split()[3] == before[:4]


def test_a_resumed_session_is_told(asker, certs: Path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    resumed = []

    def handle(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            resumed.append(stream.session_reused)
            inner = Connection(stream, connection.number)
            inner.head()
            inner.send(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            stream.unwrap()

    server = RawServer(handle)
    meet(asker, ca_file=str(certs / "root.pem"))
    answers = [asker.get(f"https://localhost:{server.port}/") for _ in range(2)]
    server.close()
    assert [answer["resumed"] for answer in answers] == resumed == [False, True]
    # The certificate was shown in the first one, and is kept with the ticket.
    assert answers[0]["certificate"] == answers[1]["certificate"]
    assert not answers[1]["reused"]
