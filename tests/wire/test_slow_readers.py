"""Clients that take what they are sent slowly, or not at all."""

import re
import socket
import ssl
import statistics
import threading
import time
from contextlib import suppress

import pytest
from conftest import Client, wait_until
from processes import descriptor_count, memory_len, server_end
from raw_ws import UPGRADE, frame

# More than five times what the kernel keeps, in pieces for 3.5 s.
SENT_LEN = 4_200_000
PIECE_LEN = 60_000
PAUSE_S = 0.05
# Octets that wait to be sent, a piece that went beyond, and what is under way.
KEPT_LEN_MAX = 500_000
# A tenth of what a steady reader here takes.
RATE = PIECE_LEN / PAUSE_S / 10
TIMES = {"write_timeout_ms": 700, "min_send_rate": int(RATE)}
CUT_OFF = re.compile(
    r"flare: 127\.0\.0\.1:\d+ is cut off: of what it was sent it took (\d+)"
    r" bytes in (\d+) ms \(write_timeout_ms, min_send_rate\)"
)


def connect(server, tls: bool = False, room: int = 65_536) -> socket.socket:
    """Connects with little room for octets at this side."""
    sock = socket.socket()
    sock.settimeout(20)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    sock.connect(("127.0.0.1", server.port))
    if not tls:
        return sock
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(sock)


def ask(sock: socket.socket, path: str) -> None:
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())


def take_steadily(sock: socket.socket, length: int) -> int:
    """Takes a piece now and then, less than a piece at the end; tells how many
    octets came before the stream ended."""
    taken = 0
    while taken < length:
        wanted = min(PIECE_LEN, length - taken)
        while wanted > 0:
            try:
                piece = sock.recv(wanted)
            except (ConnectionResetError, ssl.SSLError):
                return taken
            if not piece:
                return taken
            wanted -= len(piece)
            taken += len(piece)
        time.sleep(PAUSE_S)
    return taken


@pytest.mark.parametrize("over", ["TCP", "TLS"])
def test_the_kernel_keeps_little_for_one_who_reads_nothing(probe, probe_tls, over):
    """Else all of its buffer, megabytes, is filled while others wait."""
    server = probe_tls if over == "TLS" else probe
    with connect(server, over == "TLS", room=4_096) as sock:
        ask(sock, f"/size/{SENT_LEN}")
        lengths: list[int] = []

        def is_full() -> bool:
            lengths.append(server_end(server.port, sock).to_send_len)
            return lengths[-1] > 100_000 and lengths[-10:] == 10 * lengths[-1:]

        assert wait_until(is_full, 20), lengths[-1]
        assert lengths[-1] < KEPT_LEN_MAX
        # It is all there for who reads on.
        taken = 0
        while taken < SENT_LEN:
            piece = sock.recv(65_536)
            assert piece, taken
            taken += len(piece)


@pytest.fixture
def kind(request, start, start_tls, tmp_path):
    """Gives a client that waits for octets of some kind, and its server."""
    name, _, over = request.param.partition(" over ")
    begin = start_tls if over else start
    options = {}
    if name == "file":
        (tmp_path / "large.bin").write_bytes(bytes(SENT_LEN))
        options = {"server" if over else "name": "file_server"}
        options |= {"root": tmp_path}
        path = "/strict/large.bin"
    elif name == "stream":
        options = {"server" if over else "name": "stream_server"}
        path = f"/pieces?count=7&length={SENT_LEN // 7}"
    elif name == "websocket":
        options = {"server" if over else "name": "ws_server"}
        options |= {"max_queue_size": 2 * SENT_LEN}
    else:
        path = f"/size/{SENT_LEN}"
    server = begin(**options, **TIMES)
    sock = connect(server, bool(over))
    if name != "websocket":
        ask(sock, path)
        yield server, sock
        sock.close()
        return
    sock.sendall(UPGRADE % (b"/ws", b""))
    message = frame(0x82, bytes(SENT_LEN // 7), b"\0\0\0\0")

    def send() -> None:
        # Who is cut off cannot send on.
        with suppress(ConnectionError):
            sock.sendall(message * 7)

    # The server reads no more than it could send.
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    yield server, sock
    sock.close()
    sender.join(10)


KINDS = [
    "memory", "file", "stream", "websocket",
    "memory over TLS", "file over TLS",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_who_takes_octets_steadily_is_not_cut_off(kind):
    server, sock = kind
    began = time.monotonic()
    assert take_steadily(sock, SENT_LEN) == SENT_LEN
    # Many times what it would have had without taking anything.
    assert time.monotonic() - began > 4 * TIMES["write_timeout_ms"] / 1000
    assert "cut off" not in server.stderr()


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_who_stops_in_the_middle_is_cut_off(kind):
    server, sock = kind
    assert take_steadily(sock, 1_750_000) == 1_750_000
    stopped = time.monotonic()
    # If all counted that it took before, it would have nearly 15 s.
    assert wait_until(lambda: CUT_OFF.search(server.stderr()), 10)
    print(f"cut off {time.monotonic() - stopped:.2f} s after it stopped")
    assert len(CUT_OFF.findall(server.stderr())) == 1


def test_without_a_rate_nothing_is_added(start):
    server = start(write_timeout_ms=700, min_send_rate=0)
    sock = connect(server)
    ask(sock, f"/size/{SENT_LEN}")
    assert take_steadily(sock, SENT_LEN) < SENT_LEN
    assert CUT_OFF.search(server.stderr())
    sock.close()


def test_who_takes_less_than_the_rate_is_cut_off(start):
    server = start(write_timeout_ms=700, min_send_rate=100 * int(RATE))
    sock = connect(server)
    ask(sock, f"/size/{SENT_LEN}")
    assert take_steadily(sock, SENT_LEN) < SENT_LEN
    assert CUT_OFF.search(server.stderr())
    sock.close()


def drip(sock: socket.socket, ended: list[float], takes: bool) -> None:
    """Takes an octet now and then, or nothing, until the server cuts it off."""
    began = time.monotonic()
    error = socket.SO_ERROR
    while time.monotonic() - began < 60:
        time.sleep(0.5)
        try:
            if takes and sock.recv(1) == b"":
                break
            # What was cut with octets on their way is reset in the end.
            if sock.getsockopt(socket.SOL_SOCKET, error) != 0:
                break
        except OSError:
            break
    ended.append(time.monotonic() - began)


@pytest.mark.unsanitized
def test_attack_of_readers_that_take_nothing(start):
    """Each of them would keep megabytes; others are served as before."""
    count = 40
    server = start(write_timeout_ms=2_000)
    pid = server.process.pid
    latencies: dict[str, list[float]] = {"before": [], "meanwhile": []}

    def measure(when: str, rounds: int) -> None:
        for _ in range(rounds):
            began = time.monotonic()
            with Client(server, 60) as client:
                client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert client.response().body == b"OK"
            latencies[when].append(time.monotonic() - began)

    measure("before", 100)
    idle_len, idle_count = memory_len(pid, "VmRSS"), descriptor_count(pid)
    attackers = [connect(server, room=16_384) for _ in range(count)]
    threads, ended = [], []
    for number, sock in enumerate(attackers):
        ask(sock, "/size/4000000")
        thread = threading.Thread(target=drip, args=(sock, ended, number % 2))
        thread.daemon = True
        thread.start()
        threads.append(thread)
    measure("meanwhile", 100)
    assert wait_until(lambda: descriptor_count(pid) <= idle_count, 60)
    # Before, the server may not yet have seen its last client leave.
    assert wait_until(lambda: len(CUT_OFF.findall(server.stderr())) == count)
    peak_len, after_len = memory_len(pid, "VmHWM"), memory_len(pid, "VmRSS")
    found = CUT_OFF.findall(server.stderr())
    for when, values in latencies.items():
        values.sort()
        print(
            f"latency {when}: median {statistics.median(values) * 1e3:.2f} ms,"
            f" 99 % {values[-len(values) // 100] * 1e3:.2f} ms"
        )
    print(
        f"memory: {idle_len / 1e6:.0f} MB, {peak_len / 1e6:.0f} MB under"
        f" attack, {after_len / 1e6:.0f} MB afterwards; {len(found)} cut off,"
        f" the last after {max(int(ms) for _, ms in found)} ms"
    )
    # None is worth more than a part of what it holds.
    assert after_len < idle_len + (peak_len - idle_len) // 2
    for sock in attackers:
        sock.close()
    for thread in threads:
        thread.join(10)
    measure("before", 10)
