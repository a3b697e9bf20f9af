"""3. CONTINUATION without end, and without content (CVE-2024-27316, CVE-2026-33871)."""

from attack import Case, Ends
from h2_client import CONTINUATION, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, H2Client, frame
from h2_hpack import encode


def without_end(size: int):
    def act(client: H2Client) -> None:
        client.send(frame(HEADERS, END_STREAM, 1, b""))
        for _ in range(40):
            client.send(frame(CONTINUATION, 0, 1, bytes(size)))

    return Case(act, Ends(ENHANCE_YOUR_CALM))


def empty_between(client: H2Client) -> None:
    """Blocks that are well-formed, with as many empty frames as are allowed."""
    block = encode(client.fields("GET", "/"))
    for _ in range(300):
        stream, client.next_id = client.next_id, client.next_id + 2
        client.send(
            frame(HEADERS, END_STREAM, stream, block)
            + frame(CONTINUATION, 0, stream) * 7
            + frame(CONTINUATION, END_HEADERS, stream)
        )


def of_a_refused_stream(client: H2Client) -> None:
    """Its block has to be decoded, whatever becomes of it."""
    for _ in range(100):
        client.request("/silence")
    client.send(frame(HEADERS, END_STREAM, 201, b""))
    client.send(frame(CONTINUATION, 0, 201, bytes(16_384)) * 40)


def of_trailers(client: H2Client) -> None:
    stream = client.request("/", "POST", ends=False)
    client.send(frame(HEADERS, END_STREAM, stream, b""))
    client.send(frame(CONTINUATION, 0, stream, b"") * 40)


CASES = {
    "without end": without_end(16_384),
    "of an octet": without_end(1),
    "empty": without_end(0),
    "of a refused stream": Case(of_a_refused_stream, Ends(ENHANCE_YOUR_CALM)),
    "of trailers": Case(of_trailers, Ends(ENHANCE_YOUR_CALM)),
    "empty, in good blocks": Case(empty_between, Ends(ENHANCE_YOUR_CALM)),
}
