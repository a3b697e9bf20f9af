"""HPACK beside the Python package `hpack`: what one side encodes the other has
to decode to the same fields, block after block on one connection, with changes
of the table's size between them (RFC 7541)."""

import random
import subprocess

import pytest
from hpack import Decoder, Encoder, NeverIndexedHeaderTuple
from hpack.table import HeaderTable
from processes import next_line
from wire_programs import built

ANSWER_TIMEOUT_S = 20
CONNECTIONS = 60
BLOCKS = 25
KEPT, NOT_KEPT, NEVER = 0, 1, 2
NAMES = [name for name, _ in HeaderTable.STATIC_TABLE] + [
    b"x-a", b"x-b", b"x-request-id", b"priority", b"z" * 60
]
VALUES = [value for _, value in HeaderTable.STATIC_TABLE] + [
    b"text/plain", b"a", bytes(range(256)), b"v" * 900, b"\xff" * 30
]

Field = tuple[bytes, bytes, int]


class Tool:
    """Our side, which does a command a line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [str(built("hpack_tool", "clients"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *words: str) -> str:
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return next_line(self.process, ANSWER_TIMEOUT_S, at_once=65_536)

    def encode(self, fields: list[Field]) -> bytes:
        words = [
            word
            for name, value, how in fields
            for word in (hexed(name), hexed(value), str(how))
        ]
        return octets(self.ask("encode", *words))

    def decode(self, block: bytes) -> list[tuple[bytes, bytes]] | None:
        answer = self.ask("decode", hexed(block))
        if answer == "refused":
            return None
        words = [] if answer == "-" else answer.split(" ")
        return [
            (octets(name), octets(value))
            for name, value in zip(words[::2], words[1::2])
        ]


def hexed(octets: bytes) -> str:
    return octets.hex() or "-"


def octets(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


@pytest.fixture(scope="module")
def tool():
    running = Tool()
    yield running
    running.process.stdin.close()
    assert running.process.wait(ANSWER_TIMEOUT_S) == 0


def some_fields(rng: random.Random) -> list[Field]:
    """Fields of which many come again, in all the ways to encode them."""
    fields = []
    for _ in range(rng.randrange(12)):
        value = rng.choice(VALUES)
        if rng.random() < 0.3:
            value = rng.randbytes(rng.randrange(40))
        if rng.random() < 0.02:
            value = rng.choice([b"w" * 4_040, b"w" * 5_000, b"\0" * 6_000])
        fields.append((rng.choice(NAMES), value, rng.choice([0, 0, 0, 1, 2])))
    return fields


def bare(fields: list[Field]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value, _ in fields]


def their_decoder() -> Decoder:
    return Decoder(max_header_list_size=1 << 20)


def as_pairs(fields) -> list[tuple[bytes, bytes]]:
    return [(bytes(name), bytes(value)) for name, value in fields]


def test_they_decode_what_we_encode(tool):
    """7541-6, 7541-4.2: sizes down and up between blocks, also several."""
    rng = random.Random(7541)
    changes = 0
    for _ in range(CONNECTIONS):
        tool.ask("new")
        theirs = their_decoder()
        for _ in range(BLOCKS):
            while rng.random() < 0.3:
                size = rng.choice([0, 32, 100, 700, 4_095, 4_096, 65_536])
                tool.ask("size", str(size))
                theirs.max_allowed_table_size = size
                changes += 1
            fields = some_fields(rng)
            got = theirs.decode(tool.encode(fields), raw=True)
            assert as_pairs(got) == bare(fields)
            assert theirs.header_table_size <= theirs.max_allowed_table_size
    assert changes > CONNECTIONS


def test_their_table_may_be_larger_than_ours(tool):
    """7541-4.2: an encoder may use less of the table than it is allowed to."""
    rng = random.Random(4_2)
    for _ in range(CONNECTIONS):
        tool.ask("new")
        tool.ask("size", "16384")
        theirs = their_decoder()
        theirs.max_allowed_table_size = 16_384
        theirs.header_table_size = 16_384
        for _ in range(BLOCKS):
            fields = some_fields(rng)
            got = theirs.decode(tool.encode(fields), raw=True)
            assert as_pairs(got) == bare(fields)


def test_secrets_are_never_indexed(tool):
    """7541-6.2.3: what must not be kept arrives with that mark."""
    tool.ask("new")
    theirs = their_decoder()
    fields = [(b"authorization", b"x", NEVER), (b"x-a", b"y", KEPT)]
    fields += [(b"x-b", b"z", NOT_KEPT)]
    for _ in range(3):
        got = theirs.decode(tool.encode(fields), raw=True)
        kinds = [isinstance(field, NeverIndexedHeaderTuple) for field in got]
        assert kinds == [True, False, False]


@pytest.mark.parametrize("uses_huffman", [True, False])
def test_we_decode_what_they_encode(tool, uses_huffman):
    """7541-6, 7541-4.2: their encoder with any table up to ours."""
    rng = random.Random(uses_huffman)
    for _ in range(CONNECTIONS):
        tool.ask("new")
        theirs = Encoder()
        for _ in range(BLOCKS):
            while rng.random() < 0.3:
                size = rng.choice([0, 64, 300, 4_096])
                # The same size a second time makes it forget the first.
                if size != theirs.header_table_size:
                    theirs.header_table_size = size
            fields = some_fields(rng)
            block = theirs.encode(
                [(name, value, how == NEVER) for name, value, how in fields],
                huffman=uses_huffman,
            )
            assert tool.decode(block) == bare(fields)


def test_the_static_table(tool):
    """7541-A: every entry by its index, and what is behind the last one."""
    tool.ask("new")
    for index in range(1, 62):
        name, value = HeaderTable.STATIC_TABLE[index - 1]
        assert tool.decode(bytes([0x80 | index])) == [(name, value)]
        assert tool.decode(bytes([0x00 | 15, index - 15, 0])) == [
            (name, b"")
        ] if index >= 15 else True
    assert tool.decode(bytes([0x80 | 62])) is None


def test_the_huffman_code(tool):
    """7541-B: each octet, and each pair of octets."""
    tool.ask("new")
    theirs = Encoder()
    for first in range(256):
        value = b"".join(bytes([first, second]) for second in range(256))
        block = theirs.encode([(b"x", value, True)], huffman=True)
        assert tool.decode(block) == [(b"x", value)]
        value = bytes([first]) + b"e" * 40
        got = their_decoder().decode(
            tool.encode([(b"x", value, NEVER)]), raw=True
        )
        assert as_pairs(got) == [(b"x", value)]
