"""Keeps objects: what programs are linked with, made once for each kind of build."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mojo_flare.compiler import Compiler
from mojo_flare.object.interface import Interface, Unit
from mojo_flare.object.library import Library
from mojo_flare.outcome import CommandError, ExitCode

_HERE = Path(__file__).parent
_FACTS = "object.json"
_MAKING = "making-"
_PRECOMPILE = ("precompile", "flare")
_WITHOUT = "flare build --whole builds without an object"
_LEVELS = {"x86-64-v2": ["v2", "v3"], "x86-64-v3": ["v3"], "generic": ["generic"]}
# They change how values are passed, or what for.
_NO_OBJECT = frozenset(("-O0", "-O1", "-O2", "--target-triple", "--target-features"))
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """How an object is compiled."""

    cpu: str
    """The oldest CPU that can run it."""
    options: tuple[str, ...] = ()
    """More options of the compiler, as of a sanitizer."""

    @property
    def name(self) -> str:
        return " ".join([self.cpu, *self.options])


@dataclass(frozen=True)
class FlareObject:
    """An object, and the interface that belongs to it."""

    folder: Path

    @property
    def include(self) -> Path:
        """The folder with the interface."""
        return self.folder / "include"

    @property
    def options(self) -> tuple[str, ...]:
        """What a program is built with."""
        return ("-I", str(self.include), "-Xlinker", str(self.folder / "flare.o"))

    @property
    def facts(self) -> dict:
        """What was noted when it was made."""
        return json.loads((self.folder / _FACTS).read_text())


def recipe_of(options: tuple[str, ...]) -> Recipe | None:
    """Chooses the object for a program with some options of the compiler; none if
    no object fits."""
    cpu, more = host_level(), []
    for at, option in enumerate(options):
        value = options[at + 1] if at + 1 < len(options) else ""
        if option == "--target-cpu":
            cpu = _level_of(value)
        elif option == "--sanitize":
            more += [option, value, "-g1"]
        if option in _NO_OBJECT or (option == "--sanitize" and value != "address"):
            return None
    return Recipe(cpu, tuple(more)) if cpu else None


def _level_of(cpu: str) -> str:
    """The object for programs for a CPU; "" if there is none."""
    if os.uname().machine != "x86_64":
        return "generic"
    if cpu == "native":
        return host_level()
    # Others may have less than a level, or more, or may not be.
    levels = {x: x for x in _LEVELS} | {"x86-64-v4": "x86-64-v3", "generic": ""}
    return levels.get(cpu, "")


def host_level() -> str:
    """Tells which of the levels of CPUs this machine is of."""
    if os.uname().machine != "x86_64":
        return "generic"
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0]
    except (OSError, IndexError):
        return "x86-64-v2"
    wanted = {"avx2", "bmi1", "bmi2", "fma", "f16c", "movbe", "abm"}
    return "x86-64-v3" if wanted <= set(flags.split()) else "x86-64-v2"


@dataclass(frozen=True)
class Store:
    """The objects of one library by one compiler."""

    compiler: Compiler
    sources: Path
    """The folder that has the package `flare`."""
    folder: Path
    """Where objects are made; it need not be there."""
    shipped: Path | None = None
    """Where objects came with the package, if they did."""
    hides_paths: bool = False
    """Whether objects are made that do not tell where the sources were, which
    takes a fifth longer."""

    def find(self, recipe: Recipe) -> FlareObject | None:
        """Finds an object that was made, or came with the package."""
        return self._find(self.digest(recipe))

    def find_or_make(self, recipe: Recipe, tell: Progress) -> FlareObject:
        """Finds an object, or makes it."""
        digest = self.digest(recipe)
        if found := self._find(digest):
            return found
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sweep()
        with self._lock(digest) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._find(digest):
                self._make(recipe, self.folder / digest, tell)
        return FlareObject(self.folder / digest)

    def sweep(self) -> None:
        """Removes what runs that were killed have left; not what another process is
        making, which holds the lock of its object."""
        for left in self.folder.glob(f"{_MAKING}*"):
            digest = left.name.removeprefix(_MAKING).partition("-")[0]
            with self._lock(digest) as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(left, ignore_errors=True)

    def _lock(self, digest: str) -> IO[str]:
        return (self.folder / f"{digest}.lock").open("w")

    def _find(self, digest: str) -> FlareObject | None:
        for place in (self.shipped, self.folder):
            if place and (place / digest / _FACTS).exists():
                return FlareObject(place / digest)
        return None

    def digest(self, recipe: Recipe) -> str:
        """Names an object by all that it is made of."""
        digest = hashlib.sha256(repr((recipe.cpu, recipe.options)).encode())
        digest.update(self.compiler.version.encode())
        for path in sorted(path for path in _HERE.iterdir() if path.is_file()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        digest.update(tree_digest(self.sources, "flare").encode())
        return digest.hexdigest()[:16]

    def _make(self, recipe: Recipe, folder: Path, tell: Progress) -> None:
        """Makes an object; parts that an earlier one had, too, are taken from there."""
        prefix = f"{_MAKING}{folder.name}-"
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=prefix) as place:
            making = Path(place).resolve()
            identity, jobs = self._lay_out(recipe, making)
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                *codes, package = pool.map(
                    lambda job: self._part(recipe, job, tell), jobs
                )
            done = making / "done"
            (done / "include").mkdir(parents=True)
            shutil.copy2(package, done / "include" / "flare.mojoc")
            _link(codes, done / "flare.o")
            facts = {
                "identity": identity,
                "parts": [part.name for part in (*codes, package)],
                "cpu": recipe.cpu,
                "options": list(recipe.options),
                "compiler": self.compiler.version,
                "octets": (done / "flare.o").stat().st_size,
            }
            (done / _FACTS).write_text(json.dumps(facts, indent=1) + "\n")
            shutil.rmtree(folder, ignore_errors=True)
            done.rename(folder)

    def _lay_out(self, recipe: Recipe, making: Path) -> tuple[str, list["_Job"]]:
        """Writes the sources of all parts; gives the object's identity, and what
        makes the parts: the units of code, then the interface."""
        interface = self._interface()
        included = making / "include"
        interface.write_interface(included)
        table = (_HERE / "object_table.template").read_text()
        words = (recipe.name, self.compiler.version, table, tree_digest(included))
        symbol = hashlib.sha256(repr(words).encode()).hexdigest()[:16]
        identity = f"{symbol} ({recipe.name}, {self.compiler.version})"
        table = table.replace("{IDENTITY}", identity)
        table = table.replace("{SYMBOL}", f"flare_object_{symbol}")
        (included / "flare" / "object_table.mojo").write_text(table)
        kind = "_O3_asan" if "--sanitize" in recipe.options else "_O3"
        symbols = [f"flare_object_{symbol}_{x}{kind}" for x in _LEVELS[recipe.cpu]]
        cpu = () if recipe.cpu == "generic" else ("--target-cpu", recipe.cpu)
        jobs: list[_Job] = []
        for unit in interface.units:
            root = making / unit
            root.mkdir()
            main = interface.write_unit(unit, root, identity, symbols)
            (root / "flare" / "object_table.mojo").write_text(table)
            # One thread each: more take twice the time in all, and no less of it.
            command = ("build", "-j", "1", "--emit", "object", *cpu, *recipe.options)
            jobs.append(_Job(unit, (*command, "-I", ".", main.name), root, ".o"))
        jobs.append(_Job("interface", _PRECOMPILE, included, ".mojoc"))
        return identity, jobs

    def _part(self, recipe: Recipe, job: "_Job", tell: Progress) -> Path:
        """Finds a part among those of earlier objects, or makes it."""
        words = (
            *(recipe.name, self.compiler.version, self.hides_paths),
            *(job.name, tree_digest(job.tree)),
        )
        name = hashlib.sha256(repr(words).encode()).hexdigest()[:16]
        parts = self.folder / "parts"
        parts.mkdir(exist_ok=True)
        part = parts / f"{job.name}-{name}{job.ending}"
        if not part.exists():
            tell(f"compiling {job.name}")
            # A package keeps the name of the file that it is written to.
            package = job.tree / "flare.mojoc"
            made = package if job.command == _PRECOMPILE else job.tree / "unit.o"
            if self.hides_paths and made != package:
                # What is read from a package has paths within the package.
                self._compile(job, _PRECOMPILE, package)
                (job.tree / "flare").rename(job.tree / "read")
            self._compile(job, job.command, made)
            made.rename(part)
        return part

    def _compile(self, job: "_Job", command: tuple[str, ...], output: Path) -> None:
        compiler = self.compiler.looking_first(job.tree)
        result = compiler.call(*command, "-o", str(output), folder=job.tree)
        if result.returncode:
            raise CommandError(
                f"the object's part '{job.name}' does not compile:\n"
                + result.stdout[-4000:],
                _WITHOUT,
                ExitCode.DOES_NOT_COMPILE,
            )

    def _interface(self) -> Interface:
        wanted = tomllib.loads((_HERE / "object.toml").read_text())
        library = Library(self.sources)
        return Interface(
            library,
            library.exported(tuple(wanted["exported"])),
            {name for row in wanted["kept"] for name in row["names"]},
            {
                name: Unit(tuple(unit["holds"]), tuple(unit.get("inside", ())))
                for name, unit in wanted["units"].items()
            },
            frozenset(wanted["run_by_compiler"]["names"]),
        )


@dataclass(frozen=True)
class _Job:
    """One run of the compiler, and the sources it reads."""

    name: str
    command: tuple[str, ...]
    tree: Path
    ending: str


def tree_digest(root: Path, below: str = "") -> str:
    """Names a tree of sources by what it says."""
    digest = hashlib.sha256()
    for path in sorted((root / below).rglob("*.mojo")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _link(codes: list[Path], output: Path) -> None:
    linked = subprocess.run(
        ["cc", "-r", "-nostdlib", "-o", str(output), *map(str, codes)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if linked.returncode:
        raise CommandError(
            f"the parts of the object cannot be linked:\n{linked.stdout[-2000:]}",
            _WITHOUT,
            ExitCode.DOES_NOT_COMPILE,
        )
