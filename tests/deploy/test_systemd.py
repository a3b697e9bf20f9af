"""The systemd units: checked by systemd, and their commands as it would run them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import START_S, Started, environment, next_line, program
from test_proxies import ask
from units import UNITS, command, setting

WAIT_S = 15
# One that every user may run, unlike some that are installed for one user.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
# Becomes a program with descriptor 3 as systemd hands a socket over.
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path, bundle):
    """With the program where the units have it; systemd looks for that, too."""
    analyze = program("systemd-analyze", "systemd")
    copies = []
    for unit in UNITS:
        text = unit.read_text().replace("/opt/service", str(bundle))
        copies.append(tmp_path / unit.name)
        copies[-1].write_text(text)
    verified = subprocess.run(
        [analyze, "verify", "--man=no", *map(str, copies)],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True, text=True, timeout=60,
    )
    of_ours = [
        line for line in verified.stderr.splitlines()
        if any(unit.name in line for unit in UNITS)
    ]
    assert verified.returncode == 0 and of_ours == [], verified.stderr


@contextmanager
def manager(folder: Path) -> Iterator[tuple[socket.socket, str]]:
    """Listens as systemd does at NOTIFY_SOCKET."""
    path = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(WAIT_S)
        yield listener, str(path)


def until_told(listener: socket.socket, wanted: str) -> None:
    """Reads the program's news up to some line."""
    while wanted not in listener.recv(4096).decode().splitlines():
        continue


def test_the_prefork_unit_hears_what_it_waits_for(started: Started, tmp_path, bundle):
    unit = "service-prefork.service"
    assert setting(unit, "Type") == "notify"
    watchdog_us = 10**6  # in place of the unit's 30 s
    with manager(tmp_path) as (listener, path):
        process = started.run(
            command(unit, bundle),
            stdout=subprocess.PIPE,
            env={
                **environment(), "NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(watchdog_us),
            },
        )
        until_told(listener, "READY=1")
        until_told(listener, "WATCHDOG=1")
        port = int(next_line(process, START_S).rsplit(":", 1)[1])
        assert ask(port, "/")[0] == 200
        # ExecReload: new workers, and the same port.
        assert setting(unit, "ExecReload") == "/bin/kill -HUP $MAINPID"
        process.send_signal(signal.SIGHUP)
        until_told(listener, "WATCHDOG=1")
        assert ask(port, "/")[0] == 200
        process.send_signal(signal.SIGTERM)
        until_told(listener, "STOPPING=1")
        assert process.wait(WAIT_S) == 0


@pytest.mark.parametrize("unit", ["service-activated.service", "service.service"])
@pytest.mark.parametrize("user", [None, 10001])
def test_a_socket_that_was_handed_over_is_served(started: Started, bundle, unit, user):
    """Also one of another user, as systemd's is for a service with DynamicUser."""
    if user and os.geteuid() != 0:
        pytest.skip("only root starts programs as others: run as root")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        number = str(listener.fileno())
        # A client that connects before the program is there waits for its answer.
        early = socket.create_connection(("127.0.0.1", port), WAIT_S)
        early.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        process = started.run(
            [PYTHON, "-c", ACTIVATE, number, *command(unit, bundle, f"127.0.0.1:{port}")],
            stdout=subprocess.PIPE, env=environment(), pass_fds=[listener.fileno()], user=user,
        )
        assert next_line(process, START_S) == f"listening on 127.0.0.1:{port}"
        assert early.recv(65536).startswith(b"HTTP/1.1 200 ")
        early.close()
        process.terminate()
        assert process.wait(WAIT_S) == 0
        # systemd's socket is not closed with the program: who comes now waits.
        socket.create_connection(("127.0.0.1", port), WAIT_S).close()


def test_the_unit_and_its_socket_name_one_address():
    place = setting("service-activated.socket", "ListenStream")
    assert setting("service-activated.service", "ExecStart").split()[1] == place


@pytest.mark.parametrize("unit", [unit.name for unit in UNITS if unit.suffix == ".service"])
def test_systemd_waits_longer_than_the_server(unit):
    grace_s = 35  # PreforkConfig.grace_ms, over ServerConfig.shutdown_timeout_ms
    assert int(setting(unit, "TimeoutStopSec")) > grace_s
