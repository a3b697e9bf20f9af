"""Measures what is about this library alone: microbenchmarks, idle connections."""

import json
import resource
import socket
import subprocess

from suite.process import private_len
from suite.programs import BENCH
from suite.server import Server
from toolchain import BUILD, build

IDLE_COUNT = 4000


def idle_connection_len(server: Server) -> float | None:
    """Measures the memory of a connection that was answered and is kept alive."""
    needed = IDLE_COUNT + 200
    for pid in (0, server.process.pid):
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        if hard < needed:
            print(f"bench: no idle row: {needed} open files are not allowed")
            return None
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (needed, hard))
    base, clients = private_len(server.process.pid), []
    try:
        for _ in range(IDLE_COUNT):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            clients.append(client)
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.recv(4096)
        return (private_len(server.process.pid) - base) / IDLE_COUNT
    finally:
        for client in clients:
            client.close()


def micro() -> dict[str, float]:
    """Builds and runs the microbenchmarks."""
    figures = {}
    for source in sorted((BENCH / "micro").glob("*.mojo")):
        binary = BUILD / "bench" / f"micro_{source.stem}"
        result = build(source, binary)
        if result.returncode:
            raise SystemExit(result.stdout)
        output = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
        for line in output.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                figures[row["name"]] = row["ns"]
    return figures
