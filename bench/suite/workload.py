"""Reads the workload file: what is asked, and what the answer must be."""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.metadata import Row


@dataclass(frozen=True)
class Workload:
    """One request, the answer to it octet by octet, and the script that loads.

    `tls` is for rows that speak TLS, and no others; with `closes` each request
    has a connection of its own. `pipelined` is how many requests go in one
    write, `connections` what the workload has instead of the run's number (0
    for that). With `streams` it is over HTTP/2, with so many requests under way
    on a connection, for the rows that are for it. `message_len` makes it a WebSocket message to be echoed, for rows that
    speak that. A `gateway` workload is for the rows that are one, with the raw C
    server behind them. `everyone` and `extra` say which rows and which runs take it by
    default.
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
    pipelined: int = 1
    connections: int = 0
    message_len: int = 0
    streams: int = 0
    gateway: bool = False
    everyone: bool = False
    extra: bool = False

    def request(self, method: str = "") -> bytes:
        """Writes the request as it is sent to check the answer."""
        method = method or ("GET" if self.data is None else "POST")
        head = f"{method} {self.target} HTTP/1.1\r\nHost: bench\r\n"
        if self.closes:
            head += "Connection: close\r\n"
        if self.data is None:
            return (head + "\r\n").encode()
        head += "Content-Type: application/octet-stream\r\n"
        head += f"Content-Length: {len(self.data)}\r\n\r\n"
        return head.encode() + self.data


def read_workloads(text: str) -> list[Workload]:
    """Reads the file's text; `body` and `data` are repeated as it says."""
    workloads = []
    for entry in tomllib.loads(text)["workload"]:
        body = entry.pop("body", "").encode() * entry.pop("body_repeat", 1)
        data, times = entry.pop("data", None), entry.pop("data_repeat", 1)
        sent = data.encode() * times if data is not None else None
        workloads.append(Workload(body=body, data=sent, **entry))
    return workloads


def load(bench: Path, wanted: list[str], with_extra: bool = True) -> list[Workload]:
    """Reads the workloads whose names have a wanted part; all if none is named.

    A name that is wanted whole picks that workload alone. Raises ValueError for
    a part that no name has.
    """
    workloads = read_workloads((bench / "workloads.toml").read_text())
    if not wanted:
        return [item for item in workloads if with_extra or not item.extra]
    names = [item.name for item in workloads]
    picked: list[str] = []
    for part in wanted:
        found = [part] if part in names else [name for name in names if part in name]
        if not found:
            raise ValueError(f"no workload has {part!r} in its name; there are {', '.join(names)}")
        picked += found
    return [item for item in workloads if item.name in picked]


def of_row(workloads: list[Workload], row: Row, narrow: bool = False) -> list[Workload]:
    """Keeps the workloads that a row takes part in.

    With `narrow`, a row that is no headline has only what is for everyone.
    """
    return [
        item
        for item in workloads
        if item.tls == row.tls
        and (item.streams > 0) == row.http2
        and item.gateway == row.gateway
        and (row.websocket or not item.message_len)
        and (not narrow or row.headline or item.everyone)
    ]


def upload_of(workloads: list[Workload], row: Row) -> Workload:
    """Gives the upload as a row's server would be asked for it, over TLS or not."""
    found = next(
        item for item in workloads
        if item.data is not None
        and (item.streams > 0) == row.http2
        and item.gateway == row.gateway
    )
    return replace(found, tls=row.tls)
