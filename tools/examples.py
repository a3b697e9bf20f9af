"""Builds and runs the examples, and compares what they print.

Each names it in its header, behind `# Expected output:`; a `*` matches anything.
"""

import re
import subprocess
from pathlib import Path

from programs import build_and_run
from report import Report
from toolchain import BUILD, ROOT, environment

TIMEOUT_S = 60
FOLDER = BUILD / "examples"


def expected_output(text: str) -> list[str]:
    """Reads the expected output from an example's header."""
    lines = text.splitlines()
    if "# Expected output:" not in lines:
        raise ValueError("its header has no `# Expected output:`")
    expected = []
    for line in lines[lines.index("# Expected output:") + 1 :]:
        if line != "#" and not line.startswith("#   "):
            break
        expected.append(line[4:])
    # The blank lines at the end of what it prints are not compared either.
    while expected and not expected[-1]:
        expected.pop()
    return expected


def matches(wanted: list[str], got: list[str]) -> bool:
    """Compares lines; a `*` in what is wanted matches anything."""
    if len(wanted) != len(got):
        return False
    patterns = [re.escape(line).replace(r"\*", ".*") for line in wanted]
    return all(re.fullmatch(p, line) for p, line in zip(patterns, got))


def run_one(binary: Path, wanted: list[str]) -> str:
    """Runs an example; says what is wrong with what it prints, if anything."""
    try:
        outcome = subprocess.run(
            [str(binary)],
            cwd=ROOT,
            env=environment(),
            text=True,
            errors="replace",
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"did not end by itself in {TIMEOUT_S} s"
    got = outcome.stdout.rstrip("\n").splitlines()
    if outcome.returncode == 0 and matches(wanted, got):
        return ""
    lines = [f"exit {outcome.returncode}; wanted:", *wanted, "got:", *got]
    return "\n".join([*lines, outcome.stderr])


def check(source: Path, report: Report) -> None:
    """Runs one that is built."""
    try:
        wanted = expected_output(source.read_text())
    except ValueError as error:
        report.fail(source.name, str(error))
        return
    if trouble := run_one(FOLDER / source.stem, wanted):
        report.fail(source.name, trouble)
    else:
        report.passed(source.name)
        print(f"  {source.name}: as expected", flush=True)


def run(report: Report, below: str = "examples") -> None:
    """Builds and runs all examples, or those below a path."""
    sources = [
        source
        for source in sorted((ROOT / "examples").glob("[0-9]*.mojo"))
        if str(source).startswith(str(ROOT / below))
    ]
    build_and_run(
        "examples", sources, FOLDER, lambda source: check(source, report), report
    )
