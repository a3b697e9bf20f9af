"""The opening handshake (RFC 6455 section 4), of either side."""

from flare.bytes.ascii import equals_ignore_case, write_escaped
from flare.bytes.base64 import base64_decode, base64_encode
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.scan import TCHAR
from flare.bytes.hash import sha1
from flare.bytes.lines import line_at
from flare.http.message.fields import Fields, ListElements
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.ws.core.deflate import (
    DeflateAgreement,
    Extension,
    choose_deflate,
    parse_extensions,
    read_deflate_answer,
)


struct ServerHandshake(Copyable, Movable):

    var subprotocols: List[String]
    var deflate: Optional[DeflateAgreement]
    """What it wishes about compression; nothing to go without."""

    def __init__(
        out self,
        var subprotocols: List[String] = List[String](),
        deflate: Optional[DeflateAgreement] = None,
    ):
        self.subprotocols = subprotocols^
        self.deflate = deflate

    def accept(
        self,
        method: Method,
        minor_version: UInt8,
        fields: Fields,
        has_key: Bool = True,
    ) raises WsHandshakeError -> WsAcceptance:
        """Checks a request, and decides what to agree to.

        Source: RFC 6455 section 4.2.1. Of the subprotocols offered, the first
        that the server speaks is taken. Over HTTP/2, there is no key (`has_key`
        is False), where nobody proves to have understood: Sec-WebSocket-Key is
        not looked at (RFC 8441 section 5). The minor version is 0 for HTTP/1.0.
        If the request is no good handshake, the error carries the status to
        answer with; with 426 goes the field `Sec-WebSocket-Version: 13` (RFC
        6455 section 4.2.2).
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
        if not has_key:
            return WsAcceptance("", self._agree(fields))
        return WsAcceptance(answer_to_key(fields), self._agree(fields))

    def _agree(self, fields: Fields) raises WsHandshakeError -> WsAgreement:
        return WsAgreement(
            self._choose_subprotocol(fields), self._choose_deflate(fields)
        )

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
        return choose_deflate(offers.held(), self.deflate.held())


@fieldwise_init
struct WsAcceptance(Copyable, Movable):
    """A server's answer to a good handshake."""

    var accept: String
    """The value of Sec-WebSocket-Accept; empty over HTTP/2."""
    var agreement: WsAgreement

    def write_to(self, mut out: Buffer, headers: HeaderMap):
        """Appends the response, with further fields such as Set-Cookie; frames
        follow it.

        Source: RFC 6455 section 4.2.2.
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
                self.agreement.deflate.held(),
                "\r\n",
            )
        out.append(headers.lines_octets())
        out.append_literal["\r\n"]()


def _refused(rule: HandshakeRule) -> WsHandshakeError:
    return WsHandshakeError(rule, "".as_bytes())


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
        """Makes a handshake that offers nothing, of 16 random octets for this
        connection alone."""
        self.subprotocols = []
        self.deflate = None
        self._key = base64_encode(nonce)

    def add_fields(self, mut headers: HeaderMap) raises HeaderError:
        """Adds the fields of the handshake; they replace any of their names.
        Raises if a subprotocol is no token."""
        headers.set("Upgrade", "websocket")
        headers.set("Connection", "Upgrade")
        headers.set("Sec-WebSocket-Key", self._key)
        self._add_offers(headers)

    def add_stream_fields(self, mut headers: HeaderMap) raises HeaderError:
        """Adds the fields of the handshake on a stream of HTTP/2; they replace
        any of their names. Raises if a subprotocol is no token.

        Source: RFC 8441 section 5: no key is sent, for nobody proves anything.
        """
        _ = headers.remove("Sec-WebSocket-Key")
        self._add_offers(headers)

    def _add_offers(self, mut headers: HeaderMap) raises HeaderError:
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
            headers.set("Sec-WebSocket-Extensions", self.deflate.held().offer())

    def check(
        self, status: Int, minor_version: UInt8, fields: Fields
    ) raises WsHandshakeError -> WsAgreement:
        """Checks the response to `HTTP/1.` of a minor version. Raises if the
        server does not speak WebSocket, or has agreed to what it was not
        offered.

        Source: RFC 6455 section 4.1, in its order.
        """
        if status != SWITCHING_PROTOCOLS:
            raise WsHandshakeError(
                materialize[HandshakeRule.STATUS](), String(status).as_bytes()
            )
        if minor_version == 0:
            raise WsHandshakeError(
                materialize[HandshakeRule.RESPONSE_VERSION](),
                "HTTP/1.0".as_bytes(),
            )
        var upgrade = only_value(fields, "upgrade")
        if not equals_ignore_case(upgrade, "websocket".as_bytes()):
            raise WsHandshakeError(
                materialize[HandshakeRule.RESPONSE_UPGRADE](), upgrade
            )
        if not has_token(fields, "connection", "upgrade"):
            raise WsHandshakeError(
                materialize[HandshakeRule.RESPONSE_CONNECTION](),
                only_value(fields, "connection"),
            )
        var accept = only_value(fields, "sec-websocket-accept")
        var wanted = accept_value(self._key.as_bytes())
        if StringSpan(unsafe_from_utf8=accept) != wanted:
            raise WsHandshakeError(materialize[HandshakeRule.ACCEPT](), accept)
        return self._check_agreement(fields)

    def check_stream(
        self, status: Int, fields: Fields, ends: Bool
    ) raises WsHandshakeError -> WsAgreement:
        """Checks the response on a stream of HTTP/2, which the server has ended
        with it if it `ends`. Raises if the server refuses, leaves no stream, or
        has agreed to what it was not offered.

        Source: RFC 8441 section 5; any 2xx opens a tunnel (RFC 9110 section
        9.3.6).
        """
        if status < 200 or status > 299:
            raise WsHandshakeError(
                materialize[HandshakeRule.STREAM_STATUS](),
                String(status).as_bytes(),
            )
        if ends:
            raise _refused(materialize[HandshakeRule.STREAM_END]())
        return self._check_agreement(fields)

    def _check_agreement(
        self, fields: Fields
    ) raises WsHandshakeError -> WsAgreement:
        var deflate = self._check_extensions(fields)
        return WsAgreement(self._check_subprotocol(fields), deflate)

    def _check_extensions(
        self, fields: Fields
    ) raises WsHandshakeError -> Optional[DeflateAgreement]:
        var extensions = read_extensions(fields)
        if extensions:
            var answer = read_deflate_answer(extensions.held(), self.deflate)
            if answer[0]:
                return answer[1]
        raise WsHandshakeError(
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
        raise WsHandshakeError(materialize[HandshakeRule.SUBPROTOCOL](), chosen)


comptime KEY_LEN = 16
"""Length of the random value in Sec-WebSocket-Key, in bytes (RFC 6455
section 4.1)."""

comptime WS_VERSION = StaticString("13")
"""The version of the protocol (RFC 6455 section 4.1)."""

# RFC 6455 section 1.3.
comptime _GUID = StaticString("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")


@fieldwise_init
struct WsAgreement(Copyable, Movable):
    """What both sides agreed on in the opening handshake."""

    var subprotocol: String
    """The subprotocol; empty for none."""
    var deflate: Optional[DeflateAgreement]
    """The parameters of compression, if both sides can."""


def accept_value(key: Span[UInt8, _]) -> String:
    """Computes the value of Sec-WebSocket-Accept, 28 octets of base64, for that
    of Sec-WebSocket-Key.

    Source: RFC 6455 section 4.2.2.
    """
    var text = list_of(key)
    text.extend(_GUID.as_bytes())
    var digest = sha1(Span(text))
    return base64_encode(Span(digest))


def answer_to_key(fields: Fields) raises WsHandshakeError -> String:
    """Checks the Sec-WebSocket-Key of a request, and gives the value of
    Sec-WebSocket-Accept. Raises if it does not stand once, or is not 16 octets.

    Source: RFC 6455 sections 4.2.1 and 4.2.2.
    """
    var key = only_value(fields, "sec-websocket-key")
    var nonce = base64_decode(key)
    if not nonce or len(nonce.held()) != KEY_LEN:
        raise WsHandshakeError(materialize[HandshakeRule.KEY](), key)
    return accept_value(key)


def has_token(fields: Fields, name: StringSpan, token: StringSpan) -> Bool:
    """Tells whether a list of tokens has one of them, whatever its case."""
    var index = fields.find(name)
    while index >= 0:
        for element in ListElements(fields.value_bytes(index)):
            if equals_ignore_case(element, token.as_bytes()):
                return True
        index = fields.find(name, index + 1)
    return False


def only_value[
    o: ImmOrigin
](fields: Fields[o], name: StringSpan) -> Span[UInt8, o]:
    """Lends the value of a field that has to stand once; empty if it stands not
    once."""
    var index = fields.find(name)
    if index < 0 or fields.find(name, index + 1) >= 0:
        return Span[UInt8, o]()
    return fields.value_bytes(index)


def read_extensions(fields: Fields) -> Optional[List[Extension]]:
    """Reads all Sec-WebSocket-Extensions fields as one list; nothing if one is
    malformed."""
    var extensions = List[Extension]()
    var index = fields.find("sec-websocket-extensions")
    while index >= 0:
        if not parse_extensions(fields.value_bytes(index), extensions):
            return None
        index = fields.find("sec-websocket-extensions", index + 1)
    return extensions^


def is_token(octets: Span[UInt8, _]) -> Bool:
    """Tells whether octets are a token (RFC 9110 section 5.6.2)."""
    for octet in octets:
        if not materialize[TCHAR]().contains(octet):
            return False
    return len(octets) > 0


@fieldwise_init
struct HandshakeRule(Equatable, ImplicitlyCopyable):
    """A rule of the opening handshake (RFC 6455 section 4)."""

    var number: UInt8
    var status: Int
    """The status code of a server's answer; 0 for what a client finds."""

    # What a server finds.
    comptime METHOD = HandshakeRule(1, 405)
    """The method is GET (RFC 6455 section 4.1)."""
    comptime VERSION = HandshakeRule(2, 400)
    """The request is of HTTP/1.1 or later (RFC 6455 section 4.1)."""
    comptime REQUEST_UPGRADE = HandshakeRule(3, 400)
    """Upgrade has the protocol `websocket` (RFC 6455 section 4.2.1)."""
    comptime REQUEST_CONNECTION = HandshakeRule(4, 400)
    """Connection has the option `Upgrade` (RFC 6455 section 4.2.1)."""
    comptime KEY = HandshakeRule(5, 400)
    """Sec-WebSocket-Key stands once, and has 16 octets in base64 (RFC 6455
    section 4.2.1)."""
    comptime WS_VERSION = HandshakeRule(6, 426)
    """Sec-WebSocket-Version is 13 (RFC 6455 section 4.2.2)."""
    comptime OFFER = HandshakeRule(7, 400)
    """Extensions and subprotocols are lists as RFC 6455 section 4.3 has them.
    """
    # What a client finds.
    comptime STATUS = HandshakeRule(8, 0)
    """The status is 101 (RFC 6455 section 4.1)."""
    comptime RESPONSE_UPGRADE = HandshakeRule(9, 0)
    """Upgrade is `websocket` (RFC 6455 section 4.1)."""
    comptime RESPONSE_CONNECTION = HandshakeRule(10, 0)
    """Connection has the option `Upgrade` (RFC 6455 section 4.1)."""
    comptime ACCEPT = HandshakeRule(11, 0)
    """Sec-WebSocket-Accept answers the key (RFC 6455 section 4.1)."""
    comptime EXTENSION = HandshakeRule(12, 0)
    """Extensions are those that were offered (RFC 6455 section 4.1)."""
    comptime SUBPROTOCOL = HandshakeRule(13, 0)
    """The subprotocol is one that was offered (RFC 6455 section 4.1)."""
    comptime STREAM_STATUS = HandshakeRule(14, 0)
    """On a stream of HTTP/2, the status is one of success (RFC 8441 section 5).
    """
    comptime STREAM_END = HandshakeRule(15, 0)
    """The response does not end its stream (RFC 8441 section 5)."""
    comptime RESPONSE_VERSION = HandshakeRule(16, 0)
    """The response is of HTTP/1.1 (RFC 9110 section 15.2: HTTP/1.0 has no 101)."""

    def text(self) -> StaticString:
        return line_at(_RULE_TEXTS, Int(self.number) - 1)


# A line for each rule, in the order of their numbers.
comptime _RULE_TEXTS = StaticString(
    "a WebSocket handshake must be a GET request\n"
    "a WebSocket handshake needs HTTP/1.1\n"
    "Upgrade must be websocket\n"
    "Connection must have the option Upgrade\n"
    "Sec-WebSocket-Key must be 16 octets in base64, once\n"
    "Sec-WebSocket-Version must be 13\n"
    "the extensions or subprotocols offered are malformed\n"
    "the server must switch protocols with status 101\n"
    "the server's Upgrade must be websocket\n"
    "the server's Connection must have the option Upgrade\n"
    "Sec-WebSocket-Accept must answer this connection's key; is there a "
    "cache on the way?\n"
    "the server may only agree to extensions it was offered\n"
    "the server may only choose a subprotocol it was offered\n"
    "the server must open the stream with a status of 2xx\n"
    "the server must not end the stream with its answer\n"
    "the server must answer in HTTP/1.1"
)


struct WsHandshakeError(Copyable, Movable, Writable):
    """The peer's part of the opening handshake breaks a rule."""

    var rule: HandshakeRule
    var found: String
    """What was found, fit to print; may be empty."""

    def __init__(out self, rule: HandshakeRule, found: Span[UInt8, _]):
        """Describes a broken rule, with the peer's octets that break it."""
        self.rule = rule
        self.found = String()
        write_escaped(found, self.found)

    def status(self) -> Int:
        """Gives the 4xx code that a server answers with; 0 for an error that a
        client found."""
        return self.rule.status

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.rule.text())
        if self.found.byte_length() > 0:
            writer.write_string("; found '")
            writer.write(self.found)
            writer.write_string("'")
