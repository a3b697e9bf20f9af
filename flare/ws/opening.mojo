"""Opening a WebSocket connection: the way there, and the handshake."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.compress.content_coding import is_available
from flare.http.client.exchange.timeout_policy import shorter
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.exchange.connector import Connector
from flare.http.client.connect.error import BadUrl, ClientError, Phase
from flare.http.client.connect.proxy import choose_proxy, credentials_of
from flare.http.client.message.request import parse_request_url
from flare.http.client.message.response import copy_fields
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.url.url import Url
from flare.sys.clock import Deadline
from flare.sys.random import fill_random
from flare.ws.config import WsClientConfig
from flare.ws.core.handshake import ClientHandshake, KEY_LEN, WsAgreement
from flare.ws.error import (
    REFUSAL_CONTENT_LEN_MAX,
    REFUSAL_CONTENT_TIMEOUT_MS,
    WsError,
    WsMisused,
    WsRefused,
)
from flare.ws.stream import StreamWire, open_stream
from flare.ws.wire import READ_LEN, SocketWire, Wire
from std.memory import OwnedPointer

comptime _HEAD_LIMITS = HeadLimits(8_192, 32_768, 200)


@fieldwise_init
struct Opened(Movable):
    """A connection after its handshake."""

    var wire: Wire
    var input: Buffer
    """Frames that came right after the response."""
    var agreement: WsAgreement
    var headers: HeaderMap

    @no_inline
    def __deinit__(deinit self):
        return

    def take_wire(deinit self) -> Wire:
        return self.wire^


def open_websocket(
    url: Url, config: WsClientConfig, deadline: Deadline
) raises WsError -> Opened:
    """Connects and shakes hands, all of it by a deadline; see
    `parse_websocket_url`. Raises if the host cannot be reached, or refuses."""
    var handshake = _handshake(config)
    var is_tls = url.protocol() == "wss:"
    var offers_http2 = config.offers_http2(is_tls)
    var connection = _connect(url, config, deadline, offers_http2)
    if connection[].is_http2:
        var headers = _headers(url, config, handshake, is_stream=True)
        var limits = materialize[_HEAD_LIMITS]()
        var stream = open_stream(connection^, url, headers, limits, deadline)
        if stream:
            return _take_stream(stream.take(), handshake, deadline)
        if not is_tls:
            raise _no_stream()
        connection = _connect(url, config, deadline, False)
    var wire = SocketWire(connection^)
    var output = Buffer()
    _write_request(output, url, config, handshake)
    var parser = ResponseParser(READ_LEN)
    wire.send(output, parser.input, deadline)
    return _read_response(wire^, parser^, handshake, deadline)


def parse_websocket_url(text: StringSpan) raises WsError -> Url:
    """Reads the URL of a WebSocket server, such as `wss://example.com/chat`.
    Raises if the scheme is not `ws` or `wss`, or there is a fragment.

    Source: RFC 6455 section 3.
    """
    var url = _parse(text)
    var protocol = url.protocol()
    if not (protocol == "ws:" or protocol == "wss:"):
        raise _bad_url("the scheme must be ws or wss")
    if url.hash().byte_length() > 0:
        raise _bad_url("a WebSocket URL has no fragment; write %23 for #")
    return url^


def _parse(text: StringSpan) raises WsError -> Url:
    try:
        return parse_request_url(text)
    except error:
        raise WsError(error)


def _bad_url(var reason: String) -> WsError:
    return WsError(materialize[BadUrl](), reason^)


def _connect(
    url: Url, config: WsClientConfig, deadline: Deadline, offers_http2: Bool
) raises ClientError -> OwnedPointer[ClientConnection]:
    """Opens the way to the server: TCP, a tunnel, TLS."""
    var host = url.hostname()
    if host.startswith("["):
        host = host.removeprefix("[").removesuffix("]")
    var endpoint = Endpoint(String(host), url.port_number())
    endpoint.is_tls = url.protocol() == "wss:"
    endpoint.offers_http2 = offers_http2
    # RFC 6455 section 4.1: a tunnel for ws as well as for wss.
    var connector = Connector(
        endpoint,
        choose_proxy(config.proxy, endpoint),
        shorter(config.connect_timeout_ms, deadline.left_ms()),
        tunnels_plain=True,
    )
    var context = ConnectContext(config.tls.copy(), materialize[_HEAD_LIMITS]())
    return connector^.connect(context)


def _handshake(config: WsClientConfig) raises WsError -> ClientHandshake:
    var nonce = Array[UInt8, KEY_LEN](fill=0)
    try:
        fill_random(Span(nonce))
    except error:
        raise WsError(error)
    var handshake = ClientHandshake(Span(nonce))
    handshake.subprotocols = config.subprotocols.copy()
    if config.compression and is_available("deflate"):
        handshake.deflate = config.compression
    return handshake^


def _headers(
    url: Url,
    config: WsClientConfig,
    handshake: ClientHandshake,
    *,
    is_stream: Bool,
) raises WsError -> HeaderMap:
    var headers = config.headers.copy()
    var credentials = credentials_of(url)
    try:
        credentials.check()
    except error:
        raise WsError(materialize[WsMisused](), error.reason)
    try:
        if credentials and "authorization" not in headers:
            headers.set("Authorization", credentials.field_value())
        if is_stream:
            handshake.add_stream_fields(headers)
        else:
            handshake.add_fields(headers)
    except error:
        raise WsError(materialize[WsMisused](), String(error))
    return headers^


def _no_stream() -> WsError:
    return WsError(
        materialize[WsRefused](),
        (
            "the server takes no WebSocket over HTTP/2 (RFC 8441); set"
            " WsClientConfig.http2_prior_knowledge to False to try HTTP/1.1"
        ),
    )


def _take_stream(
    var stream: StreamWire, handshake: ClientHandshake, deadline: Deadline
) raises WsError -> Opened:
    """Checks the response of a stream."""
    var headers = stream.take_headers()
    var agreement: WsAgreement
    try:
        agreement = handshake.check_stream(
            stream.status(), headers.lines_fields(), stream.is_bare()
        )
    except error:
        var failure = WsError(error)
        failure.status = stream.status()
        if failure.kind == WsRefused:
            failure.headers = headers^
            failure.body = _stream_content(stream, _soon(deadline))
        raise failure^
    return Opened(Wire(stream^), Buffer(), agreement^, headers^)


def _write_request(
    mut output: Buffer,
    url: Url,
    config: WsClientConfig,
    handshake: ClientHandshake,
) raises WsError:
    var headers = _headers(url, config, handshake, is_stream=False)
    try:
        write_request_head(
            output,
            RequestStart("GET", url.request_target(), url.host(), 1),
            headers,
            HeaderMap(),
            RequestFraming.none(),
        )
    except error:
        raise WsError(materialize[WsMisused](), String(error))


def _read_response(
    var wire: SocketWire,
    var parser: ResponseParser,
    handshake: ClientHandshake,
    deadline: Deadline,
) raises WsError -> Opened:
    _begin(parser)
    while True:
        var progress = _advance(parser)
        if progress == ResponseProgress.HEAD_READY:
            break
        if progress == ResponseProgress.NEEDS_OCTETS:
            if wire.receive(parser.input, deadline) == 0:
                parser.close_input()
    var headers = HeaderMap()
    copy_fields(parser.fields(), headers)
    var agreement: WsAgreement
    try:
        agreement = handshake.check(
            parser.head.status, parser.head.minor_version, parser.fields()
        )
    except error:
        var failure = WsError(error)
        failure.status = parser.head.status
        if failure.kind == WsRefused:
            failure.headers = headers^
            failure.body = _content(wire, parser, _soon(deadline))
        raise failure^
    # Drops the head; what is left are frames.
    _ = _advance(parser)
    var input = Buffer()
    swap(input, parser.input)
    return Opened(Wire(wire^), input^, agreement^, headers^)


def _begin(mut parser: ResponseParser) raises WsError:
    try:
        parser.begin(Method.GET, expects_switching=True)
    except error:
        raise WsError(ClientError(materialize[Phase.READ_HEAD](), error))


def _advance(
    mut parser: ResponseParser,
) raises WsError -> ResponseProgress:
    try:
        return parser.advance(materialize[_HEAD_LIMITS]())
    except error:
        raise WsError(ClientError(materialize[Phase.READ_HEAD](), error))


def _soon(deadline: Deadline) -> Deadline:
    """Until when the content of a refusal is waited for."""
    return Deadline(shorter(REFUSAL_CONTENT_TIMEOUT_MS, deadline.left_ms()))


def _content(
    mut wire: SocketWire, mut parser: ResponseParser, deadline: Deadline
) -> List[UInt8]:
    """Reads the first octets of a response's content, as many as come."""
    var content = List[UInt8]()
    parser.body.max_body_size = Int.MAX
    try:
        while len(content) < REFUSAL_CONTENT_LEN_MAX:
            var progress = _advance(parser)
            if progress == ResponseProgress.END:
                break
            if progress == ResponseProgress.CONTENT:
                content.extend(parser.content())
            elif progress == ResponseProgress.NEEDS_OCTETS:
                if wire.receive(parser.input, deadline) == 0:
                    parser.close_input()
    except:
        # What has come is told; why it is refused is known without.
        pass
    content.shrink(min(len(content), REFUSAL_CONTENT_LEN_MAX))
    return content^


def _stream_content(mut stream: StreamWire, deadline: Deadline) -> List[UInt8]:
    """Does the same for a stream of HTTP/2."""
    var content = Buffer()
    try:
        while len(content) < REFUSAL_CONTENT_LEN_MAX:
            if stream.receive(content, deadline) == 0:
                break
    except:
        # As above.
        pass
    var length = min(len(content), REFUSAL_CONTENT_LEN_MAX)
    return list_of(content.span().before(length))
