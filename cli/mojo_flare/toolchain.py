"""Finds the Mojo compiler and the library, and calls the compiler."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mojo_flare.outcome import CommandError, ExitCode

COMPILER_VERSION = "1.2"
"""The compiler that the library is written for, without its last number."""


@dataclass(frozen=True)
class Toolchain:
    """The compiler, and where it and its programs find their libraries."""

    root: Path
    """The folder with `bin/mojo` and `lib`."""
    source_tree: Path | None
    """Where the library's sources are if the compiler does not find them."""

    @property
    def mojo(self) -> Path:
        return self.root / "bin" / "mojo"

    @property
    def libraries(self) -> Path:
        """The libraries that every program needs when it runs."""
        return self.root / "lib"

    @property
    def packages(self) -> Path:
        """Where the compiler looks for packages, before any `-I`."""
        return self.root / "lib" / "mojo"

    @property
    def flare(self) -> Path:
        """The sources of the library that programs are built with."""
        return (self.source_tree or self.packages) / "flare"

    @property
    def include(self) -> list[str]:
        """The options that make the compiler find the library."""
        return ["-I", str(self.source_tree)] if self.source_tree else []

    def environment(self) -> dict[str, str]:
        """The environment of the compiler: what its own wrapper sets."""
        return {
            "MODULAR_MAX_PACKAGE_ROOT": str(self.root),
            "MODULAR_MOJO_MAX_PACKAGE_ROOT": str(self.root),
            "MODULAR_MOJO_MAX_DRIVER_PATH": str(self.mojo),
            "MODULAR_MOJO_MAX_IMPORT_PATH": str(self.packages),
            "MODULAR_TELEMETRY_ENABLED": "0",
        } | dict(os.environ)

    def build(
        self, source: Path, output: Path, *options: str
    ) -> subprocess.CompletedProcess[str]:
        """Builds a program; what the compiler says is in `stdout`."""
        if shutil.which("cc") is None:
            raise CommandError(
                "there is no C compiler named `cc`, which the Mojo compiler links with",
                "Debian and Ubuntu: apt-get install gcc libc6-dev; Fedora: dnf"
                " install gcc; macOS: xcode-select --install",
                ExitCode.NO_TOOLCHAIN,
            )
        output.parent.mkdir(parents=True, exist_ok=True)
        return self.call(
            "build", *self.include, *options, str(source), "-o", str(output)
        )

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the compiler, and takes what it says as one text."""
        result = subprocess.run(
            [str(self.mojo), *arguments],
            env=self.environment(),
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        lines = result.stdout.splitlines()
        result.stdout = "\n".join(x for x in lines if "Crashpad" not in x)
        return result


def find() -> Toolchain:
    """Finds the compiler and the library of this Python environment."""
    for root in _roots():
        if (root / "bin" / "mojo").exists() and (root / "lib" / "mojo").is_dir():
            return Toolchain(root, _source_tree(root / "lib" / "mojo"))
    raise CommandError(
        "the Mojo compiler is not installed in this Python environment",
        f"{sys.executable} -m pip install 'mojo-compiler=={COMPILER_VERSION}.*'",
        ExitCode.NO_TOOLCHAIN,
    )


def _roots() -> Iterator[Path]:
    """Where compilers may be: wheels of this Python, then a conda prefix."""
    for name in ("platlib", "purelib"):
        yield Path(sysconfig.get_path(name)) / "modular"
    # Of `pip install --user`, or a path that .pth files add.
    yield from (Path(entry) / "modular" for entry in sys.path)
    yield Path(sys.prefix)


def _source_tree(packages: Path) -> Path | None:
    """Tells where the sources are, `None` for beside the standard library.

    They are elsewhere in a copy of the repository, and where wheels for all
    platforms and wheels for one are put into different folders.
    """
    here = Path(__file__).resolve().parent
    repository = here.parent.parent
    if (repository / "flare" / "version.mojo").exists():
        return repository
    if (packages / "flare").is_dir():
        return None
    beside = here.parent / "modular" / "lib" / "mojo"
    if (beside / "flare").is_dir():
        return beside
    raise CommandError(
        f"the library is neither in {packages} nor in {beside}",
        f"{sys.executable} -m pip install --force-reinstall --no-deps mojo-flare",
        ExitCode.NO_TOOLCHAIN,
    )
