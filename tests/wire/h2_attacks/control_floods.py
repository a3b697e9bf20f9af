"""6. Floods of PING, SETTINGS, PRIORITY, WINDOW_UPDATE and what is like them
(CVE-2019-9512, CVE-2019-9513, CVE-2019-9515)."""

from attack import Case, Ends
from h2_client import (
    ACK, ENHANCE_YOUR_CALM, GOAWAY, PING, PRIORITY, PRIORITY_UPDATE, PROTOCOL_ERROR,
    RST_STREAM, SETTINGS, H2Client, frame, window_update,
)  # fmt: skip

COUNT = 3_000


def flood(octets: bytes, begins: bool = False):
    def act(client: H2Client) -> None:
        if begins:
            client.request("/silence")
        client.send(octets * COUNT)

    return Case(act, Ends(ENHANCE_YOUR_CALM))


def tree(client: H2Client) -> None:
    """Streams to come, each of which hangs from the one before (CVE-2019-9513)."""
    for stream in range(10_001, 10_001 + 2 * COUNT, 2):
        client.send(frame(PRIORITY, 0, stream, (stream - 2).to_bytes(4) + b"\x10"))


def priorities_to_come(client: H2Client) -> None:
    """They are kept until their streams begin: of no more than there may be."""
    for stream in range(1, 2 * COUNT, 2):
        client.send(frame(PRIORITY_UPDATE, 0, 0, stream.to_bytes(4) + b"u=1"))


CASES = {
    "PING": flood(frame(PING, 0, 0, bytes(8))),
    "PING answers": flood(frame(PING, ACK, 0, bytes(8))),
    "SETTINGS": flood(frame(SETTINGS, 0, 0, bytes([0, 3, 0, 0, 0, 9]))),
    "empty SETTINGS": flood(frame(SETTINGS, 0, 0)),
    "SETTINGS acknowledged again": flood(frame(SETTINGS, ACK, 0)),
    "PRIORITY": flood(frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"), True),
    "PRIORITY of streams to come": flood(frame(PRIORITY, 0, 10_001, b"\0\0\0\0\x10")),
    "PRIORITY_UPDATE": flood(frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1"), True),
    "WINDOW_UPDATE of the connection": flood(window_update(0, 1)),
    "WINDOW_UPDATE of a stream": flood(window_update(1, 1), True),
    "RST_STREAM of a closed stream": flood(frame(RST_STREAM, 0, 1, bytes(4)), True),
    "GOAWAY": flood(frame(GOAWAY, 0, 0, bytes(8)), True),
    "PRIORITY that makes a chain": Case(tree, Ends(ENHANCE_YOUR_CALM)),
    "PRIORITY_UPDATE of streams to come": Case(priorities_to_come, Ends(PROTOCOL_ERROR)),
    "unknown frames": flood(frame(0xFA, 0, 0, bytes(20))),
}
