"""Runs the load on another host over ssh; the server stays here.

The host needs the load tool and, for our own generator, the same architecture.
"""

import io
import shlex
import subprocess
import tarfile

from suite.open_loop import BINARY
from toolchain import ROOT

FOLDER = "flare-bench-load"  # in the home of the remote user
SSH = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
PREPARE_S = 60


def over_ssh(remote: str, words: list[str]) -> list[str]:
    """Gives the command that runs words on the host, in the folder copied there."""
    own = str(BINARY)
    there = ["./open_loop" if word == own else word for word in words]
    return [*SSH, remote, f"cd {FOLDER} && {shlex.join(there)}"]


def copy_load(remote: str, tool: str) -> None:
    """Copies the scripts, and our generator if it is to run, to the host.

    Raises ValueError if ssh fails.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(ROOT / "bench" / "load", "bench/load")
        if tool == "open":
            archive.add(BINARY, "open_loop")
    command = [*SSH, remote, f"mkdir -p {FOLDER} && tar -x -C {FOLDER}"]
    try:
        result = subprocess.run(
            command, input=packed.getvalue(), capture_output=True, timeout=PREPARE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"{remote} could not be reached: {error}") from None
    if result.returncode:
        said = result.stderr.decode(errors="replace").strip()[-300:]
        raise ValueError(f"{remote} took no files: {said or 'ssh failed without a word'}")
