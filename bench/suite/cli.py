"""The command line of the benchmark suite."""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from suite import clients as client_rounds
from suite import commands, many
from suite.c1m import c1m as measure_many
from suite.compare import comparison
from suite.console import say, show
from suite.left_over import end_left_over
from suite.own import own_record
from suite.page import build_page
from suite.programs import BENCH
from suite.publishing import publish
from suite.record import check_results, read_record
from suite.running import QUICK_NAMES, QUICK_WORKLOADS, Wanted, finish, measure
from suite.server import INTERRUPTED

HELP = """Builds, checks, runs and compares HTTP servers written in several languages.

A typical way through it:

    list                    which servers there are, and which can be built here

    responses nginx flare   what they answer, checked octet by octet

    run --quick             two minutes: a table and charts

    run                     ten minutes: all servers, all workloads

    compare OLD NEW         what changed between two result folders

    report FOLDER           a page to show to others

NAME is a server's folder in bench/peers, a file in bench/servers, a row's
name, or a part of one. Each run leaves a folder in bench/results.
"""
app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


# As other suites name them.
KINDS = {"single": "single", "singlecore": "single", "multi": "multi", "multicore": "multi"}
SECONDS = re.compile(r"([1-9]\d*)s?")


def kind_of(word: str) -> str:
    """Reads what servers may use."""
    if word.lower() not in KINDS:
        raise typer.BadParameter(f"{word!r}; write single (singleCore) or multi (multiCore)")
    return KINDS[word.lower()]


def seconds_of(word: object) -> int:
    """Reads a time, as `10` or as `10s`."""
    found = SECONDS.fullmatch(str(word))
    if not found:
        raise typer.BadParameter(f"{word!r}; write whole seconds, such as 10 or 10s")
    return int(found[1])


class ToolName(StrEnum):
    """What loads the servers."""

    WRK = "wrk"
    HEY = "hey"
    OPEN = "open"


Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Servers; by default all."),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--workload", metavar="PART", help="Only workloads with this in their name; repeatable."
    ),
]
Languages = Annotated[
    list[str] | None,
    typer.Option(
        "--language", "-l", metavar="LANGUAGE", help="Only servers written in it; repeatable."
    ),
]
Rounds = Annotated[
    int, typer.Option("--rounds", "-r", min=1, help="Counted rounds; five or more for an interval."),
]
Seconds = Annotated[
    int,
    typer.Option(
        "--seconds", "--duration", "-d", parser=seconds_of, metavar="SECONDS",
        help="Length of a round: 10 or 10s.",
    ),
]
Connections = Annotated[int, typer.Option("--connections", "-c", min=1, help="Of the load tool.")]
Remote = Annotated[
    str, typer.Option(metavar="USER@HOST", help="Run the load there, over ssh."),
]
Ssh = Annotated[
    str, typer.Option(metavar="COMMAND", help="How to reach it, such as 'ssh -p 2222 -i key'."),
]


@app.command("list")
def list_servers(
    names: Names = None,
    language: Languages = None,
    workloads: Annotated[bool, typer.Option("--workloads", help="The workloads instead.")] = False,
) -> None:
    """Show the servers there are, and what is missing to build them."""
    show(commands.list_workloads() if workloads else commands.list_rows(names or [], language))


@app.command()
def build(names: Names = None, language: Languages = None) -> int:
    """Build servers; what cannot be built is named with the reason."""
    return commands.build_only(names or [], language)


@app.command()
def responses(names: Names = None, language: Languages = None) -> int:
    """Show an answer of each server, compared with bench/workloads.toml, and hold it to HTTP/1.1."""
    end_left_over()
    return commands.responses(names or [], language)


@app.command()
def versions(names: Names = None) -> None:
    """Show the versions of all tools as a Markdown table."""
    show(commands.version_lines(names or []))


@app.command("bench", help="Measure servers: the same as run.")
@app.command()
def run(
    names: Names = None,
    language: Languages = None,
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            parser=kind_of,
            metavar="single|multi",
            help="single: a core for the server, another for the"
            " load. multi: all rows, the load on the free cores, or on all if these are too few.",
        ),
    ] = "single",
    workload: Parts = None,
    rounds: Rounds = 5,
    seconds: Seconds = 1,
    connections: Connections = 64,
    threads: Annotated[
        int, typer.Option("--threads", "-t", min=0, help="Of the load tool; 0 for one a CPU that it has.")
    ] = 0,
    pipeline: Annotated[int, typer.Option(min=0, help="So many requests in one write.")] = 0,
    tool: Annotated[
        ToolName,
        typer.Option(
            help="wrk and hey ask as fast as they are answered; open"
            " at --rate, corrected for coordinated omission."
        ),
    ] = ToolName.WRK,
    rate: Annotated[int, typer.Option(min=0, help="Requests a second of the open loop.")] = 0,
    remote: Remote = "",
    ssh: Ssh = "ssh",
    host: Annotated[
        str, typer.Option(help="Address to serve on, as the remote host reaches it."),
    ] = "127.0.0.1",
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="TREE",
            exists=True,
            file_okay=False,
            help="Also our servers built from another" " tree, alternated with this one's.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all-workloads", help="All workloads for all rows: hours."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two minutes: five servers, two workloads."),
    ] = False,
) -> int:
    """Measure servers, and leave a result folder with tables and charts.

    Without names all servers have a row in the workloads for everyone, the
    headline servers in the others; `list --workloads` shows which is which.
    Rounds of one second are interleaved over the servers, so that what disturbs
    the machine disturbs all of them.
    """
    wanted = Wanted(
        names or [],
        workload or [],
        kind,
        rounds,
        seconds,
        connections,
        threads,
        pipeline,
        tool,
        rate,
        remote,
        host,
        base,
        everything,
        language or [],
        ssh,
    )
    if quick:
        wanted.names = wanted.names or ([] if language else QUICK_NAMES)
        wanted.workloads = wanted.workloads or QUICK_WORKLOADS
    return measure(wanted)


@app.command()
def sweep(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Servers; by default those of run --quick."),
    ] = None,
    language: Languages = None,
    rates: Annotated[str, typer.Option(help="Requests a second, with commas between.")] = (
        "10000,20000,40000,60000,80000,100000,120000"
    ),
    seconds: Seconds = 3,
    connections: Connections = 64,
    remote: Remote = "",
    ssh: Ssh = "ssh",
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
) -> int:
    """Measure latency against load with the open-loop generator, plaintext."""
    try:
        steps = sorted({int(word) for word in rates.split(",")})
    except ValueError:
        steps = [0]
    if steps[0] < 1:
        raise ValueError(f"--rates is {rates!r}; write numbers such as 10000,20000")
    wanted = Wanted(
        names or ([] if language else QUICK_NAMES),
        ["plaintext"],
        rounds=1,
        seconds=seconds,
        connections=connections,
        tool=ToolName.OPEN,
        rate=steps[0],
        remote=remote,
        host=host,
        languages=language or [],
        ssh=ssh,
    )
    return measure(wanted, steps)


@app.command()
def c1m(
    connections: Annotated[int, typer.Option(min=0, help="Idle HTTP/1.1 connections.")] = 1_000_000,
    websockets: Annotated[int, typer.Option(min=0, help="WebSocket connections.")] = 100_000,
    http2: Annotated[int, typer.Option(min=0, help="HTTP/2 connections.")] = 100_000,
    memory: Annotated[float, typer.Option(min=0.1, help="Gigabytes to take, at most.")] = 6.0,
) -> int:
    """Measure very many idle connections: memory, accepting, broadcast, drain."""
    wanted = dict(zip(many.KINDS, (connections, websockets, http2)))
    return measure_many(wanted, int(memory * 1e9))


@app.command()
def micro(parts: Annotated[list[str] | None, typer.Argument(metavar="[PART]...")] = None) -> int:
    """Measure the library's pieces; without PART also its build and its idle connections.

    PART picks files of bench/micro by name: http, masking, json ...
    """
    check_results()
    end_left_over()
    return finish(own_record(parts or []), {})


@app.command()
def clients(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Clients; by default all."),
    ] = None,
    workload: Parts = None, rounds: Rounds = 5, seconds: Seconds = 1
) -> int:
    """Measure HTTP clients over the raw C server."""
    check_results()
    end_left_over()
    return finish(client_rounds.measure(names or [], workload or [], rounds, seconds), {})


@app.command()
def compare(old: Path, new: Path) -> int:
    """Show what changed between two result folders; ends with 1 if a row is worse.

    A change counts when it is beyond the 95 % interval of the rounds and at
    least 3 %. Runs of `micro` and `sweep` have no rounds: there a change of a
    piece by a tenth counts, a latency that is doubled, and a lower rate that a
    server follows.
    """
    text, worse = comparison(read_record(old), read_record(new))
    show(text.splitlines())
    say(f"\n{len(worse)} regressions" + "".join(f"\n  {name}" for name in worse))
    return 1 if worse else 0


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...")],
    html: Annotated[Path, typer.Option(help="Folder for the page.")] = BENCH / "results" / "report",
    publish_too: Annotated[
        bool,
        typer.Option(
            "--publish", help="Also write the tables of README.md and" " docs/benchmarks.md."
        ),
    ] = False,
) -> None:
    """Build a static HTML page with the tables and charts of result folders."""
    say(f"page: {build_page(folders, html)}")
    if publish_too:
        publish(folders)
        say("written: README.md, docs/benchmarks.md, bench/recorded; look at them, then commit")


def main(words: list[str]) -> int:
    """Runs the tool; what is wrong with its input is one line and status 2."""
    try:
        status = app(words, standalone_mode=False) or 0
        if status == INTERRUPTED:
            print("bench: interrupted; servers are stopped, no results kept but those named above", file=sys.stderr)
        return status
    except typer.BadParameter.__base__ as error:
        if str(error):  # without a word the help has been shown
            print(f"bench: {error.format_message()}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
