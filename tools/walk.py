"""Counts walks: how many functions of the library run on one request, in how many
files, seen in a program that runs.

    .venv/bin/python tools/walk.py [NAME ...] [--list] [--publish]

Walks are http1, routed, http2, proxy, client and room; all if none is named. A
program of them all (`tools/walks/walked.mojo`) is built once for a state of the
library, not optimised and with debug information, which takes minutes. After some
hundred requests over one connection it is asked ten times more, with a breakpoint
at each of its lines. `--list` prints the functions in the order in which they begin
(those of room by their places, since its threads take turns), those with more than
three lines of code marked with `*`. `--publish` writes the tables of all walks into
docs/walks.md.
"""

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path

from toolchain import BUILD, COMPILER, ROOT, alone, mojo, mojo_sources
from walks.breakpoints import check_machine
from walks.counting import SHORT_LINES, Count, longer
from walks.debug_info import Function, Missing, addresses_of
from walks.walking import WALKS, walk

PROGRAM = ROOT / "tools" / "walks" / "walked.mojo"
FOLDER = BUILD / "walks"
PAGE = ROOT / "docs" / "walks.md"
BEGIN, END = "<!-- walks -->", "<!-- /walks -->"
# All that is called is there to be seen: nothing is folded into its caller. The
# program has the clock of all its parts.
OPTIONS = ("-O0", "-g", "-Xlinker", "--defsym=clock_gettime=walk_clock")

# Four minutes of CPU time, on a machine that may have more to do.
BUILD_S = 3_600

Found = dict[str, list[Function]]


def built() -> Path:
    """Builds the program, unless neither it nor the library has changed."""
    digest = hashlib.sha256(" ".join([COMPILER.version, *OPTIONS]).encode())
    for path in [PROGRAM, *mojo_sources("flare")]:
        digest.update(path.read_bytes())
    binary = FOLDER / f"walked-{digest.hexdigest()[:16]}"
    with alone(FOLDER / "walked"):
        if not binary.exists():
            print("walks: building, which takes minutes", file=sys.stderr)
            for old in FOLDER.glob("walked-*"):
                old.unlink()
            part = FOLDER / "walked.part"
            result = mojo(
                *("build", "-j", "1", "-I", str(ROOT), *OPTIONS),
                *(str(PROGRAM), "-o", str(part)),
                timeout_s=BUILD_S,
            )
            if result.returncode:
                raise RuntimeError(result.stdout[-4000:])
            part.rename(binary)
    return binary


def row(cells: list[object]) -> str:
    return "| " + " | ".join(str(x) for x in cells) + " |"


def table(found: Found, root: Path = ROOT) -> str:
    """Writes functions and files of each walk, beside what they are to be."""
    lines = [
        row(
            [
                "walk",
                "functions / files",
                f"with more than {SHORT_LINES} lines of code",
                "target",
            ]
        ),
        row(["---"] * 4),
    ]
    for name, functions in found.items():
        long = Count.of(longer(root, functions))
        target = WALKS[name].target or "-"
        cells = [WALKS[name].title, Count.of(functions), long, target]
        lines.append(row(cells))
    return "\n".join(lines)


def by_folder(found: Found) -> str:
    """Writes how many functions each walk has in each folder."""
    counts = {
        name: Counter(str(Path(x.file).parent) for x in functions)
        for name, functions in found.items()
    }
    folders = sorted({folder for count in counts.values() for folder in count})
    lines = [row(["folder", *found]), row(["---"] * (len(found) + 1))]
    for folder in folders:
        cells = [counts[name][folder] or "-" for name in found]
        lines.append(row([f"`{folder}`", *cells]))
    return "\n".join(lines)


def listing(functions: list[Function], root: Path = ROOT) -> str:
    """Writes a line for each function, marked if it is no short one."""
    long = set(longer(root, functions))
    return "\n".join(
        f"{'*' if x in long else ' '} {x.file}:{x.line} {x.name}"
        for x in functions
    )


def published(page: str, tables: str) -> str:
    """Puts tables between the markers of a page."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.names) - set(WALKS):
        parser.error(
            f"there is no walk {', '.join(sorted(unknown))}; name some of"
            f" {', '.join(WALKS)}"
        )
    if given.publish and given.names:
        parser.error("a page has all walks")
    found: Found = {}
    try:
        check_machine()
        binary = built()
        addresses = addresses_of(binary)
        for name in given.names or WALKS:
            print(f"walks: {WALKS[name].title}", file=sys.stderr)
            found[name] = walk(name, binary, addresses)
    except (Missing, RuntimeError, TimeoutError, ChildProcessError) as error:
        print(f"walks: {error}", file=sys.stderr)
        return 1
    if given.list:
        for name, functions in found.items():
            print(f"{WALKS[name].title}\n{listing(functions)}\n")
    print(table(found))
    if given.publish:
        tables = f"{table(found)}\n\n{by_folder(found)}"
        PAGE.write_text(published(PAGE.read_text(), tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
