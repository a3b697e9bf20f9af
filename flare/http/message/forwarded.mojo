"""Which proxies a request has passed, as they tell it."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.octet_class import TCHAR
from flare.http.message.list_elements import ListElements
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr

comptime HOP_COUNT_MAX = 32
"""Most proxies of one request that are looked at.

The RFC sets no limit; five are many.
"""

comptime _COMMA: UInt8 = 44
comptime _SEMICOLON: UInt8 = 59
comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct Hop(Copyable, Movable):
    """What one proxy tells of the one that it got the request from."""

    var address: Optional[SocketAddr]
    """Where the request came from; port 0 if it is not told. Nothing for an
    unknown, hidden or malformed node."""
    var proto: String
    """The scheme that it came by, in lower case; empty if it is not told."""
    var host: String
    """The Host that it asked for; empty if it is not told."""


def parse_forwarded(value: Span[UInt8, _]) -> Optional[List[Hop]]:
    """Reads a Forwarded field (RFC 7239 section 4).

    Args:
        value: The field's value; several lines joined by commas.

    Returns:
        The hops, the nearest proxy's last; nothing if the field breaks the
        grammar or has more than `HOP_COUNT_MAX` elements.
    """
    var hops = List[Hop]()
    var octets = value.as_imm()
    var offset = 0
    while True:
        var hop = Hop(None, String(), String())
        var is_empty = True
        while True:
            offset = _skip_spaces(octets, offset)
            var name_start = offset
            while offset < len(octets) and materialize[TCHAR]().contains(
                octets[offset]
            ):
                offset += 1
            var name = octets[name_start:offset]
            if len(name) > 0:
                if offset == len(octets) or octets[offset] != 61:
                    return None
                var text = List[UInt8]()
                offset = _read_value(octets, offset + 1, text)
                if offset < 0 or not _note(hop, name, text):
                    return None
                is_empty = False
            offset = _skip_spaces(octets, offset)
            if offset == len(octets) or octets[offset] != _SEMICOLON:
                break
            offset += 1
        if not is_empty:
            if len(hops) == HOP_COUNT_MAX:
                return None
            hops.append(hop^)
        if offset == len(octets):
            return hops^
        if octets[offset] != _COMMA:
            return None
        offset += 1


def parse_forwarded_for(value: Span[UInt8, _]) -> Optional[List[Hop]]:
    """Reads an X-Forwarded-For field, which no RFC defines.

    Args:
        value: The field's value; several lines joined by commas.

    Returns:
        The hops, the nearest proxy's last; nothing if there are more than
        `HOP_COUNT_MAX`. Elements that are no address have none.
    """
    var hops = List[Hop]()
    for element in ListElements(value.as_imm()):
        if len(element) == 0:
            continue
        if len(hops) == HOP_COUNT_MAX:
            return None
        hops.append(Hop(parse_node(element), String(), String()))
    return hops^


def parse_node(node: Span[UInt8, _]) -> Optional[SocketAddr]:
    """Reads the address of a node.

    Source: RFC 7239 section 6. An IPv6 address without brackets, as some
    proxies write it, is taken too, then without a port.

    Args:
        node: Such as `192.0.2.60`, `192.0.2.60:47011` or `[2001:db8::1]:80`.

    Returns:
        The address, port 0 if there is none; nothing for `unknown`, a hidden
        name (`_gazonk`), and what is malformed.
    """
    try:
        if len(node) > 0 and node[0] == 91:
            var end = 0
            while end < len(node) and node[end] != 93:
                end += 1
            if end == len(node):
                return None
            var ip = IpAddr.parse(node[1:end])
            if ip.is_v4():
                return None
            return _with_port(ip, node[end + 1 :])
        var colon_count = 0
        var colon = len(node)
        for index in range(len(node)):
            if node[index] == 58:
                colon_count += 1
                colon = index
        if colon_count > 1:
            return SocketAddr(IpAddr.parse(node), 0)
        return _with_port(IpAddr.parse(node[:colon]), node[colon:])
    except:
        return None


def _with_port(ip: IpAddr, text: Span[UInt8, _]) -> Optional[SocketAddr]:
    """Reads nothing, `:port`, or `:_hidden`, which is as good as nothing."""
    if len(text) == 0:
        return SocketAddr(ip, 0)
    if text[0] != 58 or len(text) < 2 or len(text) > 6:
        return None
    if text[1] == 95:
        return SocketAddr(ip, 0)
    var port = 0
    for octet in text[1:]:
        if octet < 48 or octet > 57:
            return None
        port = port * 10 + Int(octet) - 48
    if port > 65_535:
        return None
    return SocketAddr(ip, UInt16(port))


def _note(mut hop: Hop, name: Span[UInt8, _], text: List[UInt8]) -> Bool:
    """Keeps a parameter that matters; False if it stands twice."""
    if equals_ignore_case(name, "for".as_bytes()):
        if hop.address:
            return False
        hop.address = parse_node(text)
    elif equals_ignore_case(name, "proto".as_bytes()):
        if hop.proto.byte_length() > 0:
            return False
        hop.proto = _text(text).lower()
    elif equals_ignore_case(name, "host".as_bytes()):
        if hop.host.byte_length() > 0:
            return False
        hop.host = _text(text)
    return True


def _text(octets: List[UInt8]) -> String:
    """Makes text of octets, unless there is one that no field of ours may
    have."""
    for octet in octets:
        if octet < 32 or octet > 126:
            return String()
    return String(unsafe_from_utf8=octets)


def _skip_spaces(octets: Span[UInt8, _], start: Int) -> Int:
    var offset = start
    while offset < len(octets) and (
        octets[offset] == 32 or octets[offset] == 9
    ):
        offset += 1
    return offset


def _read_value(
    octets: Span[UInt8, _], start: Int, mut text: List[UInt8]
) -> Int:
    """Reads a token or a quoted string; gives where it ends, or -1.

    Proxies write addresses with colons and brackets without the quotes that the
    RFC asks for, so whatever is visible and no delimiter is taken as a token.
    """
    var offset = start
    if offset < len(octets) and octets[offset] == _QUOTE:
        offset += 1
        while offset < len(octets) and octets[offset] != _QUOTE:
            if octets[offset] == _BACKSLASH:
                offset += 1
                if offset == len(octets):
                    return -1
            text.append(octets[offset])
            offset += 1
        return offset + 1 if offset < len(octets) else -1
    while offset < len(octets):
        var octet = octets[offset]
        if octet <= 32 or octet == 127 or octet == _QUOTE:
            break
        if octet == _COMMA or octet == _SEMICOLON or octet == 61:
            break
        text.append(octet)
        offset += 1
    return offset if offset > start else -1
