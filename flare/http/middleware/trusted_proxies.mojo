"""Finding the client behind proxies."""

from flare.bytes.ascii import trim_whitespace
from flare.bytes.checked import *
from flare.http.message.extensions import ExtensionScope
from flare.http.message.forwarded import HopsFromNearest, Origin
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler, RequestPolicy
from flare.http.routing.stack import Layer
from flare.net.ip import IpAddr, IpNetwork, any_contains
from flare.net.socket_addr import SocketAddr

# Of a client that a trusted proxy does not name, or not so that it can be read.
comptime _UNKNOWN = SocketAddr(IpAddr(0, 0, False), 0)

comptime _COMMA: UInt8 = 44


@fieldwise_init
struct ForwardedField(Equatable, TrivialRegisterPassable):
    """The field by which one's proxies tell whom they got a request from."""

    var code: UInt8
    """A small number, distinct for each field."""

    comptime FORWARDED = ForwardedField(0)
    """Forwarded (RFC 7239)."""
    comptime X_FORWARDED_FOR = ForwardedField(1)
    """X-Forwarded-For, with X-Forwarded-Proto and X-Forwarded-Host."""


@fieldwise_init
struct TrustedProxies[H: Handler](Layer):
    """Puts the client's address in the place of its proxy's, as `req.peer`.

    The chain is walked from the nearest node outwards, and only as long as each
    node is in a trusted network: what a node says is believed if the node is
    trusted. So a client that sends such a field of its own gains nothing. Only
    one field is read: the one that the proxies set, since they pass others on.
    A chain of trusted nodes alone ends at the outermost, and a proxy that sends
    no such field at all has asked for itself.

    Where a trusted node tells of one that is no address (`unknown`, a hidden
    name such as `_x`, an element that breaks the grammar, or nothing at all),
    the client is not known: `req.peer` is then `[::]:0`, the unspecified
    address, which no client has and which is neither private nor loopback. It
    is never the proxy's own address. Keep `::` out of lists of addresses that
    may do more than others, and `::/0` with it.

        TrustedProxies(
            router^,
            [IpNetwork.parse("10.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        )

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = TrustedProxies[I]
    var handler: Self.H
    """What answers."""
    var networks: List[IpNetwork]
    """Where one's own proxies are."""
    var field: ForwardedField
    """What they tell by."""

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, with the client as the peer."""
        if not self._trusts(req.peer.ip):
            return self.handler.serve(req)
        var origin = Origin(String(), String())
        var client = self._walk(req, origin)
        if self.field == ForwardedField.X_FORWARDED_FOR:
            origin.proto = _last(req, "x-forwarded-proto").lower()
            origin.host = _last(req, "x-forwarded-host")
        var scope = ExtensionScope(req.extensions(), origin)
        var response = self.handler.serve(req.with_peer(client))
        scope^.end()
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, with the client as the peer."""
        if not self._trusts(req.peer.ip):
            return self.handler.policy_for(req)
        var origin = Origin(String(), String())
        return self.handler.policy_for(req.with_peer(self._walk(req, origin)))

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets the inner handler finish an answer of the server's own, with
        the client as the peer as far as the fields were read."""
        if not self._trusts(req.peer.ip):
            return self.handler.refuse(req, response^)
        var origin = Origin(String(), String())
        var client = self._walk(req, origin)
        return self.handler.refuse(req.with_peer(client), response^)

    def _walk(self, req: Request, mut origin: Origin) -> SocketAddr:
        """Goes outwards as long as nodes are trusted and tell an address."""
        var is_forwarded = self.field == ForwardedField.FORWARDED
        var name = StaticString("forwarded")
        if not is_forwarded:
            name = "x-forwarded-for"
        var lines = List[Int]()
        var index = req.headers.find(name)
        while index >= 0:
            lines.append(index)
            index = req.headers.find(name, index + 1)
        if len(lines) == 0:
            return req.peer
        # A field without an element is no chain that ends at a proxy.
        var client = _UNKNOWN
        for back in range(1, len(lines) + 1):
            var value = req.headers.value_bytes(lines.at(len(lines) - back))
            for hop in HopsFromNearest(value, is_forwarded=is_forwarded):
                origin.proto = hop.proto
                origin.host = hop.host
                # An unspecified address stands for a Unix socket's peer here,
                # and for an unknown one; a text makes nobody either of them.
                if not hop.address or hop.address.value().ip.is_unspecified():
                    return _UNKNOWN
                client = hop.address.value()
                if not self._trusts(client.ip):
                    return client
        return client

    def _trusts(self, ip: IpAddr) -> Bool:
        return any_contains(self.networks, ip)


def _last(req: Request, name: StringSpan) -> String:
    """Gives the last element of a field: what the nearest proxy has added, be
    the octets before it text or not."""
    var last = -1
    var index = req.headers.find(name)
    while index >= 0:
        last = index
        index = req.headers.find(name, index + 1)
    if last < 0:
        return String()
    var value = req.headers.value_bytes(last)
    var start = len(value)
    while start > 0 and value.at(start - 1) != _COMMA:
        start -= 1
    try:
        return String(from_utf8=trim_whitespace(value.after(start)))
    except:
        return String()
