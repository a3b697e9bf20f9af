"""8. Many settings times many streams (CVE-2020-11080); windows that change under
open streams, become negative, or grow past 2^31-1."""

from attack import Bounded, Case, Ends, Resets
from h2_client import (
    ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, INITIAL_WINDOW, SETTINGS, H2Client, frame,
    settings, window_update,
)  # fmt: skip

MOST = (1 << 31) - 1


def many(client: H2Client) -> None:
    for _ in range(99):
        client.request("/silence")
    entry = bytes([0, 4, 0, 1, 0, 0, 0, 4, 0, 2, 0, 0])
    client.send(frame(SETTINGS, 0, 0, entry * 16) * 1_500)


def one_too_many(client: H2Client) -> None:
    client.send(frame(SETTINGS, 0, 0, bytes([0, 3, 0, 0, 0, 1]) * 33))


def negative(client: H2Client) -> None:
    """There and back, with content waiting."""
    stream = client.request("/size/60000")
    client.settle()
    for size in (0, 10_000, 0, 65_535):
        client.send(settings({INITIAL_WINDOW: size}))
        client.settle()
    client.grant(stream, 60_000)
    assert len(client.answer(stream).body) == 60_000


def overflow_by_settings(client: H2Client) -> None:
    stream = client.request("/silence")
    client.send(window_update(stream, MOST - 65_535))
    client.send(settings({INITIAL_WINDOW: 65_536}))


def overflow_of_a_stream(client: H2Client) -> int:
    stream = client.request("/silence")
    client.send(window_update(stream, MOST))
    return stream


CASES = {
    "many": Case(many, Ends(ENHANCE_YOUR_CALM)),
    "one too many": Case(one_too_many, Ends(ENHANCE_YOUR_CALM)),
    "negative windows": Case(negative, Bounded()),
    "overflow by SETTINGS": Case(overflow_by_settings, Ends(FLOW_CONTROL_ERROR)),
    "overflow of a stream": Case(overflow_of_a_stream, Resets(FLOW_CONTROL_ERROR)),
    "overflow of the connection": Case(lambda c: c.send(window_update(0, MOST)), Ends(FLOW_CONTROL_ERROR)),
    "a window of 2^31": Case(lambda c: c.send(settings({INITIAL_WINDOW: 1 << 31})), Ends(FLOW_CONTROL_ERROR)),
}
