"""Counts the lines of the library that its unit tests run.

    make coverage                    all unit tests
    .venv/bin/python tools/cover.py tests/http/h1/
    .venv/bin/python tools/cover.py --lines flare/http/h1/chunked.mojo

The unit tests are built with line tables. `cover_traps.c` puts a trap on each
address that begins a line and takes it away when it is hit. A line counts if the
compiler has made code of it anywhere; functions of which it has made none, since
no test reaches them or they run while programs are compiled, are named apart. Lines
are written to build/coverage; needs Debian's llvm, and Linux on x86-64.
"""

import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import unit
from programs import shares
from report import Report
from toolchain import BUILD, ROOT, build, environment

FOLDER = BUILD / "coverage"
BATCH_COUNT = 6
TEST_TIMEOUT_S = 900
CORES = (
    "flare/http/h1/", "flare/http/h2/", "flare/ws/core/", "flare/http/multipart/",
    "flare/http/cache/core/", "flare/json/", "flare/url/", "flare/grpc/core/",
    "flare/protobuf/", "flare/trace/core/", "flare/http/conditional/",
)
ROW = re.compile(r"0x([0-9a-f]{16}) +(\d+) +\d+ +(\d+) .*\bis_stmt\b")
NAME = re.compile(r'^ +name: "(.*)"')
DIRECTORY = re.compile(r'^include_directories\[ *(\d+)\] = "(.*)"')
FILE = re.compile(r"^file_names\[ *(\d+)\]:")
FOLDER_OF = re.compile(r"^ +dir_index: (\d+)")
DEFINITION = re.compile(r"^( *)def (\w+)")


@dataclass
class Table:
    """Where the lines of the library are in a program."""

    # Addresses, and file and line that begin there.
    places: dict[int, tuple[str, int]] = field(default_factory=dict)


def read_table(lines: Iterable[str], root: Path) -> Table:
    """Reads what llvm-dwarfdump tells of line tables, as far as it is the library's."""
    table = Table()
    folders: dict[int, str] = {}
    names: dict[int, str] = {}
    files: dict[int, str | None] = {}
    number = 0
    for line in lines:
        if found := ROW.match(line):
            place, at, file = int(found[1], 16), int(found[2]), int(found[3])
            if file not in files:
                files[file] = inside(names.get(file, ""), root)
            if (path := files[file]) and at:
                table.places[place] = path, at
        elif line.startswith("debug_line["):
            folders, names, files = {}, {}, {}
        elif found := DIRECTORY.match(line):
            folders[int(found[1])] = found[2]
        elif found := FILE.match(line):
            number = int(found[1])
        elif found := NAME.match(line):
            names[number] = found[1]
        elif found := FOLDER_OF.match(line):
            names[number] = str(Path(folders.get(int(found[1]), "")) / names[number])
    return table


def inside(name: str, root: Path) -> str | None:
    """Gives the path of a file of the library within the repository."""
    path = Path(name)
    if not path.is_absolute():
        path = root / path
    try:
        relative = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return None
    return relative if relative.startswith("flare/") else None


@dataclass
class Lines:
    """Lines of a file of which code was made, and those that ran."""

    made: set[int] = field(default_factory=set)
    run: set[int] = field(default_factory=set)

    @property
    def missed(self) -> list[int]:
        return sorted(self.made - self.run)


Coverage = dict[str, Lines]


def add(coverage: Coverage, table: Table, addresses: list[int], hits: bytes) -> None:
    """Adds what ran in one program; a line has run if code of it did anywhere."""
    for address, hit in zip(addresses, hits):
        path, at = table.places[address]
        lines = coverage.setdefault(path, Lines())
        lines.made.add(at)
        if hit:
            lines.run.add(at)


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Lists the functions of a source: name, first line, last line."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not (found := DEFINITION.match(line)):
            continue
        depth, last = len(found[1]), at
        for later in range(at + 1, len(lines)):
            body = lines[later]
            if body.strip() and len(body) - len(body.lstrip()) <= depth:
                # What closes the list of arguments stands as deep.
                if not body.lstrip().startswith((")", "]")):
                    break
            if body.strip():
                last = later
        yield found[2], at + 1, last + 1


def without_code(root: Path, coverage: Coverage) -> dict[str, list[str]]:
    """Lists functions of which no program has code."""
    found = {}
    for path in sorted((root / "flare").rglob("*.mojo")):
        name = path.relative_to(root).as_posix()
        made = coverage.get(name, Lines()).made
        none = [
            function
            for function, first, last in functions(path.read_text())
            if not any(first <= line <= last for line in made)
        ]
        if none:
            found[name] = none
    return found


def percent(run: int, made: int) -> str:
    return f"{100 * run / made:5.1f} %" if made else "      -"


def summary(coverage: Coverage) -> list[str]:
    """Says how much ran, by package, and for the cores."""
    groups: dict[str, list[int]] = {}
    totals = {"protocol cores": [0, 0], "the rest": [0, 0]}
    for path, lines in coverage.items():
        group = "/".join(path.split("/")[:3 if path.count("/") > 2 else 2])
        for counts in (
            groups.setdefault(group, [0, 0]),
            totals["protocol cores" if path.startswith(CORES) else "the rest"],
        ):
            counts[0] += len(lines.run)
            counts[1] += len(lines.made)
    rows = [*sorted(groups.items()), *totals.items()]
    return [f"{percent(run, made)}  {run:6} of {made:6}  {name}" for name, (run, made) in rows]


def spans(numbers: list[int]) -> str:
    """Writes lines as spans: 3, 5-7."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in found)


def table_of(binary: Path, root: Path = ROOT) -> Table:
    """Reads the line tables of a program."""
    dump = subprocess.Popen(
        ["llvm-dwarfdump", "--debug-line", str(binary)], stdout=subprocess.PIPE, text=True
    )
    with dump.stdout:
        table = read_table(dump.stdout, root)
    if dump.wait():
        raise SystemExit(f"cover: llvm-dwarfdump ends with {dump.returncode}")
    return table


def traps(folder: Path | None = None) -> Path:
    """Builds what is loaded into the programs, in their folder."""
    library = (folder or FOLDER) / "cover_traps.so"
    source = ROOT / "tools" / "cover_traps.c"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


def run_traced(
    command: list[str], binary: Path, table: Table, timeout_s: float
) -> tuple[subprocess.CompletedProcess, list[int], bytes]:
    """Runs a program with a trap on each line; gives addresses and what was hit."""
    addresses = sorted(table.places)
    list_path = binary.with_name(f"{binary.name}.addresses")
    hits_path = binary.with_name(f"{binary.name}.hits")
    list_path.write_bytes(struct.pack(f"<{len(addresses)}Q", *addresses))
    if not hits_path.exists() or hits_path.stat().st_size != len(addresses):
        hits_path.write_bytes(bytes(len(addresses)))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={
            **environment(),
            "LD_PRELOAD": str(traps()),
            "COVERAGE_ADDRESSES": str(list_path),
            "COVERAGE_HITS": str(hits_path),
        },
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout_s,
    )
    return done, addresses, hits_path.read_bytes()


def run_batch(binary: Path, names: list[str], coverage: Coverage, report: Report) -> None:
    """Runs a batch of tests to its end, going on behind one that kills it."""
    table, first = table_of(binary), 0
    binary.with_name(f"{binary.name}.hits").unlink(missing_ok=True)
    while first < len(names):
        done, addresses, hits = run_traced(
            [str(binary), str(first)], binary, table, TEST_TIMEOUT_S
        )
        last = unit.read_output(done.stdout, report)
        if done.returncode == 0 or last is None:
            break
        report.fail(last, f"ended with {done.returncode}:\n{done.stdout[-2000:]}")
        first = names.index(last) + 1
    if done.returncode and last is None:
        report.fail(binary.name, f"ended with {done.returncode}:\n{done.stdout[-2000:]}")
    add(coverage, table, addresses, hits)


def cover(below: str, report: Report) -> Coverage:
    """Builds and runs the unit tests below a path, and gives what ran."""
    tests = unit.find_tests(below)
    batches = shares(tests, min(BATCH_COUNT, max(1, len(tests) // 8)))
    coverage: Coverage = {}

    def built(index: int) -> tuple[Path, list[str]] | None:
        binary = FOLDER / f"batch_{index}"
        source = binary.with_suffix(".mojo")
        names = unit.write_main(source, batches[index], tests)
        made = build(source, binary, "-g1", *unit.ASSERTIONS)
        if made.returncode:
            report.fail(f"build of {binary.name}", made.stdout[-4000:])
            return None
        print(f"  {binary.name}: built, {len(names)} tests", flush=True)
        return binary, names

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(built, range(len(batches))):
            if found:
                run_batch(*found, coverage, report)
    return coverage


def write(coverage: Coverage) -> None:
    """Writes lines that did not run, and functions without code."""
    rows = {path: {"run": len(x.run), "made": len(x.made), "missed": x.missed}
            for path, x in sorted(coverage.items())}
    (FOLDER / "lines.json").write_text(json.dumps(rows, indent=1) + "\n")
    with (FOLDER / "missed.txt").open("w") as file:
        for path, row in rows.items():
            if row["missed"]:
                print(f"{path}: {spans(row['missed'])}", file=file)
    with (FOLDER / "without-code.txt").open("w") as file:
        for path, names in without_code(ROOT, coverage).items():
            print(f"{path}: {', '.join(names)}", file=file)


def refuse(what: str) -> int:
    print(f"cover: {what}", file=sys.stderr)
    return 2


def show(path: str) -> int:
    """Prints a source with a mark at each line that did not run."""
    table = FOLDER / "lines.json"
    rows = json.loads(table.read_text()) if table.exists() else {}
    if path not in rows:
        what = "no lines were measured" if not rows else f"no line of {path} was measured"
        return refuse(f"{what}: run `make coverage`, and name a file as its table does")
    row = rows[path]
    missed = set(row["missed"])
    for at, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        print(f"{'!' if at in missed else ' '} {at:5} {line}")
    return 0


def main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["--lines"]:
        return show(words[1]) if len(words) == 2 else refuse("--lines takes one file")
    if len(words) > 1:
        return refuse(f"one folder or file is measured, not {' '.join(words)}")
    below = words[0] if words else "tests"
    if not unit.find_tests(below):
        return refuse(f"there are no unit tests below {below}")
    if shutil.which("llvm-dwarfdump") is None:
        return refuse("llvm-dwarfdump is needed: apt-get install llvm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    report = Report()
    coverage = cover(below, report)
    write(coverage)
    status = report.close()
    print("\n".join(summary(coverage)))
    print(f"lines that did not run: {FOLDER / 'missed.txt'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
