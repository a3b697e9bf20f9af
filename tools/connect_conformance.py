"""Runs the conformance suite of Connect against the server and the client of gRPC,
gRPC-Web and Connect.

    tools/connect_conformance.py [--mode server|client] [--run PATTERN]...

The suite is put under build/ once, by Go; without Go the run is skipped with a
message. Messages and services are made by `flare proto` of the suite's own files.
One case that fails fails the run: there is no list of those that may.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import go_programs
from report import Report
from toolchain import BUILD, ROOT, build, environment, make_messages

MODULE = "connectrpc.com/conformance"
VERSION = "v1.0.7"
FOLDER = BUILD / "connect"
SOURCES = ROOT / "tests" / "conformance" / "connect"
PROTOS = "connectrpc/conformance/v1"
FILES = ("service", "config", "server_compat", "client_compat")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed", re.MULTILINE)
MODES = ["server", "client"]
RUN_TIMEOUT_S = 1800


def make_suites_messages() -> None:
    """Makes modules of the suite's `.proto` files."""
    said = subprocess.run(
        ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"],
        cwd=FOLDER, text=True, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    protos = Path(json.loads(said.stdout)["Dir"]) / "proto"
    files = [protos / PROTOS / f"{name}.proto" for name in FILES]
    make_messages(files, [protos], FOLDER / "conformance_messages")


def built(report: Report, name: str) -> Path | None:
    program = FOLDER / name
    print(f"  building {name} ...", flush=True)
    result = build(SOURCES / f"{name}.mojo", program, "-I", str(FOLDER))
    if result.returncode:
        report.fail(f"build of {name}", result.stdout[-4000:])
        return None
    return program


def judge(report: Report, suite: Path, mode: str, patterns: list[str]) -> None:
    """Has the suite judge a program, and prints the counts."""
    program = built(report, f"connect_{mode}")
    if not program:
        return
    command = [str(suite), "--mode", mode, "--conf", str(SOURCES / f"{mode}.yaml")]
    for pattern in patterns:
        command += ["--run", pattern]
    log = FOLDER / f"{mode}.log"
    with log.open("w") as out:
        said = subprocess.run(
            [*command, "--", str(program)], env=environment(), cwd=FOLDER,
            stdout=out, stderr=subprocess.STDOUT, timeout=RUN_TIMEOUT_S,
        )  # fmt: skip
    counts = COUNTS.search(log.read_text())
    words = counts.group(0) if counts else "no counts"
    print(f"  {mode}: {words}; {log.relative_to(ROOT)}", flush=True)
    if said.returncode or not counts or counts.group(2) != "0":
        report.fail(f"conformance of the {mode}", log.read_text()[-4000:])
    else:
        report.passed(mode, int(counts.group(1)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", action="append", default=[], choices=MODES)
    parser.add_argument("--run", action="append", default=[], metavar="PATTERN")
    options = parser.parse_args()
    report = Report()
    if not shutil.which("go"):
        report.skipped("conformance of Connect", "there is no Go to build the suite")
        return report.close()
    FOLDER.mkdir(parents=True, exist_ok=True)
    suite = FOLDER / "bin" / "connectconformance"
    package = f"{MODULE}/cmd/{suite.name}"
    go_programs.install([package], VERSION, suite.parent)
    make_suites_messages()
    for mode in options.mode or MODES:
        report.step(f"conformance of Connect, {mode}", judge, suite, mode, options.run)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
