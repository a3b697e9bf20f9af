"""`flare doctor`: looks for what would keep programs from being built or served."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mojo_flare import checks, terminal, toolchain
from mojo_flare.checks import Finding, Level
from mojo_flare.outcome import CommandError, ExitCode

_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def doctor(
    port: Annotated[
        list[int] | None,
        typer.Option(
            "--port", "-p", min=1, max=65_535, help="Look whether this port is free, too."
        ),
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option(
            "-I", metavar="DIR", help="A folder that programs are built with, too."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 1 for warnings, too.")
    ] = False,
) -> None:
    """Look for what keeps programs from being built or served, and say what helps.

    Compiler and library, the C compiler that links, room for temporary files, OpenSSL,
    zlib, brotli and zstd, the limit of descriptors, and other packages that
    `import flare` would find: in the working directory, in the compiler's library
    folder, by -I. Ends with 1 if there is a problem; a warning is about what only some
    programs need.

    [bold]Examples[/bold]

      flare doctor

      flare doctor --port 8080 -I ../shared
    """
    found = examine(port or [], include or [])
    show(found)
    levels = {finding.level for finding in found}
    if Level.PROBLEM in levels or (strict and Level.WARNING in levels):
        raise typer.Exit(ExitCode.FAILED)


def examine(ports: list[int], folders: list[Path]) -> list[Finding]:
    """Makes all checks; those of the library need a compiler."""
    found = checks.check_folders(folders)
    try:
        installed = toolchain.find()
    except CommandError as error:
        found.append(checks.problem("compiler", error.message, error.remedy))
    else:
        path = os.environ.get(checks.IMPORT_PATH)
        found += checks.check_compiler(installed)
        try:
            version = checks.installed_version()
            found += checks.check_library(installed, version)
            found += checks.check_clashes(installed, [Path.cwd(), *folders])
            found += checks.check_import_path(installed, path)
        except CommandError as error:
            found.append(checks.problem("library", error.message, error.remedy))
    found += checks.check_temporary_files()
    found += checks.check_linker()
    found += checks.check_openssl()
    for library in checks.SYSTEM_LIBRARIES:
        found += checks.check_library_loads(library)
    found += checks.check_descriptors()
    for port in ports:
        found += checks.check_port(port)
    return found


def show(found: list[Finding]) -> None:
    """Prints a table on a terminal, and a line for each finding elsewhere."""
    if not terminal.out.is_terminal:
        for finding in found:
            remedy = f"\t{finding.remedy}" if finding.remedy else ""
            typer.echo(
                f"{finding.level.value}\t{finding.subject}\t{finding.text}{remedy}"
            )
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in found:
        level = Text(finding.level.value, style=_STYLES[finding.level])
        table.add_row(level, Text(finding.subject), Text(finding.text))
        if finding.remedy:
            table.add_row("", "", Text(f"-> {finding.remedy}"))
    terminal.out.print(table)
