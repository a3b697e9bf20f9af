"""Ten thousand streams of events, over a hundred connections."""

import time

import pytest
from h2_client import H2Client
from processes import anonymous_len, cpu_s

CONNECTION_COUNT = 100
STREAM_COUNT = 100
EVENT_COUNT = 3


@pytest.mark.nightly
def test_all_get_all_events(start):
    server = start("h2_server")
    pid = server.process.pid
    with H2Client(server) as other:
        assert other.get("/").status == 200
        before = anonymous_len(pid)
        clients = [H2Client(server, timeout=60) for _ in range(CONNECTION_COUNT)]
        for client in clients:
            # What is sent fits into the windows.
            client.grants = False
            for _ in range(STREAM_COUNT):
                client.request("/events")
            client.until(lambda: len(client.answers) == STREAM_COUNT)
        held = anonymous_len(pid) - before
        began, worked = time.monotonic(), cpu_s(pid)
        assert other.post(f"/publish?count={EVENT_COUNT}", b" news").status == 200
        for client in clients:
            client.until(
                lambda: all(
                    a.body.count(b"news") == EVENT_COUNT for a in client.answers.values()
                )
            )
        passed_s = time.monotonic() - began
        worked_s = cpu_s(pid) - worked
        count = CONNECTION_COUNT * STREAM_COUNT
        assert other.get("/counts").body.split()[2] == str(count).encode()
        print(
            f"{count} streams hold {held / 1e6:.1f} MB, {held / count:.0f} octets each;"
            f" {count * EVENT_COUNT} events in {passed_s:.2f} s,"
            f" {worked_s:.2f} s of them work"
        )
        # A stream alone has to take less than a page or two.
        assert held / count < 8_192
        for client in clients:
            client.sock.close()
