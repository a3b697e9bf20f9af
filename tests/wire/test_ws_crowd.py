"""Ten thousand WebSocket connections on one worker."""

import time

import crowd
from conftest import read_to
from processes import anonymous_len, cpu_s
from raw_ws import UPGRADE, frame, raw

COUNT = 10_000
# A core, an outbox with its lock, and room for short messages.
EACH_LEN_MAX = 4096


def test_ten_thousand_idle_connections(start):
    server = start("ws_server", popen={"preexec_fn": crowd.allow(COUNT)})
    pid = server.process.pid
    with raw(server):
        base = anonymous_len(pid)
        clients = crowd.connect(server.port, COUNT, UPGRADE % (b"/ws?room", b""))
        for sock in clients:
            assert read_to(sock, b"\r\n\r\n")
        opened = (anonymous_len(pid) - base) / COUNT
        for sock in clients:
            sock.sendall(frame(0x81, b"hello"))
        for sock in clients:
            assert read_to(sock, b"hello") == frame(0x81, b"hello", None)
        each = (anonymous_len(pid) - base) / COUNT
        before = cpu_s(pid)
        time.sleep(2)
        used = cpu_s(pid) - before
    print(
        f"\n{COUNT} idle connections: {opened:.0f} bytes each when opened,"
        f" {each:.0f} after a message; CPU in 2 s: {used:.3f} s"
    )
    with raw(server) as speaker:
        speaker.send(frame(0x81, b"all:news"))
        for sock in clients:
            assert read_to(sock, b"news") == frame(0x81, b"news", None)
            sock.close()
    assert each < EACH_LEN_MAX
    assert used < 0.1
