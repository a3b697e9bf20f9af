"""The router that is compiled answers as the one that is filled at run time."""

from flare.bytes.checked import *
from flare.http.client.message.request import ClientRequest
from flare.http.extract.content import Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import PathInt
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.timing import Timing
from flare.http.routing.app import App
from flare.http.handler.state import State, StateHandler
from flare.http.routing.comptime_router import (
    ComptimeRoute,
    ComptimeRouter,
    mounted,
)
from flare.http.handler.handler import (
    FixedHandler,
    FnHandler,
    Handler,
    HandlerClaims,
    RequestPolicy,
    can_be_fixed,
)
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings
from flare.http.routing.router import Router
from flare.http.websocket.handler import WsConfig, WsHandler, WsIncoming
from flare.http.websocket.outbox import WsSender
from flare.testing.test_client import TestClient
from flare.ws.core.deflate import DeflateAgreement
from tests.support.assertions import assert_equal, assert_true


def _echo[name: StaticString](req: Request) raises -> Response:
    """Answers with a name and all that was captured."""
    var text = String(name)
    ref params = req.route_params()[]
    for index in range(len(params)):
        var param = params.at(index)
        text.write(" ", param.name, "=", param.value)
    return ok(text^)


def _quiet(req: Request) -> Response:
    return ok("quiet")


def _failing(req: Request) raises -> Response:
    return ok(req.param("none"))


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", _echo["root"]),
    ComptimeRoute(Method.GET, "/users", _echo["users"]),
    ComptimeRoute(Method.GET, "/users/", _echo["users-slash"]),
    ComptimeRoute(Method.GET, "/users/new", _echo["new"]),
    ComptimeRoute(Method.GET, "/users/:id", _echo["user"]),
    ComptimeRoute(Method.POST, "/users/:name", _echo["post-user"]),
    ComptimeRoute(Method.GET, "/users/:id/posts/:post", _echo["post"]),
    ComptimeRoute(Method.GET, "/users/new/drafts", _echo["drafts"]),
    ComptimeRoute(Method.GET, "/files/*path", _echo["file"]),
    ComptimeRoute(Method.GET, "/files/index", _echo["index"]),
    ComptimeRoute(Method.PUT, "/both", _echo["put"]),
    ComptimeRoute(ComptimeRoute.ANY, "/both", _echo["all"]),
    ComptimeRoute(Method.HEAD, "/own-head", _echo["head"]),
    ComptimeRoute(Method.GET, "/own-head", _echo["get"]),
    ComptimeRoute(ComptimeRoute.ANY, "/own-head", _echo["all"]),
    ComptimeRoute(Method.GET, "/shop/:id", _echo["item"]),
    ComptimeRoute(ComptimeRoute.ANY, "/shop/:id", _echo["any-item"]),
    ComptimeRoute(ComptimeRoute.ANY, "/shop/*rest", _echo["shop"]),
    ComptimeRoute(Method.OPTIONS, "/own-options", _echo["options"]),
    ComptimeRoute(Method.GET, "/a b", _echo["space"]),
    ComptimeRoute(Method.GET, "/ä", _echo["two octets"]),
    ComptimeRoute(Method.GET, "/quiet", _quiet),
    ComptimeRoute(Method.GET, "/failing", _failing),
    ComptimeRoute(Method.GET, "/many/a1", _echo["a1"]),
    ComptimeRoute(Method.GET, "/many/a2", _echo["a2"]),
    ComptimeRoute(Method.GET, "/many/b1", _echo["b1"]),
    ComptimeRoute(Method.GET, "/many/b2", _echo["b2"]),
    ComptimeRoute(Method.GET, "/many/b2/:one/*rest", _echo["deep"]),
    ComptimeRoute("PROPFIND", "/many/b2", _echo["found"]),
]
comptime COMPILED = ComptimeRouter[ROUTES]()


def _filled() raises -> Router:
    """Registers the same routes at run time."""
    var router = Router()
    comptime for index in range(len(ROUTES)):
        comptime METHOD = ROUTES[index].method
        comptime PATTERN = ROUTES[index].pattern
        comptime ANSWER = ROUTES[index].answer
        comptime if METHOD == ComptimeRoute.ANY:
            router.all(materialize[PATTERN](), FnHandler(ANSWER))
        else:
            router.route(METHOD, materialize[PATTERN](), FnHandler(ANSWER))
    return router^


def _sent(
    mut client: TestClient, method: String, target: String
) raises -> String:
    """Gives status, Allow and content of an answer."""
    var text = String()
    try:
        var answer = client.send(ClientRequest(method, target))
        text.write(answer.status, " ")
        var allow = answer.headers.get("allow")
        if allow:
            text.write("[", allow.value(), "] ")
        text.write(answer.text())
    except error:
        text.write("raised ", error)
    return text^


def test_answers_as_the_router_does() raises:
    var filled = TestClient(_filled())
    var compiled = TestClient(COMPILED)
    var methods: List[String] = [
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "DELETE",
        "OPTIONS",
        "PROPFIND",
        "BREW",
    ]
    var targets: List[String] = [
        "/",
        "/users",
        "/users/",
        "/users?x=1",
        "/users/new",
        "/users/7",
        "/users/new/posts/1",
        "/users/new/drafts",
        "/users/7/posts/",
        "/users//posts/1",
        "/files",
        "/files/",
        "/files/a/b//c",
        "/files/index",
        "/files/index/x",
        "/both",
        "/own-head",
        "/shop/7",
        "/shop/7/x",
        "/own-options",
        "/a%20b",
        "/%C3%A4",
        "/%75sers",
        "/users/a%2Fb",
        "/users/1%2B+2",
        "/files/%61/b%20c",
        "/quiet",
        "/failing",
        "/many/a1",
        "/many/b2",
        "/many/b2/x/y/z",
        "/many/c1",
        "/many/a",
        "/nope",
        "//users",
    ]
    for target in targets:
        for method in methods:
            assert_equal(
                _sent(compiled, method, target),
                _sent(filled, method, target),
                String(method, " ", target),
            )


def _served[H: Handler](handler: H, method: String, path: String) -> String:
    """Gives an answer to a path that no client would send."""
    var text = String()
    try:
        var owned = OwnedRequest(method, path)
        var response = handler.serve(owned.view())
        text.write(response.status, " ", response.body)
    except error:
        text.write("raised ", error)
    return text^


def test_malformed_paths_are_refused_with_the_same_words() raises:
    var filled = _filled()
    var paths: List[String] = [
        "*",
        "/users/%",
        "/users/%zz",
        "/users/%ff",
        "/files/%c3",
        "/files/%61/%",
        "/quiet/%",
        "/nope/%",
        "/%",
    ]
    for path in paths:
        for method in ["GET", "HEAD", "OPTIONS"]:
            assert_equal(
                _served(COMPILED, method, path),
                _served(filled, method, path),
                path,
            )
    assert_true(_served(COMPILED, "GET", "/users/%").startswith("400 "))


def test_random_paths_find_the_same_routes() raises:
    """Paths are put together from what the patterns are made of."""
    var filled = _filled()
    var parts: List[StaticString] = [
        "users",
        "new",
        "7",
        "posts",
        "drafts",
        "files",
        "index",
        "both",
        "a%20b",
        "many",
        "a1",
        "b2",
        "%61",
        "%",
    ]
    var state = UInt64(1)
    var found_count = 0
    for _ in range(3_000):
        var path = String()
        for _ in range(1 + Int(state >> 61) % 4):
            state = state * 6364136223846793005 + 1442695040888963407
            path.write("/", parts.at(Int(state >> 33) % len(parts)))
        var method = "GET" if state >> 63 == 0 else "POST"
        var answer = _served(COMPILED, method, path)
        assert_equal(answer, _served(filled, method, path), path)
        found_count += Int(answer.startswith("200"))
    assert_true(found_count > 100, String(found_count))


@fieldwise_init
struct _Careful(Copyable, Handler):
    """Says of itself what a handler can say."""

    var limit: Int

    def serve(self, req: Request) raises -> Response:
        return ok(String("limit ", self.limit))

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(
            max_body_size=self.limit,
            timeout_ms=self.limit * 100,
            streams=True,
            blocks=False,
        )

    def claims(self) -> HandlerClaims:
        return HandlerClaims(streams=True, upgrades=True)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        return response^.with_header("X-By", String("limit ", self.limit))

    def describe(self, mut operation: Operation):
        operation.summary = "careful"


def _count(req: Request, state: State[Int]) raises -> Response:
    state.lock()[] += 1
    return ok(String(state.lock()[]))


comptime HANDLERS: List[ComptimeRoute] = [
    ComptimeRoute.of[_Careful(5)](Method.POST, "/careful"),
    ComptimeRoute.of[_Careful(5)](Method.PUT, "/careful", max_body_size=9),
    ComptimeRoute.of[StateHandler(_count)](Method.GET, "/count"),
    ComptimeRoute(Method.POST, "/plain", _quiet, max_body_size=7),
    ComptimeRoute(Method.POST, "/quick", _quiet, may_block=False),
]


comptime PLAIN: List[ComptimeRoute] = [
    ComptimeRoute(Method.POST, "/plain", _quiet)
]


@fieldwise_init
struct _Said(Copyable, Movable):
    """What a router says of a request before it is served."""

    var method: String
    var path: String
    var limit: Int
    var blocks: Bool
    var streams: Bool
    var timeout_ms: Int
    var needs_content: Bool


def test_routes_and_handlers_say_what_they_need() raises:
    comptime ROUTER = ComptimeRouter[HANDLERS]()
    var rows: List[_Said] = [
        _Said("POST", "/careful", 5, False, True, 500, True),
        _Said("PUT", "/careful", 9, False, True, 500, True),
        _Said("GET", "/count", -1, True, False, -1, True),
        _Said("POST", "/plain", 7, True, False, -1, True),
        _Said("POST", "/quick", -1, False, False, -1, True),
        _Said("GET", "/nope", -1, False, False, -1, False),
        _Said("GET", "/%", -1, False, False, -1, False),
    ]
    for row in rows:
        var owned = OwnedRequest(row.method, row.path)
        var policy = ROUTER.policy_for(owned.view())
        assert_equal(policy.max_body_size, row.limit)
        assert_equal(policy.blocks, row.blocks)
        assert_equal(policy.streams, row.streams)
        assert_equal(policy.timeout_ms, row.timeout_ms)
        assert_equal(policy.needs_content, row.needs_content)
    assert_true(ROUTER.claims().streams)
    assert_true(not ComptimeRouter[PLAIN]().claims().streams)


def _refused[H: Handler](handler: H, method: String, path: String) -> String:
    """Gives what finishes an answer of the server's own; `-` for nothing."""
    try:
        var owned = OwnedRequest(method, path)
        var response = handler.refuse(owned.view(), Response(413))
        var by = response.headers.get("X-By")
        return String(by.value()) if by else "-"
    except error:
        return String("raised ", error)


comptime REFUSING: List[ComptimeRoute] = HANDLERS + [
    ComptimeRoute.fallback_of[_Careful(1)]()
]


def test_refusals_are_finished_by_the_route() raises:
    """`Handler.refuse`, as `Router` does it."""
    var router = Router()
    router.post("/careful", _Careful(5))
    router.put("/careful", _Careful(5), max_body_size=9)
    router.post("/plain", _quiet)
    comptime COMPILED_ROUTES = ComptimeRouter[HANDLERS]()
    comptime WITH_FALLBACK = ComptimeRouter[REFUSING]()
    var rows: List[Tuple[String, String, String, String]] = [
        ("POST", "/careful", "limit 5", "limit 5"),
        ("PUT", "/careful", "limit 5", "limit 5"),
        ("GET", "/careful", "-", "-"),
        ("POST", "/plain", "-", "-"),
        ("POST", "/none", "-", "limit 1"),
        ("POST", "/%", "-", "-"),
        ("POST", "", "-", "-"),
    ]
    for fallback in range(2):
        if fallback == 1:
            router.fallback(_Careful(1))
        for row in rows:
            var by = row[3] if fallback == 1 else row[2]
            assert_equal(_refused(router, row[0], row[1]), by, row[1])
            if fallback == 1:
                assert_equal(_refused(WITH_FALLBACK, row[0], row[1]), by)
            else:
                assert_equal(_refused(COMPILED_ROUTES, row[0], row[1]), by)


def test_who_may_speak_websocket_says_so() raises:
    """RFC 8441 section 3: over HTTP/2 a server says so before anybody asks."""
    comptime SPEAKING: List[ComptimeRoute] = [
        ComptimeRoute(Method.GET, "/", _quiet),
        ComptimeRoute.ws[_Upper()]("/ws"),
    ]
    assert_true(ComptimeRouter[SPEAKING]().claims().upgrades)
    assert_true(ComptimeRouter[HANDLERS]().claims().upgrades)
    assert_true(not COMPILED.claims().upgrades)


def test_a_fixed_handler_says_what_the_handler_says() raises:
    var fixed = FixedHandler[_Careful(5)]()
    var owned = OwnedRequest("GET", "/")
    assert_equal(String(fixed.serve(owned.view()).body), "limit 5")
    var policy = fixed.policy_for(owned.view())
    assert_equal(policy.max_body_size, 5)
    assert_equal(policy.timeout_ms, 500)
    assert_true(policy.streams and fixed.claims().streams)
    assert_true(not policy.blocks)


def test_which_handlers_the_compiler_can_make() raises:
    """A router keeps its handlers behind pointers that would lead nowhere."""
    assert_true(can_be_fixed[FnHandler]())
    assert_true(can_be_fixed[ComptimeRouter[HANDLERS]]())
    assert_true(can_be_fixed[Timing[Timing[FnHandler]]]())
    assert_true(not can_be_fixed[Router]())
    assert_true(not can_be_fixed[Timing[Router]]())


def test_a_handler_with_a_state_is_found() raises:
    var client = TestClient(App(state=41, handler=ComptimeRouter[HANDLERS]()))
    assert_equal(client.get("/count").text(), "42")
    assert_equal(client.put("/careful", "x").text(), "limit 5")


def test_operations_are_those_of_the_routes() raises:
    var operations = ComptimeRouter[HANDLERS]().operations()
    assert_equal(len(operations), 5)
    assert_equal(operations.at(0).method, "POST")
    assert_equal(operations.at(0).pattern, "/careful")
    assert_equal(operations.at(0).summary, "careful")
    assert_equal(operations.at(3).summary, "")
    assert_equal(COMPILED.operations().at(11).method, "*")


@fieldwise_init
struct _Tea(Copyable, Movable):
    var name: String
    var origins: List[String]


@fieldwise_init
struct _Brew(Endpoint):
    var cups: PathInt["cups"]
    var tea: Json[_Tea]

    def serve(self) raises -> Response:
        return ok(String(self.cups.value, " of ", self.tea.value.name))


def test_endpoints_are_filled() raises:
    comptime routes: List[ComptimeRoute] = [
        ComptimeRoute.of[Extracted[_Brew]()](Method.POST, "/brew/:cups"),
    ]
    var client = TestClient(ComptimeRouter[routes]())
    var answer = client.post("/brew/2", json='{"name":"oolong","origins":[]}')
    assert_equal(answer.text(), "2 of oolong")
    assert_equal(client.post("/brew/x", json="{}").status.code, 400)


def test_a_router_without_routes_finds_none() raises:
    comptime NONE = List[ComptimeRoute]()
    assert_equal(
        _served(ComptimeRouter[NONE](), "GET", "/"), "404 not found: /"
    )


def test_a_router_may_be_nested() raises:
    comptime INNER: List[ComptimeRoute] = [
        ComptimeRoute(Method.GET, "/n/:id/*rest", _echo["nested"])
    ]
    var outer = Router()
    outer.get("/n/*all", ComptimeRouter[INNER]())
    assert_equal(
        _served(outer, "GET", "/n/1/b%20c"),
        "200 nested all=1/b c id=1 rest=b c",
    )


comptime API: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", _echo["api"]),
    ComptimeRoute(Method.GET, "/users/:id", _echo["api-user"]),
    ComptimeRoute.fallback(_echo["api-fallback"]),
]
comptime TOP: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", _echo["root"]),
    ComptimeRoute.fallback(_echo["fallback"]),
]
comptime JOINED: List[ComptimeRoute] = TOP + mounted("/api", API) + mounted(
    "/v2/:all", mounted("/api", API)
)


@fieldwise_init
struct _Needy(Copyable, Handler):
    """Cannot answer without a parameter that only it knows of."""

    def serve(self, req: Request) raises -> Response:
        return ok(req.param("id"))

    def problem(self, around: Surroundings) -> String:
        return "" if "id" in around.params else "it needs an id"


comptime NEEDY: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", _quiet),
    ComptimeRoute.of[_Needy()](Method.GET, "/:name"),
]
comptime CONTENT: List[ComptimeRoute] = [
    ComptimeRoute.of[_Needy()](Method.GET, "/:id"),
]
comptime NEEDY_BELOW = mounted("/:id", [ComptimeRoute.fallback_of[_Needy()]()])


def test_handlers_are_asked_for_problems() raises:
    """`Handler.problem`, as `Router` does it."""
    comptime ASKING = ComptimeRouter[NEEDY]()
    comptime CONTENTED = ComptimeRouter[CONTENT]()
    comptime BELOW = ComptimeRouter[NEEDY_BELOW]()
    var none = Surroundings()
    assert_equal(ASKING.problem(none), "it needs an id")
    assert_equal(ASKING.problem(none.with_params(["id"])), "")
    assert_equal(CONTENTED.problem(none), "")
    assert_equal(BELOW.problem(none), "")


def test_mounted_routes_and_fallback_are_those_of_the_router() raises:
    var api = Router()
    api.get("/", _echo["api"])
    api.get("/users/:id", _echo["api-user"])
    api.fallback(_echo["api-fallback"])
    var second = Router()
    second.get("/", _echo["api"])
    second.get("/users/:id", _echo["api-user"])
    second.fallback(_echo["api-fallback"])
    var outer = Router()
    outer.mount("/api", second^)
    var router = Router()
    router.get("/", _echo["root"])
    router.fallback(_echo["fallback"])
    router.mount("/api", api^)
    router.mount("/v2/:all", outer^)
    var filled = TestClient(router^)
    var compiled = TestClient(ComptimeRouter[JOINED]())
    for method in ["GET", "HEAD", "POST", "OPTIONS", "BREW"]:
        for target in [
            "/",
            "/api",
            "/api/",
            "/api/users/7",
            "/api/users/7/",
            "/v2/all",
            "/v2/all/api",
            "/v2/all/api/users/a%20b",
            "/v2/all/api/other",
            "/v2/a%20b/api/other/",
            "/v2/all/apis",
            "/api/other/%zz",
            "/none",
            "/%zz",
            "*",
        ]:
            assert_equal(
                _sent(compiled, method, target),
                _sent(filled, method, target),
                String(method, " ", target),
            )
    assert_equal(_sent(compiled, "GET", "/none"), "200 fallback")
    assert_equal(_sent(compiled, "GET", "/api/users/7"), "200 api-user id=7")
    assert_equal(_sent(compiled, "GET", "/api/other"), "200 api-fallback")
    assert_equal(
        _sent(compiled, "GET", "/v2/x/api/y"), "200 api-fallback all=x"
    )


def test_a_mounted_fallback_stands_beside_none() raises:
    comptime BELOW: List[ComptimeRoute] = mounted("/api", API)
    var compiled = TestClient(ComptimeRouter[BELOW]())
    assert_equal(_sent(compiled, "GET", "/api/other"), "200 api-fallback")
    assert_equal(_sent(compiled, "GET", "/other"), "404 not found: /other")
    assert_equal(len(ComptimeRouter[BELOW]().operations()), 2)
    comptime LATE: List[ComptimeRoute] = mounted(
        "/small", [ComptimeRoute.fallback_of[_Small()]()]
    )
    var router = ComptimeRouter[LATE]()
    var below = OwnedRequest("POST", "/small/a")
    assert_equal(router.policy_for(below.view()).max_body_size, 9)
    var beside = OwnedRequest("POST", "/other")
    assert_true(not router.policy_for(beside.view()).needs_content)


def test_the_fallback_is_asked_for_its_policy_and_is_no_operation() raises:
    comptime SMALL: List[ComptimeRoute] = [
        ComptimeRoute(Method.GET, "/", _echo["root"]),
        ComptimeRoute.fallback_of[_Small()](),
    ]
    var router = ComptimeRouter[SMALL]()
    var other = OwnedRequest("POST", "/other")
    assert_equal(router.policy_for(other.view()).max_body_size, 9)
    assert_equal(router.serve(other.view()).text(), "small")
    var wrong = OwnedRequest("POST", "/")
    assert_true(not router.policy_for(wrong.view()).needs_content)
    assert_equal(Int(router.serve(wrong.view()).status.code), 405)
    assert_equal(len(router.operations()), 1)


@fieldwise_init
struct _Small(Copyable, Handler):
    def serve(self, req: Request) raises -> Response:
        return ok("small")

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(max_body_size=9)


@fieldwise_init
struct _Upper(Copyable, WsHandler):
    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_text(String(message.as_text()).upper())


def test_ws_answers_handshakes() raises:
    comptime SOCKETS: List[ComptimeRoute] = [
        ComptimeRoute.ws[_Upper()]("/upper"),
    ]
    var router = ComptimeRouter[SOCKETS]()
    var request = OwnedRequest("GET", "/upper")
    # Refused as RFC 6455 section 4.2.1 says, without the fields.
    assert_true(Int(router.serve(request.view()).status.code) >= 400)
    request.add_header("Host", "example.com")
    request.add_header("Upgrade", "websocket")
    request.add_header("Connection", "Upgrade")
    request.add_header("Sec-WebSocket-Version", "13")
    request.add_header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    var response = router.serve(request.view())
    assert_equal(Int(response.status.code), 101)
    # RFC 6455 section 1.3.
    assert_equal(
        response.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    )
    assert_true(not router.policy_for(request.view()).blocks)


def _compressing() -> WsConfig:
    var config = WsConfig()
    config.compression = DeflateAgreement.widest()
    return config^


def test_ws_compresses_if_its_configuration_asks_for_it() raises:
    """RFC 7692 section 5.1; the agreement is a value of the compiler here, and
    so is what it brings along to decompress."""
    comptime SOCKETS: List[ComptimeRoute] = [
        ComptimeRoute.ws[_Upper()]("/plain"),
        ComptimeRoute.ws[_Upper(), _compressing()]("/compressed"),
    ]
    var router = ComptimeRouter[SOCKETS]()
    for path in ["/plain", "/compressed"]:
        var request = OwnedRequest("GET", path)
        request.add_header("Host", "example.com")
        request.add_header("Upgrade", "websocket")
        request.add_header("Connection", "Upgrade")
        request.add_header("Sec-WebSocket-Version", "13")
        request.add_header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        request.add_header("Sec-WebSocket-Extensions", "permessage-deflate")
        var response = router.serve(request.view())
        assert_equal(Int(response.status.code), 101)
        var agreed = response.headers.get("sec-websocket-extensions")
        if path == "/plain":
            assert_true(not agreed)
        else:
            assert_equal(String(agreed.value()), "permessage-deflate")
