"""`flare check`: what the compiler says of a program, and nothing else."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import building, include, project, toolchain
from mojo_flare.building import Program
from mojo_flare.include import Include


def check(
    file: Annotated[
        Path | None,
        typer.Argument(help="The program's file.", show_default="main.mojo"),
    ] = None,
    includes: Include = None,
) -> None:
    """Report what is wrong with a program, and leave nothing behind.

    Names and types that do not fit are told at once. Handlers that have not the
    form of one, and what else generic code refuses, follow when it is generated,
    which takes as long as a build.

    [bold]Examples[/bold]

      flare check

      flare check tools/load.mojo
    """
    source = project.source_file(file, "check")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "checked.o"
        found = include.checked(includes)
        program = Program(source, output, ("--emit", "object"), includes=found)
        building.build(toolchain.find(), program, doing=("checking", "checked"))
