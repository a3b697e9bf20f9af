"""The load generators of our own in bench/load: how they are built and called."""

from pathlib import Path

from suite.gate import Place
from suite.load import Load
from suite.workload import Workload
from suite.wrk import of_workload
from toolchain import BUILD, build

SOURCES = Path("bench") / "load"
BINARIES = BUILD / "bench" / "load"
OPEN_LOOP, WS_ECHO = "open_loop", "ws_echo"


def build_own(name: str) -> None:
    """Builds a generator. Raises ValueError with the compiler's words."""
    result = build(SOURCES / f"{name}.mojo", BINARIES / name)
    if result.returncode:
        raise ValueError(f"the generator {name} was not built: {result.stdout[-2000:]}")


def open_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command of the open loop. Raises ValueError for what it cannot do."""
    if workload.script != "plain.lua" or workload.tls:
        raise ValueError(f"the open loop cannot load {workload.name!r}; use wrk")
    if load.rate < 1:
        raise ValueError("the open loop needs --rate, in requests a second")
    count = of_workload(load, workload).connections
    numbers = (load.rate, count, load.seconds, len(workload.body))
    where = [str(BINARIES / OPEN_LOOP), f"{place[0]}:{place[1]}", workload.target]
    return [*where, *map(str, numbers)]


def ws_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command that sends WebSocket messages as fast as they are echoed."""
    count = of_workload(load, workload).connections
    where = [str(BINARIES / WS_ECHO), f"{place[0]}:{place[1]}", workload.target]
    return [*where, *map(str, (count, load.seconds, workload.message_len))]
