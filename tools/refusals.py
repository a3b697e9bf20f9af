"""Builds the programs that must not build, and compares what the compiler says.

Each program in tests/compile is wrong in one way. Its header names the message
behind `# The build fails with:`.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from report import Report
from toolchain import BUILD, ROOT, build

HEADING = "# The build fails with:"


def wanted_message(text: str) -> str:
    """Reads the message from a program's header."""
    lines = text.splitlines()
    if HEADING not in lines:
        raise ValueError(f"its header has no `{HEADING}`")
    return lines[lines.index(HEADING) + 1].removeprefix("#").strip()


def trouble_of(wanted: str, exit_status: int, said: str) -> str:
    """Says what is wrong with the outcome of a build, if anything."""
    if exit_status == 0:
        return f"it was built; wanted:\n{wanted}"
    ends = f"constraint failed: {wanted}"
    if not any(line.endswith(ends) for line in said.splitlines()):
        return f"wanted:\n{wanted}\ngot:\n{said[-4000:]}"
    return ""


def run(report: Report, below: str = "tests/compile") -> None:
    """Builds all programs, or those below a path."""
    sources = [
        source
        for source in sorted((ROOT / "tests" / "compile").glob("*.mojo"))
        if str(source).startswith(str(ROOT / below))
    ]

    def one(source: Path) -> None:
        began = time.monotonic()
        wanted = wanted_message(source.read_text())
        # As users build: what the object leaves to the program refuses as early.
        result = build(source, BUILD / "compile" / source.stem, whole=False)
        report.timed(f"refusal of {source.name}", time.monotonic() - began)
        trouble = trouble_of(wanted, result.returncode, result.stdout)
        if trouble:
            report.fail(source.name, trouble)
        else:
            report.passed(source.name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, sources))
