"""Measures gRPC servers beside each other: CPU of the server a call and a message.

The load is h2load (Debian's nghttp2-client): one connection with 64 calls under
way, each a POST whose content is one message of 100 octets behind its prefix, or
1,000 of them where both sides are streams. A stream of replies has 1,000, too.
Server and load have a CPU each; the servers are asked by turns, and the table has
the medians. CPU is user and system time of the server's process. Beside them
stands what HTTP/2 costs without gRPC: a GET that is answered with 100 octets by
a server of ours that has nothing but a router.

Run: .venv/bin/python bench/grpc/grpc_bench.py [--rounds 7] [--count 200000] [NAME...].
It needs h2load, for the others Go and Rust.
"""

import argparse
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "tools")]

from suite.process import cpu_s  # noqa: E402
from suite.server import free_port  # noqa: E402
from toolchain import BUILD, build, environment  # noqa: E402

FOLDER = BUILD / "bench" / "grpc"
START_TIMEOUT_S = 10
RUN_TIMEOUT_S = 300
STREAM_COUNT = 1_000
# A `google.protobuf.BytesValue` of 100 octets behind its prefix.
MESSAGE = b"\0\0\0\0\x64\x0a\x62" + b"x" * 98
# Path and how many messages a call has: sent, and got.
CALLS = {
    "unary call": ("/bench.Echo/Unary", 1, 1),
    "message of a server stream": ("/bench.Echo/Pour", 1, STREAM_COUNT),
    "message of a bidi stream": ("/bench.Echo/EchoAll", STREAM_COUNT, STREAM_COUNT),
}
GET = "GET"
NAMES = ("flare", "grpc-go", "tonic")
NEEDS = {"grpc-go": "go", "tonic": "cargo"}


def run(command: list, **options) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def build_all(names: list[str]) -> dict[str, list[str]]:
    """Builds the servers; gives their commands, without the port."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    programs: dict[str, list[str]] = {}
    for name in names:
        binary = FOLDER / name
        if name == "flare":
            done = build(HERE / "flare_grpc.mojo", binary, whole=False)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
        elif name == "grpc-go":
            options = {**environment(), "GOTOOLCHAIN": "local"}
            run(["go", "build", "-o", binary], cwd=HERE / "go_grpc", env=options)
        else:
            target = FOLDER / "rust"
            command = ["cargo", "build", "--release", "--quiet", "--target-dir", target]
            run(command, cwd=HERE / "rust_tonic")
            binary = target / "release" / "bench_tonic"
        programs[name] = [str(binary)]
    return programs


class Server:
    """A server on a CPU of its own, and the port that it has."""

    def __init__(self, command: list[str], stack: ExitStack, *more: str):
        self.port = free_port()
        # One thread each, as ours has.
        options = {**environment(), "GOMAXPROCS": "1"}
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", *command, str(self.port), *more],
            env=options,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit(f"grpc_bench: {command[0]} does not start")
                time.sleep(0.05)

    def cpu_us(self, path: str, count: int, content: Path | None, octets: int) -> float:
        """Asks so often; gives microseconds of CPU a call. All must be answered,
        with so much content."""
        command = ["taskset", "-c", "1", "h2load", "-c1", "-m64", "-n", str(count)]
        if content:
            command += ["-d", str(content), "-H", "te: trailers"]
            command += ["-H", "content-type: application/grpc"]
        before = cpu_s(self.process.pid)
        out = subprocess.run(
            [*command, f"http://127.0.0.1:{self.port}{path}"],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=True,
        ).stdout
        used_s = cpu_s(self.process.pid) - before
        answered = re.search(r"status codes: (\d+) 2xx", out)
        got = re.search(r"\((\d+)\) data", out)
        if not answered or not got:
            sys.exit(f"grpc_bench: h2load says: {out[-500:]}")
        if int(answered[1]) != count or int(got[1]) != count * octets:
            sys.exit(f"grpc_bench: not all was answered: {out[-500:]}")
        return used_s * 1e6 / count


def measure_all(programs: dict[str, list[str]], options: argparse.Namespace) -> dict:
    """Measures all servers by turns; gives the results by row."""
    results: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        contents = {}
        for sent in {call[1] for call in CALLS.values()}:
            contents[sent] = folder / str(sent)
            contents[sent].write_bytes(MESSAGE * sent)
        servers = {name: Server(programs[name], stack) for name in programs}
        plain = Server(programs["flare"], stack, "plain") if "flare" in programs else None
        # The first round is to warm up.
        for number in range(options.rounds + 1):
            for row, (path, sent, got) in CALLS.items():
                count = max(options.count // max(sent, got), 64)
                for name, server in servers.items():
                    octets = got * len(MESSAGE)
                    figure = server.cpu_us(path, count, contents[sent], octets) / got
                    if number:
                        results.setdefault(row, {}).setdefault(name, []).append(figure)
            if plain:
                figure = plain.cpu_us("/100", options.count, None, 100)
                if number:
                    results.setdefault(GET, {}).setdefault("flare", []).append(figure)
    return results


def show(results: dict[str, dict[str, list[float]]]) -> None:
    """Prints the medians as a table."""
    names = list(dict.fromkeys(name for row in results.values() for name in row))
    print("| CPU us |", " | ".join(names), "|")
    print("| --- |", " | ".join("---" for _ in names), "|")
    for label, row in results.items():
        cells = [f"{statistics.median(row[name]):.2f}" if name in row else "" for name in names]
        print(f"| {label} |", " | ".join(cells), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="servers; all that can be built here")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=200_000)
    options = parser.parse_args()
    if not shutil.which("h2load"):
        sys.exit("grpc_bench: h2load is not here: apt-get install nghttp2-client")
    names = []
    for name in options.names or NAMES:
        if name in NEEDS and not shutil.which(NEEDS[name]):
            print(f"without {name}: {NEEDS[name]} is not here")
        else:
            names.append(name)
    results = measure_all(build_all(names), options)
    show(results)
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
