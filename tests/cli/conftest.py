"""The command as users have it: a wheel in an environment of its own.

The wheel is built once, and pip installs it; the compiler and what the command
imports are linked from `.venv`, so that nothing is downloaded
(`tools/package.py: link_compiler`).
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "cli")]

import package  # noqa: E402
from toolchain import CACHE  # noqa: E402

TIMEOUT_S = 300

Flare = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: takes minutes")


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of this tree."""
    return package.build(tmp_path_factory.mktemp("dist") / "one")


@pytest.fixture(scope="session")
def binaries(
    archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The `bin` of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    return package.fresh_environment(folder, archives[1], reuse=True)


@pytest.fixture(scope="session")
def flare(binaries: Path) -> Flare:
    """Runs the installed command in a folder, with its output as one text."""

    def run(
        folder: Path, *words: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(binaries / "flare"), *words],
            cwd=folder,
            env={
                **os.environ,
                "COLUMNS": "100",
                "XDG_CACHE_HOME": str(CACHE),
                **environment,
            },
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
        )

    return run
