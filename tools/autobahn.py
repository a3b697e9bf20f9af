"""Runs the Autobahn test suite against the WebSocket client.

    tools/autobahn.py [--all] [CASES...]

CASES are patterns of the suite, such as `6.*`; without any, sections 1 to 10
and the first group of each section on compression are run, with --all those
two whole. The suite needs CPython 2.7, found through pyenv; without one the
run is skipped with a message. It is put under build/ once.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from report import Report
from toolchain import BUILD, ROOT, build, environment

SUITE = "autobahntestsuite==25.10.1"
PACKAGES = BUILD / "autobahn" / "packages"
REPORTS = BUILD / "autobahn" / "reports"
CLIENT = ROOT / "tests" / "wire" / "clients" / "ws_autobahn.mojo"
NORMAL = [f"{section}.*" for section in range(1, 11)] + ["12.1.*", "13.1.*"]
WHOLE = [f"{section}.*" for section in range(1, 14)]
# What the suite calls a behaviour that is good, or nobody's business.
GOOD = {"OK", "INFORMATIONAL"}
START_TIMEOUT_S = 120
RUN_TIMEOUT_S = 7200


def old_python() -> Path | None:
    """Finds CPython 2.7 among the versions of pyenv."""
    pyenv = shutil.which("pyenv")
    if not pyenv:
        return None
    root = subprocess.run(
        [pyenv, "root"], text=True, stdout=subprocess.PIPE, check=True
    ).stdout.strip()
    found = sorted(Path(root).glob("versions/2.7*/bin/python"))
    return found[-1] if found else None


def install(python: Path) -> None:
    """Puts the suite under build/, unless it is there."""
    done = PACKAGES / ".installed"
    if done.exists() and done.read_text() == SUITE:
        return
    shutil.rmtree(PACKAGES, ignore_errors=True)
    print(f"  installing {SUITE} ...", flush=True)
    command = [str(python), "-m", "pip", "install", "-q", "--target"]
    subprocess.run(
        [*command, str(PACKAGES), SUITE],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    # A namespace package that pip makes for later versions of Python alone.
    (PACKAGES / "zope" / "__init__.py").touch()
    done.write_text(SUITE)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def start_suite(python: Path, cases: list[str], port: int) -> subprocess.Popen:
    """Starts the suite's server and waits until it listens."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    specification = REPORTS.parent / "specification.json"
    specification.write_text(
        json.dumps(
            {
                "url": f"ws://127.0.0.1:{port}",
                "outdir": str(REPORTS),
                "cases": cases,
                "exclude-cases": [],
                "exclude-agent-cases": {},
            }
        )
    )
    script = PACKAGES / "bin" / "wstest"
    command = [str(python), str(script), "-m", "fuzzingserver"]
    # No page with the results; its port may be taken.
    command += ["-u", "0", "-s"]
    with open(REPORTS.parent / "server.log", "w") as log:
        process = subprocess.Popen(
            [*command, str(specification)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            cwd=REPORTS.parent,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"the suite did not start; see {REPORTS.parent}")


def judge(report: Report) -> None:
    """Reads what the suite has written, and prints a summary by section."""
    results = json.loads((REPORTS / "index.json").read_text())["flare"]
    sections: dict[str, Counter] = {}
    for case, result in results.items():
        section = sections.setdefault(case.split(".")[0], Counter())
        section[result["behavior"]] += 1
        verdicts = {result["behavior"], result["behaviorClose"]}
        if verdicts <= GOOD:
            report.passed(case)
        else:
            report.fail(
                f"case {case}",
                f"{result['behavior']}, closed {result['behaviorClose']};"
                f" see {REPORTS.relative_to(ROOT) / result['reportfile']}",
            )
    for name in sorted(sections, key=int):
        counts = ", ".join(
            f"{count} {behavior}"
            for behavior, count in sorted(sections[name].items())
        )
        print(f"  section {name:>2}: {counts}")
    total = sum(sections.values(), Counter())
    print(f"  {sum(total.values())} cases: {dict(total)}", flush=True)


def run(report: Report, cases: list[str]) -> None:
    python = old_python()
    if not python:
        reason = "pyenv has no CPython 2.7 (`pyenv install 2.7.18`)"
        report.skipped("Autobahn", reason)
        return
    install(python)
    client = BUILD / "autobahn" / "client"
    built = build(CLIENT, client)
    if built.returncode:
        report.fail(f"build of {CLIENT.name}", built.stdout[-4000:])
        return
    port = free_port()
    server = start_suite(python, cases, port)
    try:
        subprocess.run(
            [str(client), str(port), "1", "0"],
            env=environment(),
            check=True,
            timeout=RUN_TIMEOUT_S,
        )
    finally:
        server.terminate()
        server.wait(START_TIMEOUT_S)
    judge(report)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="patterns such as 6.*")
    parser.add_argument("--all", action="store_true", help="12 and 13 whole")
    given = parser.parse_args()
    report = Report()
    cases = given.cases or (WHOLE if given.all else NORMAL)
    report.step("Autobahn, client", run, cases)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
