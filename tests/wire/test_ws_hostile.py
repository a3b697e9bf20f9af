"""Clients that break WebSocket's rules or its limits: each gets the close code
that is due, costs little memory, and harms nobody else."""

import contextlib
import struct
import threading
import time
import zlib

import pytest
import ws_attack
from conftest import Server, read_all, read_to, shown, wait_until
from https_client import trusting
from processes import anonymous_len
from raw_ws import frame, raw
from websockets.sync.client import connect as open_socket
from wire_programs import built

DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
MESSAGE_LEN_MAX = 1_000_000
LONG_LEN = 32 << 20
CONTROLS = {8: "close", 9: "ping", 10: "pong"}


@pytest.fixture(scope="module")
def server():
    options = ["close_timeout_ms=500", "compression=1"]
    options += [f"max_message_size={MESSAGE_LEN_MAX}", "max_queue_size=2000000"]
    running = Server(built("ws_server"), options)
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture(autouse=True)
def neighbour(server):
    """A client that keeps the rules has an answer after each test."""
    with open_socket(f"ws://127.0.0.1:{server.port}/ws") as ws:
        yield ws
        ws.send("hello")
        assert ws.recv(5) == "hello"


def sized(first: int, length: int, octets: int, payload: bytes = b"") -> bytes:
    """A frame whose length is written in so many octets, whatever it is."""
    code, form = {2: (126, "!H"), 8: (127, "!Q")}[octets]
    return bytes([first, 0x80 | code]) + struct.pack(form, length) + b"\0\0\0\0" + payload


def closing(code: int, reason: bytes = b"") -> bytes:
    return frame(0x88, struct.pack("!H", code) + reason)


ROWS = [
    ("5.1 not masked", frame(0x81, b"x", None), 1002),
    ("5.1 a ping not masked", frame(0x89, b"x", None), 1002),
    ("5.1 the second frame not masked", frame(0x01, b"x") + frame(0x80, b"x", None), 1002),
    ("5.2 RSV1 without compression", frame(0xC1, b""), 1002),
    ("5.2 RSV2", frame(0xA1, b""), 1002),
    ("5.2 RSV3", frame(0x91, b""), 1002),
    ("5.2 all reserved bits", frame(0xF1, b""), 1002),
    ("5.2 a ping with RSV1", frame(0xC9, b""), 1002),
    *[(f"5.2 opcode {n}", frame(0x80 | n, b""), 1002) for n in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)],
    *[(f"5.5 a {name} in fragments", frame(n, b""), 1002) for n, name in CONTROLS.items()],
    *[(f"5.5 a {name} of 126", frame(0x80 | n, b"\x03\xe8" + b"x" * 124), 1002) for n, name in CONTROLS.items()],
    ("5.5 a ping of 2**32", sized(0x89, 1 << 32, 8), 1002),
    ("5.4 continues nothing", frame(0x80, b"x"), 1002),
    ("5.4 continues what is complete", frame(0x01, b"x") + frame(0x80, b"") + frame(0x80, b""), 1002),
    ("5.4 a text in a text", frame(0x01, b"x") + frame(0x81, b"x"), 1002),
    ("5.4 a binary in a text", frame(0x01, b"x") + frame(0x82, b"x"), 1002),
    ("5.2 1 in two octets", sized(0x82, 1, 2, b"x"), 1002),
    ("5.2 125 in two octets", sized(0x82, 125, 2, b"x" * 125), 1002),
    ("5.2 1 in eight octets", sized(0x82, 1, 8, b"x"), 1002),
    ("5.2 65535 in eight octets", sized(0x82, 65_535, 8), 1002),
    ("5.2 a ping of 1 in two octets", sized(0x89, 1, 2, b"x"), 1002),
    ("5.2 more than 63 bits", sized(0x82, (1 << 64) - 1, 8), 1002),
    ("10.4 all of 63 bits", sized(0x82, (1 << 63) - 1, 8), 1009),
    ("10.4 a frame that is too long", sized(0x82, 1 << 40, 8), 1009),
    ("10.4 a message that is too long", sized(0x82, MESSAGE_LEN_MAX + 1, 8), 1009),
    ("10.4 fragments that are too long", frame(0x02, b"x" * 60_000) + frame(0, b"x" * 60_000) * 17, 1009),
    ("5.6 not UTF-8", frame(0x81, b"\xff"), 1007),
    ("5.6 overlong", frame(0x81, b"\xc0\xaf"), 1007),
    ("5.6 a surrogate", frame(0x81, b"\xed\xa0\x80"), 1007),
    ("5.6 beyond U+10FFFF", frame(0x81, b"\xf4\x90\x80\x80"), 1007),
    ("5.6 ends within a character", frame(0x81, b"\xf0\x9f\x98"), 1007),
    ("5.6 before the frame is complete", frame(0x81, b"\xff" + b"x" * 900)[:20], 1007),
    ("8.1 in a later fragment", frame(0x01, b"\xce\xba\xe1") + frame(0x80, b"\xff"), 1007),
    *[
        (f"7.4 close code {code}", closing(code), 1002)
        for code in (0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535)
    ],
    *[(f"7.4 close code {code}", closing(code, b"bye"), code) for code in (1000, 1001, 1003, 1011, 3000, 4999)],
    ("5.5.1 half a close code", frame(0x88, b"x"), 1002),
    ("5.5.1 a reason that is not UTF-8", closing(1000, b"\xff"), 1007),
    ("5.5.1 a reason that ends within a character", closing(1000, b"\xe2\x82"), 1007),
    ("5.5.1 no close code", frame(0x88, b""), None),
    ("5.5.1 nothing counts behind a close", closing(1000) + frame(0x83, b"") * 100, 1000),
]


def last_frame(data: bytes) -> tuple[int, bytes]:
    """Walks through unmasked frames to the last one."""
    found = (0, b"")
    while data:
        length, start = data[1] & 0x7F, 2
        if length == 126:
            length, start = struct.unpack("!H", data[2:4])[0], 4
        elif length == 127:
            length, start = struct.unpack("!Q", data[2:10])[0], 10
        assert len(data) >= start + length, "the stream ends within a frame"
        found = (data[0], data[start : start + length])
        data = data[start + length :]
    return found


def close_code(client) -> int | None:
    """Reads to the end of the stream; gives the code of the close frame."""
    first, payload = last_frame(client.buffer + read_all(client.sock))
    assert first == 0x88, hex(first)
    return struct.unpack("!H", payload[:2])[0] if payload else None


@pytest.mark.parametrize(("octets", "code"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_rules(server, octets, code):
    with raw(server) as client:
        client.send(octets)
        assert close_code(client) == code


@pytest.mark.parametrize("is_good", [True, False], ids=["good", "bad"])
def test_utf8_split_anywhere(server, is_good):
    """RFC 6455 section 8.1: the same, however it is cut into frames."""
    text = "aä€\U0001f4a9z".encode()
    if not is_good:
        # The third octet of the last character of four.
        text = text.replace(b"\xf0\x9f\x92\xa9", b"\xf0\x9f\x12\xa9")
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            octets = frame(0x01, text[:first])
            octets += frame(0x00, text[first:second]) + frame(0x80, text[second:])
            with raw(server) as client:
                client.send(octets + closing(1000))
                data = client.buffer + read_all(client.sock)
            ends = frame(0x88, b"\x03\xe8", None)
            if is_good:
                assert data == frame(0x81, text, None) + ends, (first, second)
            else:
                assert data[0] == 0x88 and data[2:4] == b"\x03\xef", (first, second)


def deflated(octets: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(octets) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


BOMB = deflated(b"\0" * 50_000_000)
COMPRESSED = [
    ("RFC 7692 8.2: a bomb", frame(0xC2, BOMB), 1009),
    ("a bomb in pieces", frame(0x42, BOMB[:100]) + b"".join(frame(0, BOMB[i : i + 500]) for i in range(100, 30_000, 500)), 1009),
    ("no deflate stream", frame(0xC2, b"\xff" * 50), 1007),
    ("7.2.2: ends within a block", frame(0xC2, deflated(b"hello" * 100)[:-3]), 1007),
    ("6.1: RSV1 on a later fragment", frame(0x42, deflated(b"x")) + frame(0xC0, b""), 1002),
    ("5: RSV1 on a ping", frame(0xC9, b""), 1002),
    ("RSV2 beside RSV1", frame(0xE2, deflated(b"x")), 1002),
    ("not UTF-8 when it is decompressed", frame(0xC1, deflated(b"\xff")), 1007),
]


@pytest.mark.parametrize(("octets", "code"), [r[1:] for r in COMPRESSED], ids=[r[0] for r in COMPRESSED])
def test_compressed(server, octets, code):
    before = anonymous_len(server.process.pid)
    with raw(server, fields=DEFLATE) as client:
        client.send(octets)
        assert close_code(client) == code
    assert anonymous_len(server.process.pid) - before < 4 * MESSAGE_LEN_MAX


def test_what_is_announced_takes_no_memory(server):
    """Room is made for what has come, not for what is to come."""
    before = anonymous_len(server.process.pid)
    clients = [raw(server) for _ in range(100)]
    for client in clients:
        client.send(sized(0x82, MESSAGE_LEN_MAX, 8, b"x"))
        client.send(b"x")
    assert anonymous_len(server.process.pid) - before < 5_000_000
    for client in clients:
        client.sock.close()


def test_empty_fragments_without_end(server):
    before = anonymous_len(server.process.pid)
    with raw(server) as client:
        client.send(frame(0x02, b"") + frame(0x00, b"") * 200_000)
        client.send(frame(0x80, b"end"))
        assert read_to(client.sock, b"end") == frame(0x82, b"end", None)
    assert anonymous_len(server.process.pid) - before < 1_000_000


def test_ping_flood_takes_no_memory(server):
    before = anonymous_len(server.process.pid)
    with raw(server) as client:
        # Pongs have to be read meanwhile: a client that reads nothing is not
        # read either.
        octets = frame(0x89, b"x" * 125) * 20_000 + frame(0x81, b"still here")
        sender = threading.Thread(target=client.send, args=(octets,))
        sender.start()
        # A last pong may come behind it.
        while b"still here" not in client.buffer:
            client.buffer = client.buffer[-200:]
            client._more()
        sender.join()
    assert anonymous_len(server.process.pid) - before < 4_000_000


@pytest.mark.parametrize("first", [0x89, 0x82], ids=["pings", "messages"])
def test_a_client_that_writes_and_does_not_read(server, neighbour, first):
    """It is not read either, so that nothing grows but the kernel's buffers."""
    before = anonymous_len(server.process.pid)
    with raw(server) as client:
        client.sock.settimeout(1)
        octets = frame(first, b"x" * 125) * 1_000
        with pytest.raises(TimeoutError):
            for _ in range(1_000):
                client.send(octets)
        neighbour.send("meanwhile")
        assert neighbour.recv(5) == "meanwhile"
        assert anonymous_len(server.process.pid) - before < 4_000_000


def is_reset(client) -> bool:
    """Waits for the end of the connection, whatever comes before it."""
    return read_all(client.sock) is not None


def test_reader_that_stops_is_cut_off(server, neighbour):
    """The server has more to say than max_queue_size lets wait."""
    with raw(server) as stalled:
        stalled.send(frame(0x81, b"flood") * 3)
        assert is_reset(stalled)
        neighbour.send("meanwhile")
        assert neighbour.recv(5) == "meanwhile"
        assert anonymous_len(server.process.pid) < 100_000_000


@pytest.mark.parametrize("name", ws_attack.ATTACKS)
def test_attacks(name):
    """Each holds the bound of what may wait, and costs others no time. The
    program prints the same figures."""
    _, attackers = ws_attack.ATTACKS[name]
    server = Server(built("ws_server"), ws_attack.OPTIONS)
    try:
        figures = ws_attack.attack(server, name)
        print(figures)
        # What waits is copied once more while its buffer grows; the codec has
        # 300 KiB; and the process itself grows a little.
        bound = len(attackers) * (4 * ws_attack.QUEUE_LEN_MAX + 400_000) + 16_000_000
        assert figures.held_len < bound, figures
        assert figures.worst_wait_s < 1, figures
        assert figures.cut_after_s < 30, figures
    finally:
        server.stop()


def test_a_client_that_reads_gets_all_of_a_long_batch(server):
    """However much more that is than may wait: it is asked for in turns."""
    with raw(server) as client:
        # 500 times 64 KiB, against 2 MB that may wait.
        client.send(frame(0x81, b"*") * 500 + frame(0x81, b"close"))
        client.sock.settimeout(30)
        length = len(client.buffer) + len(read_all(client.sock))
        assert length == 500 * (10 + 65_536) + 4 + 10


def test_a_client_that_stalls_within_a_batch_is_cut_off(start):
    """stall_timeout_ms; one that takes something now and then is not."""
    server = start("ws_server", stall_timeout_ms=1_500, write_timeout_ms=60_000)
    with raw(server) as slow, raw(server) as stalled:
        # Far more than sockets hold.
        octets = frame(0x81, b"*") * 1_000
        slow.send(octets)
        stalled.send(octets)
        taken = len(slow.buffer)
        while "closed" not in server.stderr():
            # Too slow for 64 MiB to be over before the other one is cut off.
            taken += len(slow.sock.recv(1 << 16))
            time.sleep(0.02)
            assert taken < 1_000 * 65_546, "nobody was cut off"
        while taken < 1_000 * 65_546:
            piece = slow.sock.recv(1 << 20)
            assert piece, "it was cut off, too"
            taken += len(piece)
        assert server.stderr().count("closed 1006") == 1
        assert "took nothing for" in server.stderr()
        slow.send(frame(0x81, b"still here"))
        assert read_to(slow.sock, b"still here")


def test_a_long_message_goes_to_whom_nothing_waits(start):
    server = start("ws_server", max_queue_size=100_000)
    with open_socket(f"ws://127.0.0.1:{server.port}/ws", max_size=None) as ws:
        for _ in range(3):
            ws.send(b"x" * 5_000_000)
            assert len(ws.recv(10)) == 5_000_000


@pytest.mark.unsanitized
@pytest.mark.parametrize("scheme", ["plain", "tls"])
def test_memory_of_a_long_message_is_given_back(start, certs, scheme):
    """An idle connection that had one holds nothing of it, nor does the process."""
    options = shown(certs) if scheme == "tls" else {}
    server = start("ws_server", max_message_size=40 << 20, max_frame_size=40 << 20, **options)
    kind = {"ssl": trusting(certs)} if scheme == "tls" else {}
    url = f"{'wss' if kind else 'ws'}://localhost:{server.port}/ws"
    before = anonymous_len(server.process.pid)
    with contextlib.ExitStack() as held:
        for _ in range(3):
            ws = held.enter_context(open_socket(url, max_size=None, compression=None, **kind))
            ws.send(b"x" * LONG_LEN)
            assert len(ws.recv(60)) == LONG_LEN
            assert wait_until(
                lambda: anonymous_len(server.process.pid) - before < LONG_LEN // 2
            )
