"""Walks a new user's first steps with `flare dev`, with a clock: new project, first
answer, edits, each until the new answer is there, while others ask all the time.

Usage: .venv/bin/python bench/building/first_day.py [--template NAME] [--edits N]
       [--flare COMMAND]

`--flare` is the command of an installed wheel; without it this tree's is taken, and
its object made first if there is none. Requests that fail meanwhile are counted.
"""

import argparse
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tools"))

from toolchain import BUILD, CACHE, MOJO, flare_object  # noqa: E402

FOLDER = BUILD / "bench" / "first_day"
PORT = 8080
PATH = "/edited"
TIMEOUT_S = 300
# Others ask a hundred times a second, so that they leave the compiler its time.
PAUSE_S = 0.01
ROUTE = '    router.get("/live", Health())\n'
ANSWER = """

def edited(req: Request) raises -> Response:
    return ok("edit 0")
"""


def ask(path: str) -> str | None:
    """Gives the content of a 200, "" for another answer; None if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", PORT), timeout=10) as sock:
            request = f"GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
            sock.sendall(request.encode())
            octets = b""
            while piece := sock.recv(65_536):
                octets += piece
    except OSError:
        return None
    head, found, content = octets.partition(b"\r\n\r\n")
    if not found:
        return None
    return content.decode() if head.split(b" ")[1] == b"200" else ""


class Others(threading.Thread):
    """Ask all the time; count what is answered, and what is not."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.answered = self.lost = 0
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            if ask("/live") is None:
                self.lost += 1
            else:
                self.answered += 1
            time.sleep(PAUSE_S)


def await_answer(wanted: str, running: subprocess.Popen) -> float:
    began = time.monotonic()
    while time.monotonic() - began < TIMEOUT_S:
        if running.poll() is not None:
            sys.exit("flare dev has ended")
        if ask(PATH) == wanted:
            return time.monotonic() - began
        time.sleep(0.02)
    sys.exit(f"no answer {wanted!r} in {TIMEOUT_S} s")


def timed(what: str, act: Callable[[], object]) -> None:
    began = time.monotonic()
    act()
    print(f"{what:34} {time.monotonic() - began:6.1f} s", flush=True)


def add_route(folder: Path) -> Path:
    """Gives a template a route that tells which edit it is of."""
    for file in [folder / "app" / "service.mojo", folder / "main.mojo"]:
        text = file.read_text() if file.exists() else ""
        if ROUTE in text:
            names = "    Request,\n    Response,\n    ok,\n"
            text = text.replace("    RequestId,\n", names + "    RequestId,\n", 1)
            text = text.replace(ROUTE, ROUTE + f'    router.get("{PATH}", edited)\n')
            file.write_text(text + ANSWER)
            return file
    sys.exit("this template has no place for the route")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--template", default="api")
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--flare")
    chosen = parser.parse_args()
    environment = {**os.environ, "MODULAR_TELEMETRY_ENABLED": "0"}
    command = shlex.split(chosen.flare) if chosen.flare else []
    if not command:
        flare_object()
        command = [str(MOJO.parent / "python"), "-m", "mojo_flare"]
        environment |= {"PYTHONPATH": str(ROOT / "cli"), "XDG_CACHE_HOME": str(CACHE)}
    subprocess.run(["rm", "-rf", str(FOLDER)], check=True)
    FOLDER.mkdir(parents=True)

    def flare(*words: str, folder: Path = FOLDER) -> None:
        subprocess.run(
            [*command, *words], cwd=folder, env=environment, check=True,
            stdout=subprocess.DEVNULL,
        )

    timed("flare new", lambda: flare("new", "shop", "--template", chosen.template))
    folder = FOLDER / "shop"
    file = add_route(folder)
    timed("flare test", lambda: flare("test", folder=folder))
    began = time.monotonic()
    running = subprocess.Popen(
        [*command, "dev"], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        await_answer("edit 0", running)
        print(f"{'flare dev, first answer':34} {time.monotonic() - began:6.1f} s", flush=True)
        others = Others()
        others.start()
        waits = []
        for number in range(1, chosen.edits + 1):
            # A text that the compiler's cache has not seen.
            wanted = f"edit {number} {time.time_ns()}"
            file.write_text(re.sub(r'"edit [\d ]+"', f'"{wanted}"', file.read_text()))
            waits.append(await_answer(wanted, running))
        others.is_over = True
        others.join()
        print(
            f"{'an edit until its answer, median':34} {statistics.median(waits):6.1f} s"
            f" (from {min(waits):.1f} to {max(waits):.1f})"
        )
        print(f"requests meanwhile: {others.answered} answered, {others.lost} lost")
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(30)


if __name__ == "__main__":
    main()
