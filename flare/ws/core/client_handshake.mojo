"""A client's part of the opening handshake (RFC 6455 section 4.1)."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.base64 import base64_encode
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.ws.core.deflate_agreement import (
    DeflateAgreement,
    read_deflate_answer,
)
from flare.ws.core.handshake_error import HandshakeRule, WsHandshakeError
from flare.ws.core.handshake_fields import (
    WS_VERSION,
    WsAgreement,
    accept_value,
    has_token,
    only_value,
    read_extensions,
)

comptime SWITCHING_PROTOCOLS = 101
"""The status of a handshake that succeeds (RFC 9110 section 15.2.2)."""


struct ClientHandshake(Movable):
    """The fields that a client sends, and the check of what comes back."""

    var subprotocols: List[String]
    """What to offer, best first."""
    var deflate: Optional[DeflateAgreement]
    """What to offer about compression; nothing to go without."""
    var _key: String

    def __init__(out self, nonce: Span[UInt8, _]):
        """Makes a handshake that offers nothing.

        Args:
            nonce: 16 random octets, for this connection alone.
        """
        self.subprotocols = []
        self.deflate = None
        self._key = base64_encode(nonce)

    def add_fields(self, mut headers: HeaderMap) raises HeaderError:
        """Adds the fields of the handshake; they replace any of their names.

        Args:
            headers: The fields of the request.

        Raises:
            HeaderError: If a subprotocol is no token.
        """
        headers.set("Upgrade", "websocket")
        headers.set("Connection", "Upgrade")
        headers.set("Sec-WebSocket-Key", self._key)
        headers.set("Sec-WebSocket-Version", WS_VERSION)
        _ = headers.remove("Sec-WebSocket-Protocol")
        _ = headers.remove("Sec-WebSocket-Extensions")
        if len(self.subprotocols) > 0:
            var offered = String()
            for subprotocol in self.subprotocols:
                if offered.byte_length() > 0:
                    offered.write(", ")
                offered.write(subprotocol)
            headers.set("Sec-WebSocket-Protocol", offered)
        if self.deflate:
            headers.set(
                "Sec-WebSocket-Extensions", self.deflate.value().offer()
            )

    def check(
        self, status: Int, fields: Fields
    ) raises WsHandshakeError -> WsAgreement:
        """Checks the response.

        Source: RFC 6455 section 4.1, in its order.

        Args:
            status: The status code.
            fields: The header fields.

        Returns:
            What the server agreed to.

        Raises:
            WsHandshakeError: If the server does not speak WebSocket, or has
                agreed to what it was not offered.
        """
        if status != SWITCHING_PROTOCOLS:
            raise _refused(
                materialize[HandshakeRule.STATUS](), String(status).as_bytes()
            )
        var upgrade = only_value(fields, "upgrade")
        if not equals_ignore_case(upgrade, "websocket".as_bytes()):
            raise _refused(
                materialize[HandshakeRule.RESPONSE_UPGRADE](), upgrade
            )
        if not has_token(fields, "connection", "upgrade"):
            raise _refused(
                materialize[HandshakeRule.RESPONSE_CONNECTION](),
                only_value(fields, "connection"),
            )
        var accept = only_value(fields, "sec-websocket-accept")
        var wanted = accept_value(self._key.as_bytes())
        if StringSpan(unsafe_from_utf8=accept) != wanted:
            raise _refused(materialize[HandshakeRule.ACCEPT](), accept)
        var deflate = self._check_extensions(fields)
        return WsAgreement(self._check_subprotocol(fields), deflate)

    def _check_extensions(
        self, fields: Fields
    ) raises WsHandshakeError -> Optional[DeflateAgreement]:
        var extensions = read_extensions(fields)
        if extensions:
            var answer = read_deflate_answer(extensions.value(), self.deflate)
            if answer[0]:
                return answer[1]
        raise _refused(
            materialize[HandshakeRule.EXTENSION](),
            only_value(fields, "sec-websocket-extensions"),
        )

    def _check_subprotocol(
        self, fields: Fields
    ) raises WsHandshakeError -> String:
        if "sec-websocket-protocol" not in fields:
            return String()
        var chosen = only_value(fields, "sec-websocket-protocol")
        for subprotocol in self.subprotocols:
            if StringSpan(unsafe_from_utf8=chosen) == subprotocol:
                return subprotocol
        raise _refused(materialize[HandshakeRule.SUBPROTOCOL](), chosen)


def _refused(rule: HandshakeRule, found: Span[UInt8, _]) -> WsHandshakeError:
    return WsHandshakeError(rule, found)
