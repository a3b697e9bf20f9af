"""Loads each server at rising rates: latency against load."""

import subprocess
from dataclasses import replace

from suite.console import progress, say
from suite.rounds import Plan, one_round
from suite.server import Server

MET = 0.98  # of the rate that was asked for


def run_sweep(servers: list[Server], plan: Plan, rates: list[int]) -> dict[str, list[dict]]:
    """Measures every server at every rate, interleaved over the servers.

    The rate is that of the first workload. A server that does not reach a rate
    is measured at no higher one, where its latency would be the run's length.
    """
    item = plan.workloads[0]
    found: dict[str, list[dict]] = {server.name: [] for server in servers}
    with progress() as bar:
        for rate in bar.track(rates, description=f"{item.name} at rising rates"):
            load = replace(plan.load, rate=rate)
            for server in plan.taking_part(servers, item):
                points = found[server.name]
                if points and not points[-1]["is_met"]:
                    continue
                try:
                    figures, output = one_round(server, item, load)
                except (ValueError, subprocess.TimeoutExpired) as error:
                    plan.leave_out(f"{server.name} at {rate}", str(error))
                    continue
                plan.raw[f"{server.name} at {rate}"] = output
                is_met = figures["rps"] >= MET * rate
                points.append({**figures, "rate": rate, "is_met": is_met})
                say(
                    f"  {server.name}: {figures['rps']:.0f} of {rate} req/s,"
                    f" 99 % {figures['p99_ms']:.2f} ms"
                )
    return {name: points for name, points in found.items() if points}
