"""Hosts whose addresses the program gives: all else is as if DNS had said so."""

import ssl

import pytest
from raw_server import Connection, RawServer, answering


def echo(head: str, content: bytes) -> bytes:
    text = head.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)


@pytest.fixture(scope="module")
def origin():
    server = RawServer(answering(echo))
    yield server
    server.close()


def test_pinned_hosts(fetcher, origin):
    """Like curl's --resolve; the port of the pin has to be the URL's."""
    fetcher.client(
        pins={f"a.test:{origin.port}": "127.0.0.1", "b.test:1": "127.0.0.1"}
    )
    answer = fetcher.get(f"http://a.test:{origin.port}/x")
    assert f"\r\nHost: a.test:{origin.port}\r\n" in answer["body"]
    assert fetcher.get(f"http://b.test:{origin.port}/")["phase"] == "resolve"
    fetcher.client(pins={"b.test": "127.0.0.1"})
    assert fetcher.get(f"http://b.test:{origin.port}/")["status"] == 200


def test_addresses_are_tried_in_turn(fetcher, origin):
    fetcher.client(pins={"a.test": "127.0.0.250 127.0.0.1"})
    assert fetcher.get(f"http://a.test:{origin.port}/")["status"] == 200


def test_a_resolver_of_its_own(fetcher, origin):
    fetcher.client(resolves="svc")
    answer = fetcher.get(f"http://svc:{origin.port}/")
    assert f"\r\nHost: svc:{origin.port}\r\n" in answer["body"]
    answer = fetcher.get("http://broken.test/")
    assert answer["phase"] == "resolve"
    assert "the directory is closed" in answer["text"]
    assert fetcher.get("http://no-such.test/")["phase"] == "resolve"
    # The system is asked for others.
    assert fetcher.get(f"http://localhost:{origin.port}/")["status"] == 200


def test_names_and_certificates_stay(fetcher, certs):
    """RFC 6066 section 3, RFC 9110 section 4.3.4: SNI and the certificate are
    about the URL's host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    asked = []
    context.sni_callback = lambda _sock, name, _context: asked.append(name)

    def secure(connection: Connection) -> None:
        connection.sock = context.wrap_socket(connection.sock, server_side=True)
        answering(echo)(connection)

    server = RawServer(secure)
    ca_file = str(certs / "root.pem")
    fetcher.client(
        pins={"localhost": "127.0.0.1", "other.test": "127.0.0.1"},
        ca_file=ca_file,
    )
    answer = fetcher.get(f"https://localhost:{server.port}/")
    assert answer["status"] == 200, answer
    answer = fetcher.get(f"https://other.test:{server.port}/")
    server.close()
    assert (answer["phase"], answer["kind"]) == ("tls", "TlsFailed"), answer
    assert asked == ["localhost", "other.test"]
