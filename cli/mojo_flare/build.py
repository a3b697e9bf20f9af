"""`flare build`: a program for this machine, a release, or a bundle for others."""

from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import building, bundle, include, project, terminal, toolchain
from mojo_flare.building import Program
from mojo_flare.include import Include
from mojo_flare.outcome import CommandError


def build(
    file: Annotated[
        Path | None,
        typer.Argument(help="The program's file.", show_default="main.mojo"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The binary.", show_default="the file's name"
        ),
    ] = None,
    release: Annotated[
        bool,
        typer.Option(
            "--release",
            help="For other machines: an older CPU than this one's, no symbols.",
        ),
    ] = False,
    target_cpu: Annotated[
        str | None,
        typer.Option(
            "--target-cpu",
            metavar="CPU",
            help="The oldest CPU that must run it.",
            show_default="this machine's; a release's x86-64-v3",
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Compile the library with the program; see flare object.",
        ),
    ] = False,
    bundle_folder: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="DIR",
            help="Put a release and the libraries it needs into a new folder.",
        ),
    ] = None,
    includes: Include = None,
) -> None:
    """Build a program.

    A bundle runs where there is no Mojo: it holds the binary and a folder lib
    beside it. OpenSSL, zlib, brotli and zstd are the system's; they are loaded
    only by programs that use TLS or content codings.

    [bold]Examples[/bold]

      flare build

      flare build server.mojo --release -o bin/server

      flare build --target-cpu x86-64-v2 --bundle dist
    """
    source = project.source_file(file, "build")
    folders = include.checked(includes)
    found = toolchain.find()
    if bundle_folder is None:
        binary = output or Path(source.stem)
        project.check_output(binary)
        chosen = _options(release, target_cpu)
        building.build(found, Program(source, binary, chosen, whole, folders))
        return
    name = _bundled_name(source, output)
    folder = bundle.new_folder(bundle_folder)
    options = _options(True, target_cpu)
    building.build(found, Program(source, folder / name, options, whole, folders))
    bundle.complete(folder / name, found.libraries)
    _tell(folder, folder / name)


def _options(release: bool, cpu: str | None) -> tuple[str, ...]:
    if release:
        return building.release_options(cpu)
    return ("--target-cpu", cpu) if cpu else ()


def _bundled_name(source: Path, output: Path | None) -> str:
    """Names a bundled binary: `main` would say nothing, so the project does."""
    if output is not None:
        if output.name != str(output):
            raise CommandError(
                f"-o {output} has a folder, but the bundle's is given by --bundle",
                f"write -o {output.name}",
            )
        return output.name
    if source.name == project.MAIN.name:
        return source.resolve().parent.name
    return source.stem


def _tell(folder: Path, binary: Path) -> None:
    """Prints what is in a bundle and how large it is."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files.sort(key=lambda path: path != binary)
    for path in files:
        size = terminal.octets(path.stat().st_size)
        terminal.out.print(f"{size:>10}  {path}")
    total = sum(path.stat().st_size for path in files)
    terminal.out.print(f"{terminal.octets(total):>10}  in all; run {binary}")
