"""Measures what users wait for: builds after each edit, beside `print("hi")`.

Usage: .venv/bin/python bench/building/run.py [--rounds N] [--whole] [NAME ...]

Each round edits a word of each program and builds it by `flare build`, or runs its
tests by `flare test`; all programs take turns, so that what else a machine does
falls on each of them. Prints medians and leaves build/bench/building.json. The
object is made first if there is none. A round takes two minutes; `--whole` builds
without an object, which takes ten.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tools"))

from toolchain import BUILD, CACHE, MOJO, flare_object  # noqa: E402

FOLDER = BUILD / "bench" / "building"
FLARE = [str(MOJO.parent / "python"), "-m", "mojo_flare"]
ENVIRONMENT = {
    **os.environ,
    "MODULAR_TELEMETRY_ENABLED": "0",
    "PYTHONPATH": str(ROOT / "cli"),
    "XDG_CACHE_HOME": str(CACHE),
}
BASELINE = "print"
PROGRAMS = {
    "hello with a router": "bench/servers/hello.mojo",
    "a client's GET": "bench/building/client_get.mojo",
    "service": "bench/size/service.mojo",
    "WebSocket chat": "examples/28_chat_room.mojo",
    "server-sent events": "examples/21_server_sent_events.mojo",
    "gateway": "examples/37_gateway.mojo",
    "task list": "examples/31_task_list.mojo",
}
TEMPLATES = ("hello", "api", "realtime", "gateway", "grpc")
_MAIN = re.compile(r"^def main\(\)[^\n]*:\n", re.MULTILINE)
_TEST = re.compile(r"^def test_\w+\(\)[^\n]*:\n", re.MULTILINE)


@dataclass
class Build:
    """Something to build again and again."""

    name: str
    file: Path
    """What is edited."""
    command: list[str]
    folder: Path
    within: re.Pattern[str] = _MAIN

    def edit(self, round_: int) -> None:
        """Changes what the program does, by a word."""
        text = self.file.read_text()
        # What the program does not use would leave the compiler nothing to do anew.
        text = re.sub(r'    print\("edit \d+"\)\n', "", text)
        line = f'    print("edit {time.monotonic_ns()}{round_}")\n'
        end = self.within.search(text).end()
        self.file.write_text(text[:end] + line + text[end:])


def builds(extra: list[str]) -> list[Build]:
    """Lays out all programs where they can be edited."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for shared in ("bench", "examples"):
        (FOLDER / shared).symlink_to(ROOT / shared)
    hi = FOLDER / "hi.mojo"
    hi.write_text('def main():\n    print("hi")\n')
    plain = [str(MOJO), "build", "-j", "1", str(hi), "-o", str(FOLDER / "hi")]
    found = [Build(BASELINE, hi, plain, FOLDER)]
    for name, source in PROGRAMS.items():
        original = ROOT / source
        copy = FOLDER / original.name
        shutil.copy2(original, copy)
        command = [*FLARE, "build", *extra, str(copy), "-o", str(copy.with_suffix(""))]
        found.append(Build(name, copy, command, FOLDER))
    for template in TEMPLATES:
        name = f"of-{template}"
        call([*FLARE, "new", name, "--template", template], FOLDER)
        folder = FOLDER / name
        found.append(
            Build(f"template {template}", folder / "main.mojo",
                  [*FLARE, "build", *extra, "-o", "program"], folder)
        )
        test = sorted((folder / "tests").glob("test_*.mojo"))[0]
        if not extra:
            found.append(
                Build(f"template {template}, tests", test, [*FLARE, "test"], folder, _TEST)
            )
    return found


def call(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}")


def measure(build: Build, round_: int) -> tuple[float, float]:
    """Edits and builds; gives CPU seconds and seconds."""
    build.edit(round_)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    call(build.command, build.folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    if not chosen.whole:
        flare_object()
    wanted = [
        build for build in builds(["--whole"] if chosen.whole else [])
        if not chosen.names or build.name in (BASELINE, *chosen.names)
    ]
    seen: dict[str, list[tuple[float, float]]] = {build.name: [] for build in wanted}
    for round_ in range(chosen.rounds):
        for build in wanted:
            seen[build.name].append(measure(build, round_))
    medians = {
        name: [round(statistics.median(column), 2) for column in zip(*rows)]
        for name, rows in seen.items()
    }
    base = medians[BASELINE][0]
    print(f"{'':28} CPU s  more than print      s")
    for name, (cpu, wall) in medians.items():
        print(f"{name:28} {cpu:5.1f} {cpu - base:16.1f} {wall:6.1f}")
    (FOLDER.parent / "building.json").write_text(json.dumps(medians, indent=1) + "\n")


if __name__ == "__main__":
    main()
