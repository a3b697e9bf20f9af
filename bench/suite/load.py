"""What loads a server: which tool, how hard, from where."""

from dataclasses import dataclass

TOOLS = ("wrk", "hey", "open")


@dataclass(frozen=True)
class Load:
    """How hard and for how long a tool asks, and on which CPUs.

    `rate` is for the open loop alone: requests a second. `remote` is the
    `user@host` that the tool runs on, or nothing for this machine, and `ssh` the
    command that reaches it.
    """

    threads: int
    connections: int
    seconds: int
    cpus: list[int]
    tool: str = "wrk"
    rate: int = 0
    remote: str = ""
    ssh: str = "ssh"
