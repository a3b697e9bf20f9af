"""Runs the unit tests: finds them, batches them into a few programs, runs those.

A Mojo program costs seconds to build however small it is, and compiles what it
reaches of the library, which is nearly all: so all tests go into one generated main,
or into a few with ASan. Each prints the name of a test before it runs it: if the
program dies, the test that killed it is known, and the rest runs without it.
"""

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import shares
from report import Report
from toolchain import ASAN_ENVIRONMENT, BUILD, ROOT, asan_options, build, environment

BATCH_COUNT = 1
# What ASan adds makes the compiler's time grow faster than the program.
ASAN_BATCH_COUNT = 24
TEST_TIMEOUT_S = 300
TEST = re.compile(r"^def (test_\w+)\(\)", re.MULTILINE)
# What must hold is asserted (`debug_assert`), and tests count on it.
ASSERTIONS = ["-D", "ASSERT=all"]
# The compiler looks for what is called from the module's start on, once for each call:
# packages stand in the order of their imports, and what is called once comes last.
FIRST_IMPORT = "from flare.bytes.buffer import Buffer as first"
# They judge resident memory, and the sanitizer keeps what is freed.
NOT_UNDER_ASAN = {
    "test_few_streams_of_deflate_are_kept",
    "test_hundred_starts_and_stops_leave_nothing",
}


def find_tests(below: str) -> dict[Path, list[str]]:
    """Finds the test functions of every test file, or of those below a path."""
    skipped = {ROOT / "tests" / "wire", ROOT / "tests" / "vectors"}
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.mojo")):
        inside = path.relative_to(ROOT).is_relative_to(below)
        if inside and not skipped.intersection(path.parents):
            found[path] = TEST.findall(path.read_text())
    return found


def write_main(path: Path, files: list[Path], tests: dict) -> list[str]:
    """Writes the main of a batch; gives the names of its tests in order."""
    imports = [FIRST_IMPORT, "from std.sys import argv, exit"]
    calls, names = [], []
    for file in files:
        relative = file.relative_to(ROOT)
        module = ".".join(relative.with_suffix("").parts)
        for test in tests[file]:
            alias = f"t{len(names)}"
            imports.append(f"from {module} import {test} as {alias}")
            name = f"{relative}::{test}"
            calls.append(
                f'    if first <= {len(names)}: _run("{name}", {alias})'
            )
            names.append(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(imports)
        + "\n\ndef _run(name: StringSpan, test: def() raises thin -> None):\n"
        + '    print("RUN", name, flush=True)\n'
        + "    try:\n        test()\n"
        + '        print("PASS", name, flush=True)\n'
        + '    except error:\n        print("FAIL", name, flush=True)\n'
        + "        print(error, flush=True)\n"
        + "\ndef main() raises:\n"
        + "    var first = Int(String(argv()[1]))\n"
        + "\n".join(calls)
        + '\n    print("END", flush=True)\n'
    )
    return names


def run_batch(binary: Path, names: list[str], report: Report) -> None:
    """Runs a batch to its end, going on behind a test that kills it."""
    first = 0
    while first < len(names):
        try:
            result = subprocess.run(
                [str(binary), str(first)],
                cwd=ROOT,
                env=environment() | ASAN_ENVIRONMENT,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TEST_TIMEOUT_S,
                errors="replace",
            )
            output, code = result.stdout, result.returncode
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode(errors="replace")
            code = "no end"
        last = read_output(output, report)
        if output.rstrip().endswith("END") and code == 0:
            return
        if "\nEND" in output:
            report.fail(f"{binary.name} (at exit)", output[-3000:])
            return
        if last is None:
            report.fail(
                f"{binary.name}", f"ended with {code}:\n{output[-3000:]}"
            )
            return
        report.fail(last, f"killed the program ({code}):\n{output[-3000:]}")
        first = names.index(last) + 1


def read_output(output: str, report: Report) -> str | None:
    """Counts results; gives the test that was running at the end, if any."""
    running, failed, message = None, None, []
    for line in output.splitlines():
        word, _, name = line.partition(" ")
        if word in ("RUN", "PASS", "FAIL", "END") and failed:
            report.fail(failed, "\n".join(message))
            failed, message = None, []
        if word == "RUN":
            running = name
        elif word == "PASS":
            report.passed(name)
            running = None
        elif word == "FAIL":
            failed, running = name, None
        elif failed:
            message.append(line)
    if failed:
        report.fail(failed, "\n".join(message))
    return running


def run(
    report: Report,
    asan: bool = False,
    below: str = "tests",
    files: list[Path] | None = None,
) -> None:
    """Builds and runs the unit tests: all, those below a path, or some files."""
    tests = find_tests(below)
    if files is not None:
        tests = {path: tests[path] for path in files}
    if asan:
        for names in tests.values():
            names[:] = [name for name in names if name not in NOT_UNDER_ASAN]
    folder = BUILD / ("asan" if asan else "unit")
    batches = shares(tests, ASAN_BATCH_COUNT if asan else BATCH_COUNT)
    options = [*ASSERTIONS, *(asan_options(folder) if asan else ())]

    def one(index: int) -> None:
        source = folder / f"batch_{index}.mojo"
        names = write_main(source, batches[index], tests)
        binary = folder / f"batch_{index}"
        began = time.monotonic()
        result = build(source, binary, *options)
        report.timed(f"build {binary.name}", time.monotonic() - began)
        print(f"  {binary.name}: built, {len(names)} tests", flush=True)
        if result.returncode != 0:
            report.fail(f"build of {binary.name}", result.stdout[-6000:])
            return
        began = time.monotonic()
        run_batch(binary, names, report)
        report.timed(f"run {binary.name}", time.monotonic() - began)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(len(batches))))
