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
from processes import is_alive, stopped


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
    text = "x" * 1_000
    with stopped(sleeper.pid):
        # More than the ring holds, and never much at once: the others are to
        # keep up, however slow the machine is.
        for number in range(200):
            others[0].say(f"{number} {text}")
            assert others[1].hear() == f"{number} {text}"
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


def test_events_of_a_user_reach_him_at_any_process(start):
    server = start("hub_server")
    anns = one_of_each(server, Listener, user="ann")
    bob = Listener(server, user="bob")
    fetch(server, "/publish?text=all&id=1")
    fetch(server, "/publish?text=own&id=2&user=ann")
    fetch(server, "/publish?text=end&id=3")
    for ann in anns:
        assert ann.hear_all(3) == ["all", "own", "end"]
    assert bob.hear_all(2) == ["all", "end"]
    # What is kept is his alone, too.
    for back in one_of_each(server, Listener, last_id="1", user="ann"):
        assert back.hear_all(2) == ["own", "end"]
    for back in one_of_each(server, Listener, last_id="1", user="eve"):
        assert back.hear() == ("3", "end")
    fetch(server, "/end?user=ann")
    fetch(server, "/publish?text=on")
    for ann in anns:
        # Its last chunk comes, and nothing before it.
        assert ann.hear_end() == b""
    assert bob.hear()[1] == "on"


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


def test_a_user_is_reached_wherever_he_is(start):
    server = start("hub_server")
    anns = one_of_each(server, Member, name="ann")
    bob = Member(server, "bob")
    bob.say("to ann hello")
    bob.say("to eve nobody")
    bob.say("to bob mine")
    assert bob.hear() == "mine"
    for ann in anns:
        assert ann.hear() == "hello"
    bob.say("close ann")
    bob.say("to bob on")
    for ann in anns:
        assert ann.hear_close() == (4001, "out")
    assert bob.hear() == "on"
    assert bob.is_silent()
    # Who comes back afterwards is let in.
    late = Member(server, "ann")
    bob.say("to ann again")
    assert late.hear() == "again"


def test_members_are_counted_with_what_is_said_of_them(start):
    server = start("hub_server")
    all_workers(server)
    members = one_of_each(server, Member, name="ann", data="a")
    bob = Member(server, "bob", data="b")
    assert names_everywhere(server, "4 ann=a ann=a ann=a bob=b", path="/members")
    bob.close()
    assert names_everywhere(server, "3 ann=a ann=a ann=a", path="/members")
    for member in members:
        member.close()
    assert names_everywhere(server, "0 ", path="/members")


def test_all_are_told_who_comes_and_goes(start):
    server = start("hub_server")
    all_workers(server)
    ann = Member(server, "ann", data="a")
    assert names_everywhere(server, "+ann:a", path="/changes")
    number = 0
    bob = Member(server, "bob0")
    while bob.pid == ann.pid:
        bob.close()
        number += 1
        bob = Member(server, f"bob{number}")

    def told(line: str, count: int) -> bool:
        knowing = set()

        def look() -> bool:
            pid, _, lines = fetch(server, "/changes").partition(":")
            if line in lines:
                knowing.add(pid)
            return len(knowing) == count

        return wait_until(look, WAIT_S)

    assert told(f"+bob{number}:", 3)
    ann.close()
    assert told("-ann:a", 3)
    # One whose process dies is gone when that has been silent for five seconds.
    os.kill(bob.pid, signal.SIGKILL)
    assert told(f"-bob{number}:", 2)


def test_who_comes_back_to_a_room_gets_what_was_missed(start):
    server = start("hub_server", room_history=10)
    members = one_of_each(server, Member)
    talker, *others = members
    for number in range(5):
        talker.say(f"keep {number}")
    for member in members:
        assert member.hear_all(5) == [str(number) for number in range(5)]
    for member in others:
        member.close()
    for number in range(5, 12):
        talker.say(f"keep {number}")
    assert talker.hear_all(7) == [str(number) for number in range(5, 12)]
    # At whichever process.
    for member in one_of_each(server, Member, last="4"):
        assert member.heard_before == [str(number) for number in range(5, 12)]
    # More than is kept: 2 to 11 are, and who saw 1 has missed nothing else.
    for last, first in (("1", "2"), ("0", "gap"), ("none", "gap")):
        back = Member(server, last=last)
        wanted = [str(number) for number in range(2, 12)]
        assert back.heard_before == (["gap"] if first == "gap" else []) + wanted
    # A new process has them, too.
    os.kill(talker.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(talker.pid))
    all_workers(server)
    for member in one_of_each(server, Member, last="9"):
        assert member.heard_before == ["10", "11"]


def test_nothing_is_missed_nor_twice_however_often_one_comes_back(start):
    """A client that leaves and comes back to any process, while others speak."""
    server = start("hub_server", room_history=1_000)
    talker, other, _ = one_of_each(server, Member)
    count = 600
    is_over = threading.Event()

    def talk() -> None:
        # Each is heard before the next is said, elsewhere.
        for number in range(1, count + 1):
            talker.say(f"keep {number}")
            while other.hear() != str(number):
                pass
        is_over.set()

    thread = threading.Thread(target=talk)
    thread.start()
    heard = ["0"]
    comings = 0
    end = time.monotonic() + 3 * WAIT_S
    while heard[-1] != str(count):
        assert time.monotonic() < end, heard[-5:]
        client = Member(server, last=heard[-1])
        before = client.heard_before
        # Nobody has ever said what it names as long as it has heard nothing.
        if heard == ["0"] and before[:1] == ["gap"]:
            before = before[1:]
        heard += before
        while not client.is_silent(0.001 if not is_over.is_set() else 0.2):
            heard.append(client.hear())
            if len(heard) % 7 == 0:
                break
        client.close()
        comings += 1
    thread.join(WAIT_S)
    print(f"came back {comings} times")
    assert comings > 5
    assert heard == [str(number) for number in range(count + 1)]
