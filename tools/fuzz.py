"""Builds the fuzz targets and runs each: tools/fuzz.py [--seconds N] [NAME...].

A target that fails leaves the guilty input under fuzz/crashes/NAME/, and the
output says how to replay it. `make test` runs the same with a fixed seed. With
--guided, inputs that reach a branch for the first time are changed further, and kept
under build/fuzz/found/NAME, where the next guided run begins; that needs Linux on
x86-64, `cc` and `objdump`.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cover
from arguments import natural, positive
from branches import write_branches
from programs import build_and_run
from report import Report
from toolchain import BUILD, ROOT, environment

FOLDER = BUILD / "fuzz"
CRASHES = ROOT / "fuzz" / "crashes"
# What all targets share is made by the first that asks.
MAKING = threading.Lock()
# The engine ends a hanging input after 30 seconds of its own.
GRACE_S = 120


@dataclass(frozen=True)
class Options:
    """How long to look, with which sequence of inputs, and how far in it (0: no bound)."""

    seconds: int
    seed: int
    runs: int = 0
    is_guided: bool = False


def targets(names: list[str]) -> list[Path]:
    """Lists the targets, or those named; raises ValueError for a name of none."""
    found = {path.stem[5:]: path for path in sorted((ROOT / "fuzz").glob("fuzz_*.mojo"))}
    wanted = {name.removeprefix("fuzz_") for name in names}
    for name in sorted(wanted - found.keys()):
        raise ValueError(f"there is no target {name}; name some of {', '.join(found)}")
    return [path for name, path in found.items() if not names or name in wanted]


def keep_input(name: str) -> Path | None:
    """Copies what made a target fail; None if it left nothing."""
    for suffix in (".crash", ".last"):
        left = FOLDER / (name + suffix)
        if left.exists():
            digest = hashlib.sha256(left.read_bytes()).hexdigest()[:16]
            kept = CRASHES / name / (digest + suffix)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(left, kept)
            return kept
    return None


def engine_name(source: Path) -> str:
    """Reads the name that a target gives its input files."""
    found = re.search(r"fuzz_main\(\s*\"(\w+)\"", source.read_text())
    return found[1] if found else source.stem.removeprefix("fuzz_")


@cache
def traps(folder: Path) -> Path:
    """Builds what is loaded into the programs, once."""
    return cover.traps(folder)


@cache
def branches_of(number: int, program: Path) -> tuple[Path, int]:
    """Finds the branches of a program by the number of its file, once for all
    targets in it."""
    path = FOLDER / f"{number}.branches"
    return path, write_branches(program, path)


def guide(source: Path) -> tuple[list[str], dict[str, str]]:
    """Gives the options and the environment by which a target is guided."""
    program = FOLDER / source.stem
    with MAKING:
        path, count = branches_of(program.stat().st_ino, program)
        loaded = traps(FOLDER)
    hits = FOLDER / f"{source.stem}.hits"
    hits.write_bytes(bytes((count + 7) // 8 * 8 + 8))
    found = FOLDER / "found" / engine_name(source)
    return ["--hits", str(hits), "--found", str(found)], {
        "LD_PRELOAD": str(loaded),
        "COVERAGE_ADDRESSES": str(path),
        "COVERAGE_HITS": str(hits),
    }


def run_target(source: Path, options: Options, report: Report) -> None:
    """Runs one target that is built, and keeps the input of a failure."""
    name = engine_name(source)
    (FOLDER / f"{name}.crash").unlink(missing_ok=True)
    command = [str(FOLDER / source.stem), "--seed", str(options.seed)]
    command += ["--seconds", str(options.seconds), "--runs", str(options.runs)]
    corpus = ROOT / "fuzz" / "corpus" / name
    if corpus.is_dir():
        command += ["--corpus", str(corpus)]
    more, variables = guide(source) if options.is_guided else ([], {})
    try:
        outcome = subprocess.run(
            command + more,
            cwd=ROOT,
            env={**environment(), **variables},
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=options.seconds + GRACE_S,
        )
        output, status = outcome.stdout, f"status {outcome.returncode}"
    except subprocess.TimeoutExpired:
        output, status = "", "no end"
    if status == "status 0":
        report.passed(source.name)
        lines = output.strip().splitlines() or ["clean"]
        print(f"  {source.stem}: {lines[-1]}", flush=True)
        return
    message = f"seed {options.seed}, {status}\n{output[-3000:]}"
    if kept := keep_input(name):
        place = kept.relative_to(ROOT)
        message += f"\nreplay: build/fuzz/{source.stem} --replay {place}"
    report.fail(source.name, message)


def run(report: Report, options: Options, names: list[str]) -> None:
    """Builds the targets as one, and runs them, two at a time."""
    build_and_run(
        "fuzz targets",
        targets(names),
        FOLDER,
        lambda source: run_target(source, options, report),
        report,
    )


def main() -> int:
    """Reads the options; without a seed each run looks elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="targets; all if none")
    parser.add_argument("--seconds", type=positive, default=60)
    parser.add_argument("--runs", type=natural, default=0, help="inputs of each; 0: no bound")
    parser.add_argument("--guided", action="store_true", help="by branches reached")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    given = parser.parse_args()
    try:
        targets(given.names)
    except ValueError as error:
        parser.error(str(error))
    report = Report()
    options = Options(given.seconds, given.seed, given.runs, given.guided)
    report.step("fuzz targets", run, options, given.names)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
