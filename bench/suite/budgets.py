"""Holds a run's figures to the budgets of the design."""

from suite.figures import ratio
from suite.tables import limit_of

OURS = "flare"
MICRO_BUDGETS = {
    "parse head, 50 bytes": 30,
    "parse head, 564 bytes": 220,
    "parse head, 1421 bytes": 350,
    "whole path, wrk request": 150,
    "whole path, browser request": 450,
    # 70 and 40 GB/s.
    "masking, 1 KiB, worst alignment": 14.6,
    "masking, 64 KiB, worst alignment": 1638,
}
BUILD_BUDGET_S = 15.0
IDLE_BUDGET_LEN = 1023
# Two workers against one, CPU a request: no loss beyond 5 %.
TWO_WORKERS = [("flare, 2 threads", "flare"), ("flare, prefork 2", "flare, prefork 1")]
TWO_WORKERS_BUDGET = 1.05
# Below nginx in the same run, with the same certificate.
TLS_WORKLOAD, TLS_ROW, TLS_PEER = "TLS keep-alive", "flare, TLS", "nginx, TLS"
# Below h2o in the same run.
HTTP2_WORKLOADS = ("HTTP/2, 64 connections", "HTTP/2, 16 connections of 16 streams")
HTTP2_ROW, HTTP2_PEER = "flare, HTTP/2", "h2o, HTTP/2"
# 10 us where a raw socket takes 7.1.
CLIENT_WORKLOAD, CLIENT_LIMIT, CLIENT_BUDGET = "plaintext", "C socket, no parsing", 1.41


def budget_table(record: dict) -> list[str]:
    """Writes the rows for which the run has figures; nothing if it has none.

    Budgets against the raw C server are for a run where load and server have
    CPUs of their own.
    """
    lines: list[str] = []

    def row(*about) -> None:
        lines.extend(budget_row(*about))

    rounds = record["rounds"]
    for name, workload in record["workloads"].items():
        if record["origin"]["run"] == "single":
            mine = rounds.get(OURS, {}).get(name)
            base = rounds.get(limit_of(record), {}).get(name)
            what = f"{name}, CPU a request against raw C epoll"
            if workload["budget"]:
                row(what, workload["budget"], ratio(mine, base), "")
            if name == TLS_WORKLOAD:
                mine, base = (rounds.get(key, {}).get(name) for key in (TLS_ROW, TLS_PEER))
                row(f"{name}, CPU a request against nginx", 1.0, ratio(mine, base), "")
            if name in HTTP2_WORKLOADS:
                mine, base = (rounds.get(key, {}).get(name) for key in (HTTP2_ROW, HTTP2_PEER))
                row(f"{name}, CPU a request against h2o", 1.0, ratio(mine, base), "")
        for two, one in TWO_WORKERS:
            measured = ratio(rounds.get(two, {}).get(name), rounds.get(one, {}).get(name))
            what = f"{name}, CPU a request, {two} against {one}"
            row(what, TWO_WORKERS_BUDGET, measured, "")
    for name, budget in MICRO_BUDGETS.items():
        row(name, budget, record["micro_ns"].get(name), " ns")
    row("idle connection, user-space memory", IDLE_BUDGET_LEN,
        record["idle_connection_len"], " bytes")
    row("build of the hello server, CPU (warm if built before)", BUILD_BUDGET_S,
        record["build_cpu_s"], " s")
    return with_heading(lines)


def client_budget_table(record: dict) -> list[str]:
    """Writes the row of a run of clients, if it has figures for it."""
    mine, base = (
        record["rounds"].get(name, {}).get(CLIENT_WORKLOAD) for name in (OURS, CLIENT_LIMIT)
    )
    what = f"{CLIENT_WORKLOAD}, one request at a time, CPU against a raw C socket"
    return with_heading(budget_row(what, CLIENT_BUDGET, ratio(mine, base), ""))


def budget_row(what: str, budget: float, measured: float | None, unit: str) -> list[str]:
    """Writes a row; nothing if nothing was measured."""
    if measured is None:
        return []
    verdict = "met" if measured <= budget else "**not met**"
    return [f"| {what} | at most {budget}{unit} | {measured:.3g}{unit} | {verdict} |"]


def with_heading(lines: list[str]) -> list[str]:
    """Makes a section of rows, unless there are none."""
    if not lines:
        return []
    head = ["### Budgets", "", "| what | budget | measured | met or not |", "| --- | --- | --- | --- |"]
    return [*head, *lines, ""]
