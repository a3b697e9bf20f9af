"""Runs the rounds, interleaved over the servers, and measures each."""

import os
import subprocess
import time
from dataclasses import dataclass, field, replace

from suite.gate import wrong_answer, wrong_protocol
from suite.process import busy_s, children_s, cpu_s, memory_len
from suite.programs import program_environment
from suite.server import Server
from suite.workload import Workload, of_row
from suite.wrk import Load, parse_wrk, wrk_command
from toolchain import ROOT

WARM_UP_S = 1
DISTURBED_CPUS = 0.1  # CPUs used by other programs; above it a round is repeated
REPEATS_MAX = 3  # for each workload
OVERTIME_S = 60  # wrk takes longer than it was told only when it hangs
MEMORY_AT = 0.7  # of a round: late enough for buffers to have grown


@dataclass
class Plan:
    """What a run does, and what it keeps beside the figures."""

    workloads: list[Workload]
    load: Load
    rounds: int
    left_out: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)

    def leave_out(self, name: str, reason: str) -> None:
        print(f"bench: {name} gets no row: {reason}", flush=True)
        self.left_out[name] = reason


def one_round(server: Server, workload: Workload, load: Load) -> tuple[dict, str]:
    """Measures one round; gives its figures and what wrk printed."""
    root = server.process.pid
    load_before, began = os.getloadavg()[0], time.monotonic()
    busy, wrk, before = busy_s(), children_s(), cpu_s(root)
    process = subprocess.Popen(
        wrk_command(server.port, workload, load), cwd=ROOT, text=True,
        env=program_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    memory = 0
    try:
        output, _ = process.communicate(timeout=load.seconds * MEMORY_AT)
    except subprocess.TimeoutExpired:
        memory = memory_len(root)
        output, _ = process.communicate(timeout=load.seconds + OVERTIME_S)
    finally:
        process.kill()
    used = cpu_s(root) - before
    others = busy_s() - busy - (children_s() - wrk) - used
    figures = parse_wrk(output)
    figures["cpu_us"] = used * 1e6 / max(figures["requests"], 1)
    figures["memory_len"] = memory
    figures["load_before"] = load_before
    figures["other_cpus"] = round(others / (time.monotonic() - began), 3)
    return figures, output


def admitted(servers: list[Server], workload: Workload, plan: Plan) -> list[Server]:
    """Keeps the servers that answer as the workload file says, and warms them up."""
    kept = []
    for server in servers:
        if workload not in of_row([workload], server.row):
            continue
        reason = wrong_answer(server.port, workload)
        is_plain_get = workload.data is None and not workload.closes
        if reason is None and server.row.parses and is_plain_get:
            reason = wrong_protocol(server.port, workload)
        if reason:
            plan.leave_out(f"{server.name}, {workload.name}", reason)
        else:
            kept.append(server)
    return [row[0] for row in one_of_each(kept, workload, plan, WARM_UP_S)]


def one_of_each(
    servers: list[Server], workload: Workload, plan: Plan, seconds: int
) -> list[tuple[Server, dict, str]]:
    """Measures a round of each server; leaves out those that wrk cannot reach."""
    done = []
    for server in servers:
        try:
            figures, output = one_round(server, workload, replace(plan.load, seconds=seconds))
            done.append((server, figures, output))
        except (ValueError, subprocess.TimeoutExpired) as error:
            plan.leave_out(f"{server.name}, {workload.name}", str(error))
            server.rounds.pop(workload.name, None)
    return done


def run_rounds(servers: list[Server], plan: Plan) -> None:
    """Runs every workload; the figures are kept in the servers."""
    for workload in plan.workloads:
        taking_part = admitted(servers, workload, plan)
        repeats, number = REPEATS_MAX, 0
        while taking_part and number < plan.rounds:
            done = one_of_each(taking_part, workload, plan, plan.load.seconds)
            taking_part = [server for server, _, _ in done]
            others = max((figures["other_cpus"] for _, figures, _ in done), default=0)
            if others > DISTURBED_CPUS and repeats:
                repeats -= 1
                print(f"  {workload.name}: repeated, other programs took {others:.2f} CPUs")
                continue
            number += 1
            for server, figures, output in done:
                server.rounds.setdefault(workload.name, []).append(figures)
                plan.raw[f"{workload.name}, {server.name}, {number}"] = output
                print(
                    f"  {workload.name}, round {number}, {server.name}:"
                    f" {figures['cpu_us']:.3f} us CPU, {figures['rps']:.0f} req/s", flush=True,
                )
