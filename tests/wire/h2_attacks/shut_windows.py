"""5. Responses that are asked for and not taken: with shut windows, with windows of
an octet, with a socket that nobody reads (CVE-2019-9511, CVE-2019-9517)."""

import time

from attack import Bounded, Case, Ends
from h2_client import ENHANCE_YOUR_CALM, INITIAL_WINDOW, H2Client, settings, window_update

TIMES = ["write_timeout_ms=300", "min_send_rate=4096"]


def asked(client: H2Client, path: str, count: int = 99) -> list[int]:
    return [client.request(path) for _ in range(count)]


def cut_off(client: H2Client, streams: list[int]) -> None:
    for stream in streams:
        assert client.reset_of(stream).reset is not None


def shut(path: str, count: int = 99):
    def act(client: H2Client) -> None:
        cut_off(client, asked(client, path, count))

    return act


def drip(client: H2Client) -> None:
    """Each octet is asked for by a frame."""
    streams = asked(client, "/size/5000")
    for _ in range(15):
        for stream in streams:
            client.windows[stream] = client.windows.get(stream, 0) + 1
        client.send(b"".join(window_update(stream, 1) for stream in streams))


def slow_drip(client: H2Client) -> None:
    """More than an octet, and less than the rate."""
    streams = asked(client, "/size/5000", 20)
    end = time.monotonic() + 3
    while any(client.answers.get(s) is None or client.answers[s].reset is None for s in streams):
        assert time.monotonic() < end, "they are still served"
        for stream in streams:
            client.grant(stream, 16)
        client.settle()
        time.sleep(0.05)


def unread(client: H2Client) -> None:
    """All windows are open, and nothing is received."""
    client.grant(0, 1 << 30)
    asked(client, "/pieces?count=100&length=100000")
    time.sleep(1.0)
    client.sock.close()
    raise ConnectionResetError


def drip_by_settings(client: H2Client) -> None:
    """Each SETTINGS asks for an octet of every stream (CVE-2019-9511)."""
    for stream in asked(client, "/size/5000"):
        client.windows[stream] = 5_000
    for size in range(1, 3_000):
        client.send(settings({INITIAL_WINDOW: size}))


def waking(client: H2Client) -> None:
    """All streams have something to send as of one frame, again and again."""
    for _ in range(5):
        client.send(settings({INITIAL_WINDOW: 0}))
        client.initial_window = 0
        streams = asked(client, "/size/8000")
        client.settle()
        client.grant(0, 99 * 8_000)
        for stream in streams:
            client.windows[stream] = 8_000
        client.send(settings({INITIAL_WINDOW: 8_000}))
        for stream in streams:
            assert len(client.answer(stream).body) == 8_000
        client.initial_window = 8_000


class Gone(Bounded):
    def check(self, client, _) -> None:
        """It is gone."""

    def __repr__(self) -> str:
        return "Gone()"


class Cut(Bounded):
    """Its connection ends, long before each request has had its time."""

    def check(self, client, _) -> None:
        client.end()

    def __repr__(self) -> str:
        return "Cut()"


CASES = {
    "shut, from memory": Case(shut("/size/8000"), Bounded(), {INITIAL_WINDOW: 0}, TIMES),
    # Nothing of what would be 16 MB is made before it may be sent, but 1 MiB; and
    # those that come in place of others have no time of their own.
    "shut, large": Case(shut("/size/400000", 40), Cut(), {INITIAL_WINDOW: 0}, TIMES),
    "shut, one for all": Case(shut("/shared"), Bounded(), {INITIAL_WINDOW: 0}, TIMES),
    "shut, streamed": Case(shut("/pieces?count=100&length=8000"), Bounded(), {INITIAL_WINDOW: 0}, TIMES),
    "an octet at a time": Case(drip, Ends(ENHANCE_YOUR_CALM), {INITIAL_WINDOW: 0}),
    "an octet at a time, by SETTINGS": Case(drip_by_settings, Ends(ENHANCE_YOUR_CALM), {INITIAL_WINDOW: 0}),
    "all wake at once": Case(waking, Bounded(), {INITIAL_WINDOW: 0}),
    "some octets now and then": Case(slow_drip, Bounded(), {INITIAL_WINDOW: 0}, TIMES),
    "unread": Case(unread, Gone(), {INITIAL_WINDOW: (1 << 31) - 1}, TIMES),
}
