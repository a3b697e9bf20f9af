"""Holds programs to the IR that the compiler may make of them beside the library
that is compiled once.

    .venv/bin/python tools/build_size.py [PROGRAM.mojo ...]

What a build costs is what the compiler generates: 0.1 CPU seconds for each
1,000 lines of unoptimised IR. `tools/build_size.toml` says how many each
program may have. The target is fixed, but paths leave traces in the count (some
30 lines of 176,000 by where a clone stood), so a budget has room for them: it is
there to show that something of the library has come back into programs.
`tools/ir_report.py` shows where the lines come from.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from arguments import mojo_source
from report import Report
from toolchain import BUILD, ROOT, build

BUDGETS = ROOT / "tools" / "build_size.toml"
TARGET = (
    "--target-triple",
    "x86_64-unknown-linux-gnu",
    "--target-cpu",
    "x86-64-v3",
)


def line_count(text: str) -> int:
    """Counts the lines that are not blank."""
    return sum(1 for line in text.splitlines() if line.strip())


def verdict(program: str, count: int, budget: int) -> str:
    """Says what is wrong with a count; nothing if it is as it should be."""
    if count > budget:
        return (
            f"{program}: {count:,} lines of IR, {count - budget:,} more than"
            f" its budget; see tools/ir_report.py"
        )
    return ""


def budgets() -> dict[str, int]:
    return tomllib.loads(BUDGETS.read_text())["lines"]


def measure(program: Path) -> int:
    """Builds a program as far as its IR, and counts that."""
    output = BUILD / "ir" / f"{program.stem}-counted.ll"
    result = build(program, output, "--emit", "llvm", *TARGET, whole=False)
    if result.returncode:
        raise RuntimeError(result.stdout[-4000:])
    return line_count(output.read_text())


def run(report: Report) -> None:
    for program, budget in budgets().items():
        try:
            trouble = verdict(program, measure(ROOT / program), budget)
        except RuntimeError as error:
            trouble = str(error)
        if trouble:
            report.fail(f"build size of {program}", trouble)
        else:
            report.passed(f"build size of {program}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", type=mojo_source, help="all if none")
    # Budgets are by names below the root; what is elsewhere has none.
    named = [
        str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
        for path in parser.parse_args().programs
    ]
    known = budgets()
    over = False
    for program in named or known:
        try:
            count = measure(ROOT / program)
        except RuntimeError as error:
            sys.exit(f"{program} does not compile:\n{error}")
        print(f"{program}: {count:,}")
        over = over or count > known.get(program, count)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
