"""A server's part of the opening handshake (RFC 6455 section 4.2)."""

from flare.bytes.base64 import base64_decode
from flare.bytes.buffer import Buffer
from flare.http.message.fields import Fields, ListElements
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.ws.core.deflate_agreement import DeflateAgreement, choose_deflate
from flare.ws.core.handshake_error import HandshakeRule, WsHandshakeError
from flare.ws.core.handshake_fields import (
    KEY_LEN,
    WS_VERSION,
    WsAgreement,
    accept_value,
    has_token,
    is_token,
    only_value,
    read_extensions,
)


struct ServerHandshake(Copyable, Movable):
    """What a server is ready to agree to."""

    var subprotocols: List[String]
    """The subprotocols that it speaks."""
    var deflate: Optional[DeflateAgreement]
    """What it wishes about compression; nothing to go without."""

    def __init__(
        out self,
        var subprotocols: List[String] = List[String](),
        deflate: Optional[DeflateAgreement] = None,
    ):
        """Makes a server's wishes.

        Args:
            subprotocols: The subprotocols that it speaks.
            deflate: What it wishes about compression.
        """
        self.subprotocols = subprotocols^
        self.deflate = deflate

    def accept(
        self, method: Method, minor_version: UInt8, fields: Fields
    ) raises WsHandshakeError -> WsAcceptance:
        """Checks a request, and decides what to agree to.

        Source: RFC 6455 section 4.2.1. Of the subprotocols offered, the first
        that the server speaks is taken.

        Args:
            method: The method.
            minor_version: 0 for HTTP/1.0, else 1 or more.
            fields: The header fields.

        Returns:
            The answer.

        Raises:
            WsHandshakeError: If the request is no good handshake; it carries
                the status to answer with. With 426 goes the field
                `Sec-WebSocket-Version: 13` (RFC 6455 section 4.2.2).
        """
        if method != Method.GET:
            raise _refused(materialize[HandshakeRule.METHOD]())
        if minor_version == 0:
            raise _refused(materialize[HandshakeRule.VERSION]())
        if not has_token(fields, "upgrade", "websocket"):
            raise _refused(materialize[HandshakeRule.REQUEST_UPGRADE]())
        if not has_token(fields, "connection", "upgrade"):
            raise _refused(materialize[HandshakeRule.REQUEST_CONNECTION]())
        var version = only_value(fields, "sec-websocket-version")
        if StringSpan(unsafe_from_utf8=version) != WS_VERSION:
            raise WsHandshakeError(
                materialize[HandshakeRule.WS_VERSION](), version
            )
        var key = only_value(fields, "sec-websocket-key")
        var nonce = base64_decode(key)
        if not nonce or len(nonce.value()) != KEY_LEN:
            raise WsHandshakeError(materialize[HandshakeRule.KEY](), key)
        var agreement = WsAgreement(
            self._choose_subprotocol(fields), self._choose_deflate(fields)
        )
        return WsAcceptance(accept_value(key), agreement^)

    def _choose_subprotocol(
        self, fields: Fields
    ) raises WsHandshakeError -> String:
        var chosen = String()
        var index = fields.find("sec-websocket-protocol")
        while index >= 0:
            for element in ListElements(fields.value_bytes(index)):
                if not is_token(element):
                    raise WsHandshakeError(
                        materialize[HandshakeRule.OFFER](), element
                    )
                var name = StringSpan(unsafe_from_utf8=element)
                if chosen.byte_length() == 0 and self._speaks(name):
                    chosen = String(name)
            index = fields.find("sec-websocket-protocol", index + 1)
        return chosen^

    def _speaks(self, name: StringSpan) -> Bool:
        for subprotocol in self.subprotocols:
            if name == subprotocol:
                return True
        return False

    def _choose_deflate(
        self, fields: Fields
    ) raises WsHandshakeError -> Optional[DeflateAgreement]:
        var offers = read_extensions(fields)
        if not offers:
            raise WsHandshakeError(
                materialize[HandshakeRule.OFFER](),
                only_value(fields, "sec-websocket-extensions"),
            )
        if not self.deflate:
            return None
        return choose_deflate(offers.value(), self.deflate.value())


@fieldwise_init
struct WsAcceptance(Copyable, Movable):
    """A server's answer to a good handshake."""

    var accept: String
    """The value of Sec-WebSocket-Accept."""
    var agreement: WsAgreement
    """What was agreed on."""

    def write_to(self, mut out: Buffer, headers: HeaderMap):
        """Appends the response; frames follow it.

        Source: RFC 6455 section 4.2.2.

        Args:
            out: Where to.
            headers: Further fields, such as Set-Cookie.
        """
        out.append_literal["HTTP/1.1 101 Switching Protocols\r\n"]()
        out.append_literal["Upgrade: websocket\r\nConnection: Upgrade\r\n"]()
        out.write("Sec-WebSocket-Accept: ", self.accept, "\r\n")
        if self.agreement.subprotocol.byte_length() > 0:
            out.write(
                "Sec-WebSocket-Protocol: ", self.agreement.subprotocol, "\r\n"
            )
        if self.agreement.deflate:
            out.write(
                "Sec-WebSocket-Extensions: ",
                self.agreement.deflate.value(),
                "\r\n",
            )
        out.append(headers.lines_octets())
        out.append_literal["\r\n"]()


def _refused(rule: HandshakeRule) -> WsHandshakeError:
    return WsHandshakeError(rule, "".as_bytes())
