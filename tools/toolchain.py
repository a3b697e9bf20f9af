"""The Mojo compiler as the other tools call it."""

import os
import subprocess
import sys
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


def environment() -> dict[str, str]:
    return {**os.environ, "MODULAR_TELEMETRY_ENABLED": "0"}


COMPILER = Compiler(MOJO, environment())


def mojo(*arguments: str, timeout_s: int = 900) -> subprocess.CompletedProcess:
    """Runs the compiler in the project's root and captures what it says."""
    return COMPILER.call(*arguments, folder=ROOT, timeout_s=timeout_s)


def build(
    source: Path, output: Path, *options: str, whole: bool = True
) -> subprocess.CompletedProcess:
    """Builds a program against the library in this tree: compiled with it, or
    once for all programs."""
    output.parent.mkdir(parents=True, exist_ok=True)
    found = ("-I", str(ROOT))
    if not whole and sys.platform == "linux":
        # The interface stands before the sources: what is no part of it, such
        # as modules of tests, is found behind.
        found = (*flare_object().options, *found)
    # Programs are built two at a time, each by one thread: more threads of one
    # compiler take up to twice the time in all.
    return mojo(
        "build", "-j", "1", *found, *options, str(source), "-o", str(output)
    )


def objects() -> store.Store:
    """The objects of this tree's library."""
    return store.Store(COMPILER, ROOT, OBJECTS)


def found_object() -> store.FlareObject | None:
    """Finds the object for this machine, if it was made."""
    return objects().find(store.recipe_of(()))


@cache
def flare_object() -> store.FlareObject:
    """Finds the object for this machine, or makes it, which takes minutes."""
    return objects().find_or_make(store.recipe_of(()), tell_part)


def tell_part(what: str) -> None:
    print(f"  object: {what}", flush=True)


def mojo_sources(*folders: str) -> list[Path]:
    """Lists the Mojo files below some folders of the project, in order."""
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.mojo")
    )
