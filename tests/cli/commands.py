"""The command `flare` of this tree, and programs that its tests serve with."""

import hashlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [path for path in (str(ROOT / "tools"), str(ROOT / "cli")) if path not in sys.path]

from mojo_flare.dev.build import DEV_OPTIONS  # noqa: E402
from mojo_flare.object.store import tree_digest  # noqa: E402
from toolchain import BUILD, CACHE, alone, build, flare_object  # noqa: E402

FOLDER = BUILD / "cli"
TIMEOUT_S = 600


def environment(**more: str) -> dict[str, str]:
    """The environment of the command: a cache of the tests' own, 80 columns.

    The cache is the one where `make test` has made the object."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "cli"),
        "XDG_CACHE_HOME": str(CACHE),
        "COLUMNS": "80",
        **more,
    }


def flare(
    *arguments: object,
    cwd: Path = ROOT,
    stdout: IO[str] | int = subprocess.PIPE,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "mojo_flare", *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
    )


def flare_on_a_terminal(*arguments: object) -> bytes:
    """Runs the command to its good end, and gives what a terminal is shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mojo_flare", *map(str, arguments)],
        cwd=ROOT,
        env=environment(TERM="xterm"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:
        pass  # the end of a terminal
    os.close(ours)
    assert process.wait(10) == 0
    return shown


def built_server() -> Path:
    """Builds the server of the tests as `flare dev` builds it, unless nothing has
    changed."""
    source = ROOT / "tests" / "cli" / "programs" / "dev_server.mojo"
    parts = repr(flare_object().facts["parts"]) if sys.platform == "linux" else ""
    sources = source.read_text() + (parts or tree_digest(ROOT, "flare"))
    digest = hashlib.sha256(sources.encode()).hexdigest()[:16]
    binary = FOLDER / f"dev_server-{digest}"
    with alone(binary):
        if not binary.exists():
            made = binary.with_suffix(".part")
            result = build(source, made, *DEV_OPTIONS, whole=False)
            assert result.returncode == 0, result.stdout
            made.rename(binary)
    return binary
