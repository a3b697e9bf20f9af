"""Content that a `ReverseProxy` sends on from where it was received, since all of it
was there with the head: an upstream that takes it slowly, answers in its middle, or
closes; RFC 9110 sections 7.5 and 9.2.2, RFC 9112 section 9."""

import threading
from collections.abc import Callable

import pytest
from conftest import Client, read_to
from h2_client import H2Client
from processes import stopped
from raw_server import Connection, RawServer, reset_at_close

WAIT_S = 20
# Longer than what the way to an upstream takes at once, and short enough to be
# received at once.
CONTENT = b"".join(b"%07d\n" % number for number in range(15_000))
# What a client may have sent before it hears anything of the server: what is not
# there at once cannot be sent twice.
SHORT = CONTENT[:60_000]
OTHER = b"-" * len(CONTENT)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234"


def put(path: str = "/", content: bytes = CONTENT) -> bytes:
    head = f"PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def send_at_once(server, client: Client, octets: bytes) -> None:
    """Has all octets received by one call."""
    with stopped(server.process.pid):
        client.send(octets)


def assert_serves(server) -> None:
    """The server has looked at all that came before, too, when it answers this."""
    with Client(server, WAIT_S) as other:
        other.send(b"GET /own HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.response().body == b"answered here"


class Uploads:
    """Upstreams that note the content of what they are sent."""

    def __init__(self, act: Callable[[Connection, str], bool] | None = None) -> None:
        """Acts on each head before its content; True to go on with that."""
        self.act = act
        self.got: list[bytes] = []

    def __call__(self, connection: Connection) -> None:
        while head := connection.head():
            if self.act and not self.act(connection, head):
                return
            self.got.append(connection.body(head))
            connection.send(OK)


@pytest.fixture
def narrow(start):
    """Starts upstreams with little room on the way to them, and a proxy to all."""
    upstreams = []

    def launch(*handlers, **config):
        own = [RawServer(handle) for handle in handlers]
        upstreams.extend(own)
        for upstream in own:
            upstream.limit_room(100)
        urls = ",".join(upstream.url for upstream in own)
        return own, start("proxy_server", upstream=urls, **config)

    yield launch
    for upstream in upstreams:
        upstream.close()


def test_a_slow_upstream_gets_all(narrow):
    go_on = threading.Event()

    def handle(connection: Connection) -> None:
        assert go_on.wait(WAIT_S)
        uploads(connection)

    uploads = Uploads()
    _, server = narrow(handle)
    with Client(server, WAIT_S) as client:
        send_at_once(server, client, put())
        assert_serves(server)
        go_on.set()
        assert client.response().body == b"ok"
        send_at_once(server, client, put(content=OTHER))
        assert client.response().body == b"ok"
    assert uploads.got == [CONTENT, OTHER]


def test_a_slow_upstream_of_a_client_of_http2(narrow):
    go_on = threading.Event()

    def handle(connection: Connection) -> None:
        assert go_on.wait(WAIT_S)
        uploads(connection)

    uploads = Uploads()
    _, server = narrow(handle)
    with H2Client(server, timeout=WAIT_S) as client:
        length = [("content-length", str(len(SHORT)))]
        with stopped(server.process.pid):
            stream = client.request(method="PUT", fields=length, ends=False)
            client.upload(stream, SHORT)
        assert_serves(server)
        go_on.set()
        assert client.answer(stream).body == b"ok"
    assert uploads.got == [SHORT]


def test_an_answer_begins_in_the_middle(narrow):
    """RFC 9110 section 7.5: the rest goes on behind the head of the response,
    whatever becomes of the memory that it was received in."""
    go_on = threading.Event()

    def act(connection: Connection, head: str) -> bool:
        if head.startswith("PUT /first "):
            connection.send(BEGUN)
            assert go_on.wait(WAIT_S)
            uploads.got.append(connection.body(head))
            connection.send(b"56789")
            return bool(connection.head())
        return True

    uploads = Uploads(act)
    (upstream,), server = narrow(uploads)
    with Client(server, WAIT_S) as client:
        send_at_once(server, client, put("/first"))
        read_to(client.sock, b"\r\n\r\n1234")
        for _ in range(3):
            with Client(server, WAIT_S) as other:
                send_at_once(server, other, put("/other", OTHER))
                assert other.response().body == b"ok"
        go_on.set()
        assert read_to(client.sock, b"56789") == b"56789"
    assert uploads.got == [OTHER, OTHER, OTHER, CONTENT]
    assert upstream.connection_count == 2


def test_an_answer_ends_in_the_middle(narrow):
    """RFC 9112 section 9.3: a connection with a request that was cut carries no
    other."""

    def act(connection: Connection, head: str) -> bool:
        if head.startswith("PUT /first "):
            connection.send(OK)
            # What is taken now would make room for the rest.
            answered.wait(WAIT_S)
            return False
        return True

    answered = threading.Event()
    uploads = Uploads(act)
    (upstream,), server = narrow(uploads)
    with Client(server, WAIT_S) as client:
        send_at_once(server, client, put("/first"))
        assert client.response().body == b"ok"
        answered.set()
        send_at_once(server, client, put("/other", OTHER))
        assert client.response().body == b"ok"
    assert uploads.got == [OTHER]
    assert upstream.connection_count == 2


def test_another_upstream_gets_all_again(narrow):
    """RFC 9110 section 9.2.2: PUT may be sent twice, and is sent whole."""

    def act(connection: Connection, head: str) -> bool:
        cut.append(connection.take(1_000))
        connection.reset()
        return False

    cut = []
    uploads = Uploads()
    _, server = narrow(Uploads(act), uploads)
    for count in range(1, 5):
        with Client(server, WAIT_S) as client:
            send_at_once(server, client, put(content=SHORT))
            assert client.response().body == b"ok"
        assert uploads.got == [SHORT] * count
        if cut:
            break
    assert cut == [SHORT[:1_000]]


def test_a_new_connection_gets_all_again(narrow):
    """RFC 9112 section 9.3.1: one that was idle has closed in the middle."""

    def act(connection: Connection, head: str) -> bool:
        if head.startswith("PUT /cut ") and not cut:
            cut.append(connection.take(1_000))
            connection.reset()
            return False
        return True

    cut = []
    uploads = Uploads(act)
    (upstream,), server = narrow(uploads)
    for path, content in (("/", OTHER[: len(SHORT)]), ("/cut", SHORT)):
        with Client(server, WAIT_S) as client:
            send_at_once(server, client, put(path, content))
            assert client.response().body == b"ok"
        assert uploads.got.pop() == content
    assert len(cut) == 1 and upstream.connection_count == 2


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_client_goes_in_the_middle(narrow, has_begun):
    """What the upstream has got by then is the beginning of the content, and the
    connection ends."""
    asked, ended = threading.Event(), threading.Event()
    go_on = threading.Event()
    got = []

    def act(connection: Connection, head: str) -> bool:
        if not head.startswith("PUT /first "):
            return True
        if has_begun:
            connection.send(BEGUN)
        asked.set()
        assert go_on.wait(WAIT_S)
        try:
            got.append(connection.body(head))
        except (EOFError, ConnectionResetError):
            got.append(connection.buffer)
        ended.set()
        return False

    uploads = Uploads(act)
    _, server = narrow(uploads)
    with Client(server, WAIT_S) as client:
        send_at_once(server, client, put("/first"))
        assert asked.wait(WAIT_S)
        if has_begun:
            read_to(client.sock, b"\r\n\r\n1234")
        reset_at_close(client.sock)
    for _ in range(3):
        with Client(server, WAIT_S) as other:
            send_at_once(server, other, put("/other", OTHER))
            assert other.response().body == b"ok"
    go_on.set()
    assert ended.wait(WAIT_S)
    assert CONTENT.startswith(got[0]) and uploads.got == [OTHER] * 3
