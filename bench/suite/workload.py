"""Reads the workload file: what is asked, and what the answer must be."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from suite.metadata import Row


@dataclass(frozen=True)
class Workload:
    """One request, the answer to it octet by octet, and the script that loads.

    `tls` is for rows that speak TLS, and no others; with `closes` each request
    has a connection of its own.
    """

    name: str
    target: str
    script: str
    body: bytes
    fields: dict[str, str] = field(default_factory=dict)
    data: bytes | None = None
    budget: float | None = None
    tls: bool = False
    closes: bool = False

    def request(self) -> bytes:
        """Writes the request as it is sent to check the answer."""
        if self.data is None:
            head = f"GET {self.target} HTTP/1.1\r\nHost: bench\r\n"
            if self.closes:
                head += "Connection: close\r\n"
            return (head + "\r\n").encode()
        head = (
            f"POST {self.target} HTTP/1.1\r\nHost: bench\r\n"
            "Content-Type: application/octet-stream\r\n"
            f"Content-Length: {len(self.data)}\r\n\r\n"
        )
        return head.encode() + self.data


def read_workloads(text: str) -> list[Workload]:
    """Reads the file's text; `body` and `data` are repeated as it says."""
    workloads = []
    for entry in tomllib.loads(text)["workload"]:
        body = entry.pop("body").encode() * entry.pop("body_repeat", 1)
        data, times = entry.pop("data", None), entry.pop("data_repeat", 1)
        sent = data.encode() * times if data is not None else None
        workloads.append(Workload(body=body, data=sent, **entry))
    return workloads


def load(bench: Path, wanted: list[str]) -> list[Workload]:
    """Reads the workloads whose names have a wanted part; all if none is named."""
    workloads = read_workloads((bench / "workloads.toml").read_text())
    for part in wanted:
        if not any(part in workload.name for workload in workloads):
            names = ", ".join(workload.name for workload in workloads)
            raise ValueError(f"no workload has {part!r} in its name; there are {names}")
    return [
        workload for workload in workloads
        if not wanted or any(part in workload.name for part in wanted)
    ]


def of_row(workloads: list[Workload], row: Row) -> list[Workload]:
    """Keeps the workloads that a row takes part in."""
    return [workload for workload in workloads if workload.tls == row.tls]
