"""What the subcommands do that measure nothing: list, build, responses, versions."""

from suite import workload
from suite.building import build_all, chosen
from suite.console import say, show
from suite.load import Load
from suite.metadata import Row
from suite.programs import BENCH, missing
from suite.record import versions
from suite.rounds import Plan
from suite.server import Failed, Server
from suite.tables import cells, heading

SAMPLE_LEN = 60


def nothing_to_load() -> Plan:
    """Gives a plan for what loads no server."""
    return Plan([], Load(1, 1, 1, []), 0)


def list_rows(names: list[str], languages: list[str] | None = None) -> list[str]:
    """Writes the rows there are."""
    lines = heading("folder", "name", "language", "framework", "category", "cores", "programs")
    for row in chosen(names, languages=languages):
        program = row.program
        lines.append(
            cells(
                program.key,
                row.name,
                program.language,
                program.framework,
                program.category,
                row.cores,
                missing(program.needs) or "there",
            )
        )
    return lines


def list_workloads() -> list[str]:
    """Writes the workloads there are."""
    lines = heading("workload", "target", "request", "answer", "measured by default for")
    for item in workload.load(BENCH, []):
        asked = "POST" if item.data is not None else "GET"
        size = f"{asked}, {len(item.data)} bytes" if item.data is not None else asked
        if item.message_len:
            asked, size = "message", f"message, {item.message_len} bytes"
        if item.streams:
            size += f", {item.streams} at once over HTTP/2"
        who = "every row" if item.everyone else "the headline rows"
        who = "none: name it" if item.extra else who
        lines.append(cells(item.name, item.target, size, f"{len(item.body)} bytes", who))
    return lines


def build_only(names: list[str], languages: list[str] | None = None) -> int:
    """Builds and says how long it took."""
    plan = nothing_to_load()
    for key, seconds in build_all(chosen(names, languages=languages), plan).items():
        say(f"{key}: {seconds:.1f} s CPU")
    return 1 if plan.left_out else 0


def responses(names: list[str], languages: list[str] | None = None) -> int:
    """Prints one answer of each server, and whether it is what the file says."""
    rows, plan, wrong = chosen(names, languages=languages), nothing_to_load(), 0
    built = build_all(rows, plan)
    for row in rows:
        if row.program.key not in built:
            continue
        server = Server(row, [])
        try:
            wrong += sample(server)
        except Failed as error:
            plan.leave_out(row.name, str(error))
        finally:
            server.stop()
    show(["", *identical(rows, plan, wrong)])
    return 1 if wrong or plan.left_out else 0


def sample(server: Server) -> int:
    """Prints an answer and the verdicts; counts the wrong ones. Raises Failed."""
    everything = workload.load(BENCH, [])
    own, wrong = workload.of_row(everything, server.row), 0
    server.start(own[0])
    print_answer(server, own[0])
    for item in own:
        reason = server.wrong_reply(item)
        wrong += reason is not None
        say(f"  {item.name}: {reason or 'as the workload file says'}")
    server.check(own[0], workload.upload_of(everything, server.row))
    asked = server.row.parses and not server.row.gateway
    say("  protocol: " + ("kept" if asked else "not asked for"))
    for name in server.accepts:
        say(f"  accepts what RFC 9112 refuses: {name}")
    return wrong


def identical(rows: list[Row], plan: Plan, wrong: int) -> list[str]:
    """Writes what the answers come to."""
    count = len(rows) - len(plan.left_out)
    lines = [f"{count} of {len(rows)} servers answer alike, {wrong} answers differ."]
    return lines + [
        f"left out: {name}: {why.splitlines()[0]}" for name, why in plan.left_out.items()
    ]


def print_answer(server: Server, item: workload.Workload) -> None:
    """Prints the head of an answer and the start of its body."""
    try:
        answer = server.fetch(item)
    except (OSError, ValueError) as error:
        raise Failed(str(error)) from None
    say(f"\n{server.name}\n    {answer.status_line}")
    for name, value in answer.fields:
        say(f"    {name}: {value}")
    say(f"\n    {answer.body[:SAMPLE_LEN].decode('latin-1')}")


def version_lines(names: list[str]) -> list[str]:
    """Writes the tools' versions as a table."""
    found = versions(chosen(names))
    return heading("tool", "version") + [cells(*pair) for pair in found.items()]
