"""A chat room over worker processes and machines, of which some are killed.

    make chat-proof
    .venv/bin/python tests/wire/chat_proof.py --clients 200 --runs 1 --plane stream

Over shared memory: one machine with three workers, of which two are killed and
one is stopped for a while. Over Redis, by a stream and by a channel: two machines
with three workers each; two workers are killed, Redis is stopped, killed and
started again, and, where machines are network namespaces, one is cut off from it.
`room_verdict.py` says what must hold, and the figures are printed.
"""

import argparse
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conftest import Server
from arguments import positive
from crowd import allow
from hub_clients import Member, all_workers, connected, figures, one_of_each
from processes import cpu_s, workers
from namespaces import Namespace, make_namespaces
from redis_servers import RedisServer
from room_crowd import Crowd
from room_verdict import Terms, Verdict, judge
from wire_programs import built

WORKERS = 3
PLANES = ("shared", "stream", "channel")
SPEAKERS = 20
HISTORY = 100_000


@dataclass(frozen=True)
class Size:
    """How large a run is, and how long a step of it may take."""

    clients: int
    # Messages of each speaker in a step.
    rounds: int = 2
    # Messages that are timed, each alone.
    singles: int = 10
    # How long Redis is away at least; longer than an exchange with it may take, so
    # that it fails.
    away_s: float = 2.5
    # How long it is waited for a message that may be lost.
    hearing_s: float = 2.0
    timeout_s: float = 60.0


class Machine(Server):
    """A master with its workers; in a namespace, if there is one."""

    def __init__(self, namespace: Namespace | None, count: int, **config) -> None:
        self.host = namespace.host if namespace else "127.0.0.1"
        config |= {"workers": WORKERS, "host": self.host}
        limit = allow(count)

        def before() -> None:
            limit()
            if namespace:
                namespace.enter()

        arguments = [f"{name}={value}" for name, value in config.items()]
        super().__init__(built("hub_server"), arguments, preexec_fn=before)

    def connect(self, timeout: float = 5.0) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def used_s(self) -> float:
        """CPU time of its processes that are there."""
        pid = self.process.pid
        return cpu_s(pid) + sum(map(cpu_s, workers(pid)))

    def end(self) -> None:
        self.process.kill()
        self.process.wait(5)
        self._log.close()
        self.log.unlink(missing_ok=True)


class Proof:
    """One run: the room, who is in it, and what was done to it."""

    def __init__(self, plane: str, size: Size, machines: list[Machine]) -> None:
        self.size = size
        self.machines = machines
        self.terms = Terms(keeps_gaps=plane != "channel")
        self.pids = [all_workers(machine, WORKERS) for machine in machines]
        self._meet()
        self.before = self._lost_counts()
        self.crowd = Crowd([(one.host, one.port) for one in machines])
        self.crowd.open(size.clients, size.timeout_s)
        self.crowd.choose_speakers(SPEAKERS)

    def _meet(self) -> None:
        """Waits until each process hears all others."""
        members = [
            member
            for machine in self.machines
            for member in one_of_each(machine, Member, WORKERS)
        ]
        for sender in members:
            connected(sender, members)
        for member in members:
            member.close()

    def _lost_counts(self) -> dict[int, int]:
        return {
            pid: figures(machine, pid)["lost"]
            for machine, pids in zip(self.machines, self.pids)
            for pid in pids
            if pid not in getattr(self, "killed", ())
        }

    def run(self, is_reached: Callable[[], bool], what: str) -> None:
        self.crowd.run(is_reached, self.size.timeout_s, what)

    def time_singles(self) -> None:
        """One message after the other, each to all."""
        self.crowd.is_timing = True
        for number in range(self.size.singles):
            self.crowd.say_once(self.crowd.speakers[number % SPEAKERS])
            self.run(self.all_have_heard, "a message alone")
        self.crowd.is_timing = False

    def talk(self, what: str, meanwhile: Callable[[], None] | None = None) -> None:
        """All speakers speak; when half is said, something happens."""
        crowd = self.crowd
        crowd.talk(self.size.rounds)
        if meanwhile:
            half = sum(seat.budget for seat in crowd.speakers) // 2
            self.run(
                lambda: sum(seat.budget for seat in crowd.speakers) <= half, what
            )
            meanwhile()
        self.run(crowd.has_talked, what)

    def all_have_heard(self, is_local: bool = False) -> bool:
        """Tells whether everybody has heard all speakers to their end, or those of
        his own process."""
        said = [
            (seat.pid, seat.speech.id, len(seat.speech.spoken_s))
            for seat in self.crowd.speakers
            if seat.speech
        ]
        return self.crowd.is_whole() and all(
            seat.seen[speech] == count
            for seat in self.crowd.alive()
            for pid, speech, count in said
            if not is_local or pid == seat.pid
        )

    def settle(self, what: str) -> None:
        """Speaks until all hear all: what is kept comes at once, over a channel it
        shows who is connected again."""
        end = time.monotonic() + self.size.timeout_s
        while True:
            self.talk(what)
            until = end if self.terms.keeps_gaps else time.monotonic() + self.size.hearing_s
            self.run(
                lambda: self.all_have_heard() or time.monotonic() > until, what
            )
            if self.all_have_heard():
                return
            assert time.monotonic() < end, f"{what}: not all hear all again"

    def kill_worker_of(self, place: int) -> None:
        """Kills the worker of a speaker, and waits until all its clients see it."""
        victim = self.crowd.speakers[place].pid
        self.crowd.killed.add(victim)
        os.kill(victim, signal.SIGKILL)
        self.run(
            lambda: all(seat.pid != victim for seat in self.crowd.alive()),
            "the clients of a worker that was killed",
        )

    def stop_a_worker(self) -> None:
        """Nobody speaks when it is stopped, so it holds no lock."""
        victim = self.crowd.speakers[-1].pid
        os.kill(victim, signal.SIGSTOP)
        crowd = self.crowd
        crowd.talk(self.size.rounds)
        others = [seat for seat in crowd.speakers if seat.pid != victim]

        def have_others_talked() -> bool:
            return all(
                seat.budget == 0 and seat.has_heard_itself() for seat in others
            )

        try:
            self.run(have_others_talked, "a worker is stopped")
        finally:
            os.kill(victim, signal.SIGCONT)
        self.run(crowd.has_talked, "a worker goes on")

    def lose_redis(
        self, what: str, go: Callable[[], None], come: Callable[[], None], kills: bool
    ) -> None:
        """Takes Redis away while all speak; those of a process hear each other."""
        crowd = self.crowd
        start_s = time.monotonic()
        self.talk(what, go)
        self.run(lambda: self.all_have_heard(is_local=True), f"{what}, locally")
        if kills:
            self.talk(what, lambda: self.kill_worker_of(0))
        self.run(lambda: time.monotonic() > start_s + self.size.away_s, what)
        come()
        self.settle(f"{what}, and back")
        self.terms.away_s.append((start_s, time.monotonic()))
        assert crowd.is_whole()

    def finish(self) -> Verdict:
        self.settle("the end")
        self.terms.first = {pid for pids in self.pids for pid in pids}
        self.terms.steady = self.terms.first - self.crowd.killed
        verdict = judge(self.crowd, self.terms)
        self.pids = [
            [pid for pid in pids if pid not in self.crowd.killed] for pids in self.pids
        ]
        for pid, lost in self._lost_counts().items():
            counted = lost - self.before[pid]
            missed = verdict.lost_by_process.get(pid, counted)
            if counted != missed:
                verdict.faults.append(
                    f"process {pid} counts {counted} lost, its clients miss {missed}"
                )
        return verdict


def over_shared_memory(proof: Proof) -> None:
    proof.time_singles()
    proof.talk("calm")
    proof.talk("a worker is killed", lambda: proof.kill_worker_of(0))
    proof.settle("its clients are back")
    proof.stop_a_worker()
    proof.talk("another is killed", lambda: proof.kill_worker_of(1))


def over_redis(proof: Proof, redis: RedisServer, namespaces: list[Namespace]) -> None:
    proof.time_singles()
    proof.talk("calm")
    proof.talk("a worker is killed", lambda: proof.kill_worker_of(0))
    proof.settle("its clients are back")
    proof.lose_redis("Redis is stopped", redis.pause, redis.go_on, kills=False)
    proof.lose_redis("Redis is killed", redis.kill, redis.start, kills=True)
    if namespaces:
        machine = namespaces[1]
        proof.lose_redis("a machine is cut off", machine.cut, machine.mend, kills=False)


def start_redis(folder: Path, namespaces: list[Namespace]) -> RedisServer:
    """It keeps what it has confirmed, also when it is killed."""
    hosts = " ".join(["127.0.0.1", *(one.redis_host for one in namespaces)])
    return RedisServer(
        folder, appendonly="yes", appendfsync="always", bind=hosts,
        protected_mode="no",
    )  # fmt: skip


def prove(plane: str, size: Size, folder: Path, allows_namespaces: bool) -> dict:
    """One run; gives its figures, or raises with what did not hold."""
    is_shared = plane == "shared"
    namespaces = make_namespaces(2) if allows_namespaces and not is_shared else []
    machines: list[Machine] = []
    redis = None if is_shared else start_redis(folder / "redis", namespaces)
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    try:
        for number in range(1 if is_shared else 2):
            here = namespaces[number] if namespaces else None
            config = {"plane": "shared" if is_shared else "redis"}
            if redis:
                host = here.redis_host if here else "127.0.0.1"
                config["redis"] = f"redis://{host}:{redis.port}"
                config["history"] = HISTORY if plane == "stream" else 0
            machines.append(Machine(here, size.clients, **config))
        proof = Proof(plane, size, machines)
        try:
            if redis:
                over_redis(proof, redis, namespaces)
            else:
                over_shared_memory(proof)
            verdict = proof.finish()
            used_s = sum(machine.used_s() for machine in machines)
        finally:
            proof.crowd.close()
    finally:
        for machine in machines:
            machine.end()
        if redis:
            redis.stop()
        for namespace in namespaces:
            namespace.remove()
    assert not verdict.faults, "\n".join(verdict.faults[:20])
    return told(plane, proof, verdict, bool(namespaces)) | {
        "time s": round(time.monotonic() - begun_s, 1),
        "CPU s of the clients": round(time.process_time() - begun_cpu_s, 1),
        "CPU s of the workers": round(used_s, 1),
    }


def told(plane: str, proof: Proof, verdict: Verdict, is_apart: bool) -> dict:
    crowd = proof.crowd
    times_ms = sorted(1000 * latency for latency in crowd.latencies_s)
    return {
        "plane": plane,
        "machines": f"{len(proof.machines)}, "
        + ("network namespaces" if is_apart else "process groups"),
        "clients": proof.size.clients,
        "messages": verdict.messages,
        "deliveries": crowd.delivered,
        "lost with a killed worker": verdict.lost_with_worker,
        "lost in gaps, by process": sorted(verdict.lost_by_process.values()),
        "lost, of new processes": sorted(verdict.unknown_by_process.values()),
        "lost deliveries": verdict.lost_deliveries,
        "duplicates": verdict.duplicates,
        "reordered": verdict.reordered,
        "reconnects": crowd.reconnected,
        "p50 ms": round(times_ms[len(times_ms) // 2], 1),
        "p99 ms": round(times_ms[len(times_ms) * 99 // 100], 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=positive, default=2_000)
    parser.add_argument("--rounds", type=positive, default=2)
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--plane", choices=PLANES)
    parser.add_argument("--groups", action="store_true", help="no network namespaces")
    options = parser.parse_args()
    if options.plane != "shared" and shutil.which("redis-server") is None:
        print("redis-server is not installed: apt-get install redis-server")
        return 1
    size = Size(options.clients, options.rounds)
    for plane in [options.plane] if options.plane else PLANES:
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                found = prove(plane, size, Path(folder), not options.groups)
            for name, value in found.items():
                print(f"{name:28}{value}")
            print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
