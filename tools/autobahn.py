"""Runs the Autobahn test suite against the WebSocket client and server.

    tools/autobahn.py [--all] [--role client|server] [CASES...]

CASES are patterns of the suite, such as `6.*`; without any, sections 1 to 10
and the first group of each section on compression are run, with --all those
two whole, which takes an hour. Anything but a clean pass fails the run. The
suite needs CPython 2.7, found through pyenv; without one the run is skipped
with a message. It is put under build/ once.
"""

import argparse
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from ports import claim_port
from report import Report
from toolchain import BUILD, ROOT, build, environment

SUITE = "autobahntestsuite==25.10.1"
FOLDER = BUILD / "autobahn"
PACKAGES = FOLDER / "packages"
WIRE = ROOT / "tests" / "wire"
PROGRAMS = {
    "client": WIRE / "clients" / "ws_autobahn.mojo",
    "server": WIRE / "servers" / "ws_server.mojo",
}
# The longest messages of section 9 have 16 MiB.
SERVER_OPTIONS = [
    "compression=1",
    f"max_frame_size={20 << 20}",
    f"max_message_size={20 << 20}",
    f"max_queue_size={40 << 20}",
]
NORMAL = [f"{section}.*" for section in range(1, 11)] + ["12.1.*", "13.1.*"]
WHOLE = [f"{section}.*" for section in range(1, 14)]
# What the suite calls a behaviour that is good, or nobody's business.
GOOD = {"OK", "INFORMATIONAL"}
START_TIMEOUT_S = 120
RUN_TIMEOUT_S = 4 * 3600


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


def suite(python: Path, mode: str, role: str, specification: dict) -> subprocess.Popen:
    """Starts the suite in one of its modes; its report goes to the role's folder."""
    here = FOLDER / role
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    specification |= {"outdir": str(here), "exclude-cases": []}
    path = FOLDER / f"{role}.json"
    path.write_text(json.dumps({**specification, "exclude-agent-cases": {}}))
    command = [str(python), str(PACKAGES / "bin" / "wstest"), "-m", mode]
    # No page with the results (-u 0); its port may be taken.
    with open(FOLDER / f"{role}.log", "w") as log:
        return subprocess.Popen(
            [*command, "-u", "0", "-s", str(path)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            cwd=FOLDER,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def await_port(process: subprocess.Popen, port: int) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the suite did not start; see {FOLDER}")


def end(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait(START_TIMEOUT_S)


def drive_client(python: Path, program: Path, cases: list[str]) -> None:
    """Lets our client go through the cases of the suite's server."""
    port = claim_port()
    url = f"ws://127.0.0.1:{port}"
    server = suite(
        python, "fuzzingserver", "client", {"url": url, "cases": cases}
    )
    try:
        await_port(server, port)
        subprocess.run(
            [str(program), str(port), "1", "0"],
            env=environment(),
            check=True,
            timeout=RUN_TIMEOUT_S,
        )
    finally:
        end(server)


def drive_server(python: Path, program: Path, cases: list[str]) -> None:
    """Lets the suite's client go through its cases with our server."""
    with open(FOLDER / "flare.log", "w") as log:
        server = subprocess.Popen(
            [str(program), "0", *SERVER_OPTIONS],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        ready, _, _ = select.select([server.stdout], [], [], START_TIMEOUT_S)
        line = server.stdout.readline().decode() if ready else ""
        if not line.startswith("listening on "):
            raise RuntimeError(f"our server did not start; see {FOLDER}")
        port = int(line.rsplit(":", 1)[1])
        servers = [{"agent": "flare", "url": f"ws://127.0.0.1:{port}/ws"}]
        client = suite(
            python, "fuzzingclient", "server", {"servers": servers, "cases": cases}
        )
        try:
            client.wait(RUN_TIMEOUT_S)
        finally:
            end(client)
        if server.poll() is not None:
            raise RuntimeError(f"our server ended with {server.returncode}")
    finally:
        end(server)


def judge(report: Report, role: str) -> None:
    """Reads what the suite has written, and prints a summary by section."""
    here = FOLDER / role
    results = json.loads((here / "index.json").read_text())["flare"]
    sections: dict[str, Counter] = {}
    for case, result in results.items():
        section = sections.setdefault(case.split(".")[0], Counter())
        section[result["behavior"]] += 1
        closed = result["behaviorClose"]
        if {result["behavior"], closed} <= GOOD:
            report.passed(case)
        else:
            report.fail(
                f"case {case}, {role}",
                f"{result['behavior']}, closed {closed};"
                f" see {here.relative_to(ROOT) / result['reportfile']}",
            )
    total = sum(sections.values(), Counter())
    if not total:
        report.fail(f"Autobahn, {role}", "no case was run")
    names = sorted(total)
    row = "  {:<10}" + " {:>13}" * len(names)
    print(row.format(role, *names))
    for section in sorted(sections, key=int):
        counts = [sections[section][name] for name in names]
        print(row.format(f"section {section}", *counts))
    print(row.format("all", *[total[name] for name in names]), flush=True)


DRIVERS = {"client": drive_client, "server": drive_server}


def run(report: Report, role: str, cases: list[str]) -> None:
    python = old_python()
    if not python:
        reason = "pyenv has no CPython 2.7 (`pyenv install 2.7.18`)"
        report.skipped("Autobahn", reason)
        return
    install(python)
    program = FOLDER / f"flare_{role}"
    built = build(PROGRAMS[role], program)
    if built.returncode:
        report.fail(f"build of {PROGRAMS[role].name}", built.stdout[-4000:])
        return
    DRIVERS[role](python, program, cases)
    judge(report, role)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="patterns such as 6.*")
    parser.add_argument("--all", action="store_true", help="12 and 13 whole")
    parser.add_argument("--role", choices=DRIVERS, help="one role, not both")
    given = parser.parse_args()
    report = Report()
    cases = given.cases or (WHOLE if given.all else NORMAL)
    for role in [given.role] if given.role else DRIVERS:
        report.step(f"Autobahn, {role}", run, role, cases)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
