"""What lies in a user's folder: sources, and what the commands keep there."""

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from mojo_flare.outcome import CommandError

MAIN = Path("main.mojo")
"""What is built if no file is named."""
WORK_FOLDER = ".flare"
"""Holds what the commands build for themselves; it may be deleted any time."""
_SKIPPED = {"build", "node_modules", "venv", "__pycache__"}
_ENTRY_COUNT_MAX = 5_000


def source_file(named: Path | None, command: str) -> Path:
    """Gives the file that a command is about, or says why there is none."""
    path = named or MAIN
    if str(path).startswith("-"):
        raise CommandError(
            f"there is no option {path}",
            f"for the program, name its file first: flare {command} {MAIN} {path}",
        )
    if path.is_dir():
        if not (path / MAIN).exists():
            raise CommandError(f"there is no {MAIN} in the folder {path}")
        path = path / MAIN
    if not path.exists():
        remedy = f"name a file: flare {command} FILE.mojo" if named is None else ""
        if named is None:
            remedy += ", or begin a project: flare new NAME"
        raise CommandError(f"there is no file {path}", remedy)
    if not path.is_file():
        # A pipe would be waited for.
        raise CommandError(f"{path} is no ordinary file")
    if path.suffix != ".mojo":
        raise CommandError(
            f"{path} is no Mojo source", "the name of one ends in .mojo"
        )
    return path


def check_output(file: Path) -> None:
    """Makes the folder of a file that a command is to write, and sees that it can
    be written: before minutes are spent on what it is to hold."""
    if file.is_dir():
        raise CommandError(
            f"the output would be {file}, which is a folder", "name a file with -o"
        )
    if file.suffix == MAIN.suffix:
        # The binary would stand where the program was.
        raise CommandError(
            f"the output would be {file}, a Mojo source", "name another file with -o"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(file.parent, os.W_OK):
        raise CommandError(
            f"you may not write to the folder {file.parent}",
            "name a file elsewhere with -o",
        )


def work_folder(beside: Path) -> Path:
    """Makes the folder for what is built beside a source, unseen by git."""
    folder = beside / WORK_FOLDER
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder


def cache_folder() -> Path:
    """Gives the user's folder for what can be made again (XDG base directories).

    Raises:
        OSError: If the environment names none, and the user has no home.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored.
    if named.startswith("/"):
        return Path(named) / "flare"
    try:
        return Path.home() / ".cache" / "flare"
    except RuntimeError:
        raise OSError(
            errno.ENOENT,
            "the user has no home, and HOME is not set;"
            " name a folder with a full path in XDG_CACHE_HOME",
            "the folder of what is kept",
        ) from None


def fingerprint(folders: list[Path], *words: str) -> str | None:
    """Stands for the contents of all Mojo files of folders, and some words.

    Returns:
        A digest; nothing if there is more to look at than a project has, as
        below a home folder, or something that cannot be read.
    """
    digest = hashlib.sha256("\0".join(words).encode())
    try:
        for folder in folders:
            for path in _Walk(_ENTRY_COUNT_MAX).mojo_files(folder):
                content = path.read_bytes()
                name = path.relative_to(folder)
                digest.update(f"\0{name}\0{len(content)}\0".encode())
                digest.update(content)
    except (OSError, _TooMany):
        return None
    return digest.hexdigest()


def mojo_files(folder: Path) -> Iterator[Path]:
    """Lists the Mojo sources and packages below a folder, in order."""
    return _Walk(None).mojo_files(folder)


class _TooMany(Exception):
    pass


class _Walk:
    """Walks through folders, up to so many entries."""

    def __init__(self, entry_count_max: int | None) -> None:
        self._left = entry_count_max

    def mojo_files(self, folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if self._left is not None:
                self._left -= 1
                if self._left < 0:
                    raise _TooMany
            is_hidden = path.name.startswith(".") or path.name in _SKIPPED
            if path.is_dir() and not path.is_symlink():
                if not is_hidden:
                    yield from self.mojo_files(path)
            elif path.suffix in (".mojo", ".mojoc") and path.is_file():
                yield path
