"""A handler that lets an upstream answer, on the worker's own loop.

What goes to the upstream is written anew from the request that the server has
parsed, and so is what goes back: a request that reaches the upstream has the
framing that was judged here.
"""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.exchange.forwarded_request import Http2Request
from flare.http.exchange.outgoing_request import LENT_LEN_MIN, Supply
from flare.http.h1.serialiser import (
    RequestFraming,
    RequestStart,
    check_request_start,
)
from flare.http.message.body_reader import owned_fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.proxy.exchange import Exchange
from flare.http.proxy.rules.forwarding import (
    FINAL_RECIPIENT,
    ForwardedRequest,
    ForwardingError,
    ForwardingRules,
    traced_content,
)
from flare.http.proxy.upstreams.group_config import Balance
from flare.http.proxy.upstreams.proxy_config import ProxyConfig, ProxyShared
from flare.http.proxy.proxy_worker import worker_of
from flare.http.proxy.stream_tunnel import StreamHandshake, asks_for_websocket
from flare.http.proxy.upstream_content import trailers_of
from flare.http.proxy.upstream_request import StreamSide
from flare.http.proxy.upstreams.upstreams import Upstreams
from flare.http.handler.failure import refusal
from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.handler.later import deferred_call, later
from flare.http.message.content_length import read_content_length
from flare.sys.random import fill_random
from flare.trace.core.propagation import current_span, set_trace_fields
from flare.trace.core.span import TraceSpan
from flare.ws.core.handshake import accept_value
from std.base64 import b64encode
from std.memory import ArcPointer, OwnedPointer

comptime _TIMEOUT_MS = 86_400_000
# For no wait of the proxy: each has a time of its own, after which the upstream
# is judged and the client told.


struct ReverseProxy(Copyable, Handler):
    """Passes requests on to an upstream, and its responses back, without a
    thread for each.

        var server = HttpServer.bind(SocketAddr.localhost(8080))
        server.serve(ReverseProxy("http://127.0.0.1:9000"))

    Content streams both ways as it comes: a side that does not take any keeps
    the other from sending. Each worker has connections of its own to the
    upstream, which go from one request to the next.
    """

    var _shared: ArcPointer[ProxyShared]

    def __init__(
        out self, upstream: StringSpan, var config: ProxyConfig = ProxyConfig()
    ) raises:
        """Makes a proxy.

        Args:
            upstream: Where requests go: `http://host:port`, `https://host` or
                `http+unix://%2Frun%2Fapp.sock`.
            config: Times, limits and rules.

        Raises:
            Error: If the upstream is no such URL.
        """
        self._shared = ArcPointer(ProxyShared(config^, [String(upstream)]))

    def __init__(
        out self,
        var upstreams: List[String],
        var config: ProxyConfig = ProxyConfig(),
    ) raises:
        """Makes a proxy that shares requests among upstreams.

        Args:
            upstreams: Where requests go, as above.

        Raises:
            Error: If there is none, or one is no such URL.
        """
        self._shared = ArcPointer(ProxyShared(config^, upstreams))

    def upstreams(self) -> Upstreams:
        """Gives the very upstreams, for any thread: to add, drain and remove
        some, and to ask how they are."""
        return self._shared[].upstreams

    def serve(self, req: Request) raises -> Response:
        """Sends a request on.

        Returns:
            What stands for the upstream's response, or a refusal.

        Raises:
            Error: If it is not served by an `HttpServer`.
        """
        ref call = deferred_call(req)[]
        var worker = worker_of(call.loop, self._shared)
        ref forwarded = worker[].forwarded
        ref shared = self._shared[]
        try:
            # Without an authority of an upstream: it is not chosen yet.
            shared.config.rules.forward_request(req, "", forwarded)
        except error:
            return _refuse(error)
        var errand = ArcPointer(Exchange(worker, call.loop, req.method_name))
        ref exchange = errand[]
        if shared.group.balance == Balance.CONSISTENT_HASH:
            exchange.place.key = shared.config.key.of(req)
        if not exchange.place.choose() and not (
            exchange.place.is_full() and worker[].line
        ):
            return exchange.place.no_upstream()
        call.upstream = exchange.place.facts
        exchange.place.logs_errors = req.route_params()[].record.logs_errors
        exchange.host = text_of(forwarded.host().as_bytes())
        exchange.asks_upstreams_host = exchange.host.byte_length() == 0
        if exchange.asks_upstreams_host:
            exchange.host = exchange.place.authority()
        swap(exchange.request.content, call.content)
        swap(exchange.response, call.spare)
        if not exchange.request.content:
            exchange.upgrade = forwarded.upgrade
        elif req.method == Method.TRACE:
            return _refuse(traced_content())
        var framing = _framing(
            req, exchange.request.content.__bool__(), forwarded
        )
        exchange.accept = _add_connection_fields(
            req, exchange.upgrade, forwarded
        )
        _name_parent(req, shared.config.rules, forwarded.headers)
        var start = RequestStart(
            req.method_name, forwarded.target(), StringSpan(exchange.host), 1
        )
        try:
            if _may_be_http2(req, exchange):
                check_request_start(start, framing)
                _take_for_http2(req, forwarded, framing, exchange)
            else:
                exchange.request.http1.forward_head(
                    start, forwarded.headers, framing
                )
                _add_content(req, call.keeps(req.body), exchange)
        except error:
            return refusal(400, String("the request cannot be sent on\n"))
        return later(req, errand)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Asks for the request as soon as its head is there, and gives how long
        the answer, which comes later, may take."""
        ref config = self._shared[].config
        return RequestPolicy(
            max_body_size=config.max_body_size,
            timeout_ms=_TIMEOUT_MS,
            streams=True,
            defers=True,
        )

    def claims(self) -> HandlerClaims:
        """Tells that content is taken while it arrives and answers come later,
        and whether the rules let protocols be changed through it."""
        ref rules = self._shared[].config.rules
        return HandlerClaims(
            defers=True, upgrades=len(rules.upgrade_protocols) > 0
        )


def _refuse(error: ForwardingError) -> Response:
    if error.status == FINAL_RECIPIENT:
        return Response(200)
    return refusal(error.status, String(error.reason, "\n"))


def _may_be_http2(req: Request, exchange: Exchange) -> Bool:
    """Tells whether HTTP/2 may be spoken for the request, to its upstream or, as
    long as there is none, to any."""
    ref config = exchange.worker[].shared[].config
    var may_be = config.offers_http2(True) or config.offers_http2(False)
    if exchange.place.upstream:
        ref upstream = exchange.place.upstream.held()[]
        may_be = config.offers_http2(upstream.endpoint.is_tls)
    if not may_be:
        return False
    # Any other change of the protocol is one of a connection of HTTP/1.1.
    return exchange.upgrade.byte_length() == 0 or (
        asks_for_websocket(req, exchange.upgrade)
    )


def _framing(
    req: Request, is_arriving: Bool, forwarded: ForwardedRequest
) -> RequestFraming:
    """Decides how the content is framed on its way to the upstream."""
    if not is_arriving:
        if len(req.trailers) > 0:
            return RequestFraming.chunked()
        if len(req.body) > 0 or "content-length" in req.headers:
            return RequestFraming(len(req.body))
        return RequestFraming.empty(StringSpan(req.method.name()))
    var asks = forwarded.expects_continue
    var index = req.headers.find("content-length")
    # Trailer fields need chunks; HTTP/2 has them beside a length, too.
    if index < 0 or (
        "transfer-encoding" in req.headers or "trailer" in forwarded.headers
    ):
        return RequestFraming.chunked(asks)
    # The parser has checked it.
    var length = read_content_length(req.headers.value_bytes(index))
    return RequestFraming(length, asks)


def _add_connection_fields(
    req: Request, upgrade: String, mut forwarded: ForwardedRequest
) raises -> String:
    """Adds what is for the connection to the upstream alone (RFC 9110 section
    7.6.1). Returns what has to answer a key that is made here; empty without."""
    var accept = String()
    if upgrade.byte_length() > 0:
        forwarded.headers.append("Connection", "upgrade")
        forwarded.headers.append("Upgrade", upgrade)
        if not ("sec-websocket-key" in req.headers) and req.version.major == 2:
            # RFC 8441 section 5: HTTP/2 has none, HTTP/1.1 needs one.
            var key = _random_key()
            forwarded.headers.append("Sec-WebSocket-Key", key)
            accept = accept_value(key.as_bytes())
    if forwarded.accepts_trailers:
        forwarded.headers.append("Connection", "TE")
        forwarded.headers.append("TE", "trailers")
    return accept^


def _name_parent(req: Request, rules: ForwardingRules, mut headers: HeaderMap):
    """Makes the span of `Tracing` the parent of what the upstream does, in place
    of the client's (W3C Trace Context section 3.2); without one the client's
    fields pass."""
    if not req.extension[TraceSpan]() or not rules.leaves("traceparent"):
        return
    var span = current_span(req)
    if not span.context.is_valid():
        return
    _ = headers.remove("traceparent")
    _ = headers.remove("tracestate")
    if not rules.leaves("tracestate"):
        span.trace_state = String()
    set_trace_fields(headers, span)


def _random_key() raises -> String:
    """Makes a Sec-WebSocket-Key (RFC 6455 section 4.1)."""
    var octets = List[UInt8](length=16, fill=0)
    fill_random(Span(octets))
    return b64encode(Span(octets))


def _take_for_http2(
    req: Request,
    forwarded: ForwardedRequest,
    framing: RequestFraming,
    mut exchange: Exchange,
):
    """Makes the request for an upstream that may speak HTTP/2."""
    var is_whole = not exchange.request.content
    var request = Http2Request(
        forwarded.target(),
        forwarded.headers,
        framing,
        Supply.ALL if is_whole else Supply.ARRIVING,
    )
    if is_whole:
        request.outgoing.output.append(req.body)
        if len(req.trailers) > 0:
            request.trailers = trailers_of(owned_fields(req.trailers))
    var handshake = Optional[StreamHandshake](None)
    if exchange.upgrade.byte_length() > 0:
        handshake = StreamHandshake(req)
    exchange.request.http2 = OwnedPointer(StreamSide(request^, handshake^))


def _add_content(req: Request, is_kept: Bool, mut exchange: Exchange):
    """Adds content that has come with the head; what stays where it is goes out
    from there if it is long and goes as it is."""
    if exchange.request.content:
        exchange.request.http1.outgoing.supply = Supply.ARRIVING
        return
    ref http1 = exchange.request.http1
    ref upstream = exchange.place.upstream
    var is_tls = not upstream or upstream.held()[].endpoint.is_tls
    var goes_as_it_is = not (http1.outgoing.framing.is_chunked() or is_tls)
    if is_kept and goes_as_it_is and len(req.body) >= LENT_LEN_MIN:
        # SAFETY: `DeferredCall.keeps` has told that it stays until the exchange
        # gives its response or is cancelled; it ends the loan before.
        http1.outgoing.lent.unsafe_begin(req.body)
        return
    http1.outgoing.append(req.body)
    if http1.outgoing.framing.is_chunked():
        http1.outgoing.append_end(trailers_of(owned_fields(req.trailers)))
