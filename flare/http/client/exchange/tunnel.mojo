"""Tunnels through proxies that speak HTTP."""

from flare.http.client.exchange.attempt import Attempt, Step
from flare.http.client.connect.auth import challenge_schemes
from flare.http.client.connect.digest import DigestChallenge, DigestTurn
from flare.http.client.connect.error import (
    BadRequest,
    ClientError,
    MalformedResponse,
    Phase,
    ProxyRefused,
)
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.proxy import Proxy
from flare.http.client.message.response import copy_fields
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from std.memory import OwnedPointer

comptime _REFUSAL_LEN_MAX = 65_536
# Most content of a refusal that is read to keep its connection, in bytes.


struct Tunnel(Movable):
    """A CONNECT that makes a connection to a proxy one to the endpoint.

    Source: RFC 9110 section 9.3.6.
    """

    var attempt: Attempt

    def __init__(
        out self, endpoint: Endpoint, proxy: Proxy, answer: String
    ) raises ClientError:
        """Writes the request for a tunnel, with what is said to the proxy's
        challenge; empty for nothing. Raises in the phase `PROXY`."""
        self.attempt = Attempt()
        self.attempt.begin("CONNECT", RequestFraming.none())
        _write_head(self.attempt, endpoint, proxy, answer)
        self.attempt.outgoing.end_content()

    def challenge(self, turn: DigestTurn) -> Optional[DigestChallenge]:
        """Finds the challenge of a proxy that has refused, by what was answered
        before; nothing if there is none to answer."""
        if not self.attempt.has_head():
            return None
        var headers = HeaderMap()
        copy_fields(self.attempt.parser.fields(), headers)
        return turn.challenge(Int(self.attempt.parser.head.status), headers)

    def advance(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) raises ClientError -> Bool:
        """Goes on without waiting, over a new connection to the proxy, and
        tells whether the tunnel is open. Raises in the phase `PROXY`."""
        try:
            return self._advance(connection, limits)
        except error:
            error.phase = Phase.PROXY
            raise error^

    def _advance(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) raises ClientError -> Bool:
        while True:
            var step = self.attempt.step(connection, limits)
            if step == Step.WAIT:
                if not self.attempt.receive(connection):
                    return False
            elif step == Step.HEAD and self.attempt.parser.head.status >= 300:
                raise _refusal(self.attempt)
            elif step == Step.END:
                break
        if self.attempt.parser.leftover_len() > 0:
            # The host at the other end waits for our first octet.
            raise ClientError(
                Phase.PROXY,
                MalformedResponse,
                "the proxy sent octets of its own into the tunnel",
            )
        return True

    def end_refusal(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) -> Bool:
        """Reads what follows the head of a refusal, without waiting. Returns
        False to wait for more; the parser says whether the connection may be
        used again."""
        self.attempt.parser.body.max_body_size = _REFUSAL_LEN_MAX
        try:
            while True:
                var step = self.attempt.step(connection, limits)
                if step == Step.END:
                    return True
                if step == Step.WAIT and not self.attempt.receive(connection):
                    return False
        except:
            # A new connection will show what is wrong.
            return True


def tunnel_authority(endpoint: Endpoint) -> String:
    """Writes the target of a CONNECT (RFC 9112 section 3.2.3)."""
    if ":" in endpoint.host:
        return String("[", endpoint.host, "]:", endpoint.port)
    return String(endpoint.host, ":", endpoint.port)


def _write_head(
    mut attempt: Attempt, endpoint: Endpoint, proxy: Proxy, answer: String
) raises ClientError:
    var authority = tunnel_authority(endpoint)
    var headers = HeaderMap()
    try:
        if answer.byte_length() > 0:
            headers.set("Proxy-Authorization", answer)
        elif proxy.credentials and not proxy.credentials.is_digest():
            headers.set("Proxy-Authorization", proxy.credentials.field_value())
    except:
        raise ClientError(
            Phase.PROXY,
            BadRequest,
            "the proxy's credentials hold a control octet",
        )
    write_request_head(
        attempt.outgoing.output,
        RequestStart("CONNECT", StringSpan(authority), authority, 1),
        headers,
        HeaderMap(),
        RequestFraming.none(),
    )


def _refusal(attempt: Attempt) -> ClientError:
    var reason = String(
        "the proxy answered ", attempt.parser.head.status, " to CONNECT"
    )
    var fields = attempt.parser.fields()
    var challenge = fields.get("proxy-authenticate")
    if challenge:
        reason.write("; it accepts ", challenge_schemes(challenge.value()))
    var error = ClientError(Phase.PROXY, ProxyRefused, reason^)
    error.status = Int(attempt.parser.head.status)
    return error^
