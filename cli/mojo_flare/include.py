"""`-I`: folders of packages that a program imports beside the library."""

from pathlib import Path
from typing import Annotated

import typer

from mojo_flare.outcome import CommandError

Include = Annotated[
    list[Path] | None,
    typer.Option(
        "--include",
        "-I",
        metavar="DIR",
        help="Look for packages in this folder, too; may be repeated.",
    ),
]


def checked(folders: list[Path] | None) -> tuple[Path, ...]:
    """Gives the folders; each must be one."""
    for folder in folders or []:
        if not folder.is_dir():
            raise CommandError(
                f"-I {folder} is no folder",
                "name the folder that holds packages, not a package itself",
            )
    return tuple(folders or ())


def options(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """What the compiler is told; it belongs behind what the library needs."""
    return tuple(word for folder in folders for word in ("-I", str(folder)))
