"""`flare routes` and `flare openapi`: the command lines."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from mojo_flare import include, project, terminal
from mojo_flare.describe.asking import ask
from mojo_flare.describe.handlers import Registration, handler_of, registrations
from mojo_flare.include import Include
from mojo_flare.outcome import CommandError, ExitCode

File = Annotated[
    Path | None, typer.Argument(help="The program's file.", show_default="main.mojo")
]


def routes(
    file: File = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of a table.")
    ] = False,
    includes: Include = None,
) -> None:
    """List the routes of a program.

    The file has a function [bold]def routes() raises -> Router[/bold]. It is
    built and asked; nothing listens. Names are those of operations, handlers
    those that the sources register. Elsewhere than on a terminal each route is
    a line with tabs between its columns.

    [bold]Examples[/bold]

      flare routes

      flare routes service.mojo --json
    """
    source = project.source_file(file, "routes")
    rows = json.loads(ask(source, include.checked(includes), "routes"))
    home = source.resolve().parent
    known = registrations(project.mojo_files(home), home)
    found = [handler_of(row["method"], row["pattern"], known) for row in rows]
    if as_json:
        for row, handler in zip(rows, found):
            row["handler"] = handler.handler if handler else ""
            row["place"] = handler.place if handler else ""
        terminal.out.print(json.dumps(rows, indent=2))
    elif terminal.out.is_terminal:
        terminal.out.print(_table(rows, found))
    else:
        for row, handler in zip(rows, found):
            typer.echo("\t".join(_cells(row, handler)))


def _cells(row: dict[str, str], handler: Registration | None) -> list[str]:
    return [
        row["method"],
        row["pattern"],
        row["name"] or (handler.handler if handler else ""),
        handler.place if handler else "",
        row["summary"],
    ]


def _table(rows: list[dict[str, str]], found: list[Registration | None]) -> Table:
    table = Table(box=None, pad_edge=False)
    cells = [_cells(row, handler) for row, handler in zip(rows, found)]
    names = ["method", "path", "handler", "source", "summary"]
    kept = [i for i in range(len(names)) if i < 2 or any(row[i] for row in cells)]
    for index in kept:
        table.add_column(names[index], style="bold" if index == 1 else "", overflow="fold")
    for row in cells:
        table.add_row(*(row[index] for index in kept))
    return table


def openapi(
    file: File = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file.", show_default="standard output"),
    ] = None,
    path: Annotated[
        str, typer.Option(help="Where the program serves its document.")
    ] = "/openapi.json",
    title: Annotated[
        str | None,
        typer.Option(
            help="The API's name, if the program serves no document.",
            show_default="the folder's name",
        ),
    ] = None,
    api_version: Annotated[
        str, typer.Option(help="The API's version, if the program serves no document.")
    ] = "0.1.0",
    includes: Include = None,
) -> None:
    """Write the OpenAPI document of a program.

    The file has a function [bold]def routes() raises -> Router[/bold]. If that
    calls add_api_docs, the document is the one that is served; otherwise it is
    made of the routes.

    [bold]Examples[/bold]

      flare openapi -o openapi.json

      flare openapi service.mojo --title Orders --api-version 2.1.0
    """
    source = project.source_file(file, "openapi")
    name = title or source.resolve().parent.name
    folders = include.checked(includes)
    if output is not None:
        project.check_output(output)
    text = ask(source, folders, "openapi", path, name, api_version)
    try:
        document = json.loads(text)
    except ValueError:
        raise CommandError(
            f"what {source} serves at {path} is no JSON",
            "name the path of its document with --path",
            ExitCode.FAILED,
        ) from None
    written = json.dumps(document, indent=2, ensure_ascii=False)
    if output is None:
        terminal.out.print(written)
    else:
        output.write_text(written + "\n", encoding="utf-8")
        terminal.say(f"wrote {output}")
