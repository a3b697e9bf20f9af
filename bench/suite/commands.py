"""What the tool's subcommands do."""

import argparse
from pathlib import Path

from suite import metadata, workload
from suite.budgets import OURS, budget_table
from suite.compare import comparison
from suite.gate import fetch, wrong_answer, wrong_protocol
from suite.layout import cpus_here, layout
from suite.metadata import Row
from suite.own import idle_connection_len, micro
from suite.programs import BENCH, missing
from suite.record import (
    Own, as_record, origin, publish, read_record, versions, write_results,
)
from suite.rounds import Plan, run_rounds
from suite.server import Failed, Server, build
from suite.tables import detail_tables, micro_table, peer_tables
from suite.wrk import Load
from toolchain import ROOT

SAMPLE_LEN = 60


def chosen(arguments: argparse.Namespace) -> list[Row]:
    """Reads all metadata and picks the rows that were asked for."""
    return metadata.select(metadata.load(BENCH), arguments.names)


def list_rows(arguments: argparse.Namespace) -> int:
    """Prints the rows there are."""
    print("| folder | name | language | framework | category | cores | programs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in chosen(arguments):
        program = row.program
        print(
            f"| {program.key} | {row.name} | {program.language} | {program.framework}"
            f" | {program.category} | {row.cores} | {missing(program.needs) or 'there'} |"
        )
    return 0


def build_all(rows: list[Row], plan: Plan) -> dict[str, float]:
    """Builds each program once; gives the CPU time of those that could be built."""
    took: dict[str, float] = {}
    failed: dict[str, str] = {}
    for row in rows:
        key = row.program.key
        if key not in took and key not in failed:
            try:
                took[key] = build(row.program)
            except Failed as error:
                failed[key] = str(error)
        if key in failed:
            plan.leave_out(row.name, failed[key])
    return took


def build_only(arguments: argparse.Namespace) -> int:
    """Builds and says how long it took."""
    plan = Plan([], Load(1, 1, 1, []), 0)
    for key, seconds in build_all(chosen(arguments), plan).items():
        print(f"{key}: {seconds:.1f} s CPU")
    return 1 if plan.left_out else 0


def responses(arguments: argparse.Namespace) -> int:
    """Prints one answer of each server, and whether it is what the file says."""
    workloads = workload.load(BENCH, [])
    rows, wrong = chosen(arguments), 0
    plan = Plan([], Load(1, 1, 1, []), 0)
    built = build_all(rows, plan)
    for row in rows:
        if row.program.key not in built:
            continue
        server, own = Server(row, []), workload.of_row(workloads, row)
        try:
            server.start(own[0])
            print_answer(server, own[0])
            for item in own:
                reason = wrong_answer(server.port, item)
                wrong += reason is not None
                print(f"  {item.name}: {reason or 'as the workload file says'}")
            if row.parses:
                reason = wrong_protocol(server.port, own[0])
                wrong += reason is not None
                print(f"  protocol: {reason or 'kept'}")
                for name in server.accepts:
                    print(f"  accepts what RFC 9112 refuses: {name}")
        except Failed as error:
            plan.leave_out(row.name, str(error))
        finally:
            server.stop()
    return 1 if wrong or plan.left_out else 0


def print_answer(server: Server, item: workload.Workload) -> None:
    answer = fetch(server.port, item)
    print(f"\n{server.name}\n    {answer.status_line}")
    for name, value in answer.fields:
        print(f"    {name}: {value}")
    print(f"\n    {answer.body[:SAMPLE_LEN].decode('latin-1')}")


def print_versions(arguments: argparse.Namespace) -> int:
    """Prints the tools' versions as a Markdown table."""
    print("| tool | version |\n| --- | --- |")
    for name, version in versions(chosen(arguments)).items():
        print(f"| {name} | {version} |")
    return 0


def summary(record: dict) -> str:
    """Writes a run's page."""
    lines = [f"{key}: {value}  " for key, value in record["origin"].items()] + [""]
    for name, reason in record["left_out"].items():
        lines += [f"{name} has no row: {reason.splitlines()[0]}", ""]
    for name, server in record["servers"].items():
        if server["accepts"]:
            what = "; ".join(server["accepts"])
            lines += [f"{name} accepts what RFC 9112 has a server refuse: {what}.", ""]
    lines += budget_table(record) + peer_tables(record) + micro_table(record)
    return "\n".join(lines).rstrip("\n") + "\n"


def start_all(rows: list[Row], kind: str, plan: Plan, servers: list[Server]) -> None:
    """Starts the rows that can be, each on its CPUs, and adds them to the servers."""
    here, widest = cpus_here(), max((row.cores for row in rows), default=1)
    workloads = workload.load(BENCH, [])
    for row in rows:
        try:
            server = Server(row, layout(here, kind, row.cores, widest).server)
            servers.append(server)
            server.start(workload.of_row(workloads, row)[0])
        except (Failed, ValueError) as error:
            plan.leave_out(row.name, str(error))
    servers[:] = [server for server in servers if server.process]


def load_of(rows: list[Row], arguments: argparse.Namespace) -> Load:
    """Decides how wrk asks, and on which CPUs."""
    here, widest = cpus_here(), max(row.cores for row in rows)
    if len(here) == 1:
        print("bench: one CPU: load and server share it")
    widest = min(widest, len(here))
    cpus = layout(here, arguments.type, widest, widest).load
    threads = arguments.threads or (1 if arguments.type == "single" else len(cpus) or 1)
    return Load(threads, arguments.connections, arguments.seconds, cpus)


def run(arguments: argparse.Namespace) -> int:
    """Measures and leaves a result folder."""
    for need in ({"wrk": "wrk"}, {"taskset": "util-linux"}):
        if reason := missing(need):
            raise ValueError(reason)
    rows = metadata.of_kind(chosen(arguments), arguments.type)
    if arguments.base:
        rows += metadata.from_tree(rows, arguments.base.resolve())
    if not rows:
        raise ValueError("every row that was named needs --type multi")
    plan = Plan(
        workload.load(BENCH, arguments.workload), load_of(rows, arguments), arguments.rounds
    )
    about, own = origin(rows, plan, arguments.type), Own()
    print("bench: building ...", flush=True)
    took = build_all(rows, plan)
    rows = [row for row in rows if row.program.key in took]
    whole = arguments.type == "single" and not arguments.names and not arguments.workload
    if whole:
        own.build_s, own.micro_ns = took.get("hello"), micro()
    servers: list[Server] = []
    try:
        start_all(rows, arguments.type, plan, servers)
        ours = next((server for server in servers if server.name == OURS), None)
        if whole and ours:
            own.idle_len = idle_connection_len(ours)
        run_rounds(servers, plan)
        record = as_record(about, servers, plan, own)
    finally:
        for server in servers:
            server.stop()
    text = summary(record)
    pages = {"summary.md": text, "detail.md": detail_tables(record)}
    folder = write_results(record, pages, plan.raw)
    print("\n" + text + f"\nresults: {folder.relative_to(ROOT)}")
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Prints what changed between two result folders."""
    print(comparison(read_record(arguments.old), read_record(arguments.new)), end="")
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Writes docs/benchmarks.md."""
    publish(arguments.folders, ROOT / "docs" / "benchmarks.md")
    return 0
