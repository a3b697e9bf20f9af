"""Many clients of one chat room, in one thread: what each hears, number by number.

Every message has one length, so that a piece off a socket is taken apart by one
call: who said it, which of his it is, and when he said it.
"""

import errno
import math
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from raw_ws import UPGRADE, frame

PAYLOAD = struct.Struct(">IIQ")
# A whole frame of the server: binary, FIN, and the length of the payload.
RECORD = struct.Struct(">HIIQ")
HEAD = 0x8200 | PAYLOAD.size
PORTION = 262_144
SPEECH_COUNT_MAX = 1_024
LOOK_S = 0.02
RETRY_S = 0.05
# So many at once, or the queue of a listener is too short for them.
OPENING_COUNT = 200


@dataclass
class Speech:
    """What one connection says, from 0 on."""

    id: int
    pid: int
    begun_s: float
    spoken_s: list[float] = field(default_factory=list)
    # When he heard it himself; of the last one maybe not.
    heard_s: list[float] = field(default_factory=list)

    def time_of(self, number: int) -> tuple[float, float]:
        """From when a message was said to when it was heard at its own process."""
        is_heard = number < len(self.heard_s)
        return self.spoken_s[number], self.heard_s[number] if is_heard else math.inf


@dataclass
class Seat:
    """One connection, and what it has heard."""

    machine: int
    opened_s: float
    sock: socket.socket
    seen: list[int]
    pid: int = 0
    closed_s: float = 0.0
    is_upgraded: bool = False
    rest: bytes = b""
    # Number of the first message of a speech; absent if it is 0.
    firsts: dict[int, int] = field(default_factory=dict)
    missing: list[tuple[int, int, int]] = field(default_factory=list)
    duplicates: int = 0
    reordered: int = 0
    speech: Speech | None = None
    budget: int = 0

    def hear(self, speech: int, number: int) -> None:
        """Takes note of a message."""
        if self.seen[speech] == number:
            self.seen[speech] = number + 1
        else:
            self._hear_odd(speech, number)

    def _hear_odd(self, speech: int, number: int) -> None:
        """A message that is not the next one of its speech, or the first."""
        expected = self.seen[speech]
        if expected < 0 or number > expected:
            if expected >= 0:
                self.missing.append((speech, expected, number))
            elif number > 0:
                self.firsts[speech] = number
            self.seen[speech] = number + 1
        elif any(
            said == speech and start <= number < end
            for said, start, end in self.missing
        ) or number < self.firsts.get(speech, 0):
            self.reordered += 1
        else:
            self.duplicates += 1

    def has_heard_itself(self) -> bool:
        return (
            self.speech is None
            or self.seen[self.speech.id] >= len(self.speech.spoken_s)
        )


class Crowd:
    """The connections to all machines; those that are lost come back."""

    def __init__(self, addresses: list[tuple[str, int]]) -> None:
        self.addresses = addresses
        self.seats: list[Seat] = []
        self.speeches: list[Speech] = []
        self.speakers: list[Seat] = []
        self.killed: set[int] = set()
        self.delivered = 0
        self.reconnected = 0
        self.latencies_s: list[float] = []
        self.is_timing = False
        self._opening = 0
        self._by_fd: dict[int, Seat] = {}
        self._poll = select.epoll()
        # When to open a connection again, to which machine, and for whom.
        self._later: list[tuple[float, int, Seat | None]] = []

    def alive(self) -> list[Seat]:
        return [seat for seat in self.seats if not seat.closed_s]

    def open(self, count: int, timeout_s: float) -> None:
        """Opens connections, in turn to each machine."""
        for number in range(count):
            self._open(number % len(self.addresses), None)
            if self._opening >= OPENING_COUNT:
                self.run(lambda: self._opening == 0, timeout_s, "connecting")
        self.run(lambda: self._opening == 0, timeout_s, "connecting")

    def is_whole(self) -> bool:
        """Tells whether nobody is on his way back."""
        return self._opening == 0 and not self._later

    def choose_speakers(self, count: int) -> None:
        """Lets so many speak, as many at each process as there can be."""
        by_process: dict[int, list[Seat]] = {}
        for seat in self.alive():
            by_process.setdefault(seat.pid, []).append(seat)
        rows = list(by_process.values())
        self.speakers = [
            row[place]
            for place in range(max(map(len, rows)))
            for row in rows
            if place < len(row)
        ][:count]

    def talk(self, count: int) -> None:
        """Lets each speaker say so much more; each waits until he hears himself."""
        for seat in self.speakers:
            seat.budget += count
            self._go_on(seat)

    def has_talked(self) -> bool:
        return self.is_whole() and all(
            seat.budget == 0 and seat.has_heard_itself() for seat in self.speakers
        )

    def say_once(self, seat: Seat) -> None:
        seat.budget += 1
        self._go_on(seat)

    def run(self, is_reached: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Moves messages until something is reached."""
        end = time.monotonic() + timeout_s
        look = 0.0
        while True:
            now = time.monotonic()
            if now >= look:
                if is_reached():
                    return
                look = time.monotonic() + LOOK_S
            assert now < end, f"{what}: not within {timeout_s} s; {self.state()}"
            self._step(LOOK_S)

    def state(self) -> str:
        waiting = [
            f"{seat.pid}: {seat.budget} to say, heard"
            f" {seat.seen[seat.speech.id]} of {len(seat.speech.spoken_s)}"
            for seat in self.speakers
            if seat.speech and (seat.budget or not seat.has_heard_itself())
        ]
        return (
            f"{len(self.alive())} connections, {self._opening} are opening,"
            f" {len(self._later)} come later; {waiting}"
        )

    def close(self) -> None:
        for seat in self._by_fd.values():
            seat.sock.close()
        self._poll.close()

    def _step(self, timeout_s: float) -> None:
        now = time.monotonic()
        due = [entry for entry in self._later if entry[0] <= now]
        if due:
            self._later = [entry for entry in self._later if entry[0] > now]
            for _, machine, before in due:
                self._open(machine, before)
        for descriptor, events in self._poll.poll(timeout_s):
            seat = self._by_fd[descriptor]
            if events & select.EPOLLOUT and not self._ask(seat):
                continue
            if events & ~select.EPOLLOUT:
                self._receive(seat)

    def _open(self, machine: int, before: Seat | None) -> None:
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(self.addresses[machine])
        assert code in (0, errno.EINPROGRESS), errno.errorcode[code]
        seat = Seat(machine, 0.0, sock, [-1] * SPEECH_COUNT_MAX)
        if before is not None:
            seat.budget = before.budget
            self.speakers = [seat if one is before else one for one in self.speakers]
        self._opening += 1
        self._by_fd[sock.fileno()] = seat
        self._poll.register(sock, select.EPOLLIN | select.EPOLLOUT)

    def _ask(self, seat: Seat) -> bool:
        """Sends the request once there is a connection."""
        code = seat.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._lose(seat)
            return False
        self._poll.modify(seat.sock, select.EPOLLIN)
        seat.sock.send(UPGRADE % (b"/ws", b""))
        return True

    def _receive(self, seat: Seat) -> None:
        try:
            data = seat.sock.recv(PORTION)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(seat)
            return
        if not seat.is_upgraded:
            seat.rest += data
            head, end, rest = seat.rest.partition(b"\r\n\r\n")
            if not end:
                return
            assert b" 101 " in head.split(b"\r\n")[0], head
            seat.is_upgraded = True
            seat.rest, data = b"", rest
            seat.sock.send(frame(0x81, b"pid"))
        self._take(seat, seat.rest + data if seat.rest else data)
        if seat.speech is not None:
            heard = seat.seen[seat.speech.id] - len(seat.speech.heard_s)
            seat.speech.heard_s += [time.monotonic()] * heard
            self._go_on(seat)

    def _take(self, seat: Seat, data: bytes) -> None:
        place = 0
        while place < len(data):
            place, is_whole = self._take_records(seat, data, place)
            if is_whole:
                length = self._take_other(seat, data, place)
                if length == 0:
                    break
                place += length
            else:
                break
        seat.rest = data[place:]

    def _take_records(self, seat: Seat, data: bytes, place: int) -> tuple[int, bool]:
        """Takes messages; tells whether something else comes behind them."""
        count = (len(data) - place) // RECORD.size
        end = place + count * RECORD.size
        seen = seat.seen
        now_ns = time.monotonic_ns()
        for head, speech, number, sent_ns in RECORD.iter_unpack(
            memoryview(data)[place:end]
        ):
            if head != HEAD:
                return place, True
            if seen[speech] == number:
                seen[speech] = number + 1
            else:
                seat.hear(speech, number)
            if self.is_timing:
                self.latencies_s.append((now_ns - sent_ns) / 1e9)
            self.delivered += 1
            place += RECORD.size
        if len(data) - place >= 2:
            return place, int.from_bytes(data[place : place + 2], "big") != HEAD
        return place, False

    def _take_other(self, seat: Seat, data: bytes, place: int) -> int:
        """Takes a frame that is no message; gives its length, 0 if more is to come."""
        first, length = data[place], data[place + 1]
        assert length < 126, f"a frame that nobody sent: {data[place:place + 40]!r}"
        if len(data) - place < 2 + length:
            return 0
        payload = data[place + 2 : place + 2 + length]
        if first == 0x89:
            seat.sock.send(frame(0x8A, payload))
        else:
            assert first == 0x81 and payload.startswith(b"pid "), (first, payload)
            self._seat(seat, int(payload[4:]))
        return 2 + length

    def _seat(self, seat: Seat, pid: int) -> None:
        """Takes note of where a client is; from here on it hears all."""
        seat.pid = pid
        seat.opened_s = time.monotonic()
        self._opening -= 1
        self.seats.append(seat)
        if seat in self.speakers:
            self._go_on(seat)

    def _go_on(self, seat: Seat) -> None:
        """Says the next message, if the last one was heard."""
        if not seat.pid or seat.closed_s or not seat.budget:
            return
        if not seat.has_heard_itself():
            return
        if seat.speech is None:
            seat.speech = Speech(len(self.speeches), seat.pid, time.monotonic())
            self.speeches.append(seat.speech)
        number = len(seat.speech.spoken_s)
        payload = PAYLOAD.pack(seat.speech.id, number, time.monotonic_ns())
        seat.speech.spoken_s.append(time.monotonic())
        seat.budget -= 1
        try:
            seat.sock.send(frame(0x82, payload))
        except OSError:
            # What was lost shows when it is read.
            return

    def _lose(self, seat: Seat) -> None:
        """Comes back, if it is known why the connection has ended."""
        del self._by_fd[seat.sock.fileno()]
        self._poll.unregister(seat.sock)
        seat.sock.close()
        assert self.killed, "a connection ended, though nobody was killed"
        if seat.pid:
            assert seat.pid in self.killed, f"process {seat.pid} ended a connection"
            seat.closed_s = time.monotonic()
            self.reconnected += 1
        else:
            self._opening -= 1
        before = seat if seat in self.speakers else None
        self._later.append((time.monotonic() + RETRY_S, seat.machine, before))
