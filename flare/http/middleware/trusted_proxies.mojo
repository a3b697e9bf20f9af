"""Finding the client behind proxies."""

from flare.http.message.forwarded import (
    Hop,
    parse_forwarded,
    parse_forwarded_for,
)
from flare.http.message.request import Request
from flare.http.message.request_notes import NoteLoan
from flare.http.message.response import Response
from flare.http.routing.handler import Handler, Middleware
from flare.net.ip import IpAddr
from flare.net.ip_network import IpNetwork, any_contains
from flare.net.socket_addr import SocketAddr


@fieldwise_init
struct ForwardedField(Equatable, TrivialRegisterPassable):
    """The field by which one's proxies tell whom they got a request from."""

    var code: UInt8
    """A small number, distinct for each field."""

    comptime FORWARDED = ForwardedField(0)
    """Forwarded (RFC 7239)."""
    comptime X_FORWARDED_FOR = ForwardedField(1)
    """X-Forwarded-For, with X-Forwarded-Proto and X-Forwarded-Host."""


struct Origin(Copyable, Movable):
    """How a client has reached the first trusted proxy."""

    var proto: String
    """The scheme, in lower case; empty if it is not told."""
    var host: String
    """The host that it asked for; empty if it is not told."""

    def __init__(out self, var proto: String, var host: String):
        """Takes what the proxy tells.

        Args:
            proto: The scheme.
            host: The host.
        """
        self.proto = proto^
        self.host = host^


def forwarded_proto(req: Request) -> String:
    """Tells by which scheme the client has asked a trusted proxy.

    Args:
        req: The request that is being handled.

    Returns:
        Such as `https`; empty if no trusted proxy tells.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.notes()[].find[Origin]()
    return found.value()[].proto if found else String()


def forwarded_host(req: Request) -> String:
    """Tells which host the client has asked a trusted proxy for.

    Args:
        req: The request that is being handled.

    Returns:
        The host; empty if no trusted proxy tells.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.notes()[].find[Origin]()
    return found.value()[].host if found else String()


struct TrustedProxies[H: Handler](Middleware):
    """Puts the client's address in the place of its proxy's, as `req.peer`.

    The chain is walked from the nearest node outwards, and only as long as each
    node is in a trusted network: what a node says is believed if the node is
    trusted. So a client that sends such a field of its own gains nothing. Only
    one field is read: the one that the proxies set, since they pass others on.

        TrustedProxies(
            router^,
            [IpNetwork.parse("10.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        )

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""
    var networks: List[IpNetwork]
    """Where one's own proxies are."""
    var field: ForwardedField
    """What they tell by."""

    def __init__(
        out self,
        var handler: Self.H,
        var networks: List[IpNetwork],
        field: ForwardedField,
    ):
        """Wraps a handler.

        Args:
            handler: What answers.
            networks: Where one's own proxies are.
            field: What they tell by.
        """
        self.handler = handler^
        self.networks = networks^
        self.field = field

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, with the client as the peer.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            Error: What the inner handler raises.
        """
        if not self._trusts(req.peer.ip):
            return self.handler.serve(req)
        var client = req.peer
        var origin = Origin(String(), String())
        self._walk(self._hops(req), client, origin)
        if self.field == ForwardedField.X_FORWARDED_FOR:
            origin.proto = _last(req, "x-forwarded-proto").lower()
            origin.host = _last(req, "x-forwarded-host")
        var loan = NoteLoan(req.notes(), origin)
        var response = self.handler.serve(req.with_peer(client))
        loan^.end()
        return response^

    def _walk(
        self, hops: List[Hop], mut client: SocketAddr, mut origin: Origin
    ):
        """Goes outwards as long as nodes are trusted and tell an address."""
        for back in range(1, len(hops) + 1):
            ref hop = hops[len(hops) - back]
            origin.proto = hop.proto
            origin.host = hop.host
            if not hop.address:
                return
            client = hop.address.value()
            if not self._trusts(client.ip):
                return

    def _hops(self, req: Request) -> List[Hop]:
        """Reads the field; a malformed one tells nothing."""
        var name = StaticString("forwarded")
        if self.field == ForwardedField.X_FORWARDED_FOR:
            name = "x-forwarded-for"
        var joined = List[UInt8]()
        var index = req.headers.find(name)
        while index >= 0:
            if len(joined) > 0:
                joined.append(44)
            joined.extend(req.headers.value_bytes(index))
            index = req.headers.find(name, index + 1)
        if self.field == ForwardedField.X_FORWARDED_FOR:
            return parse_forwarded_for(joined).or_else(List[Hop]())
        return parse_forwarded(joined).or_else(List[Hop]())

    def _trusts(self, ip: IpAddr) -> Bool:
        return any_contains(self.networks, ip)


def _last(req: Request, name: StringSpan) -> String:
    """Gives the last element of a field: what the nearest proxy has added."""
    var value = String()
    for line in req.headers.get_all(name):
        value = String(line)
    var comma = value.rfind(",")
    return String(value[byte = comma + 1 :].strip())
