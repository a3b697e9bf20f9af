"""Chooses rows, builds and starts them; says who is left out and why."""

from pathlib import Path

from suite import metadata, workload
from suite.console import progress, say
from suite.layout import cpus_here, layout
from suite.metadata import Row
from suite.programs import BENCH
from suite.rounds import Plan
from suite.server import LOOPBACK, Failed, Server, build


def chosen(
    names: list[str], base: Path | None = None, languages: list[str] | None = None
) -> list[Row]:
    """Reads all metadata and picks the rows that were asked for."""
    rows = metadata.in_languages(metadata.select(metadata.load(BENCH), names), languages or [])
    return rows + (metadata.from_tree(rows, base.resolve()) if base else [])


def build_all(rows: list[Row], plan: Plan) -> dict[str, float]:
    """Builds each program once; gives the CPU time of those that could be built."""
    took: dict[str, float] = {}
    failed: dict[str, str] = {}
    programs = {row.program.key: row.program for row in rows}
    with progress() as bar:
        task = bar.add_task("building", total=len(programs))
        for key, program in programs.items():
            bar.update(task, description=f"building {key}")
            try:
                took[key] = build(program)
            except Failed as error:
                failed[key] = str(error)
            bar.advance(task)
    for row in rows:
        if row.program.key in failed:
            plan.leave_out(row.name, failed[row.program.key])
    return took


def start_all(
    rows: list[Row], kind: str, plan: Plan, servers: list[Server], host: str = LOOPBACK
) -> None:
    """Starts the rows that can be, each on its CPUs, and adds those that pass the gate.

    A server that is refused is stopped at once.
    """
    here, widest = cpus_here(), max((row.cores for row in rows), default=1)
    everything = workload.load(BENCH, [])
    with progress() as bar:
        for row in bar.track(rows, description="starting"):
            own = workload.of_row(everything, row)
            try:
                server = Server(row, layout(here, kind, row.cores, widest).server, host)
            except ValueError as error:
                plan.leave_out(row.name, str(error))
                continue
            servers.append(server)  # before it starts, so that an interruption stops it
            try:
                server.start(own[0])
                server.check(own[0], workload.upload_of(everything, row))
            except Failed as error:
                plan.leave_out(row.name, str(error))
                servers.remove(server)
                server.stop()
    say(f"bench: {len(servers)} servers passed the gate")
