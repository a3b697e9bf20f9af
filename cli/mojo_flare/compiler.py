"""Calls the Mojo compiler."""

import subprocess
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path


IMPORT_PATH = "MODULAR_MOJO_MAX_IMPORT_PATH"
"""The variable with the folders where packages are looked for before any `-I`."""


@dataclass(frozen=True)
class Compiler:
    """The compiler, and the environment that it runs in."""

    program: Path
    environment: dict[str, str]

    def call(
        self, *arguments: str, folder: Path | None = None, timeout_s: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the compiler, and takes what it says as one text.

        Args:
            arguments: Its arguments.
            folder: Where it runs, if not here.
            timeout_s: When it is ended, by `subprocess.TimeoutExpired`.
        """
        result = subprocess.run(
            [str(self.program), *arguments],
            cwd=folder,
            env=self.environment,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
        )
        lines = result.stdout.splitlines()
        result.stdout = "\n".join(x for x in lines if "Crashpad" not in x)
        return result

    def looking_first(self, folder: Path) -> "Compiler":
        """The same compiler, that finds packages of a folder before installed ones."""
        known = self.environment.get(IMPORT_PATH)
        if known is None:
            return self
        return replace(
            self, environment={**self.environment, IMPORT_PATH: f"{folder},{known}"}
        )

    @cached_property
    def version(self) -> str:
        """What it says of itself: `Mojo 1.2.0 (2016d0cd)`."""
        return self.call("--version").stdout.strip()
