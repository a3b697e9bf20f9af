"""2. Resets that the client provokes from the server, which cost it as much as its
own (MadeYouReset, CVE-2025-8671)."""

from collections.abc import Callable

from attack import Case, Ends
from h2_client import (
    DATA, ENHANCE_YOUR_CALM, HAS_PRIORITY, HEADERS, END_HEADERS, END_STREAM, PRIORITY,
    STREAM_CLOSED, H2Client, frame, reset, window_update,
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


def itself(_: H2Client, stream: int) -> bytes:
    return frame(PRIORITY, 0, stream, stream.to_bytes(4) + b"\x10")


def opened_on_itself(client: H2Client) -> None:
    block = b"\x10" + encode(client.fields("GET", "/"))
    flags = END_HEADERS | END_STREAM | HAS_PRIORITY
    for stream in range(1, 2 * COUNT, 2):
        client.send(frame(HEADERS, flags, stream, stream.to_bytes(4) + block))


def malformed(client: H2Client) -> None:
    """Each opens a stream, and is no request (CVE-2019-9514)."""
    block = encode([*client.fields("GET", "/"), ("X-Capital", "y")])
    for _ in range(COUNT):
        client.headers(block)


def beyond_the_limit(client: H2Client) -> None:
    """Refused streams, one after the other."""
    for _ in range(100):
        client.request("/silence")
    for _ in range(COUNT):
        client.request("/")


def on_a_closed_stream(octets: Callable[[H2Client, int], bytes], code: int = STREAM_CLOSED):
    """On a stream that the client itself has ended."""
    case = again(lambda client, stream: reset(stream) + octets(client, stream))
    return Case(case.act, Ends(code))


SMALL_WINDOW = ["http2_limits_stream_window_size=2000"]
CASES = {
    "window of 0": again(lambda _, stream: window_update(stream, 0)),
    "window beyond 2^31": again(overflow),
    "content behind the end": again(lambda _, stream: frame(DATA, END_STREAM, stream, b"12345")),
    "fields behind the end": again(late_fields),
    "PRIORITY of four octets": again(lambda _, stream: frame(PRIORITY, 0, stream, bytes(4))),
    "content beyond its length": Case(too_much, Ends(ENHANCE_YOUR_CALM)),
    "content beyond the window": Case(
        again(lambda _, stream: frame(DATA, 0, stream, bytes(2_001)), "/", False).act,
        Ends(ENHANCE_YOUR_CALM), options=SMALL_WINDOW,
    ),
    "trailers that end nothing": again(
        lambda _, stream: frame(HEADERS, END_HEADERS, stream, encode([("x", "y")])), "/", False
    ),
    "PRIORITY on itself": again(itself),
    "opened on itself": Case(opened_on_itself, Ends(ENHANCE_YOUR_CALM)),
    "malformed": Case(malformed, Ends(ENHANCE_YOUR_CALM)),
    "streams above the limit": Case(beyond_the_limit, Ends(ENHANCE_YOUR_CALM)),
    "content of closed streams": on_a_closed_stream(lambda _, stream: frame(DATA, 0, stream, b"12345")),
    "fields of closed streams": on_a_closed_stream(late_fields),
    "windows of closed streams": on_a_closed_stream(lambda _, stream: window_update(stream, 0), ENHANCE_YOUR_CALM),
}
