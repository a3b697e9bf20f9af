"""Puts programs that Go builds under build/, pinned by version."""

import os
import subprocess
from pathlib import Path


def install(packages: list[str], version: str, folder: Path) -> None:
    """Puts the programs of some packages of one module into a folder, unless they
    are there in this version."""
    done = folder / ".installed"
    if done.exists() and done.read_text() == version:
        return
    folder.mkdir(parents=True, exist_ok=True)
    named = [f"{package}@{version}" for package in packages]
    print(f"  installing {', '.join(named)} ...", flush=True)
    subprocess.run(
        ["go", "install", *named],
        env={**os.environ, "GOBIN": str(folder)},
        cwd=folder,
        check=True,
    )
    done.write_text(version)
