"""`flare dev` as a user has it, with the compiler: ten edits under load.

Run by `make nightly`: each edit is built, which takes the compiler 10 s and more.
"""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import environment
from ports import claim_port
from swap_load import SwapLoad

EDIT_COUNT = 10
DEADLINE_S = 600

PROGRAM = """
from flare.http import HttpServer, Request, Response, Router, no_content, ok
from flare.net import SocketAddr


def version(req: Request) -> Response:
    return ok("VERSION")


def store(req: Request) -> Response:
    return no_content()


def main() raises:
    var router = Router()
    router.get("/", version)
    router.post("/", store)
    HttpServer.bind(SocketAddr.localhost(PORT)).serve(router^)
"""


def wait(holds: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)


@pytest.mark.nightly
def test_ten_rebuilds_under_load_fail_no_request(tmp_path):
    port = claim_port()
    source, log = tmp_path / "main.mojo", tmp_path / "log"

    def edit(version: str) -> None:
        text = PROGRAM.replace("VERSION", version).replace("PORT", str(port))
        source.write_text(text)

    edit("v0")
    process = subprocess.Popen(
        [sys.executable, "-m", "mojo_flare", "dev", "--page-port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=open(log, "w"),
        stderr=subprocess.STDOUT,
    )
    try:
        serving = re.compile(r"serving http://127\.0\.0\.1:(\d+)")
        wait(lambda: bool(serving.search(log.read_text())), log)
        assert serving.findall(log.read_text()) == [str(port)]
        with SwapLoad("127.0.0.1", port) as load:
            for number in range(1, EDIT_COUNT + 1):
                edit(f"v{number}")
                wait(lambda: f"v{number}" in load.versions, log)
        assert load.failures == []
        assert load.versions == [f"v{number}" for number in range(EDIT_COUNT + 1)]
        print(f"{load.answered} requests, {load.reopened} connections reopened")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
