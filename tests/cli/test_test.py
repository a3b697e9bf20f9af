"""`flare test`: every test is told by name, also one that ends the program."""

from pathlib import Path

import pytest

TESTS = '''from std.os import abort
from std.testing import assert_equal
from std.time import sleep


def test_passes() raises:
    print("unseen")
    assert_equal(1, 1)


def test_needs_no_raises():
    pass


def test_fails() raises:
    print("seen")
    print("PASS 1")
    assert_equal(1, 2)


def test_aborts() raises:
    abort("on purpose")


def test_goes_on_after_an_abort() raises:
    assert_equal(2, 2)


def test_hangs() raises:
    sleep(900)


def test_asserts() raises:
    debug_assert(False, "must hold")


def test_exits() raises:
    from std.sys import exit

    exit(0)


def helper() raises:
    assert_equal(1, 2)
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tests that end in all ways, also below a folder."""
    folder = tmp_path_factory.mktemp("tests")
    (folder / "tests" / "deep-er").mkdir(parents=True)
    (folder / "tests" / "test_ends.mojo").write_text(TESTS)
    (folder / "tests" / "deep-er" / "test_more.mojo").write_text(
        "def test_more() raises:\n    pass\n"
    )
    (folder / "tests" / "other.mojo").write_text("def test_no_file_of_tests():\n    x\n")
    return folder


def test_each_outcome_is_told_by_name(flare, folder: Path) -> None:
    # By itself one would take a quarter of an hour, and `flare` has less.
    done = flare(folder, "test", "--timeout", "2")
    assert done.returncode == 1
    ends = "tests/test_ends.mojo::test_"
    wanted = [
        ("ok", "tests/deep-er/test_more.mojo::test_more"),
        ("ok", f"{ends}passes"),
        ("ok", f"{ends}needs_no_raises"),
        ("FAIL", f"{ends}fails"),
        ("DIED", f"{ends}aborts"),
        ("ok", f"{ends}goes_on_after_an_abort"),
        ("HUNG", f"{ends}hangs"),
        ("DIED", f"{ends}asserts"),
        ("DIED", f"{ends}exits"),
    ]
    told = [
        tuple(line.split()[:2])
        for line in done.stdout.split("\nfailed:\n")[0].splitlines()
        if line.startswith(("   ok  ", " FAIL  ", " DIED  ", " HUNG  "))
    ]
    assert told == wanted
    assert "on purpose" in done.stdout and "must hold" in done.stdout
    assert "did not end in 2 s" in done.stdout
    assert "unseen" not in done.stdout
    failure = done.stdout.split("test_fails")[1].split("DIED")[0]
    assert "seen" in failure and "AssertionError" in failure
    assert "test_ends.mojo:18:" in failure
    assert "4 passed, 5 failed in " in done.stdout.splitlines()[-1]


def test_only_some_are_run(flare, folder: Path) -> None:
    done = flare(folder, "test", "tests/test_ends.mojo", "-k", "goes_on")
    assert done.returncode == 0
    assert "1 passed, 0 failed" in done.stdout


@pytest.mark.parametrize("words, reason", [
    (["nothing"], "there is no file or folder nothing"),
    (["tests/deep-er", "-k", "absent"], "no tests in tests/deep-er have 'absent'"),
    (["tests/other.mojo", "-k", "absent"], "no tests in tests/other.mojo"),
    (["/"], "is not in"),
])
def test_what_is_no_test_is_told(
    flare, folder: Path, words: list[str], reason: str
) -> None:
    outside = folder.parent / "test_outside.mojo"
    outside.write_text("def test_x() raises:\n    pass\n")
    if words == ["/"]:
        words = [str(outside)]
    done = flare(folder, "test", *words)
    assert done.returncode == 2
    assert reason in " ".join(done.stdout.split())


def test_what_is_no_utf_8_is_left_to_the_compiler(flare, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    octets = b"def test_x() raises:\n    pass  # \xff\n"
    (tmp_path / "tests" / "test_octets.mojo").write_bytes(octets)
    done = flare(tmp_path, "test", "-k", "absent")
    assert done.returncode == 2
    assert "no tests in tests have 'absent' in their names" in done.stdout


def test_a_test_that_does_not_compile_ends_with_4(flare, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    broken = tmp_path / "tests" / "test_broken.mojo"
    broken.write_text("def test_x() raises:\n    y()\n")
    done = flare(tmp_path, "test")
    assert done.returncode == 4
    assert "tests/test_broken.mojo:2:5: error: " in done.stdout
    assert ".flare" not in done.stdout
