"""Fuzzes the opening handshake: nothing is agreed on that was not offered, and
what a server answers, the client takes."""

from flare.bytes.buffer import Buffer
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.h1.response_head import ResponseHead
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


def _accept(mut input: Buffer) raises -> WsAcceptance:
    var head = RequestHead()
    if not head.parse(input.terminate(), materialize[LIMITS]()):
        raise Error("incomplete")
    var server = ServerHandshake(
        ["chat"], DeflateAgreement(False, True, 12, 11)
    )
    var acceptance = server.accept(
        head.method, head.minor_version, head.section.fields(input.span())
    )
    _ = head^
    return acceptance^


def _check(mut input: Buffer) raises -> WsAgreement:
    var head = ResponseHead()
    if not head.parse(input.terminate(), materialize[LIMITS]()):
        raise Error("incomplete")
    var client = ClientHandshake("the sample nonce".as_bytes())
    client.subprotocols = ["chat"]
    client.deflate = DeflateAgreement(False, False, 13, 14)
    var agreement = client.check(
        head.status, head.minor_version, head.section.fields(input.span())
    )
    _ = head^
    return agreement^


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
        var agreement: WsAgreement
        try:
            agreement = _check(octets)
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
        var octets = Buffer()
        octets.append(input)
        var acceptance: WsAcceptance
        try:
            acceptance = _accept(octets)
        except:
            return
        var out = Buffer()
        acceptance.write_to(out, HeaderMap())
        var head = ResponseHead()
        if not head.parse(out.terminate(), materialize[LIMITS]()):
            raise Error("the answer is no response")
        # The head is parsed from its octets, which have to live as long.
        _ = out^


def main() raises:
    """Runs the target."""
    fuzz_main("ws_handshake", WsHandshakeTarget())
