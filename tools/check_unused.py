"""Checks that all code is used: files, names that are imported, names that are defined.

Names are compared as words, wherever they stand: a name that something else has
too is taken for used. So all that is found is really unused, but not all that is
unused is found.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from check_style import FOLDERS
from mojo_source import DEFINITION, Problem, Source, conclude, mojo_files

ROOT = Path(__file__).resolve().parent.parent
WORD = re.compile(r"[A-Za-z_]\w*")
# The names by which others find what a file has.
FRONT = "__init__.mojo"
TEMPLATES = Path("cli/mojo_flare/templates")
LOAD = Path("cli/mojo_flare/bench/load")
# What `flare routes` asks the main file of a project for.
ROUTES = "routes"


def _words(source: Source) -> Counter[str]:
    """Counts the words of a file's code outside its imports."""
    skipped = {n for e in source.imports for n in range(e.line, e.end_line + 1)}
    words: Counter[str] = Counter()
    for number, line in enumerate(source.code, 1):
        if number not in skipped:
            words.update(WORD.findall(line))
    return words


def unused_imports(source: Source, words: Counter[str]) -> Iterator[Problem]:
    """Asks that a file uses each name that it imports among its words; a front gives
    them on."""
    if source.path.name == FRONT:
        return
    for entry in source.imports:
        for name in entry.local_names:
            is_asked = name == ROUTES and source.path.is_relative_to(TEMPLATES)
            if name != "*" and not is_asked and name not in words:
                yield Problem(
                    source.path,
                    entry.line,
                    f"`{name}` is imported and not used; drop it",
                )


def unused_names(
    sources: list[Source], words: list[Counter[str]]
) -> Iterator[Problem]:
    """Asks that something uses each name that a file of the library defines: a
    front that gives it on, code beside its definition, or a test."""
    used: Counter[str] = Counter()
    for source, own in zip(sources, words, strict=True):
        used.update(own)
        for entry in source.imports:
            # A front gives all on; what has another name here is used by that name.
            pairs = zip(entry.names, entry.local_names, strict=True)
            is_front = source.path.name == FRONT
            used.update(n for n, local in pairs if is_front or n != local)
    for source in sources:
        if source.path.parts[0] != "flare":
            continue
        code = "\n".join(source.code)
        for found in DEFINITION.finditer(code):
            if used[found["name"]] == 1:
                yield Problem(
                    source.path,
                    code.count("\n", 0, found.start()) + 1,
                    f"nothing uses `{found['name']}`; use it or drop it",
                )


def unused_files(sources: list[Source]) -> Iterator[Problem]:
    """Asks that every file is imported by another, one of the library by another of
    the library or a program: what only tests call is dead code."""
    imported: dict[str, set[Path]] = {}
    for source in sources:
        for entry in source.imports:
            module = _module_of(source.path, entry.module)
            imported.setdefault(module, set()).add(source.path)
    for source in sources:
        path = source.path
        if path.name == FRONT:
            continue
        module = ".".join(path.with_suffix("").parts)
        if path.stem.startswith("test_") or _is_root(source):
            continue
        users = imported.get(module, set())
        if path.parts[0] == "flare":
            users = {user for user in users if user.parts[0] != "tests"}
        if not users:
            yield Problem(
                path, 1, "no file imports this one; use it or drop it"
            )


def _module_of(path: Path, module: str) -> str:
    """Names an imported module from the repository's root: a template of a
    project is a root of its own, a dot stands for the file's folder, and a
    program that is shipped imports what lies beside it by its bare name."""
    if path.is_relative_to(LOAD) and "." not in module:
        return ".".join((*path.parent.parts, module))
    if module.startswith("."):
        return ".".join((*path.parent.parts, module[1:]))
    if path.is_relative_to(TEMPLATES) and not module.startswith(("flare", "std")):
        return ".".join((*path.parts[: len(TEMPLATES.parts) + 1], module))
    return module


def _is_root(source: Source) -> bool:
    """Tells a program, or an object that one is linked to, from a module."""
    return any(f.name == "main" for f in source.functions) or any(
        line.startswith("@export(") for line in source.lines
    )


def problems(root: Path) -> list[str]:
    """Checks one tree."""
    sources = [Source.read(root, path) for path in mojo_files(root, *FOLDERS)]
    found: list[Problem] = []
    words = [_words(source) for source in sources]
    for source, own in zip(sources, words, strict=True):
        found += unused_imports(source, own)
    found += unused_names(sources, words)
    found += unused_files(sources)
    return [str(problem) for problem in found]


if __name__ == "__main__":
    sys.exit(conclude("unused", problems(ROOT)))
