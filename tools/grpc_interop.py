"""Runs the interop cases of gRPC that need no cloud, between flare, grpc-go and grpcio,
each side as client and as server.

    tools/grpc_interop.py [--case NAME]...

grpc-go's programs are put under build/ once, by Go; without Go its pairs are skipped
with a message. grpcio comes with the requirements of tests, and its programs are
tests/conformance/grpc/interop_python.py.
"""

import argparse
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import go_programs
from ports import claim_port
from report import Report
from toolchain import BUILD, ROOT, build, make_messages

MODULE = "google.golang.org/grpc"
VERSION = "v1.84.0"
FOLDER = BUILD / "interop"
SOURCES = ROOT / "tests" / "conformance" / "grpc"
CASES = [
    *("empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong"),
    *("empty_stream", "timeout_on_sleeping_server", "cancel_after_begin"),
    *("cancel_after_first_response", "status_code_and_message", "special_status_message"),
    *("custom_metadata", "unimplemented_method", "unimplemented_service", "rpc_soak"),
    "channel_soak",
]
CASE_TIMEOUT_S = 60


def make(report: Report) -> bool:
    """Builds flare's programs."""
    make_messages([SOURCES / "interop.proto"], [SOURCES], FOLDER / "interop_messages")
    for name in ("server", "client"):
        print(f"  building {name} ...", flush=True)
        source = SOURCES / f"interop_{name}.mojo"
        result = build(source, FOLDER / name, "-I", str(FOLDER), whole=False)
        if result.returncode:
            report.fail(f"build of the {name}", result.stdout[-4000:])
            return False
    return True


def server_of(who: str) -> tuple[list[str], int | None]:
    """Gives a server's command, and its port unless it prints that."""
    if who == "go":
        port = claim_port()
        return [str(FOLDER / "go" / "server"), f"--port={port}"], port
    if who == "python":
        return [sys.executable, str(SOURCES / "interop_python.py"), "serve"], None
    return [str(FOLDER / "server")], None


def client_of(who: str, port: int, case: str) -> list[str]:
    if who == "go":
        return [
            *(str(FOLDER / "go" / "client"), "--server_host=127.0.0.1"),
            *(f"--server_port={port}", f"--test_case={case}"),
        ]
    if who == "python":
        return [sys.executable, str(SOURCES / "interop_python.py"), str(port), case]
    return [str(FOLDER / "client"), str(port), case]


@contextmanager
def serving(who: str) -> Iterator[int]:
    """Runs a server while its cases are tried."""
    command, port = server_of(who)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            if port is None:
                port = int(server.stdout.readline())
            else:
                wait_for(port)
            yield port
        finally:
            server.kill()


def wait_for(port: int) -> None:
    """Waits until somebody listens."""
    late = time.monotonic() + CASE_TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > late:
                raise
            time.sleep(0.05)


def judge(report: Report, client: str, server: str, cases: list[str]) -> None:
    """Tries all cases between two."""
    passed = 0
    with serving(server) as port:
        for case in cases:
            try:
                said = subprocess.run(
                    client_of(client, port, case),
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    timeout=CASE_TIMEOUT_S,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                report.fail(f"{case} of {client} at {server}", "no end")
                continue
            if said.returncode:
                report.fail(f"{case} of {client} at {server}", said.stdout[-2000:])
            else:
                passed += 1
    report.passed(f"{client} at {server}", passed)
    print(f"  {client} at {server}: {passed} of {len(cases)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--case", action="append", choices=CASES, default=[], metavar="NAME"
    )
    options = parser.parse_args()
    report = Report()
    FOLDER.mkdir(parents=True, exist_ok=True)
    others = ["python"]
    if shutil.which("go"):
        packages = [f"{MODULE}/interop/{one}" for one in ("client", "server")]
        go_programs.install(packages, VERSION, FOLDER / "go")
        others.append("go")
    else:
        report.skipped("interop with grpc-go", "there is no Go to build it")
    if make(report):
        pairs = [("flare", "flare")]
        pairs += [pair for one in others for pair in ((one, "flare"), ("flare", one))]
        for client, server in pairs:
            report.step(
                f"{client} at {server}", judge, client, server, options.case or CASES
            )
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
