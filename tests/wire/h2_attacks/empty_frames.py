"""7. Frames without content, and fields without names (CVE-2019-9516, CVE-2019-9518)."""

from attack import Case, Ends
from h2_client import DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, PADDED, H2Client, frame
from h2_hpack import encode, literal

COUNT = 1_500


def content(payload: bytes, flags: int = 0):
    def act(client: H2Client) -> None:
        stream = client.request("/", "POST", ends=False)
        client.send(frame(DATA, flags, stream, payload) * COUNT)

    return Case(act, Ends(ENHANCE_YOUR_CALM))


def sections(extra: bytes):
    def act(client: H2Client) -> None:
        head = encode(client.fields("GET", "/")) if extra else b""
        for _ in range(COUNT):
            client.headers(head + extra)

    return Case(act, Ends(ENHANCE_YOUR_CALM))


def trailers(client: H2Client) -> None:
    """Empty ones; they are no fault, but the streams end with nothing."""
    for _ in range(COUNT):
        stream = client.request("/", "POST", ends=False)
        client.send(frame(DATA, 0, stream) + frame(HEADERS, END_HEADERS | END_STREAM, stream))


CASES = {
    "DATA": content(b""),
    "DATA of an octet": content(b"x"),
    "DATA of padding": content(b"\xff" + bytes(255), PADDED),
    "HEADERS": sections(b""),
    "names": sections(literal("", "v") * 50),
    "trailers": Case(trailers, Ends(ENHANCE_YOUR_CALM)),
}
