"""15. CONNECT with a protocol (RFC 8441; CVE-2024-36387): for what nobody offers,
and frames behind its end."""

from attack import Bounded, Case
from h2_client import DATA, ENABLE_CONNECT, H2Client, frame, reset, settings
from h2_hpack import encode


def asked(client: H2Client, protocol: str = "websocket") -> int:
    fields = [
        (":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"),
        (":path", "/"), (":authority", "test"), ("sec-websocket-version", "13"),
    ]  # fmt: skip
    return client.headers(encode(fields), False)


def nobody_offers(client: H2Client) -> None:
    """It is reset, or answered with an error."""
    for protocol in ("websocket", "other", "web-socket"):
        stream = asked(client, protocol)
        client.until(lambda: stream in client.answers and client.answers[stream].is_over)
        assert client.answers[stream].status not in range(200, 300)


def content_behind_a_reset(client: H2Client) -> None:
    for _ in range(100):
        stream = asked(client)
        client.send(reset(stream))
    for stream in range(1, client.next_id, 2):
        if stream in client.answers and client.answers[stream].reset is not None:
            client.data(stream, b"\x81\x85\0\0\0\0hello")
    client.settle()


def taken_back(client: H2Client) -> None:
    """A client may say what a server says; it means nothing there."""
    client.send(settings({ENABLE_CONNECT: 1}))
    client.settle()


CASES = {
    "nobody offers it": Case(nobody_offers, Bounded()),
    "content behind a reset": Case(content_behind_a_reset, Bounded()),
    "offered by the client": Case(taken_back, Bounded()),
}
