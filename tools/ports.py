"""Ports for servers that cannot be given port 0 and asked which they have.

A port that is found by binding to 0 and let go again may be taken before the
server binds it: by any connection that leaves this machine, since its own port
is of the same range, and by another process of the tests. What is handed out
here is outside that range, and claimed until this process ends.
"""

import random
import socket
from pathlib import Path

EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Below are ports of services that a machine may run.
FIRST, LAST = 10_000, 65_535

# A name that is bound for each claimed port: it is gone with this process.
_claims: list[socket.socket] = []


def claim_port(host: str = "127.0.0.1") -> int:
    """Returns a port of the host that nobody has and no other caller gets. Raises
    OSError where nothing can listen on the host, or all ports are taken."""
    lowest, highest = map(int, EPHEMERAL.read_text().split())
    ports = [port for port in range(FIRST, LAST + 1) if not lowest <= port <= highest]
    random.shuffle(ports)
    socket.create_server((host, 0)).close()
    for port in ports:
        if _is_claimed(port) and _is_free(host, port):
            return port
    raise OSError(f"no port of {FIRST} to {LAST} is free outside {lowest} to {highest}")


def claim_ports(count: int) -> list[int]:
    return [claim_port() for _ in range(count)]


def _is_claimed(port: int) -> bool:
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0flare-port-{port}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def _is_free(host: str, port: int) -> bool:
    try:
        socket.create_server((host, port)).close()
    except OSError:
        return False
    return True
