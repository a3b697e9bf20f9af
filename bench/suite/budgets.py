"""Holds a run's figures to the budgets of the design."""

from suite.figures import ratio
from suite.tables import limit_of

OURS = "flare"
MICRO_BUDGETS = {
    # 0.7, 0.4 and 0.4 of the crate httparse, which takes 45, 265 and 500 ns there.
    # The whole path has the commit before for its budget: `compare`.
    "parse head, 50 bytes": 31,
    "parse head, 564 bytes": 106,
    "parse head, 1421 bytes": 200,
    # 70 and 40 GB/s.
    "masking, 1 KiB, worst alignment": 14.6,
    "masking, 64 KiB, worst alignment": 1638,
}
# Three beside an object, above the three of `print("hi")`; `building/run.py` has both
# from one run.
BUILD_BUDGET_S = 6.0
IDLE_BUDGET_LEN = 1023
# Two workers against one, CPU a request: no loss beyond 5 %.
TWO_WORKERS = [("flare, 2 threads", "flare"), ("flare, prefork 2", "flare, prefork 1")]
TWO_WORKERS_BUDGET = 1.05
# Below nginx in the same run, with the same certificate.
TLS_WORKLOAD, TLS_ROW, TLS_PEER = "TLS keep-alive", "flare, TLS", "nginx, TLS"
# Below h2o in the same run.
HTTP2_WORKLOADS = ("HTTP/2, 64 connections", "HTTP/2, 16 connections of 16 streams")
HTTP2_ROW, HTTP2_PEER = "flare, HTTP/2", "h2o, HTTP/2"
# What hyper's client takes, in a run with both.
CLIENT_WORKLOAD, CLIENT_LIMIT, CLIENT_BUDGET = "plaintext", "C socket, no parsing", 1.28
# At most the better of these in the same run.
GATEWAY_WORKLOADS = ("gateway, plaintext", "gateway, 64 KiB response")
GATEWAY_ROW, GATEWAY_PEERS = "flare as gateway", ("nginx as gateway", "haproxy as gateway")


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
            if name in GATEWAY_WORKLOADS:
                row(*gateway_figure(rounds, name), "")
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


def gateway_figure(rounds: dict, name: str) -> tuple[str, float, float | None]:
    """Compares with the peer that takes less; what, the budget and the ratio."""
    mine = rounds.get(GATEWAY_ROW, {}).get(name)
    found = {peer: ratio(mine, rounds.get(peer, {}).get(name)) for peer in GATEWAY_PEERS}
    there = {peer: value for peer, value in found.items() if value is not None}
    best = max(there, key=there.__getitem__, default=GATEWAY_PEERS[0])
    return f"{name}, CPU a request against {best}", 1.0, there.get(best)


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
