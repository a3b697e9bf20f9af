"""The Forwarded field and its forerunners (RFC 7239): hops, and the origin a client asked for."""

from flare.bytes.ascii import (
    find_octet,
    equals_ignore_case,
    skip_whitespace,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.digits import read_digits
from flare.bytes.scan import OctetClass, TCHAR
from flare.http.message.request import Request
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr

# Of an obfuscated name (RFC 7239 section 6.3).
comptime _HIDDEN_NAME = OctetClass(
    "-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

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


struct HopsFromNearest[o: ImmOrigin](Copyable, Iterator, Movable):
    """Goes through the hops of one field line, from the last to the first.

    The last element is the nearest proxy's, and the further to the left one
    stands, the more of those who could have made it up. So elements are cut off
    from the right, and each is read by itself: nothing that stands before an
    element changes what it is, be it thousands of elements, or a quote that is
    left open. Elements that are empty are passed over (RFC 9110 section
    5.6.1.2).

    Parameters:
        o: Where the octets live.
    """

    comptime Element = Hop
    """One hop; without an address if the element is malformed."""

    # What is not read yet; the comma that parts it from the rest is gone.
    var _octets: Span[UInt8, Self.o]
    var _is_forwarded: Bool
    var _is_done: Bool

    def __init__(out self, value: Span[UInt8, Self.o], *, is_forwarded: Bool):
        """Starts after the last element of one field line: of Forwarded (RFC
        7239 section 4), or of X-Forwarded-For, whose elements are addresses
        alone."""
        self._octets = value
        self._is_forwarded = is_forwarded
        self._is_done = False

    def __iter__(self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Hop:
        """Takes the last element that is left."""
        while not self._is_done:
            var start = _last_element(self._octets, self._is_forwarded)
            var element = trim_whitespace(self._octets.after(start))
            self._is_done = start == 0
            self._octets = self._octets.before(max(start - 1, 0))
            if len(element) == 0:
                continue
            if self._is_forwarded:
                return parse_forwarded_element(element)
            return Hop(parse_node(element), String(), String())
        raise StopIteration()


def parse_forwarded_element(element: Span[UInt8, _]) -> Hop:
    """Reads one element of a Forwarded field, without the commas around it.

    Source: RFC 7239 section 4; whatever is visible and no delimiter is taken
    for a value without quotes. Nothing is told by one that breaks the grammar
    or names a parameter twice.
    """
    var hop = Hop(None, String(), String())
    var octets = element.as_imm()
    var seen = _Seen(False, False, False)
    var offset = 0
    while True:
        offset = skip_whitespace(octets, offset)
        var name_start = offset
        while offset < len(octets) and materialize[TCHAR]().contains(
            octets.at(offset)
        ):
            offset += 1
        var name = octets.between(name_start, offset)
        if len(name) > 0:
            if offset == len(octets) or octets.at(offset) != 61:
                break
            var text = List[UInt8]()
            offset = _read_value(octets, offset + 1, text)
            if offset < 0 or not _note(hop, seen, name, text):
                break
        offset = skip_whitespace(octets, offset)
        if offset == len(octets):
            return hop^
        if octets.at(offset) != _SEMICOLON:
            break
        offset += 1
    return Hop(None, String(), String())


def parse_node(node: Span[UInt8, _]) -> Optional[SocketAddr]:
    """Reads the address of a node, such as `192.0.2.60`, `192.0.2.60:47011` or
    `[2001:db8::1]:80`; port 0 if there is none, the IPv4 address for a mapped
    one. Nothing for `unknown`, a hidden name (`_gazonk`), and what is
    malformed.

    Source: RFC 7239 section 6. An IPv6 address without brackets, as some
    proxies write it, is taken too, then without a port.
    """
    try:
        if len(node) > 0 and node.at(0) == 91:
            var end = find_octet(node, 93)
            if end == len(node):
                return None
            var ip = IpAddr.parse(node.between(1, end))
            if ip.is_v4():
                return None
            return _with_port(ip, node.after(end + 1))
        var colon_count = 0
        var colon = len(node)
        for index in range(len(node)):
            if node.at(index) == 58:
                colon_count += 1
                colon = index
        if colon_count > 1:
            return SocketAddr(IpAddr.parse(node).without_mapping(), 0)
        return _with_port(IpAddr.parse(node.before(colon)), node.after(colon))
    except:
        return None


def _is_hidden(name: Span[UInt8, _]) -> Bool:
    """Tells whether a name is an obfuscated one (RFC 7239 section 6.3)."""
    if len(name) < 2 or name.at(0) != 95:
        return False
    for octet in name.after(1):
        if not materialize[_HIDDEN_NAME]().contains(octet):
            return False
    return True


def _with_port(of: IpAddr, text: Span[UInt8, _]) -> Optional[SocketAddr]:
    """Reads nothing, `:port`, or `:_hidden`, which is as good as nothing."""
    var ip = of.without_mapping()
    if len(text) == 0:
        return SocketAddr(ip, 0)
    if text.at(0) != 58 or len(text) < 2:
        return None
    if text.at(1) == 95:
        return SocketAddr(ip, 0) if _is_hidden(text.after(1)) else None
    var port = read_digits(text.after(1), 5)
    if port < 0 or port > 65_535:
        return None
    return SocketAddr(ip, UInt16(port))


@fieldwise_init
struct _Seen(TrivialRegisterPassable):
    """Which parameters an element has had."""

    var address: Bool
    var proto: Bool
    var host: Bool


def _note(
    mut hop: Hop, mut seen: _Seen, name: Span[UInt8, _], text: List[UInt8]
) -> Bool:
    """Keeps a parameter that matters; False if it stands twice, also where the
    first one told nothing."""
    if equals_ignore_case(name, "for".as_bytes()):
        if seen.address:
            return False
        seen.address = True
        hop.address = parse_node(text)
    elif equals_ignore_case(name, "proto".as_bytes()):
        if seen.proto:
            return False
        seen.proto = True
        hop.proto = _text(text).lower()
    elif equals_ignore_case(name, "host".as_bytes()):
        if seen.host:
            return False
        seen.host = True
        hop.host = _text(text)
    return True


def _last_element(octets: Span[UInt8, _], has_quotes: Bool) -> Int:
    """Finds where the last element of a list begins, from its end.

    Read backwards, a quote ends a quoted string, which goes on to the nearest
    quote before it that no backslash makes a part of it (RFC 9110 section
    5.6.4). For a well-formed element that is what a reader from the left finds,
    and what stands in front of it has no say.
    """
    var offset = len(octets)
    var is_quoted = False
    while offset > 0:
        var octet = octets.at(offset - 1)
        if octet == _QUOTE and has_quotes:
            if not is_quoted or not _is_escaped(octets, offset - 1):
                is_quoted = not is_quoted
        elif octet == _COMMA and not is_quoted:
            return offset
        offset -= 1
    return 0


def _is_escaped(octets: Span[UInt8, _], offset: Int) -> Bool:
    """Tells whether an odd number of backslashes stands before an octet."""
    var start = offset
    while start > 0 and octets.at(start - 1) == _BACKSLASH:
        start -= 1
    return (offset - start) % 2 == 1


def _text(octets: List[UInt8]) -> String:
    """Makes text of octets, unless there is one that no field of ours may
    have."""
    for octet in octets:
        if octet < 32 or octet > 126:
            return String()
    return text_of(octets)


def _read_value(
    octets: Span[UInt8, _], start: Int, mut text: List[UInt8]
) -> Int:
    """Reads a token or a quoted string; gives where it ends, or -1.

    Proxies write addresses with colons and brackets without the quotes that the
    RFC asks for, so whatever is visible and no delimiter is taken as a token.
    """
    var offset = start
    if offset < len(octets) and octets.at(offset) == _QUOTE:
        offset += 1
        while offset < len(octets) and octets.at(offset) != _QUOTE:
            if octets.at(offset) == _BACKSLASH:
                offset += 1
                if offset == len(octets):
                    return -1
            text.append(octets.at(offset))
            offset += 1
        return offset + 1 if offset < len(octets) else -1
    while offset < len(octets):
        var octet = octets.at(offset)
        if octet <= 32 or octet == 127 or octet == _QUOTE:
            break
        if octet == _COMMA or octet == _SEMICOLON or octet == 61:
            break
        text.append(octet)
        offset += 1
    return offset if offset > start else -1


@fieldwise_init
struct Origin(Copyable, Movable):
    """How a client has reached the first trusted proxy."""

    var proto: String
    """The scheme, in lower case; empty if it is not told."""
    var host: String
    """The host that it asked for; empty if it is not told."""


def forwarded_proto(req: Request) -> String:
    """Tells by which scheme the client has asked a trusted proxy, such as
    `https`; empty if none tells.

    Args:
        req: The request that is being handled.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.extension[Origin]()
    return found.held()[].proto if found else String()


def forwarded_host(req: Request) -> String:
    """Tells which host the client has asked a trusted proxy for; empty if none
    tells.

    Args:
        req: The request that is being handled.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.extension[Origin]()
    return found.held()[].host if found else String()
