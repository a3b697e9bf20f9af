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

import sys
import tomllib
from pathlib import Path

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
    named = [str(Path(x).resolve().relative_to(ROOT)) for x in sys.argv[1:]]
    known = budgets()
    over = False
    for program in named or known:
        count = measure(ROOT / program)
        print(f"{program}: {count:,}")
        over = over or count > known.get(program, count)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
