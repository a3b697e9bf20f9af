"""Builds several programs as one, which runs the one by whose name it is called.

Mojo compiles the library anew for each program, so that many small ones cost
minutes; together they cost little more than the largest.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from report import Report
from toolchain import Recipe, build

MAIN = re.compile(r"^def main\(", re.MULTILINE)


def shares(files: Iterable[Path], count: int) -> list[list[Path]]:
    """Shares files out so that the shares have about the same length."""
    found: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path in sorted(files, key=lambda p: -p.stat().st_size):
        smallest = sizes.index(min(sizes))
        found[smallest].append(path)
        sizes[smallest] += path.stat().st_size
    return [share for share in found if share]


def write_modules(main: Path, programs: dict[str, str]) -> str:
    """Writes programs, texts by name, as modules beside a main; gives the imports of
    their mains as `run_0` and so on.

    Lines keep their numbers, so that an error of the compiler points into the
    text it came from.
    """
    package = main.with_name(f"{main.stem}_modules")
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    (package / "__init__.mojo").touch()
    imports = []
    for number, (name, text) in enumerate(programs.items()):
        # A module of a package has no `main`.
        (package / f"{name}.mojo").write_text(MAIN.sub("def run_main(", text))
        imports.append(
            f"from {package.name}.`{name}` import run_main as run_{number}\n"
        )
    return "".join(imports)


def write_together(main: Path, programs: dict[str, str]) -> None:
    """Writes programs, texts by name, as modules that one main calls: a file calls
    the program whose name its own begins with, up to a hyphen."""
    calls = [
        f'    if called == "{name}":\n        return run_{number}()\n'
        for number, name in enumerate(programs)
    ]
    main.write_text(
        "from std.sys import argv\n"
        + write_modules(main, programs)
        + "\n\ndef main() raises:\n    var path = String(argv()[0])\n"
        + '    var start = path.rfind("/") + 1\n'
        + '    var called = String(path[byte=start:]).split("-")[0]\n'
        + "".join(calls)
        + '    raise Error("no program of this file has the name ", called)\n'
    )


def write_roots(main: Path, programs: dict[str, str]) -> None:
    """Writes programs, texts by name, as modules that are compiled each for itself:
    what is wrong with one is said beside what is wrong with others, behind a line
    with the name of its root (`root_0` and so on)."""
    roots = [
        f'\n\n@export\ndef root_{number}() abi("C") -> Int32:\n'
        f"    try:\n        run_{number}()\n        return 0\n"
        "    except:\n        return 1\n"
        for number in range(len(programs))
    ]
    main.write_text(
        write_modules(main, programs)
        + "".join(roots)
        + "\n\ndef main():\n    pass\n"
    )


def build_together(
    programs: dict[Path, Path],
    together: Path,
    *options: str,
    whole: bool = True,
    recipe: Recipe | None = None,
) -> subprocess.CompletedProcess:
    """Builds programs, sources by the paths they shall have, as one file, which
    gets those paths too; `whole` and `recipe` are those of `build`."""
    for path in programs:
        path.unlink(missing_ok=True)
    main = together.with_suffix(".mojo")
    texts = {source.stem: source.read_text() for source in programs.values()}
    write_together(main, texts)
    result = build(main, together, *options, whole=whole, recipe=recipe)
    if result.returncode == 0:
        for path in programs:
            os.link(together, path)
    return result


def build_and_run(
    what: str,
    sources: list[Path],
    folder: Path,
    run: Callable[[Path], None],
    report: Report,
    whole: bool = True,
) -> None:
    """Builds programs as one, as the files of `folder` with their names, and calls
    `run` with the source of each, two at a time."""
    programs = {folder / source.stem: source for source in sources}
    print(f"  {what}: building", flush=True)
    began = time.monotonic()
    result = build_together(programs, folder / "together", whole=whole)
    report.timed(f"build of {what}", time.monotonic() - began)
    if result.returncode:
        report.fail(f"build of {what}", result.stdout[-4000:])
        return
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, sources))
