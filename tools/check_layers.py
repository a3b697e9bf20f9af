"""Checks that imports point down (style.md S2, H4).

Every import of flare is resolved to the file that defines the name. Refused
are: an edge that `layers.toml` does not list, a cycle between files, an import
inside a function, a relative import, an edge that the list allows and nobody
needs or that points to a later package of it, and inside the library an import
through a package's `__init__.mojo` or of a name that the file only imports itself.
Programs around the library (tests, examples, fuzz targets, benchmarks) may use
the package fronts.
"""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mojo_source import Import, Problem, Source, conclude, mojo_files

ROOT = Path(__file__).resolve().parent.parent
AROUND = ("tests", "examples", "fuzz", "bench", "tools")
PACKAGES = ("flare", "tests", "fuzz", "bench")
LIST = Path("tools/layers.toml")


@dataclass
class Layers:
    """What `layers.toml` says."""

    allowed: dict[str, list[str]]
    fronts: list[str]
    exceptions: set[tuple[str, str]]

    @classmethod
    def read(cls, path: Path) -> "Layers":
        """Reads the table; an exception without a reason is refused."""
        table = tomllib.loads(path.read_text())
        exceptions = set()
        for entry in table.get("exception", []):
            if not entry.get("reason"):
                sys.exit(f"{path}: an exception needs a reason")
            exceptions.add((entry["from"], entry["to"]))
        allowed = {row["package"]: row["imports"] for row in table["layer"]}
        return cls(allowed, table["fronts"]["packages"], exceptions)

    def package_of(self, path: Path) -> str | None:
        """Names the listed package that a file belongs to."""
        for folder in path.parents:
            if folder.as_posix() in self.allowed:
                return folder.as_posix()
        return None

    def permits(self, source: Path, target: Path) -> bool:
        """Tells whether one file may import another."""
        if (source.as_posix(), target.as_posix()) in self.exceptions:
            return True
        above, below = self.package_of(source), self.package_of(target)
        if above is None or below is None:
            return False
        return above == below or below in self.allowed[above]


class Graph:
    """The files of one tree and what they import from each other."""

    def __init__(self, root: Path) -> None:
        self.layers = Layers.read(root / "tools" / "layers.toml")
        paths = mojo_files(root, "flare", *AROUND)
        self.sources = {path: Source.read(root, path) for path in paths}
        self.edges: dict[Path, dict[Path, int]] = {path: {} for path in paths}
        self.problems: list[Problem] = []

    def check(self) -> list[Problem]:
        """Looks at every import, then at the graph they make."""
        for source in self.sources.values():
            for entry in source.imports:
                self._check_import(source, entry)
        self._check_cycles()
        self._check_list()
        return self.problems

    def _check_import(self, source: Source, entry: Import) -> None:
        def refuse(message: str) -> None:
            self.problems.append(Problem(source.path, entry.line, message))

        if entry.indent:
            refuse("import inside a function; move it to the top of the file")
        if entry.module.startswith(".") and source.text.startswith(MADE):
            return
        if entry.module.startswith("."):
            refuse(f"relative import; write `from {_absolute(source, entry)}`")
            return
        if entry.module.split(".")[0] not in PACKAGES:
            return
        inside = source.path.parts[0] == "flare"
        if inside and entry.module.split(".")[0] != "flare":
            refuse(
                f"the library imports {entry.module}, which is not part of it"
            )
            return
        if not entry.names:
            refuse("whole-module import; write `from module import Name`")
            return
        file, front = self._resolve(entry.module)
        if file in self.sources:
            self._check_file(source, entry, file)
        elif front not in self.sources:
            refuse(f"no module {entry.module}")
        elif inside and source.path.name != "__init__.mojo":
            refuse(f"import through {front}; import from the defining file")
        else:
            self._check_front(source, entry, front)

    @staticmethod
    def _resolve(module: str) -> tuple[Path, Path]:
        base = Path(*module.split("."))
        return base.with_suffix(".mojo"), base / "__init__.mojo"

    def _check_file(self, source: Source, entry: Import, file: Path) -> None:
        target = self.sources[file]
        self.edges[source.path].setdefault(file, entry.line)
        for name in entry.names:
            # An extension is no name: `*` is how its methods are imported.
            if name in target.defined or (
                name == "*" and "__extension " in target.text
            ):
                continue
            message = f"{file} does not define {name}"
            if name in target.imported:
                message += "; import it from the file that does"
            self.problems.append(Problem(source.path, entry.line, message))
        if source.path.parts[0] != "flare":
            return
        if source.path.name == "__init__.mojo":
            self._check_front_file(source, entry)
        elif not self.layers.permits(source.path, file):
            above = self.layers.package_of(source.path)
            below = self.layers.package_of(file)
            message = f"upward edge: {above} may not import {below}"
            message += "; move the shared type down (tools/layers.toml)"
            self.problems.append(Problem(source.path, entry.line, message))

    def _check_front_file(self, source: Source, entry: Import) -> None:
        package = source.path.parent.as_posix()
        if package not in self.layers.fronts:
            message = f"{package} is no package front; leave its file empty"
            self.problems.append(Problem(source.path, entry.line, message))

    def _check_front(self, source: Source, entry: Import, front: Path) -> None:
        if front.parts[0] == "flare":
            if front.parent.as_posix() not in self.layers.fronts:
                message = f"{front.parent} is no package front"
                self.problems.append(Problem(source.path, entry.line, message))
        target = self.sources[front]
        for name in entry.names:
            if name in target.defined | target.imported:
                continue
            if (front.parent / f"{name}.mojo") in self.sources:
                message = f"import of the module {name}; name what it defines"
            else:
                message = f"{front} has no {name}"
            self.problems.append(Problem(source.path, entry.line, message))

    def _check_list(self) -> None:
        """Reports what the list allows and nobody needs, and what is out of order."""
        used: set[tuple[str | None, str | None]] = set()
        for source, targets in self.edges.items():
            above = self.layers.package_of(source)
            used |= {(above, self.layers.package_of(file)) for file in targets}
        packages = list(self.layers.allowed)
        for above, allowed in self.layers.allowed.items():
            for below in allowed:
                if below in packages and packages.index(below) > packages.index(above):
                    message = f"{above} stands before {below}, which it imports"
                elif (above, below) not in used:
                    message = f"{above} imports nothing of {below}; take it off the list"
                else:
                    continue
                self.problems.append(Problem(LIST, 0, message))

    def _check_cycles(self) -> None:
        """Reports each import that closes a ring of files, once."""
        state: dict[Path, int] = {}
        trail: list[Path] = []

        def visit(path: Path) -> None:
            state[path] = 1
            trail.append(path)
            for target, line in self.edges[path].items():
                if state.get(target) == 1:
                    ring = trail[trail.index(target) :] + [target]
                    names = " -> ".join(str(step) for step in ring)
                    message = f"cycle: {names}; move what they share down"
                    self.problems.append(Problem(path, line, message))
                elif target not in state:
                    visit(target)
            trail.pop()
            state[path] = 2

        for path in self.sources:
            if path not in state:
                visit(path)


# What `flare proto` makes stands anywhere, so its modules name each other so.
MADE = "# Made by `flare proto` of "


def _absolute(source: Source, entry: Import) -> str:
    """Spells a relative import's module from the root."""
    dots = len(entry.module) - len(entry.module.lstrip("."))
    folder = source.path.parts[: len(source.path.parts) - dots]
    return ".".join([*folder, entry.module.lstrip(".")])


def problems(root: Path) -> list[str]:
    """Checks one tree."""
    return [str(problem) for problem in Graph(root).check()]


if __name__ == "__main__":
    sys.exit(conclude("layers", problems(ROOT)))
