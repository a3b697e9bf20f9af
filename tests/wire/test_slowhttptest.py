"""slowhttptest, which other servers are tried with, in its four modes.

A thousand connections begin requests, send content, read answers or ask for ranges
as slowly as they can, over plain TCP and TLS. A client that keeps the rules is
answered all the while. Run with `-s`, a row for docs/security.md is printed.
"""

import re
import ssl
import subprocess
import threading
import time

import crowd
import pytest
from conftest import Client, shown
from peer_servers import program
from processes import anonymous_len, descriptor_count

pytestmark = pytest.mark.nightly

PACKAGE = "slowhttptest"
COUNT = 1_000
SECONDS = 25
FILE_LEN = 1 << 20
HEALTHY_P99_MS = 100.0
RATE = 50
# A handshake is the server's work and the attacker's.
OPENED_PER_S = 150
MODES = {
    "slow heads": ["-H", "-i", "2", "-x", "24"],
    "slow content": ["-B", "-i", "2", "-s", "8192", "-x", "10"],
    "slow reading": ["-X", "-w", "10", "-y", "20", "-n", "1", "-z", "32", "-k", "3"],
    "ranges": ["-R", "-a", "10", "-b", "3000", "-t", "HEAD"],
}
PATHS = {"slow reading": "/files/large", "ranges": "/files/large"}


class Healthy(threading.Thread):
    """Asks on a kept connection and on new ones, in turn."""

    def __init__(self, server, context: ssl.SSLContext | None) -> None:
        super().__init__(daemon=True)
        self.server, self.context = server, context
        self.times_ms: list[float] = []
        self.lost: list[str] = []
        self.ended = threading.Event()

    def _client(self) -> Client:
        client = Client(self.server)
        if self.context:
            client.sock = self.context.wrap_socket(client.sock)
        return client

    def _ask(self, client: Client) -> None:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().body == b"OK"

    def run(self) -> None:
        kept = self._client()
        number, begun_s = 0, time.monotonic()
        while not self.ended.is_set():
            number += 1
            began_s = time.monotonic()
            try:
                if number % 2:
                    self._ask(kept)
                else:
                    with self._client() as fresh:
                        self._ask(fresh)
            except Exception as error:
                self.lost.append(f"{type(error).__name__}: {error}")
                kept = self._client()
            self.times_ms.append(1000 * (time.monotonic() - began_s))
            self.ended.wait(max(0.0, begun_s + number / RATE - time.monotonic()))
        kept.sock.close()


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("over", ["TCP", "TLS"])
def test_others_are_served(start, certs, tmp_path, over, mode):
    attacker = program("slowhttptest", PACKAGE)
    (tmp_path / "large").write_bytes(bytes(FILE_LEN))
    more = shown(certs) if over == "TLS" else {}
    server = start(
        "h2_server", popen={"preexec_fn": crowd.allow(2 * COUNT)}, root=tmp_path, **more
    )
    context = None
    if over == "TLS":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    pid = server.process.pid
    healthy = Healthy(server, context)
    healthy.start()
    before, held = anonymous_len(pid), 0
    scheme = "https" if over == "TLS" else "http"
    url = f"{scheme}://127.0.0.1:{server.port}{PATHS.get(mode, '/')}"
    process = subprocess.Popen(
        [attacker, "-c", str(COUNT), "-r", str(OPENED_PER_S), "-l", str(SECONDS), "-u", url, *MODES[mode]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(process.stdout.read()), daemon=True)
    reader.start()
    grown = 0
    while process.poll() is None:
        grown = max(grown, anonymous_len(pid) - before)
        held = max(held, descriptor_count(pid))
        time.sleep(0.05)
    reader.join(5)
    healthy.ended.set()
    healthy.join(10)
    p50, p99 = (percentile(healthy.times_ms, percent) for percent in (50, 99))
    last = re.sub(r"\x1b\[[0-9;]*m", "", said[0])[-800:]
    print(
        f"\n| {mode} over {over} | {held} | {grown / 1024:,.0f} KiB |"
        f" {len(healthy.times_ms):,} | {p50:.1f} ms | {p99:.1f} ms | {len(healthy.lost)} |"
    )
    assert process.returncode == 0, last
    assert "service available:   YES" in last, last
    # It was under attack. Those that ask for ranges are answered at once, and end.
    assert mode == "ranges" or held > COUNT // 2, held
    assert healthy.lost == []
    assert len(healthy.times_ms) > 100
    assert p99 < HEALTHY_P99_MS
    assert server.is_alive()
