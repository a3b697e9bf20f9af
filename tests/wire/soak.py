"""All kinds of traffic at once for half an hour, while faults happen.

    make soak MINUTES=30
    .venv/bin/python tests/wire/soak.py --minutes 1 --rate 200 --plane shared

A server with three worker processes, two more behind its gateway, and Redis for
its hubs and its cache, or shared memory. Clients (`soak_traffic.py`) ask over
HTTP/1.1 and HTTP/2, and know what each answer must be. Workers are killed and
stopped, those behind the gateway too, Redis is stopped and killed. Memory,
descriptors, threads and latency are sampled each second; at the end lines are
fitted to what they did after the warm-up (`soak_judge.py`). It fails on a wrong
answer, one that was lost without a fault that explains it, and on growth; tables
and a chart lie in build/soak.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from conftest import BUILD, Server
from arguments import above_zero
from processes import end_session, is_alive, workers
from redis_servers import RedisServer
from soak_judge import Process, Second, draw, percentile, trends, write_tables
from soak_traffic import Tally, all_traffic
from wire_programs import built

FRONT_WORKERS, BACK_WORKERS = 3, 2
WARM_UP_SHARE = 0.2
WARM_UP_MAX_S = 120.0
# In less, what is filled once looks like growth.
JUDGED_FROM_S = 300.0
STOPPED_S = 1.0
FAULT_EVERY_S = 20.0
QUIET_END_S = 15.0


class Soak:
    """What runs, and what was seen of it."""

    def __init__(self, folder: Path, plane: str, rate: float, seed: int) -> None:
        self.tally = Tally()
        self.random = random.Random(seed)
        self.redis = RedisServer(folder / "redis") if plane == "redis" else None
        self.servers: dict[str, Server] = {}
        try:
            backs = [self._start(f"behind {x}", workers=BACK_WORKERS) for x in "ab"]
            urls = ",".join(one.url for one in backs)
            more = {"redis": f"redis://127.0.0.1:{self.redis.port}"} if self.redis else {}
            front = self._start(
                "front", workers=FRONT_WORKERS, upstream=urls, upstream2=urls, **more
            )
            self.traffic = all_traffic(front, self.tally, rate)
        except BaseException:
            self.end()
            raise
        self.processes: dict[int, Process] = {}
        self.seconds: list[Second] = []

    def _start(self, role: str, **options) -> Server:
        arguments = [f"{name}={value}" for name, value in options.items()]
        server = Server(built("soak_server"), arguments, start_new_session=True)
        self.servers[role] = server
        return server

    def _workers(self, role: str) -> list[int]:
        """Workers of a server, the youngest last."""
        found = workers(self.servers[role].process.pid)

        def born(pid: int) -> int:
            text = Path(f"/proc/{pid}/stat").read_text()
            return int(text.rsplit(")", 1)[1].split()[19])

        return sorted(found, key=lambda pid: (born(pid), pid))

    def sample(self, second: float, fault: str) -> None:
        for role, server in self.servers.items():
            pids = {server.process.pid: f"{role}, master"}
            pids |= {pid: role for pid in workers(server.process.pid)}
            for pid, name in pids.items():
                self.processes.setdefault(pid, Process(name, pid)).sample(second)
        times = self.tally.take_times()
        lost = len(self.tally.lost) - sum(row.lost for row in self.seconds)
        self.seconds.append(
            Second(second, len(times), percentile(times, 50), percentile(times, 99), lost, fault)
        )

    # Faults: each gives how it ends, and how long it lasts.

    def kill(self, role: str) -> tuple[Callable[[], None], float]:
        """Kills the youngest worker, so that the others are as old as the run."""
        os.kill(self._workers(role)[-1], signal.SIGKILL)
        return lambda: None, 0.0

    def stop(self, role: str) -> tuple[Callable[[], None], float]:
        pid = self.random.choice(self._workers(role))
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT), STOPPED_S

    def stop_redis(self) -> tuple[Callable[[], None], float]:
        self.redis.pause()
        return self.redis.go_on, 2 * STOPPED_S

    def kill_redis(self) -> tuple[Callable[[], None], float]:
        self.redis.kill()
        return self.redis.start, STOPPED_S

    def faults(self) -> dict[str, Callable[[], tuple[Callable[[], None], float]]]:
        found = {
            "a worker is killed": lambda: self.kill("front"),
            "a worker is stopped": lambda: self.stop("front"),
            "one behind the gateway is killed": lambda: self.kill("behind a"),
            "one behind the gateway is stopped": lambda: self.stop("behind b"),
        }
        if self.redis:
            found["Redis is stopped"] = self.stop_redis
            found["Redis is killed"] = self.kill_redis
        return found

    def run(self, length_s: float) -> None:
        began_s = time.monotonic()
        for client in self.traffic:
            client.start()
        faults = list(self.faults().items())
        every_s = min(FAULT_EVERY_S, length_s / (2 * len(faults)))
        due_s, number, mend = every_s, 0, None
        while (second := time.monotonic() - began_s) < length_s:
            for role, server in self.servers.items():
                assert server.is_alive(), f"{role} has ended: {server.stderr()[-1000:]}"
            fault = ""
            if mend and time.monotonic() >= mend[1]:
                mend[0]()
                self.tally.faults[-1] = (mend[2], time.monotonic(), self.tally.faults[-1][2])
                mend = None
            quiet_s = min(QUIET_END_S, length_s / 4)
            if not mend and due_s <= second < length_s - quiet_s:
                fault, act = faults[number % len(faults)]
                number, due_s = number + 1, due_s + every_s
                now_s = time.monotonic()
                self.tally.faults.append((now_s, now_s + 60, fault))
                end, lasts_s = act()
                mend = (end, now_s + lasts_s, now_s)
            self.sample(second, fault)
            time.sleep(max(0.0, began_s + len(self.seconds) - time.monotonic()))
        if mend:
            mend[0]()
        for client in self.traffic:
            client.ended.set()
        for client in self.traffic:
            client.join(30)

    def verdict(self, length_s: float) -> tuple[list[str], list[str]]:
        """Gives what was seen, and what must not have been."""
        tally = self.tally
        faults = [f"wrong: {what}" for what in tally.wrong[:20]]
        faults += [f"lost without a fault: {what}" for what in tally.unexplained()[:20]]
        warm_s = warm_up_s(length_s)
        # The last seconds have no traffic of those that have ended already.
        found = trends(list(self.processes.values()), warm_s, self.seconds[-1].second)
        if sum(row.what == "memory" for row in found) < 2 * len(self.servers):
            faults.append("too few processes have lived long enough to be judged")
        told = [f"{sum(tally.answered.values())} answers: " + ", ".join(
            f"{count} {kind}" for kind, count in sorted(tally.answered.items()))]
        told.append(f"{len(tally.faults)} faults, {len(tally.lost)} requests lost to them")
        for row in found:
            unit = 1 << 20 if row.what == "memory" else 1
            text = (
                f"{row.role} {row.what}: {row.median / unit:.1f}, grew by"
                f" {row.growth / unit:+.2f} (up to {row.growth_max / unit:.1f} is noise)"
            )
            told.append(text)
            if row.grows and length_s >= JUDGED_FROM_S:
                faults.append(f"growth: {text}")
        if len(tally.answered) < len({client.kind for client in self.traffic}) - 1:
            faults.append("not all kinds of clients were answered")
        steady = [row for row in self.seconds if row.second >= warm_s]
        told.append(
            f"{sum(row.answers for row in steady) / max(1, len(steady)):.0f} answers a second,"
            f" median of the seconds' medians {percentile([x.p50_ms for x in steady], 50):.1f} ms,"
            f" of their 99 % {percentile([x.p99_ms for x in steady], 50):.1f} ms"
        )
        return told, faults

    def end(self) -> None:
        for server in self.servers.values():
            for pid in workers(server.process.pid):
                if is_alive(pid):
                    os.kill(pid, signal.SIGCONT)
            end_session(server.process)
            server._log.close()
        if self.redis:
            self.redis.stop()


def warm_up_s(length_s: float) -> float:
    return min(WARM_UP_MAX_S, WARM_UP_SHARE * length_s)


def soak(
    minutes: float, plane: str, rate: float, output: Path, seed: int = 1
) -> tuple[list[str], list[str]]:
    """Runs one; gives what was seen, and what must not have been."""
    output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="flare-soak-"))
    try:
        running = Soak(folder, plane, rate, seed)
        try:
            running.run(60 * minutes)
            told, faults = running.verdict(60 * minutes)
        finally:
            running.end()
            for role, server in running.servers.items():
                shutil.copy(server.log, output / f"{role.replace(' ', '-')}.log")
                server.log.unlink(missing_ok=True)
        (output / "lost.txt").write_text("\n".join(what for _, what in running.tally.lost))
        rows = list(running.processes.values())
        write_tables(output, rows, running.seconds)
        draw(output / "soak.png", rows, running.seconds, warm_up_s(60 * minutes))
        return told, faults
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=above_zero, default=30)
    parser.add_argument("--rate", type=above_zero, default=300, help="requests a second, about")
    parser.add_argument("--plane", choices=("redis", "shared"), default="redis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=BUILD / "soak")
    given = parser.parse_args()
    told, faults = soak(given.minutes, given.plane, given.rate, given.output, given.seed)
    print("\n".join(told))
    for line in faults:
        print(f"soak: {line}", file=sys.stderr)
    print(f"soak: {len(faults)} faults; {given.output / 'soak.png'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
