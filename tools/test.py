"""Runs the tests: all, or the parts named as arguments.

Parts, quickest first: check (format, layers, style, tests, docs), refusals
(programs that must not build), unit, cross, size (of what the compiler
generates), fuzz, vectors, differential,
simulate (servers in worlds made from seeds), examples, cli (the wheel and the command),
wire-programs, wire, deploy (what is in deploy/); asan and nightly only when named, and changed:
what a change can break first. An argument with a slash is a path: a test file, or a
folder of them.
"""

import importlib.util
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import build_size
import changed
import check_docs
import check_layers
import check_processors
import check_style
import check_tests
import check_unused
import examples
import fuzz as fuzz_targets
import h2spec
import package
import refusals
import simulate
import threads
import unit
from report import Report
from toolchain import BUILD, MBLACK, ROOT, build, environment

# What is compiled for which triple and CPU: all of the library for another system with
# another processor, and for this system with that one what knows processors apart.
CROSS_TARGETS = [
    ("everything", "arm64-apple-macosx14", "apple-m1"),
    ("processors", "aarch64-unknown-linux-gnu", "generic"),
]
# A fast machine looks no further than a slow one: what fails fails on both.
FUZZ_RUNS = 50_000
FUZZ_SECONDS = 10
SIMULATED_SEEDS = 3_000
SIMULATED_SEEDS_NIGHTLY = 100_000
DIFFERENTIAL_INPUTS = 2_000
DIFFERENTIAL_INPUTS_NIGHTLY = 100_000
# Four processes share the files of tests that wait for more than they compute.
TOGETHER = ("-n", "4", "--dist", "loadfile")


def check_format(report: Report) -> None:
    result = subprocess.run(
        [str(MBLACK), "--check", "--include", r"\.mojo$", "."],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode:
        lines = [x for x in result.stdout.splitlines() if x.startswith("would")]
        report.fail("format", "run `make format`\n" + "\n".join(lines))
    else:
        report.passed("format")


def check_tools(report: Report) -> None:
    run_pytest(report, "tests/tools")


def check(report: Report) -> None:
    # The code of the docs is one program, which takes one core.
    report.beside(
        lambda r: (check_sources(r), r.step("tests of the tools", check_tools)),
        lambda r: r.step("docs", check_docs.run),
    )


def check_sources(report: Report) -> None:
    report.step("format", check_format)
    for name, problems in (
        ("layers", check_layers.problems),
        ("style", check_style.problems),
        ("unused code", check_unused.problems),
        ("processors", check_processors.problems),
        ("tests can fail", check_tests.problems),
        ("versions agree", lambda _: package.release_problems()),
    ):
        report.step(name, lambda r: r_problems(r, name, problems(ROOT)))


def r_problems(report: Report, name: str, problems: list[str]) -> None:
    if problems:
        report.fail(name, "\n".join(problems))
    else:
        report.passed(name)


def cross(report: Report) -> None:
    """Type-checks the library for the other platforms. What the compiler makes of it
    for their processors is no business of ours: that is a third of the time."""

    def one(target: tuple[str, str, str]) -> None:
        name, triple, cpu = target
        result = build(
            ROOT / "tools" / "cross" / f"{name}.mojo",
            BUILD / "cross" / f"{triple}.ll",
            "--target-triple",
            triple,
            "--target-cpu",
            cpu,
            "--emit",
            "llvm",
        )
        if result.returncode:
            report.fail(f"cross build for {triple}", result.stdout[-4000:])
        else:
            report.passed(triple)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, CROSS_TARGETS))


def fuzz(report: Report) -> None:
    """Runs every fuzz target for seconds, with the same inputs each time."""
    options = fuzz_targets.Options(FUZZ_SECONDS, seed=1, runs=FUZZ_RUNS)
    fuzz_targets.run(report, options, [])


def module_of(path: Path) -> ModuleType:
    """Loads a file of tests, which is on no path of modules."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def differential(report: Report, count: int, *judges: str) -> None:
    """Compares the parsers with others on so many inputs a subject."""
    program = ROOT / "tests" / "differential" / "differential.py"
    module_of(program).run(report, count, judges)


def vectors(report: Report) -> None:
    runner = ROOT / "tests" / "vectors" / "run_vectors.py"
    if not runner.exists():
        return
    module = module_of(runner)
    passed, _, skipped, failures = module.run()
    report.passed("vectors", passed)
    for failure in failures:
        report.fail("vectors", failure)
    if skipped:
        report.skipped("vectors", "their files are not here", skipped)


def run_pytest(report: Report, folder: str, *options: str) -> None:
    """Runs pytest and counts its results one by one."""
    if not (ROOT / folder.split("::")[0]).exists():
        return
    log = BUILD / f"pytest-{Path(folder).name}.xml"
    log.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x" if "-x" in sys.argv else "-q",
            folder,
            *options,
            f"--junitxml={log}",
            "-p",
            "no:cacheprovider",
        ],
        cwd=ROOT,
        env=environment(),
    )
    import xml.etree.ElementTree as xml

    if not log.exists():
        report.fail(folder, f"pytest ended with {result.returncode}")
        return
    for case in xml.parse(log).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        trouble = case.find("failure") if case.find(
            "failure"
        ) is not None else case.find("error")
        if trouble is not None:
            report.fail(name, trouble.get("message") or "failed")
        elif case.find("skipped") is not None:
            report.skipped(name, case.find("skipped").get("message") or "")
        else:
            report.passed(name)
        report.timed(name, float(case.get("time") or 0))
    if result.returncode not in (0, 1):
        report.fail(folder, f"pytest ended with {result.returncode}")


def wire_programs(report: Report) -> None:
    """Builds the programs that many wire tests share."""
    sys.path.insert(0, str(ROOT / "tests" / "wire"))
    import wire_programs as programs

    if errors := programs.build_all():
        report.fail("programs of the wire tests", "\n".join(errors)[-4000:])
    else:
        report.passed("programs of the wire tests", sum(map(len, programs.TOGETHER)))


def wire(report: Report) -> None:
    run_pytest(report, "tests/wire", *TOGETHER, "-m", "not nightly")


def examples_and_pages(report: Report) -> None:
    """Runs the examples, and the programs of pages that show their output."""
    report.step("examples", examples.run)
    report.step("programs of pages", check_docs.run_programs)


def cli(report: Report) -> None:
    """Tests the wheel and the command, with projects of all templates."""
    run_pytest(report, "tests/cli", *TOGETHER, "-m", "not nightly")


def whole(report: Report) -> None:
    """Runs the wire tests with servers that the library is compiled with."""
    run_pytest(report, "tests/wire", *TOGETHER, "--whole", "-m", "not nightly")


def nightly(report: Report) -> None:
    """Runs what takes minutes."""
    report.step("programs of pages", check_docs.run_programs, True)
    report.step(
        "other parsers", differential, DIFFERENTIAL_INPUTS_NIGHTLY
    )
    report.step(
        "simulator", simulate.run, SIMULATED_SEEDS_NIGHTLY, 1, simulate.CHECKED
    )
    report.step("wire tests, whole", whole)
    h2spec.run(report, list(h2spec.WAYS), [])
    report.step("threads", threads.run)
    for folder in ("tests/wire", "tests/deploy", "tests/cli"):
        report.step(f"nightly tests of {folder}", run_pytest, folder, "-m", "nightly")


def check_changed(report: Report) -> None:
    """Runs the checks, and the tests that what has changed can break first."""
    check_sources(report)
    files = changed.changed_files(ROOT)
    choice = changed.choose(ROOT, files)
    print("changed: " + " ".join(map(str, files)))
    if choice.has_docs:
        report.step("docs", check_docs.run)
    if choice.unit:
        print("unit tests: " + " ".join(map(str, choice.unit)))
        tests = [ROOT / path for path in choice.unit]
        report.step("unit tests", lambda r: unit.run(r, files=tests))
    for path in choice.paths:
        report.step(str(path), run_path, str(path))
    for line in choice.left:
        print(f"left out: {line}")


def deploy(report: Report) -> None:
    """Tries the deployment files with the programs that they are for."""
    run_pytest(report, "tests/deploy", "-m", "not nightly")


PARTS = {
    "check": lambda report: check(report),
    "refusals": lambda report: report.step("refusals", refusals.run),
    "unit": lambda report: report.step("unit tests", unit.run),
    "cross": lambda report: report.step("cross builds", cross),
    "size": lambda report: report.step("build sizes", build_size.run),
    "fuzz": lambda report: report.step("fuzz targets", fuzz),
    "vectors": lambda report: report.step("vectors", vectors),
    "differential": lambda report: report.step(
        "other parsers", differential, DIFFERENTIAL_INPUTS, "Python"
    ),
    "simulate": lambda report: report.step("simulator", simulate.run, SIMULATED_SEEDS),
    "examples": lambda report: examples_and_pages(report),
    "cli": lambda report: report.step("package and command", cli),
    "wire-programs": lambda report: report.step(
        "programs of the wire tests", wire_programs
    ),
    "wire": lambda report: report.step("wire tests", wire),
    "deploy": lambda report: report.step("deployment files", deploy),
    "nightly": lambda report: nightly(report),
    "asan": lambda report: report.step("unit tests under ASan", unit.run, True),
    "changed": lambda report: check_changed(report),
}


SELDOM = ("nightly", "asan", "changed")
# What is built and run beside the unit tests, one program that takes longest to build,
# and behind them: begun in this order, with what others need first.
BUILT = (
    "wire-programs", "check", "refusals", "size", "fuzz", "vectors", "differential",
    "examples", "cross", "simulate", "cli",
)  # fmt: skip
# What talks to servers waits for more than it computes, and judges what comes late.
SERVED = ("wire", "deploy")
BUILD_NICENESS = 10


def run_path(report: Report, path: str) -> None:
    """Runs the tests below a path; there must be some."""
    before = (report.pass_count, report.skip_count, len(report.failures))
    if not (ROOT / path.split("::")[0]).exists():
        report.fail(path, "there is no such file or folder")
    elif path.startswith(
        ("tests/wire", "tests/deploy", "tests/tools", "tests/cli")
    ):
        run_pytest(report, path)
    elif path.startswith("tests/compile"):
        refusals.run(report, path)
    elif path.startswith("examples"):
        examples.run(report, path)
    else:
        unit.run(report, below=path)
    if before == (report.pass_count, report.skip_count, len(report.failures)):
        report.fail(path, "there are no tests")


def run_all(report: Report) -> None:
    """Runs all parts, on three lanes at once: what takes longest; what stands back
    for the others, with which the first lane helps when it is done; and tests with
    servers, as soon as their programs are there."""
    can_serve = threading.Event()
    # Each part is taken by one of the two lanes.
    waiting = iter(BUILT)

    def build_others(report: Report) -> None:
        # On Linux it is this thread's, and that of what it starts.
        if sys.platform == "linux":
            os.nice(BUILD_NICENESS)
        for name in waiting:
            try:
                PARTS[name](report)
            finally:
                if name == "wire-programs":
                    can_serve.set()

    def build_unit(report: Report) -> None:
        PARTS["unit"](report)
        build_others(report)

    def serve(report: Report) -> None:
        can_serve.wait()
        for name in SERVED:
            PARTS[name](report)

    report.beside(build_unit, build_others, serve)


def main() -> int:
    named = [argument for argument in sys.argv[1:] if argument != "-x"]
    for name in named:
        if name not in PARTS and ("/" not in name or name.startswith("-")):
            print(
                f"test: there is no part '{name}'; name parts or paths, or"
                " nothing for all, and -x to stop at the first failure of"
                f" pytest; parts are {', '.join(PARTS)}"
            )
            return 2
    report = Report()
    if not named:
        run_all(report)
    for name in named:
        if name in PARTS:
            PARTS[name](report)
        else:
            report.step(name, run_path, name)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
