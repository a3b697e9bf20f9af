"""What an upstream is told of the client: Forwarded (RFC 7239) and X-Forwarded-*."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer, unsafe_lend_text
from flare.bytes.checked import *
from flare.bytes.scan import TCHAR
from flare.http.message.fields import Fields
from flare.http.message.forwarded import Origin
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.request import Request
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr

comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92


def is_other_fact(name: Span[UInt8, _]) -> Bool:
    """Tells whether a trusted proxy's field, one of `ForwardedKind.CLIENT`,
    passes as it stands; the others are written anew."""
    return not (
        equals_ignore_case(name, "forwarded".as_bytes())
        or equals_ignore_case(name, "x-forwarded-for".as_bytes())
        or equals_ignore_case(name, "x-forwarded-proto".as_bytes())
        or equals_ignore_case(name, "x-forwarded-host".as_bytes())
    )


struct ClientFacts[o: ImmOrigin](Movable):
    """How a client has come here, as far as it can be believed; lent by the
    request, and by the `TrustedProxies` around the handler."""

    var peer: SocketAddr
    """Its address, or that of the proxy in front; unspecified if it is not
    known."""
    var proto: StringSpan[Self.o]
    """The scheme that it has used."""
    var host: StringSpan[Self.o]
    """The host that it has asked for; empty if it named none."""

    def __init__(out self, req: Request[Self.o], host: StringSpan[Self.o]):
        """Takes what the connection tells, and what a `TrustedProxies` handler
        around this one has found."""
        self.peer = req.peer
        # SAFETY: the scheme is a constant, and the TrustedProxies that lends its
        # note is in the midst of a call.
        var scheme = req.scheme()
        self.proto = unsafe_lend_text[Self.o](
            scheme.unsafe_ptr(), scheme.byte_length()
        )
        self.host = host
        var found = req.extension[Origin]()
        if found:
            ref told = found.held()[]
            if told.proto == "http" or told.proto == "https":
                self.proto = unsafe_lend_text[Self.o](
                    told.proto.unsafe_ptr(), told.proto.byte_length()
                )
            if told.host.byte_length() > 0:
                self.host = unsafe_lend_text[Self.o](
                    told.host.unsafe_ptr(), told.host.byte_length()
                )

    def append_x_forwarded(
        self,
        req: Request,
        is_trusted: Bool,
        mut scratch: Buffer,
        mut out: HeaderMap,
    ) raises HeaderError:
        """Writes X-Forwarded-For, -Proto and -Host, adding to what the request
        says if it is trusted; `scratch` is for values that are put together.
        Raises if the header block grows over its limit."""
        scratch.clear()
        if is_trusted:
            _join(req.headers, "x-forwarded-for", scratch)
        if not self.peer.ip.is_unspecified():
            _part(scratch)
            _append_ip(self.peer.ip, scratch)
        # SAFETY: what comes of the request its own parser has judged, and the
        # rest is an address or a scheme.
        if len(scratch) > 0:
            out.unsafe_append_judged("X-Forwarded-For", _text(scratch))
        if not (
            is_trusted and _pass(req.headers, "X-Forwarded-Proto", scratch, out)
        ):
            out.unsafe_append_judged("X-Forwarded-Proto", self.proto)
        if is_trusted and _pass(req.headers, "X-Forwarded-Host", scratch, out):
            return
        if self.host.byte_length() > 0:
            out.unsafe_append_judged("X-Forwarded-Host", self.host)

    def append_forwarded(
        self,
        req: Request,
        is_trusted: Bool,
        mut scratch: Buffer,
        mut out: HeaderMap,
    ) raises HeaderError:
        """Writes Forwarded (RFC 7239 section 4), adding to what the request
        says if it is trusted. Raises if the header block grows over its limit.
        """
        scratch.clear()
        if is_trusted:
            _join(req.headers, "forwarded", scratch)
        _part(scratch)
        scratch.append_literal["for="]()
        if self.peer.ip.is_unspecified():
            scratch.append_literal["unknown"]()
        elif self.peer.ip.is_v6():
            # The brackets are no part of a token (RFC 7239 section 6).
            scratch.append_literal['"[']()
            _append_ip(self.peer.ip, scratch)
            scratch.append_literal[']"']()
        else:
            _append_ip(self.peer.ip, scratch)
        scratch.append_literal[";proto="]()
        scratch.append(self.proto.as_bytes())
        if self.host.byte_length() > 0:
            scratch.append_literal[";host="]()
            _append_value(self.host.as_bytes(), scratch)
        out.append("Forwarded", _text(scratch))


def _append_ip(ip: IpAddr, mut scratch: Buffer):
    """Writes an address; an IPv4 one without a text in between."""
    if ip.is_v6():
        scratch.write(ip)
        return
    var octets = ip.v4_octets()
    for index in range(4):
        if index > 0:
            scratch.append_octet(46)
        scratch.append_decimal(Int(octets.at(index)))


def _part(mut scratch: Buffer):
    if len(scratch) > 0:
        scratch.append_literal[", "]()


def _join(fields: Fields, name: StringSpan, mut scratch: Buffer):
    """Writes all lines of a list as one (RFC 9110 section 5.3)."""
    var index = fields.find(name)
    while index >= 0:
        var value = fields.value_bytes(index)
        if len(value) > 0:
            _part(scratch)
            scratch.append(value)
        index = fields.find(name, index + 1)


def _pass(
    fields: Fields, name: StringSpan, mut scratch: Buffer, mut out: HeaderMap
) raises HeaderError -> Bool:
    """Passes a field on that tells of the client alone; False if there is
    none."""
    scratch.clear()
    _join(fields, name, scratch)
    if len(scratch) == 0:
        return False
    out.append(name, _text(scratch))
    return True


def _append_value(text: Span[UInt8, _], mut scratch: Buffer):
    """Writes a token, or a quoted string (RFC 9110 section 5.6.4)."""
    var is_token = len(text) > 0
    for octet in text:
        is_token = is_token and materialize[TCHAR]().contains(octet)
    if is_token:
        scratch.append(text)
        return
    scratch.append_octet(_QUOTE)
    for octet in text:
        if octet == _QUOTE or octet == _BACKSLASH:
            scratch.append_octet(_BACKSLASH)
        scratch.append_octet(octet)
    scratch.append_octet(_QUOTE)


def _text(buffer: Buffer) -> StringSpan[ImmOrigin(origin_of(buffer))]:
    return StringSpan(unsafe_from_utf8=buffer.span())
