"""PROXY headers: accepted and refused ones of both versions, at every cut."""

from flare.bytes.checked import *
from flare.bytes.hash import Crc32c
from flare.net.proxy_header import (
    PROXY_HEADER_LEN_MAX,
    ProxyHeader,
    ProxyHeaderError,
    find_proxy_header,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes

comptime V6 = StaticString("2001:db8::1")


@fieldwise_init
struct _Line(Copyable, Movable):
    """A line of version 1 without CRLF, and whom it announces."""

    var rule: StaticString
    var text: String
    var client: StaticString


@fieldwise_init
struct _Bad(Copyable, Movable):
    """What is no header, and where it stops being one."""

    var rule: StaticString
    var octets: List[UInt8]
    var offset: Int
    var reason: StaticString


def _octets(text: StringSpan) -> List[UInt8]:
    var octets = List[UInt8]()
    octets.extend(text.as_bytes())
    return octets^


def _v2(
    command: UInt8, family: UInt8, rest: Span[UInt8, _], length: Int = -1
) -> List[UInt8]:
    """Makes a header of version 2; the length that it tells may be a lie."""
    var octets = _octets("\r\n\r\n\x00\r\nQUIT\n")
    var told = length if length >= 0 else len(rest)
    octets.append(command)
    octets.append(family)
    octets.append(UInt8(told >> 8))
    octets.append(UInt8(told & 255))
    octets.extend(rest)
    return octets^


def _v4_rest(*fields: UInt8) -> List[UInt8]:
    """Two addresses, two ports, then fields."""
    var rest: List[UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 220, 4, 1, 187]
    for field in fields:
        rest.append(field)
    return rest^


def _v6_rest() -> List[UInt8]:
    var rest = List[UInt8](length=36, fill=0)
    rest.at(0) = 0x20
    rest.at(1) = 0x01
    rest.at(2) = 0x0D
    rest.at(3) = 0xB8
    rest.at(15) = 1
    rest.at(33) = 80
    return rest^


def _summed(slip: UInt32) -> List[UInt8]:
    """A header with a checksum between two fields, wrong by some bits."""
    var octets = _v2(
        0x21, 0x11, _v4_rest(4, 0, 1, 0, 3, 0, 4, 0, 0, 0, 0, 1, 0, 2, 104, 50)
    )
    var checksum = Crc32c()
    checksum.update(octets)
    var value = checksum.value() ^ slip
    for index in range(4):
        octets.at(35 + index) = UInt8((value >> UInt32(24 - 8 * index)) & 255)
    return octets^


def _name(header: ProxyHeader) -> String:
    return String(header.client.value()) if header.client else String("-")


def _check(rule: String, header: List[UInt8], client: String) raises:
    """Takes a header with a request behind it, cut anywhere."""
    var octets = header.copy()
    octets.extend("GET / HTTP/1.1\r\n".as_bytes())
    for cut in range(len(octets) + 1):
        var part = GuardedBytes(octets[0:cut])
        var found = find_proxy_header(part.span())
        if cut < len(header):
            assert_false(found.__bool__(), String(rule, " cut ", cut))
            continue
        assert_true(found.__bool__(), String(rule, " cut ", cut))
        assert_equal(found.value().header_len, len(header), rule)
        assert_equal(_name(found.value()), client, rule)


def test_line_is_accepted() raises:
    var rows: List[_Line] = [
        _Line(
            "2.1 IPv4", "TCP4 192.0.2.1 1.2.3.4 56324 443", "192.0.2.1:56324"
        ),
        _Line("2.1 IPv6", String("TCP6 ", V6, " ::1 1 2"), "[2001:db8::1]:1"),
        _Line("2.1 least", "TCP4 0.0.0.0 0.0.0.0 0 0", "0.0.0.0:0"),
        _Line(
            "2.1 most",
            "TCP4 255.255.255.255 255.255.255.255 65535 65535",
            "255.255.255.255:65535",
        ),
        _Line(
            "2.1 a mapped address is of IPv6",
            "TCP6 ::ffff:1.2.3.4 ::1 1 2",
            "[::ffff:1.2.3.4]:1",
        ),
        _Line("2.1 UNKNOWN alone", "UNKNOWN", "-"),
        _Line("2.1 what follows is ignored", "UNKNOWN ffff::1 x  99999", "-"),
        _Line("2.1 107 octets", String("UNKNOWN ", "f" * 91), "-"),
    ]
    for row in rows:
        _check(
            row.rule, _octets(String("PROXY ", row.text, "\r\n")), row.client
        )


def test_binary_is_accepted() raises:
    _check("2.2 IPv4", _v2(0x21, 0x11, _v4_rest()), "192.0.2.1:56324")
    _check("2.2 datagrams", _v2(0x21, 0x12, _v4_rest()), "192.0.2.1:56324")
    _check("2.2 IPv6", _v2(0x21, 0x21, _v6_rest()), "[2001:db8::1]:80")
    var fields = _v4_rest(2, 0, 1, 97, 0xEE, 0, 0)
    _check("2.2 fields", _v2(0x21, 0x11, fields), "192.0.2.1:56324")
    _check("2.2.3 checksum", _summed(0), "192.0.2.1:56324")
    var none = List[UInt8]()
    _check("2.2 LOCAL", _v2(0x20, 0x00, none), "-")
    _check("2.2 LOCAL ignores all", _v2(0x20, 0x11, _v4_rest(1)), "-")
    _check("2.2 LOCAL ignores the family", _v2(0x20, 0xFF, none), "-")
    _check("2.2 UNSPEC", _v2(0x21, 0x00, _v4_rest()), "-")
    var path = List[UInt8](length=216, fill=47)
    _check("2.2 UNIX", _v2(0x21, 0x31, path), "-")
    var long = List[UInt8](length=PROXY_HEADER_LEN_MAX - 16, fill=0)
    _check("the longest", _v2(0x20, 0x00, long), "-")


def _bad_line(
    rule: StaticString, text: StringSpan, offset: Int, reason: StaticString
) -> _Bad:
    return _Bad(rule, _octets(String("PROXY ", text)), offset, reason)


def test_line_is_refused() raises:
    comptime WORDS = ProxyHeaderError.WORD_COUNT
    comptime ADDRESS = ProxyHeaderError.ADDRESS
    comptime PORT = ProxyHeaderError.PORT
    comptime END = ProxyHeaderError.LINE_END
    comptime SIGNATURE = ProxyHeaderError.NO_SIGNATURE
    comptime PROTOCOL = ProxyHeaderError.PROTOCOL
    _refused(
        [
            _Bad("2 a request", _octets("GET /"), 0, SIGNATURE),
            _Bad("2 TLS", [22, 3, 1], 0, SIGNATURE),
            _Bad("2 case", _octets("Proxy "), 1, SIGNATURE),
            _Bad("2.1 one space", _octets("PROXY\t"), 5, SIGNATURE),
            _bad_line(
                "2.1 protocol", "TCP5 1.1.1.1 1.1.1.1 1 1\r\n", 6, PROTOCOL
            ),
            _bad_line("2.1 protocol missing", "\r\n", 6, PROTOCOL),
            _bad_line("2.1 longer word", "UNKNOWNS\r\n", 6, PROTOCOL),
            _bad_line(
                "2.1 two spaces", " TCP4 1.1.1.1 1.1.1.1 1 1\r\n", 6, PROTOCOL
            ),
            _bad_line(
                "2.1 a port less", "TCP4 1.1.1.1 1.1.1.1 1\r\n", 28, WORDS
            ),
            _bad_line(
                "2.1 a word more", "TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n", 31, WORDS
            ),
            _bad_line(
                "2.1 space at the end",
                "TCP4 1.1.1.1 1.1.1.1 1 1 \r\n",
                31,
                WORDS,
            ),
            _bad_line("2.1 family", "TCP4 ::1 ::1 1 1\r\n", 11, ADDRESS),
            _bad_line("2.1 family", "TCP6 1.1.1.1 ::1 1 1\r\n", 11, ADDRESS),
            _bad_line(
                "2.1 source", "TCP4 1.1.1.256 1.1.1.1 1 1\r\n", 17, ADDRESS
            ),
            _bad_line(
                "2.1 destination", "TCP4 1.1.1.1 1.1.1 1 1\r\n", 24, ADDRESS
            ),
            _bad_line(
                "2.1 name", "TCP4 localhost 1.1.1.1 1 1\r\n", 11, ADDRESS
            ),
            _bad_line("2.1 port", "TCP4 1.1.1.1 1.1.1.1 65536 1\r\n", 27, PORT),
            _bad_line("2.1 zeros", "TCP4 1.1.1.1 1.1.1.1 1 01\r\n", 29, PORT),
            _bad_line("2.1 sign", "TCP4 1.1.1.1 1.1.1.1 +1 1\r\n", 27, PORT),
            _bad_line("2.1 LF alone", "UNKNOWN\n", 13, END),
            _bad_line("2.1 CR alone", "UNKNOWN\rX", 14, END),
            _bad_line(
                "2.1 108 octets",
                String("UNKNOWN ", "f" * 92, "\r\n"),
                107,
                ProxyHeaderError.LINE_LEN,
            ),
        ]
    )


def test_binary_is_refused() raises:
    var none = List[UInt8]()
    var four = List[UInt8](length=4, fill=0)
    comptime FIELD_LEN = ProxyHeaderError.FIELD_LEN
    comptime CHECKSUM_LEN = ProxyHeaderError.CHECKSUM_LEN
    comptime COMMAND = ProxyHeaderError.COMMAND
    comptime ADDRESS_LEN = ProxyHeaderError.ADDRESS_LEN
    var rows: List[_Bad] = [
        _Bad("2.2 version 1", _v2(0x11, 0, none), 12, COMMAND),
        _Bad("2.2 command 2", _v2(0x22, 0, none), 12, COMMAND),
        _Bad("2.2 no room", _v2(0x21, 0x11, four), 14, ADDRESS_LEN),
        _Bad("2.2 no room", _v2(0x21, 0x21, _v4_rest()), 14, ADDRESS_LEN),
        _Bad("2.2 no room", _v2(0x21, 0x31, _v6_rest()), 14, ADDRESS_LEN),
        _Bad(
            "longer than is taken",
            _v2(0x21, 0x11, none, PROXY_HEADER_LEN_MAX - 15),
            14,
            ProxyHeaderError.HEADER_LEN,
        ),
        _Bad(
            "2.2 field head cut", _v2(0x21, 0x11, _v4_rest(1, 0)), 28, FIELD_LEN
        ),
        _Bad(
            "2.2 value cut", _v2(0x21, 0x11, _v4_rest(1, 0, 1)), 28, FIELD_LEN
        ),
        _Bad(
            "2.2 second field",
            _v2(0x21, 0x11, _v4_rest(1, 0, 1, 9, 2, 255, 255)),
            32,
            FIELD_LEN,
        ),
        _Bad(
            "2.2.3 short checksum",
            _v2(0x21, 0x11, _v4_rest(3, 0, 3, 0, 0, 0)),
            28,
            CHECKSUM_LEN,
        ),
        _Bad(
            "2.2.3 two checksums",
            _v2(0x21, 0x11, _v4_rest(3, 0, 4, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0)),
            35,
            CHECKSUM_LEN,
        ),
        _Bad("2.2.3 wrong", _summed(1), 35, ProxyHeaderError.CHECKSUM),
    ]
    for family in [0x01, 0x10, 0x13, 0x20, 0x30, 0x33, 0x41, 0xF1]:
        rows.append(
            _Bad(
                "2.2 family and transport",
                _v2(0x21, UInt8(family), List[UInt8](length=216, fill=0)),
                13,
                ProxyHeaderError.FAMILY,
            )
        )
    _refused(rows)


def _refused(rows: List[_Bad]) raises:
    """Checks that each row is refused, and as soon as never accepted before."""
    for ref row in rows:
        var is_refused = False
        for cut in range(len(row.octets) + 1):
            var part = GuardedBytes(row.octets[0:cut])
            try:
                var found = find_proxy_header(part.span())
                if found or is_refused:
                    raise _changed(row)
            except error:
                is_refused = True
                assert_equal(error.reason, row.reason, row.rule)
                assert_equal(error.offset, row.offset, row.rule)
        assert_true(is_refused, row.rule)


def _changed(row: _Bad) -> ProxyHeaderError:
    return ProxyHeaderError("more octets change the answer", -1)
