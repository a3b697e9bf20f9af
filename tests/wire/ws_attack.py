"""Clients that ask a WebSocket server for much and read nothing, and what it
costs: memory, the time that others wait, and how soon they are cut off.

Run: .venv/bin/python tests/wire/ws_attack.py [NAME...]
"""

import sys
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "tools")]

from conftest import Server, wait_until  # noqa: E402
from processes import anonymous_len  # noqa: E402
from raw_ws import frame, raw  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.sync.client import connect as open_socket  # noqa: E402
from wire_programs import built  # noqa: E402

DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
QUEUE_LEN_MAX = 1 << 20
STALL_TIMEOUT_MS = 1_000
OPTIONS = [
    f"max_queue_size={QUEUE_LEN_MAX}",
    f"stall_timeout_ms={STALL_TIMEOUT_MS}",
    "compression=1",
]
MESSAGE_COUNT = 6_000
# How long the neighbour goes on behind the end.
WATCH_S = 0.5


@dataclass
class Figures:
    """What an attack has cost."""

    name: str
    sent_len: int
    held_len: int
    worst_wait_s: float
    echo_count: int
    cut_count: int
    cut_after_s: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.sent_len / 1e3:.0f} KB in, "
            f"{self.held_len / 1e6:.1f} MB held at most; a neighbour's "
            f"{self.echo_count} echoes took {self.worst_wait_s * 1e3:.0f} ms at "
            f"most; {self.cut_count} cut off after {self.cut_after_s:.1f} s"
        )


def compressed(octets: bytes, first: int) -> bytes:
    """A frame of one compressed message."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(octets) + packer.flush(zlib.Z_SYNC_FLUSH)
    return frame(first | 0x40, packed[:-4])


def batch(text: bytes) -> bytes:
    return frame(0x81, text) * MESSAGE_COUNT


# How many of the attackers are to be cut off, and what each sends at once: a
# query, fields of its handshake, and octets. A `*` is answered with 64 KiB, `**`
# sends as much to a room. Who asks for no more than may wait is served.
LISTENERS = [(b"room", b"", b"")] * 9
ATTACKS = {
    "batch": (1, [(b"", b"", batch(b"*"))]),
    "batch, compressed": (1, [(b"", DEFLATE, batch(b"*"))]),
    "bombs": (0, [(b"", DEFLATE, compressed(b"\0" * 1_000_000, 0x82) * 30)]),
    "hub": (1, [*LISTENERS, (b"room", b"", batch(b"**"))]),
    "hub from outside": (9, [*LISTENERS, (b"", b"", batch(b"**"))]),
    "many": (20, [(b"", b"", batch(b"*"))] * 20),
}


class Watch(threading.Thread):
    """A client that keeps the rules: echoes one message after the other."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.ends = threading.Event()
        self.held_len = 0
        self.waits_s: list[float] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            url = f"ws://127.0.0.1:{self.server.port}/ws"
            with open_socket(url, compression=None) as ws:
                while not self.ends.wait(0.002):
                    began = time.monotonic()
                    ws.send("hello")
                    assert ws.recv(60) == "hello"
                    self.waits_s.append(time.monotonic() - began)
                    length = anonymous_len(self.server.process.pid)
                    self.held_len = max(self.held_len, length)
        except (ConnectionClosed, OSError, AssertionError, TimeoutError) as error:
            self.failure = error


def attack(server: Server, name: str, timeout_s: float = 60) -> Figures:
    """Lets the attackers connect, send, and wait to be cut off."""
    cut_count, attackers = ATTACKS[name]
    closed_before = server.stderr().count("closed 1006")
    before = anonymous_len(server.process.pid)
    watch = Watch(server)
    clients = [raw(server, query, fields) for query, fields, _ in attackers]
    watch.start()
    assert wait_until(lambda: watch.waits_s or watch.failure)
    began = time.monotonic()
    for client, (_, _, octets) in zip(clients, attackers):
        client.send(octets)
    wanted = closed_before + cut_count
    is_cut = wait_until(
        lambda: server.stderr().count("closed 1006") >= wanted or not watch.is_alive(),
        timeout_s,
    )
    cut_after_s = time.monotonic() - began
    time.sleep(WATCH_S)
    watch.ends.set()
    watch.join()
    for client in clients:
        client.sock.close()
    assert watch.failure is None, watch.failure
    return Figures(
        name,
        sum(len(octets) for _, _, octets in attackers),
        watch.held_len - before,
        max(watch.waits_s),
        len(watch.waits_s),
        cut_count,
        cut_after_s if is_cut else float("inf"),
    )


def main(names: list[str]) -> int:
    for name in names or ATTACKS:
        server = Server(built("ws_server"), OPTIONS)
        try:
            print(attack(server, name), flush=True)
        finally:
            server.process.kill()
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
