"""Installs m0 into a folder and builds the server against its source.

Usage: build.py FOLDER MOJO
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from python_packages import install  # noqa: E402


def main() -> None:
    folder, mojo = Path(sys.argv[1]), sys.argv[2]
    install(folder / "packages", HERE / "requirements.txt")
    source = folder / "packages" / "m0" / "_mojo"
    command = [mojo, "build", "-I", source, HERE / "server.mojo", "-o", folder / "server"]
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
