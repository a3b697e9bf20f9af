"""Logins from a netrc file: to whom they go, and to whom not."""

import base64
import ssl

import pytest
from raw_server import Connection, RawServer, answering
from test_client_hostile import sized
from test_client_digest import fields_of

TEXT = "machine a.test login me password 1\nmachine b.test login you password 2\n"
DEFAULT = "default login any password 0\n"


def basic(login: str) -> list[str]:
    return ["Basic " + base64.b64encode(login.encode()).decode()]


class Origin:
    """Answers as it is told by the path, and keeps what it was given."""

    def __init__(self) -> None:
        self.logins: list[list[str]] = []
        self.server = RawServer(answering(self._answer))
        self.port = self.server.port

    def _answer(self, head: str, _: bytes) -> bytes:
        self.logins.append(fields_of(head, "authorization"))
        target = head.split(" ")[1]
        if "?" not in target:
            return sized(b"done")
        location = target.split("?", 1)[1].encode()
        return (
            b"HTTP/1.1 307 x\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % location
        )

    def url(self, host: str, to: str = "") -> str:
        return f"http://{host}:{self.port}/" + (f"?{to}" if to else "")


@pytest.fixture
def origin():
    running = Origin()
    yield running
    running.server.close()


@pytest.fixture
def start(fetcher, tmp_path, origin):
    def make(text: str, **options) -> None:
        path = tmp_path / "netrc"
        path.write_text(text)
        path.chmod(0o600)
        names = ("a.test", "b.test", "c.test")
        pins = {f"{name}:{origin.port}": "127.0.0.1" for name in names}
        fetcher.client(netrc=str(path), pins=pins, **options)

    return make


def test_each_host_has_its_own(fetcher, start, origin):
    start(TEXT)
    for host in ("a.test", "b.test", "c.test"):
        assert fetcher.get(origin.url(host))["status"] == 200
    assert origin.logins == [basic("me:1"), basic("you:2"), []]
    start(TEXT + DEFAULT)
    assert fetcher.get(origin.url("c.test"))["status"] == 200
    assert origin.logins[-1] == basic("any:0")


def test_nothing_is_read_unasked(fetcher, origin):
    fetcher.client(pins={f"a.test:{origin.port}": "127.0.0.1"})
    assert fetcher.get(origin.url("a.test"))["status"] == 200
    assert origin.logins == [[]]


def test_what_is_given_wins(fetcher, start, origin):
    start(TEXT)
    own = {"Authorization": "Own x"}
    assert fetcher.get(origin.url("a.test"), headers=own)["status"] == 200
    at = origin.url("a.test").replace("//", "//he:3@")
    assert fetcher.get(at)["status"] == 200
    # Whose password is wanted, and whose is not known.
    for user in ("me", "he"):
        at = origin.url("a.test").replace("//", f"//{user}@")
        assert fetcher.get(at)["status"] == 200
    start(TEXT, user="client", password="4")
    assert fetcher.get(origin.url("a.test"))["status"] == 200
    assert origin.logins == [["Own x"]] + [
        basic(login) for login in ("he:3", "me:1", "he:", "client:4")
    ]


def test_redirections_bring_the_next_host_its_own(fetcher, start, origin):
    """Neither the last one's, nor what is for all."""
    start(TEXT + DEFAULT)
    there = origin.url("b.test", origin.url("c.test"))
    assert fetcher.get(origin.url("a.test", there))["redirects"] == 2
    assert origin.logins == [basic("me:1"), basic("you:2"), []]
    origin.logins.clear()
    own = {"Authorization": "Own x"}
    answer = fetcher.get(origin.url("c.test", origin.url("a.test")), headers=own)
    assert answer["redirects"] == 1
    assert origin.logins == [["Own x"], basic("me:1")]


def test_within_one_origin_a_redirection_changes_nothing(fetcher, start, origin):
    start(TEXT)
    assert fetcher.get(origin.url("a.test", "/"))["redirects"] == 1
    assert origin.logins == [basic("me:1")] * 2


def test_a_way_out_of_tls_brings_none(fetcher, start, origin, certs):
    """Whoever stands on that way would read it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    away = b"HTTP/1.1 307 x\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"

    def answer(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            inner = Connection(stream, connection.number)
            while inner.head():
                inner.send(away % origin.url("a.test").encode())

    server = RawServer(answer)
    start(TEXT, ca_file=str(certs / "root.pem"))
    assert fetcher.get(f"https://localhost:{server.port}/")["status"] == 200
    # Nor if he who stands there sends the request on.
    away = away.replace(b"%s", origin.url("c.test", "%s").encode())
    assert fetcher.get(f"https://localhost:{server.port}/")["redirects"] == 2
    server.close()
    assert origin.logins == [[], [], []]
