"""The soak for a minute; `make soak` has it for half an hour. And its judges."""

import socket
from types import SimpleNamespace

import pytest
from peer_servers import program
from redis_servers import PACKAGE
from soak import soak
from soak_judge import Process, growth, trends
from soak_traffic import (
    AFTER_S,
    TIMEOUT_S,
    Ask,
    Seat,
    Slow,
    Tally,
    Wrong,
    expected_pieces,
    expected_upload,
)

MIB = 1 << 20


@pytest.mark.nightly
@pytest.mark.parametrize("plane", ["redis", "shared"])
def test_a_minute_of_all_traffic_while_faults_happen(tmp_path, plane):
    if plane == "redis":
        program("redis-server", PACKAGE)
    told, faults = soak(1, plane, 150, tmp_path)
    assert faults == [], "\n".join(told)
    assert (tmp_path / "soak.png").stat().st_size > 10_000
    assert len((tmp_path / "seconds.csv").read_text().splitlines()) > 50


SECONDS = [float(at) for at in range(600)]


@pytest.mark.parametrize(
    ("values", "grown"),
    [
        ([5.0] * 600, 0),
        ([5 + at / 599 for at in range(600)], 1),
        ([5 + (at % 7) for at in range(600)], 0),
        # Peaks, one of them at the end.
        ([50.0 if at % 100 == 99 else 5.0 for at in range(600)], 0),
        ([50.0 if at > 580 else 5.0 for at in range(600)], 0),
        ([5.0], 0),
    ],
)
def test_growth_is_that_of_most_of_the_time(values, grown):
    assert growth(SECONDS[: len(values)], values) == pytest.approx(grown, abs=0.02)


def lived(role: str, first: int, last: int, more_each_s: float) -> Process:
    seconds = SECONDS[first:last]
    memory = [10 * MIB + int(more_each_s * at) for at in range(first, last)]
    count = len(seconds)
    return Process(role, 1, seconds, memory, [9] * count, [3] * count)


def grown(*processes: Process) -> list[str]:
    return [row.what for row in trends(list(processes), 100, 599) if row.grows]


def test_those_that_grow_are_named():
    assert grown(lived("front", 0, 600, MIB / 100)) == ["memory"]
    assert grown(lived("front", 0, 600, 1000)) == []
    [memory] = [x for x in trends([lived("a", 0, 600, MIB / 100)], 100, 599) if x.what == "memory"]
    # Of the second half.
    assert memory.growth == pytest.approx(2.5 * MIB, rel=0.02)


def test_what_is_filled_in_the_first_half_does_not_grow():
    one = lived("front", 0, 600, 0)
    one.memory = [10 * MIB + min(at, 300) * MIB // 100 for at in range(600)]
    assert grown(one) == []


@pytest.mark.parametrize(("first", "last"), [(200, 600), (0, 300)])
def test_memory_of_those_that_came_later_or_went_is_not_judged(first, last):
    found = trends([lived("front", first, last, MIB)], 100, 599)
    assert [row for row in found if row.what == "memory"] == []


def test_descriptors_are_those_of_all_of_a_role():
    one, other = lived("front", 0, 600, 0), lived("front", 0, 600, 0)
    one.descriptors = [20 + at // 20 for at in range(600)]
    other.descriptors = [60 - at // 20 for at in range(600)]
    assert grown(one, other) == []
    assert grown(one, lived("front", 0, 600, 0)) == ["descriptors"]


def test_what_is_lost_wants_a_fault_that_explains_it():
    tally = Tally(faults=[(100.0, 101.0, "a worker is killed")])
    for began_s, is_explained in (
        (100.5, True), (101 + AFTER_S - 0.1, True), (101 + AFTER_S + 0.1, False),
        # It waited for long, and was then hit.
        (100 - TIMEOUT_S + 0.1, True), (100 - TIMEOUT_S - 0.1, False),
    ):
        tally.lost = []
        tally.note_lost("http1", began_s, OSError("reset"))
        assert (tally.unexplained() == []) is is_explained, began_s


def test_the_answer_of_another_is_wrong():
    ask = Ask("GET", "/passed/own/7?more=0", None, b"own 7 ", "7")
    ask.check(200, "7", b"own 7 ")
    for status, own, body in (
        (200, "8", b"own 8 "), (200, "7", b"own 7"), (200, "", b"own 7 "), (404, "7", b"own 7 "),
    ):
        with pytest.raises(Wrong):
            ask.check(status, own, body)
    with pytest.raises(OSError):
        ask.check(503, "", b"")
    with pytest.raises(Wrong):
        Ask("GET", "/own/7?more=0", None, b"own 7 ", "7").check(503, "", b"")


def test_what_is_expected_of_the_server():
    assert expected_pieces(2, 3) == b"bcdabc"
    assert expected_upload(b"ab") == b"2 3105"


def test_a_seat_answers_pings_and_hears_what_is_behind_them():
    ours, servers = socket.socketpair()
    seat = Seat.__new__(Seat)
    seat.client, seat.waiting = SimpleNamespace(sock=ours, send=ours.sendall), b""
    with ours, servers:
        # RFC 6455 5.5.2: a pong has the payload of its ping.
        servers.sendall(b"\x89\x02hi\x81\x03m 1")
        assert seat.texts() == ["m 1"]
        assert servers.recv(99) == b"\x8a\x82mask" + bytes(x ^ y for x, y in zip(b"hi", b"ma"))


@pytest.mark.parametrize(("was_too_slow", "is_right"), [(True, True), (False, False)])
def test_who_is_slower_than_a_head_may_be_is_told_so(was_too_slow, is_right):
    slow = Slow.__new__(Slow)
    slow.was_too_slow = was_too_slow
    ask = Ask("GET", "/pieces?count=8&length=9000", None, b"x")
    if is_right:
        slow._check(ask, 408, "", b"late")
    else:
        with pytest.raises(Wrong):
            slow._check(ask, 408, "", b"late")
