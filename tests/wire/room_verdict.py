"""Judges what the clients of a room have heard by what docs/scaling.md promises.

- Nobody hears a message twice, and all hear those of one sender in their order.
- Who stays, and whose sender stays, hears everything from when he came.
- If a sender's worker is killed, the end of what he said may be missing; in
  shared memory, and in a stream, it is the same end for all who stay.
- Over a channel, what other processes say is lost while there is no connection
  to Redis. Each process counts what it lost, from the first message of another
  process on that it heard.
"""

from dataclasses import dataclass, field

from room_crowd import Crowd, Seat, Speech

# What was said right before Redis went may not have reached it.
BEFORE_S = 1.0


@dataclass
class Terms:
    """What may be lost in this run."""

    keeps_gaps: bool
    # From when Redis went to when all processes had heard each other again.
    away_s: list[tuple[float, float]] = field(default_factory=list)
    # Processes that were there at the beginning, and those that stayed to the end.
    first: set[int] = field(default_factory=set)
    steady: set[int] = field(default_factory=set)

    def is_away(self, from_s: float, to_s: float) -> bool:
        return any(
            from_s <= end and start - BEFORE_S <= to_s for start, end in self.away_s
        )

    def may_be_late(self, seat: Seat) -> bool:
        """A process that was started meanwhile hears the others once it is
        connected."""
        return seat.pid not in self.steady and (
            not self.keeps_gaps or self.is_away(seat.opened_s, seat.opened_s)
        )


@dataclass
class Verdict:
    """The figures, and what must not be."""

    faults: list[str] = field(default_factory=list)
    messages: int = 0
    # Messages of which nobody who stayed has heard, as their worker was killed.
    lost_with_worker: int = 0
    # By process: messages of others that its clients never heard, without those
    # of processes that it had never heard before.
    lost_by_process: dict[int, int] = field(default_factory=dict)
    # Those: it cannot know of them.
    unknown_by_process: dict[int, int] = field(default_factory=dict)
    lost_deliveries: int = 0
    duplicates: int = 0
    reordered: int = 0


def judge(crowd: Crowd, terms: Terms) -> Verdict:
    verdict = Verdict(messages=sum(len(one.spoken_s) for one in crowd.speeches))
    stayed = {seat.speech.id for seat in crowd.alive() if seat.speech}
    for seat in crowd.seats:
        verdict.duplicates += seat.duplicates
        verdict.reordered += seat.reordered
    if verdict.duplicates or verdict.reordered:
        verdict.faults.append(
            f"{verdict.duplicates} came twice, {verdict.reordered} out of order"
        )
    for speech in crowd.speeches:
        for seat in crowd.seats:
            _judge_one(seat, speech, speech.id in stayed, terms, verdict)
        if speech.id not in stayed:
            _judge_end(crowd, speech, terms, verdict)
    _judge_processes(crowd, terms, verdict)
    return verdict


def lost_numbers(seat: Seat, speech: Speech) -> list[int]:
    """Numbers that others came behind, and that the client did not hear; what was
    said before it came does not count."""
    first = seat.firsts.get(speech.id, 0)
    numbers = [
        number
        for number in range(first)
        if speech.spoken_s[number] > seat.opened_s
    ]
    for said, start, end in seat.missing:
        if said == speech.id:
            numbers += range(start, end)
    return numbers


def _judge_one(
    seat: Seat, speech: Speech, is_speaking: bool, terms: Terms, verdict: Verdict
) -> None:
    is_own = seat.pid == speech.pid
    is_late = not is_own and terms.may_be_late(seat)
    first = seat.firsts.get(speech.id, 0)
    for number in lost_numbers(seat, speech):
        verdict.lost_deliveries += 1
        if number < first and is_late:
            continue
        is_gap = not terms.keeps_gaps and terms.is_away(*speech.time_of(number))
        if is_own or not is_gap:
            verdict.faults.append(
                f"a client at {seat.pid} never heard number {number} of speech"
                f" {speech.id} at {speech.pid}"
            )
    heard = max(seat.seen[speech.id], 0)
    if is_speaking and not seat.closed_s and heard < len(speech.spoken_s):
        verdict.faults.append(
            f"a client at {seat.pid} heard {heard} of {len(speech.spoken_s)} of"
            f" speech {speech.id} at {speech.pid}, and no more"
        )


def _judge_end(crowd: Crowd, speech: Speech, terms: Terms, verdict: Verdict) -> None:
    """Of one whose worker was killed: how far those heard who were there all the
    time."""
    heard = {
        max(seat.seen[speech.id], 0)
        for seat in crowd.alive()
        if seat.opened_s < speech.begun_s and seat.pid in terms.steady
    }
    if not heard:
        return
    verdict.lost_with_worker += len(speech.spoken_s) - max(heard)
    if len(heard) > 1 and terms.keeps_gaps:
        verdict.faults.append(
            f"of speech {speech.id}, whose worker was killed, clients heard up to"
            f" {sorted(heard)}"
        )


def _judge_processes(crowd: Crowd, terms: Terms, verdict: Verdict) -> None:
    """All clients of a process hear the same."""
    begun_s = min(speech.begun_s for speech in crowd.speeches)
    for pid in terms.steady:
        witnesses = [
            seat
            for seat in crowd.alive()
            if seat.pid == pid and seat.opened_s < begun_s
        ]
        found = {
            tuple(tuple(lost_numbers(seat, speech)) for speech in crowd.speeches)
            for seat in witnesses
        }
        if len(found) > 1:
            verdict.faults.append(f"clients of process {pid} have heard different things")
        if witnesses:
            _count_lost(witnesses[0], crowd, terms, verdict)


def _count_lost(seat: Seat, crowd: Crowd, terms: Terms, verdict: Verdict) -> None:
    """Adds what the process of a client has lost."""
    first_heard_s: dict[int, float] = {}
    for speech in crowd.speeches:
        if seat.seen[speech.id] >= 0:
            first = speech.spoken_s[seat.firsts.get(speech.id, 0)]
            known = first_heard_s.get(speech.pid, first)
            first_heard_s[speech.pid] = min(first, known)
    counts = [0, 0]
    for speech in crowd.speeches:
        for number in lost_numbers(seat, speech):
            is_known = speech.pid in terms.first or (
                speech.spoken_s[number] > first_heard_s[speech.pid]
            )
            counts[is_known] += 1
    verdict.unknown_by_process[seat.pid], verdict.lost_by_process[seat.pid] = counts
