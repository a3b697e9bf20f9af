"""Sessions, rates and first answers while Redis refuses, is far away, or fails over."""

import re
import time
from collections import Counter

import pytest
from conftest import wait_until
from peer_servers import program
from redis_proxy import RedisProxy
from redis_servers import PACKAGE, RedisServer, running_redis, start_watched
from test_stores import TIMEOUT_S, Browser, assert_limited_by_worker


@pytest.fixture
def redis(tmp_path):
    yield from running_redis(tmp_path / "redis")


def test_what_the_user_may_not_do(start, redis):
    """As when Redis is away; when the user may, nobody need be started again."""
    rules = ("ACL", "SETUSER", "web", "on", ">word", "+@all")
    assert redis.ask(*rules) == b"+OK\r\n"
    server = start(
        "stores_server", redis=f"redis://web:word@{redis.address}", workers=2
    )
    ann = Browser(server)
    assert ann.ask("/login?user=ann").status == 503
    assert ann.order("k").status == 503
    assert ann.ask("/process").status == 200
    assert_limited_by_worker(ann)
    assert "NOPERM" in server.stderr()
    assert redis.ask(*rules, "~*") == b"+OK\r\n"
    assert ann.ask("/login?user=ann").status == 200
    assert ann.ask("/who").text.startswith("ann ")
    assert ann.order("k").status == 200


def test_a_redis_that_is_far_away(start, redis):
    """It takes its time; who does not need it does not wait."""
    with RedisProxy(redis, delay_s=0.1) as proxy:
        server = start("stores_server", redis=proxy.url, workers=1)
        ann = Browser(server)
        assert ann.ask("/login?user=ann").status == 200
        assert ann.ask("/who").text.startswith("ann ")
        first = ann.order("k")
        assert ann.order("k").text == first.text
        statuses = Counter(ann.ask("/limited").status for _ in range(6))
        assert statuses == {200: 5, 429: 1}


def test_a_redis_that_is_too_far_away(start, redis):
    """Each command has its time, and then the answer is as without Redis."""
    with RedisProxy(redis, delay_s=1.0) as proxy:
        server = start("stores_server", redis=proxy.url, workers=1, timeout_ms=400)
        ann = Browser(server)
        begun = time.monotonic()
        assert ann.ask("/login?user=ann").status == 503
        assert ann.order("k").status == 503
        assert ann.ask("/limited").status == 200
        assert time.monotonic() - begun < TIMEOUT_S


def test_an_answer_that_is_lost(start, redis):
    """Redis has kept the session, under the id that it has from then on: who has sent
    the request is told so, and has one session."""
    with RedisProxy(redis) as proxy:
        server = start("stores_server", redis=proxy.url, workers=1)
        # From here on Redis knows the script.
        assert Browser(server).ask("/login?user=bob").status == 200
        ann = Browser(server)
        # A session that is new, one that is renewed, and one that stays as it is.
        for path in ("/login?user=ann", "/login?user=ann", "/page?page=7"):
            proxy.lose(b"EVALSHA")
            assert ann.ask(path).status == 200
            assert proxy.losses == []
            assert ann.ask("/who").text.startswith("ann "), path
        assert ann.ask("/revoke?user=ann").text == "1"
        assert ann.ask("/who").text.startswith("nobody ")


def test_an_answer_that_is_lost_of_a_session_that_has_ended(start, redis):
    """It does not come back."""
    with RedisProxy(redis) as proxy:
        server = start("stores_server", redis=proxy.url, workers=1)
        for query in ("by=logout", "by=logout&renews=1", "by=renewal&renews=1"):
            ann = Browser(server)
            ann.ask("/login?user=ann")
            proxy.lose(b"page")
            response = ann.ask(f"/meanwhile?{query}")
            assert (response.status, response.headers["set-cookie"]) == (200, None)
            assert proxy.losses == []
            assert ann.ask("/who").text.startswith("nobody ")


def offset(server: RedisServer) -> bytes:
    said = server.ask("INFO", "replication")
    return re.search(rb"master_repl_offset:(\d+)", said)[1]


def test_a_master_dies_and_its_replica_takes_over(start, tmp_path):
    """Who is logged in stays so."""
    program("redis-server", PACKAGE)
    watched = start_watched(tmp_path)
    try:
        sentinels = ",".join(one.address for one in watched.sentinels)
        server = start("stores_server", sentinels=sentinels, workers=2, timeout_ms=500)
        ann = Browser(server)
        assert ann.ask("/login?user=ann").status == 200
        first = ann.order("k").text
        # The replica has all that the master has.
        assert wait_until(
            lambda: offset(watched.master) == offset(watched.replica), TIMEOUT_S
        )
        watched.master.kill()
        assert ann.ask("/limited").status == 200
        assert wait_until(lambda: ann.ask("/who").status == 200, 2 * TIMEOUT_S)
        assert ann.ask("/who").text.startswith("ann ")
        assert ann.order("k").text == first
        assert b"role:master" in watched.replica.ask("INFO", "replication")
    finally:
        watched.stop()
