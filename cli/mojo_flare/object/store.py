"""Keeps objects: what programs are linked with, made once for each kind of build."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mojo_flare.object.interface import Interface, Library, Unit
from mojo_flare.outcome import CommandError, ExitCode

_HERE = Path(__file__).parent
_LEVELS = {"x86-64-v2": ["v2", "v3"], "x86-64-v3": ["v3"], "generic": ["generic"]}
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
        return json.loads((self.folder / "object.json").read_text())


@dataclass(frozen=True)
class Compiler:
    """What an object is made with."""

    mojo: Path
    environment: dict[str, str]
    sources: Path
    """The folder that has the package `flare`."""


def recipe_of(options: tuple[str, ...]) -> Recipe:
    """Chooses the object for a program with some options of the compiler."""
    cpu, more = host_level(), []
    for at, option in enumerate(options):
        value = options[at + 1] if at + 1 < len(options) else ""
        if option == "--target-cpu":
            cpu = value if value in _LEVELS else host_level()
        elif option == "--sanitize":
            more += [option, value, "-g1"]
    return Recipe(cpu, tuple(more))


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


def find(compiler: Compiler, recipe: Recipe, store: Path) -> FlareObject | None:
    """Finds an object in a store."""
    folder = store / _digest(compiler, recipe)
    return FlareObject(folder) if (folder / "object.json").exists() else None


def find_or_make(
    compiler: Compiler, recipe: Recipe, store: Path, tell: Progress
) -> FlareObject:
    """Finds an object in a store, or makes it there."""
    digest = _digest(compiler, recipe)
    folder = store / digest
    if (folder / "object.json").exists():
        return FlareObject(folder)
    store.mkdir(parents=True, exist_ok=True)
    with (store / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "object.json").exists():
            _make(compiler, recipe, folder, digest, tell)
    return FlareObject(folder)


def _digest(compiler: Compiler, recipe: Recipe) -> str:
    """Names an object by all that it is made of."""
    digest = hashlib.sha256(repr((recipe.cpu, recipe.options)).encode())
    digest.update(compiler_version(compiler).encode())
    ours = [path for path in _HERE.iterdir() if path.is_file()]
    for path in sorted(ours) + sorted((compiler.sources / "flare").rglob("*.mojo")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiler_version(compiler: Compiler) -> str:
    result = _call(compiler, "--version")
    return result.stdout.strip()


def _call(compiler: Compiler, *arguments: str) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [str(compiler.mojo), *arguments],
        env=compiler.environment,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    lines = result.stdout.splitlines()
    result.stdout = "\n".join(x for x in lines if "Crashpad" not in x)
    return result


def _make(
    compiler: Compiler, recipe: Recipe, folder: Path, digest: str, tell: Progress
) -> None:
    """Makes an object; parts that an earlier one had, too, are taken from there."""
    began = time.monotonic()
    version = compiler_version(compiler)
    parts = folder.parent / "parts"
    parts.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as place:
        making = Path(place)
        interface = _interface(compiler)
        included = making / "include"
        interface.write_interface(included)
        words = (recipe.name, version, _tree_digest(included))
        symbol = hashlib.sha256(repr(words).encode()).hexdigest()[:16]
        identity = f"{symbol} ({recipe.name}, {version})"
        table = (_HERE / "object_table.template").read_text()
        table = table.replace("{IDENTITY}", identity)
        table = table.replace("{SYMBOL}", f"flare_object_{symbol}")
        kind = "_O3_asan" if "--sanitize" in recipe.options else "_O3"
        levels = [f"flare_object_{symbol}_{x}{kind}" for x in _LEVELS[recipe.cpu]]
        (included / "flare" / "object_table.mojo").write_text(table)
        cpu = () if recipe.cpu == "generic" else ("--target-cpu", recipe.cpu)
        jobs: list[_Job] = []
        for unit in interface.units:
            root = making / unit
            root.mkdir()
            main = interface.write_unit(unit, root, identity, levels)
            (root / "flare" / "object_table.mojo").write_text(table)
            # One thread each: more take twice the time in all, and no less of it.
            command = ("build", "-j", "1", "--emit", "object", *cpu, *recipe.options)
            jobs.append(_Job(unit, (*command, "-I", str(root), str(main)), root, ".o"))
        package = str(included / "flare")
        jobs.append(_Job("interface", ("precompile", package), included, ".mojoc"))

        def run(job: _Job) -> Path:
            name = hashlib.sha256(
                repr((recipe.name, version, job.name, _tree_digest(job.tree))).encode()
            ).hexdigest()[:16]
            part = parts / f"{job.name}-{name}{job.ending}"
            if not part.exists():
                tell(f"compiling {job.name}")
                # A package keeps the name of the file that it is written to.
                made = making / (f"{job.name}.o" if job.ending == ".o" else "flare.mojoc")
                result = _call(compiler, *job.command, "-o", str(made))
                if result.returncode:
                    raise CommandError(
                        f"the object's part '{job.name}' does not compile:\n"
                        + result.stdout[-4000:],
                        "flare build --whole builds without an object",
                        ExitCode.DOES_NOT_COMPILE,
                    )
                made.rename(part)
            return part

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            made = list(pool.map(run, jobs))
        done = making / "done"
        (done / "include").mkdir(parents=True)
        shutil.copy2(made[-1], done / "include" / "flare.mojoc")
        _link(made[:-1], done / "flare.o")
        facts = {
            "identity": identity,
            "cpu": recipe.cpu,
            "options": list(recipe.options),
            "compiler": version,
            "octets": (done / "flare.o").stat().st_size,
            "seconds": round(time.monotonic() - began, 1),
        }
        (done / "object.json").write_text(json.dumps(facts, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        done.rename(folder)


@dataclass(frozen=True)
class _Job:
    """One run of the compiler, and the sources it reads."""

    name: str
    command: tuple[str, ...]
    tree: Path
    ending: str


def _interface(compiler: Compiler) -> Interface:
    wanted = tomllib.loads((_HERE / "object.toml").read_text())
    library = Library(compiler.sources)
    return Interface(
        library,
        library.exported(tuple(wanted["exported"])),
        {name for row in wanted["kept"] for name in row["names"]},
        {
            name: Unit(tuple(unit["holds"]), tuple(unit.get("inside", ())))
            for name, unit in wanted["units"].items()
        },
    )


def _tree_digest(root: Path) -> str:
    """Names a tree of sources by what it says."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.mojo")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
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
            "flare build --whole builds without an object",
            ExitCode.DOES_NOT_COMPILE,
        )
