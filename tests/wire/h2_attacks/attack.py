"""What attacks on the HTTP/2 server consist of, and what each has to come to.

A module of this folder is a family of `http2.md`'s fifteen: `CASES` names its ways,
each a function that is given a client which has just connected. Run all, or some,
with figures: .venv/bin/python tests/wire/h2_attacks/attack.py [NAME...]
"""

import contextlib
import importlib
import multiprocessing
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[2] / "tools")]

from conftest import Server  # noqa: E402
from h2_client import Closed, H2Client  # noqa: E402
from processes import anonymous_len  # noqa: E402
from wire_programs import built  # noqa: E402

FAMILIES = [
    "rapid_reset", "provoked_resets", "continuation_flood", "field_bombs",
    "shut_windows", "control_floods", "empty_frames", "settings_and_windows",
    "broken_hpack", "malformed_requests", "lost_credit", "frame_sizes",
    "endless_goodbye", "wrong_streams", "extended_connect",
]  # fmt: skip
TIMEOUT_S = 10
# How long figures are taken.
QUIET_S = 1.0
ATTACK_S = 1.5


@dataclass
class Ends:
    """The attacker is ended: GOAWAY with this code."""

    code: int

    def check(self, client: H2Client, _: int | None) -> None:
        last = client.end()
        assert last is not None and last.code == self.code, last


@dataclass
class Resets:
    """Its stream is, with this code, and the connection goes on."""

    code: int

    def check(self, client: H2Client, stream: int | None) -> None:
        assert stream is not None
        found = client.reset_of(stream)
        assert (found.reset, found.ended) == (self.code, False), found
        assert client.get("/").status == 200


@dataclass
class Answers:
    """It is answered with this status, and the connection goes on."""

    status: int

    def check(self, client: H2Client, stream: int | None) -> None:
        assert stream is not None
        assert client.answer(stream).status == self.status
        assert client.get("/").status == 200


@dataclass
class Bounded:
    """It is held to its bounds: the connection goes on."""

    def check(self, client: H2Client, _: int | None) -> None:
        assert client.get("/").status == 200


@dataclass
class Case:
    """A way to attack: it may give the stream that is to be looked at."""

    act: Callable[[H2Client], int | None]
    result: Ends | Resets | Answers | Bounded
    # SETTINGS of the client.
    settings: dict[int, int] = field(default_factory=dict)
    # Options of the server.
    options: list[str] = field(default_factory=list)


def cases_of(family: str) -> dict[str, Case]:
    return importlib.import_module(family).CASES


def run(server: Server, case: Case) -> None:
    """Attacks once, and checks what comes of it."""
    with H2Client(server, case.settings, timeout=TIMEOUT_S) as client:
        client.grants = False
        stream = None
        # Who is ended may not be able to send all that it wants.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, Closed):
            stream = case.act(client)
        client.grants = True
        case.result.check(client, stream)


class Neighbour(threading.Thread):
    """A client that keeps the rules, and what it has to wait for."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.ends = threading.Event()
        self.waits_s: list[float] = []
        self.held_len = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.ends.is_set():
                with H2Client(self.server, timeout=TIMEOUT_S) as client:
                    self._ask(client)
        except BaseException as error:
            self.failure = error

    def _ask(self, client: H2Client) -> None:
        pid = self.server.process.pid
        # The server may have grown tired of the connection.
        while not self.ends.wait(0.001) and not client.goaways:
            began = time.monotonic()
            assert client.get("/", "HEAD").status == 200
            self.waits_s.append(time.monotonic() - began)
            self.held_len = max(self.held_len, anonymous_len(pid))

    def stop(self) -> None:
        self.ends.set()
        self.join(TIMEOUT_S + 5)

    def p99_ms(self) -> float:
        return statistics.quantiles(self.waits_s, n=100)[98] * 1e3


def serve(case: Case) -> Server:
    options = ["logs_errors=false", *case.options]
    return Server(built("h2_server"), options)


def _attack_for(port: int, family: str, name: str, seconds: float) -> None:
    """Attacks again and again; runs in a process of its own."""

    class Target:
        pass

    target = Target()
    target.port = port
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run(target, cases_of(family)[name])


def figures(family: str, name: str) -> str:
    """Attacks for some seconds beside a neighbour; a row of a table."""
    case = cases_of(family)[name]
    server = serve(case)
    try:
        quiet = Neighbour(server)
        quiet.start()
        time.sleep(QUIET_S)
        quiet.stop()
        before = anonymous_len(server.process.pid)
        busy = Neighbour(server)
        busy.start()
        attacker = multiprocessing.Process(
            target=_attack_for, args=(server.port, family, name, ATTACK_S)
        )
        attacker.start()
        attacker.join(ATTACK_S + 3 * TIMEOUT_S)
        busy.stop()
        assert attacker.exitcode == 0, "the attack came to something else"
        assert busy.failure is None, busy.failure
        return (
            f"| {family} | {name} | {case.result} | "
            f"{max(0, busy.held_len - before) / 1024:.0f} KiB | "
            f"{quiet.p99_ms():.2f} ms | {busy.p99_ms():.2f} ms |"
        )
    finally:
        server.process.kill()
        server.stop()


def main(names: list[str]) -> int:
    print("| family | attack | what becomes of it | memory | p99 quiet | p99 attacked |")
    print("| --- | --- | --- | --- | --- | --- |")
    for family in names or FAMILIES:
        for name in cases_of(family):
            print(figures(family, name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
