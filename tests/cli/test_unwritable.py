"""What cannot be written is told in a line, with exit code 2, before anything is
built; Python's tracebacks are for faults of the command alone."""

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest
from commands import flare
from mojo_flare import main, new, project, toolchain
from mojo_flare.outcome import CommandError

PROGRAM = """from flare.http import Router


def routes() raises -> Router:
    return Router()


def main():
    pass
"""


@pytest.mark.parametrize(
    "words",
    [
        ("build", "main.mojo", "-o", "taken/program"),
        ("build", "main.mojo", "--bundle", "taken/dist"),
        ("openapi", "main.mojo", "-o", "taken/openapi.json"),
        ("proto", "who.proto", "--out", "taken/messages"),
    ],
    ids=lambda words: words[0] + words[2],
)
def test_nothing_can_be_below_a_file(tmp_path: Path, words) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    (tmp_path / "who.proto").write_text('syntax = "proto3";\nmessage Who {}\n')
    (tmp_path / "taken").write_text("a file")
    result = flare(*words, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("error: ") and "taken" in result.stderr
    assert "Traceback" not in result.stderr and "built" not in result.stderr


@pytest.mark.parametrize("command", ["build", "openapi"])
def test_a_folder_is_no_place_for_a_file(tmp_path: Path, command: str) -> None:
    (tmp_path / "main.mojo").write_text(PROGRAM)
    result = flare(command, "main.mojo", "-o", ".", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("error: ") and "is a folder" in result.stderr


def test_a_file_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anywhere, so the answer of the system is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(CommandError, match="may not write"):
        project.check_output(tmp_path / "program")
    project.check_output(tmp_path / "folder" / "program")
    assert (tmp_path / "folder").is_dir()


def test_a_project_where_nothing_can_be_made(tmp_path: Path) -> None:
    # /proc takes no files, whoever asks.
    result = flare("new", "/proc/shop", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("error: /proc/shop: ")
    assert "Traceback" not in result.stderr


def test_half_a_project_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full behind the first file, as it would be told: without a name."""
    written: list[Path] = []

    def write_text(path: Path, text: str) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        return path.write_bytes(text.encode())

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(OSError, match="No space"):
        new.new(tmp_path / "shop")
    assert written and not (tmp_path / "shop").exists()


@pytest.mark.parametrize(
    "words", [("--version",), ("doctor",), ("completion", "bash"), ("new", "shop")]
)
def test_a_full_disk_is_told_in_a_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        result = flare(*words, cwd=tmp_path, stdout=full)
    assert result.stderr == (
        "error: what is to be written finds no room: No space left on device\n"
    )
    assert result.returncode == 2


@pytest.mark.parametrize(
    "words", [("doctor",), ("dev", "main.mojo", "--page-port", "0"), ("proto", "who.proto")],
    ids=lambda words: words[0],
)
def test_a_machine_without_room_for_temporary_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    """As in a container whose file system is read-only."""
    (tmp_path / "main.mojo").write_text(PROGRAM)
    (tmp_path / "who.proto").write_text('syntax = "proto3";\nmessage Who {}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/nowhere"])
    monkeypatch.setattr(sys, "argv", ["flare", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    shown = capsys.readouterr()
    if words == ("doctor",):
        assert ended.value.code == 1
        assert "problem\ttemporary files\t" in shown.out
        # The rest was looked at all the same.
        assert "\tdescriptors\t" in shown.out
    else:
        assert ended.value.code == 2
        assert shown.err.startswith("error: there is no folder for temporary files")
    assert "TMPDIR" in shown.out + shown.err


@pytest.mark.parametrize("named", ["", "relative"])
def test_a_user_without_a_home_is_told_what_to_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    """As a container has one that runs with a number of its own."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    # What came with the package can still be found.
    assert toolchain.find().objects is not None
    monkeypatch.setattr(sys, "argv", ["flare", "bench", "http://127.0.0.1:1/"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert "name a folder with a full path in XDG_CACHE_HOME" in capsys.readouterr().err
