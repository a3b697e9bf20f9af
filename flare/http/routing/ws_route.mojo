"""A handler that turns requests into WebSocket connections."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.http.message.body import Body
from flare.http.message.forwarded import forwarded_host, forwarded_proto
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    TEXT_PLAIN,
    forbidden,
    set_field,
)
from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.websocket.any_handler import AnyWsHandler, SharedWsHandler
from flare.http.websocket.handler import WsConfig, WsHandler
from flare.http.websocket.outbox import WsOutbox, WsSender
from flare.http.websocket.session import WsSession
from flare.sys.mutex import Mutex
from flare.sys.process import next_process_number
from flare.ws.core.connection import WsConnection
from flare.ws.core.frame import Role
from flare.ws.core.handshake import (
    ServerHandshake,
    WS_VERSION,
    WsAcceptance,
    WsHandshakeError,
)
from flare.ws.core.receiver import WsLimits
from std.memory import ArcPointer


struct WsRoute[H: WsHandler](Handler):
    """Answers the opening handshake (RFC 6455 section 4.2), then messages."""

    var _opening: _Opening

    def __init__(
        out self, var handler: Self.H, var config: WsConfig = WsConfig()
    ) raises:
        """Makes a route. Raises if the configuration makes no sense."""
        self._opening = _Opening(
            SharedWsHandler(AnyWsHandler(handler^)), config^
        )

    def policy_for(self, req: Request) -> RequestPolicy:
        """Says that a handshake takes no time."""
        return RequestPolicy(blocks=False)

    def claims(self) -> HandlerClaims:
        """Tells that handshakes are answered with a conversation."""
        return HandlerClaims(upgrades=True)

    def serve(self, req: Request) raises -> Response:
        """Answers a handshake by 101 and a conversation, or why not. Over
        HTTP/2 the server makes a 200 of it (RFC 8441). Raises what the handler
        raises in `on_open`."""
        return self._opening.serve(req)


struct _Opening(Movable):
    """What answers handshakes, whatever the handler's type is."""

    var _handler: SharedWsHandler
    var _config: ArcPointer[WsConfig]
    var _handshake: ServerHandshake

    def __init__(
        out self, var handler: SharedWsHandler, var config: WsConfig
    ) raises:
        config.check()
        self._handshake = ServerHandshake(
            config.subprotocols.copy(), config.compression
        )
        self._handler = handler^
        self._config = ArcPointer(config^)

    def serve(self, req: Request) raises -> Response:
        if not self._lets_in(req):
            return forbidden(
                "this Origin may not connect; see WsConfig.origins\n"
            )
        var acceptance: WsAcceptance
        try:
            var has_key = req.version.major < 2
            acceptance = self._handshake.accept(
                req.method,
                req.version.minor if has_key else 1,
                req.headers,
                has_key,
            )
        except error:
            return _refusal(error)
        return self._accept(req, acceptance)

    def _accept(
        self, req: Request, acceptance: WsAcceptance
    ) raises -> Response:
        ref config = self._config[]
        var core = WsConnection(
            Role.SERVER,
            WsLimits(config.max_frame_size, config.max_message_size),
            acceptance.agreement.deflate,
        )
        var box = Mutex(
            WsOutbox(
                next_process_number(),
                core^,
                config.max_queue_size,
                config.cuts_slow_clients,
            )
        )
        if acceptance.agreement.subprotocol.byte_length() > 0:
            box.lock()[].subprotocol = acceptance.agreement.subprotocol
        # From here on `on_close` is called at the session's end, also if the
        # handler refuses, or nothing becomes of the response.
        var session = WsSession(self._handler, box, self._config)
        self._handler[].on_open(req, WsSender(box))
        var response = Response(101, Body.conversing(session^))
        set_field(response, "Upgrade", "websocket")
        set_field(response, "Connection", "Upgrade")
        if acceptance.accept.byte_length() > 0:
            set_field(response, "Sec-WebSocket-Accept", acceptance.accept)
        if acceptance.agreement.subprotocol.byte_length() > 0:
            set_field(
                response,
                "Sec-WebSocket-Protocol",
                acceptance.agreement.subprotocol,
            )
        if acceptance.agreement.deflate:
            set_field(
                response,
                "Sec-WebSocket-Extensions",
                String(acceptance.agreement.deflate.held()),
            )
        return response^

    def _lets_in(self, req: Request) -> Bool:
        """Tells whether a page of this origin may connect (RFC 6455 10.2)."""
        var place = req.headers.find("origin")
        if place < 0:
            return True
        if req.headers.find("origin", place + 1) >= 0:
            # Browsers send one (RFC 6454 section 7.3); which of two counts, who
            # stands in front may see otherwise.
            return False
        var origin = req.headers.value(place)
        ref origins = self._config[].origins
        var named = origin.as_bytes()
        for index in range(len(origins)):
            var allowed = origins.at(index).as_bytes()
            if same_octets(allowed, "*".as_bytes()) or same_octets(
                allowed, named
            ):
                return True
        if len(origins) > 0:
            return False
        # Where the page's request went: to a proxy, if there is one.
        var scheme = forwarded_proto(req)
        if scheme.byte_length() == 0:
            scheme = String(req.scheme())
        var host = forwarded_host(req)
        if host.byte_length() > 0:
            return is_same_origin(origin, scheme, host)
        return is_same_origin(origin, scheme, req.host())


def _refusal(error: WsHandshakeError) raises -> Response:
    var response = Response(
        error.status(),
        Text().add(error).add("\n").end(),
        content_type=TEXT_PLAIN,
    )
    if error.status() == 426:
        set_field(response, "Upgrade", "websocket")
        set_field(response, "Sec-WebSocket-Version", WS_VERSION)
    elif error.status() == 405:
        set_field(response, "Allow", "GET")
    return response^


def is_same_origin(
    origin: StringSpan, scheme: StringSpan, host: StringSpan
) -> Bool:
    """Tells whether a page comes from where its request goes: by `http` or
    `https`, to an authority with or without a port. Not for `null` and for what
    is no origin.

    Source: RFC 6454 section 5: scheme, host and port are the same. A page that
    came by plain HTTP may be anybody's who sits on the way, so it is another
    origin than the same host over TLS.
    """
    var octets = origin.as_bytes()
    var end = scheme.byte_length()
    if len(octets) < end + 3 or host.byte_length() == 0:
        return False
    if not equals_ignore_case(octets.before(end), scheme.as_bytes()):
        return False
    if not same_octets(octets.between(end, end + 3), "://".as_bytes()):
        return False
    return equals_ignore_case(
        _without_default_port(octets.after(end + 3), scheme),
        _without_default_port(host.as_bytes(), scheme),
    )


def _without_default_port[
    o: ImmOrigin
](authority: Span[UInt8, o], scheme: StringSpan) -> Span[UInt8, o]:
    """Takes a port off that says nothing (RFC 9110 section 4.2.3)."""
    var port = StaticString(":443") if scheme == "https" else ":80"
    var length = len(authority) - port.byte_length()
    if length > 0 and equals_ignore_case(
        authority.after(length), port.as_bytes()
    ):
        return authority.before(length)
    return authority
