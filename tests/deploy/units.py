"""The systemd units of deploy/, read as far as tests need it."""

import shlex
from pathlib import Path

from conftest import DEPLOY

UNITS = sorted((DEPLOY / "systemd").iterdir())


def setting(unit: str, name: str) -> str:
    """Gives the value of a setting that stands in a unit once."""
    lines = (DEPLOY / "systemd" / unit).read_text().splitlines()
    [value] = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]
    return value


def command(unit: str, bundle: Path, address: str = "127.0.0.1:0") -> list[str]:
    """Gives what a unit starts, from a bundle and at an address of a test."""
    program, place, *words = shlex.split(setting(unit, "ExecStart"))
    assert program == "/opt/service/service" and place == "127.0.0.1:8080"
    return [str(bundle / "service"), address, *words]
