"""Builds, checks, runs and compares servers written in several languages.

Rounds are interleaved over the servers, so that what disturbs the machine
disturbs all of them; CPU time comes from the server's whole process tree. Every
run leaves a folder under bench/results with its origin and every round.

Run: make bench, or .venv/bin/python bench/bench.py run --quick; `--help` lists
the subcommands. Servers are named by folder or by a part of their row's name.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from suite import clients, commands, metadata  # noqa: E402


def parser() -> argparse.ArgumentParser:
    """Describes the command line."""
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = top.add_subparsers(required=True)

    def add(name: str, action: object, text: str) -> argparse.ArgumentParser:
        sub = subcommands.add_parser(name, help=text, description=text)
        sub.set_defaults(action=action)
        return sub

    for name, action, text in (
        ("list", commands.list_rows, "the servers there are"),
        ("build", commands.build_only, "build servers"),
        ("responses", commands.responses, "an answer of each server, verified"),
        ("versions", commands.print_versions, "versions of the tools, in Markdown"),
    ):
        add(name, action, text).add_argument("names", nargs="*", metavar="NAME")
    run = add("run", commands.run, "measure, and leave a result folder")
    run.add_argument("names", nargs="*", metavar="NAME")
    run.add_argument("--type", choices=metadata.KINDS, default="single",
                     help="single: servers of one core, load on another (default);"
                          " multi: all, the load free to use every core")
    run.add_argument("--rounds", type=int, default=5, help="counted rounds (default 5)")
    run.add_argument("--seconds", "--duration", type=int, default=3,
                     help="length of a round (default 3)")
    run.add_argument("--connections", type=int, default=64, help="of wrk (default 64)")
    run.add_argument("--threads", type=int, default=0,
                     help="of wrk (default 1, or in a multi run one for each of its CPUs)")
    run.add_argument("--workload", action="append", default=[], metavar="PART",
                     help="only the workloads with this in their name; may be repeated")
    run.add_argument("--base", type=Path, metavar="TREE",
                     help="our servers built from another tree as well, to compare with")
    run.add_argument("--quick", action="store_true", help="two rounds of one second")
    sub = add("clients", clients.run, "measure HTTP clients over the raw C server")
    sub.add_argument("names", nargs="*", metavar="NAME")
    sub.add_argument("--rounds", type=int, default=5, help="counted rounds (default 5)")
    sub.add_argument("--seconds", type=int, default=3, help="length of a round (default 3)")
    sub.add_argument("--workload", action="append", default=[], metavar="PART",
                       help="only the workloads with this in their name; may be repeated")
    sub.add_argument("--quick", action="store_true", help="two rounds of one second")
    compare = add("compare", commands.compare, "what changed between two result folders")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    report = add("report", commands.report, "write docs/benchmarks.md from result folders")
    report.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    return top


def with_subcommand(words: list[str]) -> list[str]:
    """Puts in the subcommand that `make bench` and `--report` leave out."""
    if words[:1] == ["--report"]:
        return ["report", *words[1:]]
    if not words or words[0].startswith("--") and words[0] != "--help":
        return ["run", *words]
    return words


def main(words: list[str]) -> int:
    arguments = parser().parse_args(with_subcommand(words))
    if getattr(arguments, "quick", False):
        arguments.rounds, arguments.seconds = 2, 1
    try:
        return arguments.action(arguments)
    except ValueError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
