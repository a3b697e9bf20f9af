"""Machines of their own for tests: network namespaces, each with two wires to us.

One wire is for clients, one for Redis, so that a machine can be cut off from
Redis while its clients stay.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

CLONE_NEWNET = 0x40000000
FOLDER = Path("/run/netns")
# Of the private addresses, a part that hardly anybody has.
PREFIX = "10.213"


def run(*words: str) -> str:
    return subprocess.run(
        ["ip", *words], check=True, capture_output=True, timeout=10, text=True
    ).stdout


def free_network() -> int:
    """The third octet of a network that nobody here has: another run of the tests
    may be under way. Each begins to look elsewhere."""
    taken = run("-o", "-4", "addr")
    start = os.getpid()
    for number in range(256):
        third = (start + number) % 256
        if f" {PREFIX}.{third}." not in taken:
            return third
    raise OSError("all networks are taken")


class Namespace:
    """A machine: what is started by `enter` is on it."""

    def __init__(self, number: int) -> None:
        self.name = f"flare-{os.getpid()}-{number}"
        self._wires = [f"fl{os.getpid() % 100000}{kind}{number}" for kind in "cr"]
        run("netns", "add", self.name)
        try:
            clients, redis = map(self._lay, self._wires)
        except (subprocess.SubprocessError, OSError):
            self.remove()
            raise
        self.host = f"{PREFIX}.{clients}.2"
        # What we have at the other end of the wire for Redis.
        self.redis_host = f"{PREFIX}.{redis}.1"

    def _lay(self, wire: str) -> int:
        third = free_network()
        run("link", "add", wire, "type", "veth", "peer", "name", "p" + wire)
        run("link", "set", "p" + wire, "netns", self.name)
        run("addr", "add", f"{PREFIX}.{third}.1/24", "dev", wire)
        run("link", "set", wire, "up")
        inside = ("-n", self.name)
        run(*inside, "addr", "add", f"{PREFIX}.{third}.2/24", "dev", "p" + wire)
        run(*inside, "link", "set", "p" + wire, "up")
        return third

    def enter(self) -> None:
        """For a child, before it becomes its program."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(FOLDER / self.name) as file:
            if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def cut(self) -> None:
        """Cuts the wire to Redis: nothing arrives, and nobody is told."""
        run("link", "set", self._wires[1], "down")

    def mend(self) -> None:
        run("link", "set", self._wires[1], "up")

    def remove(self) -> None:
        for wire in self._wires:
            subprocess.run(["ip", "link", "del", wire], capture_output=True, timeout=10)
        subprocess.run(
            ["ip", "netns", "del", self.name], capture_output=True, timeout=10
        )


def make_namespaces(count: int) -> list[Namespace]:
    """Machines; none where this user, or this system, may have none."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return []
    made: list[Namespace] = []
    try:
        for number in range(count):
            made.append(Namespace(number))
    except (subprocess.SubprocessError, OSError):
        for namespace in made:
            namespace.remove()
        return []
    return made
