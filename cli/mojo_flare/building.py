"""Builds programs for all commands, and shows what the compiler says of them."""

import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from mojo_flare import instantiation, project, terminal
from mojo_flare.outcome import CommandError, ExitCode
from mojo_flare.toolchain import Toolchain

_RELEASE_CPUS = {"x86_64": "x86-64-v3", "aarch64": "generic", "arm64": "apple-m1"}
"""The oldest CPU that a release runs on: those of the last ten years."""
_PLACE = re.compile(r"^(?P<path>[^\s:][^:]*\.mojo):(?P<place>\d+:\d+): ")
_KINDS = {"error": "bold red", "warning": "bold yellow", "note": "cyan"}
_KIND = re.compile(r"\b(error|warning|note): ")
# The compiler's own summary, and the programs that we write ourselves.
_NOISE = re.compile(
    r"failed to parse the provided Mojo source module"
    r"|^\S*mojo: error: failed to run the pass manager"
    rf"|^Imported from \S*{re.escape(project.WORK_FOLDER)}/"
)


@dataclass(frozen=True)
class Program:
    """What is built, into what, and how."""

    source: Path
    output: Path
    options: tuple[str, ...] = ()
    whole: bool = False
    """Whether the library is compiled with it."""
    includes: tuple[Path, ...] = ()
    """Folders of packages that it imports, beside its own and the library."""


def release_options(cpu: str | None) -> tuple[str, ...]:
    """Gives the options of a build for other machines than this one."""
    chosen = cpu or _RELEASE_CPUS.get(platform.machine())
    target = ("--target-cpu", chosen) if chosen else ()
    return (*target, "-Xlinker", "-s") if sys.platform == "linux" else target


def build(
    toolchain: Toolchain,
    program: Program,
    name: str = "",
    doing: tuple[str, str] = ("building", "built"),
) -> None:
    """Builds a program with progress; errors and warnings are shown.

    Args:
        toolchain: Builds it.
        program: What is built.
        name: What it is to the user, if not its file.
        doing: What is said to be going on, and to have been done.
    """
    what = name or str(program.source)
    # With a progress of its own.
    made = None if program.whole else toolchain.object_for(program.options)
    with terminal.progress(f"{doing[0]} {what}") as done:
        result = toolchain.build(
            program.source,
            program.output,
            *program.options,
            made=made,
            includes=program.includes,
        )
        if result.returncode == 0:
            done(f"{doing[1]} {what}")
    said = instantiation.shortened(result.stdout, toolchain)
    show_diagnostics(said)
    if result.returncode:
        raise CommandError(
            f"{what} cannot be built: {error_count(said)}",
            code=ExitCode.DOES_NOT_COMPILE,
        )


def build_if_changed(toolchain: Toolchain, program: Program, name: str = "") -> None:
    """Builds a program unless neither it nor the library has changed since."""
    stamp = program.output.with_suffix(".inputs")
    folders = [program.source.resolve().parent, toolchain.flare, *program.includes]
    kind = "whole" if program.whole else "with the object"
    places = map(str, (program.source, toolchain.root, *program.includes))
    words = (*places, kind, *program.options)
    wanted = project.fingerprint(folders, *words)
    if wanted and program.output.exists() and stamp.exists():
        if stamp.read_text() == wanted:
            return
    stamp.unlink(missing_ok=True)
    build(toolchain, program, name)
    if wanted:
        stamp.write_text(wanted)


def show_diagnostics(said: str) -> None:
    """Prints what the compiler says, with paths as the user would write them."""
    for line in lines_with_short_paths(said):
        if not _NOISE.search(line):
            terminal.err.print(_coloured(line))


def lines_with_short_paths(said: str) -> list[str]:
    """Writes the places that the compiler names as they are seen from here. What else a
    line has stays, as that of a source does, below which marks stand."""
    here = re.compile(rf"^((?:Included|Imported) from )?{re.escape(str(Path.cwd()))}/")
    return [here.sub(lambda found: found[1] or "", line) for line in said.splitlines()]


def error_count(said: str) -> str:
    """Says how many errors the compiler has told of."""
    lines = [x for x in said.splitlines() if not _NOISE.search(x)]
    count = sum(": error: " in line for line in lines)
    return "1 error" if count == 1 else f"{count} errors" if count else "see above"


def _coloured(line: str) -> Text:
    text = Text(line)
    place = _PLACE.match(line)
    kind = _KIND.search(line, place.end() if place else 0)
    if place and kind:
        text.stylize("bold", 0, place.end())
        text.stylize(_KINDS[kind[1]], kind.start(), kind.end() - 1)
    return text
