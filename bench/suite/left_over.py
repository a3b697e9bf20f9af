"""Finds the servers that a killed run left, and ends them.

Each server has a file while it runs, which says by process numbers and start times
which server it is and whose. A number alone would soon be another program's.
"""

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from suite.console import say
from suite.process import session_pids, start_ticks
from toolchain import BUILD

END_S = 10
PAUSE_S = 0.01

RUNNING = BUILD / "bench" / "running"


def remember(pid: int, scratch: Path) -> None:
    """Notes a server that leads a session, and the folder of its files."""
    RUNNING.mkdir(parents=True, exist_ok=True)
    note = {
        "pid": pid,
        "start": start_ticks(pid),
        "suite": os.getpid(),
        "suite_start": start_ticks(os.getpid()),
        "scratch": str(scratch),
    }
    partial = RUNNING / f"{pid}.new"
    partial.write_text(json.dumps(note))
    partial.rename(RUNNING / f"{pid}.json")


def forget(pid: int) -> None:
    """Drops the note of a server that has ended."""
    (RUNNING / f"{pid}.json").unlink(missing_ok=True)


def end_left_over() -> int:
    """Ends what runs of suites that are no more have left; gives the count of servers."""
    count = 0
    for path in RUNNING.glob("*.json"):
        try:
            note = json.loads(path.read_text())
        except (OSError, ValueError):  # another suite has just dealt with it
            continue
        if start_ticks(note["suite"]) == note["suite_start"]:
            continue  # another run, under way
        count += _end_session(note["pid"], note["start"])
        shutil.rmtree(note["scratch"], ignore_errors=True)
        path.unlink(missing_ok=True)
    if count:
        say(f"bench: ended {count} servers that a killed run had left")
    return count


def _end_session(session: int, start: int | None) -> bool:
    """Ends all processes of a session; False if there were none.

    The number names this session as long as one of its processes lives. One that is
    just forking leaves a child that was not listed, so the list is made again.
    """
    found = False
    end = time.monotonic() + END_S
    while time.monotonic() < end:
        left = [
            pid
            for pid in session_pids(session)
            if start is not None and (start_ticks(pid) or 0) >= start
        ]
        if not left:
            break
        found = True
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)
    return found
