"""A cache in front of handlers, over real sockets (RFC 9111)."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime

import httpx
import pytest
from allocations import allocations
from conftest import Client, Response, Server, wait_until
from ready import ready
from wire_programs import built, compile_preloaded

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
CROWD = 24
HIT_ALLOCATION_MAX = 8


@pytest.fixture(scope="module")
def cache():
    server = Server(built("cache_server"), ["threads=32", "workers=2", "wait_ms=60000"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def asked(server) -> int:
    """How often a handler behind the cache was called."""
    return int(httpx.get(f"{server.url}/asked").text)


def figure(server, name: str) -> int:
    text = httpx.get(f"{server.url}/metrics").text
    return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M).group(1))


def test_a_hit_on_the_wire(cache):
    began = int(time.time())
    with Client(cache) as client:
        client.send(GET % b"/hit?a")
        first = client.response()
        client.send(GET % b"/hit?a")
        second = client.response()
    assert first.body == second.body
    assert "age" not in first.fields
    ended = int(time.time())
    assert int(second.fields["age"]) <= ended - began + 1
    assert re.fullmatch(
        r"flare; hit; ttl=(60|5\d)", second.fields["cache-status"]
    )
    # The clock that it is read from may be a tick behind.
    assert began - 1 <= http_seconds(second.fields["date"]) <= ended


def http_seconds(date: str) -> int:
    return int(parsedate_to_datetime(date).timestamp())


def test_head_range_and_conditions(cache):
    url = f"{cache.url}/hit?tag=x"
    whole = httpx.get(url)
    count = asked(cache)
    head = httpx.head(url)
    assert head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))
    part = httpx.get(url, headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, whole.content[:4])
    same = httpx.get(url, headers={"If-None-Match": '"x"'})
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == '"x"'
    assert asked(cache) == count


def test_pipelined_hits(cache):
    with Client(cache) as client:
        client.send(GET % b"/hit?p")
        body = client.response().body
        client.send(GET % b"/hit?p" * 50)
        assert all(client.response().body == body for _ in range(50))


def many(server, path: bytes, count: int = CROWD) -> list[Response]:
    """Asks the same on many connections at once."""
    clients = [Client(server, timeout=20) for _ in range(count)]
    for client in clients:
        client.send(GET % path)
    answers = [client.response() for client in clients]
    for client in clients:
        client.sock.close()
    return answers


def test_one_fetch_for_many(cache):
    before = asked(cache)
    answers = many(cache, b"/slow?ms=1000")
    assert asked(cache) - before == 1
    assert len({answer.body for answer in answers}) == 1
    states = [answer.fields["cache-status"] for answer in answers]
    assert sum("fwd=uri-miss" in state for state in states) == 1
    # Those that came when it was over have a plain hit.
    assert sum("collapsed" in state for state in states) >= CROWD // 2


def test_what_is_not_kept_is_not_waited_for(cache):
    path = b"/slow?ms=1000&control=no-store"
    httpx.get(cache.url + path.decode())
    before = asked(cache)
    clients = [Client(cache, timeout=30) for _ in range(12)]
    for client in clients:
        client.send(GET % path)
    assert ready([client.sock for client in clients], 30)
    begun = asked(cache) - before
    assert len({client.response().body for client in clients}) == 12
    for client in clients:
        client.sock.close()
    # One after the other there are two when the first is answered.
    assert begun > 4


def test_a_wait_has_an_end():
    """A fetch that takes longer than others wait is not waited for."""
    server = Server(built("cache_server"), ["threads=8", "wait_ms=200"])
    try:
        with ThreadPoolExecutor(2) as pool:
            url = f"{server.url}/slow?ms=3000"
            first = pool.submit(httpx.get, url)
            assert wait_until(lambda: asked(server) == 1)
            second = pool.submit(httpx.get, url)
            assert wait_until(lambda: asked(server) == 2)
            assert not first.done(), "the second has waited for all of it"
            assert first.result().text == "call 1"
            assert second.result().text == "call 2"
    finally:
        assert server.stop() == 0


def test_streams(cache):
    count = asked(cache)
    first = httpx.get(f"{cache.url}/stream?len=100000")
    second = httpx.get(f"{cache.url}/stream?len=100000")
    assert first.content == second.content == b"s" * 100_000
    assert second.headers["content-length"] == "100000"
    assert asked(cache) == count + 1


def test_broken_streams_leave_nothing(cache):
    count = asked(cache)
    for _ in range(2):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{cache.url}/stream?len=100000&breaks_at=50000")
    assert asked(cache) == count + 2


def test_a_client_that_leaves(cache):
    """What was not complete is not kept, and those behind do not wait for it."""
    stored = figure(cache, 'http_cache_responses_total{fate="stored"}')
    path = b"/stream?len=1000000&left"
    client = Client(cache)
    client.send(GET % path)
    client.sock.recv(1000)
    client.sock.close()
    # Who waits for another's fetch has a minute.
    whole = httpx.get(cache.url + path.decode(), timeout=20)
    assert whole.content == b"s" * 1_000_000
    now = figure(cache, 'http_cache_responses_total{fate="stored"}')
    assert now - stored <= 2


@pytest.mark.parametrize("version", [1, 2])
def test_stale_while_revalidate(cache, version):
    control = "max-age%3D0,stale-while-revalidate%3D60"
    url = f"{cache.url}/hit?control={control}&version={version}"
    with httpx.Client(http1=version == 1, http2=version == 2) as client:
        first = client.get(url).text
        stale = client.get(url)
        assert stale.text == first
        assert wait_until(lambda: client.get(url).text != first)


THREAD_REFUSER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* As the system does that has no more threads, for as long as a file is there. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *argument) {
    if (access(getenv("NO_THREADS"), F_OK) == 0) return EAGAIN;
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, start, argument);
}
"""


@pytest.mark.unsanitized
def test_a_refresh_that_finds_no_thread_is_made_later(tmp_path, monkeypatch):
    """RFC 5861 section 3: a stale response is revalidated; if that cannot be now,
    then with a later request."""
    source, library = tmp_path / "refuser.c", tmp_path / "refuser.so"
    source.write_text(THREAD_REFUSER)
    compile_preloaded(source, library)
    refuses = tmp_path / "refuses"
    binary = built("cache_server")
    monkeypatch.setenv("NO_THREADS", str(refuses))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    server = Server(binary, ["workers=1"])
    monkeypatch.delenv("LD_PRELOAD")
    try:
        url = f"{server.url}/hit?control=max-age%3D0,stale-while-revalidate%3D60"
        first = httpx.get(url).text
        refuses.touch()
        assert httpx.get(url).text == first
        refuses.unlink()
        assert wait_until(lambda: httpx.get(url).text != first)
    finally:
        assert server.stop() == 0


def test_hits_of_a_slow_route_are_quick():
    """Threads are automatic; a hit never waits for one."""
    server = Server(built("cache_server"), ["workers=1"])
    try:
        for number in range(4):
            httpx.get(f"{server.url}/slow?ms=20&{number}")
        with ThreadPoolExecutor(4) as pool:
            slow = [
                pool.submit(httpx.get, f"{server.url}/slow?ms=5000&b{number}", timeout=30)
                for number in range(3)
            ]
            with httpx.Client() as client:
                client.get(f"{server.url}/slow?ms=20&0")
                for _ in range(20):
                    answer = client.get(f"{server.url}/slow?ms=20&0")
                    assert "hit" in answer.headers["cache-status"]
            assert not any(future.done() for future in slow), "it waited for them"
            assert all(future.result().status_code == 200 for future in slow)
    finally:
        assert server.stop() == 0


@pytest.mark.unsanitized
def test_a_hit_allocates_little(start):
    """Two lists of fields, the key, and the text of Cache-Status."""
    server = start("counting_server")
    request = b"GET /cached HTTP/1.1\r\nHost: a\r\n\r\n"
    with Client(server) as client:
        total = allocations(client, request, 200, lambda found: found.fields["age"])
    count = total / 200
    print(f"\n{count} allocations for a hit")
    assert count <= HIT_ALLOCATION_MAX
