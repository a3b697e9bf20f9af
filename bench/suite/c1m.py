"""Measures very many idle connections: memory, accepting, a busy client meanwhile.

The server has worker processes only where one may not have enough descriptors. What
the kernel has for connections is read from its own caches, and is that of both
ends, since the clients are here, too.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from suite.console import say, show
from suite.many import KINDS, PLAIN, TIMEOUT_S, Crowd, Holder, allow_all, crowd
from suite.process import cpu_s, memory_len, tree
from suite.programs import BENCH, program_environment
from toolchain import BUILD, build

SOURCE = BENCH / "scale" / "scale_server.mojo"
FOLDER = BUILD / "bench" / "c1m"
CACHES = (
    "TCP", "TCPv6", "sock_inode_cache", "filp", "eventpoll_epi", "eventpoll_pwq",
    "tcp_bind_bucket", "tcp_bind2_bucket", "request_sock_TCP", "ep_head",
)
# The kernel's entry for each socket's name, in a cache that files use, too.
DENTRY_LEN = 192
# What a server keeps of its descriptors for others, and what uneven workers need.
WORKER_SHARE = 0.74
BUSY_S, BUSY_RATE = 2.0, 400
STOP_S = 120
BROADCASTS = 3


@dataclass
class Step:
    """What was measured at so many connections."""

    kind: str
    connections: int
    workers: int
    user_len: int
    kernel_len: int | None
    accepted_per_s: float
    cpu_us_each: float
    busy_p50_ms: float
    busy_p99_ms: float
    broadcast_s: float | None = None
    lost: int = 0


def kernel_len() -> int | None:
    """Reads what the kernel's caches for sockets hold; None if that is not told."""
    try:
        lines = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return None
    total = 0
    for line in lines[2:]:
        name, _, count, length = line.split()[:4]
        if name in CACHES:
            total += int(count) * int(length)
        if name == "sock_inode_cache":
            total += int(count) * DENTRY_LEN
    return total


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def available_len() -> int:
    """Reads how much memory programs could still have."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


class Service:
    """The server, and how it is asked."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        with (FOLDER / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [str(FOLDER / "server"), "0", str(workers)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=program_environment(),
                start_new_session=True,
            )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise ValueError(f"c1m: the server says {line!r}")
        self.port = int(line.rsplit(":", 1)[1])
        end = time.monotonic() + TIMEOUT_S
        while len(tree(self.process.pid)) <= workers and time.monotonic() < end:
            time.sleep(0.05)
        self.ask(4 * workers)
        self.first_user_len = memory_len(self.process.pid)
        self.first_kernel_len = kernel_len()

    def ask(self, count: int) -> None:
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as sock:
                sock.sendall(PLAIN)
                Holder._read_to(sock, b"done")

    def busy(self) -> tuple[float, float]:
        """Has a client ask all the while; gives its median and 99 % in ms."""
        times_ms = []
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(int(BUSY_S * BUSY_RATE)):
                began_s = time.monotonic()
                sock.sendall(PLAIN)
                Holder._read_to(sock, b"done")
                passed_s = time.monotonic() - began_s
                times_ms.append(1000 * passed_s)
                time.sleep(max(0.0, 1 / BUSY_RATE - passed_s))
        return percentile(times_ms, 50), percentile(times_ms, 99)

    def stop(self) -> float:
        """Asks it to end; gives the seconds until it has."""
        began_s = time.monotonic()
        self.process.terminate()
        self.process.wait(STOP_S)
        return time.monotonic() - began_s

    def kill(self) -> None:
        for pid in tree(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def workers_for(count: int, descriptors: int) -> int:
    """How many processes can hold so many connections."""
    each = int(descriptors * WORKER_SHARE)
    return -(-count // each)


def measure_step(service: Service, held: Crowd, kind: str, count: int) -> Step:
    """Opens connections up to a number, and measures at it."""
    before, began_cpu_s, began_s = held.count, cpu_s(service.process.pid), time.monotonic()
    held.open_to(kind, count)
    passed_s, used_s = time.monotonic() - began_s, cpu_s(service.process.pid) - began_cpu_s
    more = max(1, held.count - before)
    first, now = service.first_kernel_len, kernel_len()
    step = Step(
        kind,
        held.count,
        service.workers,
        memory_len(service.process.pid) - service.first_user_len,
        None if first is None or now is None else now - first,
        more / passed_s,
        1e6 * used_s / more,
        *service.busy(),
    )
    if kind == "WebSocket":
        step.broadcast_s = statistics.median(
            held.broadcast(b"news %d" % number) for number in range(BROADCASTS)
        )
    step.lost = int(sum(held.all("lost")))
    say(
        f"{kind}: {step.connections:,}, {step.user_len / held.count:,.0f} bytes each"
        f" of the process, {(step.kernel_len or 0) / held.count:,.0f} of the kernel,"
        f" {step.accepted_per_s:,.0f} a second, busy 99 % {step.busy_p99_ms:.2f} ms"
    )
    return step


def measure_kind(kind: str, counts: list[int], memory_max: int) -> tuple[list[Step], float, float]:
    """Measures one kind of connections; gives steps, and the seconds of the drain
    until clients were told and until all had ended."""
    descriptors = allow_all()
    service = Service(workers_for(counts[-1], descriptors))
    try:
        start_len, steps = available_len(), []
        with crowd(service.port, int(descriptors * 0.9)) as held:
            for count in counts:
                each_len = max(1, (start_len - available_len()) // max(1, held.count))
                used_len = start_len - available_len() + (count - held.count) * each_len
                if steps and used_len > memory_max:
                    say(f"{kind}: {count:,} would take {used_len / 1e9:.1f} GB; not done")
                    break
                steps.append(measure_step(service, held, kind, count))
            began_s = time.monotonic()
            for pipe in held.pipes:
                pipe.send(("drain", ()))
            end_s = service.stop()
            told_s = max(map(held.answer, range(len(held.pipes))), default=began_s) - began_s
        return steps, told_s, end_s
    finally:
        service.kill()


def line_of(steps: list[Step], name: str) -> tuple[float, float]:
    """Fits memory to the number of connections; gives bytes each and at the start."""
    import numpy

    counts = [step.connections for step in steps]
    slope, start = numpy.polyfit(counts, [getattr(step, name) or 0 for step in steps], 1)
    return float(slope), float(start)


def table(record: dict) -> list[str]:
    """Writes what was measured as Markdown."""
    lines = [
        "| connections | processes | bytes each, process | bytes each, kernel, both ends |"
        " accepted a second | CPU µs each | busy client, median and 99 % ms | broadcast s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in record["steps"]:
        kernel = "" if row["kernel_len"] is None else f"{row['kernel_len'] / row['connections']:,.0f}"
        heard = "" if row["broadcast_s"] is None else f"{row['broadcast_s']:.2f}"
        lines.append(
            f"| {row['connections']:,} {row['kind']} | {row['workers']} |"
            f" {row['user_len'] / row['connections']:,.0f} | {kernel} |"
            f" {row['accepted_per_s']:,.0f} | {row['cpu_us_each']:.0f} |"
            f" {row['busy_p50_ms']:.2f}, {row['busy_p99_ms']:.2f} | {heard} |"
        )
    for kind, model in record["models"].items():
        lines.append(
            f"\n{kind}: process {model['user'][1] / 1e6:.1f} MB + {model['user'][0]:,.0f} bytes each,"
            f" kernel {model['kernel'][1] / 1e6:.1f} MB + {model['kernel'][0]:,.0f} bytes each;"
            f" drained in {model['told_s']:.1f} s, ended after {model['end_s']:.1f} s"
        )
    return lines


def draw(record: dict, path: Path) -> None:
    """Draws memory with the fitted lines, accepting, latency and broadcasts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for number, (kind, model) in enumerate(record["models"].items()):
        rows = [row for row in record["steps"] if row["kind"] == kind]
        counts, colour = [row["connections"] for row in rows], f"C{number}"
        for name, key, mark, style in (("user_len", "user", "o", "-"), ("kernel_len", "kernel", "s", "--")):
            axes[0][0].plot(counts, [(row[name] or 0) / 1e6 for row in rows], mark, color=colour, ms=4)
            each, start = model[key]
            axes[0][0].plot(
                counts, [(start + each * x) / 1e6 for x in counts], style, color=colour, lw=0.9,
                label=f"{kind}, {key}: {each:,.0f} bytes",
            )
        axes[0][1].plot(counts, [row["accepted_per_s"] for row in rows], "o-", color=colour, label=kind)
        axes[1][0].plot(counts, [row["busy_p99_ms"] for row in rows], "o-", color=colour, label=f"{kind}, 99 %")
        axes[1][0].plot(counts, [row["busy_p50_ms"] for row in rows], "x--", color=colour, label=f"{kind}, median")
        heard = [row["broadcast_s"] for row in rows if row["broadcast_s"] is not None]
        if heard:
            axes[1][1].plot(counts, heard, "o-", color=colour, label="until all have heard it")
    for axis, title in zip(
        axes.flat,
        ("memory, MB, and the line for each connection", "accepted and answered a second",
         "a busy client's latency, ms", "a message to all WebSockets, s"),
    ):
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_xlabel("connections", fontsize=8)
        axis.set_ylim(bottom=0)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=7)
        axis.tick_params(labelsize=8)
    figure.savefig(path)
    pyplot.close(figure)


def counts_to(largest: int) -> list[int]:
    """The steps up to a number: a sixteenth of it, and so on."""
    return sorted({max(1, largest // part) for part in (16, 8, 4, 2, 1)})


def c1m(largest: dict[str, int], memory_max: int) -> int:
    """Measures all kinds, and leaves figures and a chart."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "server.log").unlink(missing_ok=True)
    made = build(SOURCE, FOLDER / "server", whole=False)
    if made.returncode:
        raise ValueError(f"{SOURCE.name} was not built: {made.stdout[-2000:]}")
    record: dict = {"steps": [], "models": {}}
    for kind in KINDS:
        if not largest.get(kind):
            continue
        steps, told_s, end_s = measure_kind(kind, counts_to(largest[kind]), memory_max)
        record["steps"] += [asdict(step) for step in steps]
        record["models"][kind] = {
            "user": line_of(steps, "user_len"),
            "kernel": line_of(steps, "kernel_len"),
            "told_s": told_s,
            "end_s": end_s,
        }
    (FOLDER / "c1m.json").write_text(json.dumps(record, indent=1) + "\n")
    draw(record, FOLDER / "c1m.svg")
    show(table(record))
    say(f"figures and chart: {FOLDER}")
    return 1 if any(row["lost"] for row in record["steps"]) else 0
