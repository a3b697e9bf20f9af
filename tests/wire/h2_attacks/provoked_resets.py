"""2. Resets that the client provokes from the server, which cost it as much as its
own (MadeYouReset, CVE-2025-8671)."""

from collections.abc import Callable

from attack import Case, Ends
from h2_client import (
    DATA, ENHANCE_YOUR_CALM, HEADERS, END_HEADERS, END_STREAM, PRIORITY, H2Client,
    frame, window_update,
)  # fmt: skip
from h2_hpack import encode

COUNT = 1_200


def again(provoke: Callable[[H2Client, int], bytes], path: str = "/silence", ends: bool = True):
    def act(client: H2Client) -> None:
        method = "GET" if ends else "POST"
        for _ in range(COUNT):
            stream = client.request(path, method, ends=ends)
            client.send(provoke(client, stream))

    return Case(act, Ends(ENHANCE_YOUR_CALM))


def overflow(_: H2Client, stream: int) -> bytes:
    return window_update(stream, (1 << 31) - 1)


def late_fields(_: H2Client, stream: int) -> bytes:
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, encode([("x-late", "y")]))


def too_much(client: H2Client) -> None:
    fields = [("content-length", "1")]
    for _ in range(COUNT):
        stream = client.request("/", "POST", fields, ends=False)
        client.send(frame(DATA, END_STREAM, stream, b"12"))


CASES = {
    "window of 0": again(lambda _, stream: window_update(stream, 0)),
    "window beyond 2^31": again(overflow),
    "content behind the end": again(lambda _, stream: frame(DATA, END_STREAM, stream, b"12345")),
    "fields behind the end": again(late_fields),
    "PRIORITY of four octets": again(lambda _, stream: frame(PRIORITY, 0, stream, bytes(4))),
    "content beyond its length": Case(too_much, Ends(ENHANCE_YOUR_CALM)),
}
