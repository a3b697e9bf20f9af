"""Upstreams that mean no good: each harms the client that asked for it, and no
other, and holds the proxy neither for long nor with much memory."""

import threading
import time

import pytest
from conftest import Client, Server, wait_until
from processes import descriptor_count, memory_len
from raw_server import RawServer
from test_client_hostile import IRREGULAR_ROWS
from test_client_hostile import ROWS as CLIENT_ROWS
from test_framing import get
from wire_programs import built

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LONGEST_S = 5
LEAVES_S = 1.5  # who is sent something now and then for ever
ENOUGH_LEN = 4 << 20
# Where they lead to is no concern of a proxy, which passes them on as they are.
ROWS = [row for row in CLIENT_ROWS if row[3] != "redirect" and row[4] != "ConnectionRefused"]
MEMORY_LEN_MAX = 120_000_000
TIMES = {"head_timeout_ms": 1000, "idle_timeout_ms": 1000, "write_timeout_ms": 1000}


class Upstream:
    """Answers /good well, and /bad/N as row N of the client's hostile servers."""

    def __init__(self) -> None:
        self.handlers = [row[1] for row in ROWS]
        self.server = RawServer(self._serve)

    def _serve(self, connection) -> None:
        while head := connection.head():
            target = head.split(" ")[1]
            if target == "/good":
                connection.send(OK)
                continue
            # The handler reads the head again.
            connection.buffer = head.encode("latin-1") + b"\r\n" + connection.buffer
            return self.handlers[int(target.rsplit("/", 1)[1])](connection)


@pytest.fixture(scope="module")
def upstream():
    running = Upstream()
    yield running
    running.server.close()


@pytest.fixture(scope="module")
def proxy(upstream):
    options = [f"{name}={value}" for name, value in TIMES.items()]
    server = Server(built("proxy_server"), [f"upstream={upstream.server.url}", *options])
    yield server
    assert server.is_alive(), "the proxy died during the tests"
    assert server.stop() == 0


def good_every_time(proxy, until: threading.Event) -> list[float]:
    """Asks for what is good, again and again; gives how long each took."""
    took = []
    with Client(proxy, timeout=LONGEST_S) as client:
        while True:
            began = time.monotonic()
            client.send(get(b"/good"))
            answer = client.response()
            assert answer.body == b"ok", answer.head
            took.append(time.monotonic() - began)
            if until.wait(0.01):
                return took


def is_served(took: list[float]) -> bool:
    """Whom an attacker keeps waiting, waits for as long as it goes on; what a busy
    machine does to one of many is no news."""
    late = [one for one in took if one > 0.5]
    return not late or (len(late) == 1 and len(took) > 10)


def take(proxy, number: int) -> bytes:
    """Reads a bad response to its end, or until there is enough of it."""
    data = b""
    with Client(proxy, timeout=LONGEST_S) as client:
        client.send(get(b"/bad/%d" % number, b"Connection: close\r\n"))
        end = time.monotonic() + LEAVES_S
        while len(data) < ENOUGH_LEN and time.monotonic() < end:
            try:
                piece = client.sock.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            data += piece
    return data


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row[0] for row in ROWS])
def test_it_harms_no_client_but_its_own(proxy, number):
    done, others = threading.Event(), []
    watch = threading.Thread(target=lambda: others.append(good_every_time(proxy, done)))
    watch.start()
    began = time.monotonic()
    try:
        data = take(proxy, number)
    finally:
        took = time.monotonic() - began
        done.set()
        watch.join()
    name, _, _, phase, _ = ROWS[number]
    assert others and is_served(others[0]), (name, others)
    assert took < LONGEST_S, (name, took)
    assert data.startswith(b"HTTP/1.1 "), (name, data[:100])
    if phase == "read head":
        # Nothing of a head that breaks the rules is passed on; interim responses
        # before it are (RFC 9110 section 15.2).
        while data.startswith(b"HTTP/1.1 1"):
            data = data.partition(b"\r\n\r\n")[2]
        status = int(data.split(b" ")[1])
        assert status in (502, 504), (name, data[:100])
        assert b"\r\nProxy-Status: flare; error=" in data, data
    assert memory_len(proxy.process.pid, "VmHWM") < MEMORY_LEN_MAX, name


def test_nothing_is_left_of_them(proxy):
    """The connections to hostile upstreams are closed, all of them."""
    with Client(proxy) as client:
        client.send(get(b"/good"))
        assert client.response().body == b"ok"
    assert wait_until(lambda: descriptor_count(proxy.process.pid) < 30)


@pytest.mark.parametrize("row", IRREGULAR_ROWS, ids=[row[0] for row in IRREGULAR_ROWS])
def test_what_is_irregular_is_not_passed_on(start, row):
    """RFC 9112 section 2.2: a client may read it, but one in between that does
    is where two readers come to differ."""
    server = RawServer(lambda connection: (connection.head(), connection.send(row[1])))
    proxy = start("proxy_server", upstream=server.url)
    with Client(proxy) as client:
        client.send(get())
        answer = client.response()
    server.close()
    assert answer.status == 502
    assert answer.fields["proxy-status"] == "flare; error=http_protocol_error"
