"""4. Small blocks that stand for large sections, kept alive by a shut window
(CVE-2016-6581, CVE-2026-49975, CVE-2026-47774); crumbs of cookies likewise."""

from attack import Answers, Bounded, Case, Ends
from h2_client import ENHANCE_YOUR_CALM, HEADER_TABLE_SIZE, H2Client, reset, settings
from h2_hpack import encode, integer, literal, reference, string, table_size

LARGE = literal("x-large", "v" * 3_900, True)


def thousands(client: H2Client) -> None:
    """16 KB that would be 60 MB."""
    client.answer(client.headers(encode(client.fields("GET", "/")) + LARGE))
    client.headers(encode(client.fields("GET", "/")) + reference(62) * 16_000)


def some(client: H2Client) -> int:
    client.answer(client.headers(encode(client.fields("GET", "/")) + LARGE))
    return client.headers(encode(client.fields("GET", "/")) + reference(62) * 10)


def kept(client: H2Client) -> None:
    """Sections of the largest size that is allowed, on all streams; none ends."""
    client.answer(client.headers(encode(client.fields("GET", "/")) + LARGE))
    for _ in range(100):
        client.headers(encode(client.fields("POST", "/")) + reference(62) * 2, False)
    client.settle()
    client.send(b"".join(map(reset, range(3, client.next_id, 2))))


def crumbs(value: str, count: int):
    def act(client: H2Client) -> int:
        crumb = literal("cookie", value, True)
        client.answer(client.headers(encode(client.fields("GET", "/")) + crumb))
        return client.headers(encode(client.fields("GET", "/")) + reference(62) * count)

    return act


def names(client: H2Client) -> int:
    """A name of the table with other values."""
    client.answer(client.headers(encode(client.fields("GET", "/")) + LARGE.replace(b"x-large", b"y-large")))
    field = integer(62, 4, 0) + string("v")
    return client.headers(encode(client.fields("GET", "/")) + field * 2_000)


def emptied_and_filled(client: H2Client) -> None:
    """The table goes with each block, and is filled anew."""
    for _ in range(300):
        sizes = table_size(0) + table_size(4_096)
        client.answer(client.headers(sizes + encode(client.fields("GET", "/")) + LARGE))


def endless_table(client: H2Client) -> None:
    """The server may keep 4 GiB of what it says, and does not; then nothing."""
    for size in ((1 << 32) - 1, 0) * 50:
        client.send(settings({HEADER_TABLE_SIZE: size}))
        client.settle()
        client.grants = True
        assert client.get("/status/200").status == 200


CASES = {
    "thousands of references": Case(thousands, Ends(ENHANCE_YOUR_CALM)),
    "some references": Case(some, Answers(431)),
    "a table that is emptied and filled": Case(emptied_and_filled, Bounded()),
    "a table without end": Case(endless_table, Bounded()),
    "kept": Case(kept, Bounded()),
    "crumbs": Case(crumbs("a=b", 2_000), Answers(431)),
    "empty crumbs": Case(crumbs("", 10_000), Answers(431)),
    "one name, many values": Case(names, Answers(431)),
}
