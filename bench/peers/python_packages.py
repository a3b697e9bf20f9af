"""Installs the pinned packages of a peer into a folder; instant when nothing changed.

Usage: python_packages.py FOLDER REQUIREMENTS
"""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path


def install(folder: Path, requirements: Path) -> None:
    """Installs wheels by exact version and hash. Ends the program if pip fails."""
    stamp, wanted = (folder / "requirements.sha256", sha256(requirements.read_bytes()).hexdigest())
    if stamp.exists() and stamp.read_text() == wanted:
        return
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--upgrade",
        "--target",
        str(folder),
        "-r",
        str(requirements),
    ]
    if code := subprocess.run(command).returncode:
        sys.exit(code)
    stamp.write_text(wanted)


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sys.argv[2]))
