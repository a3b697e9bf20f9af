"""Rooms and events of two masters with two workers each, by Redis."""

import os
import signal
import time

import pytest
from conftest import wait_until
from hub_clients import (
    WAIT_S,
    Listener,
    Member,
    all_workers,
    connected,
    fetch,
    figures,
    names_everywhere,
    one_of_each,
)
from processes import is_alive
from redis_servers import running_redis

WORKERS = 2


@pytest.fixture
def redis(tmp_path):
    keeps_all = {"appendonly": "yes", "appendfsync": "always"}
    yield from running_redis(tmp_path / "redis", **keeps_all)


@pytest.fixture
def machines(start, redis):
    """Two masters with workers of their own."""

    def launch(**options):
        return [
            start(
                "hub_server", plane="redis", redis=redis.url, workers=WORKERS, **options
            )
            for _ in range(2)
        ]

    return launch


def everybody(machines: list) -> list[Member]:
    members = [
        member for server in machines for member in one_of_each(server, Member, WORKERS)
    ]
    for sender in members:
        connected(sender, members)
    return members


@pytest.mark.parametrize("history", [0, 1_000])
def test_each_hears_each_once_and_in_order(machines, history):
    """By a channel, and by a stream."""
    members = everybody(machines(history=history))
    count = 100
    for number in range(count):
        for member in members:
            member.say(f"{member.pid} {number}")
    for member in members:
        heard = member.hear_all(count * len(members))
        for sender in members:
            own = [text for text in heard if text.startswith(f"{sender.pid} ")]
            assert own == [f"{sender.pid} {number}" for number in range(count)]
    assert all(member.is_silent() for member in members)


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_rooms_go_on_without_redis_and_meet_again(machines, redis, how):
    """A stream has what was said meanwhile, from all sides."""
    members = everybody(machines(history=1_000))
    if how == "kill":
        redis.kill()
    else:
        redis.pause()
    start = time.monotonic()
    for number in range(20):
        for member in members:
            member.say(f"{member.pid} {number}")
    for member in members:
        assert member.hear_all(20) == [f"{member.pid} {number}" for number in range(20)]
    assert time.monotonic() - start < WAIT_S / 2, "who is here is heard at once"
    if how == "kill":
        redis.start()
    else:
        redis.go_on()
    for member in members:
        heard = member.hear_all(20 * (len(members) - 1))
        for sender in members:
            own = [text for text in heard if text.startswith(f"{sender.pid} ")]
            if sender is not member:
                assert own == [f"{sender.pid} {number}" for number in range(20)]
    assert all(member.is_silent() for member in members)


def test_a_channel_keeps_nothing_and_says_so(machines, redis):
    servers = machines()
    members = everybody(servers)
    redis.kill()
    members[0].say("unheard")
    assert members[0].hear() == "unheard"
    redis.start()
    for member in members:
        connected(member, members)
    for server, member in zip([servers[0]] * 2 + [servers[1]] * 2, members):
        assert figures(server, member.pid)["gaps"] >= 1
        # The others hear a message before its sender is told that Redis has it.
        assert wait_until(lambda: figures(server, member.pid)["waiting"] == 0)


def test_a_queue_that_is_full_drops_and_counts(machines, redis):
    servers = machines(history=1_000, queue_size=2_000)
    members = everybody(servers)
    redis.pause()
    text = "x" * 500
    for number in range(20):
        members[0].say(f"{number} {text}")
    heard = members[0].hear_all(20)
    assert heard == [f"{number} {text}" for number in range(20)]
    dropped = figures(servers[0], members[0].pid)["dropped"]
    assert 0 < dropped < 20
    redis.go_on()
    # What fitted into the queue comes, and then what is said now.
    assert wait_until(
        lambda: figures(servers[0], members[0].pid)["waiting"] == 0, WAIT_S
    )
    members[0].say("end")
    others = [member.hear_all(20 - dropped + 1) for member in members[1:]]
    for texts in others:
        assert texts[-1] == "end"
        assert texts[:-1] == heard[: len(texts) - 1]
    for member in members[1:]:
        server = servers[0] if member is members[1] else servers[1]
        assert figures(server, member.pid)["lost"] == dropped


def test_events_have_one_order_and_outlive_the_programs(start, machines, redis):
    servers = machines()
    listeners = [
        listener
        for server in servers
        for listener in one_of_each(server, Listener, WORKERS)
    ]
    for number in range(40):
        fetch(servers[number % 2], f"/publish?text=t{number}&id=e{number}")
    heard = [listener.hear_all(40) for listener in listeners]
    assert sorted(heard[0]) == sorted(f"t{number}" for number in range(40))
    assert all(texts == heard[0] for texts in heard), "one order for all"
    for server in servers:
        server.stop()
    redis.kill()
    redis.start()
    later = start("hub_server", plane="redis", redis=redis.url, workers=WORKERS)
    id_of_tenth = "e" + heard[0][9][1:]
    for listener in one_of_each(later, Listener, WORKERS, last_id=id_of_tenth):
        assert listener.hear_all(30) == heard[0][10:]


def test_events_go_on_without_redis(machines, redis):
    servers = machines()
    pids = all_workers(servers[0], WORKERS)
    listeners = one_of_each(servers[0], Listener, WORKERS)
    fetch(servers[0], "/publish?text=before")
    assert [listener.hear()[1] for listener in listeners] == ["before"] * 2
    redis.pause()
    publisher = int(fetch(servers[0], "/publish?text=alone"))
    assert publisher in pids
    near = next(listener for listener in listeners if listener.pid == publisher)
    far = next(listener for listener in listeners if listener.pid != publisher)
    assert near.hear()[1] == "alone"
    redis.go_on()
    assert far.hear()[1] == "alone"
    fetch(servers[0], "/publish?text=after")
    assert near.hear()[1] == "after", "none twice"
    assert far.hear()[1] == "after"


def test_a_worker_is_killed_and_its_successor_belongs_to_all(machines):
    servers = machines(history=1_000)
    members = everybody(servers)
    os.kill(members[0].pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(members[0].pid))
    all_workers(servers[0], WORKERS)
    for sender in members[1:]:
        sender.say(f"from {sender.pid}")
    for member in members[1:]:
        heard = member.hear_all(3)
        assert sorted(heard) == sorted(f"from {sender.pid}" for sender in members[1:])
    for late in one_of_each(servers[0], Member, WORKERS):
        connected(late, [late, *members[2:]])


def test_members_of_all_machines_are_known(machines, redis):
    servers = machines()
    ann, bob = Member(servers[0], "ann"), Member(servers[1], "bob")
    for server in servers:
        assert names_everywhere(server, "ann bob", WORKERS)
    bob.close()
    for server in servers:
        assert names_everywhere(server, "ann", WORKERS)
    # Each machine knows its own at least, and all again when Redis is back.
    redis.kill()
    eve = Member(servers[1], "eve")
    redis.start()
    for server in servers:
        assert names_everywhere(server, "ann eve", WORKERS)
    ann.close()
    eve.close()


@pytest.mark.parametrize("history", [0, 1_000])
def test_a_user_is_reached_on_all_machines(machines, history):
    servers = machines(history=history)
    everybody(servers)
    anns = [
        member
        for server in servers
        for member in one_of_each(server, Member, WORKERS, name="ann")
    ]
    bob = Member(servers[0], "bob")
    bob.say("to ann hello")
    for ann in anns:
        assert ann.hear() == "hello"
    bob.say("close ann")
    for ann in anns:
        assert ann.hear_close() == (4001, "out")
    assert bob.is_silent()


def test_what_was_missed_is_there_on_all_machines(machines, redis):
    servers = machines(history=1_000, room_history=10)
    members = everybody(servers)
    talker = members[0]
    for number in range(20):
        talker.say(f"keep {number}")
    for member in members:
        assert member.hear_all(20) == [str(number) for number in range(20)]
    for server in servers:
        for last, wanted in (("15", range(16, 20)), ("3", range(10, 20))):
            [back, _] = one_of_each(server, Member, WORKERS, last=last)
            gap = ["gap"] if last == "3" else []
            assert back.heard_before == gap + [str(number) for number in wanted]
            members.append(back)
    talker.say("on")
    assert [member.hear() for member in members[4:]] == ["on"] * 4
