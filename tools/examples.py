"""Builds and runs the examples, and compares what they print.

Each names it in its header, behind `# Expected output:`; a `*` matches anything.
`# Needs: redis-server` runs it with the address of one, `# Also with:
redis-server --redis` a second time, with that option.
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
ALSO_WITH = re.compile(r"^# Also with: (\S+) (--\S+)$", re.MULTILINE)
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


def report_run(
    report: Report, source: Path, name: str, wanted: list[str], need: str, *options: str
) -> None:
    """Runs one that is built, with the server that it needs, if any."""
    if need and not shutil.which(need):
        report.skipped(name, f"{need} is not here: apt-get install {need}")
        return
    with SERVERS[need]() if need else nullcontext([]) as addresses:
        trouble = run_one(FOLDER / source.stem, wanted, *options, *addresses)
    if trouble:
        report.fail(name, trouble)
    else:
        report.passed(name)
        print(f"  {name}: as expected", flush=True)


def check(source: Path, report: Report) -> None:
    """Runs one that is built, in all the ways that its header names."""
    text = source.read_text()
    try:
        wanted = expected_output(text)
    except ValueError as error:
        report.fail(source.name, str(error))
        return
    need = NEEDS.search(text)
    report_run(report, source, source.name, wanted, need[1] if need else "")
    if also := ALSO_WITH.search(text):
        server, option = also.groups()
        name = f"{source.name} with {server}"
        report_run(report, source, name, wanted, server, option)


def run(report: Report, below: str = "examples") -> None:
    """Builds and runs all examples, or those below a path."""
    sources = [
        source
        for source in sorted((ROOT / "examples").glob("[0-9]*.mojo"))
        if str(source).startswith(str(ROOT / below))
    ]
    build_and_run(
        "examples",
        sources,
        FOLDER,
        lambda source: check(source, report),
        report,
        whole=False,
    )
