"""9. HPACK that is no HPACK (RFC 7541), and blocks that cost more than they should
(CVE-2022-41723)."""

from attack import Answers, Case, Ends
from h2_client import COMPRESSION_ERROR, H2Client
from h2_hpack import encode, integer, literal, string, table_size


def block(octets: bytes):
    def act(client: H2Client) -> None:
        client.headers(encode(client.fields("GET", "/")) + octets)

    return Case(act, Ends(COMPRESSION_ERROR))


def huffman(octets: bytes) -> bytes:
    return b"\x00" + string("x-a") + bytes([0x80 | len(octets)]) + octets


def late_size(client: H2Client) -> None:
    client.headers(encode(client.fields("GET", "/")) + table_size(0))


def small_entries(client: H2Client) -> int:
    """Each drops others from the table: linear, not quadratic."""
    fields = b"".join(literal(f"x{n % 10}", "v", True) for n in range(1_600))
    return client.headers(encode(client.fields("GET", "/")) + fields)


def many_sizes(client: H2Client) -> int:
    """More than a sender needs, and no more work than they are long."""
    return client.headers(table_size(0) * 8_000 + encode(client.fields("GET", "/")))


CASES = {
    "an index of 0": block(b"\x80"),
    "an index beyond the table": block(integer(70, 7, 0x80)),
    "a name beyond the table": block(integer(70, 4) + string("v")),
    "an integer of 2^35": block(b"\xff" + b"\xff" * 4 + b"\x7f"),
    "an integer without end": block(b"\xff" * 12),
    "an integer of zeros": block(b"\xff" + b"\x80" * 12 + b"\x00"),
    "a length beyond the block": block(b"\x00\x03x-a\x7f\xff\xff\x7f"),
    "a block that stops": block(b"\x00\x03x-"),
    "a size above the setting": Case(lambda c: c.headers(table_size(4_097) + encode(c.fields("GET", "/"))) and None, Ends(COMPRESSION_ERROR)),
    "a size within the block": Case(late_size, Ends(COMPRESSION_ERROR)),
    "many sizes": Case(many_sizes, Answers(200)),
    # "a" is 00011; then padding of eight ones, of zeros, and the end of strings.
    "Huffman padding of eight bits": block(huffman(b"\x1f\xff")),
    "Huffman padding of zeros": block(huffman(b"\x18")),
    "the end of strings": block(huffman(b"\xff\xff\xff\xff")),
    "many small entries": Case(small_entries, Answers(431)),
}
