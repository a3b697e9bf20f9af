"""Builds the fuzz targets and runs each: tools/fuzz.py [--seconds N] [NAME...].

A target that fails leaves the guilty input under fuzz/crashes/NAME/, and the
output says how to replay it. `make test` runs the same with a fixed seed.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from programs import build_and_run
from report import Report
from toolchain import BUILD, ROOT, environment

FOLDER = BUILD / "fuzz"
CRASHES = ROOT / "fuzz" / "crashes"
# The engine ends a hanging input after 30 seconds of its own.
GRACE_S = 120


@dataclass(frozen=True)
class Options:
    """How long to look, with which sequence of inputs, and how far in it (0: no bound)."""

    seconds: int
    seed: int
    runs: int = 0


def targets(names: list[str]) -> list[Path]:
    """Lists the targets, or those named."""
    found = sorted((ROOT / "fuzz").glob("fuzz_*.mojo"))
    return [
        path
        for path in found
        if not names or path.stem in names or path.stem[5:] in names
    ]


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


def run_target(source: Path, options: Options, report: Report) -> None:
    """Runs one target that is built, and keeps the input of a failure."""
    name = engine_name(source)
    (FOLDER / f"{name}.crash").unlink(missing_ok=True)
    command = [str(FOLDER / source.stem), "--seed", str(options.seed)]
    command += ["--seconds", str(options.seconds), "--runs", str(options.runs)]
    corpus = ROOT / "fuzz" / "corpus" / name
    if corpus.is_dir():
        command += ["--corpus", str(corpus)]
    try:
        outcome = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
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
    """Builds and runs the targets, two at a time."""
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
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    given = parser.parse_args()
    report = Report()
    options = Options(given.seconds, given.seed)
    report.step("fuzz targets", run, options, given.names)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
