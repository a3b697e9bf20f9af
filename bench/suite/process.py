"""Adds up CPU time and memory of a process tree, from /proc alone.

Limits: time of a process that ended is known from its parent's count of waited
children, in clock ticks (10 ms). What a process outside the tree has waited for
is lost here, and shows as time of other programs. The same holds for a thread
that ended, whose time is in its process's own count in ticks.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def tree(root: int, proc: Path = PROC) -> list[int]:
    """Lists a process, all below it, and those of its session.

    An orphan is in nobody's tree any more, but still in the session that the
    suite started the server in.
    """
    parents, sessions = {}, {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            fields = _stat(entry)
            if fields:
                parents[int(entry.name)] = int(fields[1])
                sessions[int(entry.name)] = int(fields[3])
    found = {pid for pid, session in sessions.items() if session == root} | {root}
    added = True
    while added:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        added = bool(more)
    return sorted(found)


def _stat(folder: Path) -> list[str]:
    """Reads the fields of a `stat` behind the program's name; [] if it is gone."""
    try:
        return (folder / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def session_pids(session: int, proc: Path = PROC) -> list[int]:
    """Lists the processes of a session that run."""
    found = []
    for entry in proc.iterdir():
        fields = _stat(entry) if entry.name.isdigit() else []
        if fields and int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return sorted(found)


def start_ticks(pid: int, proc: Path = PROC) -> int | None:
    """Reads when a process started, in ticks since boot; None if there is none."""
    fields = _stat(proc / str(pid))
    return int(fields[19]) if fields else None


def cpu_s(root: int, proc: Path = PROC) -> float:
    """Adds up the CPU time of a process tree, of the ended ones too."""
    return sum(_process_s(proc / str(pid)) for pid in tree(root, proc))


def _process_s(folder: Path) -> float:
    """Reads one process's time: its threads', or its own count if that is more."""
    fields = _stat(folder)
    if not fields:
        return 0.0
    own, waited = (sum(map(int, fields[at : at + 2])) / TICKS for at in (11, 13))
    threads = 0.0
    try:
        for thread in (folder / "task").iterdir():
            threads += int((thread / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        threads = 0.0
    return max(threads, own) + waited


@dataclass(frozen=True)
class Usage:
    """What a process tree has used so far: seconds of CPU, and context switches.

    User and system time are known in clock ticks alone, their sum is finer.
    """

    cpu_s: float
    user_s: float
    system_s: float
    switches: int

    def since(self, before: "Usage") -> "Usage":
        return Usage(
            self.cpu_s - before.cpu_s,
            self.user_s - before.user_s,
            self.system_s - before.system_s,
            self.switches - before.switches,
        )


def usage(root: int, proc: Path = PROC) -> Usage:
    """Reads what a process tree has used. A thread that ended takes its switches along."""
    user = system = switches = 0
    for pid in tree(root, proc):
        fields = _stat(proc / str(pid))
        if fields:
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
        for status in (proc / str(pid)).glob("task/*/status"):
            try:
                found = re.findall(r"ctxt_switches:\s+(\d+)", status.read_text())
            except OSError:
                continue
            switches += sum(map(int, found))
    return Usage(cpu_s(root, proc), user / TICKS, system / TICKS, switches)


def memory_len(root: int, proc: Path = PROC, kind: str = "Pss") -> int:
    """Adds up the memory of a process tree in bytes.

    Of `Pss`, a page that several processes share counts for each with its part;
    of `Rss`, for each whole.
    """
    total = 0
    for pid in tree(root, proc):
        try:
            text = (proc / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(rf"^{kind}:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) * 1024 if found else 0
    return total


def private_len(pid: int) -> int:
    """Reads the private memory of one process, in bytes."""
    status = (PROC / str(pid) / "status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024


def busy_s() -> float:
    """Reads the CPU time that the whole machine has spent.

    Interrupts belong in: the time they take is in a process's own counters too.
    """
    names = (PROC / "stat").read_text().split()[1:8]
    user, nice, system, _idle, _wait, irq, softirq = map(int, names)
    return (user + nice + system + irq + softirq) / TICKS


def steal_s(proc: Path = PROC) -> float:
    """Reads the CPU time that the host of a virtual machine gave to others."""
    return int((proc / "stat").read_text().split()[8]) / TICKS


def children_s() -> float:
    """Reads the CPU time of the children of this program that have ended."""
    times = os.times()
    return times.children_user + times.children_system
