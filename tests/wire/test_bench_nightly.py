"""The benchmark suite on servers that run: a slower one is found, tools agree.

For the nights: they measure, and so want a machine at rest.
"""

import json
import os
import re
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from ready import accepted

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from suite import metadata, workload  # noqa: E402
from suite.compare import comparison  # noqa: E402
from suite.layout import cpus_here, layout  # noqa: E402
from suite.load import Load  # noqa: E402
from suite.own_load import OPEN_LOOP, build_own  # noqa: E402
from suite.rounds import DISTURBED_CPUS, Plan, one_round, run_rounds  # noqa: E402
from suite.server import Server, build  # noqa: E402

pytestmark = pytest.mark.nightly
ROUNDS = 25
SLOWDOWN = 0.12  # a tenth, and what the measurement may lose of it
# Turns of the loop that a calibration counts.
TURNS = 50_000_000
BURN = "for (volatile int turn = 0; turn < %d; turn++) {}"
CALIBRATION = """
#include <stdio.h>
#include <time.h>
int main(void) {
    clock_t before = clock();
    %s
    printf("%%f", (double)(clock() - before) / CLOCKS_PER_SEC);
}
""" % (BURN % TURNS)
PLACES = layout(cpus_here(), "single", 1, 1)
PLAIN = next(item for item in workload.load(BENCH, []) if item.name == "plaintext")


def turn_s(folder: Path) -> float:
    """Measures one turn of the loop that slows a server down."""
    source, program = folder / "turn.c", folder / "turn"
    source.write_text(CALIBRATION)
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return float(subprocess.run([program], capture_output=True, check=True).stdout) / TURNS


def limit_row() -> metadata.Row:
    return next(row for row in metadata.load(BENCH) if row.name == "C epoll, no parsing")


def slowed_row(folder: Path, turns: int) -> metadata.Row:
    """Makes the raw C server burn CPU time for each request."""
    row = limit_row()
    here = folder / "c_epoll"
    here.mkdir()
    (here / "server.c").write_text((row.program.here / "server.c").read_text())
    shutil.copy(row.program.here.parent / "ws_echo.h", folder)
    text = (row.program.here.parent / "answers.h").read_text()
    marked = "        if (at[0] == 'P') {"
    assert text.count(marked) == 1
    burn = f"        {BURN % turns}\n"
    (folder / "answers.h").write_text(text.replace(marked, burn + marked))
    return replace(row, program=replace(row.program, key="slowed", here=here), name="slowed")


@pytest.fixture
def started():
    """Gives a function that builds and starts servers, which are stopped at the end."""
    servers = []

    def start(row: metadata.Row) -> Server:
        build(row.program)
        servers.append(Server(row, PLACES.server))
        servers[-1].start(PLAIN)
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def record(rounds: list[dict]) -> dict:
    """Makes what `compare` reads of one server."""
    about = {"date": "d", "commit": "c", "tree": "clean", "cpu": "x"}
    return {"origin": about, "servers": {"it": {"parses": True}}, "rounds": {"it": {"w": rounds}}}


def test_a_server_slowed_by_a_tenth_is_flagged_and_the_same_server_is_not(tmp_path, started):
    plan = Plan([PLAIN], Load(1, 64, 1, PLACES.load), ROUNDS)
    first = started(limit_row())
    second = started(replace(limit_row(), name="the same"))
    cpu_s = statistics.median(one_round(first, PLAIN, plan.load)[0]["cpu_us"] for _ in range(3)) / 1e6
    slowed = started(slowed_row(tmp_path, round(SLOWDOWN * cpu_s / turn_s(tmp_path))))
    run_rounds([first, second, slowed], plan)
    rounds = [record(server.rounds["plaintext"]) for server in (first, second, slowed)]
    assert comparison(rounds[0], rounds[1])[1] == []
    assert comparison(rounds[0], rounds[2])[1] == ["w, it"]


def test_the_open_loop_agrees_with_wrk_where_there_is_little_load(started):
    build_own(OPEN_LOOP)
    server = started(limit_row())
    closed = one_round(server, PLAIN, Load(1, 1, 3, PLACES.load))[0]
    load = Load(1, 1, 3, PLACES.load, tool="open", rate=round(closed["rps"] / 4))
    opened = one_round(server, PLAIN, load)[0]
    assert opened["rps"] == pytest.approx(load.rate, rel=0.01)
    assert opened["errors"] == {} and opened["waiting"] <= 1
    assert closed["min_ms"] / 2 < opened["min_ms"] < closed["min_ms"] * 2
    if max(closed["other_cpus"], opened["other_cpus"]) > DISTURBED_CPUS:
        pytest.skip("the machine was not at rest: only the quickest answers were compared")
    assert closed["p50_ms"] / 2 < opened["p50_ms"] < closed["p50_ms"] * 2


def test_the_open_loop_charges_a_server_that_cannot_follow(started):
    build_own(OPEN_LOOP)
    server = started(limit_row())
    load = Load(1, 16, 2, PLACES.load, tool="open", rate=3_000_000)
    figures = one_round(server, PLAIN, load)[0]
    assert figures["rps"] < load.rate / 2 and figures["waiting"] > load.rate / 2
    assert figures["p50_ms"] > 100


SSHD = """
HostKey {here}/host_key
AuthorizedKeysFile {here}/key.pub
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
ForceCommand cd {here}/home && exec sh -c "$SSH_ORIGINAL_COMMAND"
"""


class Sshd:
    """OpenSSH's server on a port of its own; each connection has a process."""

    def __init__(self, here: Path) -> None:
        self._sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if self._sshd is None:
            pytest.skip("sshd is not here: apt-get install openssh-server")
        if os.geteuid() == 0:  # where it gives its rights up
            Path("/run/sshd").mkdir(exist_ok=True)
        (here / "home").mkdir()
        for name in ("key", "host_key"):
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(here / name)]
            subprocess.run(keygen, check=True)
        self._config, self._log = here / "sshd_config", here / "sshd.log"
        self._config.write_text(SSHD.format(here=here))
        self.listener = socket.create_server(("127.0.0.1", 0))
        known = f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={here}/known"
        port = self.listener.getsockname()[1]
        self.command = f"ssh -p {port} -i {shlex.quote(str(here / 'key'))} {known}"
        self.count = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for client in accepted(self.listener):
            self.count += 1
            with client:
                subprocess.Popen(
                    [self._sshd, "-i", "-f", str(self._config), "-E", str(self._log)],
                    stdin=client, stdout=client,
                )

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.mark.parametrize("tool", ["wrk", "open"])
def test_the_load_runs_on_a_host_behind_a_real_sshd(tmp_path, tool):
    """Loopback stands for the way there; all else is as with another machine."""
    sshd = Sshd(tmp_path)
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    asked = ["--tool", "open", "--rate", "2000"] if tool == "open" else []
    run = subprocess.run(
        [
            sys.executable, str(BENCH / "bench.py"), "run", "c_epoll", "--workload", "plaintext",
            "-r", "2", "-d", "1s", "-c", "16", *asked,
            "--remote", f"{user}@127.0.0.1", "--ssh", sshd.command, "--host", "127.0.0.1",
        ],
        capture_output=True, text=True, timeout=120,
    )
    sshd.close()
    assert run.returncode == 0, run.stdout + run.stderr
    assert sshd.count >= 4  # the files, a warm-up, two rounds
    assert (tmp_path / "home" / "flare-bench-load" / "bench" / "load").is_dir()
    folder = BENCH.parent / re.search(r"results: (\S+)", run.stdout)[1]
    found = json.loads((folder / "results.json").read_text())
    shutil.rmtree(folder)
    assert found["origin"]["load from"] == "another host"
    [rounds] = [rows["plaintext"] for rows in found["rounds"].values()]
    assert len(rounds) == 2 and all(row["rps"] > 500 and not row["errors"] for row in rounds)
