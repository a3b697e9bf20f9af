"""How programs are built as one."""

import subprocess

import pytest
from programs import build_together

ONE = 'def main() raises:\n    print("one")\n'
TWO = """from std.sys import argv


def main():
    print("two", argv()[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two programs in one file, and those who call it by other names."""
    root = tmp_path_factory.mktemp("programs")
    (root / "1_one.mojo").write_text(ONE)
    (root / "two.mojo").write_text(TWO)
    programs = {
        root / "1_one": root / "1_one.mojo",
        root / "two-5f": root / "two.mojo",
    }
    result = build_together(programs, root / "both")
    assert result.returncode == 0, result.stdout
    return root


@pytest.mark.parametrize(
    ("command", "status", "output"),
    [
        (["./1_one"], 0, "one\n"),
        (["./two-5f", "words"], 0, "two words\n"),
        (["./both"], 1, ""),
    ],
)
def test_the_name_of_the_file_says_which_runs(folder, command, status, output):
    result = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert (result.returncode, result.stdout) == (status, output)


def test_an_error_points_into_the_program(tmp_path):
    binary = tmp_path / "one"
    binary.write_text("old")
    source = tmp_path / "one.mojo"
    source.write_text(ONE.replace("print", "prnt"))
    result = build_together({binary: source}, tmp_path / "all")
    assert result.returncode != 0
    assert "one.mojo:2:5: error" in result.stdout
    # Nothing of an earlier build is taken for it.
    assert not binary.exists()
