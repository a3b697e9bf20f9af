"""Finds the Mojo compiler and the library, and calls the compiler."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mojo_flare import include, project, terminal
from mojo_flare.compiler import IMPORT_PATH, Compiler
from mojo_flare.object import store
from mojo_flare.outcome import CommandError, ExitCode

COMPILER_VERSION = "1.2"
"""The compiler that the library is written for, without its last number."""
GET_LINKER = (
    "Debian and Ubuntu: apt-get install gcc libc6-dev; Fedora: dnf install gcc;"
    " macOS: xcode-select --install"
)
"""What installs `cc`."""
_SHIPPED = Path(__file__).parent / "objects"
"""What a wheel for one platform has."""


@dataclass(frozen=True)
class Toolchain:
    """The compiler, and where it and its programs find their libraries."""

    root: Path
    """The folder with `bin/mojo` and `lib`."""
    repository: Path | None = None
    """The copy of the repository that this command is run from, if it is."""
    other_packages: tuple[Path, ...] = ()
    """Where packages are that wheels for all platforms bring, if elsewhere."""
    has_objects: bool = sys.platform == "linux"
    """False if the library is compiled with each program."""

    @property
    def mojo(self) -> Path:
        return self.root / "bin" / "mojo"

    @property
    def libraries(self) -> Path:
        """The libraries that every program needs when it runs."""
        return self.root / "lib"

    @property
    def packages(self) -> tuple[Path, ...]:
        """Where the compiler looks for packages before any `-I`, in order."""
        return (self.root / "lib" / "mojo", *self.other_packages)

    @property
    def flare(self) -> Path:
        """The sources of the library that programs are built with."""
        places = [folder / "flare" for folder in self.packages]
        if self.repository:
            places.append(self.repository / "flare")
        found = [place for place in places if place.is_dir()]
        if not found:
            raise CommandError(
                f"the library is not in {self.packages[0]}",
                f"{sys.executable} -m pip install --force-reinstall --no-deps mojo-flare",
                ExitCode.NO_TOOLCHAIN,
            )
        return found[0]

    @property
    def include(self) -> tuple[str, ...]:
        """The options that make the compiler find the library: none, if installed."""
        return ("-I", str(self.repository)) if self.repository else ()

    @property
    def objects(self) -> store.Store | None:
        """Where objects of the library are, or can be; none where none is made."""
        if not self.has_objects:
            return None
        compiler = Compiler(self.mojo, self.environment())
        try:
            folder = project.cache_folder() / "objects"
        except OSError:
            # None can be made, but what was shipped can be found.
            folder = _SHIPPED
        return store.Store(compiler, self.flare.parent, folder, _SHIPPED)

    def make_object(self, options: tuple[str, ...]) -> store.FlareObject:
        """Finds the object for a program with some options, or makes it."""
        self.check_linker()
        objects, recipe = self.objects, store.recipe_of(options)
        if objects is None or recipe is None:
            raise CommandError(
                f"there is no object for {' '.join(options) or sys.platform}",
                "such programs are built with the library's sources (flare build --whole)",
            )
        if found := objects.find(recipe):
            return found
        project.cache_folder()  # raises if there is none
        what = f"compiling the library for {recipe.name}, once, which takes minutes"
        with terminal.progress(what) as done:
            made = objects.find_or_make(recipe, lambda _: None)
            done(f"compiled the library for {recipe.name}")
        return made

    def object_for(self, options: tuple[str, ...]) -> store.FlareObject | None:
        """Finds or makes what a program is built with; none if that cannot be."""
        if self.objects is None or store.recipe_of(options) is None:
            return None
        try:
            return self.make_object(options)
        except OSError as error:
            terminal.say(f"building with the library's sources: {error}", "yellow")
            return None

    def options(self, made: store.FlareObject | None) -> tuple[str, ...]:
        """The options that make the compiler find the library."""
        return made.options if made else self.include

    def environment(self, made: store.FlareObject | None = None) -> dict[str, str]:
        """The environment of the compiler: what its own wrapper sets, and quiet."""
        packages = (*((made.include,) if made else ()), *self.packages)
        return {
            **os.environ,
            "MODULAR_MAX_PACKAGE_ROOT": str(self.root),
            "MODULAR_MOJO_MAX_PACKAGE_ROOT": str(self.root),
            "MODULAR_MOJO_MAX_DRIVER_PATH": str(self.mojo),
            IMPORT_PATH: ",".join(map(str, packages)),
            "MODULAR_TELEMETRY_ENABLED": "0",
        }

    def check_linker(self) -> None:
        """Says what is missing before minutes are spent on what needs it."""
        if shutil.which("cc") is None:
            raise CommandError(
                "there is no C compiler named `cc`, which the Mojo compiler links with",
                GET_LINKER,
                ExitCode.NO_TOOLCHAIN,
            )

    def build(
        self,
        source: Path,
        output: Path,
        *options: str,
        made: store.FlareObject | None = None,
        includes: tuple[Path, ...] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Builds a program; what the compiler says is in `stdout`.

        Args:
            source: The program.
            output: The binary.
            options: More options of the compiler.
            made: The object it is built beside; none to compile the library with
                the program.
            includes: Where the program's packages are, behind the library.
        """
        self.check_linker()
        output.parent.mkdir(parents=True, exist_ok=True)
        found = (*self.options(made), *include.options(includes))
        return self.call(
            *("build", *options, *found, str(source), "-o", str(output)), made=made
        )

    def call(
        self, *arguments: str, made: store.FlareObject | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the compiler, and takes what it says as one text."""
        return Compiler(self.mojo, self.environment(made)).call(*arguments)


def library_version() -> str:
    """Reads the version out of the library that programs are built with."""
    return version_of(find().flare) or "unknown"


def version_of(flare: Path) -> str:
    """Reads the version of a copy of the library; empty if it has none."""
    try:
        text = (flare / "version.mojo").read_text()
    except OSError:
        return ""
    found = re.search(r'^comptime VERSION = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else ""


def find() -> Toolchain:
    """Finds the compiler and the library of this Python environment."""
    folders = list(dict.fromkeys(_folders()))
    for root in folders:
        if (root / "bin" / "mojo").exists() and (root / "lib" / "mojo").is_dir():
            others = _other_packages(root, folders)
            return Toolchain(root, _repository(), others)
    raise CommandError(
        "the Mojo compiler is not installed in this Python environment",
        f"{sys.executable} -m pip install 'mojo-compiler=={COMPILER_VERSION}.*'",
        ExitCode.NO_TOOLCHAIN,
    )


def _folders() -> Iterator[Path]:
    """Where compilers and packages may be: of wheels, then of a conda prefix."""
    for name in ("platlib", "purelib"):
        yield Path(sysconfig.get_path(name)) / "modular"
    # Of `pip install --user`, or a path that .pth files add.
    yield from (Path(entry) / "modular" for entry in sys.path if entry)
    yield Path(sys.prefix)


def _other_packages(root: Path, folders: list[Path]) -> tuple[Path, ...]:
    places = (folder / "lib" / "mojo" for folder in folders if folder != root)
    return tuple(place for place in places if place.is_dir())


def _repository() -> Path | None:
    """Tells which copy of the repository this command is run from, if it is."""
    folder = Path(__file__).resolve().parent.parent.parent
    return folder if (folder / "flare" / "version.mojo").exists() else None
