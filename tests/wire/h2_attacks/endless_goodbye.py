"""13. Connections that should end and do not (CVE-2022-27664): GOAWAY again and
again, a side that stays open, streams that are left behind."""

import struct

from attack import Case, Ends
from h2_client import GOAWAY, NO_ERROR, PROTOCOL_ERROR, H2Client, frame
from shut_windows import Gone


def goaway(last: int) -> bytes:
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, 0))


def growing(client: H2Client) -> None:
    client.request("/silence")
    client.send(goaway(0) + goaway(2))


def with_streams(client: H2Client) -> None:
    """What is under way goes on; then it is over, whoever keeps it open."""
    stream = client.request("/pieces?count=3&length=10&how=waits")
    client.send(goaway(0) * 10)
    client.answer(stream)
    client.end()


def old(client: H2Client) -> None:
    """It does not hear that the connection has grown old."""
    client.answers_pings = False
    client.get("/")


CASES = {
    "that grows": Case(growing, Ends(PROTOCOL_ERROR)),
    "with streams": Case(with_streams, Gone()),
    "unheard": Case(old, Ends(NO_ERROR), options=["max_connection_age_ms=100"]),
}
