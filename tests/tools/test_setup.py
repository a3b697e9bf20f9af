"""What the set-up says when something is missing, and what it installs."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import setup

NAMES = sorted(path.stem for path in setup.REQUIREMENTS.glob("*.txt"))
PIP = """#!{python}
import sys
from pathlib import Path
print("Collecting " + Path(sys.argv[-1]).stem + "==1 (from -r x)")
print("what pip says at length")
with open(r"{calls}", "a") as calls:
    calls.write(sys.argv[-1] + "\\n")
sys.exit({status})
"""


def entries(name: str) -> list[str]:
    """Lists the requirements of a file, each with its hashes."""
    text = (setup.REQUIREMENTS / f"{name}.txt").read_text()
    found = re.split(r"\n(?=\S)", text.strip())
    return [entry for entry in found if not entry.startswith("#")]


@pytest.mark.parametrize(
    ("program", "package", "need"),
    [("cc", "gcc", "run"), ("curl", "curl", "test"), ("openssl", "openssl", "test")],
)
def test_names_the_missing_package(monkeypatch, capsys, program, package, need):
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: None if name == program else name
    )
    with pytest.raises(SystemExit) as ended:
        setup.check_system(need)
    assert ended.value.code == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"apt-get install {package}" in message


def test_running_wants_no_program_of_the_tests(monkeypatch):
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: name if name == "cc" else None
    )
    setup.check_system("run")


def test_names_the_package_of_venv(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit):
        setup.check_venv()
    assert "apt-get install python3-venv" in capsys.readouterr().err


def test_an_unknown_need_is_refused(capsys):
    with pytest.raises(SystemExit):
        setup.main(["walk"])
    assert "name one of run, bench, docs, test, nightly" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_every_requirement_has_an_exact_version_and_a_hash(name):
    assert len(entries(name)) >= 1
    for entry in entries(name):
        assert re.match(r"[\w.-]+==[\w.]+ \\\n", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_what_two_files_require_is_the_same_version():
    versions: dict[str, set[str]] = {}
    for name in NAMES:
        for entry in entries(name):
            package, version = entry.split()[0].split("==")
            versions.setdefault(package, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_running_installs_the_compiler_alone():
    assert setup.NEEDS["run"] == ("run",)
    assert [entry.split("==")[0] for entry in entries("run")] == [
        "mojo-compiler", "mojo-compiler-mojo-libs",
    ]
    # tools/package.py has an environment of its own, and so has who makes tables.
    used = {name for names in setup.NEEDS.values() for name in names}
    used |= {"package", "tables"}
    assert sorted(used) == NAMES


@pytest.fixture
def environment(monkeypatch, tmp_path: Path):
    """Gives a function that puts a pip in place, which ends with a status."""
    calls = tmp_path / "calls"
    calls.touch()
    monkeypatch.setattr(setup, "VENV", tmp_path)
    (tmp_path / "bin").mkdir()

    def place(status: int) -> Path:
        for name in ("pip", "python"):
            program = tmp_path / "bin" / name
            text = PIP.format(python=sys.executable, calls=calls, status=status)
            program.write_text(text)
            program.chmod(0o755)
        return calls

    return place


def test_a_need_is_one_line_for_each_file_and_nothing_the_next_time(
    environment, capsys, monkeypatch
):
    calls = environment(0)
    monkeypatch.delenv("CI", raising=False)
    setup.main(["bench"])
    assert re.fullmatch(
        r"setup: installing the Mojo compiler into \.venv \.\.\. done after \d+ s\n"
        r"setup: installing what the benchmarks need into \.venv \.\.\. done after \d+ s\n",
        capsys.readouterr().out,
    )
    assert [Path(line).stem for line in calls.read_text().split()] == ["run", "bench"]
    setup.main(["bench"])
    setup.main(["run"])
    assert capsys.readouterr().out == "" and calls.read_text().count("\n") == 2


def test_changed_requirements_are_installed_anew(environment, monkeypatch):
    calls = environment(0)
    setup.main(["run"])
    monkeypatch.setattr(setup, "digest", lambda name: "another")
    setup.main(["run"])
    assert calls.read_text().count("\n") == 2


@pytest.mark.parametrize("lost", ["python", "pip"])
def test_an_environment_that_was_moved_is_made_anew(
    environment, monkeypatch, tmp_path, lost
):
    """Or whose Python is gone, as when the system has a newer one."""
    calls = environment(0)
    setup.main(["run"])
    pip = tmp_path / "bin" / "pip"
    if lost == "pip":
        pip.unlink()
    else:
        pip.write_text(pip.read_text().replace(sys.executable, "/nowhere/python"))
    made = []

    class Builder:
        def __init__(self, **options) -> None:
            made.append(options)

        def create(self, folder: Path) -> None:
            made.append(folder)
            environment(0)

    monkeypatch.setattr(setup.venv, "EnvBuilder", Builder)
    setup.main(["run"])
    assert made == [{"with_pip": True, "clear": True}, setup.VENV]
    assert [Path(line).stem for line in calls.read_text().split()] == ["run", "run"]


def test_what_pip_says_is_shown_when_it_fails(environment, capsys):
    environment(3)
    with pytest.raises(SystemExit):
        setup.main(["run"])
    shown = capsys.readouterr()
    assert "failed" in shown.out and "what pip says at length" in shown.err
    assert "requirements/run.txt" in shown.err
    assert setup.wanted("run") == ["run"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch, tmp_path):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    (tmp_path / "wheel").write_bytes(bytes(2_500_000))
    line = setup.Line("installing it")
    line.show(setup.progress(["Collecting mojo==1 (from)\n"], tmp_path))
    line.show(setup.progress(["Collecting x\n", "Installing collected packages: x\n"], tmp_path))
    line.done()
    shown = [part for part in terminal.getvalue().split("\r\033[K")]
    assert shown[:3] == [
        "setup: installing it ...",
        "setup: installing it ... mojo, 2 MB",
        "setup: installing it ... unpacking",
    ]
    assert terminal.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("result", "shown"),
    [(0, "done"), (1, "failed, so their tests are skipped,")],
)
def test_ci_gets_the_programs_that_are_missing(monkeypatch, capsys, result, shown):
    commands = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess:
        commands.append(command)
        return subprocess.CompletedProcess(command, result)

    there = {name for name in setup.OPTIONAL_PROGRAMS if name != "haproxy"}
    monkeypatch.setattr(
        setup.shutil, "which", lambda name, path=None: name if name in there else None
    )
    monkeypatch.setattr(setup.subprocess, "run", run)
    setup.install_programs()
    assert capsys.readouterr().out.startswith(
        f"setup: installing haproxy of Debian ... {shown} after "
    )
    if result == 0:
        assert commands[-1][-1] == "haproxy" and "chromium" not in commands[-1]
