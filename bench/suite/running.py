"""Measures servers, round by round or rate by rate, and leaves a result folder."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite import metadata, workload
from suite.building import build_all, chosen, start_all
from suite.charts import draw
from suite.console import say, show
from suite.http2 import NEEDS, write_uploads
from suite.layout import cpus_here, layout
from suite.left_over import end_left_over
from suite.load import Load
from suite.metadata import Row
from suite.own_load import OPEN_LOOP, WS_ECHO, build_own
from suite.process import busy_s
from suite.programs import BENCH, missing
from suite.record import as_record, check_results, origin, write_results
from suite.remote import copy_load
from suite.rounds import DISTURBED_CPUS, WARM_UP_S, Plan, run_rounds
from suite.server import INTERRUPTED, LOOPBACK, Server, free_port, stop_all
from suite.summary import summary
from suite.sweep import run_sweep
from suite.tables import detail_tables
from suite.tools import load_command
from toolchain import ROOT

# Two minutes: what builds quickly and is known to most.
QUICK_NAMES = ["C epoll, no parsing", "flare", "fasthttp", "Go net/http", "nginx"]
QUICK_WORKLOADS = ["plaintext", "pipelined x16"]
TOOL_NEEDS = {"wrk": {"wrk": "wrk"}, "hey": {"hey": "hey"}, "open": {}}
ROUND_OVERHEAD_S = 0.15


@dataclass
class Wanted:
    """What the command line asks for."""

    names: list[str] = field(default_factory=list)
    workloads: list[str] = field(default_factory=list)
    kind: str = "single"
    rounds: int = 5
    seconds: int = 1
    connections: int = 64
    threads: int = 0
    pipeline: int = 0
    tool: str = "wrk"
    rate: int = 0
    remote: str = ""
    host: str = LOOPBACK
    base: Path | None = None
    everything: bool = False
    languages: list[str] = field(default_factory=list)
    ssh: str = "ssh"


def load_of(rows: list[Row], wanted: Wanted) -> Load:
    """Decides how the tool asks, and on which CPUs."""
    here, widest = cpus_here(), max(row.cores for row in rows)
    if len(here) == 1:
        say("bench: one CPU: load and server share it")
    widest = min(widest, len(here))
    cpus = layout(here, wanted.kind, widest, widest).load
    if wanted.kind == "multi" and len(cpus) == len(here):
        say("bench: too few CPUs to keep load and servers apart: they share all of them")
    threads = wanted.threads or (1 if wanted.kind == "single" else len(cpus) or 1)
    return Load(
        threads, wanted.connections, wanted.seconds, cpus, wanted.tool, wanted.rate,
        wanted.remote, wanted.ssh,
    )


def check_tools(wanted: Wanted, plan: Plan) -> None:
    """Builds or finds what the load needs. Raises ValueError."""
    local = {} if wanted.remote else TOOL_NEEDS[wanted.tool]
    with_http2 = any(item.streams for item in plan.workloads)
    for need in (
        local,
        NEEDS if with_http2 else {},
        {"taskset": "util-linux"},
        {"ssh": "openssh-client"} if wanted.remote else {},
    ):
        if reason := missing(need):
            raise ValueError(reason)
    free_port(wanted.host)
    check_results()
    own = [OPEN_LOOP] if wanted.tool == "open" else []
    own += [WS_ECHO] if any(item.message_len for item in plan.workloads) else []
    for name in own:
        build_own(name)
    write_uploads(plan.workloads)
    if wanted.remote:
        if wanted.host == LOOPBACK:
            say("bench: --remote without --host: the other host will ask itself on loopback")
        copy_load(wanted.remote, own, wanted.ssh)


def check_load(wanted: Wanted) -> None:
    """Raises ValueError for options that contradict each other."""
    if wanted.tool == "open" and not wanted.rate:
        raise ValueError("--tool open needs --rate, in requests a second")
    if wanted.tool != "open" and wanted.rate:
        raise ValueError(f"--rate is for --tool open; {wanted.tool} asks as fast as it is answered")
    if wanted.threads > wanted.connections:
        raise ValueError(
            f"--threads {wanted.threads} is more than --connections {wanted.connections};"
            " each thread needs one"
        )


def planned(wanted: Wanted) -> tuple[list[Row], Plan]:
    """Chooses rows and workloads. Raises ValueError if there is nothing to do."""
    check_load(wanted)
    rows = metadata.of_kind(
        chosen(wanted.names, wanted.base, wanted.languages), wanted.kind
    )
    if not rows:
        raise ValueError("every row that was named needs --type multi")
    items = workload.load(BENCH, wanted.workloads, with_extra=wanted.everything)
    if wanted.pipeline:
        items = [
            replace(
                item,
                name=f"{item.name} x{wanted.pipeline}",
                script="pipeline.lua",
                pipelined=wanted.pipeline,
                budget=None,
            )
            for item in items
            if item.script == "plain.lua" and not item.tls and not item.streams
        ]
    named = wanted.names or wanted.languages
    narrow = not (named or wanted.workloads or wanted.everything)
    if wanted.kind == "multi" and narrow:
        items = [item for item in items if item.everyone and not item.message_len]
    rows = [row for row in rows if workload.of_row(items, row, narrow)]
    if not rows:
        raise ValueError("no server that was named takes part in a workload that was named")
    load = load_of(rows, wanted)
    return rows, Plan(loadable(items, load), load, wanted.rounds, narrow)


def loadable(items: list[workload.Workload], load: Load) -> list[workload.Workload]:
    """Keeps what the tool can do, and names the rest. Raises ValueError for nothing."""
    kept, reasons = [], []
    for item in items:
        try:
            load_command((LOOPBACK, 1), item, load)
            kept.append(item)
        except ValueError as error:
            reasons.append(str(error))
    if not kept:
        raise ValueError(reasons[0])
    for reason in reasons:
        say(f"bench: left out: {reason}")
    return kept


def look_around() -> None:
    """Warns when the machine is not at rest before a run."""
    before, began = busy_s(), time.monotonic()
    time.sleep(1)
    used = (busy_s() - before) / (time.monotonic() - began)
    if used > DISTURBED_CPUS:
        say(f"bench: other programs take {used:.2f} CPUs now; figures will be marked unstable")


def announce(rows: list[Row], plan: Plan) -> None:
    """Says what will be measured and how long that takes at least."""
    cells = sum(len(workload.of_row(plan.workloads, row, plan.narrow)) for row in rows)
    each = plan.rounds * (plan.load.seconds + ROUND_OVERHEAD_S) + WARM_UP_S + ROUND_OVERHEAD_S
    say(
        f"bench: {len(rows)} servers, {len(plan.workloads)} workloads, {plan.rounds} rounds:"
        f" about {cells * each / 60:.0f} minutes after building"
    )


def measure(wanted: Wanted, rates: list[int] | None = None) -> int:
    """Measures and leaves a result folder; with rates, a sweep over them."""
    rows, plan = planned(wanted)
    check_tools(wanted, plan)
    end_left_over()
    about = origin(rows, plan, "sweep" if rates else wanted.kind)
    look_around()
    if not rates:
        announce(rows, plan)
    took = build_all(rows, plan)
    servers: list[Server] = []
    try:
        built = [row for row in rows if row.program.key in took]
        start_all(built, wanted.kind, plan, servers, wanted.host)
        if rates:
            found = run_sweep(servers, plan, rates)
            record = {"origin": about, "left_out": plan.left_out, "sweep": found}
        else:
            run_kept(servers, plan, about)
            record = as_record(about, servers, plan)
    finally:
        stop_all(servers)
    status = finish(record, plan.raw)
    if not (record.get("sweep") or any(record.get("rounds", {}).values())):
        raise ValueError("no server was measured; the reasons are above")
    return INTERRUPTED if "interrupted" in about else status


def run_kept(servers: list[Server], plan: Plan, about: dict) -> None:
    """Runs the rounds; an interruption keeps the workloads that are finished.

    Raises KeyboardInterrupt if there is none of these.
    """
    try:
        run_rounds(servers, plan)
    except KeyboardInterrupt:
        done = finished(servers, plan)
        if not done:
            raise
        say(f"bench: interrupted; kept are the finished workloads: {'; '.join(done)}")
        about["interrupted"] = f"after {len(done)} of {len(plan.workloads)} workloads"


def finished(servers: list[Server], plan: Plan) -> list[str]:
    """Lists the workloads with all their rounds; forgets the rounds of the others."""
    done = []
    for item in plan.workloads:
        counts = [len(server.rounds[item.name]) for server in servers if item.name in server.rounds]
        if counts and min(counts) >= plan.rounds:
            done.append(item.name)
            continue
        for server in servers:
            server.rounds.pop(item.name, None)
    return done


def finish(record: dict, raw: dict[str, str]) -> int:
    """Writes the folder with its charts and shows the page."""
    text = summary(record)
    pages = {"summary.md": text}
    if "servers" in record:
        pages["detail.md"] = detail_tables(record)
    show(["", *text.splitlines()])
    try:
        folder = write_results(record, pages, raw)
        charts = draw(record, folder / "charts")
    except OSError as error:
        raise ValueError(f"the results were not written, only shown: {error}") from None
    say(f"results: {folder.relative_to(ROOT)}")
    if charts:
        say(f"charts: {folder.relative_to(ROOT)}/charts/{charts[0]}.png and {len(charts) - 1} more")
    return 0
