import socket
import subprocess
import sys

import ports
import pytest
from toolchain import ROOT

CLAIM = "import ports, sys; print(ports.claim_port(), flush=True); sys.stdin.read()"


def test_ports_are_outside_the_range_of_connections():
    lowest, highest = map(int, ports.EPHEMERAL.read_text().split())
    claimed = ports.claim_ports(50)
    assert len(set(claimed)) == 50
    assert not [port for port in claimed if lowest <= port <= highest]
    for port in claimed:
        socket.create_server(("127.0.0.1", port)).close()


def test_no_other_process_gets_a_claimed_port(monkeypatch):
    """Two processes have one port to choose from."""
    [port] = ports.claim_ports(1)
    monkeypatch.setattr(ports, "FIRST", port)
    monkeypatch.setattr(ports, "LAST", port)
    with pytest.raises(OSError, match="is free"):
        ports.claim_port()
    code = f"import ports; ports.FIRST = ports.LAST = {port}; ports.claim_port()"
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "tools", capture_output=True, text=True
    )
    assert "is free" in other.stderr


def test_a_claim_ends_with_its_process(monkeypatch):
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM],
        cwd=ROOT / "tools",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        port = int(other.stdout.readline())
        monkeypatch.setattr(ports, "FIRST", port)
        monkeypatch.setattr(ports, "LAST", port)
        with pytest.raises(OSError, match="is free"):
            ports.claim_port()
        other.stdin.close()
        other.wait()
    assert ports.claim_port() == port


def test_a_port_that_somebody_listens_on_is_passed_over(monkeypatch):
    [port] = ports.claim_ports(1)
    ports._claims.pop().close()
    with socket.create_server(("127.0.0.1", port)):
        monkeypatch.setattr(ports, "FIRST", port)
        monkeypatch.setattr(ports, "LAST", port)
        with pytest.raises(OSError, match="is free"):
            ports.claim_port()
