"""Servers that a killed suite left are found and ended by the next run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from suite import left_over
from suite.process import session_pids, start_ticks

TOOLS = Path(__file__).parent
WAIT_S = 10
# A suite that starts a server with a child of its own, says so, and waits.
SUITE = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from suite import left_over, metadata
from suite.server import Server
left_over.RUNNING = Path({running!r})
program = metadata.Program("it", Path("."), Path("."), "f", "C", "micro")
code = "import subprocess; subprocess.Popen(['sleep', '600']); subprocess.run(['sleep', '600'])"
import suite.server
suite.server.fetch = lambda place, workload: None
server = Server(metadata.Row(program, "it", 1, [sys.executable, "-c", code]), [])
server.start(None)
print(server.process.pid, server.scratch, flush=True)
{then}
"""


@pytest.fixture
def running(monkeypatch, tmp_path) -> Path:
    """A folder of notes of the test's own."""
    folder = tmp_path / "running"
    monkeypatch.setattr(left_over, "RUNNING", folder)
    return folder


def suite_run(running: Path, then: str = "time.sleep(600)") -> tuple[subprocess.Popen, int, Path]:
    """Starts a suite; gives it, its server's number and the folder of its files."""
    path = [str(TOOLS.parents[1] / name) for name in ("bench", "tools")]
    text = SUITE.format(path=path, running=str(running), then=then)
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True,
    )
    pid, scratch = process.stdout.readline().split()
    return process, int(pid), Path(scratch)


def gone(pid: int) -> bool:
    """Waits until no process of a session is left."""
    end = time.monotonic() + WAIT_S
    while session_pids(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not session_pids(pid)


def test_the_next_run_ends_what_a_killed_one_left(running, capsys):
    suite, server, scratch = suite_run(running)
    suite.kill()
    suite.wait(WAIT_S)
    suite.stdout.close()
    assert session_pids(server) and scratch.exists()
    assert left_over.end_left_over() == 1
    assert gone(server) and not scratch.exists() and list(running.iterdir()) == []
    assert "ended 1 servers that a killed run had left" in capsys.readouterr().out
    assert left_over.end_left_over() == 0


def test_a_run_that_is_under_way_keeps_its_servers(running):
    suite, server, scratch = suite_run(running)
    try:
        assert left_over.end_left_over() == 0
        assert session_pids(server) and scratch.exists()
    finally:
        suite.kill()
        suite.wait(WAIT_S)
        suite.stdout.close()
        left_over.end_left_over()
    assert gone(server)


def test_a_server_that_is_stopped_leaves_no_note(running):
    suite, server, _ = suite_run(running, "server.kill()")
    assert suite.wait(WAIT_S) == 0
    suite.stdout.close()
    assert gone(server) and list(running.iterdir()) == []


def test_a_number_that_another_program_has_now_is_left_alone(running, tmp_path):
    """By then the server is no more, and its number a younger session's or ours."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        running.mkdir()
        note = {
            "pid": other.pid, "start": start_ticks(other.pid) + 1, "suite": os.getpid(),
            "suite_start": start_ticks(os.getpid()) - 1, "scratch": str(tmp_path / "none"),
        }
        (running / "1.json").write_text(json.dumps(note))
        assert left_over.end_left_over() == 0
        assert other.poll() is None and list(running.iterdir()) == []
        other.send_signal(signal.SIGKILL)
