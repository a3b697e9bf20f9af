"""`flare test`: finds tests, builds a few programs of them, and runs those."""

import time
from pathlib import Path
from typing import Annotated

import typer

from mojo_flare import building, include, project, terminal, toolchain
from mojo_flare.building import Program
from mojo_flare.include import Include
from mojo_flare.outcome import CommandError, ExitCode
from mojo_flare.testing import Outcome, Result, find_tests, run_program, write_program


def test(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Test files, or folders of them.",
            show_default="tests",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only tests with TEXT in them.")
    ] = "",
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.1, help="How long a test may take."
        ),
    ] = 60.0,
    includes: Include = None,
) -> None:
    """Find and run tests.

    A test is a function `def test_...() raises:` in a file test_....mojo; it
    fails if it raises. What it prints is shown only if it fails. A test that
    kills the program, or does not end, fails too, and the others go on.

    Tests are built with the assertions of `debug_assert`, and together, for a
    program takes seconds to build however small it is. Start this from the
    project's folder: that is where imports begin.

    [bold]Examples[/bold]

      flare test

      flare test tests/test_users.mojo -k login
    """
    began = time.monotonic()
    folders = include.checked(includes)
    root = Path.cwd()
    wanted = paths or [Path("tests")]
    tests = [x for x in find_tests(root, wanted) if only in x.name]
    if not tests:
        named = ", ".join(map(str, wanted))
        raise CommandError(
            f"no tests in {named}" + (f" have {only!r} in their names" if only else ""),
            "a test is a function `def test_...() raises:` in a file test_....mojo",
        )
    found = toolchain.find()
    folder = project.work_folder(root) / "tests"
    source = folder / "run_tests.mojo"
    write_program(source, tests)
    options = ("-D", "ASSERT=all", "-I", str(root))
    building.build(
        found,
        Program(source, folder / "run_tests", options, includes=folders),
        f"{len(tests)} {'test' if len(tests) == 1 else 'tests'}",
    )
    results = []
    for result in run_program(folder / "run_tests", tests, timeout_s):
        results.append(result)
        _show(result)
    _conclude(results, time.monotonic() - began)


def _show(result: Result) -> None:
    """Prints a test's name and, if it failed, all that is known of it."""
    passed = result.outcome is Outcome.PASSED
    style = "green" if passed else "bold red"
    terminal.out.print(f"{result.outcome.value:>5}", style=style, end="  ")
    terminal.out.print(result.test.name, end="  " if passed else "\n")
    if passed:
        terminal.out.print(terminal.milliseconds(result.elapsed_s), style="dim")
        return
    for line in result.lines:
        terminal.out.print(f"       {line}")


def _conclude(results: list[Result], elapsed_s: float) -> None:
    """Prints how many passed and failed, and which; ends with the exit code."""
    failed = [x for x in results if x.outcome is not Outcome.PASSED]
    if len(failed) > 1:
        terminal.out.print("\nfailed:")
        for result in failed:
            terminal.out.print(f"  {result.test.name}")
    passed = len(results) - len(failed)
    terminal.out.print(
        f"\n{passed} passed, {len(failed)} failed in {terminal.seconds(elapsed_s)}",
        style="bold red" if failed else "bold green",
    )
    if failed:
        raise typer.Exit(ExitCode.FAILED)
