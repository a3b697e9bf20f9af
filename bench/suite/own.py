"""Measures what is about this library alone: its pieces, build, idle connections."""

import json
import resource
import socket
import subprocess

from suite import metadata, workload
from suite.budgets import OURS
from suite.console import progress, say
from suite.layout import cpus_here, layout, pinned
from suite.process import private_len
from suite.programs import BENCH, first_line
from suite.record import machine
from suite.server import Server, build
from toolchain import BUILD, MOJO
from toolchain import build as build_mojo

IDLE_COUNT = 4000


def idle_connection_len(server: Server) -> float | None:
    """Measures the memory of a connection that was answered and is kept alive."""
    needed = IDLE_COUNT + 200
    for pid in (0, server.process.pid):
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        if hard < needed:
            say(f"bench: no idle row: {needed} open files are not allowed")
            return None
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (needed, hard))
    base, clients = private_len(server.process.pid), []
    try:
        for _ in range(IDLE_COUNT):
            client = socket.create_connection(server.place, timeout=5)
            clients.append(client)
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.recv(4096)
        return (private_len(server.process.pid) - base) / IDLE_COUNT
    finally:
        for client in clients:
            client.close()


def micro(parts: list[str]) -> dict[str, float]:
    """Builds and runs the microbenchmarks whose file has one of the parts, or all."""
    figures = {}
    cpus = layout(cpus_here(), "single", 1, 1).server
    sources = [
        source
        for source in sorted((BENCH / "micro").glob("*.mojo"))
        if not parts or any(part in source.stem for part in parts)
    ]
    if not sources:
        raise ValueError(f"no file of bench/micro has {' or '.join(parts)} in its name")
    with progress() as bar:
        for source in bar.track(sources, description="microbenchmarks"):
            binary = BUILD / "bench" / f"micro_{source.stem}"
            result = build_mojo(source, binary)
            if result.returncode:
                raise ValueError(f"{source.name} was not built: {result.stdout[-2000:]}")
            output = subprocess.run(
                [*pinned(cpus), str(binary)], capture_output=True, text=True, check=True
            )
            for line in output.stdout.splitlines():
                if line.startswith("{"):
                    row = json.loads(line)
                    figures[row["name"]] = row["ns"]
    return figures


def own_record(parts: list[str]) -> dict:
    """Measures this library alone; parts of file names narrow it to these pieces."""
    about = {**machine("micro"), "compiler": first_line([str(MOJO), "--version"])}
    record = {
        "origin": about,
        "servers": {},
        "workloads": {},
        "left_out": {},
        "rounds": {},
        "micro_ns": micro(parts),
        "build_cpu_s": None,
        "idle_connection_len": None,
    }
    if parts:
        return record
    row = next(row for row in metadata.load(BENCH) if row.name == OURS)
    record["build_cpu_s"] = build(row.program)
    server = Server(row, layout(cpus_here(), "single", 1, 1).server)
    try:
        server.start(workload.load(BENCH, [])[0])
        record["idle_connection_len"] = idle_connection_len(server)
    finally:
        server.stop()
    return record
