"""Which program loads, how it is called, and how its words are read."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from suite.gate import Place
from suite.hey import hey_command, parse_hey
from suite.http2 import h2load_command, parse_h2load
from suite.layout import pinned
from suite.load import Load
from suite.own_load import open_command, ws_command
from suite.programs import program_environment
from suite.remote import over_ssh
from suite.workload import Workload
from suite.wrk import parse_figures, wrk_command
from toolchain import ROOT


@dataclass(frozen=True)
class Tool:
    """A program that loads: its command, and what its output says."""

    command: Callable[[Place, Workload, Load], list[str]]
    parse: Callable[[str], dict]


TOOLS = {
    "wrk": Tool(wrk_command, parse_figures),
    "hey": Tool(hey_command, parse_hey),
    "open": Tool(open_command, parse_figures),
}
WS = Tool(ws_command, parse_figures)
H2LOAD = Tool(h2load_command, parse_h2load)


def tool_of(workload: Workload, load: Load) -> Tool:
    """Gives the tool that was asked for, or the one that speaks what it has to."""
    if workload.streams:
        return H2LOAD
    return WS if workload.message_len else TOOLS[load.tool]


def load_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the whole command: pinned here, or for another host over ssh."""
    words = tool_of(workload, load).command(place, workload, load)
    return over_ssh(load.remote, words, load.ssh) if load.remote else [*pinned(load.cpus), *words]


def start_load(place: Place, workload: Workload, load: Load) -> subprocess.Popen:
    """Starts the load; its output, errors too, can be read from `stdout`."""
    return subprocess.Popen(
        load_command(place, workload, load),
        cwd=ROOT,
        text=True,
        env=program_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
