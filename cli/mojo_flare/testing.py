"""Tests in Mojo: found by their names, put into one program, run one by one.

The program prints the name of a test before it runs it. So the one that kills
it is known, and the program is started again behind that one.
"""

import os
import queue
import re
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from mojo_flare.outcome import CommandError

_TEST = re.compile(r"^def (test_\w+)\(\)", re.MULTILINE)
_RUNNER = '''"""Runs tests, beginning with the one whose number is the first argument.

The second begins each line that is not a test's own.
"""

from std.sys import argv
from std.time import perf_counter_ns
{imports}


def _run[name: StaticString, test: def() raises thin -> None](mark: String):
    print("\\n", mark, "RUN ", name, sep="", flush=True)
    var began = perf_counter_ns()
    try:
        test()
        var elapsed = perf_counter_ns() - began
        print("\\n", mark, "PASS ", elapsed, sep="", flush=True)
    except error:
        var elapsed = perf_counter_ns() - began
        print(error, "\\n", mark, "FAIL ", elapsed, sep="", flush=True)


def main() raises:
    var first = Int(String(argv()[1]))
    var mark = String(argv()[2])
{calls}
'''


@dataclass(frozen=True)
class Test:
    """One test function."""

    file: Path
    """Where it stands, from the project's folder."""
    function: str

    @property
    def name(self) -> str:
        return f"{self.file}::{self.function}"

    @property
    def module(self) -> str:
        return ".".join(f"`{part}`" for part in self.file.with_suffix("").parts)


class Outcome(Enum):
    """What became of a test, as it is printed."""

    PASSED = "ok"
    FAILED = "FAIL"
    DIED = "DIED"
    HUNG = "HUNG"


@dataclass
class Result:
    """A test's outcome, and what it printed and raised."""

    test: Test
    outcome: Outcome
    lines: list[str]
    elapsed_s: float


def find_tests(root: Path, paths: list[Path]) -> list[Test]:
    """Finds the tests in files and below folders, all within the project."""
    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise CommandError(
                f"there is no file or folder {path}",
                "start this from the project's folder, or name where the tests are",
            )
        found = sorted(path.rglob("test_*.mojo")) if path.is_dir() else [path]
        for file in found:
            files[_inside(root, file)] = None
    return [
        Test(file, function)
        for file in files
        for function in _TEST.findall((root / file).read_text(errors="replace"))
    ]


def _inside(root: Path, file: Path) -> Path:
    try:
        return file.resolve().relative_to(root.resolve())
    except ValueError:
        raise CommandError(
            f"{file} is not in {root}",
            "start this from the folder that the tests' imports begin at",
        ) from None


def write_program(path: Path, tests: list[Test]) -> None:
    """Writes the program that runs tests."""
    imports, calls = [], []
    for number, test in enumerate(tests):
        imports.append(f"from {test.module} import {test.function} as t{number}")
        calls.append(f'    if first <= {number}:\n        _run["{test.name}", t{number}](mark)')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _RUNNER.format(imports="\n".join(imports), calls="\n".join(calls))
    )


def run_program(
    binary: Path, tests: list[Test], timeout_s: float, folder: Path | None = None
) -> Iterator[Result]:
    """Runs tests to the last one, going on behind those that end the program.

    Args:
        binary: The program.
        tests: Its tests, in order.
        timeout_s: How long each may take.
        folder: Where it is run, if not here.
    """
    first = 0
    while first < len(tests):
        # A word that no test can know: what tests print is not taken for ours.
        mark = f"{secrets.token_hex(8)} "
        run = _Run([str(binary), str(first), mark], timeout_s, folder)
        try:
            yield from run.results(tests[first:])
        finally:
            run.close()
        first += run.count


class _Run:
    """One start of the program."""

    def __init__(
        self, command: list[str], timeout_s: float, folder: Path | None
    ) -> None:
        self.count = 0
        self._mark = command[-1]
        self._timeout_s = timeout_s
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Also what a test has started must end with it.
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def results(self, tests: list[Test]) -> Iterator[Result]:
        """Gives the results of tests, until the program ends."""
        for test in tests:
            result = self._one(test)
            self.count += 1
            yield result
            if result.outcome in (Outcome.DIED, Outcome.HUNG):
                return

    def close(self) -> None:
        """Ends the program and what it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _one(self, test: Test) -> Result:
        """Follows one test to its end, or the program's."""
        began = time.monotonic()
        deadline = began + self._timeout_s
        lines: list[str] = []

        def result(outcome: Outcome, elapsed_s: float = self._timeout_s) -> Result:
            while lines and not lines[-1]:
                lines.pop()
            return Result(test, outcome, lines, elapsed_s)

        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                lines.append(f"did not end in {self._timeout_s:g} s")
                return result(Outcome.HUNG)
            if line is None:
                lines.append(self._death())
                return result(Outcome.DIED, time.monotonic() - began)
            if not line.startswith(self._mark):
                lines.append(line)
                continue
            word, _, rest = line.removeprefix(self._mark).partition(" ")
            if word in ("PASS", "FAIL"):
                outcome = Outcome.PASSED if word == "PASS" else Outcome.FAILED
                return result(outcome, int(rest) / 1e9)
            lines.clear()

    def _death(self) -> str:
        """Says how the program ended."""
        code = self._process.wait()
        if code >= 0:
            return f"the program ended with exit code {code}"
        return f"the program was killed by {signal.Signals(-code).name}"
