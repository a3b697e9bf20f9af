"""Runs the rounds, interleaved over the servers, and measures each."""

import os
import subprocess
import time
from dataclasses import dataclass, field, replace

from rich.progress import Progress

from suite.console import progress, say
from suite.load import Load
from suite.process import busy_s, children_s, memory_len, steal_s, usage
from suite.server import Server
from suite.tools import start_load, tool_of
from suite.workload import Workload, of_row

WARM_UP_S = 1
DISTURBED_CPUS = 0.1  # CPUs used by other programs; above it a round is repeated
REPEATS_MAX = 3  # for each workload
OVERTIME_S = 60  # a tool takes longer than it was told only when it hangs
MEMORY_AT = 0.7  # of a round: late enough for buffers to have grown


@dataclass
class Plan:
    """What a run does, and what it keeps beside the figures.

    A `narrow` run has rows that are no headline only in what is for everyone.
    """

    workloads: list[Workload]
    load: Load
    rounds: int
    narrow: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)

    def leave_out(self, name: str, reason: str) -> None:
        say(f"bench: {name} gets no row: {reason}")
        self.left_out[name] = reason

    def taking_part(self, servers: list[Server], workload: Workload) -> list[Server]:
        """Lists the servers that have a row in a workload."""
        return [one for one in servers if of_row([workload], one.row, self.narrow)]


def upstream_s(server: Server) -> float:
    """Reads the CPU time of what stands behind a gateway, which is of the load."""
    return usage(server.upstream.pid).cpu_s if server.upstream else 0.0


def one_round(server: Server, workload: Workload, load: Load) -> tuple[dict, str]:
    """Measures one round; gives its figures and what the tool printed.

    Raises ValueError or TimeoutExpired if the tool gives no figures.
    """
    root, load_before, began = (server.process.pid, os.getloadavg()[0], time.monotonic())
    busy, steal, loading, before = (busy_s(), steal_s(), children_s(), usage(root))
    behind = upstream_s(server)
    process = start_load(server.place, workload, load)
    pss = rss = 0
    try:
        output, _ = process.communicate(timeout=load.seconds * MEMORY_AT)
    except subprocess.TimeoutExpired:
        pss, rss = memory_len(root), memory_len(root, kind="Rss")
        output, _ = process.communicate(timeout=load.seconds + OVERTIME_S)
    finally:
        process.kill()
    used, elapsed = usage(root).since(before), time.monotonic() - began
    loading = children_s() - loading + upstream_s(server) - behind
    figures = tool_of(workload, load).parse(output)
    count = max(figures["requests"], 1)
    ticks = used.user_s + used.system_s
    user = used.user_s / ticks if ticks else 0.0
    figures |= {
        "cpu_us": used.cpu_s * 1e6 / count,
        "user_us": used.cpu_s * 1e6 / count * user,
        "system_us": used.cpu_s * 1e6 / count * (1 - user),
        "switches": used.switches / count,
        "memory_len": pss,
        "rss_len": rss,
        "load_before": load_before,
        "server_cpus": used.cpu_s / elapsed,
        "steal_cpus": (steal_s() - steal) / elapsed,
        "other_cpus": (busy_s() - busy - loading - used.cpu_s) / elapsed,
    }
    if not load.remote:
        figures["load_cpus"] = loading / elapsed
    return figures, output


def admitted(servers: list[Server], workload: Workload, plan: Plan) -> list[Server]:
    """Keeps the servers that answer as the workload file says, and warms them up."""
    kept = []
    for server in plan.taking_part(servers, workload):
        if reason := server.wrong_reply(workload):
            plan.leave_out(f"{server.name}, {workload.name}", reason)
        else:
            kept.append(server)
    return [row[0] for row in one_of_each(kept, workload, plan, WARM_UP_S)]


def one_of_each(
    servers: list[Server], workload: Workload, plan: Plan, seconds: int
) -> list[tuple[Server, dict, str]]:
    """Measures a round of each server; leaves out those that cannot be loaded."""
    done = []
    for server in servers:
        try:
            figures, output = one_round(server, workload, replace(plan.load, seconds=seconds))
            done.append((server, figures, output))
        except (ValueError, subprocess.TimeoutExpired) as error:
            plan.leave_out(f"{server.name}, {workload.name}", str(error))
            server.rounds.pop(workload.name, None)
    return done


def run_workload(servers: list[Server], workload: Workload, plan: Plan, bar: Progress) -> None:
    """Runs one workload's rounds, interleaved; a disturbed round is repeated."""
    taking_part = admitted(servers, workload, plan)
    task = bar.add_task(workload.name, total=plan.rounds)
    repeats, number = REPEATS_MAX, 0
    while taking_part and number < plan.rounds:
        done = one_of_each(taking_part, workload, plan, plan.load.seconds)
        taking_part = [server for server, _, _ in done]
        others = max(
            (figures["other_cpus"] + figures["steal_cpus"] for _, figures, _ in done), default=0
        )
        if others > DISTURBED_CPUS and repeats:
            repeats -= 1
            say(f"  {workload.name}: repeated, other programs took {others:.2f} CPUs")
            continue
        number += 1
        bar.update(task, completed=number)
        for server, figures, output in done:
            server.rounds.setdefault(workload.name, []).append(figures)
            plan.raw[f"{workload.name}, {server.name}, {number}"] = output
    bar.remove_task(task)
    best = min(
        ((figures["cpu_us"], server.name) for server, figures, _ in done), default=None
    ) if taking_part else None
    if best:
        say(
            f"  {workload.name}: {len(taking_part)} servers, least CPU {best[0]:.2f} us ({best[1]})"
        )


def run_rounds(servers: list[Server], plan: Plan) -> None:
    """Runs every workload; the figures are kept in the servers."""
    with progress() as bar:
        whole = bar.add_task("workloads", total=len(plan.workloads))
        for workload in plan.workloads:
            run_workload(servers, workload, plan, bar)
            bar.advance(whole)
