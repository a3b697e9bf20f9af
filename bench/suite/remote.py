"""Runs the load on another host over ssh; the server stays here.

The host needs the load tool and, for our own generator, the same architecture.
"""

import io
import shlex
import subprocess
import tarfile

from suite.own_load import BINARIES
from toolchain import ROOT

FOLDER = "flare-bench-load"  # in the home of the remote user
OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
PREPARE_S = 60


def reached_by(ssh: str) -> list[str]:
    """Gives the command that reaches a host, such as `ssh -p 2222 -i key`."""
    return [*shlex.split(ssh), *OPTIONS]


def over_ssh(remote: str, words: list[str], ssh: str = "ssh") -> list[str]:
    """Gives the command that runs words on the host, in the folder copied there."""
    there = [word.replace(f"{BINARIES}/", "./") for word in words]
    return [*reached_by(ssh), remote, f"cd {FOLDER} && {shlex.join(there)}"]


def copy_load(remote: str, own: list[str], ssh: str = "ssh") -> None:
    """Copies the scripts, and generators of our own by name, to the host.

    Raises ValueError if ssh fails.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(ROOT / "bench" / "load", "bench/load")
        for name in own:
            archive.add(BINARIES / name, name)
    command = [*reached_by(ssh), remote, f"mkdir -p {FOLDER} && tar -x -C {FOLDER}"]
    try:
        result = subprocess.run(
            command, input=packed.getvalue(), capture_output=True, timeout=PREPARE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{remote} could not be reached: {error}") from None
    if result.returncode:
        said = result.stderr.decode(errors="replace").strip()[-300:]
        raise ValueError(f"{remote} took no files: {said or 'ssh failed without a word'}")
