"""Finds the programs that the suite calls, and asks them for their versions."""

import os
import shutil
import subprocess
from pathlib import Path

from toolchain import ROOT, environment

BENCH = ROOT / "bench"
# Where the installers of Go and Rust put them, which is seldom on the search path.
FOLDERS = ("/usr/local/go/bin", str(Path.home() / ".cargo" / "bin"))


def program_environment() -> dict[str, str]:
    """Gives the environment that servers and tools run in."""
    variables = environment()
    path = variables.get("PATH", os.defpath)
    return {**variables, "PATH": os.pathsep.join([path, *FOLDERS])}


def missing(needs: dict[str, str]) -> str | None:
    """Names the first program that is not there, with its package."""
    path = program_environment()["PATH"]
    for program, package in needs.items():
        if shutil.which(program, path=path) is None:
            return f"{program} is missing: apt-get install {package}"
    return None


def first_line(command: list[str], folder: Path = ROOT) -> str:
    """Runs a command; gives the first line that it prints."""
    try:
        result = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=program_environment()
        )
    except OSError:
        return "not found"
    lines = (result.stdout + result.stderr).strip().splitlines()
    return lines[0] if lines else ""
