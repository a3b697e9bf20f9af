"""What a handler that blocks does to the requests beside it.

    .venv/bin/python bench/uneven/uneven.py [SECONDS]

Eight clients open a connection for each request, as fast as they are answered;
each tenth request takes the slow route. Modes take turns; the table has the
latency of the quick route alone.
"""

import argparse
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from arguments import above_zero  # noqa: E402
from ports import claim_port  # noqa: E402
from toolchain import BUILD, MOJO  # noqa: E402

MODES = {
    "per_worker": "threads, a listener for each worker",
    "shared": "threads, one shared listener",
    "prefork": "prefork, a listener for each worker",
    "handler_threads": "threads, and 8 handler threads for each worker",
}
CLIENTS = 8
ROUNDS = 5
REQUEST = b"GET %s HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"


def wait_for(port: int) -> None:
    end = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def ask(port: int, path: bytes) -> float:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(REQUEST % path)
        answer = b""
        while octets := sock.recv(4096):
            answer += octets
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"expected 200, found {answer[:80]!r}")
    return time.monotonic() - began


def load(port: int, seconds: float) -> list[float]:
    """Gives the latencies of the quick route."""
    times: list[float] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        count = number
        while time.monotonic() < end:
            count += 1
            if count % 10 == 0:
                ask(port, b"/slow")
            else:
                times.append(ask(port, b"/"))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", nargs="?", type=above_zero, default=2.0)
    seconds = parser.parse_args().seconds
    program = BUILD / "bench" / "uneven" / "uneven"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([MOJO, "build", "-I", ROOT, ROOT / "bench/uneven/uneven.mojo", "-o", program], check=True)
    rows: dict[str, list[tuple[float, ...]]] = {mode: [] for mode in MODES}
    for _ in range(ROUNDS):
        for mode in MODES:
            port = claim_port()
            server = subprocess.Popen([program, mode, str(port)])
            try:
                wait_for(port)
                times = sorted(load(port, seconds))
            finally:
                server.terminate()
                server.wait(20)
            at = [times[int(len(times) * part)] * 1000 for part in (0.5, 0.9, 0.99)]
            rows[mode].append((*at, len(times) / seconds))
    print("| workers | median ms | 90 % ms | 99 % ms | quick requests/s |")
    print("| --- | --- | --- | --- | --- |")
    for mode, text in MODES.items():
        figures = [statistics.median(column) for column in zip(*rows[mode])]
        print(f"| {text} | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.2f} | {figures[3]:.0f} |")


if __name__ == "__main__":
    main()
