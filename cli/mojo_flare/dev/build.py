"""Builds of the program that can be given up, and what the compiler says."""

import asyncio
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from mojo_flare import include, instantiation
from mojo_flare.building import lines_with_short_paths
from mojo_flare.toolchain import Toolchain

# For a server that was compiled before; see flare/runtime/dev_handover.mojo.
_DEV_SYMBOL = ("-Xlinker", "--defsym=flare_dev_build=1")
DEV_OPTIONS = ("-D", "FLARE_DEV=1", *(_DEV_SYMBOL if sys.platform == "linux" else ()))
"""What makes the library take its listeners over, and hand them on."""

_HEAD = re.compile(r"^(?P<place>.+?:\d+:\d+): (?P<kind>error|warning|note): (?P<text>.*)")
# How the next one's file is reached, and what ends each list of errors.
_ASIDE = re.compile(r"^(Included|Imported) from |^\S*mojo: error: ")
_NOISE = re.compile(r"Crashpad")


@dataclass
class Diagnostic:
    """One thing that the compiler says of a place in a file."""

    place: str
    kind: str
    text: str
    excerpt: list[str] = field(default_factory=list)


@dataclass
class BuildResult:
    """What came of a build."""

    binary: Path | None
    said: str
    seconds: float


def diagnostics(said: str) -> list[Diagnostic]:
    """Reads what the compiler has said, each thing once; what stands before the
    first place is left out."""
    found: list[Diagnostic] = []
    for line in lines_with_short_paths(said):
        if match := _HEAD.match(line):
            found.append(Diagnostic(match["place"], match["kind"], match["text"]))
        elif found and not _ASIDE.match(line):
            found[-1].excerpt.append(line)
    return [each for index, each in enumerate(found) if each not in found[:index]]


class Builder:
    """Builds one program, again and again, each time to a file of its own."""

    def __init__(
        self,
        toolchain: Toolchain,
        source: Path,
        folder: Path,
        includes: tuple[Path, ...] = (),
    ) -> None:
        self._toolchain = toolchain
        self._source = source
        self._folder = folder
        self._includes = include.options(includes)
        self._count = 0

    async def build(self) -> BuildResult:
        """Builds; if the task is cancelled, the compiler is ended."""
        self._count += 1
        binary = self._folder / f"{self._source.stem}-{self._count}"
        began = asyncio.get_running_loop().time()
        made = await asyncio.to_thread(self._toolchain.object_for, ())
        process = await asyncio.create_subprocess_exec(
            str(self._toolchain.mojo),
            "build",
            *self._toolchain.options(made),
            *self._includes,
            *DEV_OPTIONS,
            str(self._source),
            "-o",
            str(binary),
            env=self._toolchain.environment(made),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            octets, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        lines = octets.decode("utf-8", "replace").splitlines()
        said = "\n".join(line for line in lines if not _NOISE.search(line))
        seconds = asyncio.get_running_loop().time() - began
        made = process.returncode == 0 and binary.exists()
        said = instantiation.shortened(said, self._toolchain)
        return BuildResult(binary if made else None, said, seconds)
