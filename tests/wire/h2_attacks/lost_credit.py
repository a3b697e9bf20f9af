"""11. Content of streams that were refused or reset: its room has to come back, or
the window of the connection shuts for good (RFC 9113 section 6.9)."""

from attack import Bounded, Case, Ends
from h2_client import DATA, PADDED, STREAM_CLOSED, H2Client, frame, reset, window_update

COUNT = 200


def checked(client: H2Client) -> None:
    client.settle()
    # Whatever is not given back yet is less than half of 1 MiB.
    assert client.room >= 1 << 19, client.room


def refused_by_the_handler(client: H2Client) -> None:
    for _ in range(COUNT):
        stream = client.request("/guarded", "POST", ends=False)
        client.data(stream, bytes(16_384))
        client.data(stream, bytes(16_384), True)
        client.until(lambda: client.room > 65_535)
    checked(client)


def reset_by_the_client(client: H2Client) -> None:
    for _ in range(COUNT):
        stream = client.request("/large", "POST", ends=False)
        client.data(stream, bytes(16_384))
        client.send(reset(stream))
        client.until(lambda: client.room > 65_535)
    checked(client)


def uploads_reset(client: H2Client) -> None:
    """Their handlers have read nothing."""
    for _ in range(COUNT):
        stream = client.request("/upload?pause=20", "POST", ends=False)
        for _ in range(3):
            client.data(stream, bytes(16_384))
        client.send(reset(stream))
        client.until(lambda: client.room > 65_535)
    checked(client)


def beyond_the_streams(client: H2Client) -> None:
    """Streams above the limit are refused with what was sent on them."""
    open_ones = [client.request("/silence") for _ in range(100)]
    for _ in range(COUNT):
        stream = client.request("/", "POST", ends=False)
        client.data(stream, bytes(16_384), True)
        client.until(lambda: client.room > 65_535)
    checked(client)
    client.send(b"".join(map(reset, open_ones)))


def padding(client: H2Client) -> None:
    stream = client.request("/large", "POST", ends=False)
    for _ in range(2_000):
        client.send(frame(DATA, PADDED, stream, b"\xff" + bytes(255 + 16)))
        client.room -= 272
        client.until(lambda: client.room > 65_535)
    client.send(reset(stream))
    checked(client)


def without_end(client: H2Client) -> None:
    """Content of a stream that was reset here, beside one that stays open: nobody
    waits for it, and no time ends it."""
    client.request("/silence")
    stream = client.request("/", "POST", ends=False)
    client.send(window_update(stream, 0))
    client.reset_of(stream)
    for _ in range(10_000):
        client.until(lambda: client.room >= 16_384)
        client.send(frame(DATA, 0, stream, bytes(16_384)))
        client.room -= 16_384


CASES = {
    "refused by the handler": Case(refused_by_the_handler, Bounded()),
    "reset by the client": Case(reset_by_the_client, Bounded()),
    "uploads that are reset": Case(uploads_reset, Bounded(), options=["handler_threads=2"]),
    "streams above the limit": Case(beyond_the_streams, Bounded()),
    "padding": Case(padding, Bounded()),
    "behind a reset, without end": Case(without_end, Ends(STREAM_CLOSED)),
}
