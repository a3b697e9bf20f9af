"""Sets up `.venv` with the pinned tools; instant when nothing has changed.

Run: python3 tools/setup.py
"""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "requirements.sha256"
REQUIREMENTS = ROOT / "requirements.txt"


def fail(message: str) -> None:
    print(f"setup: {message}", file=sys.stderr)
    sys.exit(1)


def check_system() -> None:
    """Names the Debian package of what is missing, in one line."""
    if sys.version_info < (3, 11):
        fail("Python 3.11 or newer is needed: apt-get install python3")
    if shutil.which("cc") is None:
        fail(
            "a C compiler is needed for linking: apt-get install gcc libc6-dev"
        )
    if shutil.which("curl") is None:
        fail("curl is needed by the tests: apt-get install curl")
    if shutil.which("openssl") is None:
        fail("openssl is needed by the tests: apt-get install openssl")


def check_venv() -> None:
    """Debian has what makes environments in a package of its own."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        fail("Python cannot make environments: apt-get install python3-venv")


def main() -> None:
    check_system()
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    check_venv()
    print("setup: installing the pinned toolchain into .venv (about 300 MB)")
    if not (VENV / "bin" / "python").exists():
        venv.EnvBuilder(with_pip=True, clear=VENV.exists()).create(VENV)
    command = [
        str(VENV / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--progress-bar",
        "on",
        "-r",
        str(REQUIREMENTS),
    ]
    if subprocess.run(command).returncode != 0:
        fail("pip could not install requirements.txt; see its message above")
    STAMP.write_text(wanted)
    print("setup: done")


if __name__ == "__main__":
    main()
