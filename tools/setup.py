"""Sets up `.venv` with the pinned tools for a need; instant when nothing has changed.

Run: python3 tools/setup.py [run|bench|docs|test|nightly]

`requirements/NAME.txt` has exact versions with the hashes of their wheels. With
CI=true in the environment, root on Debian also gets the programs that tests
would be skipped without.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements"
# Which files of requirements/ a need takes, and what they are to a reader.
NEEDS = {
    "run": ("run",),
    "bench": ("run", "bench"),
    "docs": ("run", "docs"),
    "test": ("run", "bench", "test"),
    "nightly": ("run", "bench", "test", "nightly"),
}
WHAT = {
    "run": "the Mojo compiler",
    "bench": "what the benchmarks need",
    "test": "what the tests need",
    "docs": "what the site of the documents needs",
    "nightly": "what only the nightly tests need",
}
TESTING = ("test", "nightly")
# Programs of the system that a need cannot do without, with their packages.
PROGRAMS = {
    "run": {"cc": "gcc libc6-dev"},
    "test": {"cc": "gcc libc6-dev", "curl": "curl", "openssl": "openssl"},
}
# Programs that tests are skipped without, and what installs them on Debian.
OPTIONAL_PROGRAMS = {
    "chromium": "chromium",
    "nginx": "nginx-light",
    "haproxy": "haproxy",
    "redis-server": "redis-server",
    "systemd-analyze": "systemd",
}
SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
APT_S = 300
LAST_LINES = 15


def fail(message: str) -> None:
    print(f"setup: {message}", file=sys.stderr)
    sys.exit(1)


def check_system(need: str) -> None:
    """Names the Debian package of what is missing, in one line."""
    if sys.version_info < (3, 11):
        fail("Python 3.11 or newer is needed: apt-get install python3")
    for program, package in PROGRAMS["test" if need in TESTING else "run"].items():
        if shutil.which(program) is None:
            purpose = "for linking" if program == "cc" else "by the tests"
            fail(f"{program} is needed {purpose}: apt-get install {package}")


def check_venv() -> None:
    """Debian has what makes environments in a package of its own."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        fail("Python cannot make environments: apt-get install python3-venv")


def is_usable() -> bool:
    """Tells whether the environment is there, and neither was its folder moved nor
    its Python removed: its scripts begin with the full path of that."""
    try:
        with (VENV / "bin" / "pip").open() as script:
            python = script.readline().removeprefix("#!").strip()
    except OSError:
        return False
    return Path(python).exists()


def stamp(name: str) -> Path:
    """Gives the file that says which requirements are installed."""
    return VENV / f"requirements-{name}.sha256"


def digest(name: str) -> str:
    return hashlib.sha256((REQUIREMENTS / f"{name}.txt").read_bytes()).hexdigest()


def wanted(need: str) -> list[str]:
    """Lists the files of a need that are not installed as they stand."""
    return [
        name
        for name in NEEDS[need]
        if not stamp(name).exists() or stamp(name).read_text() != digest(name)
    ]


class Line:
    """One line of progress: rewritten on a terminal, else begun and ended."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._began = time.monotonic()
        self._rewrites = sys.stdout.isatty()
        print(f"setup: {text} ...", end="", flush=True)

    def show(self, more: str) -> None:
        if self._rewrites:
            print(f"\r\033[Ksetup: {self._text} ... {more}", end="", flush=True)

    def done(self, end: str = "done") -> None:
        start = f"\r\033[Ksetup: {self._text} ..." if self._rewrites else ""
        took = round(time.monotonic() - self._began)
        print(f"{start} {end} after {took} s", flush=True)


def folder_len(folder: Path) -> int:
    """Adds up the files of a folder that others write to."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # moved away meanwhile
            continue
    return total


def install(name: str) -> None:
    """Installs one file of requirements, and shows how far that is."""
    line = Line(f"installing {WHAT[name]} into .venv")
    with tempfile.TemporaryDirectory(dir=VENV, prefix="download-") as folder:
        pip = subprocess.Popen(
            [
                *(str(VENV / "bin" / "python"), "-m", "pip", "install"),
                *("--disable-pip-version-check", "--require-hashes", "--no-deps"),
                *("--only-binary", ":all:", "--progress-bar", "off"),
                *("-r", str(REQUIREMENTS / f"{name}.txt")),
            ],
            text=True,
            env={**os.environ, "TMPDIR": folder, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said: list[str] = []
        reader = threading.Thread(target=said.extend, args=(pip.stdout,))
        reader.start()
        while reader.is_alive():
            reader.join(0.2)
            line.show(progress(said, Path(folder)))
        if pip.wait() != 0:
            line.done("failed")
            fail(
                f"pip could not install requirements/{name}.txt; it said:\n"
                + "".join(said[-LAST_LINES:])
            )
    stamp(name).write_text(digest(name))
    line.done()


def progress(said: list[str], folder: Path) -> str:
    """Says what pip is at, from its lines and what it has fetched."""
    if any(line.startswith("Installing collected") for line in said):
        return "unpacking"
    names = [line.split()[1].split("==")[0] for line in said if line.startswith("Collecting ")]
    return f"{names[-1] if names else 'starting'}, {folder_len(folder) // 10**6} MB"


def install_programs() -> None:
    """Installs what tests would be skipped without; what fails is one line."""
    packages = [
        package
        for program, package in OPTIONAL_PROGRAMS.items()
        if shutil.which(program, path=SEARCH) is None
    ]
    if not packages:
        return
    line = Line(f"installing {', '.join(packages)} of Debian")
    # A run level for maintenance: what is installed is not started as a service.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
    ):
        try:
            done = subprocess.run(command, env=env, capture_output=True, timeout=APT_S)
        except subprocess.TimeoutExpired:
            return line.done("too slow, so their tests are skipped,")
        if done.returncode != 0:
            return line.done("failed, so their tests are skipped,")
    line.done()


def main(arguments: list[str]) -> None:
    need = arguments[0] if arguments else "test"
    if need not in NEEDS:
        fail(f"there is no need '{need}'; name one of {', '.join(NEEDS)}")
    check_system(need)
    in_ci = os.environ.get("CI") == "true" and os.geteuid() == 0
    if need in TESTING and in_ci and shutil.which("apt-get"):
        install_programs()
    is_new = not is_usable()
    names = list(NEEDS[need]) if is_new else wanted(need)
    if not names:
        return
    check_venv()
    if is_new:
        line = Line("making the environment .venv")
        venv.EnvBuilder(with_pip=True, clear=VENV.exists()).create(VENV)
        line.done()
    for name in names:
        install(name)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        print("\nsetup: interrupted; the next run goes on", file=sys.stderr)
        sys.exit(130)
