"""HPACK (RFC 7541), as small as tests can do with.

Strings are written plain, and nothing is indexed unless a test asks for it; what a
server writes is decoded whole, Huffman code and dynamic table included.
"""

STATIC = """:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate"""
ENTRIES = [
    (name, value)
    for name, _, value in (line.partition(" ") for line in STATIC.splitlines())
]

# The code is canonical (appendix B), so lengths are all that is written down: how
# many bits the code of each octet has, and that of the end of the string.
CODE_LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c"
    "060a0a0c0d06080b0a0a080b080606060505050606060606060607080f060c0a"
    "0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c"
    "1416141416161617161717171717181718181617181717171715161716171718"
    "1615141616171717151616181516171715151615171617171416161617161617"
    "1a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b"
    "14181415161515171616191918181a171a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a"
    "1e"
)

Field = tuple[str, str]


def _make_codes() -> dict[tuple[int, int], int]:
    """Symbols by length and value of their codes."""
    codes, code = {}, 0
    for length in range(1, 31):
        code <<= 1
        for symbol, symbol_length in enumerate(CODE_LENGTHS):
            if symbol_length == length:
                codes[length, code] = symbol
                code += 1
    return codes


CODES = _make_codes()


def huffman_decode(octets: bytes) -> bytes:
    """Decodes a string (section 5.2)."""
    decoded, code, length = bytearray(), 0, 0
    for bit in "".join(f"{octet:08b}" for octet in octets):
        code, length = code << 1 | int(bit), length + 1
        if (symbol := CODES.get((length, code))) is not None:
            decoded.append(symbol)
            code = length = 0
    assert length < 8 and code == (1 << length) - 1, "bad padding"
    return bytes(decoded)


def integer(value: int, prefix: int, first: int = 0) -> bytes:
    """An integer with a prefix of so many bits (section 5.1)."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    octets, value = bytearray([first | most]), value - most
    while value >= 128:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def string(text: str) -> bytes:
    octets = text.encode("latin-1")
    return integer(len(octets), 7) + octets


def literal(name: str, value: str, indexed: bool = False) -> bytes:
    """A field whose name is written out; `indexed` puts it into the table."""
    return (b"\x40" if indexed else b"\x00") + string(name) + string(value)


def reference(index: int) -> bytes:
    """A field of the static or the dynamic table (section 6.1)."""
    return integer(index, 7, 0x80)


def table_size(size: int) -> bytes:
    """A change of the table's size (section 6.3)."""
    return integer(size, 5, 0x20)


def encode(fields: list[Field]) -> bytes:
    return b"".join(literal(name, value) for name, value in fields)


class Decoder:
    """Decodes the blocks of one direction of a connection, strictly."""

    def __init__(self, size_max: int = 4096) -> None:
        self.allowed = size_max
        self.size_max = size_max
        self.table: list[Field] = []
        self.size_updates: list[int] = []

    def decode(self, block: bytes) -> list[Field]:
        self._octets, self._at = block, 0
        fields: list[Field] = []
        while self._at < len(block):
            first = block[self._at]
            if first & 0xE0 == 0x20:
                assert not fields, "a size within a block (section 4.2)"
                self._resize(self._integer(5))
            elif first & 0x80:
                fields.append(self._entry(self._integer(7)))
            else:
                fields.append(self._literal(first))
        return fields

    def _literal(self, first: int) -> Field:
        is_kept = first & 0x40 != 0
        index = self._integer(6 if is_kept else 4)
        name = self._entry(index)[0] if index else self._string()
        field = name, self._string()
        if is_kept:
            self.table.insert(0, field)
            self._evict()
        return field

    def _resize(self, size: int) -> None:
        assert size <= self.allowed, "above SETTINGS_HEADER_TABLE_SIZE"
        self.size_updates.append(size)
        self.size_max = size
        self._evict()

    def _evict(self) -> None:
        while sum(len(n) + len(v) + 32 for n, v in self.table) > self.size_max:
            self.table.pop()

    def _entry(self, index: int) -> Field:
        assert 0 < index <= len(ENTRIES) + len(self.table), f"no entry {index}"
        if index <= len(ENTRIES):
            return ENTRIES[index - 1]
        return self.table[index - len(ENTRIES) - 1]

    def _integer(self, prefix: int) -> int:
        most = (1 << prefix) - 1
        value = self._octets[self._at] & most
        self._at += 1
        if value < most:
            return value
        shift = 0
        while True:
            octet = self._octets[self._at]
            self._at += 1
            value += (octet & 127) << shift
            shift += 7
            if octet < 128:
                return value

    def _string(self) -> str:
        is_huffman = self._octets[self._at] & 0x80 != 0
        length = self._integer(7)
        octets = self._octets[self._at : self._at + length]
        assert len(octets) == length, "a string beyond the block"
        self._at += length
        return (huffman_decode(octets) if is_huffman else octets).decode("latin-1")
