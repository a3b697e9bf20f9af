"""`flare doctor`: each check is made to fail, and to pass."""

import os
import socket
import sys
from pathlib import Path

import package
import pytest
from commands import flare, flare_on_a_terminal
from mojo_flare import checks, doctor, toolchain
from mojo_flare.checks import Level, SystemLibrary
from mojo_flare.toolchain import Toolchain


@pytest.fixture
def fake(tmp_path: Path) -> Toolchain:
    """A toolchain whose compiler says it is 1.2.9, and a library 0.1.0."""
    packages = tmp_path / "modular" / "lib" / "mojo"
    (packages / "flare").mkdir(parents=True)
    (packages / "flare" / "version.mojo").write_text('comptime VERSION = "0.1.0"\n')
    set_compiler(tmp_path, "echo Mojo 1.2.9")
    return Toolchain(tmp_path / "modular")


def set_compiler(folder: Path, script: str) -> None:
    path = folder / "modular" / "bin" / "mojo"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def only(found: list[checks.Finding]) -> checks.Finding:
    assert len(found) == 1, found
    assert found[0].level == Level.OK or found[0].remedy, "a remedy is missing"
    return found[0]


def test_the_compiler(fake, tmp_path):
    assert only(checks.check_compiler(fake)).level == Level.OK
    set_compiler(tmp_path, "echo Mojo 1.3.0")
    wrong = only(checks.check_compiler(fake))
    assert wrong.level == Level.PROBLEM and "flare 0.1.0 is written for 1.2" in wrong.text
    assert "mojo-compiler==1.2.*" in wrong.remedy
    set_compiler(tmp_path, "echo libstdc++ is missing; exit 127")
    broken = only(checks.check_compiler(fake))
    assert broken.level == Level.PROBLEM and "libstdc++ is missing" in broken.text
    fake.mojo.unlink()
    assert only(checks.check_compiler(fake)).level == Level.PROBLEM


def test_the_library(fake):
    assert only(checks.check_library(fake, "0.1.0")).level == Level.OK
    assert only(checks.check_library(fake, None)).level == Level.OK
    other = only(checks.check_library(fake, "0.2.0"))
    assert other.level == Level.PROBLEM and "of 0.1.0" in other.text
    (fake.flare / "version.mojo").unlink()
    assert "no copy of flare" in only(checks.check_library(fake, None)).text


@pytest.mark.parametrize("name", ["flare", "flare.mojo", "flare.mojoc", "flare.mojopkg"])
def test_another_package_of_the_name(fake, tmp_path, name):
    folder = tmp_path / "project"
    folder.mkdir()
    assert only(checks.check_clashes(fake, [folder])).level == Level.OK
    if name == "flare":
        (folder / name).mkdir()
    else:
        (folder / name).write_text("")
    found = only(checks.check_clashes(fake, [folder]))
    assert found.level == Level.PROBLEM and str(folder / name) in found.text


def test_a_folder_of_packages_that_is_not_there(tmp_path):
    assert checks.check_folders([tmp_path]) == []
    (tmp_path / "file").touch()
    for missing in ("no", "file"):
        found = only(checks.check_folders([tmp_path, tmp_path / missing]))
        assert found.level == Level.PROBLEM and f"{missing} is no folder" in found.text
    result = flare("doctor", "-I", tmp_path / "no")
    assert result.returncode == 1 and "is no folder" in result.stdout


def test_another_package_beside_the_library(fake):
    (fake.packages[0] / "flare.mojoc").write_text("")
    found = only(checks.check_clashes(fake, []))
    assert found.level == Level.PROBLEM and "flare.mojoc" in found.text


def test_an_installed_copy_stands_before_the_repository(fake, tmp_path):
    """Of a command that is run from the sources: the compiler finds the other."""
    repository = tmp_path / "repository"
    (repository / "flare").mkdir(parents=True)
    both = Toolchain(fake.root, repository)
    found = checks.check_clashes(both, [repository])
    assert only(found).level == Level.PROBLEM


def test_the_import_path(fake, tmp_path):
    assert checks.check_import_path(fake, None) == []
    assert checks.check_import_path(fake, f"/other,{fake.packages[0]}") == []
    found = only(checks.check_import_path(fake, "/other"))
    assert found.level == Level.WARNING and "MODULAR_MOJO_MAX_IMPORT_PATH" in found.remedy


def test_the_linker(tmp_path, monkeypatch):
    assert only(checks.check_linker()).level == Level.OK
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no command named cc" in only(checks.check_linker()).text
    (tmp_path / "cc").write_text("#!/bin/sh\necho cannot find crt1.o >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    broken = only(checks.check_linker())
    assert broken.level == Level.PROBLEM and "cannot find crt1.o" in broken.text


def absent(names: tuple[str, ...]) -> SystemLibrary:
    return SystemLibrary("it", names, names, "everything", "package", "formula")


def test_openssl():
    assert only(checks.check_openssl()).level == Level.OK
    assert only(checks.check_openssl(absent(("libnone.so.3",)))).level == Level.PROBLEM


def test_all_libraries_that_programs_load_are_looked_for():
    looked_for = {
        name.split(".so")[0]
        for library in (checks.OPENSSL, *checks.SYSTEM_LIBRARIES)
        for name in library.linux
    }
    loaded = {name for row in package.sbom.LOADED.values() for name in row[2]}
    # OpenSSL's other half comes with it.
    assert loaded - looked_for == {"libcrypto"}


@pytest.mark.parametrize("library", checks.SYSTEM_LIBRARIES, ids=lambda each: each.subject)
def test_libraries_of_content_codings(library):
    assert only(checks.check_library_loads(library)).level == Level.OK
    found = only(checks.check_library_loads(absent((*library.names[:1], "libnone.so"))))
    if sys.platform != "darwin":
        assert found.level == Level.WARNING and "libnone.so" in found.text


def test_the_limit_of_descriptors():
    assert only(checks.check_descriptors(1_024)).level == Level.WARNING
    assert only(checks.check_descriptors(checks.DESCRIPTORS_MIN)).level == Level.OK
    assert only(checks.check_descriptors(-1)).level == Level.OK


def test_a_port_in_use_names_who_has_it():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        found = only(checks.check_port(port))
        assert found.level == Level.PROBLEM
        if sys.platform == "linux":
            assert f"process {os.getpid()}" in found.text
            assert f"kill {os.getpid()}" in found.remedy
    assert only(checks.check_port(port)).level == Level.OK


def test_a_port_whose_process_may_not_be_seen(tmp_path):
    assert checks.listening_process(80, tmp_path) is None


def test_a_missing_compiler_is_one_finding(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "_folders", lambda: iter([tmp_path]))
    found = doctor.examine([], [])
    assert found[0].level == Level.PROBLEM and "pip install" in found[0].remedy
    assert any(each.subject == "linker" for each in found)


def test_the_command(tmp_path):
    good = flare("doctor")
    assert good.returncode == 0, good.stdout
    lines = [line.split("\t") for line in good.stdout.splitlines()]
    assert {"compiler", "library", "import flare", "linker", "OpenSSL 3", "zlib"} <= {
        line[1] for line in lines
    }
    (tmp_path / "flare").mkdir()
    clash = flare("doctor", cwd=tmp_path)
    assert clash.returncode == 1 and "problem\timport flare" in clash.stdout
    included = flare("doctor", "-I", tmp_path)
    assert included.returncode == 1 and str(tmp_path / "flare") in included.stdout
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = flare("doctor", "--port", listener.getsockname()[1])
    assert taken.returncode == 1 and "is in use" in taken.stdout


def test_warnings_count_if_wanted():
    path = {"MODULAR_MOJO_MAX_IMPORT_PATH": "/nowhere"}
    assert flare("doctor", **path).returncode == 0
    assert flare("doctor", "--strict", **path).returncode == 1


def test_a_terminal_has_a_table():
    shown = flare_on_a_terminal("doctor")
    assert b"\x1b[32mok" in shown and b"\t" not in shown
