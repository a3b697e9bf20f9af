"""The TLS server side against `openssl s_client` and Python's ssl."""

import socket
import ssl
import subprocess

import pytest
from conftest import read_to
from https_client import asked_to_renegotiate
from processes import next_line

TIMEOUT_S = 10


@pytest.fixture
def echo(start, certs):
    """Starts the echo server with some certificates, by name."""

    def launch(*shown: str, **options):
        names = ["", "2"]
        for suffix, name in zip(names, shown or ("good_chain",)):
            key = name.removesuffix("_chain")
            options[f"cert{suffix}"] = certs / f"{name}.pem"
            options[f"key{suffix}"] = certs / f"{key}.key"
        return start("tls_echo", **options)

    return launch


def said(server) -> str:
    """Reads the next line that the server prints."""
    return next_line(server.process, TIMEOUT_S)


def context(certs) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=certs / "root.pem")
    return made


def talk(server, tls: ssl.SSLContext, host="localhost", session=None):
    """Sends and gets some octets; gives the socket, closed, for its facts."""
    raw = server.connect(TIMEOUT_S)
    with tls.wrap_socket(raw, server_hostname=host, session=session) as stream:
        stream.sendall(b"hello")
        assert read_to(stream, b"hello") == b"hello"
        facts = stream.selected_alpn_protocol(), stream.session, stream.getpeercert()
        stream.unwrap()
    return facts


def test_echo_and_resumption(echo, certs):
    server = echo(alpn="http/1.1")
    tls = context(certs)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    protocol, session, _ = talk(server, tls)
    assert protocol == "http/1.1"
    assert said(server) == "ok http/1.1 resumed=False localhost -"
    talk(server, tls, session=session)
    assert said(server) == "ok http/1.1 resumed=True localhost -"


def test_no_tickets(echo, certs):
    server = echo(tickets="off")
    tls = context(certs)
    _, session, _ = talk(server, tls)
    assert said(server) == "ok - resumed=False localhost -"
    talk(server, tls, session=session)
    assert said(server) == "ok - resumed=False localhost -"


def test_certificate_by_name(echo, certs):
    server = echo("good_chain", "wild")
    tls = context(certs)
    for host, name in [
        ("good.test", "good.test"),
        ("a.wild.test", "*.wild.test"),
        ("exact.wild.test", "exact.wild.test"),
    ]:
        _, _, shown = talk(server, tls, host)
        assert ("DNS", name) in shown["subjectAltName"]
        assert said(server) == f"ok - resumed=False {host} -"


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize(
    ("verify", "shown", "line"),
    [
        ("required", "client", "ok - resumed=False localhost O=flare,CN=a client"),
        ("required", None, "ClientCertificateRequired"),
        ("required", "strange_client", "UnknownIssuer"),
        ("optional", None, "ok - resumed=False localhost -"),
    ],
)
def test_client_certificates(echo, certs, version, verify, shown, line):
    server = echo(verify=verify, client_ca=certs / "root.pem")
    tls = context(certs)
    tls.maximum_version = ssl.TLSVersion[version]
    if shown:
        tls.load_cert_chain(certs / f"{shown}.pem", certs / f"{shown}.key")
    if line.startswith("ok"):
        talk(server, tls)
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            talk(server, tls)
    assert said(server) == line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-tls1_3"], "ok "),
        (["-tls1_2"], "ok "),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"], "ok "),
        (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "ProtocolVersionRefused"),
        (["-tls1", "-cipher", "ALL:@SECLEVEL=0"], "ProtocolVersionRefused"),
        (["-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"], "NoSharedCipher"),
        (["-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"], "NoSharedCipher"),
        (["-tls1_2", "-cipher", "ECDHE+AES+SHA"], "NoSharedCipher"),
        (["-tls1_2", "-cipher", "kRSA"], "NoSharedCipher"),
        (["-alpn", "h2"], "AlpnRefused"),
        (["-no_ticket", "-servername", "elsewhere.test"], "ok "),
    ],
)
def test_s_client(echo, arguments, line):
    server = echo("rsa" if "kRSA" in arguments else "good_chain", alpn="http/1.1")
    result = subprocess.run(
        [
            "openssl", "s_client", "-connect", f"127.0.0.1:{server.port}",
            *arguments,
        ],
        input=b"hello\n",
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert said(server).startswith(line)
    if line == "ok ":
        assert b"Secure Renegotiation IS" in result.stdout


@pytest.mark.parametrize(
    ("version", "line"), [("-tls1_2", "ProtocolVersionRefused"), ("-tls1_3", "ok ")]
)
def test_minimum_version(echo, version, line):
    server = echo(minimum="1.3")
    subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version],
        input=b"hello\n",
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert said(server).startswith(line)


def test_renegotiation_is_refused(echo):
    server = echo()
    result = asked_to_renegotiate(server.port)
    assert b"no renegotiation" in result.stderr, result.stderr
    assert not said(server).startswith("ok - resumed=True")


@pytest.mark.parametrize(
    ("octets", "line"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "PlainHttpRequest"),
        (b"DELETE /x HTTP/1.1\r\n\r\n", "PlainHttpRequest"),
        (b"\x00\x01\x02\x03\x04\x05\x06", "NotTls"),
        (b"", "ClosedEarly"),
        (b"\x16\x03\x01\x00", "ClosedEarly"),
    ],
)
def test_not_a_client(echo, octets, line):
    server = echo()
    with server.connect(TIMEOUT_S) as client:
        client.sendall(octets)
        client.shutdown(socket.SHUT_WR)
        assert said(server) == line


def test_silent_client(echo):
    server = echo()
    with server.connect(TIMEOUT_S):
        assert said(server) == "HandshakeTimeout"


def test_client_that_vanishes(echo, certs):
    """Writing to a peer that is gone ends in an error, not in a signal."""
    server = echo()
    tls = context(certs)
    for _ in range(3):
        stream = tls.wrap_socket(
            server.connect(TIMEOUT_S), server_hostname="localhost"
        )
        stream.sendall(b"z" * 200_000)
        # An abort: unread octets make the kernel send a reset.
        stream.close()
        assert said(server) in ("ClosedEarly", "ConnectionFailed")
    assert server.is_alive()
    talk(server, tls)
    assert said(server).startswith("ok ")
