"""`flare run`: builds a program and becomes it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import building, include, project, toolchain
from mojo_flare.building import Program
from mojo_flare.include import Include


def run(
    file: Annotated[
        Path | None,
        typer.Argument(help="The program's file.", show_default="main.mojo"),
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the program.")
    ] = None,
    includes: Include = None,
) -> None:
    """Build a program and run it.

    A program that has not changed is not built again. The exit code is the
    program's own; if it does not compile, 4.

    [bold]Examples[/bold]

      flare run

      flare run tools/load.mojo --users 100

      flare run -I ../shared
    """
    source = project.source_file(file, "run")
    found = toolchain.find()
    folder = project.work_folder(source.parent)
    output = folder / "run" / source.stem
    program = Program(source, output, includes=include.checked(includes))
    building.build_if_changed(found, program)
    os.execv(program.output, [str(program.output), *(arguments or [])])
