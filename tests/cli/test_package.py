"""What is released: the same octets each time, and nothing that does not belong."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import package
import pytest
from toolchain import CACHE, flare_object

from mojo_flare.object.store import FlareObject

PROGRAM = """from flare.net import SocketAddr


def main() raises:
    print(SocketAddr.parse("[::1]:8080"))
"""


def test_the_archives_hold_what_is_in_git(archives: tuple[Path, Path]) -> None:
    assert list(package.content_problems(*archives)) == []


def test_a_stray_file_is_named(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel = shutil.copy(archives[1], tmp_path)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("modular/lib/mojo/flare/notes.txt", "")
    assert list(package.content_problems(archives[0], Path(wheel))) == [
        "the wheel has modular/lib/mojo/flare/notes.txt, which is not in git"
    ]


def test_every_build_gives_the_same_octets(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    assert list(package.reproduction_problems(*archives, tmp_path)) == []


def test_the_wheel_says_what_is_in_it(archives: tuple[Path, Path]) -> None:
    assert list(package.sbom_problems(archives[1])) == []


def test_what_the_wheel_does_not_say_is_named(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel = Path(shutil.copy(archives[1], tmp_path))
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("mojo_flare/more.py", "")
    assert list(package.sbom_problems(wheel)) == [
        "sboms/mojo-flare.cdx.json lacks mojo_flare/more.py"
    ]


def test_a_wheel_with_objects_has_the_same_octets_each_time_and_says_so(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "objects" / "1234"
    (folder / "include").mkdir(parents=True)
    (folder / "flare.o").write_bytes(bytes(range(256)) * 100)
    (folder / "include" / "flare.mojoc").write_bytes(b"interface")
    made = [FlareObject(folder)]
    plain = Path(shutil.copy(archives[1], tmp_path))
    first = package.with_objects(plain, made)
    octets = first.read_bytes()
    assert list(package.sbom_problems(first)) == []
    assert package.with_objects(plain, made).read_bytes() == octets
    with zipfile.ZipFile(first) as archive:
        assert "mojo_flare/objects/1234/flare.o" in archive.namelist()
        recorded = archive.read("mojo_flare-" + package.version() + ".dist-info/RECORD")
        place = next(x for x in archive.namelist() if x.endswith(package.SBOM))
        line = package.record_line(place, archive.read(place))
    assert line in recorded.decode()


def test_the_compiler_finds_the_library_without_an_option(
    binaries: Path, tmp_path: Path
) -> None:
    assert list(package.program_problems(binaries, tmp_path)) == []


def test_the_conda_package_passes_its_own_test(
    binaries: Path, tmp_path: Path, monkeypatch
) -> None:
    """The recipe's script and test, in a folder laid out like an environment."""
    prefix = tmp_path / "prefix"
    packages = prefix / "lib" / "python3"
    (prefix / "lib" / "mojo").mkdir(parents=True)
    modular = package.VENV / "lib"
    modular = next(modular.glob("python*/site-packages/modular"))
    (prefix / "bin").mkdir()
    for tool in (modular / "bin").iterdir():
        (prefix / "bin" / tool.name).symlink_to(tool)
    for library in (modular / "lib").glob("*.so"):
        (prefix / "lib" / library.name).symlink_to(library)
    standard = modular / "lib" / "mojo" / "std.mojoc"
    (prefix / "lib" / "mojo" / "std.mojoc").symlink_to(standard)
    entry = prefix / "bin" / "flare"
    entry.write_text(
        f"#!{package.VENV / 'bin' / 'python'}\n"
        f"import sys\nsys.path.insert(0, {str(packages)!r})\n"
        f"sys.prefix = {str(prefix)!r}\n"
        "from mojo_flare.main import main\nmain()\n"
    )
    entry.chmod(0o755)
    environment = {
        "PATH": f"{prefix / 'bin'}:/usr/bin:/bin",
        "PREFIX": str(prefix),
        "SP_DIR": str(packages),
        "MODULAR_MOJO_MAX_PACKAGE_ROOT": str(prefix),
        "MODULAR_MOJO_MAX_IMPORT_PATH": str(prefix / "lib" / "mojo"),
        "MODULAR_TELEMETRY_ENABLED": "0",
        "XDG_CACHE_HOME": str(CACHE),
    }
    for script in ("build.sh", "test.sh"):
        done = subprocess.run(
            [str(package.ROOT / "packaging" / "conda" / script)],
            cwd=package.ROOT, env=environment, text=True, capture_output=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{package.version()} [::1]:8080"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the wheel is for x86-64")
def test_the_wheel_for_linux_brings_the_object(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    """Nothing is compiled but the program, and by hand as by the command."""
    made = flare_object()
    wheel = package.with_objects(archives[1], [made])
    more = wheel.stat().st_size - archives[1].stat().st_size
    assert more * len(package.SHIPPED_CPUS) < 15_000_000
    binaries = package.fresh_environment(tmp_path / "venv", wheel, reuse=True)
    empty = tmp_path / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(empty), "COLUMNS": "300"}
    environment["PATH"] = f"{binaries}:{environment['PATH']}"
    (tmp_path / "app.mojo").write_text(PROGRAM)

    def sh(text: str) -> str:
        return subprocess.run(
            ["bash", "-ec", text], cwd=tmp_path, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
        ).stdout

    installed = Path(sh("flare object").split(": ")[1].strip())
    assert installed.is_relative_to(binaries.parent)
    assert (installed / "flare.o").read_bytes() == (made.folder / "flare.o").read_bytes()
    assert sh("flare build app.mojo && ./app") == "[::1]:8080\n"
    by_hand = 'eval "$(flare flags --env)"; mojo build app.mojo -o by_hand $(flare flags)'
    assert sh(f"{by_hand} && ./by_hand") == "[::1]:8080\n"
    symbol = made.facts["identity"].split()[0].encode()
    assert symbol in (tmp_path / "app").read_bytes()
    assert symbol in (tmp_path / "by_hand").read_bytes()
    # The compiler keeps things of its own there.
    assert not (empty / "flare").exists()
