"""Traces of the compiler, shortened to what the library says of the user's line."""

from pathlib import Path

import pytest

from mojo_flare.building import error_count, show_diagnostics
from mojo_flare.dev.build import diagnostics
from mojo_flare.instantiation import shortened
from mojo_flare.toolchain import Toolchain

SENTENCE = "Endpoint Show: field 'id' is of type Int, which is no input"


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """A compiler in an environment within the project, the working directory."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / ".venv" / "modular"
    (root / "lib" / "mojo" / "flare").mkdir(parents=True)
    return Toolchain(root)


def trace(check: str, said: str = SENTENCE) -> str:
    """What the compiler says if the check in a file refuses a type."""
    library = ".venv/modular/lib/mojo/flare"
    return f"""\
main.mojo:9:5: error: function instantiation failed
def main() raises:
    ^
main.mojo:12:18: note: call expansion failed
    serve(routes())
                ^
Included from main.mojo:1:
app/routes.mojo:4:5: note: function instantiation failed
def routes() raises -> Router:
    ^
Included from main.mojo:1:
app/routes.mojo:6:34: note: call expansion failed with parameter value(s): (...)
    router.get("/", Guard(Extracted[Show]()))
                                 ^
Included from main.mojo:1:
Included from {library}/http/__init__.mojo:28:
{library}/http/routing/any_handler.mojo:88:9: note: function instantiation failed
    def __init__[H: Handler](out self, var handler: H):
        ^
{library}/http/routing/any_handler.mojo:62:43: note: call expansion failed
    handler.unsafe_bitcast[H]()[].describe(operation)
                                          ^
app/guard.mojo:2:8: note: call expansion failed with parameter value(s): (...)
Included from {library}/http/__init__.mojo:66:
{check}:187:9: note: constraint failed: {said}
        comptime assert PROBLEM.byte_length() == 0, PROBLEM
        ^
.venv/modular/bin/mojo: error: failed to run the pass manager
"""


CHECK = ".venv/modular/lib/mojo/flare/http/extract/endpoint.mojo"
SHORT = f"""\
app/routes.mojo:6:34: error: {SENTENCE}
    router.get("/", Guard(Extracted[Show]()))
                                 ^
main.mojo:12:18: note: called from here
    serve(routes())
                ^"""


def test_a_refusal_stands_at_the_innermost_line_of_the_user(
    toolchain: Toolchain,
) -> None:
    assert shortened(trace(CHECK), toolchain) == SHORT


def test_paths_may_be_absolute(toolchain: Toolchain, tmp_path: Path) -> None:
    said = trace(f"{tmp_path}/{CHECK}").replace("app/", f"{tmp_path}/app/")
    assert shortened(said, toolchain) == SHORT


def test_a_library_that_was_compiled_before_is_the_library(
    toolchain: Toolchain,
) -> None:
    """What is compiled once names its sources from the folder that they were in,
    and the compiler has no lines of them to show."""
    said = """\
main.mojo:9:5: error: function instantiation failed
def main() raises:
    ^
main.mojo:12:18: note: call expansion failed with parameter value(s): (...)
    serve(routes())
                ^
app/routes.mojo:4:5: note: function instantiation failed
def routes() raises -> Router:
    ^
app/routes.mojo:6:34: note: call expansion failed with parameter value(s): (...)
    router.get("/", Guard(Extracted[Show]()))
                                 ^
flare/http/handler/any_handler.mojo:205:9: note: function instantiation failed
flare/http/handler/any_handler.mojo:207:9: note: constraint failed: {said}
.venv/modular/bin/mojo: error: failed to run the pass manager
""".replace("{said}", SENTENCE)
    assert shortened(said, toolchain) == SHORT


def test_a_package_of_the_users_of_the_same_name_is_no_library(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    check = tmp_path / "flare" / "check.mojo"
    check.parent.mkdir()
    check.touch()
    said = trace("flare/check.mojo")
    assert shortened(said, toolchain) == said


def test_the_same_refusal_is_told_once(toolchain: Toolchain) -> None:
    assert shortened(trace(CHECK) + trace(CHECK), toolchain) == SHORT


def test_different_refusals_are_all_told(toolchain: Toolchain) -> None:
    told = shortened(trace(CHECK) + trace(CHECK, "another"), toolchain)
    assert told == SHORT + "\n" + SHORT.replace(SENTENCE, "another")


def test_programs_that_the_command_writes_are_no_lines_of_the_user(
    toolchain: Toolchain,
) -> None:
    said = trace(CHECK).replace("main.mojo", ".flare/tests/run_tests.mojo")
    assert shortened(said, toolchain) == SHORT.partition("\nmain.mojo")[0]


def test_errors_before_and_behind_stay(toolchain: Toolchain) -> None:
    error = "app/a.mojo:1:1: error: expected a name\n    ?\n    ^"
    told = shortened(f"{error}\n{trace(CHECK)}{error}\n", toolchain)
    assert told == f"{error}\n{SHORT}\n{error}"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(trace("app/checks.mojo"), id="refused by the user's"),
        pytest.param(trace(".venv/modular/lib/mojo/std/x.mojo"), id="by Mojo's"),
        pytest.param(trace(CHECK).replace("constraint failed: ", ""), id="no refusal"),
        pytest.param("main.mojo:1:1: error: no trace\n", id="no trace"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_refusal_of_the_library_stays_whole(
    toolchain: Toolchain, said: str
) -> None:
    assert shortened(said, toolchain) == said


def test_how_the_compiler_ends_is_neither_shown_nor_counted(
    toolchain: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    said = trace("app/checks.mojo")
    assert "failed to run the pass manager" in said
    assert error_count(said) == "1 error"
    show_diagnostics(said)
    told = "".join(capsys.readouterr())
    assert "function instantiation failed" in told
    assert "pass manager" not in told


def test_paths_are_short_but_lines_of_the_source_are_as_they_stand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands below a line marks its columns."""
    monkeypatch.chdir(tmp_path)
    source = f'    open("{tmp_path}/notes.txt").rea()'
    marks = " " * source.index("rea") + "~~~"
    said = [
        f"Imported from {tmp_path}/main.mojo:3:",
        f"{tmp_path}/app/a.mojo:2:9: error: no attribute 'rea'",
        source,
        marks,
    ]
    show_diagnostics("\n".join(said))
    assert capsys.readouterr().err.splitlines() == [
        "Imported from main.mojo:3:",
        "app/a.mojo:2:9: error: no attribute 'rea'",
        source,
        marks,
    ]
    assert [(each.place, each.excerpt) for each in diagnostics("\n".join(said))] == [
        ("app/a.mojo:2:9", [source, marks])
    ]


def test_the_page_of_flare_dev_shows_each_place_with_its_own_line() -> None:
    said = """\
app/a.mojo:1:1: error: first
    ?
Imported from main.mojo:3:
app/a.mojo:2:1: error: second
"""
    assert [each.excerpt for each in diagnostics(said)] == [["    ?"], []]
