"""Builds and runs the examples, and compares what they print.

Each names it in its header, behind `# Expected output:`; a `*` matches anything.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from programs import build_and_run
from report import Report
from toolchain import BUILD, ROOT, environment

TIMEOUT_S = 60
START_TIMEOUT_S = 10
NEEDS = re.compile(r"^# Needs: (\S+)$", re.MULTILINE)
FOLDER = BUILD / "examples"


def expected_output(text: str) -> list[str]:
    """Reads the expected output from an example's header."""
    lines = text.splitlines()
    if "# Expected output:" not in lines:
        raise ValueError("its header has no `# Expected output:`")
    expected = []
    for line in lines[lines.index("# Expected output:") + 1 :]:
        if line != "#" and not line.startswith("#   "):
            break
        expected.append(line[4:])
    # The blank lines at the end of what it prints are not compared either.
    while expected and not expected[-1]:
        expected.pop()
    return expected


def matches(wanted: list[str], got: list[str]) -> bool:
    """Compares lines; a `*` in what is wanted matches anything."""
    if len(wanted) != len(got):
        return False
    patterns = [re.escape(line).replace(r"\*", ".*") for line in wanted]
    return all(re.fullmatch(p, line) for p, line in zip(patterns, got))


@contextmanager
def redis_server() -> Iterator[list[str]]:
    """Runs a Redis server of one's own; gives the example's arguments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        server = subprocess.Popen(
            [
                *("redis-server", "--port", "0", "--save", ""),
                *("--dir", folder, "--unixsocket", str(path)),
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            end = time.monotonic() + START_TIMEOUT_S
            while not path.exists():
                if server.poll() is not None or time.monotonic() > end:
                    raise OSError("redis-server does not start")
                time.sleep(0.01)
            yield [f"redis+unix://{path}"]
        finally:
            server.kill()
            server.wait()


SERVERS = {"redis-server": redis_server}


def run_one(binary: Path, wanted: list[str], *arguments: str) -> str:
    """Runs an example; says what is wrong with what it prints, if anything."""
    try:
        outcome = subprocess.run(
            [str(binary), *arguments],
            cwd=ROOT,
            env=environment(),
            text=True,
            errors="replace",
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"did not end by itself in {TIMEOUT_S} s"
    got = outcome.stdout.rstrip("\n").splitlines()
    if outcome.returncode == 0 and matches(wanted, got):
        return ""
    lines = [f"exit {outcome.returncode}; wanted:", *wanted, "got:", *got]
    return "\n".join([*lines, outcome.stderr])


def check(source: Path, report: Report) -> None:
    """Runs one that is built."""
    text = source.read_text()
    try:
        wanted = expected_output(text)
    except ValueError as error:
        report.fail(source.name, str(error))
        return
    need = NEEDS.search(text)
    if need and not shutil.which(need[1]):
        report.skipped(source.name, f"{need[1]} is not here: apt-get install {need[1]}")
        return
    with SERVERS[need[1]]() if need else nullcontext([]) as arguments:
        trouble = run_one(FOLDER / source.stem, wanted, *arguments)
    if trouble:
        report.fail(source.name, trouble)
    else:
        report.passed(source.name)
        print(f"  {source.name}: as expected", flush=True)


def run(report: Report, below: str = "examples") -> None:
    """Builds and runs all examples, or those below a path."""
    sources = [
        source
        for source in sorted((ROOT / "examples").glob("[0-9]*.mojo"))
        if str(source).startswith(str(ROOT / below))
    ]
    build_and_run(
        "examples", sources, FOLDER, lambda source: check(source, report), report
    )
