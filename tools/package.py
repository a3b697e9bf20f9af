"""Builds what is released, and checks it.

    tools/package.py wheel          sdist and wheels, to build/dist: one for all
                                    platforms, and one with objects for Linux
    tools/package.py check          both, and all that a release has to keep
    tools/package.py check --reuse  the same with the compiler of .venv
    tools/package.py check --tag v0.1.0
                                    the same, and that they are what the tag says
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

from toolchain import BUILD, COMPILER, ROOT, alone, tell_part

from mojo_flare.object.store import FlareObject, Recipe, Store

sys.path.insert(0, str(ROOT / "packaging"))

import sbom  # noqa: E402

VENV = ROOT / ".venv"
DIST = BUILD / "dist"
PINS = ROOT / "requirements" / "package.txt"
VERSION_FILE = ROOT / "flare" / "version.mojo"
SHIPPED = sbom.SHIPPED
SDIST_EXTRA = {
    ".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md",
    "packaging/hatch_hook.py", "packaging/sbom.py", "pyproject.toml",
    "requirements/run.txt",
}
SBOM = f"sboms/{sbom.FILE_NAME}"
DIST_INFO = {
    "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", SBOM,
}
# As the compiler's own wheel.
PLATFORM = "manylinux_2_34_x86_64"
SHIPPED_CPUS = ("x86-64-v2", "x86-64-v3")
# What CHANGELOG.md says of a version that is not out yet, in place of the day.
UNRELEASED = "not released yet"
# Outside of git, where nothing says when the sources were written.
NO_DATE = "315532800"
PROGRAM = '''import flare
from flare.net import SocketAddr


def main() raises:
    print(flare.version(), SocketAddr.parse("[::1]:8080"))
'''


def fail(message: str) -> None:
    print(f"package: {message}", file=sys.stderr)
    sys.exit(1)


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    """Runs a program, and shows what it says if it fails."""
    result = subprocess.run(
        [str(word) for word in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    if result.returncode:
        fail(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result


def version() -> str:
    """Reads the version from the one place that holds it."""
    found = re.search(
        r'^comptime VERSION = "([^"]+)"', VERSION_FILE.read_text(), re.MULTILINE
    )
    if found is None:
        fail(f"{VERSION_FILE} has no line comptime VERSION")
    return found[1]


def backend() -> Path:
    """Gives a Python with the pinned build backend, which is set up first."""
    folder = BUILD / "package-venv"
    python, stamp = folder / "bin" / "python", folder / "pins.sha256"
    wanted = hashlib.sha256(PINS.read_bytes()).hexdigest()
    # Several processes share the tests of the command.
    with alone(folder):
        if not stamp.exists() or stamp.read_text() != wanted:
            venv.EnvBuilder(with_pip=True, clear=True).create(folder)
            run(
                python, "-m", "pip", "install", "--quiet", "--require-hashes",
                "--disable-pip-version-check", "--no-deps", "-r", PINS,
            )
            stamp.write_text(wanted)
    return python


def source_date() -> str:
    """Tells when the sources were written, for times within the archives."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True, capture_output=True
    )
    return told.stdout.strip() or NO_DATE


def build(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Builds the sdist and the wheel of a source tree into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": source_date()}
    run(backend(), "-m", "hatchling", "build", "-d", folder, cwd=source, env=environment)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def with_objects(wheel: Path, objects: list[FlareObject]) -> Path:
    """Puts objects into a wheel, which is for one platform then; gives that one."""
    tag = f"py3-none-{PLATFORM}"
    added: dict[str, bytes] = {}
    for made in objects:
        for path in sorted(path for path in made.folder.rglob("*") if path.is_file()):
            place = path.relative_to(made.folder.parent).as_posix()
            added[f"mojo_flare/objects/{place}"] = path.read_bytes()
    result = wheel.with_name(wheel.name.replace("py3-none-any", tag))
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(result, "w") as new:
        records = []
        for info in old.infolist():
            octets = old.read(info)
            if info.filename.endswith(".dist-info/WHEEL"):
                text = octets.decode().replace("Tag: py3-none-any", f"Tag: {tag}")
                octets = text.replace("Purelib: true", "Purelib: false").encode()
            if info.filename.endswith(f".dist-info/{SBOM}"):
                octets = sbom.document(ROOT, source_date(), added)
            if info.filename.endswith(".dist-info/RECORD"):
                record = info
                continue
            records.append(record_line(info.filename, octets))
            new.writestr(info, octets, zipfile.ZIP_DEFLATED)
        for name, octets in added.items():
            info = zipfile.ZipInfo(name, record.date_time)
            info.external_attr = record.external_attr
            records.append(record_line(name, octets))
            new.writestr(info, octets, zipfile.ZIP_DEFLATED)
        records.append(f"{record.filename},,\n")
        new.writestr(record, "".join(records), zipfile.ZIP_DEFLATED)
    return result


def record_line(name: str, octets: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(octets).digest()).decode()
    return f"{name},sha256={digest.rstrip('=')},{len(octets)}\n"


def tracked(tree: str) -> set[str]:
    """Lists the files of a shipped tree that belong to the repository."""
    told = run("git", "ls-files", "-z", "--", tree, cwd=ROOT).stdout
    names = {name for name in told.split("\0") if name}
    return {Path(name).relative_to(tree).as_posix() for name in names}


def expected_names(wheel: Path) -> set[str]:
    """Lists what a wheel has to hold: the shipped trees as they are in git."""
    name, number = wheel.name.split("-")[:2]
    info = f"{name}-{number}.dist-info"
    found = {f"{info}/{file}" for file in DIST_INFO}
    for tree, place in SHIPPED.items():
        found |= {f"{place}/{file}" for file in tracked(tree)}
    return found


def differences(
    what: str, found: set[str], wanted: set[str], source: str = "git"
) -> Iterator[str]:
    for name in sorted(found - wanted):
        yield f"{what} has {name}, which is not in {source}"
    for name in sorted(wanted - found):
        yield f"{what} lacks {name}"


def content_problems(sdist: Path, wheel: Path) -> Iterator[str]:
    """Compares what the archives hold with what they have to hold."""
    with zipfile.ZipFile(wheel) as archive:
        yield from differences("the wheel", set(archive.namelist()), expected_names(wheel))
        metadata = archive.read(
            next(x for x in archive.namelist() if x.endswith("/METADATA"))
        ).decode()
    for line in (f"Version: {version()}", "Requires-Dist: mojo-compiler==1.2.*"):
        if line not in metadata.splitlines():
            yield f"the wheel's METADATA has no line {line!r}"
    with tarfile.open(sdist) as archive:
        top = sdist.name.removesuffix(".tar.gz")
        names = {m.name.removeprefix(f"{top}/") for m in archive if m.isfile()}
    wanted = {f"{tree}/{file}" for tree in SHIPPED for file in tracked(tree)}
    yield from differences("the sdist", names, wanted | SDIST_EXTRA)


def sbom_problems(wheel: Path) -> Iterator[str]:
    """Compares what a wheel says is in it with what is in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = [x for x in archive.namelist() if ".dist-info/" not in x]
        place = next((x for x in archive.namelist() if x.endswith(SBOM)), None)
        if place is None:
            yield f"the wheel has no {SBOM}"
            return
        told = json.loads(archive.read(place))["metadata"]["component"]
        hashes = {
            part["name"]: part["hashes"]
            for part in told["components"] if part["type"] == "file"
        }
        if told["version"] != version():
            yield f"{SBOM} is of version {told['version']}"
        yield from differences(SBOM, set(hashes), set(names), "the wheel")
        for name in sorted(set(names) & set(hashes)):
            if hashes[name] != sbom.digest(archive.read(name)):
                yield f"{SBOM} has another digest of {name}"


def version_problems(tag: str = "") -> Iterator[str]:
    """Compares the places that name the version, and the tag of a release."""
    number = version()
    changelog = (ROOT / "CHANGELOG.md").read_text()
    headed = re.findall(r"^## (\d+\.\d+\.\d+) \((.+)\)$", changelog, re.MULTILINE)
    first, told = headed[0] if headed else ("no release", "")
    if first != number:
        yield f"CHANGELOG.md begins with {first}, flare/version.mojo says {number}"
    if told != UNRELEASED and not re.fullmatch(r"\d{4}-\d\d-\d\d", told):
        yield f"CHANGELOG.md has neither a day nor '{UNRELEASED}' behind {first}"
    if any(told == UNRELEASED for _, told in headed[1:]):
        yield f"CHANGELOG.md has a release that was '{UNRELEASED}' below the first"
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    if f'version: "{number}"' not in recipe:
        yield f"packaging/conda/recipe.yaml is not of version {number}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    source = project["tool"]["hatch"]["version"]
    built = re.search(source["pattern"], (ROOT / source["path"]).read_text(), re.MULTILINE)
    if built is None or built["version"] != number:
        yield f"pyproject.toml does not find version {number} for the wheel"
    if tag and tag != f"v{number}":
        yield f"the tag {tag} is not v{number}, as flare/version.mojo says"
    if tag and told == UNRELEASED:
        yield f"the tag {tag} is there, and CHANGELOG.md says '{UNRELEASED}'"


def tags_here() -> list[str]:
    """Lists the tags of releases on what is checked out."""
    told = subprocess.run(
        ["git", "tag", "--points-at", "HEAD", "--list", "v*"],
        cwd=ROOT, text=True, capture_output=True,
    )
    return told.stdout.split()


def release_problems() -> list[str]:
    """Lists where versions, changelog and the tags of what is checked out differ."""
    found = [line for tag in ["", *tags_here()] for line in version_problems(tag)]
    return list(dict.fromkeys(found))


def same_bytes(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def reproduction_problems(sdist: Path, wheel: Path, folder: Path) -> Iterator[str]:
    """Builds once more, and from the sdist, and compares octets."""
    again = build(folder / "again")
    if not same_bytes(again[0], sdist) or not same_bytes(again[1], wheel):
        yield "a second build gives other archives"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    tree = folder / "unpacked" / sdist.name.removesuffix(".tar.gz")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": source_date()}
    run(
        backend(), "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "from",
        cwd=tree, env=environment,
    )
    if not same_bytes(folder / "from" / wheel.name, wheel):
        yield "the sdist builds another wheel than the repository"


def fresh_environment(folder: Path, wheel: Path, reuse: bool) -> Path:
    """Installs a wheel into a new environment, and gives its `bin`.

    Args:
        folder: Where the environment is made.
        wheel: What is installed.
        reuse: True to link the compiler, and what the command imports, from
            `.venv`, so that nothing is downloaded; the wheel is installed by pip
            in either case.
    """
    shutil.rmtree(folder, ignore_errors=True)
    venv.EnvBuilder(with_pip=not reuse).create(folder)
    python = folder / "bin" / "python"
    options = ["--disable-pip-version-check", "--quiet"]
    if not reuse:
        run(python, "-m", "pip", "install", *options, wheel)
        return python.parent
    link_compiler(folder)
    run(
        VENV / "bin" / "python", "-m", "pip", "--python", python, "install", *options,
        "--no-deps", "--no-index", wheel,
    )
    return python.parent


def link_compiler(folder: Path) -> None:
    """Lays the compiler of `.venv` into an environment as its wheels would."""
    lib = Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages, origin = folder / lib / "site-packages", VENV / lib / "site-packages"
    inside = Path("modular") / "lib"
    (packages / inside / "mojo").mkdir(parents=True)
    (packages / "modular" / "bin").symlink_to(origin / "modular" / "bin")
    for library in (origin / inside).iterdir():
        if library.is_file():
            (packages / inside / library.name).symlink_to(library)
    for package in (origin / inside / "mojo").iterdir():
        (packages / inside / "mojo" / package.name).symlink_to(package)
    shutil.copytree(origin / "mojo", packages / "mojo")
    script = folder / "bin" / "mojo"
    lines = (VENV / "bin" / "mojo").read_text().splitlines(keepends=True)
    script.write_text(f"#!{folder / 'bin' / 'python'}\n" + "".join(lines[1:]))
    script.chmod(0o755)
    # What the command imports: Typer, rich and theirs.
    (packages / "typer-and-rich.pth").write_text(f"{origin}\n")


def program_problems(binaries: Path, folder: Path) -> Iterator[str]:
    """Builds and runs a program as a user would, with no option at all."""
    source, output = folder / "app.mojo", folder / "app"
    source.write_text(PROGRAM)
    environment = {**os.environ, "MODULAR_TELEMETRY_ENABLED": "0"}
    run(binaries / "mojo", "build", source, "-o", output, cwd=folder, env=environment)
    said = run(output).stdout.strip()
    if said != f"{version()} [::1]:8080":
        yield f"the installed library's program says {said!r}"
    told = run(binaries / "flare", "--version", cwd=folder).stdout.strip()
    if told != f"flare {version()}":
        yield f"the installed command says {told!r}"


def check(reuse: bool, tag: str) -> int:
    """Checks all that a release has to keep; gives the exit code."""
    sdist, wheel = build(DIST)
    problems = [*version_problems(tag), *content_problems(sdist, wheel)]
    problems += sbom_problems(wheel)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problems += reproduction_problems(sdist, wheel, folder)
        print("package: installing into a fresh environment ...", flush=True)
        binaries = fresh_environment(folder / "venv", wheel, reuse)
        problems += program_problems(binaries, folder)
    for problem in problems:
        print(f"package: {problem}")
    tell(sdist, wheel)
    print(f"package: {len(problems)} problems" if problems else "package: ok")
    return 1 if problems else 0


def tell(*files: Path) -> None:
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        size = f"{file.stat().st_size / 1000:.0f} kB"
        print(f"{digest}  {size:>7}  {file.relative_to(ROOT)}")


def main() -> int:
    words = sys.argv[1:]
    if words == ["wheel"]:
        sdist, wheel = build(DIST)
        objects = Store(COMPILER, ROOT, BUILD / "shipped", hides_paths=True)
        made = [objects.find_or_make(Recipe(cpu), tell_part) for cpu in SHIPPED_CPUS]
        tell(sdist, wheel, with_objects(wheel, made))
        return 0
    if words[:1] == ["check"]:
        reuse, rest = "--reuse" in words, [x for x in words[1:] if x != "--reuse"]
        if not rest or (len(rest) == 2 and rest[0] == "--tag"):
            return check(reuse, rest[1] if rest else "")
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
