"""Simulates servers in worlds made from seeds: tools/simulate.py [FIRST] [-n COUNT].

A server, its clients and its network are one program, in which time passes only
when it is waited for (tests/simulate). The same seed is the same world. What fails is
named by its seed: `build/simulate/simulate SEED trace` repeats it, and `shrink` looks
for the clients that it takes.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from arguments import positive
from report import Report
from toolchain import (
    ASAN_ENVIRONMENT,
    ASAN_OPTIONS,
    BUILD,
    ROOT,
    asan_options,
    build,
    environment,
    store,
)

FOLDER = BUILD / "simulate"
PROGRAM = FOLDER / "simulate"
SOURCES = ROOT / "tests" / "simulate"
# What a program that is compiled defines itself cannot be called there as well.
OBJECTS = ("system_calls", "write_call")
# How the library is compiled: as programs get it, or whole and with all assertions,
# or watched by AddressSanitizer.
PLAIN, CHECKED, WATCHED = "plain", "checked", "asan"
SHARE = 2_000
# Far more than a share takes on a machine with other work.
SHARE_TIMEOUT_S = 600


def build_all(how: str) -> str:
    """Builds the program; gives the compiler's text if that fails."""
    linked: list[str] = []
    for name in OBJECTS:
        result = build(
            SOURCES / f"{name}.mojo", FOLDER / f"{name}.o", "--emit", "object"
        )
        if result.returncode:
            return result.stdout
        linked += ["-Xlinker", str(FOLDER / f"{name}.o")]
    if how == CHECKED:
        linked += ["-D", "ASSERT=all"]
    elif how == WATCHED:
        linked += asan_options(FOLDER)
    source = SOURCES / "simulate.mojo"
    recipe = store.recipe_of(ASAN_OPTIONS) if how == WATCHED else None
    result = build(source, PROGRAM, *linked, whole=how == CHECKED, recipe=recipe)
    return result.stdout if result.returncode else ""


def run_share(first: int, count: int) -> tuple[int, str]:
    """Runs some seeds; gives the status, and what was printed."""
    try:
        outcome = subprocess.run(
            [str(PROGRAM), str(first), str(count)],
            cwd=ROOT,
            env=environment() | ASAN_ENVIRONMENT,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SHARE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return 1, f"seeds from {first} on: no end within {SHARE_TIMEOUT_S} s"
    return outcome.returncode, outcome.stdout


def run(report: Report, count: int, first: int = 1, how: str = PLAIN) -> None:
    """Builds the simulator and runs so many seeds, in processes of their own."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        report.skipped("simulator", "its calls have the numbers of Linux on x86-64")
        return
    if trouble := build_all(how):
        report.fail("simulator", trouble[-4000:])
        return
    began = time.monotonic()
    starts = range(first, first + count, SHARE)
    shares = [(start, min(SHARE, first + count - start)) for start in starts]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        outcomes = list(pool.map(lambda share: run_share(*share), shares))
    totals: dict[str, int] = {}
    for (start, length), (status, output) in zip(shares, outcomes):
        lines = output.strip().splitlines()
        if status:
            report.fail(f"seeds {start} to {start + length - 1}", output[-3000:])
        else:
            report.passed("simulator")
        if lines and " seeds, " in lines[-1]:
            for part in lines[-1].split(", "):
                number, what = part.split(" ", 1)
                totals[what] = totals.get(what, 0) + int(number)
    text = ", ".join(f"{number:,} {what}" for what, number in totals.items())
    print(f"  {text} ({time.monotonic() - began:.0f} s)", flush=True)


def main() -> int:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", nargs="?", type=int, default=1)
    parser.add_argument("-n", "--count", type=positive, default=10_000)
    parser.add_argument(
        "--checked", action="store_true", help="build whole, with all assertions"
    )
    parser.add_argument(
        "--asan", action="store_true", help="build watched by AddressSanitizer"
    )
    given = parser.parse_args()
    how = WATCHED if given.asan else CHECKED if given.checked else PLAIN
    report = Report()
    report.step("simulator", run, given.count, given.first, how)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
