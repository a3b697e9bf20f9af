"""Decides which CPUs a server and the load have."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """CPU numbers; an empty list means that nothing is pinned."""

    server: list[int]
    load: list[int]


def cpus_here() -> list[int]:
    """Lists the CPUs that this program may use."""
    return sorted(os.sched_getaffinity(0))


def layout(cpus: list[int], kind: str, cores: int, widest: int) -> Layout:
    """Places a server of `cores` CPUs, in a run whose widest server has `widest`.

    A `single` run keeps server and load apart. In a `multi` run the load has the
    same CPUs for every row, so that rows of one and of two workers compare: the
    CPUs that no server uses if they are as many as the widest server's,
    otherwise all of them, shared with the server.
    Raises ValueError for a server that wants more CPUs than there are.
    """
    if cores > len(cpus):
        raise ValueError(f"it wants {cores} CPUs and there are {len(cpus)}")
    if len(cpus) == 1:
        return Layout([], [])
    if kind == "single":
        return Layout([cpus[-1]], [cpus[0]])
    free = cpus[: len(cpus) - widest]
    return Layout(cpus[-cores:], free if len(free) >= widest else cpus)


def pinned(cpus: list[int]) -> list[str]:
    """Gives the words that pin the command behind them."""
    return ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
