"""`flare run`: builds a program and becomes it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import building, project, toolchain
from mojo_flare.building import Program


def run(
    file: Annotated[
        Path | None,
        typer.Argument(help="The program's file.", show_default="main.mojo"),
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the program.")
    ] = None,
) -> None:
    """Build a program and run it.

    A program that has not changed is not built again. The exit code is the
    program's own; if it does not compile, 4.

    [bold]Examples[/bold]

      flare run

      flare run tools/load.mojo --users 100
    """
    source = project.source_file(file)
    found = toolchain.find()
    folder = project.work_folder(source.parent)
    program = Program(source, folder / "run" / source.stem)
    building.build_if_changed(found, program)
    os.execv(program.output, [str(program.output), *(arguments or [])])
