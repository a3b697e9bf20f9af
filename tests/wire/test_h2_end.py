"""The end of HTTP/2 connections: GOAWAY twice, nothing lost (RFC 9113 section 6.8)."""

import os
import signal
import threading

import pytest
from conftest import is_refused, wait_until
from h2_client import (
    DATA, GOAWAY, LAST_ID, NO_ERROR, PROTOCOL_ERROR, Closed, H2Client, frame, reset,
)  # fmt: skip
from processes import workers


def stop(server) -> None:
    server.process.send_signal(signal.SIGTERM)


def test_streams_under_way_end_whole(start):
    """SIGTERM: what has begun is answered, what comes before the client knows
    of it, too, and nobody new is let in."""
    server = start("h2_server", handler_threads=4)
    with H2Client(server) as client:
        slow = [client.request("/slow/500") for _ in range(3)]
        upload = client.request("/upload", "POST", ends=False)
        client.data(upload, b"x" * 1_000)
        content = client.request("/pieces?count=50&length=10000&how=waits")
        client.until(lambda: content in client.answers)
        client.answers_pings = False
        stop(server)
        client.until(lambda: client.goaways)
        assert (client.goaways[0].last_id, client.goaways[0].code) == (LAST_ID, NO_ERROR)
        # It has not heard of it.
        late = client.request("/size/7")
        assert wait_until(lambda: is_refused(server))
        client.data(upload, b"y" * 1_000, True)
        for stream in slow:
            assert client.answer(stream).body == b"slept 500 "
        assert client.answer(upload).body.startswith(b"2000 ")
        assert len(client.answer(content).body) == 500_000
        assert len(client.answer(late).body) == 7
        last = client.end()
        assert (last.last_id, last.code) == (late, NO_ERROR)
        assert len(client.goaways) == 2
    assert server.process.wait(10) == 0


def test_streams_behind_the_last_one_are_left_alone(start):
    # What may be sent again elsewhere: nothing was done with it.
    server = start("h2_server", handler_threads=1)
    with H2Client(server) as client:
        slow = client.request("/slow/1000")
        client.settle()
        stop(server)
        client.until(lambda: len(client.goaways) == 2)
        assert client.goaways[1].last_id == slow
        late = client.request("/")
        assert client.answer(slow).status == 200
        client.end()
        assert late not in client.answers
    assert server.process.wait(10) == 0


def test_idle_connections_go_at_once(start):
    server = start("h2_server")
    with H2Client(server) as client:
        client.get("/")
        stop(server)
        last = client.end()
        assert (last.last_id, last.code) == (1, NO_ERROR)
        assert server.process.wait(3) == 0


def test_endless_streams_end(start):
    """Events have no end of their own; they have one when the server stops."""
    server = start("h2_server")
    with H2Client(server) as client:
        streams = [client.request("/events") for _ in range(5)]
        client.until(lambda: all(s in client.answers for s in streams))
        stop(server)
        for stream in streams:
            answer = client.answer(stream)
            assert (answer.ended, answer.reset) == (True, None)
        client.end()
    assert server.process.wait(5) == 0


def test_shutdown_timeout_ms(start):
    server = start("h2_server", shutdown_timeout_ms=300)
    with H2Client(server) as client:
        client.request("/silence")
        client.settle()
        stop(server)
        assert server.process.wait(5) == 0


def test_a_client_that_says_goodbye(start):
    server = start("h2_server", handler_threads=1)
    with H2Client(server) as client:
        slow = client.request("/slow/200")
        client.send(frame(GOAWAY, 0, 0, bytes(8)))
        assert client.answer(slow).status == 200
        assert client.end().last_id == slow


def test_a_client_that_says_goodbye_when_nothing_is_under_way(start):
    """It is told which streams were looked at, before the end: it may have sent one
    more since."""
    server = start("h2_server")
    with H2Client(server) as client:
        asked = client.request("/")
        assert client.answer(asked)
        client.send(frame(GOAWAY, 0, 0, bytes(8)))
        end = client.end()
        assert end and (end.last_id, end.code) == (asked, NO_ERROR)


def test_an_error_ends_handlers(start):
    """A broken rule is said, and handlers learn that nobody waits."""
    server = start("h2_server", handler_threads=1)
    with H2Client(server) as client:
        client.request("/patient")
        assert wait_until(lambda: "patient at work" in server.stderr())
        client.send(frame(DATA, 0, 0, b"x"))
        assert client.goaway().code == PROTOCOL_ERROR
        assert wait_until(lambda: "cancelled after" in server.stderr())
        client.end()
    with H2Client(server) as client:
        assert client.get("/slow/1").status == 200


class Asker(threading.Thread):
    """Asks one thing after the other over HTTP/2, and connects again where GOAWAY
    says so; counts what was lost."""

    def __init__(self, server) -> None:
        super().__init__()
        self.server = server
        self.halt = threading.Event()
        self.answered, self.lost = 0, []
        self.processes: set[bytes] = set()

    def run(self) -> None:
        while not self.halt.is_set():
            with H2Client(self.server) as client:
                self._ask(client)

    def _ask(self, client: H2Client) -> None:
        while not self.halt.is_set():
            stream = client.next_id
            try:
                answer = client.get("/pid")
            except (Closed, OSError) as error:
                known = client.goaways and client.goaways[-1].last_id < stream
                if not known:
                    self.lost.append(error)
                return
            assert answer.status == 200
            self.answered += 1
            self.processes.add(answer.body)
            if client.goaways:
                return


def test_upgrade_without_a_lost_stream(start):
    """SIGUSR2: a new version takes the sockets over while streams are under way."""
    server = start("workers_server", mode="prefork", workers=2, inherits=1, popen={"start_new_session": True})
    try:
        askers = [Asker(server) for _ in range(4)]
        with H2Client(server, timeout=20) as client:
            slow = client.request("/slow/1500")
            client.settle()
            for asker in askers:
                asker.start()
            before = set(workers(server.process.pid))
            server.process.send_signal(signal.SIGUSR2)
            assert client.answer(slow).body == b"slept 1500 "
        first = {str(pid).encode() for pid in before}
        assert wait_until(lambda: all(a.processes - first for a in askers), 20)
        for asker in askers:
            asker.halt.set()
            asker.join(10)
            assert asker.lost == [] and asker.answered > 0
    finally:
        os.killpg(server.process.pid, signal.SIGKILL)
