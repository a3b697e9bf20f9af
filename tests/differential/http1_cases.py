"""Generated connections of HTTP/1.1: mostly well-formed, with one or two of the
deviations that request smuggling is made of."""

from random import Random

from edits import INSERT, edited

METHODS = [b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"DELETE", b"PATCH"]
ODD_METHODS = [
    *(b"get", b"CONNECT", b"TRACE", b"PRI", b"M-SEARCH", b"QUERY", b"FOO", b"G/T"),
    *(b"", b"GE\tT", b"G:T", b"PROPFIND", b"X" * 33, b"GET\x00", b"\xc3\x89", b"GET "),
]
TARGETS = [b"/", b"/a/b?c=d", b"/x%20y", b"/index.html", b"/?", b"/a;b=c"]
ODD_TARGETS = [
    *(b"*", b"http://h/", b"http://h:80/a?b", b"https://h", b"h:443", b"h", b"?x"),
    *(b"//h/", b"/a#b", b"/%zz", b"/%00", b"/\xc3\xa9", b"/\x80", b"/a\x00", b"/a\tb"),
    *(b"http://u:p@h/", b"http:///", b"http://:80/", b"HTTP://h/", b"ftp://h/", b""),
    *(b"/a\\b", b'/"<>^`{}', b"/ a", b"http://[::1]/", b"http://h:99999/", b"/\x7f"),
    *(b"http:h", b"http://h?x", b"/..", b"*x", b"http://h/ ", b"/a?b#c", b"//"),
]
VERSIONS = [
    *(b"HTTP/1.2", b"HTTP/1.9", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.10", b"HTTP/1"),
    *(b"http/1.1", b"HTTP/1,1", b"HTTP/01.1", b"HTTP/1.1 ", b"HTTP/ 1.1", b"", b"HTTP/3.0"),
    *(b"ICE/1.0", b"HTTP/1.1\x00", b"HTTP/1.a", b"HTTP1.1", b"HTTP/1.1\t", b"XHTTP/1.1"),
]
HOSTS = [
    *(b"", b"h:80", b"[::1]", b"[::1]:8", b"a b", b"a,b", b"h:", b":80", b"a%41"),
    *(b"a%zz", b"[1]", b"[::1", b"u@h", b"h/x", b"h:99999", b"h:0080", b"h:8a", b"\xe9"),
    *(b"1.2.3", b"999.1.1.1", b"a..b", b"h\t", b"h;x", b'"h"', b"a_b", b"[v1.x]", b"h?"),
]
LENGTHS = [
    *(b"+3", b"-3", b"3, 3", b"3,3", b"3 3", b"0x3", b"3.0", b"", b"03", b"3;", b" 3 "),
    *(b"00000000000000000003", b"9223372036854775807", b"9223372036854775808"),
    *(b"18446744073709551616", b"18446744073709551619", b"3,4", b"three", b"3\t"),
    *(b"4294967299", b"3,", b",3", b"\xef\xbc\x93", b"3_0", b"1e1", b"3\x00", b"\x0b3"),
    *(b"000000000000000003", b"0000000000000000003", b"-0", b"0", b"1", b"4"),
]
CODINGS = [
    *(b"Chunked", b"CHUNKED", b"chunked, chunked", b"gzip, chunked", b"chunked, gzip"),
    *(b"identity", b"identity, chunked", b"xchunked", b"chunkedx", b"", b",", b", chunked"),
    *(b"chunked,", b"chunked;q=1", b'"chunked"', b"\x0bchunked", b"chunked\x00", b"gzip"),
    *(b"\tchunked\t", b"chunked\x0c", b"x, chunked", b" chunked", b"chunk", b"chun\xaaked"),
    *(b"chunked ;a=b", b"trailers", b"chunked,,", b"deflate, chunked", b"\x85chunked"),
]
NAMES = [
    *(b"X-A", b"Accept", b"Cookie", b"User-Agent", b"x_y", b"Content-Type", b"A"),
    *(b"Via", b"!#$%&'*+-.^_`|~", b"Date"),
]
ODD_NAMES = [
    *(b"X A", b"X\tA", b"", b"X(", b"X\x00", b"\xc3\xa9", b"X ", b"X\t", b" X", b"X/Y"),
    *(b'"X"', b"X@Y", b"[X]", b"X\x7f", b"X=Y", b"X\x0b", b"Content-Length ", b"Host "),
    *(b"Transfer-Encoding ", b"Transfer_Encoding", b"Content_Length", b"\x0bHost"),
]
VALUES = [b"b", b"", b"a b", b"a, b", b"x=y; z", b"1", b"a:b", b"Mon, 01 Jan 2024 00:00:00 GMT"]
ODD_VALUES = [
    *(b"a\tb", b"\tb\t", b"a\x00b", b"a\x7fb", b"a\x01b", b"\xc3\xa9", b"\xff", b"a\x0bb"),
    *(b"a\rb", b"a\nb", b"a\r\n b", b"a\r\n\tb", b"a\n b", b"  b  ", b"\x1b[0m", b"\x0cb"),
    *(b"\r\n b", b"\x85", b"a\xa0", b"\x80b\x80", b"a\r\n \r\n b", b"v" * 300),
]
CONNECTIONS = [
    *(b"close", b"keep-alive", b"Close", b"close, keep-alive", b"keep-alive, close"),
    *(b"upgrade", b"te", b"closed", b"close;x", b", close", b"", b"Keep-Alive", b"x, close"),
    *(b'"close"', b"close keep-alive", b"proxy-connection", b"Content-Length", b"host"),
]
EXPECTATIONS = [b"100-continue", b"100-Continue", b"200-ok", b"", b"100-continue, x", b"100"]
SPACES = [b"  ", b"\t", b"", b" \t", b"\x0b", b"\x0c", b"\xa0", b"\r"]
ENDS = [b"\n", b"\r", b"\r\r\n", b"\n\r", b" \r\n", b"\x00\r\n", b"\r\n\r\n", b"\r\n ", b"", b"\x85"]
SIZES = [
    *(b"0x3", b"+3", b"-3", b"3 ", b" 3", b"3\t", b"03", b"0003", b"3;", b"3;a", b"3;a=b"),
    *(b'3;a="b"', b'3;a="b\\""', b"3;a=", b"3;=b", b"3 ;a", b"3; a = b", b'3;a="b', b"3;a b"),
    *(b"00000000000000003", b"000000000000003", b"0000000000000003", b"10000000000000003"),
    *(b"7fffffffffffffff", b"8000000000000000", b"ffffffffffffffff", b"fffffffffffffffd"),
    *(b"3\x00", b"3,", b"g", b"", b"3;a\x00", b"3;a\n", b"3\r", b"3;\xff", b"3;a=\xc3\xa9"),
    *(b"3;a;b;c", b"3;" + b"a" * 200, b"3\x0b", b"3;a=(b)", b"0;a", b"3;\"a\"", b"1_0", b"100000003"),
    *(b"3;a=b ;c", b"3;;", b"3;a=\"\r\n\"", b"3;a\r", b"3 \t", b"3;a\x7f", b"3;a=\"\t\"", b"3x"),
]
TRAILERS = [
    *(b"T: u\r\n", b"T: u\r\nV: w\r\n", b"Content-Length: 5\r\n", b"Host: x\r\n", b"T : u\r\n"),
    *(b"T: u\n", b" T: u\r\n", b"T\r\n", b"T: u\r\n v\r\n", b"T: \x00\r\n", b": u\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"T: u\r", b"T: \xff\r\n", b"\n", b"T:u", b"T: a\rb\r\n"),
]
STATUSES = [b"200 OK", b"404 Not Found", b"500 ", b"201 Created", b"302 Found", b"206 Partial"]
ODD_STATUSES = [
    *(b"204 No Content", b"304 Not Modified", b"101 Switching", b"205 Reset", b"199 x", b"200"),
    *(b"099 x", b"000 x", b"600 x", b"999 x", b"1000 x", b"20 x", b"2x0 OK", b" 200 OK"),
    *(b"200  OK", b"200\tOK", b"200 O\tK", b"200 \xc3\xa9", b"200 O\x00K", b"200OK", b"+20 x"),
    *(b"-20 x", b"200 O\x7fK", b"200 O\x01", b"", b"0200 OK", b"200.1 OK", b"2 0 OK", b"200 OK\r"),
]
INTERIMS = [b"100 Continue", b"103 Early Hints", b"102 Processing", b"150 x", b"100"]
INSERTED = [
    *(b"\r", b"\n", b"\x00", b" ", b"\t", b"\x0b", b"\xff", b"\x80", b":", b",", b";", b"\r\n"),
    *(b"\r\n ", b"\r\n\r\n", b"\n\n", b"\x7f", b'"', b"0", b"\\", b"=", b"a", b"\x85", b"\xa0"),
]


def odd(random: Random, plain: list[bytes], others: list[bytes], share: float) -> bytes:
    return random.choice(others if random.random() < share else plain)


def line_end(random: Random) -> bytes:
    return random.choice(ENDS) if random.random() < 0.006 else b"\r\n"


def separator(random: Random, plain: bytes = b" ") -> bytes:
    return random.choice(SPACES) if random.random() < 0.008 else plain


def field(random: Random, name: bytes, value: bytes) -> bytes:
    before = b""
    if random.random() < 0.006:
        before = random.choice([b" ", b"\t", b"\x0b", b"\x00", b"\xa0"])
    after = random.choice([b"", b"  ", b"\t", b" \t"]) if random.random() < 0.05 else b" "
    return name + before + b":" + after + value + line_end(random)


def cased(random: Random, name: bytes) -> bytes:
    roll = random.random()
    if roll < 0.9:
        return name
    return name.lower() if roll < 0.95 else name.upper()


def content(random: Random) -> bytes:
    return random.choice([b"abc", b"abc", b"", b"hello world", b"a=b&c=d", b"\x00\xff\r\n", b"x" * 40])


def chunks(random: Random) -> bytes:
    out = []
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        data = content(random) or b"q"
        size = b"%x" % len(data)
        if random.random() < 0.12:
            data, size = b"abc", random.choice(SIZES)
        out.append(size + line_end(random) + data)
        out.append(random.choice(ENDS) if random.random() < 0.03 else b"\r\n")
    out.append(random.choice([b"00", b"000", b"0;a", b"0 ", b"-0", b"", b"0x0", b"0" * 20]) if random.random() < 0.04 else b"0")
    out.append(line_end(random))
    if random.random() < 0.15:
        out.append(random.choice(TRAILERS))
    out.append(line_end(random))
    return b"".join(out)


def framing(random: Random, share: float) -> tuple[list[bytes], bytes]:
    """Gives field lines that frame content, and the content."""
    roll = random.random()
    if roll < 0.35:
        return [], b""
    length, coding = cased(random, b"Content-Length"), cased(random, b"Transfer-Encoding")
    if random.random() >= share:
        if roll < 0.65:
            data = content(random)
            return [field(random, length, b"%d" % len(data))], data
        return [field(random, coding, b"chunked")], chunks(random)
    kind = random.randrange(9)
    sized = field(random, length, b"3")
    coded = field(random, coding, b"chunked")
    if kind < 3:
        return [field(random, length, random.choice(LENGTHS))], b"abc"
    if kind < 5:
        return [field(random, coding, random.choice(CODINGS))], chunks(random)
    if kind == 5:
        return random.sample([sized, coded], 2), random.choice([b"abc", chunks(random)])
    if kind == 6:
        return [sized, field(random, length, random.choice([b"3", b"4", b"0", b"03"]))], b"abc"
    if kind == 7:
        other = field(random, coding, random.choice(CODINGS))
        return random.sample([coded, other], 2), chunks(random)
    return [coded], chunks(random)[: random.randrange(1, 12)]


def fields(random: Random) -> list[bytes]:
    out = []
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        name = odd(random, NAMES, ODD_NAMES, 0.04)
        out.append(field(random, name, odd(random, VALUES, ODD_VALUES, 0.1)))
    if random.random() < 0.15:
        out.append(field(random, cased(random, b"Connection"), random.choice(CONNECTIONS)))
    if random.random() < 0.05:
        out.append(field(random, b"Upgrade", random.choice([b"websocket", b"h2c", b"x/1"])))
    return out


def request(random: Random) -> bytes:
    version = b"HTTP/1.1"
    if random.random() < 0.1:
        version = random.choice(VERSIONS) if random.random() < 0.4 else b"HTTP/1.0"
    line = (
        odd(random, METHODS, ODD_METHODS, 0.06)
        + separator(random)
        + odd(random, TARGETS, ODD_TARGETS, 0.1)
        + separator(random)
        + version
        + line_end(random)
    )
    head, data = framing(random, 0.2)
    head += fields(random)
    roll = random.random()
    if roll < 0.9:
        host = odd(random, [b"h", b"example.com:8080"], HOSTS, 0.07)
        head.append(field(random, cased(random, b"Host"), host))
    elif roll < 0.93:
        head.append(b"Host: h\r\nHost: h\r\n")
    elif roll < 0.95:
        head.append(b"Host: h\r\nhost: other\r\n")
    if random.random() < 0.03:
        head.append(field(random, b"Expect", random.choice(EXPECTATIONS)))
    random.shuffle(head)
    start = b"\r\n" * random.choice((1, 2, 3, 9, 20)) if random.random() < 0.02 else b""
    return start + line + b"".join(head) + line_end(random) + data


def mutated(random: Random, data: bytes) -> bytes:
    """Changes octets at one place."""
    if not data:
        return data
    place = random.randrange(len(data))
    kind = random.randrange(8)
    if kind <= 5:
        # Insertions are three times as likely as each of the others.
        edit = max(kind - 2, INSERT)
        return edited(data, place, edit, lambda: random.choice(INSERTED))
    lines = data.split(b"\r\n")
    place = random.randrange(len(lines))
    if kind == 6:
        lines.insert(random.randrange(len(lines) + 1), lines[place])
        return b"\r\n".join(lines)
    return b"\r\n".join(lines[:place]) + b"\n" + b"\r\n".join(lines[place:])


def mutations(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        data = mutated(random, data)
    return data


def request_case(random: Random) -> bytes:
    count = random.choice((1, 1, 1, 2, 2, 3))
    return mutations(random, b"".join(request(random) for _ in range(count)))


def response_case(random: Random) -> bytes:
    version = b"HTTP/1.1"
    if random.random() < 0.12:
        version = random.choice(VERSIONS) if random.random() < 0.4 else b"HTTP/1.0"
    line = (
        version
        + separator(random)
        + odd(random, STATUSES, ODD_STATUSES, 0.3)
        + line_end(random)
    )
    interim = b""
    for _ in range(random.choice((0,) * 16 + (1, 1, 2, 17))):
        interim += b"HTTP/1.1 " + random.choice(INTERIMS) + b"\r\n"
        interim += b"".join(fields(random)) * (random.random() < 0.3) + b"\r\n"
    head, data = framing(random, 0.25)
    head += fields(random)
    if not head or random.random() < 0.1:
        data = content(random)
    random.shuffle(head)
    rest = b"HTTP/1.1 200 OK\r\n\r\n" if random.random() < 0.1 else b""
    method = random.choice((b"G",) * 8 + (b"H", b"C"))
    whole = interim + line + b"".join(head) + line_end(random) + data + rest
    return method + mutations(random, whole)
