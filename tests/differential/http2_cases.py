"""Generated field blocks and connections of HTTP/2."""

import struct
from random import Random

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)
NAMES = [b"a", b"x-b", b"content-length", b"te", b"cookie", b"accept", b"priority"]
ODD_NAMES = [
    *(b"A", b"", b" a", b"a b", b":x", b"connection", b"transfer-encoding", b"\x00"),
    *(b"host", b"upgrade", b"keep-alive", b"proxy-connection", b"\xc3\xa9", b"a:b", b":status"),
    *(b":authority", b":path", b":protocol", b"a\x7f", b":", b"te", b"expect"),
]
VALUES = [b"", b"1", b"trailers", b"hello", b"gzip, br", b"u=1", b"a=b", b"x" * 30]
ODD_VALUES = [
    *(b" a", b"a ", b"a\x00", b"a\r\nb: c", b"a\nb", b"\ta", b"\xff", b"3", b"a\x7f"),
    *(b"\x01", b"100-continue", b"deflate", b"v" * 200, b"+1", b"1, 1", b"\x80\x80"),
]


def integer(random: Random, prefix: int, number: int, first: int) -> bytes:
    """Encodes an integer (RFC 7541 section 5.1); sometimes longer than needed."""
    most = (1 << prefix) - 1
    if number < most:
        return bytes([first | number])
    out = [first | most]
    number -= most
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    if random.random() < 0.02:
        out[-1] |= 128
        out += [128] * random.choice((0, 1, 2, 4, 8)) + [0]
    return bytes(out)


def string(random: Random, octets: bytes) -> bytes:
    first = 0
    if random.random() < 0.4:
        octets, first = HUFFMAN.encode(octets), 128
        if random.random() < 0.05 and octets:
            odd = random.randrange(5)
            if odd == 0:
                octets += b"\xff"
            elif odd == 1:
                octets += b"\xff\xff\xff\xff"
            elif odd == 2:
                octets = octets[:-1] + bytes([octets[-1] & 0xFE])
            elif odd == 3:
                octets = random.randbytes(len(octets))
            else:
                octets = octets[:-1]
    length = len(octets)
    if random.random() < 0.01:
        length += random.choice((-1, 1, 5, 200))
    return integer(random, 7, max(0, length), first) + octets


def name_and_value(random: Random) -> tuple[bytes, bytes]:
    names = ODD_NAMES if random.random() < 0.08 else NAMES
    values = ODD_VALUES if random.random() < 0.08 else VALUES
    return random.choice(names), random.choice(values)


def representation(random: Random, added: int) -> tuple[bytes, int]:
    """Gives one field, and how many entries the table then has had."""
    kind = random.randrange(12)
    if kind < 4:
        index = random.randrange(1, 62)
        if random.random() < 0.05:
            index = random.choice((0, 61, 62, 63, 62 + added, 61 + added, 200, 1 << 20, 1 << 33))
        elif added and random.random() < 0.6:
            index = 62 + random.randrange(added)
        return integer(random, 7, index, 0x80), added
    name, value = name_and_value(random)
    prefix, first = ((6, 0x40), (6, 0x40), (4, 0x00), (4, 0x10))[kind % 4]
    index = 0
    if random.random() < 0.5:
        index = random.randrange(1, 62 + added)
        if random.random() < 0.03:
            index = random.choice((62 + added, 500, 1 << 24))
    out = integer(random, prefix, index, first)
    if index == 0:
        out += string(random, name)
    return out + string(random, value), added + (first == 0x40)


def resize(random: Random) -> bytes:
    size = random.choice((0, 31, 64, 100, 200, 4096, 4095, 4097, 1 << 16, 1 << 31))
    return integer(random, 5, size, 0x20)


def block(random: Random, added: int) -> tuple[bytes, int]:
    out = []
    for _ in range(random.choice((0, 0, 0, 0, 0, 1, 2, 3)) if random.random() < 0.5 else 0):
        out.append(resize(random))
    for _ in range(random.choice((0, 1, 2, 3, 5, 8))):
        octets, added = representation(random, added)
        out.append(octets)
        if random.random() < 0.01:
            out.append(resize(random))
    return b"".join(out), added


def hpack_case(random: Random) -> bytes:
    out, added = [], 0
    for _ in range(random.choice((1, 2, 3))):
        octets, added = block(random, added)
        if octets and random.random() < 0.05:
            place = random.randrange(len(octets))
            octets = random.choice(
                (
                    octets[:place],
                    octets[:place] + random.randbytes(1) + octets[place + 1 :],
                    octets[:place] + random.randbytes(1) + octets[place:],
                )
            )
        out.append(struct.pack(">H", len(octets)) + octets)
    return b"".join(out)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(random: Random, name: bytes, value: bytes) -> bytes:
    return b"\x00" + string_of(name) + string_of(value)


def string_of(octets: bytes) -> bytes:
    if len(octets) < 127:
        return bytes([len(octets)]) + octets
    rest, out = len(octets) - 127, [127]
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest]) + octets


def request_block(random: Random, content: int) -> bytes:
    pseudo = [(b":method", b"POST" if content >= 0 else b"GET"), (b":scheme", b"https"), (b":path", b"/"), (b":authority", b"h")]
    others = []
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        others.append(name_and_value(random))
    if content >= 0 and random.random() < 0.5:
        others.append((b"content-length", b"%d" % content))
    roll = random.random()
    if roll < 0.03:
        pseudo.pop(random.randrange(4))
    elif roll < 0.05:
        pseudo.append(random.choice(pseudo))
    elif roll < 0.08:
        place = random.randrange(4)
        value = random.choice((b"", b"*", b"/ x", b"http://h/", b"CONNECT", b"x y", b"a\x00", b"u@h", b"h:1", b"HTTPS", b"OPTIONS", b"/#f", b"/\xc3\xa9"))
        pseudo[place] = (pseudo[place][0], value)
    elif roll < 0.1:
        pseudo.append((random.choice((b":status", b":x", b":protocol", b":")), b"200"))
    fields = pseudo + others
    if random.random() < 0.04:
        random.shuffle(fields)
    return b"".join(literal(random, *field) for field in fields)


def padded(random: Random, kind: int, flags: int, payload: bytes, share: float = 0.15) -> tuple[int, bytes]:
    if random.random() >= share:
        return flags, payload
    length = random.choice((0, 1, 3, 10))
    payload = bytes([length]) + payload + bytes(length)
    if random.random() < 0.1:
        payload = bytes([min(255, random.choice((len(payload), len(payload) - 1, 255)))]) + payload[1:]
    return flags | 8, payload


def request_frames(random: Random, stream: int) -> list[bytes]:
    content = random.choice((-1, -1, 0, 3, 5))
    octets = request_block(random, content)
    ends = content < 0
    flags, payload = 4 | ends, octets
    frames = []
    if random.random() < 0.15:
        weight = struct.pack(">IB", random.choice((0, 0, stream, 1, 7, 1 << 31)), 10)
        payload, flags = weight + payload, flags | 0x20
    if random.random() < 0.15:
        cut = random.randrange(len(payload) + 1)
        first_flags, first = padded(random, 1, flags & ~4, payload[:cut], 0.1)
        frames.append(frame(1, first_flags, stream, first))
        frames.append(frame(9, 4, stream, payload[cut:]))
    else:
        flags, payload = padded(random, 1, flags, payload)
        frames.append(frame(1, flags, stream, payload))
    if not ends:
        data = b"hello"[:content] if random.random() < 0.9 else b"hell"
        trails = random.random() < 0.2
        if random.random() < 0.3 and data:
            frames.append(frame(0, 0, stream, data[:1]))
            data = data[1:]
        flags, payload = padded(random, 0, 0 if trails else 1, data)
        frames.append(frame(0, flags, stream, payload))
        if trails:
            fields = literal(random, *name_and_value(random))
            end = 5 if random.random() < 0.9 else 4
            frames.append(frame(1, end, stream, fields))
    return frames


def odd_frame(random: Random, stream: int) -> bytes:
    any_stream = random.choice((0, stream, stream, stream + 2, 2, 1, 99, 1 << 31 | stream))
    kind = random.randrange(14)
    if kind == 0:
        return frame(3, 0, any_stream, random.choice((b"\0\0\0\x08", b"\0\0\0\0", b"\0\0\0", b"\0\0\0\x08\0", b"\xff\xff\xff\xff")))
    if kind == 1:
        return frame(8, 0, any_stream, random.choice((b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\0\1", b"\0\0\1", b"\x80\0\0\1")))
    if kind == 2:
        return frame(6, random.choice((0, 1, 255)), random.choice((0, 0, 1)), random.choice((bytes(8), bytes(7), bytes(9))))
    if kind == 3:
        ids = struct.pack(">HI", random.choice((1, 2, 3, 4, 5, 6, 8, 9, 99)), random.choice((0, 1, 2, 16384, 16383, 16777215, 16777216, 2**31 - 1, 2**31, 100)))
        return frame(4, random.choice((0, 0, 0, 1)), random.choice((0, 0, 0, 1)), random.choice((ids, ids * 2, ids[:5], b"")))
    if kind == 4:
        return frame(4, 1, 0, b"")
    if kind == 5:
        return frame(2, 0, any_stream, random.choice((b"\0\0\0\0\x05", struct.pack(">IB", any_stream & 0x7FFFFFFF, 1), bytes(4), bytes(6))))
    if kind == 6:
        return frame(7, 0, random.choice((0, 0, 1)), random.choice((bytes(8), bytes(7), struct.pack(">II", 99, 2) + b"x", struct.pack(">II", stream, 0))))
    if kind == 7:
        return frame(9, random.choice((0, 4)), any_stream, b"")
    if kind == 8:
        return frame(random.choice((10, 11, 16, 99, 255)), random.randrange(256), any_stream, random.randbytes(random.randrange(6)))
    if kind == 9:
        return frame(5, 4, any_stream, struct.pack(">I", 2) + b"\x82")
    if kind == 10:
        return frame(0, random.choice((0, 1, 8, 9)), any_stream, random.choice((b"", b"abc", b"\x05abc", b"\0")))
    if kind == 11:
        return frame(1, random.choice((4, 5, 0, 1, 0x2C, 0xC)), any_stream, random.choice((b"", b"\x82", b"\x82\x84\x87\x41\x01h", b"\xbe", b"\x3f\xe1\xff\x03")))
    if kind == 12:
        return frame(0, 0, stream, bytes(16385))
    return random.randbytes(random.randrange(1, 12))


def http2_case(random: Random) -> bytes:
    frames = [] if random.random() < 0.02 else [frame(4, 0, 0, b"")]
    stream = 1
    for _ in range(random.choice((1, 1, 2, 3))):
        more = request_frames(random, stream)
        if random.random() < 0.25:
            more.insert(random.randrange(len(more) + 1), odd_frame(random, stream))
        frames += more
        stream += random.choice((2, 2, 2, 2, 2, 2, 2, 2, 4, 1, 0, -2)) if random.random() < 0.3 else 2
        stream = max(1, stream)
    if random.random() < 0.05:
        place = random.randrange(len(frames))
        frames[place] = frames[place][: random.randrange(len(frames[place]))]
    if random.random() < 0.03:
        random.shuffle(frames)
    octets = b"".join(frames)
    if random.random() < 0.05:
        place = random.randrange(len(octets))
        octets = octets[:place] + random.randbytes(1) + octets[place + 1 :]
    return octets
