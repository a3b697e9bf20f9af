"""Watches the threads of a server and its clients by drd and helgrind of Valgrind.

    tools/threads.py

They report each access to memory that no lock keeps from another thread's; what they
report and is none stands in tools/threads.sup. Valgrind 3.19 does not know AVX-512, so
the program is built for x86-64-v3.
"""

import shutil
import subprocess
import sys

from report import Report
from toolchain import BUILD, ROOT, build, environment

FOLDER = BUILD / "threads"
SOURCE = ROOT / "tests" / "threads" / "threads.mojo"
START = ROOT / "tools" / "threads_start.c"
OPTIONS = ["--target-cpu", "x86-64-v3", "-g1"]
WATCHERS = ["drd", "helgrind"]
# What the program says, however its threads take turns.
SAID = "180 answers, 240 messages heard, 60 pieces of work\n"
FOUND = 9
TIMEOUT_S = 1800


def run(report: Report) -> None:
    if not shutil.which("valgrind"):
        report.skipped("threads", "valgrind is not installed (apt-get install valgrind)")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    start, program = FOLDER / "threads_start.o", FOLDER / "threads"
    subprocess.run(["cc", "-c", str(START), "-o", str(start)], check=True)
    made = build(SOURCE, program, *OPTIONS, "-Xlinker", str(start))
    if made.returncode:
        report.fail("threads", made.stdout[-4000:])
        return
    for watcher in WATCHERS:
        report.step(watcher, watch, watcher, str(program))


def watch(report: Report, watcher: str, program: str) -> None:
    log = FOLDER / f"{watcher}.log"
    result = subprocess.run(
        [
            "valgrind", f"--tool={watcher}", f"--error-exitcode={FOUND}",
            f"--suppressions={ROOT / 'tools' / 'threads.sup'}",
            "--num-callers=24", f"--log-file={log}", program,
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=TIMEOUT_S,
    )  # fmt: skip
    if result.returncode:
        report.fail(watcher, log.read_text()[-8000:])
    elif result.stdout != SAID:
        report.fail(watcher, f"the program said {result.stdout!r}, not {SAID!r}")
    else:
        report.passed(watcher)


if __name__ == "__main__":
    report = Report()
    run(report)
    sys.exit(report.close())
