"""Runs h2spec, the conformance suite of HTTP/2, against the server, over TLS and in
clear.

    tools/h2spec.py [--over tls|clear]... [SECTION...]

Sections are h2spec's, such as `http2/5.1`; without any, all are run, strict ones too.
The suite is put under build/ once, by Go; without Go the run is skipped with a
message. There is no list of cases that may fail.
"""

import argparse
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import certs
import go_programs
from report import Report
from toolchain import BUILD, ROOT, build, environment

PACKAGE = "github.com/summerwind/h2spec/cmd/h2spec"
VERSION = "v2.2.1+incompatible"
FOLDER = BUILD / "h2spec"
SUITE = FOLDER / "h2spec"
SOURCE = ROOT / "tests" / "conformance" / "h2spec" / "server.mojo"
CASE_TIMEOUT_S = 5
RUN_TIMEOUT_S = 1800
WAYS = {"tls": ["--tls", "--insecure"], "clear": []}


@contextmanager
def serving(program: Path, way: str) -> Iterator[str]:
    """Runs the server; gives its port."""
    words = [str(FOLDER / f"self_signed.{end}") for end in ("pem", "key")]
    with subprocess.Popen(
        [str(program), *(words if way == "tls" else [])],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def judge(report: Report, program: Path, way: str, sections: list[str]) -> None:
    """Has the suite judge the server, and counts its cases."""
    results = FOLDER / f"{way}.xml"
    results.unlink(missing_ok=True)
    arguments = ["--strict", *WAYS[way], "--timeout", str(CASE_TIMEOUT_S)]
    with serving(program, way) as port, (FOLDER / f"{way}.log").open("w") as log:
        subprocess.run(
            [str(SUITE), "--port", port, *arguments, "-j", str(results), *sections],
            cwd=FOLDER,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
    if not results.exists():
        report.fail(f"h2spec, {way}", f"no results; see {log.name}")
        return
    for case in ElementTree.parse(results).iter("testcase"):
        count(report, way, case)


def count(report: Report, way: str, case: ElementTree.Element) -> None:
    """Counts a case."""
    name = f"{case.get('package')} {case.get('classname')}, {way}"
    fault = case.find("failure")
    if case.find("skipped") is not None:
        report.skipped(name, "the suite leaves it out")
    elif fault is None:
        report.passed(name)
    else:
        report.fail(name, "".join(fault.itertext()))


def run(report: Report, ways: list[str], sections: list[str]) -> None:
    """Builds suite and server, and runs the sections, each way a step."""
    if not shutil.which("go"):
        report.skipped("h2spec", "there is no Go to build the suite")
        return
    go_programs.install([PACKAGE], VERSION, FOLDER)
    certs.self_signed(FOLDER)
    program = FOLDER / "server"
    print("  building the server ...", flush=True)
    result = build(SOURCE, program, whole=False)
    if result.returncode:
        report.fail("build of the server", result.stdout[-4000:])
        return
    for way in ways:
        report.step(f"h2spec, {way}", judge, program, way, sections)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help="such as http2/5.1")
    parser.add_argument("--over", action="append", choices=WAYS, default=[])
    given = parser.parse_args()
    report = Report()
    run(report, given.over or list(WAYS), given.sections)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
