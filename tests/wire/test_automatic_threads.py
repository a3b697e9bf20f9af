"""Handlers that wait, on a server without a setting: they are found, run on
threads of their own, and delay nobody else."""

import re
import threading
import time
from pathlib import Path

import pytest
from conftest import Client, wait_until
from h2_client import H2Client
from ready import ready

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"


def ask(server, path: bytes, timeout: float = 15) -> bytes:
    with Client(server, timeout) as client:
        client.send(GET % path)
        return client.response().body


def ask_together(server, path: bytes, count: int) -> float:
    """Asks from so many connections at once; gives the seconds it took."""
    bodies = []
    threads = [
        threading.Thread(target=lambda: bodies.append(ask(server, path)))
        for _ in range(count)
    ]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(bodies) == count
    return time.monotonic() - began


def under_way(server) -> int:
    text = ask(server, b"/metrics").decode()
    return int(re.search(r"^http_requests_in_flight (\d+)$", text, re.M)[1])


def thread_count(server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def test_those_that_wait_do_not_wait_for_each_other(start):
    # Forty of a second one behind the other would take as many.
    server = start("workers_server", workers=1)
    assert ask_together(server, b"/busy/1000", 40) < 20


def test_a_quick_route_does_not_wait_for_them(start):
    server = start("workers_server", workers=1)
    ask(server, b"/busy/50")
    with Client(server) as slow, Client(server) as quick:
        # Longer than anybody here waits.
        slow.send(GET % b"/busy/60000")
        for _ in range(10):
            quick.send(GET % b"/fast")
            assert quick.response().body == b"Hello, World!"
        assert not ready([slow.sock], 0)


def test_answers_keep_their_order_on_a_connection(start):
    server = start("workers_server", workers=1)
    ask(server, b"/busy/50")
    with Client(server, 15) as client:
        client.send(GET % b"/busy/100" + GET % b"/fast" + GET % b"/busy/10")
        bodies = [client.response().body for _ in range(3)]
    assert bodies == [b"busy 100", b"Hello, World!", b"busy 10"]


def test_there_are_no_threads_before_they_are_needed(start):
    server = start("workers_server", workers=1)
    for _ in range(300):
        ask(server, b"/fast")
    before = thread_count(server)
    ask(server, b"/busy/50")
    ask_together(server, b"/busy/300", 30)
    assert thread_count(server) >= before + 20


@pytest.mark.nightly
def test_threads_end_when_they_are_not_needed(start):
    server = start("workers_server", workers=1)
    ask(server, b"/busy/50")
    ask_together(server, b"/busy/300", 30)
    many = thread_count(server)

    def few() -> bool:
        ask(server, b"/busy/50")
        return thread_count(server) <= many - 25

    assert wait_until(few, 60)


def test_none_are_started_if_none_are_wanted(start):
    server = start("workers_server", workers=1, handler_threads=0)
    ask_together(server, b"/busy/50", 10)
    before = thread_count(server)
    ask_together(server, b"/busy/50", 10)
    assert thread_count(server) == before


def test_content_is_read_while_it_arrives_without_a_setting(start):
    server = start("workers_server", workers=1, streams=1)
    head = b"POST /upload?then=wait HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"
    with Client(server) as slow:
        slow.send(head + b"abc")
        assert ask(server, b"/fast") == b"Hello, World!"


def test_shutdown_waits_for_them(start):
    server = start("workers_server", workers=1)
    ask(server, b"/busy/50")
    with Client(server, 15) as client:
        client.send(GET % b"/busy/500")
        assert wait_until(lambda: ask(server, b"/fast") == b"Hello, World!")
        server.process.terminate()
        assert client.response().body == b"busy 500"
    assert server.process.wait(20) == 0


def test_streams_of_one_connection_do_not_wait_for_each_other(start):
    # Twenty of a second one behind the other would take as many.
    server = start("workers_server", workers=1)
    ask(server, b"/busy/50")
    with H2Client(server) as client:
        streams = [client.request("/busy/1000") for _ in range(20)]
        client.settle()
        # One behind the other there would be two, with the one that asks.
        assert wait_until(lambda: under_way(server) > 5)
        bodies = {client.answer(stream).body for stream in streams}
        assert bodies == {b"busy 1000"}
