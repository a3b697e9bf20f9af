"""`flare dev`: the command line of a session."""

from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import include, project, toolchain
from mojo_flare.dev.guess import guess_addresses, parse_address
from mojo_flare.dev.session import Settings, run_session
from mojo_flare.include import Include
from mojo_flare.outcome import CommandError

PAGE_PORT = 7007


def dev(
    file: Annotated[
        Path | None,
        typer.Argument(help="The program's file.", show_default="main.mojo"),
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the program.")
    ] = None,
    watch: Annotated[
        list[Path] | None,
        typer.Option(
            "--watch",
            "-w",
            metavar="DIR",
            help="Watch the Mojo files below this folder, too.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the page answers before the first build.",
            show_default="as the source or its settings name it",
        ),
    ] = None,
    page_port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help="The port of the page with state and errors."),
    ] = PAGE_PORT,
    ready_timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="How long a new version may take before it serves.",
        ),
    ] = 30.0,
    includes: Include = None,
) -> None:
    """Run a program, and replace it whenever one of its files changes.

    The running version answers until the new one is built and serves; no
    request is lost. Errors of the compiler are shown here and in the browser.
    A page of your own shows them over itself, and is loaded anew after a
    change, with this line in it:

      <script src="http://127.0.0.1:7007/__flare/overlay.js"></script>

    [bold]Examples[/bold]

      flare dev

      flare dev server.mojo --watch ../shared

      flare dev -I ../shared

      flare dev --address 127.0.0.1:8080 server.mojo 8080
    """
    source = project.source_file(file, "dev")
    packages = include.checked(includes)
    settings = Settings(
        source=source,
        folders=_folders(source, [*(watch or []), *packages]),
        arguments=arguments or [],
        addresses=guess_addresses(source, arguments or []),
        includes=packages,
        page_port=page_port,
        ready_s=ready_timeout,
    )
    if address is not None:
        given = parse_address(address)
        if given is None or given[1] == 0:
            raise CommandError(
                f"--address {address} is no IP address with a port",
                "write it as 127.0.0.1:8080 or [::1]:8080",
            )
        settings.addresses = [given]
    run_session(settings, toolchain.find())


def _folders(source: Path, more: list[Path]) -> list[Path]:
    """Gives the folders to watch; each must be one."""
    for folder in more:
        if not folder.is_dir():
            raise CommandError(
                f"--watch {folder} is no folder", "name a folder with Mojo files"
            )
    return [source.resolve().parent, *(folder.resolve() for folder in more)]
