"""Fuzzes the opening handshake: nothing is agreed on that was not offered, and
what a server answers, the client takes."""

from flare.bytes.base64 import base64_decode, base64_encode
from flare.bytes.buffer import Buffer
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.h1.response_head import ResponseHead
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap
from flare.ws.core.deflate import (
    DeflateAgreement,
    EXTENSION_COUNT_MAX,
    Extension,
    parse_extensions,
)
from flare.ws.core.handshake import (
    ClientHandshake,
    ServerHandshake,
    WsAcceptance,
    WsAgreement,
)
from fuzz.engine import Target, fuzz_main

comptime LIMITS = HeadLimits(4_096, 8_192, 50)


def _accept(mut head: RequestHead, mut input: Buffer) raises -> WsAcceptance:
    if not head.parse(input.terminate(), materialize[LIMITS]()):
        raise Error("incomplete")
    var server = ServerHandshake(
        ["chat"], DeflateAgreement(False, True, 12, 11)
    )
    return server.accept(
        head.method, head.minor_version, head.section.fields(input.span())
    )


def _check(client: ClientHandshake, mut input: Buffer) raises -> WsAgreement:
    var head = ResponseHead()
    if not head.parse(input.terminate(), materialize[LIMITS]()):
        raise Error("incomplete")
    var agreement = client.check(
        head.status, head.minor_version, head.section.fields(input.span())
    )
    _ = head^
    return agreement^


def _is_offered(fields: Fields, name: StringSpan, what: StringSpan) -> Bool:
    """Looks for an element of a list, whatever its parameters are."""
    for value in fields.get_all(name):
        for element in value.split(","):
            if element.split(";")[0].strip(" \t") == what:
                return True
    return False


def _client_of(fields: Fields) raises -> Optional[ClientHandshake]:
    """Makes the client that has sent a request; none if it is none of ours, which
    writes its key in one way."""
    var key = fields["sec-websocket-key"]
    var nonce = base64_decode(key.as_bytes()).value().copy()
    if base64_encode(nonce) != key:
        return None
    var client = ClientHandshake(nonce)
    if _is_offered(fields, "sec-websocket-protocol", "chat"):
        client.subprotocols = ["chat"]
    if _is_offered(fields, "sec-websocket-extensions", "permessage-deflate"):
        client.deflate = DeflateAgreement.widest()
    return client^


@fieldwise_init
struct WsHandshakeTarget(Target):
    """Requests, responses and extension lists."""

    def seeds(self) -> List[String]:
        """Lists a request, a response and lists."""
        return [
            (
                "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Key:"
                " dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Protocol: a, chat\r\nSec-WebSocket-Extensions:"
                " permessage-deflate; client_max_window_bits\r\n\r\n"
            ),
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Accept:"
                " s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol:"
                " chat\r\nSec-WebSocket-Extensions: permessage-deflate;"
                " server_max_window_bits=10\r\n\r\n"
            ),
            'foo; a="b\\c", permessage-deflate; server_max_window_bits=8',
        ]

    def tokens(self) -> List[String]:
        """Lists parameters."""
        return [
            "; server_no_context_takeover",
            "; client_no_context_takeover",
            "; server_max_window_bits=9",
            "; client_max_window_bits=15",
            "permessage-deflate",
            "Sec-WebSocket-Extensions: ",
            "Sec-WebSocket-Protocol: chat\r\n",
            "Upgrade: websocket\r\n",
            '"',
            ",",
            "=",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as each of the three."""
        var extensions = List[Extension]()
        if parse_extensions(input, extensions):
            if len(extensions) > EXTENSION_COUNT_MAX:
                raise Error("too many extensions")
        var octets = Buffer()
        octets.append(input)
        var client = ClientHandshake("the sample nonce".as_bytes())
        client.subprotocols = ["chat"]
        client.deflate = DeflateAgreement(False, False, 13, 14)
        var agreement: WsAgreement
        try:
            agreement = _check(client, octets)
        except:
            return self._run_server(input)
        var has_other = agreement.subprotocol != ""
        if has_other and agreement.subprotocol != "chat":
            raise Error("a subprotocol that was not offered")
        if (
            agreement.deflate
            and agreement.deflate.value().server_window_bits > 13
        ):
            raise Error("a window that was not offered")

    def _run_server(self, input: Span[UInt8, _]) raises:
        """The client that has sent the request takes the answer: its key is
        proved, and nothing is agreed on that it has not offered."""
        var octets = Buffer()
        octets.append(input)
        var head = RequestHead()
        var acceptance: WsAcceptance
        try:
            acceptance = _accept(head, octets)
        except:
            return
        var client = _client_of(head.section.fields(octets.span()))
        # The head is parsed from its octets, which have to live as long.
        _ = head^
        _ = octets^
        if not client:
            return
        var out = Buffer()
        acceptance.write_to(out, HeaderMap())
        var agreement = _check(client.value(), out)
        if agreement.subprotocol != acceptance.agreement.subprotocol:
            raise Error("the client speaks ", agreement.subprotocol)
        if Bool(agreement.deflate) != Bool(acceptance.agreement.deflate):
            raise Error("one side alone compresses")


def main() raises:
    """Runs the target."""
    fuzz_main("ws_handshake", WsHandshakeTarget())
