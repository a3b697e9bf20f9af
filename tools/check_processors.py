"""Checks that all that differs between processors is compiled for another one.

The tests run on one processor. A file that asks for the processor has code for
others, too: it is imported by `tools/cross/processors.mojo`, which `make test` has
the compiler instantiate for another one.
"""

import re
import sys
from pathlib import Path

from mojo_source import Problem, Source, conclude, mojo_files

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = Path("tools/cross/processors.mojo")
# What it is asked beside its system, by which `everything.mojo` differs.
QUESTION = re.compile(r"\bCompilationTarget\.(?!is_linux\b|is_macos\b)\w+")


def problems(root: Path) -> list[str]:
    """Checks one tree."""
    compiled = {
        Path(*entry.module.split(".")).with_suffix(".mojo")
        for entry in Source.read(root, PROCESSORS).imports
    }
    found = []
    for path in mojo_files(root, "flare"):
        source = Source.read(root, path)
        for number, line in enumerate(source.code, 1):
            if QUESTION.search(line) and path not in compiled:
                message = f"asks for the processor; use the file in {PROCESSORS}"
                found.append(str(Problem(path, number, message)))
                break
    return found


if __name__ == "__main__":
    sys.exit(conclude("processors", problems(ROOT)))
