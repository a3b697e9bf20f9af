"""One connection of HTTP/2 for all threads that share a client: who may join it,
what one thread does to the others, and what becomes of them when it ends."""

import socket
import ssl
import threading
from collections import Counter

import pytest
from conftest import wait_until
from h2_frames import (
    ACK,
    HEADERS,
    INTERNAL_ERROR,
    MAX_STREAMS,
    PING,
    RST_STREAM,
    Frame,
    frame,
)
from h2_hpack import Decoder
from raw_http2 import Http2Peer
from raw_server import Connection, RawServer, answering, end_has_arrived
from ready import ready
from test_client_hostile import sized
from test_client_shared import sharer  # noqa: F401

MUCH = 6_000_000


class Peer(Http2Peer):
    """Answers PING, which asks for a server that was silent when a request was
    given up."""

    def read(self) -> Frame:
        got = super().read()
        if got.kind == PING and not got.flags & ACK:
            self.send(frame(PING, ACK, 0, got.payload))
        return got


def speaking(handle, *pairs):
    """Makes a handler of connections for `RawServer`."""

    def run(connection: Connection) -> None:
        peer = Peer(connection)
        peer.begin(*pairs)
        handle(peer)

    return run


class Asked:
    """Counts what servers were asked, by path, over all their connections."""

    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, peer: Http2Peer, head: Frame) -> tuple[int, str]:
        """Takes a request that has come; its stream and its path."""
        if not hasattr(peer, "decoder"):
            peer.decoder = Decoder()
        path = dict(peer.decoder.decode(head.payload))[":path"]
        with self._lock:
            self.paths[path] += 1
        return head.stream, path

    def next(self, peer: Http2Peer) -> tuple[int, str]:
        """Reads up to the next request."""
        return self.note(peer, peer.until(HEADERS))

    def answer_all(self, peer: Http2Peer) -> None:
        """Answers every request with its path."""
        while True:
            stream, path = self.next(peer)
            peer.answer(stream, f"{path}|".encode())


def check_idle(figures: dict, count: int) -> None:
    found = figures["idle"], figures["busy"], figures["waiting"]
    assert found == (count, 0, 0), figures


@pytest.mark.parametrize("way", ["tls", "clear"])
def test_all_threads_share_one_connection(sharer, probe, probe_tls, certs, way):
    if way == "tls":
        url = f"https://localhost:{probe_tls.port}"
        sharer.client(ca_file=str(certs / "root.pem"))
    else:
        url = probe.url
        sharer.client(h2c=1)
    lines = sharer.run(url + "/line/{}", 16, count=50)
    assert [line["ok"] for line in lines] == [50] * 16, lines
    figures = sharer.figures()
    check_idle(figures, 1)
    assert (figures["opened"], figures["reused"]) == (1, 799)


def test_it_is_found_while_it_is_in_use(sharer):
    """Its requests overlap: the server answers when it has all of them."""
    asked = Asked()

    def handle(peer: Http2Peer) -> None:
        streams = [asked.next(peer) for _ in range(12)]
        for stream, path in reversed(streams):
            peer.answer(stream, f"{path}|".encode())
        peer.drain()

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    lines = sharer.run(server.url + "/{}", 12)
    assert [line["ok"] for line in lines] == [1] * 12, lines
    check_idle(sharer.figures(), 1)
    server.close()
    assert server.connection_count == 1


@pytest.mark.parametrize("way", ["hold", "open"])
def test_who_takes_nothing_holds_nobody(sharer, probe, way):
    """Five streams stand with their windows full, which are more than that of
    the connection; the others go on, big and small."""
    sharer.client(h2c=1)
    sharer.tell(do="gate", open=0)
    # More than a stream's window; the server keeps no more than this for each.
    length = 1_300_000
    slow = f"{probe.url}/size/{length}"
    sharer.tell(do="move", way=way, url=slow, threads=5)
    assert wait_until(lambda: sharer.tell(do="held")["held"] == 5)
    lines = sharer.run(probe.url + "/line/{}", 8, count=25)
    assert [line["ok"] for line in lines] == [25] * 8, lines
    sharer.tell(do="move", way="get", url=slow, threads=2)
    assert [line["length"] for line in sharer.lines(2)] == [length] * 2
    assert sharer.tell(do="held")["held"] == 5
    sharer.tell(do="gate", open=1)
    lines = sharer.lines(5)
    assert [line["length"] for line in lines] == [length] * 5, lines
    figures = sharer.figures()
    check_idle(figures, 1)
    assert figures["opened"] == 1


def test_much_goes_both_ways_at_once(sharer, probe):
    sharer.client(h2c=1)
    upload = f"{probe.url}/upload"
    sharer.tell(do="move", way="upload", url=upload, threads=4, length=MUCH)
    download = f"{probe.url}/size/{MUCH}"
    sharer.tell(do="move", way="get", url=download, threads=4, id=4)
    sharer.start(probe.url + "/line/{}", threads=4, id=8, count=50)
    lines = sorted(sharer.lines(12), key=lambda line: line["id"])
    assert [line.get("length", line.get("ok")) for line in lines] == (
        [MUCH] * 8 + [50] * 4
    ), lines
    figures = sharer.figures()
    check_idle(figures, 1)
    assert figures["opened"] == 1


def test_hooks_may_use_the_same_client(sharer, probe):
    sharer.client(h2c=1)
    inner = probe.url + "/line"
    lines = sharer.run(probe.url + "/line/{}", 8, count=20, inner_url=inner)
    assert [line["ok"] for line in lines] == [20] * 8, lines
    assert sharer.figures()["opened"] == 1


def test_a_sink_that_raises_ends_its_own_request(sharer, probe):
    sharer.client(h2c=1)
    sharer.start(probe.url + "/line/{}", threads=4, id=10, count=50)
    url = f"{probe.url}/size/{MUCH}"
    sharer.tell(do="move", way="fail", url=url, threads=3)
    lines = sorted(sharer.lines(7), key=lambda line: line["id"])
    for line in lines[:3]:
        assert line["length"] == -1 and "no room here" in line["text"], lines
    assert [line["ok"] for line in lines[3:]] == [50] * 4, lines
    figures = sharer.figures()
    check_idle(figures, 1)
    assert figures["opened"] == 1


def test_batches_and_threads_share_a_client(sharer, probe):
    sharer.client(h2c=1, per_host=2)
    sharer.start(probe.url + "/line/{}", threads=6, count=60)
    for _ in range(5):
        done = sharer.tell(do="all", url=probe.url + "/", count=40)
        assert done == {"all": 40}
    lines = sharer.lines(6)
    assert [line["ok"] for line in lines] == [60] * 6, lines
    figures = sharer.figures()
    assert figures["opened"] <= 2 and figures["timed_out"] == 0, figures
    check_idle(figures, figures["opened"])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_goaway_in_the_middle(sharer, method):
    """RFC 9113 section 6.8: what the server has not begun with is sent again, on
    one other connection, and what it has begun with is not."""
    asked = Asked()
    served = []

    def handle(peer: Http2Peer) -> None:
        if peer.connection.number > 1:
            asked.answer_all(peer)
        streams = [asked.next(peer) for _ in range(9)]
        peer.goaway(streams[3][0])
        for stream, path in streams[:4]:
            served.append(path)
            peer.answer(stream, f"{path}|".encode())
        peer.drain()

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    lines = sharer.run(server.url + "/{}", 9, method=method)
    assert [line["ok"] for line in lines] == [1] * 9, lines
    check_idle(sharer.figures(), 1)
    server.close()
    assert server.connection_count == 2
    assert all(asked.paths[path] == 1 for path in served)
    assert sum(asked.paths.values()) == 9 + 5


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("per_host", [1, 2, 64])
def test_few_streams(sharer, most, per_host):
    """More connections as far as they may be; the rest waits, in turn."""
    asked = Asked()
    at_once = []

    def has_more(connection: Connection) -> bool:
        return bool(connection.buffer or ready([connection.sock], 0.002))

    def handle(peer: Http2Peer) -> None:
        """Answers once all streams are in use, or nobody asks for more."""
        waiting = []
        while True:
            if not waiting or (len(waiting) < most and has_more(peer.connection)):
                got = peer.read()
                if got.kind == HEADERS:
                    waiting.append(asked.note(peer, got))
                continue
            at_once.append(len(waiting))
            for stream, path in waiting:
                peer.answer(stream, f"{path}|".encode())
            waiting = []

    server = RawServer(speaking(handle, (MAX_STREAMS, most)))
    sharer.client(h2c=1, per_host=per_host)
    lines = sharer.run(server.url + "/{}", 9, count=20)
    figures = sharer.figures()
    server.close()
    assert [line["ok"] for line in lines] == [20] * 9, lines
    assert max(at_once) <= most
    assert server.connection_count == figures["opened"] <= min(per_host, 9)
    check_idle(figures, figures["opened"])
    assert set(asked.paths.values()) == {1}


def test_a_reset_ends_each_with_its_own_error(sharer):
    asked = Asked()

    def handle(peer: Http2Peer) -> None:
        if peer.connection.number > 1:
            asked.answer_all(peer)
        for _ in range(7):
            asked.next(peer)
        peer.connection.reset()

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    lines = sharer.run(server.url + "/{}", 7, method="POST")
    assert [line["ok"] for line in lines] == [0] * 7, lines
    kinds = {line["kind"] for line in lines}
    assert kinds <= {"ConnectionReset", "NoResponse"}, lines
    for line in lines:
        assert f"/{line['id']}-0" in line["text"]
    check_idle(sharer.figures(), 0)
    assert set(asked.paths.values()) == {1}
    # All is as before.
    lines = sharer.run(server.url + "/{}", 7, count=5)
    assert [line["ok"] for line in lines] == [5] * 7, lines
    check_idle(sharer.figures(), 1)
    server.close()
    assert server.connection_count == 2


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("end", ["cancel", "timeout", "reset"])
def test_the_end_of_one_is_not_that_of_others(sharer, end, is_first):
    """The first one waits for the connection, and the others for the first."""
    asked = Asked()
    kinds = {"cancel": "Cancelled", "timeout": "Timeout", "reset": "StreamReset"}

    def handle(peer: Http2Peer) -> None:
        streams = {}
        for _ in range(5):
            stream, path = asked.next(peer)
            streams[path] = stream
        own = streams.pop("/0-0")
        if end == "reset":
            peer.reset(own, INTERNAL_ERROR)
        else:
            assert peer.until(RST_STREAM).stream == own
        for path, stream in streams.items():
            peer.answer(stream, f"{path}|".encode())
        asked.answer_all(peer)

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    more = {"request_ms": 1_000} if end == "timeout" else {}
    one = {"apart": 1, "method": "POST", **more}
    others = {"threads": 4, "id": 10}
    orders = [one, others] if is_first else [others, one]
    for options in orders:
        count = asked.paths.total() + options.get("threads", 1)
        sharer.start(server.url + "/{}", **options)
        assert wait_until(lambda: asked.paths.total() == count)
    if end == "cancel":
        sharer.tell(do="cancel apart")
    # Who tells of its end first is the threads' affair.
    line, *lines = sorted(sharer.lines(5), key=lambda line: line["id"])
    assert (line["id"], line.get("kind")) == (0, kinds[end]), line
    assert [line["ok"] for line in lines] == [1] * 4, lines
    lines = sharer.run(server.url + "/{}", 4, id=20, count=5)
    assert [line["ok"] for line in lines] == [5] * 4, lines
    check_idle(sharer.figures(), 1)
    server.close()
    assert server.connection_count == 1


def test_the_first_one_may_go_while_others_wait(sharer):
    """Who has opened the connection, and has waited for it alone, is gone: one
    of the others waits for it from then on."""
    asked = Asked()
    arrived = threading.Event()

    def handle(peer: Http2Peer) -> None:
        first = asked.next(peer)
        arrived.set()
        streams = [asked.next(peer) for _ in range(5)]
        peer.answer(first[0], f"{first[1]}|".encode())
        # The first thread has its answer, and nobody else.
        assert gone.wait(10)
        for stream, path in streams:
            peer.answer(stream, f"{path}|".encode())
        peer.drain()

    gone = threading.Event()
    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    sharer.start(server.url + "/{}", id=1)
    assert arrived.wait(10)
    sharer.start(server.url + "/{}", id=2, threads=5)
    assert sharer.line()["id"] == 1
    gone.set()
    lines = sharer.lines(5)
    assert [line["ok"] for line in lines] == [1] * 5, lines
    server.close()
    assert server.connection_count == 1


class SlowTls:
    """A server whose handshakes wait until the test lets them go on."""

    def __init__(self, certs, protocol: str, handle) -> None:
        self.may_go = threading.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chain, key = certs / "good_chain.pem", certs / "good.key"
        self._context.load_cert_chain(str(chain), str(key))
        self._context.set_alpn_protocols([protocol])
        self._handle = handle
        self.server = RawServer(self._run)
        port = self.server.url.rsplit(":", 1)[1]
        self.url = f"https://localhost:{port}"

    def _run(self, connection: Connection) -> None:
        assert self.may_go.wait(15)
        connection.sock = self._context.wrap_socket(
            connection.sock, server_side=True
        )
        self._handle(connection)


def test_who_comes_meanwhile_waits_for_the_first_dial(sharer, certs):
    asked = Asked()
    slow = SlowTls(certs, "h2", speaking(asked.answer_all))
    sharer.client(ca_file=str(certs / "root.pem"))
    sharer.start(slow.url + "/{}", threads=8)
    assert wait_until(lambda: sharer.figures()["waiting"] == 7)
    figures = sharer.figures()
    assert (figures["busy"], figures["opened"]) == (1, 1)
    slow.may_go.set()
    lines = sharer.lines(8)
    assert [line["ok"] for line in lines] == [1] * 8, lines
    slow.server.close()
    assert slow.server.connection_count == 1
    figures = sharer.figures()
    assert (figures["opened"], figures["reused"], figures["waited"]) == (1, 7, 7)


def test_the_first_dial_may_choose_another_version(sharer, certs):
    """Then each has one of its own, and nobody waits the next time."""
    slow = SlowTls(certs, "http/1.1", answering(sized(b"x")))
    sharer.client(ca_file=str(certs / "root.pem"))
    sharer.start(slow.url, threads=4)
    assert wait_until(lambda: sharer.figures()["waiting"] == 3)
    assert wait_until(lambda: slow.server.connection_count == 1)
    slow.may_go.set()
    lines = sharer.lines(4)
    assert [line["ok"] for line in lines] == [1] * 4, lines
    sharer.tell(do="close")
    slow.may_go.clear()
    sharer.start(slow.url, threads=4)
    assert wait_until(lambda: sharer.figures()["busy"] == 4)
    assert sharer.figures()["waiting"] == 0
    slow.may_go.set()
    assert [line["ok"] for line in sharer.lines(4)] == [1] * 4
    slow.server.close()


def test_who_cannot_wait_for_the_dial_opens_its_own(sharer, certs):
    """`queue_timeout_ms` is not for what may be had at once, and neither is
    `max_waiting`."""
    asked = Asked()
    slow = SlowTls(certs, "h2", speaking(asked.answer_all))
    sharer.client(
        ca_file=str(certs / "root.pem"), queue_ms=100, max_waiting=2
    )
    sharer.start(slow.url + "/{}", threads=5)
    assert wait_until(lambda: sharer.figures()["busy"] == 5)
    slow.may_go.set()
    lines = sharer.lines(5)
    assert [line["ok"] for line in lines] == [1] * 5, lines
    figures = sharer.figures()
    assert (figures["timed_out"], figures["refused"]) == (0, 0)
    slow.server.close()


def test_the_first_dial_may_fail(sharer, certs):
    """Each of the others then goes on by itself."""
    asked = Asked()

    def handle(connection: Connection) -> None:
        if connection.number > 1:
            speaking(asked.answer_all)(connection)

    slow = SlowTls(certs, "h2", handle)
    real = slow._run

    def run(connection: Connection) -> None:
        if connection.number == 1:
            assert slow.may_go.wait(15)
            connection.reset()
            return
        real(connection)

    slow.server.handle = run
    sharer.client(ca_file=str(certs / "root.pem"))
    sharer.start(slow.url + "/{}", threads=6, method="POST")
    assert wait_until(lambda: sharer.figures()["waiting"] == 5)
    slow.may_go.set()
    lines = sharer.lines(6)
    assert sum(line["ok"] for line in lines) >= 5, lines
    figures = sharer.figures()
    assert (figures["busy"], figures["waiting"]) == (0, 0), figures
    slow.server.close()


def test_an_end_that_nobody_has_read_is_seen_by_who_comes(sharer):
    """One has an open response, and reads nothing, so nobody waits for the
    connection: what has become of it is looked at before it is joined."""
    asked, ends, has_ended = Asked(), threading.Event(), threading.Event()

    def handle(peer: Http2Peer) -> None:
        stream, path = asked.next(peer)
        if path != "/held":
            peer.answer(stream, f"{path}|".encode())
            return asked.answer_all(peer)
        peer.head(stream)
        ends.wait(20)
        # Nobody reads this either, and the end stands behind it.
        peer.data(stream, b"x", ends=False)
        peer.connection.sock.shutdown(socket.SHUT_WR)
        assert wait_until(lambda: end_has_arrived(peer.connection.sock))
        has_ended.set()
        return peer.drain()

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    sharer.tell(do="gate", open=0)
    sharer.tell(do="move", way="open", url=server.url + "/held", threads=1, id=9)
    assert wait_until(lambda: sharer.tell(do="held")["held"] == 1)
    ends.set()
    assert has_ended.wait(10)
    lines = sharer.run(server.url + "/{}", 1, method="POST")
    assert [line["ok"] for line in lines] == [1], lines
    sharer.tell(do="gate", open=1)
    assert sharer.line()["id"] == 9
    server.close()
    assert server.connection_count == 2


def test_a_request_that_breaks_connections_is_sent_anew_once(sharer):
    """A connection that others have opened meanwhile, and used, is no idle one
    that may have been closed: its loss counts."""
    asked = Asked()

    def handle(peer: Http2Peer) -> None:
        while True:
            stream, path = asked.next(peer)
            if path == "/crash":
                return peer.connection.reset()
            peer.answer(stream, f"{path}|".encode())

    server = RawServer(speaking(handle))
    sharer.client(h2c=1)
    sharer.start(server.url + "/{}", threads=6, id=10, count=40)
    sharer.start(server.url + "/crash", apart=1)
    lines = sharer.lines(7)
    assert [line["ok"] for line in lines if line["id"] == 0] == [0], lines
    assert asked.paths["/crash"] <= 2
    server.close()
