"""The host of a URL: a domain, an IP address in any of its spellings, or opaque."""

from flare.bytes.ascii import ascii_lower, hex_digit_value
from flare.bytes.checked import *
from flare.url.idna import domain_to_ascii
from flare.url.percent import (
    CONTROL_SET,
    PERCENT,
    EncodeSet,
    percent_decode_lenient,
    percent_encode,
)
from flare.url.parts import UrlParseError, url_error
from flare.net.ip import IpAddr, write_v6_groups

comptime HOST_LEN_MAX = 1024
"""Longest host accepted, in bytes, as written and in its normal form.

DNS names have at most 253 (RFC 1035 section 2.3.4); percent-encoding triples
that. Encoding as Punycode takes time that grows with the square of the length.
"""

comptime _FORBIDDEN = EncodeSet(" #/:<>?@[\\]^|")
# Forbidden host code points (URL Standard section 3.1). As an EncodeSet it
# also holds all controls and non-ASCII, which are forbidden in domains alone.
comptime _DOT: UInt8 = 46


@fieldwise_init
struct _OctetWriter(Movable, Writer):

    var octets: List[UInt8]

    def write_string(mut self, string: StringSpan):
        self.octets.extend(string.as_bytes())


def parse_host(
    text: Span[UInt8, _],
    start: Int,
    end: Int,
    is_special: Bool,
    mut out: List[UInt8],
) raises UrlParseError:
    """Reads a host and appends its serialised form in ASCII; a special scheme's
    hosts are domains. The error's offset lies in `text`.

    Source: URL Standard sections 3.5 (host parser) and 3.6.
    """
    comptime LENGTH = StaticString("the host is too long")
    if end - start > HOST_LEN_MAX:
        raise url_error(text, start, LENGTH)
    if end > start and text.at(start) == 91:
        return _parse_bracketed(text, start, end, out)
    var here = len(out)
    if is_special:
        _parse_domain(text, start, end, out)
    else:
        _parse_opaque(text, start, end, out)
    # Encoding makes it longer; the normal form has to parse again.
    if len(out) - here > HOST_LEN_MAX:
        raise url_error(text, start, LENGTH)


def _parse_domain(
    text: Span[UInt8, _], start: Int, end: Int, mut out: List[UInt8]
) raises UrlParseError:
    """Reads a domain, which may be an IPv4 address in disguise."""
    var here = len(out)
    percent_decode_lenient(text.between(start, end), out)
    var needs_mapping = False
    for index in range(here, len(out)):
        out.at(index) = ascii_lower(out.at(index))
        needs_mapping = needs_mapping or out.at(index) >= 128
    if needs_mapping or _has_encoded_label(Span(out).after(here)):
        var mapped: List[UInt8]
        try:
            mapped = domain_to_ascii(Span(out).after(here))
        except error:
            raise url_error(text, start, error.reason)
        out.shrink(here)
        out.extend(Span(mapped))
    if len(out) == here:
        raise url_error(text, start, "the host is empty")
    for octet in Span(out).after(here):
        if octet == PERCENT or _FORBIDDEN.contains(octet):
            raise url_error(text, start, "a host may not have such an octet")
    if _ends_in_number(Span(out).after(here)):
        _normalize_v4(text, start, here, out)


def _has_encoded_label(host: Span[UInt8, _]) -> Bool:
    """Tells whether a label starts with `xn--`."""
    for index in range(len(host) - 3):
        if index == 0 or host.at(index - 1) == _DOT:
            if (
                host.at(index) == 120
                and host.at(index + 1) == 110
                and host.at(index + 2) == 45
                and host.at(index + 3) == 45
            ):
                return True
    return False


def _parse_bracketed(
    text: Span[UInt8, _], start: Int, end: Int, mut out: List[UInt8]
) raises UrlParseError:
    if text.at(end - 1) != 93:
        raise url_error(text, start, "']' is missing behind the IPv6 address")
    try:
        var ip = IpAddr.parse(text.between(start + 1, end - 1))
        if ip.is_v6():
            var writer = _OctetWriter(List[UInt8](capacity=41))
            writer.write("[")
            write_v6_groups(ip.bits_high(), ip.bits_low(), writer)
            writer.write("]")
            out.extend(Span(writer.octets))
            return
    except error:
        raise url_error(text, start + 1 + error.offset, error.reason)
    raise url_error(text, start + 1, "only IPv6 addresses have brackets")


def _parse_opaque(
    text: Span[UInt8, _], start: Int, end: Int, mut out: List[UInt8]
) raises UrlParseError:
    for index in range(start, end):
        var octet = text.at(index)
        var is_plain = octet == 0 or (octet >= 32 and octet < 127)
        if is_plain and _FORBIDDEN.contains(octet):
            raise url_error(text, index, "a host may not have such an octet")
    percent_encode[CONTROL_SET](text.between(start, end), out)


def _last_label(host: Span[UInt8, _]) -> Tuple[Int, Int]:
    """Finds the last label, without the dot that may end the host."""
    var end = len(host)
    if end > 0 and host.at(end - 1) == _DOT:
        end -= 1
    var start = end
    while start > 0 and host.at(start - 1) != _DOT:
        start -= 1
    return (start, end)


def _ends_in_number(host: Span[UInt8, _]) -> Bool:
    """Tells whether a domain has to be an IPv4 address.

    Source: URL Standard section 3.5 (ends in a number checker).
    """
    var last = _last_label(host)
    if last[0] == last[1]:
        return False
    var is_decimal = True
    for index in range(last[0], last[1]):
        is_decimal = (
            is_decimal and host.at(index) >= 48 and host.at(index) <= 57
        )
    return is_decimal or _parse_number(host, last[0], last[1]) >= 0


def _normalize_v4(
    text: Span[UInt8, _], start: Int, here: Int, mut out: List[UInt8]
) raises UrlParseError:
    """Reads one to four numbers in three notations, which stand in `out` from
    `here` on, and puts the address in their place.

    Source: URL Standard section 3.5 (IPv4 parser).
    """
    var host = Span(out).after(here)
    var stop = len(host)
    if host.at(stop - 1) == _DOT:
        stop -= 1
    var bits = 0
    var count = 0
    var begin = 0
    var is_normal = stop == len(host)
    while True:
        var end = begin
        while end < stop and host.at(end) != _DOT:
            end += 1
        var number = _parse_number(host, begin, end)
        if number < 0 or count == 4:
            raise url_error(text, start, "the host ends as IPv4 but is not")
        # Octal and hex numbers begin with 0, too.
        is_normal = is_normal and (end - begin == 1 or host.at(begin) != 48)
        if end == stop:
            var room = 8 * (4 - count)
            if number >= 1 << room:
                raise url_error(text, start, "an IPv4 number is too large")
            bits = bits << room | number
            break
        if number > 255:
            raise url_error(text, start, "an IPv4 number is too large")
        bits = bits << 8 | number
        count += 1
        begin = end + 1
    if is_normal and count == 3:
        return
    var writer = _OctetWriter(List[UInt8](capacity=15))
    writer.write(IpAddr(0, UInt64(bits), True))
    out.shrink(here)
    out.extend(Span(writer.octets))


def _parse_number(host: Span[UInt8, _], start: Int, end: Int) -> Int:
    """Reads a decimal, octal or hex number; -1 if it is none.

    Source: URL Standard section 3.5 (IPv4 number parser). What exceeds 32 bits
    is held at 2^32, which is too large in any place.
    """
    if start == end:
        return -1
    var radix = 10
    var index = start
    if end - start >= 2 and host.at(start) == 48:
        radix = 8
        index += 1
        if host.at(index) | 0x20 == 120:
            radix = 16
            index += 1
    var number = 0
    while index < end:
        var digit = hex_digit_value(host.at(index))
        if digit < 0 or digit >= radix:
            return -1
        number = min(number * radix + digit, 1 << 32)
        index += 1
    return number
