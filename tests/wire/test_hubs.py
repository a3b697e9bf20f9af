"""Rooms and events over three worker processes: alone, and by shared memory."""

import os
import signal
import threading
import time

import pytest
from conftest import wait_until
from hub_clients import (
    WAIT_S,
    Listener,
    Member,
    all_workers,
    fetch,
    figures,
    metric,
    names_everywhere,
    one_of_each,
)
from processes import is_alive


def test_without_a_backplane_each_process_is_by_itself(start):
    server = start("hub_server", plane="local")
    members = one_of_each(server, Member)
    for member in members:
        member.say(f"from {member.pid}")
    for member in members:
        assert member.hear() == f"from {member.pid}"
    assert all(member.is_silent() for member in members)


def test_each_hears_each_once_and_in_one_order(start):
    server = start("hub_server")
    members = one_of_each(server, Member)
    count = 200

    def talk(member: Member) -> None:
        for number in range(count):
            member.say(f"{member.pid} {number}")

    threads = [threading.Thread(target=talk, args=(member,)) for member in members]
    for thread in threads:
        thread.start()
    heard = [member.hear_all(count * len(members)) for member in members]
    for thread in threads:
        thread.join(WAIT_S)
    assert heard[0] == heard[1] == heard[2], "one order for all"
    for member in members:
        own = [text for text in heard[0] if text.startswith(f"{member.pid} ")]
        assert own == [f"{member.pid} {number}" for number in range(count)]
    assert all(member.is_silent() for member in members)


def test_a_worker_is_killed_while_all_send(start):
    server = start("hub_server")
    members = one_of_each(server, Member)
    victim, *others = members
    is_over = threading.Event()

    def talk(member: Member) -> None:
        number = 0
        while not is_over.is_set() and number < 20_000:
            try:
                member.say(f"{member.pid} {number}")
            except OSError:
                return
            number += 1

    talker = threading.Thread(target=talk, args=(victim,))
    talker.start()
    # It is in the middle of what it sends.
    assert others[0].hear_all(50)
    os.kill(victim.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(victim.pid))
    is_over.set()
    talker.join(WAIT_S)
    successors = set(all_workers(server)) - {member.pid for member in members}
    assert len(successors) == 1
    for member in others:
        for number in range(20):
            member.say(f"after {member.pid} {number}")
    for member in others:
        last = -1
        after = []
        while len(after) < 40:
            text = member.hear()
            if text.startswith("after"):
                after.append(text)
                continue
            number = int(text.split()[1])
            # The first fifty of one of them are taken already.
            assert last < 0 or number == last + 1, "none twice, none is missing"
            last = number
        for sender in others:
            own = [text for text in after if str(sender.pid) in text]
            assert own == [f"after {sender.pid} {number}" for number in range(20)]
    # The successor belongs to the room.
    late = one_of_each(server, Member)
    late[0].say("welcome")
    assert [member.hear() for member in late] == ["welcome"] * 3


def test_a_worker_that_is_stopped_holds_nobody(start):
    server = start("hub_server", ring_size=65_536)
    members = one_of_each(server, Member)
    sleeper, *others = members
    # What is lost is counted from the first message that is not.
    others[0].say("hello")
    assert [member.hear() for member in members] == ["hello"] * 3
    os.kill(sleeper.pid, signal.SIGSTOP)
    text = "x" * 1_000
    try:
        # More than the ring holds, and never much at once: the others are to
        # keep up, however slow the machine is.
        for number in range(200):
            others[0].say(f"{number} {text}")
            assert others[1].hear() == f"{number} {text}"
    finally:
        os.kill(sleeper.pid, signal.SIGCONT)
    late = []
    while not late or not late[-1].startswith("199 "):
        late.append(sleeper.hear())
    numbers = [int(text.split()[0]) for text in late]
    assert numbers == sorted(set(numbers)), "in order, none twice"
    found = figures(server, sleeper.pid)
    assert len(late) < 200
    assert found["received"] == 1 + len(late)
    assert found["lost"] == 200 - len(late)
    # Whichever worker is asked tells it of all, within a second or so.
    for _ in range(20):
        assert wait_until(lambda: metric(server, "lost_total", "room") == found["lost"])
    assert metric(server, "sent_total", "room") == 201
    assert metric(server, "lost_total", "news") == 0


def test_what_is_too_long_goes_to_nobody(start):
    server = start("hub_server", ring_size=65_536)
    members = one_of_each(server, Member)
    members[0].say("x" * 20_000)
    members[0].say("short")
    assert [member.hear() for member in members] == ["short"] * 3
    assert figures(server, members[0].pid)["refused"] == 1
    assert wait_until(lambda: metric(server, "refused_total", "room") == 1)
    assert "at most 16" in server.stderr()


def test_events_reach_all_in_one_order(start):
    server = start("hub_server")
    listeners = one_of_each(server, Listener)
    publishers = set()
    count = 0
    end = time.monotonic() + WAIT_S
    # Who is asked is the kernel's choice.
    while len(publishers) < 3:
        assert time.monotonic() < end, publishers
        publishers.add(fetch(server, f"/publish?text=t{count}"))
        count += 1
    wanted = [f"t{number}" for number in range(count)]
    for listener in listeners:
        assert listener.hear_all(count) == wanted


@pytest.mark.parametrize("kills", [False, True])
def test_who_comes_back_goes_on_at_any_process(start, kills):
    """Also at one that was not there when the events were published."""
    server = start("hub_server")
    pids = all_workers(server)
    for number in range(20):
        fetch(server, f"/publish?text=t{number}&id=e{number}")
    if kills:
        os.kill(pids[0], signal.SIGKILL)
        assert wait_until(lambda: not is_alive(pids[0]))
        all_workers(server)
    for listener in one_of_each(server, Listener, last_id="e9"):
        assert listener.hear_all(10) == [f"t{number}" for number in range(10, 20)]


def test_all_know_who_is_there_and_who_died(start):
    server = start("hub_server")
    all_workers(server)
    ann, bob = Member(server, "ann"), Member(server, "bob")
    while bob.pid == ann.pid:
        bob.close()
        bob = Member(server, "bob")
    assert names_everywhere(server, "ann bob")
    eve = Member(server, "eve")
    assert names_everywhere(server, "ann bob eve")
    eve.close()
    assert names_everywhere(server, "ann bob")
    # Its members go when it has been silent for five seconds, and a worker that
    # takes its place learns of the others.
    os.kill(ann.pid, signal.SIGKILL)
    assert names_everywhere(server, "bob")
