"""Finds the tests that a change can break first: `make test ONLY=changed`.

Changed is what differs from the last commit, or what the last commit changed if
nothing does. Unit tests are chosen by what they import, nearest first; wire tests by
the rows of docs/where.md that name a changed file, since every server reaches nearly
all of the library. What is left out for time is told.
"""

import re
import subprocess
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from toolchain import Library

UNIT_FILES_MAX = 12
"""Most unit test files: they build in about a minute."""
WIRE_FILES_MAX = 6
"""Most files of wire tests."""
CODE = re.compile(r"`([^`]+)`")


@dataclass
class Choice:
    """What is to be run, and what was left out."""

    unit: list[Path] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    """Files of tests by pytest, examples and programs that must not build."""
    has_docs: bool = False
    left: list[str] = field(default_factory=list)


def changed_files(root: Path) -> list[Path]:
    """Lists the files that differ from the last commit, else those that it changed."""

    def git(*words: str) -> list[str]:
        result = subprocess.run(
            ["git", *words], cwd=root, text=True, stdout=subprocess.PIPE, check=True
        )
        return result.stdout.splitlines()

    found = git("diff", "--name-only", "HEAD")
    found += git("ls-files", "--others", "--exclude-standard")
    if not found:
        found = git("diff-tree", "--no-commit-id", "--name-only", "-r", "--root", "HEAD")
    return sorted(Path(name) for name in set(found))


def choose(root: Path, files: list[Path]) -> Choice:
    """Chooses tests for changed files, which may be gone."""
    choice = Choice()
    near = _unit_tests(root, files)
    choice.unit = near[:UNIT_FILES_MAX]
    if far := near[UNIT_FILES_MAX:]:
        choice.left.append(f"{len(far)} more files of unit tests reach it: ONLY=unit")
    wire = _wire_tests(root, files, choice.left)
    choice.paths += wire[:WIRE_FILES_MAX]
    if more := wire[WIRE_FILES_MAX:]:
        choice.left.append("wire tests, too: " + " ".join(map(str, more)))
    for path in files:
        choice.has_docs |= path.suffix == ".md"
        choice.paths += [x for x in _own_tests(root, path) if x not in choice.paths]
    return choice


def _unit_tests(root: Path, files: list[Path]) -> list[Path]:
    """Lists unit tests that reach changed modules: those of their names first, then the
    nearest."""
    library, tests = Library(root), Library(root, "tests")
    users: dict[str, set[str]] = {}
    for of in (library, tests):
        for name, module in of.modules.items():
            for source, there in [*module.imports.values(), *((x, "") for x in module.stars)]:
                place = library.find(source, there) or tests.find(source, there)
                users.setdefault(place[0] if place else source, set()).add(name)
    start = [".".join(path.with_suffix("").parts) for path in files if path.suffix == ".mojo"]
    distance = dict.fromkeys(start, 0)
    queue = deque(start)
    while queue:
        name = queue.popleft()
        for user in users.get(name, ()):
            if user not in distance:
                distance[user] = distance[name] + 1
                queue.append(user)
    own = {f"test_{name.rpartition('.')[2]}" for name in start}
    folders = {name.rpartition(".")[0].replace("flare", "tests", 1) for name in start}
    found = [
        (
            name.rpartition(".")[2] not in own,
            steps,
            name.rpartition(".")[0] not in folders,
            root / Path(*name.split(".")).with_suffix(".mojo"),
        )
        for name, steps in distance.items()
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    ]
    skipped = (root / "tests" / "wire", root / "tests" / "vectors")
    return [
        path.relative_to(root)
        for *_, path in sorted(found)
        if path.exists() and not any(path.is_relative_to(x) for x in skipped)
    ]


def _wire_tests(root: Path, files: list[Path], left: list[str]) -> list[Path]:
    """Lists wire tests that changed, and those that docs/where.md has for files."""
    found = [x for x in files if _is_test(x, "tests/wire") and (root / x).exists()]
    rows = wire_rows(root)
    for path in files:
        if path.parts[0] != "flare" or path.suffix != ".mojo":
            continue
        tests = {test for sources, named in rows if path in sources for test in named}
        found += sorted(tests - set(found))
        if not tests:
            left.append(f"no row of docs/where.md has a wire test for {path}: ONLY=wire")
    return found


def wire_rows(root: Path) -> list[tuple[set[Path], list[Path]]]:
    """Reads which sources each row of docs/where.md names, and which wire tests."""
    rows = []
    for line in (root / "docs" / "where.md").read_text().splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) >= 3:
            tests = [x for x in _paths(root, cells[2]) if _is_test(x, "tests/wire")]
            rows.append((set(_paths(root, cells[1])), tests))
    return rows


def _paths(root: Path, cell: str) -> list[Path]:
    """Lists the files that a cell names; a name alone lies beside the last path, or in
    the folder that another word of the cell names."""
    words = [word.removesuffix("/") for word in CODE.findall(cell)]
    folders = [Path(x).parent if Path(x).suffix else Path(x) for x in words if "/" in x]
    found = []
    for word in words:
        if not Path(word).suffix:
            continue
        for path in [Path(word)] if "/" in word else [x / word for x in folders]:
            if (root / path).is_file() and path not in found:
                found.append(path)
    return found


def _is_test(path: Path, folder: str) -> bool:
    return path.is_relative_to(folder) and path.match("test_*.py")


def _own_tests(root: Path, path: Path) -> list[Path]:
    """Lists the tests of a tool, of a part of the command, of examples, and a file of
    such tests itself."""
    folders = ("tests/tools", "tests/cli", "tests/deploy")
    if not (root / path).exists():
        return []
    if any(_is_test(path, folder) for folder in folders):
        return [path]
    if path.is_relative_to("tests/compile") or path.is_relative_to("examples"):
        return [path] if path.suffix == ".mojo" and path.match("*/*.mojo") else []
    folder = {"tools": "tests/tools", "cli": "tests/cli"}.get(path.parts[0])
    if folder is None or path.suffix != ".py":
        return []
    about = re.compile(rf"\b{path.stem}\b|\bmojo_flare\.{path.parent.name}\b")
    return [
        test.relative_to(root)
        for test in sorted((root / folder).glob("test_*.py"))
        if about.search(test.read_text()) or test.stem == f"test_{path.parent.name}"
    ]
