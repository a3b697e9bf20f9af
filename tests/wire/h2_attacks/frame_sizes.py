"""12. Sizes of frames that cannot be: in SETTINGS, where a peer then waits in a loop
(CVE-2026-33814), and in frames."""

from attack import Case, Ends
from h2_client import (
    DATA, FRAME_SIZE_ERROR, GOAWAY, HEADERS, MAX_FRAME_SIZE, PING, PROTOCOL_ERROR,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, H2Client, frame, settings,
)  # fmt: skip


def announced(size: int):
    def act(client: H2Client) -> None:
        client.request("/size/100000")
        client.send(settings({MAX_FRAME_SIZE: size}))

    return Case(act, Ends(PROTOCOL_ERROR))


def sent(kind: int, stream: int, length: int, begins: bool = False):
    def act(client: H2Client) -> None:
        if begins:
            client.request("/", "POST", ends=False)
        client.send(frame(kind, 0, stream, bytes(length)))

    return Case(act, Ends(FRAME_SIZE_ERROR))


CASES = {
    "a setting of 0": announced(0),
    "a setting of 2^14-1": announced((1 << 14) - 1),
    "a setting of 2^24": announced(1 << 24),
    "HEADERS of 2^14+1": sent(HEADERS, 1, 16_385),
    "DATA of 2^14+1": sent(DATA, 1, 16_385, True),
    "PING of seven octets": sent(PING, 0, 7),
    "SETTINGS of five octets": sent(SETTINGS, 0, 5),
    "WINDOW_UPDATE of three octets": sent(WINDOW_UPDATE, 0, 3),
    "RST_STREAM of five octets": sent(RST_STREAM, 1, 5, True),
    "GOAWAY of seven octets": sent(GOAWAY, 0, 7),
}
