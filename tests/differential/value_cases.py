"""Generated JSON texts, cookies, dates and forms."""

from random import Random

from edits import CUT, edited

NUMBERS = [
    *("0", "-0", "1", "-1", "1.5", "1e3", "1E+3", "1e-3", "01", "1.", ".5", "-", "+1", "1e", "1e+", "0x1", "--1", "1e400", "-1e400"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616"),
    *("1e308", "1.7976931348623157e308", "1.7976931348623159e308", "5e-324", "2e-324", "1e-400", "0.1", "123456789012345678901234567890"),
    *("0.30000000000000004", "9007199254740993", "9007199254740993.0", "2.2250738585072011e-308", "1" * 400, "0e999999999", "1e99999999999999999999", "0." + "0" * 400 + "1"),
    *("-0.0", "-0e5", "1_0", "Infinity", "NaN", "-Infinity", "1.0", "100000000000000000000.5", "6.02e23", "١"),
]
STRINGS = [
    *('""', '"a"', '"a b"', '"\\n"', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00"', '"\\ud800\\u0041"', '"\\uD834\\udd1e"'),
    *('"\\x"', '"\\u12"', '"\\u12G4"', '"\t"', '"\x00"', '"\x7f"', '"é"', '"😀"', '"\\/"', '"\\\\"', '"\\""', '"a', "'a'", '"\\u0000"', '"\ufeff"', '"\n"'),
    *('"\\ud800\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00\\ud83d"', '"\\ud83d\\uDE0"', '"\u2028"', '"\\U0041"', '"\\b\\f\\r\\t"', '"' + "x" * 70 + '"', '"\\a"', '"\\ "'),
]
WORDS = ["null", "true", "false", "nul", "True", "NULL", "nulll", "undefined", ""]
SPACES = ["", "", "", "", " ", "\n", "\t", "\r\n", "  ", "\x0b", "\x0c", "\xa0", "\ufeff", "//c\n", "/**/"]
INSERTED = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"0", b"-", b".", b"e", b" ", b"u", b"\x1f", b"\xe2\x82", b"\x80", b"/", b"'"]


def space(random: Random) -> str:
    return random.choice(SPACES) if random.random() < 0.1 else random.choice(("", "", " "))


def json_value(random: Random, depth: int) -> str:
    kind = random.randrange(9 if depth > 0 else 6)
    if kind < 2:
        number = random.choice(NUMBERS) if random.random() < 0.35 else NUMBERS[random.randrange(8)]
        if random.random() < 0.2:
            digits = random.randrange(1, 22)
            number = f"{random.randrange(10**digits)}.{random.randrange(10**digits)}e{random.randrange(-330, 310)}"
        return number
    if kind < 4:
        return random.choice(STRINGS) if random.random() < 0.4 else STRINGS[random.randrange(6)]
    if kind < 6:
        return random.choice(WORDS) if random.random() < 0.1 else WORDS[random.randrange(3)]
    count = random.choice((0, 1, 2, 3))
    if kind == 6:
        parts = [json_value(random, depth - 1) for _ in range(count)]
        comma = random.choice((",", ",", ",,", ""))if random.random() < 0.04 else ","
        return "[" + (space(random) + comma + space(random)).join(parts) + ("," if random.random() < 0.02 else "") + "]"
    pairs = []
    for _ in range(count):
        name = random.choice(('"a"', '"a"', '"b"', '""', '"\\u0061"', "a", "1", '"\\ud800"')) if random.random() < 0.9 else json_value(random, 0)
        pairs.append(name + space(random) + ":" + space(random) + json_value(random, depth - 1))
    return "{" + ",".join(pairs) + ("," if random.random() < 0.02 else "") + "}"


def json_case(random: Random) -> bytes:
    if random.random() < 0.003:
        depth = random.choice((100, 127, 128, 129, 500, 999, 1000, 1001, 5000, 10001))
        return (b"[" * depth + b"]" * depth) if random.random() < 0.8 else b"[" * depth
    text = space(random) + json_value(random, 3) + space(random)
    octets = text.encode("utf-8", "surrogatepass")
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        place = random.randrange(len(octets) + 1)
        kind = random.randrange(CUT + 1)
        octets = edited(octets, place, kind, lambda: random.choice(INSERTED))
    return octets


DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
LONG_DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def date(random: Random) -> str:
    day, month = random.randrange(1, 32), random.choice(MONTHS)
    year = random.choice((1994, 2024, 1970, 1969, 1601, 1600, 2038, 9999, 1900, 2000, 1, 0, 2023, 10000))
    if random.random() < 0.6:
        day, year = random.randrange(1, 29), random.randrange(1970, 2100)
    time = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"
    if random.random() < 0.06:
        time = random.choice(("24:00:00", "23:60:00", "23:59:60", "23:59:61", "1:02:03", "01:2:03", "00:00", "00:00:00.5", "-1:00:00", "00.00.00"))
    if random.random() < 0.04:
        day = random.choice((0, 32, 31, 30, 29))
    if random.random() < 0.03:
        month = random.choice(("jan", "JAN", "January", "Jna", "", "13", "Febr"))
    name = random.randrange(7)
    zone = "GMT" if random.random() < 0.93 else random.choice(("UTC", "gmt", "", "+0000", "EST", "Z", "GMT+1", "PST"))
    kind = random.randrange(3)
    if kind == 0:
        return f"{DAYS[name]}, {day:02} {month} {year:04} {time} {zone}"
    if kind == 1:
        return f"{LONG_DAYS[name]}, {day:02}-{month}-{year % 100:02} {time} {zone}"
    return f"{DAYS[name]} {month} {day:2} {time} {year:04}"


DATE_MARKS = list(" ,-:0123456789GMTa") + ["  ", "Sun", "Nov", "\t", "/"]


def text_mutated(random: Random, text: str, marks: list[str]) -> str:
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        place = random.randrange(len(text) + 1)
        kind = random.randrange(CUT)
        added = random.choice(marks)
        text = edited(text, place, kind, lambda: added)
    return text


def date_case(random: Random) -> bytes:
    return text_mutated(random, date(random), DATE_MARKS).encode()


COOKIE_NAMES = ["a", "sid", "__Host-a", "__Secure-b", "a.b", "x-y", "A", "", " a", "a b", "a(b", '"a"', "a,b", "ü", "$Path", "a\t", "a/b", "a=", "a@b"]
COOKIE_VALUES = ["1", "abc", "", '"q"', '"q', "a b", "a,b", "a=b", "a\\b", 'a"b', "ü", " v", "v ", "%41", "{}", "a:b/c", "!#$%&'()*+-./", '""', '"', "a\tb", '" v "', '"a,b"']
ATTRIBUTES = [
    *("Path=/", "path=/a/b", "Path=", "Path=a", "Path", "Path=/;x", 'Path="/"', "Path=/\x7f", "Domain=example.com", "Domain=.Example.COM", "domain=", "Domain=1.2.3.4"),
    *("Domain=a b", "Domain=..a", "Max-Age=0", "Max-Age=10", "max-age=-1", "Max-Age=1e3", "Max-Age=", "Max-Age=+5", "Max-Age=010", "Max-Age= 7", "Max-Age=99999999999999999999"),
    *("Secure", "secure=1", "HttpOnly", "httponly=", "SameSite=Lax", "samesite=strict", "SameSite=None", "SameSite=x", "SameSite", "Partitioned", "partitioned=x", "Unknown=1", "", " "),
    *("Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Expires=x", "Expires=", "Secure ", " Path = /b ", "Path=/a;Path=/c", "Domain=xn--bcher-kva.example", "Domain=-a.b", "Path=/ü", 'Domain="h"'),
]
COOKIE_MARKS = list(';=," \t\\aA1') + ["; ", "\x7f", "\x01", "ü"]


def set_cookie_case(random: Random) -> bytes:
    def name() -> str:
        return random.choice(COOKIE_NAMES if random.random() < 0.3 else COOKIE_NAMES[:7])

    def value() -> str:
        return random.choice(COOKIE_VALUES if random.random() < 0.5 else COOKIE_VALUES[:3])

    text = name() + ("=" if random.random() < 0.98 else "") + value()
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        attribute = random.choice(ATTRIBUTES)
        if random.random() < 0.15:
            attribute = "Expires=" + text_mutated(random, date(random), DATE_MARKS)
            if random.random() < 0.3:
                attribute = attribute.replace(" ", "-", 3).replace("-", " ", 1)
        text += random.choice(("; ", "; ", ";", " ; ")) + attribute
    return text_mutated(random, text, COOKIE_MARKS).encode()


def cookie_case(random: Random) -> bytes:
    pairs = []
    for _ in range(random.choice((1, 1, 2, 3))):
        name = random.choice(COOKIE_NAMES if random.random() < 0.1 else COOKIE_NAMES[:7])
        value = random.choice(COOKIE_VALUES if random.random() < 0.15 else COOKIE_VALUES[:3])
        pairs.append(name + ("=" if random.random() < 0.97 else "") + value)
    between = random.choice(("; ", "; ", "; ", ";", " ; ", ", ", ";;"))
    return text_mutated(random, between.join(pairs), COOKIE_MARKS).encode()


DISPOSITIONS = [
    *('form-data; name="a"', 'form-data; name="f"; filename="x.txt"', "form-data; name=a", "form-data", 'form-data; name=""', 'form-data; name="a"; filename=""'),
    *('form-data; name="a;b"', 'form-data; name="a\\"b"', 'form-data; name="a', "attachment", 'Form-Data; Name="a"', 'form-data;name="a"', 'form-data; name="a"; name="b"'),
    *('form-data; name="f"; filename="a/b.txt"', 'form-data; name="f"; filename="..\\\\x"', "form-data; filename*=UTF-8''x; name=f", 'form-data; name="ü"', 'form-data; name="a%22b"'),
    *('form-data; name="f"; filename="/"', 'form-data; name="f"; filename=".."', 'form-data; name="a\tb"', 'form-data; name = "a"', "form-data; name='a'", 'file; name="a"', 'form-data; name="a";', 'form-data; x; name="a"', 'form-data name="a"'),
]
ENCODINGS = ["base64", "quoted-printable", "7bit", "8bit", "binary", "BASE64", "x"]
CONTENTS = [b"1", b"", b"hello", b"\r\n", b"a\r\nb", b"\r\n--", b"--b", b"-b--", b"\r\n--bx", b"\n--b", b"aGVsbG8=", b"a=3Db", b"a=\r\nb", b"\x00\xff", b"\r", b"x" * 100, b"\r\n-", b"=zz", b"\r\n--b-"]
FORM_MARKS = [b"\r\n", b"\n", b"\r", b"--", b"-", b"--b", b"\r\n--b", b" ", b"\t", b":", b";", b'"', b"b", b"\x00", b"=", b"\\"]


def part(random: Random) -> bytes:
    plain = random.random() < 0.7
    lines = ["Content-Disposition: " + (DISPOSITIONS[random.randrange(2)] if plain else random.choice(DISPOSITIONS))]
    if random.random() < 0.2:
        lines.append(random.choice(("Content-Type: text/plain", "Content-Type: x", "X: y", "Content-Type:", "X : y", " fold", "nocolon", "X:\ty", ": x")))
    if random.random() < 0.08:
        lines.append("Content-Transfer-Encoding: " + random.choice(ENCODINGS))
    if random.random() < 0.02:
        lines.pop(0)
    random.shuffle(lines)
    end = b"\n" if random.random() < 0.01 else b"\r\n"
    head = b"".join(line.encode() + end for line in lines)
    data = CONTENTS[random.randrange(3)] if random.random() < 0.5 else random.choice(CONTENTS)
    return head + end + data


def multipart_case(random: Random) -> bytes:
    out = []
    if random.random() < 0.05:
        out.append(random.choice((b"\r\n", b"preamble\r\n", b"\n", b" ", b"--", b"--bx\r\n")))
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        line = b"--b" + (random.choice((b" ", b"\t", b"  ", b"x", b"-")) if random.random() < 0.03 else b"")
        out.append(line + (b"\n" if random.random() < 0.01 else b"\r\n") + part(random) + b"\r\n")
    out.append(random.choice((b"--b--", b"--b--\r\n", b"--b--\r\n", b"--b-- \r\n", b"--b--x", b"--b--\r\nepilogue", b"--b", b"--b--\n")) if random.random() < 0.5 else b"--b--\r\n")
    octets = b"".join(out)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        place = random.randrange(len(octets) + 1)
        kind = random.randrange(CUT + 1)
        mark = random.choice(FORM_MARKS)
        octets = edited(octets, place, kind, lambda: mark)
    return octets
