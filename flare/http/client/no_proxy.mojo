"""Hosts that are reached without a proxy."""

from flare.bytes.ascii import equals_ignore_case
from flare.net.ip import IpAddr
from flare.net.ip_network import IpNetwork


@fieldwise_init
struct _Entry(Copyable, Movable):
    var name: String
    var port: Int
    """0 for any."""
    var network: Optional[IpNetwork]


struct NoProxy(Copyable, Defaultable, Movable):
    """A list of exceptions, as the NO_PROXY variable has them.

    Its elements are separated by commas. `*` stands for all hosts; an IP
    address or a network such as `10.0.0.0/8` for addresses; a name such as
    `example.com` or `.example.com` for that host and all below it. A port
    behind it (`example.com:8080`) makes it match that port alone. Names are
    not looked up.
    """

    var _entries: List[_Entry]
    var _is_all: Bool

    def __init__(out self):
        """Makes an empty list."""
        self._entries = []
        self._is_all = False

    @implicit
    def __init__(out self, text: StringSpan):
        """Reads a list; what is no element is passed over.

        Args:
            text: The list.
        """
        self = Self()
        for part in text.split(","):
            var element = part.strip()
            if element == "*":
                self._is_all = True
            elif element.byte_length() > 0:
                self._entries.append(_entry(element))

    @implicit
    def __init__(out self, text: StringLiteral):
        """Reads a literal list.

        Args:
            text: The list.
        """
        self = Self(StringSpan(text))

    def covers(self, host: StringSpan, port: UInt16) -> Bool:
        """Tells whether a host is an exception.

        Args:
            host: A name, or an address without brackets.
            port: The port.

        Returns:
            True if it is to be reached without a proxy.
        """
        if self._is_all:
            return True
        var ip = _ip(host)
        var name = host.removesuffix(".")
        for ref entry in self._entries:
            if entry.port != 0 and entry.port != Int(port):
                continue
            if entry.network:
                if ip and entry.network.value().contains(ip.value()):
                    return True
            elif not ip and _is_at_or_below(name, entry.name):
                return True
        return False


def _entry(element: StringSpan) -> _Entry:
    try:
        return _Entry(String(), 0, IpNetwork.parse(element))
    except:
        pass
    var bare = element
    if element.startswith("[") and element.endswith("]"):
        bare = element.removeprefix("[").removesuffix("]")
    var network = _host_network(bare)
    if network:
        return _Entry(String(), 0, network^)
    var colon = element.rfind(":")
    if colon < 0:
        return _Entry(String(_name(element)), 0, None)
    var port = _port(element[byte = colon + 1 :])
    var host = element[byte=:colon]
    if host.startswith("[") and host.endswith("]"):
        host = host.removeprefix("[").removesuffix("]")
    return _Entry(String(_name(host)), port, _host_network(host))


def _name[o: ImmOrigin](text: StringSpan[o]) -> StringSpan[o]:
    return text.removeprefix("*").removeprefix(".").removesuffix(".")


def _port(digits: StringSpan) -> Int:
    try:
        return Int(digits)
    except:
        # No port is below 0, so the element matches nothing.
        return -1


def _ip(text: StringSpan) -> Optional[IpAddr]:
    try:
        return IpAddr.parse(text)
    except:
        return None


def _host_network(text: StringSpan) -> Optional[IpNetwork]:
    var ip = _ip(text)
    if not ip:
        return None
    try:
        return IpNetwork.parse(
            String(ip.value(), "/", 32 if ip.value().is_v4() else 128)
        )
    except:
        return None


def _is_at_or_below(host: StringSpan, domain: StringSpan) -> Bool:
    var octets = host.as_bytes()
    var start = len(octets) - domain.byte_length()
    if start < 0 or domain.byte_length() == 0:
        return False
    if not equals_ignore_case(octets[start:], domain.as_bytes()):
        return False
    return start == 0 or octets[start - 1] == 46
