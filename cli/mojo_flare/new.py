"""`flare new`: a project from a template."""

import re
import shutil
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import terminal, toolchain
from mojo_flare.outcome import CommandError

TEMPLATES = Path(__file__).resolve().parent / "templates"
# It names a folder, a program, a systemd unit and an image.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME_LEN_MAX = 40
# Programs of these names would be mistaken for others.
_TAKEN = {"flare", "main", "std", "test", "tests", "app", "mojo"}


class Template(str, Enum):
    """What a project can begin as."""

    HELLO = "hello"
    API = "api"
    REALTIME = "realtime"
    GATEWAY = "gateway"
    GRPC = "grpc"


def new(
    path: Annotated[
        Path,
        typer.Argument(metavar="NAME", help="The project's name: of a new folder."),
    ],
    template: Annotated[
        Template, typer.Option("--template", "-t", help="What it begins as.")
    ] = Template.HELLO,
) -> None:
    """Begin a project: a program with tests, and what runs it elsewhere.

    hello: a page and a route, the smallest thing that is tested and deployed.

    api: a JSON API with login, validation, and a page of its description.

    realtime: a page whose visitors talk by WebSocket, and a feed of events.

    gateway: stands before another service, with its own login and limits.

    grpc: a service of gRPC from a .proto file, with health and reflection.

    [bold]Examples[/bold]

      flare new hello-world

      flare new shop --template api
    """
    name = _checked_name(path)
    if path.exists() or path.is_symlink():
        raise CommandError(
            f"there is a {path} already", "nothing is overwritten; choose another name"
        )
    if not path.parent.is_dir():
        raise CommandError(
            f"there is no folder {path.parent}", f"mkdir -p {path.parent}"
        )
    words = {"name": name, "version": toolchain.library_version()}
    path.mkdir()
    try:
        for source in (TEMPLATES / "common", TEMPLATES / template.value):
            _copy(source, path, words)
    except BaseException:
        # Half a project would be in the way of the next attempt.
        shutil.rmtree(path, ignore_errors=True)
        raise
    _tell(path, template)


def _checked_name(path: Path) -> str:
    """Gives the project's name, or says what is wrong with it."""
    name = path.name or str(path)
    if not _NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} cannot be a project's name",
            "it is made of a-z, 0-9 and single hyphens, and begins with a letter:"
            " shop, order-service",
        )
    if len(name) > _NAME_LEN_MAX:
        raise CommandError(
            f"{name!r} has {len(name)} letters", f"at most {_NAME_LEN_MAX} can be used"
        )
    if name in _TAKEN:
        raise CommandError(
            f"{name!r} would be mistaken for something else",
            "choose another name; these are taken: " + ", ".join(sorted(_TAKEN)),
        )
    return name


def _copy(source: Path, target: Path, words: dict[str, str]) -> None:
    """Copies a template's files, with its words filled in.

    `dot-` in front of a name stands for a dot, which would hide it here, too.
    """
    for path in sorted(source.rglob("*")):
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        place = path.relative_to(source).as_posix()
        place = re.sub(r"(^|/)dot-", r"\1.", place)
        copy = target / _filled(place, words)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_filled(path.read_text(), words))
        shutil.copymode(path, copy)


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace("{{" + word + "}}", value)
    return text


def _tell(path: Path, template: Template) -> None:
    """Prints what was made, and what to do next."""
    files = sorted(x for x in path.rglob("*") if x.is_file())
    terminal.out.print(f"{path} is there, from the template {template.value}:\n")
    for file in files:
        terminal.out.print(f"  {file.relative_to(path)}")
    terminal.out.print(f"\n  cd {path}\n  flare test\n  flare run", style="bold")
