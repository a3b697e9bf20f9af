"""Runs the open-loop generator of bench/load and builds it first."""

from pathlib import Path

from suite.gate import Place
from suite.load import Load
from suite.workload import Workload
from suite.wrk import of_workload
from toolchain import BUILD, build

SOURCE = Path("bench") / "load" / "open_loop.mojo"
BINARY = BUILD / "bench" / "open_loop"


def build_open_loop() -> None:
    """Builds the generator. Raises ValueError with the compiler's words."""
    result = build(SOURCE, BINARY)
    if result.returncode:
        raise ValueError(f"the open-loop generator was not built: {result.stdout[-2000:]}")


def open_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command. Raises ValueError for what the generator cannot do."""
    if workload.script != "plain.lua" or workload.tls:
        raise ValueError(f"the open loop cannot load {workload.name!r}; use wrk")
    if load.rate < 1:
        raise ValueError("the open loop needs --rate, in requests a second")
    load = of_workload(load, workload)
    return [
        str(BINARY),
        f"{place[0]}:{place[1]}",
        workload.target,
        str(load.rate),
        str(load.connections),
        str(load.seconds),
        str(len(workload.body)),
    ]
