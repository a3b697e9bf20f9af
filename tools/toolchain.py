"""The Mojo compiler as the other tools call it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
MOJO = ROOT / ".venv" / "bin" / "mojo"
MBLACK = ROOT / ".venv" / "bin" / "mblack"


def environment() -> dict[str, str]:
    return {**os.environ, "MODULAR_TELEMETRY_ENABLED": "0"}


def mojo(*arguments: str, timeout_s: int = 900) -> subprocess.CompletedProcess:
    """Runs the compiler in the project's root and captures what it says."""
    result = subprocess.run(
        [str(MOJO), *arguments],
        cwd=ROOT,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout_s,
    )
    lines = [
        line for line in result.stdout.splitlines() if "Crashpad" not in line
    ]
    result.stdout = "\n".join(lines)
    return result


def build(
    source: Path, output: Path, *options: str
) -> subprocess.CompletedProcess:
    """Builds a program against the library in this tree."""
    output.parent.mkdir(parents=True, exist_ok=True)
    return mojo(
        "build", "-I", str(ROOT), *options, str(source), "-o", str(output)
    )


def mojo_sources(*folders: str) -> list[Path]:
    """Lists the Mojo files below some folders of the project, in order."""
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.mojo")
    )
