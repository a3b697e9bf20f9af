"""The chat proof with a tenth of its clients; `make chat-proof` has all."""

import pytest
from chat_proof import PLANES, Size, prove
from peer_servers import program
from redis_servers import PACKAGE
from room_crowd import Crowd, Seat, Speech
from room_verdict import Terms, judge

SIZE = Size(clients=200, rounds=1, singles=3, away_s=1.0, hearing_s=0.5)


@pytest.mark.parametrize("plane", PLANES)
def test_a_room_while_workers_and_redis_are_killed(tmp_path, plane):
    if plane != "shared":
        program("redis-server", PACKAGE)
    found = prove(plane, SIZE, tmp_path, allows_namespaces=True)
    assert found["deliveries"] > 50 * SIZE.clients
    assert found["reconnects"] > SIZE.clients // 10
    if plane != "channel":
        assert found["lost deliveries"] == 0


def room(*heard: list[int], pids: tuple[int, int] = (1, 1)) -> Crowd:
    """Two clients, of whom the first says five messages; what each hears."""
    crowd = Crowd([])
    for pid, numbers in zip(pids, heard):
        seat = Seat(0, 1.0, None, [-1] * 8, pid)
        for number in numbers:
            seat.hear(0, number)
        crowd.seats.append(seat)
    times_s = [2.0, 3.0, 4.0, 5.0, 6.0]
    crowd.speeches.append(Speech(0, pids[0], 2.0, times_s, times_s))
    crowd.seats[0].speech = crowd.speeches[0]
    return crowd


ALL = [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("heard", "fault"),
    [
        (ALL, ""),
        ([0, 1, 1, 2, 3, 4], "came twice"),
        ([0, 2, 1, 3, 4], "out of order"),
        ([1, 0, 2, 3, 4], "out of order"),
        ([0, 1, 3, 4], "never heard number 2"),
        ([2, 3, 4], "never heard number 0"),
        ([0, 1, 2], "heard 3 of 5"),
        ([], "heard 0 of 5"),
    ],
)
def test_the_judge_sees(heard, fault):
    """A proof that finds nothing must be able to find it."""
    terms = Terms(keeps_gaps=True, first={1}, steady={1})
    faults = "\n".join(judge(room(ALL, heard), terms).faults)
    assert fault in faults and bool(faults) == bool(fault), faults


def test_what_a_channel_may_lose():
    """Messages of other processes, while Redis was away; each is counted."""
    terms = Terms(keeps_gaps=False, away_s=[(4.0, 5.5)], first={1, 2}, steady={1, 2})
    verdict = judge(room(ALL, [0, 1, 4], pids=(1, 2)), terms)
    assert verdict.faults == []
    assert verdict.lost_by_process == {1: 0, 2: 2}
    terms.away_s = [(6.5, 6.6)]
    assert judge(room(ALL, [0, 1, 4], pids=(1, 2)), terms).faults
    terms.away_s = [(4.0, 5.5)]
    assert judge(room(ALL, [0, 1, 4], pids=(1, 1)), terms).faults
