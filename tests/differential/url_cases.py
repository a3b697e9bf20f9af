"""Generated URLs: a base, a NUL, and a reference."""

from random import Random

from edits import CUT, edited

SCHEMES = ["http", "https", "HTTP", "ftp", "ws", "wss", "file", "x", "mailto", "data", "javascript", "h+t", "1x", "x-y", "blob"]
HOSTS = [
    *("h", "example.com", "EXAMPLE.com", "a.b.c", "127.0.0.1", "0x7f.1", "256.1.1.1", "1.2.3", "0x", "1", "017700000001"),
    *("[::1]", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "[::1", "[1::2::3]", "[v1.x]", "[::1%25eth0]", "[:::]", "[::1.2.3]"),
    *("a b", "a%41", "a%00", "a%zz", "%e2%98%83", "☃.net", "ü.de", "xn--n3h", "xn--", "xn--a", "a_b", "-a-", "a..b", ".a", "a.", "..", ""),
    *("a<b", "a^b", "a|b", "a\\b", "a#b", "a?b", "a/b", "ＧＯ.com", "a\u00adb", "a\u200db", "faß.de", "a。b", "*", "1.2.3.4.5", "4294967296", "0x100000000", "1.2.3.08", "1.2.3.09x"),
    *("localhost", "LOCALHOST", "a@b", "a:b", "%", "%25", "a\tb", "a\nb", "٣.com", "\u0660", "א.com", "xn--4dbcagdahymbxekheh6e0a7fei0b.com"),
]
PATHS = [
    *("/", "", "/a/b", "/a/../b", "/./a", "/a/.", "/a/..", "/..", "/%2e", "/%2E%2e/a", "/.%2e", "/a b", "/ü", "/a\\b", "\\a", "//", "//a", "/a//b"),
    *("/%zz", "/%", "/a|b", "/a^b", "/a`b", "/a{b}", '/a"b', "/<a>", "/C:/a", "/C|/a", "/c:", "C|/a", "/a;b=c", "/\u0000", "/\x7f", "/😀", "/\ud7ff", "/a\tb", "/.../a", "/.a", "/a./b", "/'", "/~", "/!$&()*+,=:@"),
]
QUERIES = ["", "", "", "?", "?a=b", "?a b", "?'", '?"', "?<>", "?ü", "?#", "?a?b", "?%zz", "?`{}|^", "?\\", "?a\tb", "?😀"]
FRAGMENTS = ["", "", "", "#", "#a", "#a b", "#`", "#ü", '#"<>', "#{}", "#a#b", "#\x00", "#%zz", "#a\nb"]
PORTS = ["", "", "", ":", ":80", ":443", ":8080", ":0", ":65535", ":65536", ":00080", ":8a", ":-1", ":+1", ": 80", ":80:80", ":٣"]
USERS = ["", "", "", "", "u@", "u:p@", ":p@", "u:@", "@", "@@", "u@v@", "a b@", "ü@", "%41@", "u:p:q@", "u;'|@", "[@", "u/p@", "u\\p@"]
BASES = [
    *("", "", "", "http://h/a/b?c#d", "https://example.com", "file:///C:/a/b", "file://h/a", "x:/a/b", "x:a", "x://h/a", "mailto:a@b", "ftp://u:p@h:21/x/y"),
    *("data:text,a", "http://h", "ws://h:80/", "x:", "x:/..//a", "blob:http://h/a", "file:///", "about:blank"),
]
SLASHES = ["//", "//", "//", "//", "//", "/", "", "///", "\\\\", "/\\", "////", "\t//", "/\n/"]
INSERTED = [*"/\\?#:@[]%. \t\n\r\x00\x1f\x7f<>\"`{}|^'&=;,+-0aA", "..", "%2e", "//", "%", "ü", "\u00ad", "\u200d", "。", "😀", "\ufeff", "\ufdd0", "\U0010ffff", "\u0301", "%C3%A9", "%ff", "xn--"]


def url(random: Random) -> str:
    kind = random.random()
    tail = random.choice(PATHS) + random.choice(QUERIES) + random.choice(FRAGMENTS)
    if kind < 0.25:
        return tail
    authority = random.choice(USERS) + random.choice(HOSTS) + random.choice(PORTS)
    if kind < 0.32:
        return random.choice(SLASHES) + authority + tail
    scheme = "http" if random.random() < 0.5 else random.choice(SCHEMES)
    return scheme + ":" + random.choice(SLASHES) + authority + tail


def code_point(random: Random) -> str:
    """A character of any plane, most of them from where host names are mapped."""
    top = random.choice((0x80, 0x800, 0x3000, 0xFFFF, 0x1FFFF, 0x10FFFF))
    number = random.randrange(1, top)
    return chr(number) if not 0xD800 <= number < 0xE000 else "a"


def mutated(random: Random, text: str) -> str:
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        place = random.randrange(len(text) + 1)
        added = code_point(random) if random.random() < 0.1 else random.choice(INSERTED)
        text = edited(text, place, random.randrange(CUT), lambda: added)
    return text


def url_case(random: Random) -> bytes:
    base = random.choice(BASES)
    if base and random.random() < 0.1:
        base = mutated(random, base)
    text = mutated(random, url(random))
    return base.replace("\0", "").encode() + b"\0" + text.encode()
