"""What a WebSocket route lets in, and what its handler hears of it."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request, Version
from flare.http.message.response import Response
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.handler import Handler
from flare.http.routing.router import Router
from flare.http.routing.ws_route import WsRoute, is_same_origin
from flare.http.websocket.handler import WsConfig, WsHandler, WsIncoming
from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsSender
from flare.net.ip import IpNetwork
from std.collections import Set
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


struct Seen(Defaultable, Movable):
    """What the handlers of a test have heard."""

    var log: String
    var senders: List[WsSender]


@fieldwise_init
struct Guest(WsHandler):
    """Joins a room first, and refuses afterwards if the query says so."""

    var hub: WsHub
    var seen: ArcPointer[Seen]

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender)
        self.seen[].senders.append(sender.copy())
        self.seen[].log.write("open ")
        if req.query == "refuse":
            raise Error("not today")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_binary(message.as_bytes())

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender)
        self.seen[].log.write(code, " ", sender.is_open(), ";")


def handshake(
    query: StringSpan = "", origin: StringSpan = "", host: StringSpan = "a"
) raises -> OwnedRequest:
    var request = OwnedRequest("GET", String("/ws?", query))
    request.add_header("Host", host)
    request.add_header("Upgrade", "websocket")
    request.add_header("Connection", "Upgrade")
    request.add_header("Sec-WebSocket-Version", "13")
    request.add_header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    if origin.byte_length() > 0:
        request.add_header("Origin", origin)
    return request^


def status(handler: Some[Handler], request: OwnedRequest) raises -> Int:
    return Int(handler.serve(request.view()).status.code)


def test_ids_differ_over_all_routes() raises:
    """`WsSender.id` promises it, and a hub is shared by routes."""
    var hub = WsHub()
    var seen = ArcPointer(Seen())
    var first = WsRoute(Guest(hub.copy(), seen))
    var second = WsRoute(Guest(hub.copy(), seen))
    var request = handshake()
    var answers: List[Response] = [
        first.serve(request.view()),
        second.serve(request.view()),
        first.serve(request.view()),
        WsRoute(Guest(hub.copy(), seen)).serve(request.view()),
    ]
    var ids = Set[UInt64]()
    for index in range(len(seen[].senders)):
        ids.add(seen[].senders[index].id())
    assert_equal(len(ids), 4)
    assert_equal(hub.count(), 4)
    assert_equal(hub.send_text("to all"), 4)
    answers.clear()
    assert_equal(hub.count(), 0)


def test_on_close_follows_each_on_open() raises:
    var hub = WsHub()
    var seen = ArcPointer(Seen())
    var route = WsRoute(Guest(hub.copy(), seen))
    with assert_raises(contains="not today"):
        _ = route.serve(handshake("refuse").view())
    assert_equal(seen[].log, "open 1006 False;")
    assert_equal(hub.count(), 0, "the room has no dead members")
    # A middleware may refuse what the route has let in.
    _ = route.serve(handshake().view())
    assert_equal(seen[].log, "open 1006 False;open 1006 False;")
    assert_equal(hub.count(), 0)


@fieldwise_init
struct Row(Copyable, Movable):
    var rule: StaticString
    var origin: StaticString
    var scheme: StaticString
    var host: StaticString
    var is_same: Bool


def test_origins_are_scheme_host_and_port() raises:
    comptime rows = [
        Row("6454-5 the same", "http://a", "http", "a", True),
        Row("6454-5 other scheme", "http://a", "https", "a", False),
        Row("6454-5 other scheme", "https://a", "http", "a", False),
        Row("6454-5 other host", "http://b", "http", "a", False),
        Row("6454-5 other port", "http://a:81", "http", "a", False),
        Row("6454-5 same port", "http://a:81", "http", "a:81", True),
        Row("9110-4.2.1 default port", "http://a", "http", "a:80", True),
        Row("9110-4.2.2 default port", "https://a:443", "https", "a", True),
        Row("not this scheme's port", "https://a:80", "https", "a", False),
        Row("6454-4 case", "HTTP://EXAMPLE.com", "http", "example.COM", True),
        Row("IPv6", "http://[::1]:80", "http", "[::1]", True),
        Row("6454-7.1 null", "null", "http", "a", False),
        Row("a longer name", "http://aa", "http", "a", False),
        Row("no host", "http://", "http", "", False),
        Row("only a port", "http://:80", "http", ":80", True),
        Row("more behind it", "http://a/", "http", "a", False),
    ]
    for row in materialize[rows]():
        assert_equal(
            is_same_origin(row.origin, row.scheme, row.host),
            row.is_same,
            String(row.rule, ": ", row.origin, " at ", row.host),
        )


def test_pages_of_other_origins_are_refused() raises:
    var seen = ArcPointer(Seen())
    var route = WsRoute(Guest(WsHub(), seen))
    assert_equal(status(route, handshake()), 101, "programs send none")
    assert_equal(status(route, handshake(origin="http://a")), 101)
    assert_equal(status(route, handshake(origin="https://a")), 403)
    assert_equal(status(route, handshake(origin="http://b")), 403)
    var config = WsConfig()
    config.origins = ["https://b"]
    var open = WsRoute(Guest(WsHub(), seen), config^)
    assert_equal(status(open, handshake(origin="https://b")), 101)
    assert_equal(status(open, handshake(origin="http://b")), 403)
    assert_equal(status(open, handshake(origin="http://a")), 403)


def test_pages_of_several_origins_are_refused() raises:
    """RFC 6454 section 7.3: one field at most; another one must not hide behind
    it."""
    var seen = ArcPointer(Seen())
    var config = WsConfig()
    config.origins = ["*"]
    for is_open in [False, True]:
        var route = WsRoute(Guest(WsHub(), seen), WsConfig())
        if is_open:
            route = WsRoute(Guest(WsHub(), seen), config.copy())
        for other in ["http://b", "http://a"]:
            var request = handshake(origin="http://a")
            request.add_header("Origin", other)
            assert_equal(status(route, request), 403)


def test_the_origin_behind_a_proxy() raises:
    """The page's scheme and host are those that a trusted proxy tells."""
    var seen = ArcPointer(Seen())
    var route = TrustedProxies(
        WsRoute(Guest(WsHub(), seen)),
        [IpNetwork.parse("127.0.0.0/8")],
        ForwardedField.FORWARDED,
    )
    var request = handshake(origin="https://a")
    request.add_header("Forwarded", "for=192.0.2.1;proto=https")
    assert_equal(status(route, request), 101)
    var renamed = handshake(origin="https://shop.example", host="inside")
    renamed.add_header(
        "Forwarded", "for=192.0.2.1;proto=https;host=shop.example"
    )
    assert_equal(status(route, renamed), 101)
    var other = handshake(origin="http://a")
    other.add_header("Forwarded", "for=192.0.2.1;proto=https")
    assert_equal(status(route, other), 403)
    assert_true(len(seen[].senders) == 2, "who is refused opens nothing")


def test_over_http_2_nobody_shows_a_key() raises:
    # RFC 8441 section 5: Sec-WebSocket-Key and -Accept are of HTTP/1.1 alone.
    var seen = ArcPointer(Seen())
    var route = WsRoute(Guest(WsHub(), seen.copy()))
    assert_true(route.claims().upgrades)
    var request = OwnedRequest("GET", "/ws")
    request.version = Version(2, 0)
    request.add_header("Host", "a")
    request.add_header("Sec-WebSocket-Version", "13")
    assert_equal(route.serve(request.view()).status.code, 400)
    request.add_header("upgrade", "websocket")
    request.add_header("connection", "Upgrade")
    var response = route.serve(request.view())
    assert_equal(response.status.code, 101)
    assert_true(response.body.listens())
    assert_false("sec-websocket-accept" in response.headers)
    # Over HTTP/1.1 it is missed.
    request.version = Version.HTTP_1_1
    assert_equal(route.serve(request.view()).status.code, 400)


def test_what_may_upgrade_is_asked_through_all_around_it() raises:
    var seen = ArcPointer(Seen())
    var inner = Router()
    inner.ws("/ws", Guest(WsHub(), seen.copy()))
    var outer = Router()
    assert_false(outer.claims().upgrades)
    outer.mount("/api", inner^)
    assert_true(outer.claims().upgrades)
    var stacked = TrustedProxies(
        outer^, [IpNetwork.parse("10.0.0.0/8")], ForwardedField.FORWARDED
    )
    assert_true(AnyHandler(stacked^).claims().upgrades)
    var plain = Router()
    plain.get("/", _plain)
    assert_false(AnyHandler(plain^).claims().upgrades)


def _plain(req: Request) raises -> Response:
    return Response(200)


def test_the_subprotocol_is_known_to_the_handler() raises:
    """RFC 6455 section 4.2.2: one of those offered, or none."""
    var seen = ArcPointer(Seen())
    var config = WsConfig()
    config.subprotocols = ["chat.v2", "chat.v1"]
    var route = WsRoute(Guest(WsHub(), seen), config^)
    var request = handshake()
    var first = route.serve(request.view())
    request.add_header("Sec-WebSocket-Protocol", "other, chat.v1")
    var second = route.serve(request.view())
    assert_equal(seen[].senders[0].subprotocol(), "")
    assert_equal(seen[].senders[1].subprotocol(), "chat.v1")
    assert_equal(second.headers["sec-websocket-protocol"], "chat.v1")
    assert_true("sec-websocket-protocol" not in first.headers)
