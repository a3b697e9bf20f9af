"""Counts files and lines of the library by package: code, and docstrings.

    tools/count_lines.py [DEPTH]

Code is what is left without comments, blank lines and docstrings. Packages are told
apart to a depth of 2 names, unless another is given.
"""

import argparse
from collections import Counter
from pathlib import Path

from arguments import positive
from toolchain import ROOT, Library, Module, without_docs


def counts(root: Path, depth: int) -> dict[str, Counter]:
    """Counts by package, with the sum as `flare` alone."""
    found: dict[str, Counter] = {}
    for name, module in Library(root).modules.items():
        path = name.split(".")
        front = path if (root / Path(*path)).is_dir() else path[:-1]
        lines = Counter(
            files=1,
            lines=len(module.lines),
            code=without_docs(module).count("\n"),
            docs=docs_count(module),
        )
        for package in {"flare", ".".join(front[: depth + 1])}:
            found.setdefault(package, Counter()).update(lines)
    return found


def docs_count(module: Module) -> int:
    """Counts the lines of docstrings: strings that begin a line outside of brackets."""
    count, depth, is_open, is_docs = 0, 0, False, False
    for code in module.code:
        if not is_open:
            is_docs = depth == 0 and code.lstrip().startswith('"""')
        count += is_docs
        is_open ^= code.count('"""') % 2 == 1
        depth += sum((x in "([{") - (x in ")]}") for x in code)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("depth", nargs="?", type=positive, default=2, metavar="DEPTH")
    depth = parser.parse_args().depth
    print(f"{'package':32}{'files':>7}{'lines':>9}{'code':>9}{'docs':>9}")
    for name, count in sorted(counts(ROOT, depth).items()):
        figures = (count[kind] for kind in ("files", "lines", "code", "docs"))
        print(f"{name:32}" + "".join(f"{x:>9,}" for x in figures)[2:])


if __name__ == "__main__":
    main()
