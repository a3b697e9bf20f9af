"""The Mojo compiler as the other tools call it."""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
MOJO = ROOT / ".venv" / "bin" / "mojo"
MBLACK = ROOT / ".venv" / "bin" / "mblack"
# What the command keeps for itself, it keeps here for all tests.
CACHE = BUILD / "cache"
OBJECTS = CACHE / "flare" / "objects"

sys.path.insert(0, str(ROOT / "cli"))

from mojo_flare.compiler import Compiler  # noqa: E402
from mojo_flare.object import store  # noqa: E402
from mojo_flare.object.library import Library  # noqa: E402, F401
from mojo_flare.object.source import Module, without_docs  # noqa: E402, F401
from mojo_flare.object.store import Recipe  # noqa: E402
from mojo_flare.outcome import CommandError  # noqa: E402


def environment() -> dict[str, str]:
    return {**os.environ, "MODULAR_TELEMETRY_ENABLED": "0"}


COMPILER = Compiler(MOJO, environment())
ASAN_OPTIONS = ("--sanitize", "address", "-g1")
# An empty list literal of octets has an address that the sanitizer's call for
# marking spare room refuses, so that marking is off; leaks and heap are watched.
ASAN_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_container_overflow=0",
    # What is kept by intent is no news at the end of a program.
    "LSAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'asan_kept.txt'}"
    ":print_suppressions=0",
}


def asan_options(folder: Path) -> list[str]:
    """Gives the options for a program that AddressSanitizer watches from its start,
    with what is linked to it, which is made in a folder."""
    source = ROOT / "tools" / "asan_start.c"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    start = folder / f"asan_start-{digest}.o"
    start.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-c", str(source), "-o", str(start)], check=True)
    return [*ASAN_OPTIONS, "-Xlinker", str(start)]


def make_messages(protos: list[Path], folders: list[Path], out: Path) -> None:
    """Makes modules of `.proto` files, which import each other by their paths below
    some folders, in a folder."""
    found = [option for folder in folders for option in ("-I", str(folder))]
    subprocess.run(
        [
            *(sys.executable, "-m", "mojo_flare", "proto", *found),
            *(*map(str, protos), "--out", str(out)),
        ],
        env={**environment(), "PYTHONPATH": str(ROOT / "cli")},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def mojo(*arguments: str, timeout_s: int = 2700) -> subprocess.CompletedProcess:
    """Runs the compiler in the project's root and captures what it says. The longest run
    takes six minutes on a quiet machine, and fifteen beside others."""
    return COMPILER.call(*arguments, folder=ROOT, timeout_s=timeout_s)


def build(
    source: Path,
    output: Path,
    *options: str,
    whole: bool = True,
    recipe: Recipe | None = None,
) -> subprocess.CompletedProcess:
    """Builds a program against the library in this tree: compiled with it, or
    once for all programs, by a recipe or as for this machine."""
    output.parent.mkdir(parents=True, exist_ok=True)
    found = ("-I", str(ROOT))
    if not whole and sys.platform == "linux":
        # The interface stands before the sources: what is no part of it, such
        # as modules of tests, is found behind.
        found = (*flare_object(recipe).options, *found)
    # Programs are built two at a time, each by one thread: more threads of one
    # compiler take up to twice the time in all.
    return mojo(
        "build", "-j", "1", *found, *options, str(source), "-o", str(output)
    )


def interface_options() -> tuple[str, ...]:
    """Where modules that are checked, and not built, find the library: its interface
    where there are objects, else its sources."""
    sources = ("-I", str(ROOT))
    if sys.platform != "linux":
        return sources
    return ("-I", str(flare_object().include), *sources)


@contextmanager
def alone(output: Path) -> Iterator[None]:
    """Keeps other processes from making the same file meanwhile."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.with_name(f"{output.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def objects() -> store.Store:
    """The objects of this tree's library."""
    return store.Store(COMPILER, ROOT, OBJECTS)


def found_object() -> store.FlareObject | None:
    """Finds the object for this machine, if it was made."""
    return objects().find(store.recipe_of(()))


def flare_object(recipe: Recipe | None = None) -> store.FlareObject:
    """Finds the object by a recipe, or for this machine, or makes it, which takes
    minutes; where that fails, it is not tried for each test again."""
    found = _flare_object(recipe or store.recipe_of(()))
    if isinstance(found, Exception):
        raise found
    return found


@cache
def _flare_object(recipe: Recipe) -> store.FlareObject | Exception:
    try:
        return objects().find_or_make(recipe, tell_part)
    except CommandError as error:
        return error


def tell_part(what: str) -> None:
    print(f"  object: {what}", flush=True)


def mojo_sources(*folders: str) -> list[Path]:
    """Lists the Mojo files below some folders of the project, in order."""
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.mojo")
    )
