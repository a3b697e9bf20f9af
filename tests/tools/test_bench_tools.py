"""The load tools: their commands, their words, another host, the prefork launcher."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from suite import remote
from suite.hey import hey_command, parse_hey
from suite.load import Load
from suite.own_load import BINARIES, open_command
from suite.rounds import Plan
from suite.sweep import run_sweep
from suite.tools import load_command
from suite.workload import Workload
from suite.wrk import parse_figures

BENCH = Path(__file__).resolve().parents[2] / "bench"
PLACE = ("127.0.0.1", 81)
PLAIN = Workload("w", "/a", "plain.lua", b"Hello")
HEY = """
Summary:
  Total:	2.0010 secs
  Slowest:	0.0312 secs
  Fastest:	0.0001 secs
  Average:	0.0016 secs
  Requests/sec:	39980.0100

  Total data:	1040000 bytes
  Size/request:	13 bytes

Latency distribution:
  10%% in 0.0005 secs
  25%% in 0.0010 secs
  50%% in 0.0020 secs
  75%% in 0.0030 secs
  99%% in 0.0110 secs

Status code distribution:
  [200]	80000 responses
  [503]	4 responses

Error distribution:
  [3]	Get "http://127.0.0.1:81/a": EOF
""".replace("%%", "%")
FIGURES = (
    'figures: {"requests": 1980, "bytes": 9, "duration_us": 1000000, "latency_us": {"min": 1.5,'
    ' "p25": 2, "p50": 3, "p75": 4, "p90": 5, "p99": 6, "p999": 7, "max": 8},'
    ' "errors": {"status": 0, "closed": 0}, "waiting": 20}'
)
# What stands for ssh: it drops the options and the host, and runs the command in a folder.
FAKE_SSH = """#!/bin/sh
while [ "$1" = -o ] || [ "$1" = -p ]; do shift 2; done
echo "$1" >> "$REMOTE_HOME/hosts"
cd "$REMOTE_HOME" && exec sh -c "$2"
"""


def test_hey_is_asked_and_understood():
    command = hey_command(PLACE, PLAIN, Load(1, 64, 2, []))
    assert " ".join(command) == (
        "hey -z 2s -c 64 -cpus 1 -disable-compression -disable-redirects http://127.0.0.1:81/a"
    )
    found = parse_hey(HEY)
    assert (found["requests"], found["errors"]) == (80000, {"status": 4, "failed": 3})
    assert found["rps"] == pytest.approx(39980.01) and found["bytes_per_s"] == pytest.approx(519740, 1e-4)
    assert [found[f"{name}_ms"] for name in ("min", "p25", "p50", "p75", "p99", "max")] == (
        pytest.approx([0.1, 1, 2, 3, 11, 31.2])
    )
    with pytest.raises(ValueError, match="hey printed no 'Total'"):
        parse_hey("connection refused")


def test_hey_sends_content_and_closes():
    upload = Workload("u", "/u", "upload.lua", b"OK", data=b"data")
    assert hey_command(PLACE, upload, Load(1, 1, 1, []))[-3:] == ["-d", "data", "http://127.0.0.1:81/u"]
    closing = Workload("c", "/", "close.lua", b"", closes=True)
    assert "-disable-keepalive" in hey_command(PLACE, closing, Load(1, 1, 1, []))
    with pytest.raises(ValueError, match="hey cannot load 'p'"):
        hey_command(PLACE, Workload("p", "/", "pipeline.lua", b""), Load(1, 1, 1, []))


def test_the_open_loop_is_asked_and_understood():
    load = Load(1, 8, 2, [1], tool="open", rate=500)
    assert load_command(PLACE, PLAIN, load) == [
        "taskset", "-c", "1", str(BINARIES / "open_loop"), "127.0.0.1:81", "/a", "500", "8", "2", "5",
    ]
    found = parse_figures(FIGURES)
    assert (found["rps"], found["waiting"], found["errors"]) == (1980, 20, {})
    assert (found["min_ms"], found["p999_ms"]) == (0.0015, 0.007)
    with pytest.raises(ValueError, match="needs --rate"):
        open_command(PLACE, PLAIN, Load(1, 8, 2, [], tool="open"))
    with pytest.raises(ValueError, match="cannot load 'c'"):
        open_command(PLACE, Workload("c", "/", "close.lua", b""), load)


def test_messages_to_be_echoed_have_a_tool_of_their_own():
    item = Workload("ws", "/ws", "", b"", message_len=64)
    for tool in ("wrk", "hey", "open"):
        assert load_command(PLACE, item, Load(1, 8, 2, [], tool=tool)) == [
            str(BINARIES / "ws_echo"), "127.0.0.1:81", "/ws", "8", "2", "64",
        ]


@pytest.fixture
def far(tmp_path, monkeypatch):
    """Puts a fake ssh on PATH; gives the folder that stands for the other host's home."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    (programs / "ssh").write_text(FAKE_SSH)
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("REMOTE_HOME", str(home))
    return home


def test_the_load_goes_to_another_host(far):
    remote.copy_load("me@far", [])
    folder = far / remote.FOLDER
    assert (folder / "bench" / "load" / "plain.lua").exists()
    words = ["sh", "-c", "pwd; echo $0 \"$1\"", "it's", "two words"]
    result = subprocess.run(
        remote.over_ssh("me@far", words), capture_output=True, text=True, check=True
    )
    assert result.stdout == f"{folder}\nit's two words\n"
    assert (far / "hosts").read_text() == "me@far\n" * 2


def test_the_generator_goes_along(far, tmp_path, monkeypatch):
    binary = tmp_path / "open_loop"
    binary.write_text(f"#!/bin/sh\necho '{FIGURES}'\n")
    binary.chmod(0o755)
    monkeypatch.setattr(remote, "BINARIES", tmp_path)
    remote.copy_load("far", ["open_loop"])
    command = remote.over_ssh("far", [str(binary), "1"])
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert parse_figures(result.stdout)["requests"] == 1980


def test_a_load_that_is_remote_is_pinned_nowhere_here():
    command = load_command(PLACE, PLAIN, Load(1, 8, 2, [1], remote="far"))
    assert command[0] == "ssh" and command[-2] == "far" and "wrk -t1 -c8" in command[-1]
    assert "taskset" not in command


def test_a_host_that_cannot_be_reached_is_named(tmp_path, monkeypatch):
    (tmp_path / "ssh").write_text("#!/bin/sh\necho no route to it >&2\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ValueError, match="far took no files: no route to it"):
        remote.copy_load("far", [])


def test_a_sweep_stops_where_a_server_no_longer_follows(monkeypatch):
    class One:
        name = "one"

    def one_round(server, workload, load):
        rate = min(load.rate, 250)
        return {"rps": rate, "p99_ms": 1.0}, f"at {load.rate}"

    monkeypatch.setattr("suite.sweep.one_round", one_round)
    monkeypatch.setattr(Plan, "taking_part", lambda self, servers, workload: servers)
    plan = Plan([PLAIN], Load(1, 8, 1, []), 1)
    points = run_sweep([One()], plan, [100, 200, 300, 400])["one"]
    assert [(point["rate"], point["is_met"]) for point in points] == [
        (100, True), (200, True), (300, False),
    ]
    assert list(plan.raw) == ["one at 100", "one at 200", "one at 300"]


def test_the_prefork_launcher_pins_each_and_ends_all():
    # One write a line: both write into the same pipe.
    code = "import os, time; os.write(1, b'%a\\n' % sorted(os.sched_getaffinity(0))); time.sleep(60)"
    words = [sys.executable, BENCH / "prefork.py", "2", sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as launcher:
        lines = sorted(launcher.stdout.readline() for _ in range(2))
        launcher.terminate()
        launcher.wait(10)
    cpus = sorted(os.sched_getaffinity(0))
    wanted = [f"[{cpu}]\n" for cpu in cpus[:2]] if len(cpus) > 1 else [f"{cpus}\n"] * 2
    assert lines == sorted(wanted)
