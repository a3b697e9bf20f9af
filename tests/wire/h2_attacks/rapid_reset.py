"""1. Streams that are opened and reset at once, and handlers that outlive them
(CVE-2023-44487)."""

from attack import Bounded, Case, Ends
from h2_client import END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, H2Client, frame, reset
from h2_hpack import encode

COUNT = 3_000


def at_once(client: H2Client) -> None:
    block = encode(client.fields("GET", "/"))
    pair = [frame(HEADERS, END_HEADERS | END_STREAM, s, block) + reset(s) for s in range(1, 2 * COUNT, 2)]
    client.next_id = 2 * COUNT + 1
    client.send(b"".join(pair))


def with_handlers(client: H2Client) -> None:
    """Threads take the requests before they are reset."""
    for _ in range(COUNT // 50):
        streams = [client.request("/slow/5") for _ in range(50)]
        client.settle()
        client.send(b"".join(map(reset, streams)))


def with_content(client: H2Client) -> None:
    for _ in range(COUNT):
        client.send(reset(client.request("/", "POST", ends=False)))


def within_the_budget(client: H2Client) -> None:
    """As a browser may that leaves a page."""
    for _ in range(5):
        client.send(b"".join(reset(client.request("/silence")) for _ in range(60)))
    client.settle()


CASES = {
    "at once": Case(at_once, Ends(ENHANCE_YOUR_CALM)),
    "with handlers": Case(with_handlers, Ends(ENHANCE_YOUR_CALM), options=["handler_threads=2"]),
    "with content": Case(with_content, Ends(ENHANCE_YOUR_CALM)),
    "within the budget": Case(within_the_budget, Bounded()),
}
