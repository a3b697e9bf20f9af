"""Measures what an open gRPC call takes that says nothing: memory of the server's
process by open calls whose two sides are streams, 100 on a connection.

Run: .venv/bin/python bench/grpc/idle.py [--count 10000] [NAME...], behind
grpc_bench.py, which builds the servers. It needs the Python package hpack.
"""

import argparse
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import hpack
from grpc_bench import FOLDER, NAMES, Server
from suite.process import private_len

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "wire"))

from h2_frames import (  # noqa: E402
    ACK,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)

STREAMS = 100
HEAD = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/bench.Echo/EchoAll"),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
]


def take(connection: socket.socket, count: int) -> bytes:
    octets = b""
    while len(octets) < count:
        piece = connection.recv(count - len(octets))
        if not piece:
            raise ConnectionError("the server has closed")
        octets += piece
    return octets


def opened(port: int, count: int) -> socket.socket:
    """Opens a connection with so many calls, of which the server has heard."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    encoder = hpack.Encoder()
    out = PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0)
    for index in range(count):
        out += frame(HEADERS, END_HEADERS, 2 * index + 1, encoder.encode(HEAD))
    connection.sendall(out + frame(PING, 0, 0, b"all told"))
    while True:
        head = take(connection, 9)
        payload = take(connection, int.from_bytes(head[:3], "big"))
        if head[3] == PING and head[4] & ACK:
            return connection
        if head[3] not in (SETTINGS, WINDOW_UPDATE):
            # Heads of replies may come before the first message.
            if head[3] != HEADERS or head[4] & END_STREAM:
                raise ConnectionError(f"frame {head.hex()} {payload!r}")


def memory_len(name: str, count: int) -> tuple[int, int]:
    """Tells what the process takes with the first connection's calls, and with all."""
    with ExitStack() as stack:
        program = FOLDER / name
        if name == "tonic":
            program = FOLDER / "rust" / "release" / "bench_tonic"
        server = Server([str(program)], stack)
        connections = [stack.enter_context(opened(server.port, STREAMS))]
        before = private_len(server.process.pid)
        for _ in range(count // STREAMS):
            connections.append(stack.enter_context(opened(server.port, STREAMS)))
        return before, private_len(server.process.pid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    print("| | before, MB | with the calls, MB | bytes a call |")
    print("| --- | --- | --- | --- |")
    for name in options.names:
        before, after = memory_len(name, options.count)
        each = (after - before) // options.count
        print(f"| {name} | {before / 1e6:.1f} | {after / 1e6:.1f} | {each:,} |", flush=True)


if __name__ == "__main__":
    main()
