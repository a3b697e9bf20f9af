"""ReverseProxy to upstreams over TLS: whom it trusts, what it asks for and shows,
and what the client learns of a refusal (RFC 9110 section 4.3.4, RFC 9209)."""

import ssl
import threading
import time

import pytest
from conftest import Client
from raw_server import Connection, RawServer, answering

GET = b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
WAIT_S = 10


def showing(certs, name: str = "good_chain") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(
        certs / f"{name}.pem", certs / f"{name.removesuffix('_chain')}.key"
    )
    return context


def over_tls(context: ssl.SSLContext, handle):
    """Makes a handler of connections of one that speaks within TLS."""

    def run(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            handle(Connection(stream, connection.number))

    return run


@pytest.fixture
def proxied_tls(start):
    """Starts an upstream over TLS and a proxy to it; gives both."""
    upstreams = []

    def launch(context, handle=None, host: str = "localhost", **config):
        upstream = RawServer(over_tls(context, handle or answering(OK)))
        upstreams.append(upstream)
        url = f"https://{host}:{upstream.port}"
        return upstream, start("proxy_server", upstream=url, **config)

    yield launch
    for upstream in upstreams:
        upstream.close()


def ask(server, request: bytes = GET):
    with Client(server) as client:
        client.send(request)
        return client.response()


def test_an_authority_of_ones_own(proxied_tls, certs):
    upstream, server = proxied_tls(showing(certs), ca=certs / "root.pem")
    for _ in range(3):
        assert ask(server).body == b"ok"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("kept", [0, 1])
def test_a_connection_whose_protocol_was_asked_for_is_the_requests(proxied_tls, certs, kept):
    """Also where none is kept."""
    upstream, server = proxied_tls(
        showing(certs), ca=certs / "root.pem", max_idle_connections=kept
    )
    assert ask(server).body == b"ok"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("length", [100, 100_000, 3_000_000])
def test_content_both_ways(proxied_tls, certs, length):
    def echo(_: str, content: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (
            len(content), content
        )

    _, server = proxied_tls(
        showing(certs), answering(echo), ca=certs / "root.pem", max_body_size=1 << 24
    )
    content = bytes(range(256)) * (length // 256 + 1)
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(content)
    with Client(server, WAIT_S) as client:
        client.send(request + content)
        assert client.response().body == content


@pytest.mark.parametrize(
    ("name", "host", "options", "reason"),
    [
        # Without `ca` the system's authorities count, which this one is not of.
        ("good_chain", "localhost", {}, "which is not trusted here"),
        ("expired", "localhost", {"ca": "root"}, " expired at "),
        ("strange_chain", "localhost", {"ca": "root"}, "which is not trusted here"),
        # RFC 9110 section 4.3.4: the certificate is for other names.
        ("other", "localhost", {"ca": "root"}, "the certificate is for "),
        ("self_signed", "localhost", {"ca": "root"}, "is signed by itself"),
    ],
)
def test_certificates_that_are_refused(proxied_tls, certs, name, host, options, reason):
    """Attempts follow one another at once, and each looks the name up on a thread:
    its pipe may get the number of one that the attempt before has closed."""
    seen = []
    options = {key: certs / f"{value}.pem" for key, value in options.items()}
    _, server = proxied_tls(
        showing(certs, name),
        lambda c: seen.append(c.head()),
        host,
        max_attempts=5,
        **options,
    )
    response = ask(server)
    assert response.status == 502
    assert response.fields["proxy-status"] == "flare; error=tls_certificate_error"
    assert b"certificate" in response.body
    log = server.stderr()
    assert "cannot connect: " in log and reason in log and "answered with 502" in log
    # RFC 9110 section 4.3.4: nothing of the request gets there.
    assert not any(seen)


@pytest.mark.parametrize("name", ["expired", "self_signed", "other"])
def test_verification_may_be_switched_off(proxied_tls, certs, name):
    _, server = proxied_tls(showing(certs, name), insecure=1)
    assert ask(server).body == b"ok"


def test_what_is_no_tls_is_told(start):
    upstream = RawServer(lambda connection: connection.send(b"SSH-2.0-server\r\n"))
    server = start("proxy_server", upstream=f"https://localhost:{upstream.port}")
    response = ask(server)
    upstream.close()
    assert response.status == 502
    assert response.fields["proxy-status"] == "flare; error=tls_protocol_error"


@pytest.mark.parametrize(("host", "asked"), [("localhost", "localhost"), ("127.0.0.1", None)])
def test_the_upstreams_name_is_asked_for(proxied_tls, certs, host, asked):
    """RFC 6066 section 3: the name of the URL, not the client's Host; no address."""
    names = []
    context = showing(certs)
    context.sni_callback = lambda _, name, __: names.append(name)
    _, server = proxied_tls(context, host=host, ca=certs / "root.pem")
    assert ask(server).body == b"ok"
    assert names == [asked]


@pytest.mark.parametrize("shown", [True, False])
def test_a_certificate_of_the_proxy(proxied_tls, certs, shown):
    context = showing(certs)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certs / "root.pem")
    subjects = []

    def handle(connection: Connection) -> None:
        subjects.append(connection.sock.getpeercert()["subject"])
        answering(OK)(connection)

    options = {"shown_cert": certs / "client.pem"} if shown else {}
    _, server = proxied_tls(context, handle, ca=certs / "root.pem", **options)
    response = ask(server)
    if shown:
        assert response.body == b"ok" and len(subjects) == 1
    else:
        # RFC 8446 section 4.4.2: under TLS 1.3 it is refused behind the handshake.
        assert response.status == 502 and subjects == []
        assert "TLS has failed" in server.stderr()


@pytest.mark.parametrize("length", [131_000, 196_500, 262_000])
def test_health_checks_send_what_waits(start, certs, length):
    """What TLS has sealed and the socket has not taken goes when it takes more.

    TLS seals 64 KiB at a time; with one of the lengths the last of them is more
    than there is room for on the way, which is 64 to 256 KiB.
    """
    context = showing(certs)
    # Without tickets, which would make the connection readable.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    whole = threading.Event()

    def handle(connection: Connection) -> None:
        first = connection.take(20)
        if first.startswith(b"GET /h"):
            # The rest has been taken by then, and waits on the way.
            time.sleep(0.5)
        connection.buffer = first + connection.buffer
        if connection.head().startswith("GET /h"):
            whole.set()
        connection.send(OK)

    upstream = RawServer(over_tls(context, handle))
    # Little room on the way, whatever the system's defaults are.
    upstream.limit_room()
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem",
        health_path_len=length, health_interval_ms=60_000, health_timeout_ms=20_000,
    )
    assert ask(server).body == b"ok"
    assert whole.wait(WAIT_S)
    upstream.close()
