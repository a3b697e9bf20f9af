"""A run that is interrupted, has no room for results, or asks what cannot be done."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from suite import building, metadata, record, running
from suite.load import Load
from suite.rounds import Plan
from suite.server import Failed, Server, free_port, stop_all
from suite.workload import Workload

BENCH = Path(__file__).resolve().parents[2] / "bench"
ELSEWHERE = "192.0.2.1"  # for documentation (RFC 5737): no machine has it
FIRST, SECOND = (Workload(name, "/", "plain.lua", b"") for name in ("one", "two"))
# Runs bench.py with a command line that waits, and says what ended it.
WAITING = """
import runpy, signal, sys, types

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, getattr(signal, {before!r}))

def main(words):
    try:
        print("ready", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 130

sys.modules["suite"], sys.modules["suite.cli"] = types.ModuleType("suite"), types.ModuleType("cli")
sys.modules["suite.cli"].main = main
runpy.run_path({bench!r} + "/bench.py", run_name="__main__")
"""


def row(*command: str) -> metadata.Row:
    """Makes a row that runs a command."""
    program = metadata.Program("it", BENCH, BENCH, "f", "C", "micro")
    return metadata.Row(program, "it", 1, list(command))


def waiting(before: str) -> str:
    """Writes the program, started with a handling of signals."""
    return WAITING.format(bench=str(BENCH), before=before)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_run_as_an_interruption(name):
    text = waiting("SIG_DFL")
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(name)
        assert run.stdout.read() == "stopped\n" and run.wait(10) == 130


def test_a_signal_that_is_ignored_stays_so():
    text = waiting("SIG_IGN")
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGHUP)  # as nohup has it
        run.send_signal(signal.SIGINT)
        assert run.stdout.read() == "stopped\n" and run.wait(10) == 130


def test_who_interrupts_twice_waits_for_no_server():
    done = []

    class One:
        def stop(self):
            done.append("stop")
            if len(done) == 2:
                raise KeyboardInterrupt

        def kill(self):
            done.append("kill")

    stop_all([One(), One(), One(), One()])
    assert done == ["stop", "stop", "kill", "kill"]


def test_a_server_that_is_interrupted_while_it_starts_is_stopped(monkeypatch):
    def start(self, workload):
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "start", start)
    servers = []
    with pytest.raises(KeyboardInterrupt):
        building.start_all([row("true")], "single", Plan([], Load(1, 1, 1, []), 1), servers)
    assert [server.name for server in servers] == ["it"]


def test_a_server_that_is_not_there_has_no_row():
    server = Server(row("/no/such/program"), [])
    with pytest.raises(Failed, match="/no/such/program could not be started: No such file"):
        server.start(FIRST)
    server.stop()
    assert not server.scratch.exists()


def test_an_address_of_another_machine_is_named():
    with pytest.raises(Failed, match=f"nothing can listen on {ELSEWHERE}"):
        free_port(ELSEWHERE)


def interrupted(count: int, monkeypatch) -> tuple[list[Server], dict]:
    """Interrupts a run of two workloads after so many finished ones."""

    def run_rounds(servers, plan):
        for item in plan.workloads[:count]:
            servers[0].rounds[item.name] = [{}, {}]
        servers[0].rounds.setdefault(plan.workloads[-1].name, [{}])
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_rounds", run_rounds)
    servers, about = [Server(row("true"), [])], {}
    running.run_kept(servers, Plan([FIRST, SECOND], Load(1, 1, 1, []), 2), about)
    return servers, about


def test_an_interruption_keeps_what_is_finished(monkeypatch, capsys):
    servers, about = interrupted(1, monkeypatch)
    assert list(servers[0].rounds) == ["one"]
    assert about == {"interrupted": "after 1 of 2 workloads"}


def test_an_interruption_before_that_keeps_nothing(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        interrupted(0, monkeypatch)


def test_what_a_tool_cannot_do_is_left_out_before_the_run():
    piped = Workload("p", "/", "pipeline.lua", b"", pipelined=16)
    load = Load(1, 1, 1, [], tool="open", rate=10)
    assert running.loadable([FIRST, piped], load) == [FIRST]
    with pytest.raises(ValueError, match="cannot load 'p'"):
        running.loadable([piped], load)
    with pytest.raises(ValueError, match="needs --rate"):
        running.loadable([FIRST], Load(1, 1, 1, [], tool="open"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tool": "open"}, "--tool open needs --rate"),
        ({"tool": "hey", "rate": 5}, "--rate is for --tool open; hey asks as fast"),
        ({"threads": 9, "connections": 8}, "--threads 9 is more than --connections 8"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        running.planned(running.Wanted(["c_epoll"], ["JSON"], **options))


def test_two_runs_of_one_second_have_folders_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "BENCH", tmp_path)
    folders = {record.write_results({}, {}, {}) for _ in range(3)}
    assert len(folders) == 3 and all((one / "results.json").exists() for one in folders)


def test_a_folder_that_takes_no_results_is_found_before_the_run(monkeypatch, tmp_path):
    (tmp_path / "results").write_text("a file")
    monkeypatch.setattr(record, "BENCH", tmp_path)
    with pytest.raises(ValueError, match=f"{tmp_path}/results takes no results: "):
        record.check_results()
