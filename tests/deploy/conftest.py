"""The bundle of `deploy/service.mojo`, and programs that stand in front of it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
for folder in ("tools", "tests/wire", "cli"):
    sys.path.insert(0, str(ROOT / folder))

from mojo_flare import bundle as bundling  # noqa: E402
from processes import next_line  # noqa: E402
from toolchain import environment  # noqa: E402
from wire_programs import built_program  # noqa: E402

START_S = 20
STOP_S = 20
SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
# What the files of deploy/ have in place of a test's own ports.
PLACE = "127.0.0.1:8080"


def program(name: str, package: str) -> str:
    """Finds a program, or skips the tests that need it."""
    if found := shutil.which(name, path=SEARCH):
        return found
    pytest.skip(f"{name} is not here: apt-get install {package}")




def with_values(text: str, values: dict[str, str]) -> str:
    """Puts a test's own values in a file that is deployed; each must be there."""
    for old, new in values.items():
        assert old in text, f"the file has no {old!r}"
        text = text.replace(old, new)
    return text


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: takes minutes")


@pytest.fixture(scope="session")
def bundle() -> Iterator[Path]:
    """A folder with the service and its libraries, as `flare build --bundle` makes it.

    Other users can read it, unlike a folder of pytest's.
    """
    binary = built_program(DEPLOY / "service.mojo", "flare")
    with tempfile.TemporaryDirectory(prefix="flare-bundle-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(binary, folder / "service")
        bundling.complete(folder / "service", (ROOT / ".venv" / "lib").resolve())
        yield folder


@dataclass
class Running:
    """A process that is ended with the test."""

    process: subprocess.Popen
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(STOP_S)


@dataclass
class Started:
    """Starts processes, and ends those that are left."""

    folder: Path
    all: list[subprocess.Popen] = field(default_factory=list)

    def run(self, command: list[str], **options: object) -> subprocess.Popen:
        log = (self.folder / f"{len(self.all)}.log").open("w")
        self.all.append(subprocess.Popen(command, stderr=log, **options))
        return self.all[-1]

    def said(self, number: int) -> str:
        return (self.folder / f"{number}.log").read_text()

    def service(self, bundle: Path, *words: str, **options: object) -> Running:
        """Starts the service of a bundle on a free port."""
        process = self.run(
            [str(bundle / "service"), "127.0.0.1:0", *words],
            stdout=subprocess.PIPE, env=environment(), **options,
        )
        line = next_line(process, START_S)
        assert line.startswith("listening on "), line
        return Running(process, int(line.rsplit(":", 1)[1]))


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Starts what a test needs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    running = Started(folder)
    yield running
    for process in reversed(running.all):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_S)




def listening() -> socket.socket:
    """Makes a listening socket that a proxy is to inherit."""
    return socket.create_server(("127.0.0.1", 0), backlog=64)
