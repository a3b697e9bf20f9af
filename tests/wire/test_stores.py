"""Sessions, rates and first answers that worker processes share through Redis,
and what holds while Redis is away."""

import http.client
import os
import re
import signal
import threading
import time
from collections import Counter

import pytest
from conftest import wait_until
from redis_servers import running_redis

TIMEOUT_S = 10


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    yield from running_redis(tmp_path_factory.mktemp("redis"))


@pytest.fixture
def server(start, redis):
    if redis.process.poll() is not None:
        redis.start()
    redis.go_on()
    redis.ask("FLUSHALL")
    return start("stores_server", redis=redis.url, workers=2, timeout_ms=500)


class Browser:
    """Asks with a connection for each request, so that any worker may answer."""

    def __init__(self, server) -> None:
        self.server = server
        self.cookie = ""

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **fields: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.port, timeout=TIMEOUT_S
        )
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if self.cookie:
            headers["Cookie"] = self.cookie
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.text = response.read().decode()
        for line in response.headers.get_all("set-cookie", []):
            self.cookie = line.split(";")[0]
        connection.close()
        return response

    def order(self, key: str, query: str = "", body: str = "{}"):
        return self.ask(f"/orders{query}", "POST", body, Idempotency_Key=key)


def processes(ask) -> set[str]:
    """Asks until both workers have answered; gives who did."""
    seen: set[str] = set()

    def both() -> bool:
        seen.add(ask())
        return len(seen) == 2

    assert wait_until(both, TIMEOUT_S)
    return seen


def test_sessions_are_known_to_all_workers(server, redis):
    ann = Browser(server)
    assert ann.ask("/login?user=ann").status == 200
    assert "ann" not in ann.cookie

    def who() -> str:
        user, process = ann.ask("/who").text.split()
        assert user == "ann"
        return process

    processes(who)
    assert int(re.search(rb":(\d+)", redis.ask("TTL", key(redis)))[1]) > 1_000_000
    kept = ann.cookie
    ann.ask("/logout")
    thief = Browser(server)
    thief.cookie = kept
    assert thief.ask("/who").text.startswith("nobody ")


def key(redis) -> str:
    names = re.findall(rb"session:[\w-]{43}", redis.ask("KEYS", "session:*"))
    assert len(names) == 1
    return names[0].decode()


def test_sessions_outlast_the_server(server, start, redis):
    ann = Browser(server)
    ann.ask("/login?user=ann")
    server.process.terminate()
    assert server.process.wait(TIMEOUT_S) == 0
    ann.server = start("stores_server", redis=redis.url)
    assert ann.ask("/who").text.startswith("ann ")


def test_all_sessions_of_somebody_are_ended(server):
    telephone, laptop, bob = Browser(server), Browser(server), Browser(server)
    telephone.ask("/login?user=ann")
    laptop.ask("/login?user=ann")
    bob.ask("/login?user=bob")
    # A renewed session is not counted twice.
    laptop.ask("/login?user=ann")
    assert bob.ask("/revoke?user=ann").text == "2"
    assert telephone.ask("/who").text.startswith("nobody ")
    assert laptop.ask("/who").text.startswith("nobody ")
    assert bob.ask("/who").text.startswith("bob ")
    assert bob.ask("/revoke?user=ann").text == "0"


def test_what_names_sessions_lasts_as_long_as_the_longest(server, redis):
    """One of a server that keeps them for longer is ended, too."""
    ann = Browser(server)
    ann.ask("/login?user=ann")
    redis.ask("EXPIRE", "session:owner:ann", "99999999")
    Browser(server).ask("/login?user=ann")
    assert redis.ask("TTL", "session:owner:ann") > b":90000000"
    assert ann.ask("/revoke?user=ann").text == "2"


def test_ended_sessions_do_not_come_back(server, redis):
    """A request that was under way has read the session before it ended."""
    back, told = [], []
    for query in ("revoke", "logout", "renewal", "revoke&renews=1", "logout&renews=1"):
        for _ in range(3):
            ann = Browser(server)
            ann.ask("/login?user=ann")
            kept = ann.cookie
            response = ann.ask(f"/meanwhile?by={query}")
            assert response.status == 200
            told.append(response.headers["set-cookie"])
            for cookie in {kept, ann.cookie}:
                thief = Browser(server)
                thief.cookie = cookie
                if thief.ask("/who").text.startswith("ann "):
                    back.append(query)
    assert back == [], f"{len(back)} of 15 came back"
    assert told == [None] * 15


def test_all_workers_count_together(server):
    browser = Browser(server)
    processes(lambda: browser.ask("/process").text)
    statuses = Counter(browser.ask("/limited").status for _ in range(20))
    assert statuses == {200: 5, 429: 15}
    refused = browser.ask("/limited")
    # A token takes 100 s.
    assert 90 <= int(refused.headers["retry-after"]) <= 100


def test_a_clock_that_was_ahead_bars_nobody_for_long(server, redis):
    """As behind a fail-over to a server whose clock is right."""
    browser = Browser(server)
    assert browser.ask("/limited").status == 200
    name = re.search(rb"rate:\S+", redis.ask("KEYS", "rate:*"))[0]
    year_us = 365 * 86_400 * 1_000_000
    ahead = int(time.time() * 1_000_000) + year_us
    redis.ask("SET", name, str(ahead))
    refused = browser.ask("/limited")
    # A token takes 100 s, and the bucket has five.
    assert (refused.status, int(refused.headers["retry-after"]) <= 100) == (429, True)
    kept = int(re.search(rb"\r\n(\d+)", redis.ask("GET", name))[1])
    assert kept <= (time.time() + 501) * 1_000_000, "it goes on from there"


def at_once(count: int, ask) -> list:
    answers: list = []
    threads = [
        threading.Thread(target=lambda: answers.append(ask())) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert len(answers) == count
    return answers


def test_a_request_is_carried_out_by_one_worker(server):
    browser = Browser(server)
    answers = at_once(8, lambda: browser.order("k", "?ms=300"))
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 409}
    told = {answer.text for answer in answers if answer.status == 200}
    assert len(told) == 1
    replays = [
        answer for answer in answers
        if answer.status == 200 and "idempotent-replayed" not in answer.headers
    ]  # fmt: skip
    assert len(replays) == 1
    again = browser.order("k", "?ms=300")
    assert again.text in told
    assert again.headers["idempotent-replayed"] == "true"
    assert browser.order("k", "?ms=300", "[]").status == 422


@pytest.mark.parametrize("query", ["?ms=500", "?ms=500&fails=1"])
def test_a_key_that_is_anothers_by_now_stays_his(server, redis, query):
    """Its time was over while it was carried out, and another has taken it."""
    browser = Browser(server)
    slow = threading.Thread(target=browser.order, args=("k", query))
    slow.start()
    assert wait_until(lambda: b"idempotency:" in redis.ask("KEYS", "idempotency:*"))
    name = re.search(rb"idempotency:[\w-]{43}", redis.ask("KEYS", "idempotency:*"))[0]
    redis.ask("HSET", name, "owner", "another")
    slow.join(TIMEOUT_S)
    assert b"another" in redis.ask("HGET", name, "owner")
    assert redis.ask("HEXISTS", name, "answer") == b":0\r\n"
    assert browser.order("k", query).status == 409


def test_a_worker_that_dies_holds_a_key_for_its_time_only(server):
    browser = Browser(server)
    broken = threading.Event()

    def order() -> None:
        try:
            browser.order("k", "?ms=2500")
        except (ConnectionError, http.client.HTTPException):
            broken.set()

    first = threading.Thread(target=order)
    first.start()
    assert wait_until(lambda: "begun by" in server.stderr())
    worker = int(re.search(r"begun by (\d+)", server.stderr())[1])
    os.kill(worker, signal.SIGKILL)
    assert broken.wait(TIMEOUT_S)
    first.join(TIMEOUT_S)

    def answered() -> bool:
        try:
            return browser.order("k", "?ms=2500").status == 200
        except (ConnectionError, http.client.HTTPException):
            return False

    assert wait_until(answered, TIMEOUT_S)


def assert_limited_by_worker(browser: Browser) -> None:
    """Each of two workers counts for itself: 5 to 10 are let through."""
    statuses = Counter(browser.ask("/limited").status for _ in range(30))
    assert set(statuses) == {200, 429}
    assert 5 <= statuses[200] <= 10


def test_redis_dies_and_comes_back(server, redis):
    ann = Browser(server)
    ann.ask("/login?user=ann")
    saved = redis.ask("DUMP", key(redis))
    assert saved
    redis.kill()
    assert ann.ask("/who").status == 503
    assert ann.order("k").status == 503
    # Who does not ask for the session does not notice.
    assert ann.ask("/process").status == 200
    assert_limited_by_worker(ann)
    assert "rate limit: the store cannot be asked" in server.stderr()
    assert "sessions cannot" not in server.stderr()
    redis.start()
    # It has forgotten the session, but not how to serve.
    assert wait_until(lambda: ann.ask("/who").status == 200, TIMEOUT_S)
    assert ann.ask("/login?user=ann").status == 200
    assert ann.ask("/who").text.startswith("ann ")
    assert wait_until(lambda: ann.order("k").status == 200, TIMEOUT_S)


def test_redis_hangs(server, redis):
    """Nobody waits longer than the time of a command."""
    ann = Browser(server)
    ann.ask("/login?user=ann")
    redis.pause()
    try:
        assert ann.ask("/who").status == 503
        assert ann.order("k").status == 503
        assert ann.ask("/limited").status == 200
        assert ann.ask("/process").status == 200
    finally:
        redis.go_on()
    assert wait_until(lambda: ann.ask("/who").status == 200, TIMEOUT_S)
    assert ann.ask("/who").text.startswith("ann ")


def test_scripts_that_redis_has_forgotten(server, redis):
    browser = Browser(server)
    assert browser.ask("/limited").status == 200
    redis.ask("SCRIPT", "FLUSH")
    assert browser.ask("/limited").status == 200
    assert browser.order("k").status == 200


def test_full_memory(server, redis):
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        ann = Browser(server)
        assert ann.ask("/login?user=ann").status == 503
        assert ann.ask("/process").status == 200
    finally:
        redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert ann.ask("/login?user=ann").status == 200
