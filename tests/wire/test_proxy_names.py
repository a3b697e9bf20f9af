"""Names of upstreams that are looked up again and again, and the age of connections:
each test fails if its option is ignored."""

import os
import threading
import time

import pytest
from conftest import Client, wait_until
from raw_server import Connection, RawServer
from test_proxy_http2_upstream import Upstream

WAIT_S = 10


def get(path: str = "/") -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode()


def ask(server, path: str = "/"):
    with Client(server, WAIT_S) as client:
        client.send(get(path))
        return client.response()


def telling(content: bytes):
    def handle(connection: Connection) -> None:
        while connection.head():
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content))
            connection.send(content)

    return handle


def telling_http2(content: bytes):
    def handle(connection: Connection) -> None:
        peer = Upstream(connection)
        peer.begin()
        while True:
            peer.answer(peer.request(), content)

    return handle


class Zone:
    """What addresses the name `app` has, and servers that have them."""

    def __init__(self, path) -> None:
        self.path = path
        self.servers: dict[str, RawServer] = {}

    def listen(self, handle, *addresses: str) -> None:
        """Has a server at each address, all on one port; each tells its address."""
        for _ in range(20):
            try:
                port = 0
                for address in addresses:
                    server = RawServer(handle(address.encode()), at=(address, port))
                    self.servers[address] = server
                    port = server.port
                self.port = port
                return
            except OSError:
                # Somebody has the port at one of the addresses.
                self.close()
        raise OSError("there is no port for all")

    def set(self, *addresses: str) -> None:
        line = " ".join(("app", *addresses)) if addresses else "other 127.0.0.1"
        new = self.path.with_suffix(".new")
        new.write_text(line)
        os.replace(new, self.path)

    def close(self) -> None:
        for server in self.servers.values():
            server.close()


@pytest.fixture
def zone(tmp_path):
    made = Zone(tmp_path / "zone")
    yield made
    made.close()


def proxy(start, zone: Zone, **config):
    options = {"zone": zone.path, "lookup_interval_ms": 50, **config}
    return start("proxy_server", upstream=f"http://app:{zone.port}", **options)


def members(server) -> dict[str, str]:
    """The state of each address."""
    found = {}
    for line in ask(server, "/figures").body.decode().split("\n"):
        if line.startswith("flare_upstream_up{") and 'address="' in line:
            found[line.split('address="')[1].split('"')[0]] = line.split('state="')[1].split('"')[0]
    return found


def until_known(server, *addresses: str) -> None:
    assert ask(server).status == 200
    assert wait_until(lambda: set(members(server)) == set(addresses))


@pytest.mark.parametrize("handle", [telling, telling_http2])
def test_all_addresses_share_the_requests(start, zone, handle):
    zone.listen(handle, "127.0.0.2", "127.0.0.3")
    zone.set("127.0.0.2", "127.0.0.3")
    server = proxy(start, zone, http2_prior_knowledge=int(handle is telling_http2))
    until_known(server, "127.0.0.2", "127.0.0.3")
    bodies = [ask(server).body for _ in range(10)]
    assert bodies.count(b"127.0.0.2") == bodies.count(b"127.0.0.3") == 5


@pytest.mark.parametrize("handle", [telling, telling_http2])
@pytest.mark.parametrize("workers", [1, 2])
def test_changes_are_followed_under_traffic(start, zone, handle, workers):
    zone.listen(handle, "127.0.0.2", "127.0.0.3", "127.0.0.4")
    zone.set("127.0.0.2", "127.0.0.3")
    server = proxy(
        start, zone, workers=workers, http2_prior_knowledge=int(handle is telling_http2)
    )
    until_known(server, "127.0.0.2", "127.0.0.3")
    with Client(server, WAIT_S) as client:

        def bodies() -> set[bytes]:
            found = set()
            for _ in range(4):
                client.send(get())
                found.add(client.response().body)
            return found

        assert bodies() == {b"127.0.0.2", b"127.0.0.3"}
        zone.set("127.0.0.3", "127.0.0.4")
        assert wait_until(lambda: bodies() == {b"127.0.0.3", b"127.0.0.4"})
        assert set(members(server)) == {"127.0.0.3", "127.0.0.4"}


def test_what_goes_may_finish(start, zone):
    asked, go_on = threading.Event(), threading.Event()

    def handle(content: bytes):
        def wait(connection: Connection) -> None:
            while head := connection.head():
                if "/slow" in head:
                    asked.set()
                    go_on.wait(WAIT_S)
                connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + content)

        return wait

    zone.listen(handle, "127.0.0.2", "127.0.0.3")
    zone.set("127.0.0.2")
    server = proxy(start, zone)
    until_known(server, "127.0.0.2")
    with Client(server, WAIT_S) as client:
        client.send(get("/slow"))
        assert asked.wait(WAIT_S)
        zone.set("127.0.0.3")
        assert wait_until(
            lambda: members(server) == {"127.0.0.2": "draining", "127.0.0.3": "up"}
        )
        go_on.set()
        assert client.response().body == b"127.0.0.2"
    assert wait_until(lambda: set(members(server)) == {"127.0.0.3"})


def test_an_address_that_fails_is_left_out(start, zone):
    zone.listen(telling, "127.0.0.2")
    zone.set("127.0.0.2", "127.0.0.3")
    server = proxy(start, zone, failures_to_eject=1)
    until_known(server, "127.0.0.2", "127.0.0.3")
    assert {ask(server).body for _ in range(6)} == {b"127.0.0.2"}
    assert members(server) == {"127.0.0.2": "up", "127.0.0.3": "ejected"}


def test_a_name_without_an_answer_keeps_its_addresses(start, zone):
    zone.listen(telling, "127.0.0.2")
    zone.set("127.0.0.2")
    server = proxy(start, zone)
    until_known(server, "127.0.0.2")
    zone.set()
    assert wait_until(lambda: "keeps the addresses it has" in server.stderr())
    assert ask(server).body == b"127.0.0.2"


def test_addresses_without_a_place_are_logged(start, zone):
    """Once for each change."""
    zone.listen(telling, "127.0.0.2")
    many = [f"127.0.1.{number}" for number in range(1, 71)]
    zone.set(*many)
    server = proxy(start, zone)

    def lines() -> list[str]:
        return [line for line in server.stderr().split("\n") if "of which" in line]

    assert ask(server).status == 502
    assert wait_until(lambda: len(lines()) == 1)
    assert lines()[0].endswith(
        f"proxy: http://app:{zone.port} has 70 addresses, of which 64 get requests:"
        " a group has at most 64 upstreams"
    )
    zone.set("127.0.0.2")
    assert wait_until(lambda: set(members(server)) == {"127.0.0.2"})
    zone.set(*many)
    assert wait_until(lambda: len(lines()) == 2)


def test_no_interval_is_one_upstream(start, zone):
    """Whose name is looked up for each connection."""
    zone.listen(telling, "127.0.0.2", "127.0.0.3")
    zone.set("127.0.0.2", "127.0.0.3")
    server = proxy(start, zone, lookup_interval_ms=0, max_idle_connections=0)
    assert {ask(server).body for _ in range(4)} == {b"127.0.0.2"}
    assert members(server) == {}
    zone.set("127.0.0.3")
    assert {ask(server).body for _ in range(4)} == {b"127.0.0.3"}


@pytest.mark.parametrize(("age_ms", "is_replaced"), [(200, True), (0, False)])
@pytest.mark.parametrize("handle", [telling, telling_http2])
def test_a_connection_has_an_age(start, zone, handle, age_ms, is_replaced):
    """However much traffic it has."""
    zone.listen(handle, "127.0.0.1")
    upstream = zone.servers["127.0.0.1"]
    server = start(
        "proxy_server", upstream=upstream.url, max_connection_age_ms=age_ms,
        http2_prior_knowledge=int(handle is telling_http2),
    )
    until = time.monotonic() + 0.9
    while time.monotonic() < until:
        assert ask(server).status == 200
    assert (upstream.connection_count > 2) == is_replaced
    assert upstream.connection_count < 20
