"""Rooms of two masters, while Redis refuses, is slow, is full, or has rubbish."""

import os
import signal
import time

import pytest
from conftest import wait_until
from hub_clients import (
    WAIT_S,
    Member,
    all_workers,
    connected,
    figures,
    say,
    two_machines,
)
from processes import is_alive
from redis_proxy import RedisProxy
from redis_servers import RedisServer, running_redis

HISTORY = 1_000
COUNT = 20


@pytest.fixture(scope="module")
def redis_of_module(tmp_path_factory):
    yield from running_redis(tmp_path_factory.mktemp("redis"))


@pytest.fixture
def redis(redis_of_module):
    yield redis_of_module
    redis_of_module.go_on()
    redis_of_module.ask("FLUSHALL")
    redis_of_module.ask("CONFIG", "SET", "maxmemory", "0")
    redis_of_module.ask("ACL", "DELUSER", "hub")


@pytest.fixture
def machines(start):
    return lambda url, **options: two_machines(start, redis=url, **options)


def user(redis: RedisServer, *rules: str) -> str:
    """Makes a user who may do all but what the rules say; gives his URL."""
    words = ("ACL", "SETUSER", "hub", "on", ">word", "~*", "&*", "+@all", *rules)
    assert redis.ask(*words) == b"+OK\r\n"
    return f"redis://hub:word@{redis.address}"


@pytest.mark.parametrize(
    ("history", "rules"),
    [(0, ["-publish", "-subscribe"]), (HISTORY, ["-xadd", "-xread"])],
)
def test_what_the_user_may_not_do(machines, redis, history, rules):
    """It is said, what is said locally is heard, and when the user may, all is
    well: he need not start the servers again."""
    servers, (near, far) = machines(user(redis, *rules), history=history)
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    assert far.is_silent()
    assert wait_until(lambda: "has no permissions" in servers[0].stderr(), WAIT_S)
    assert wait_until(lambda: "has no permissions" in servers[1].stderr(), WAIT_S)
    assert figures(servers[0], near.pid)["waiting"] == COUNT
    user(redis)
    if history:
        assert far.hear_all(COUNT) == texts
    connected(near, [near, far])
    connected(far, [near, far])


def test_a_user_with_the_few_commands_that_are_needed(machines, redis):
    """Without MULTI and TIME, batches and late processes still come along."""
    url = user(redis, "-multi", "-time")
    servers, (near, far) = machines(url, history=HISTORY)
    connected(near, [near, far])
    redis.pause()
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    redis.go_on()
    assert far.hear_all(COUNT) == texts
    assert wait_until(lambda: figures(servers[0], near.pid)["waiting"] == 0, WAIT_S)
    assert far.is_silent()


def test_a_command_among_others_is_refused(machines, redis):
    """Those behind it must not overtake it."""
    edited = []

    def edit(data: bytes) -> bytes:
        places = [part for part in data.split(b"XADD")]
        if len(places) < 5 or edited:
            return data
        edited.append(len(places) - 1)
        return b"XADD".join(places[:2]) + b"XADQ" + b"XADD".join(places[2:])

    with RedisProxy(redis, edit=edit) as proxy:
        servers, (near, far) = machines(proxy.url, history=HISTORY)
        connected(near, [near, far])
        redis.pause()
        texts = say(near, COUNT)
        assert near.hear_all(COUNT) == texts
        redis.go_on()
        assert far.hear_all(COUNT) == texts
        assert edited, "there was no batch"
        found = figures(servers[1], far.pid)
        assert found["lost"] == 0


def test_who_comes_while_redis_is_away_hears_what_waited(machines, redis):
    servers, (near, far) = machines(redis.url, history=HISTORY)
    connected(near, [near, far])
    connected(far, [near, far])
    redis.pause()
    os.kill(far.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(far.pid), WAIT_S)
    all_workers(servers[1], 1)
    late = Member(servers[1])
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    redis.go_on()
    assert late.hear_all(COUNT) == texts
    connected(late, [near, late])


def test_full_memory(machines, redis):
    """A stream waits until there is room, a channel needs none."""
    servers, (near, far) = machines(redis.url, history=HISTORY)
    connected(near, [near, far])
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    assert far.is_silent()
    assert figures(servers[0], near.pid)["waiting"] == COUNT
    assert wait_until(lambda: "OOM" in servers[0].stderr(), WAIT_S)
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert far.hear_all(COUNT) == texts
    assert near.is_silent() and far.is_silent()


@pytest.mark.parametrize("history", [0, HISTORY])
def test_a_slow_network(machines, redis, history):
    """Redis is a fifth of a second away; all comes, in order, and nothing counts as
    lost."""
    with RedisProxy(redis, delay_s=0.1) as proxy:
        servers, (near, far) = machines(proxy.url, history=history)
        connected(near, [near, far])
        connected(far, [near, far])
        texts = {member.pid: say(member, 3) for member in (near, far)}
        for number in range(3, COUNT):
            for member in (near, far):
                texts[member.pid] += say(member, 1, number)
        for member in (near, far):
            heard = member.hear_all(2 * COUNT)
            for pid, own in texts.items():
                assert [text for text in heard if text.startswith(f"{pid} ")] == own
        assert near.is_silent() and far.is_silent()
        counts = [figures(servers[0], near.pid), figures(servers[1], far.pid)]
        assert all(found["gaps"] == found["lost"] == 0 for found in counts), counts


@pytest.mark.parametrize("word", [b"SUBSCRIBE", b""], ids=["listening", "all"])
def test_a_way_that_is_cut_silently(start, redis, word):
    """No end of the connection is told. Who sends finds that nothing comes back, or
    has no answer, and does not wait for the next sign of life."""
    with RedisProxy(redis) as proxy:
        servers = [
            start("hub_server", plane="redis", redis=url, workers=1, history=0)
            for url in (proxy.url, redis.url)
        ]
        near, far = (Member(server) for server in servers)
        connected(near, [near, far])
        connected(far, [near, far])
        before = figures(servers[0], near.pid)
        assert proxy.cut(word) > 0
        began = time.monotonic()
        near.say("mine")
        assert near.hear() == "mine"
        said = []
        heard = []
        while not heard:
            assert time.monotonic() - began < WAIT_S
            said += say(far, 1, len(said))
            while far.hear() != said[-1]:
                pass
            if not near.is_silent(0.1):
                heard.append(near.hear())
        took_s = time.monotonic() - began
        print(f"deaf for {took_s:.1f} s")
        # One second for what does not come back, two for a sign of life.
        assert took_s < 8
        found = figures(servers[0], near.pid)
        # What came before the first one that was heard.
        assert found["lost"] - before["lost"] == said.index(heard[0]) > 0
        assert found["gaps"] == before["gaps"] + 1
        connected(near, [near, far])


@pytest.mark.parametrize("history", [0, HISTORY])
def test_what_others_write_is_passed_over(machines, redis, history):
    """Another program has the same channel or stream: octets that are no message,
    none at all, and fields of another kind."""
    servers, (near, far) = machines(redis.url, history=history)
    connected(near, [near, far])
    rubbish = [b"", b"{}", b"\x00" * 64, b"\x01\x01\xff\xff" + b"x" * 100, b"\xff" * 5_000]
    for octets in rubbish:
        if history:
            redis.ask("XADD", "flare:room", "*", "m", octets)
            redis.ask("XADD", "flare:room", "*", "other", octets, "more", "x")
        else:
            redis.ask("PUBLISH", "flare:room", octets)
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    assert far.hear_all(COUNT) == texts
    expected = len(rubbish) * (2 if history else 1)
    assert figures(servers[1], far.pid)["malformed"] == expected


def test_a_stream_that_is_no_stream(machines, redis):
    """Another program has taken the name: it is said, and goes on when the name is
    free again."""
    redis.ask("SET", "flare:room", "mine")
    servers, (near, far) = machines(redis.url, history=HISTORY)
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    assert wait_until(lambda: "WRONGTYPE" in servers[0].stderr(), WAIT_S)
    redis.ask("DEL", "flare:room")
    assert far.hear_all(COUNT) == texts
