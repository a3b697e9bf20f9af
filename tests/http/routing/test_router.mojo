"""The router: which route a request takes, and what it captures."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.handler.handler import DEFAULT_BODY_LIMIT, Handler
from flare.http.handler.route_memo import (
    RouteMatch,
    RouteMemo,
    erase_memo,
    recall,
)
from flare.http.routing.router import Router
from flare.http.handler.any_handler import Streamed
from flare.testing.test_client import TestClient
from std.memory import OwnedPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Named(Handler):
    """Answers with its name and all that was captured."""

    var name: String

    def serve(self, req: Request) raises -> Response:
        var text = String(self.name)
        ref params = req.route_params()[]
        for index in range(len(params)):
            var param = params.at(index)
            text.write(" ", param.name, "=", param.value)
        return ok(text^)


def _quiet(req: Request) -> Response:
    return ok("quiet")


def _raising(req: Request) raises -> Response:
    return ok("hi " + req.param("name") + req.param("none"))


def _ask(
    router: Router, method: StringSpan, target: StringSpan
) raises -> String:
    """Gives status, Allow and content of the router's answer."""
    var owned = OwnedRequest(method, target)
    var response = router.serve(owned.view())
    var text = String(response.status, " ")
    var allow = response.headers.get("allow")
    if allow:
        text.write("[", allow.value(), "] ")
    text.write(response.body)
    return text^


def _limit(router: Router, method: StringSpan, target: StringSpan) -> Int:
    """Gives the body limit that the router chooses."""
    var owned = OwnedRequest(method, target)
    return router.policy_for(owned.view()).max_body_size


def _router() raises -> Router:
    var router = Router()
    router.get("/", _Named("root"))
    router.get("/users", _Named("users"))
    router.get("/users/", _Named("users-slash"))
    router.get("/users/new", _Named("new"))
    router.get("/users/:id", _Named("user"))
    router.post("/users/:name", _Named("post-user"))
    router.get("/users/:id/posts/:post", _Named("post"))
    router.get("/users/new/drafts", _Named("drafts"))
    router.get("/files/*path", _Named("file"))
    router.get("/files/index", _Named("index"))
    router.put("/both", _Named("put"))
    router.all("/both", _Named("all"))
    router.head("/own-head", _Named("head"))
    router.get("/own-head", _Named("get"))
    router.all("/own-head", _Named("all"))
    router.get("/shop/:id", _Named("item"))
    router.all("/shop/:id", _Named("any-item"))
    router.all("/shop/*rest", _Named("shop"))
    router.options("/own-options", _Named("options"))
    router.get("/a b", _Named("space"))
    router.get("/quiet", _quiet)
    router.get("/raising/:name", _raising)
    return router^


@fieldwise_init
struct _Row(Copyable, Movable):
    var method: StaticString
    var target: StaticString
    var answer: StaticString


def test_routes() raises:
    var router = _router()
    var rows: List[_Row] = [
        _Row("GET", "/", "200 root"),
        _Row("GET", "/users", "200 users"),
        _Row("GET", "/users/", "200 users-slash"),
        _Row("GET", "/users?x=1", "200 users"),
        _Row("GET", "http://h/users", "200 users"),
        _Row("GET", "/users/new", "200 new"),
        _Row("GET", "/users/7", "200 user id=7"),
        _Row("POST", "/users/7", "200 post-user name=7"),
        _Row("POST", "/users/new", "200 post-user name=new"),
        _Row("GET", "/users/new/posts/1", "200 post id=new post=1"),
        _Row("GET", "/users/new/drafts", "200 drafts"),
        _Row("GET", "/users/7/posts/", "404 not found: /users/7/posts/"),
        _Row("GET", "/users//posts/1", "404 not found: /users//posts/1"),
        _Row("GET", "/files/", "200 file path="),
        _Row("GET", "/files/a/b//c", "200 file path=a/b//c"),
        _Row("GET", "/files/index", "200 index"),
        _Row("GET", "/files/index/x", "200 file path=index/x"),
        _Row("GET", "/files", "404 not found: /files"),
        _Row("PUT", "/both", "200 put"),
        _Row("GET", "/both", "200 all"),
        _Row("BREW", "/both", "200 all"),
        _Row("HEAD", "/users/7", "200 user id=7"),
        _Row("HEAD", "/own-head", "200 head"),
        # RFC 9110 section 9.3.2: HEAD is answered as GET is.
        _Row("GET", "/shop/7", "200 item id=7"),
        _Row("HEAD", "/shop/7", "200 item id=7"),
        _Row("PUT", "/shop/7", "200 any-item id=7"),
        _Row("HEAD", "/shop/7/x", "200 shop rest=7/x"),
        _Row("GET", "/quiet", "200 quiet"),
        _Row("GET", "/raising/bob", "200 hi bob"),
        _Row("GET", "/nope", "404 not found: /nope"),
        _Row("GET", "//users", "404 not found: //users"),
        _Row("GET", "/users/../users", "404 not found: /users/../users"),
    ]
    for row in rows:
        assert_equal(
            _ask(router, row.method, row.target), row.answer, row.target
        )


def test_decoding() raises:
    var router = _router()
    var rows: List[_Row] = [
        _Row("GET", "/a%20b", "200 space"),
        _Row("GET", "/%75sers", "200 users"),
        _Row("GET", "/users/a%2Fb", "200 user id=a/b"),
        _Row("GET", "/users/%C3%A4", "200 user id=ä"),
        _Row("GET", "/users/1%2B+2", "200 user id=1++2"),
        _Row("GET", "/files/%61/b%20c", "200 file path=a/b c"),
    ]
    for row in rows:
        assert_equal(
            _ask(router, row.method, row.target), row.answer, row.target
        )
    var malformed: List[StaticString] = [
        "/users/%",
        "/users/%zz",
        "/users/%ff",
        "/files/%c3",
    ]
    for target in malformed:
        assert_true(_ask(router, "GET", target).startswith("400 "), target)


def test_methods_that_are_not_there() raises:
    var router = _router()
    var rows: List[_Row] = [
        _Row(
            "DELETE",
            "/users",
            "405 [GET, HEAD, OPTIONS] the path does not take the method\n",
        ),
        _Row(
            "DELETE",
            "/users/7",
            "405 [GET, HEAD, POST, OPTIONS] the path does not take the method\n",
        ),
        _Row("OPTIONS", "/users/7", "204 [GET, HEAD, POST, OPTIONS] "),
        _Row("OPTIONS", "/own-options", "200 options"),
        _Row(
            "GET",
            "/own-options",
            "405 [OPTIONS] the path does not take the method\n",
        ),
        _Row("BREW", "/users", "501 the server does not know the method\n"),
        _Row("OPTIONS", "/nope", "404 not found: /nope"),
    ]
    for row in rows:
        assert_equal(
            _ask(router, row.method, row.target), row.answer, row.target
        )


def test_what_the_server_takes_as_a_whole() raises:
    """9110-9.3.7 `*`; no tunnels (9.3.6) and no TRACE (9.3.8)."""
    var router = _router()
    var answer = _ask(router, "OPTIONS", "*")
    assert_true(answer.startswith("204 [GET, HEAD, POST, "), answer)
    assert_true("DELETE" in answer, answer)
    assert_false("CONNECT" in answer, answer)
    assert_false("TRACE" in answer, answer)
    assert_equal(_ask(router, "OPTIONS", "http://h"), answer)
    assert_equal(_ask(router, "GET", "http://h"), "200 root")
    assert_equal(_ask(router, "GET", "http://h?x"), "200 root")


def _conflict(mut router: Router, pattern: StringSpan) -> String:
    try:
        router.get(pattern, _Named("again"))
    except error:
        return String(error)
    return ""


def test_conflicts_name_both_patterns() raises:
    var router = _router()
    assert_true("'/users/:id'" in _conflict(router, "/users/:other"))
    assert_true("'/users/:other'" in _conflict(router, "/users/:other"))
    assert_true("'/files/*path'" in _conflict(router, "/files/*rest"))
    assert_true("'/users'" in _conflict(router, "/users"))
    assert_equal(_conflict(router, "/files/:one"), "")


def test_mount_takes_routes_over() raises:
    var inner = Router()
    inner.get("/", _Named("inner-root"))
    inner.get("/:id", _Named("inner"))
    var router = _router()
    router.mount("/api/:version", inner^)
    assert_equal(_ask(router, "GET", "/api/v1/7"), "200 inner version=v1 id=7")
    assert_equal(_ask(router, "GET", "/api/v1"), "200 inner-root version=v1")


def test_a_mounted_fallback_answers_below_its_prefix() raises:
    """As `nest` of axum: the inner router's for all paths without a route at or
    below the prefix, the outer one's for the others; the most specific of several.
    """
    var deep = Router()
    deep.get("/x", _Named("deep"))
    deep.fallback(_Named("deep-fallback"))
    var inner = Router()
    inner.get("/users/:id", _Named("inner"))
    inner.mount("/deep", deep^)
    inner.fallback(_Named("inner-fallback"))
    var bare = Router()
    bare.get("/x", _Named("bare"))
    var router = Router()
    router.get("/api/v1/own", _Named("own"))
    router.mount("/api/:version", inner^)
    router.mount("/bare", bare^)
    var rows: List[_Row] = [
        _Row("GET", "/api/v1/users/7", "200 inner version=v1 id=7"),
        _Row("GET", "/api/v1/own", "200 own"),
        _Row("GET", "/api/v1", "200 inner-fallback version=v1"),
        _Row("GET", "/api/v1/", "200 inner-fallback version=v1"),
        _Row("POST", "/api/v%201/a/b", "200 inner-fallback version=v 1"),
        _Row("BREW", "/api/v1/a", "200 inner-fallback version=v1"),
        _Row("GET", "/api/v1/deep/x", "200 deep version=v1"),
        _Row("GET", "/api/v1/deep/y", "200 deep-fallback version=v1"),
        _Row("GET", "/api/v1/deep", "200 deep-fallback version=v1"),
        _Row("GET", "/api/v1/deeper", "200 inner-fallback version=v1"),
        _Row(
            "POST",
            "/api/v1/users/7",
            "405 [GET, HEAD, OPTIONS] the path does not take the method\n",
        ),
        _Row("GET", "/bare/y", "404 not found: /bare/y"),
        _Row("GET", "/api", "404 not found: /api"),
        _Row("GET", "/apis/v1/a", "404 not found: /apis/v1/a"),
    ]
    for row in rows:
        assert_equal(
            _ask(router, row.method, row.target), row.answer, row.target
        )
    assert_true(
        _ask(router, "OPTIONS", "*").startswith("204 "), "the whole server"
    )
    router.fallback(_Named("outer"))
    assert_equal(_ask(router, "GET", "/bare/y"), "200 outer")
    assert_equal(
        _ask(router, "GET", "/api/v1/a"), "200 inner-fallback version=v1"
    )


def test_a_mounted_fallback_says_what_it_needs() raises:
    var inner = Router()
    inner.fallback(Streamed(_quiet))
    var router = Router()
    router.get("/", _quiet)
    router.mount("/in", inner^)
    assert_true(router.claims().streams)
    var below = OwnedRequest("POST", "/in/a")
    assert_true(router.policy_for(below.view()).streams)
    var beside = OwnedRequest("POST", "/out")
    assert_false(router.policy_for(beside.view()).streams)
    assert_false(router.policy_for(beside.view()).needs_content)


def test_two_fallbacks_below_a_prefix_are_refused() raises:
    var router = Router()
    var first = Router()
    first.fallback(_quiet)
    router.mount("/api/:version", first^)
    var second = Router()
    second.get("/a", _quiet)
    second.fallback(_quiet)
    var said = String()
    try:
        router.mount("/api/:other", second^)
    except error:
        said = String(error)
    assert_true("two fallbacks" in said, said)
    assert_true("'/api/:version'" in said and "'/api/:other'" in said, said)


def test_a_mount_that_conflicts_changes_nothing() raises:
    var inner = Router()
    inner.get("/one", _Named("one"))
    inner.get("/two", _Named("two"))
    inner.fallback(_Named("fallback"))
    var router = Router()
    router.get("/api/two", _Named("own"))
    var said = String()
    try:
        router.mount("/api", inner^)
    except error:
        said = String(error)
    assert_true("'/api/two'" in said, said)
    assert_equal(_ask(router, "GET", "/api/one"), "404 not found: /api/one")
    assert_equal(_ask(router, "GET", "/api/none"), "404 not found: /api/none")
    assert_equal(_ask(router, "GET", "/api/two"), "200 own")
    assert_equal(len(router.operations()), 1)
    # A name that stands in the prefix, too.
    var named = Router()
    named.get("/one", _Named("one"))
    named.get("/:id", _Named("two"))
    said = String()
    try:
        router.mount("/:id", named^)
    except error:
        said = String(error)
    assert_true("a name stands once" in said, said)
    assert_equal(_ask(router, "GET", "/x/one"), "404 not found: /x/one")


def test_mount_refuses_a_prefix_that_ends_with_a_slash() raises:
    var router = Router()
    try:
        router.mount("/api/", Router())
    except error:
        assert_true("'/api/'" in String(error))
        return
    raise Error("the prefix was taken")


def test_fallback() raises:
    var router = _router()
    router.fallback(_Named("fallback"))
    assert_equal(_ask(router, "GET", "/nope"), "200 fallback")
    assert_equal(_ask(router, "GET", "/users"), "200 users")


def test_fallback_chooses_its_own_body_limit() raises:
    var inner = Router()
    inner.post("/up", _quiet, max_body_size=7)
    var router = Router()
    router.get("/got", _quiet)
    router.fallback(inner^)
    assert_equal(_limit(router, "POST", "/up"), 7)
    assert_equal(_limit(router, "POST", "/nope"), DEFAULT_BODY_LIMIT)
    assert_equal(_limit(router, "POST", "/got"), DEFAULT_BODY_LIMIT)


def test_a_router_is_a_handler_and_may_be_nested() raises:
    var inner = Router()
    inner.get("/n/:id/*rest", _Named("nested"))
    var outer = Router()
    outer.get("/n/*all", inner^)
    assert_equal(
        _ask(outer, "GET", "/n/1/b%20c"),
        "200 nested all=1/b c id=1 rest=b c",
    )


def test_ten_thousand_routes() raises:
    var router = Router()
    for number in range(10_000):
        router.get(String("/r", number, "/:id"), _Named(String(number)))
    assert_equal(_ask(router, "GET", "/r0/a"), "200 0 id=a")
    assert_equal(_ask(router, "GET", "/r9999/b"), "200 9999 id=b")
    assert_equal(_ask(router, "GET", "/r10000/b"), "404 not found: /r10000/b")


def test_every_kind_of_route_may_have_a_limit() raises:
    var router = Router()
    router.post("/post", _quiet, max_body_size=1)
    router.all("/all", _quiet, max_body_size=2)
    router.route("PUT", "/put", _quiet, max_body_size=3)
    router.post("/default", _quiet)
    assert_equal(_limit(router, "POST", "/post"), 1)
    assert_equal(_limit(router, "PATCH", "/all"), 2)
    assert_equal(_limit(router, "PUT", "/put"), 3)
    assert_equal(_limit(router, "POST", "/default"), -1)
    assert_equal(_limit(router, "POST", "/none"), -1)


def test_routes_tell_whether_they_stream() raises:
    var inner = Router()
    inner.post("/mounted", Streamed(_quiet))
    assert_true(inner.claims().streams)
    var router = Router()
    router.get("/", _quiet)
    assert_true(not router.claims().streams)
    router.post("/stream", Streamed(_raising))
    router.get("/stream", _quiet)
    router.mount("/in", inner^)
    var rows = [
        ("POST", "/stream", True),
        ("GET", "/stream", False),
        ("PUT", "/stream", False),
        ("POST", "/in/mounted", True),
        ("POST", "/none", False),
        ("POST", "/%zz", False),
    ]
    for row in rows:
        var owned = OwnedRequest(row[0], row[1])
        assert_equal(router.policy_for(owned.view()).streams, row[2], row[1])
    assert_true(router.claims().streams)
    var other = Router()
    other.fallback(Streamed(_quiet))
    assert_true(other.claims().streams)
    var owned = OwnedRequest("POST", "/none")
    assert_true(other.policy_for(owned.view()).streams)


def test_what_the_router_answers_by_itself_needs_no_content() raises:
    var router = Router()
    router.post("/post", _quiet, may_block=False)
    var rows = [
        ("POST", "/post", True),
        # RFC 9110 section 15.5.6: a wrong method.
        ("PUT", "/post", False),
        ("OPTIONS", "/post", False),
        # RFC 9110 section 15.5.5: no such resource.
        ("POST", "/none", False),
        ("POST", "/%zz", False),
        ("OPTIONS", "*", False),
    ]
    for row in rows:
        var owned = OwnedRequest(row[0], row[1])
        var policy = router.policy_for(owned.view())
        assert_equal(policy.needs_content, row[2], row[1])
        assert_true(not policy.blocks, row[1])
    router.fallback(_quiet)
    var owned = OwnedRequest("POST", "/none")
    assert_true(router.policy_for(owned.view()).needs_content)


def test_any_is_all() raises:
    var router = Router()
    router.any("/both", _Named("any"))
    router.get("/both", _Named("get"))
    var client = TestClient(router^)
    assert_equal(client.get("/both").text(), "get")
    assert_equal(client.delete("/both").text(), "any")


def _text(response: Response) -> String:
    return String(response.body)


def test_a_route_is_looked_for_once() raises:
    var router = _router()
    var owned = OwnedRequest("GET", "/users/7")
    var req = owned.view()
    var memo = OwnedPointer(RouteMemo())
    req.route_params()[].route_memo = erase_memo(memo[])
    _ = router.policy_for(req)
    var found = RouteMatch()
    assert_true(recall(req, router.identity(), found))
    assert_equal(found.capture_count, 1)
    var by_memo = _text(router.serve(req))
    req.route_params()[].clear()
    assert_equal(_text(router.serve(req)), by_memo)
    # It is the memo that decides: with another route in it, that one answers.
    var other = OwnedRequest("GET", "/users")
    var wrong = RouteMatch()
    other.view().route_params()[].route_memo = erase_memo(memo[])
    memo[].forget()
    _ = router.policy_for(other.view())
    assert_true(recall(other.view(), router.identity(), wrong))
    memo[].forget()
    memo[].keep(req, router.identity(), wrong)
    req.route_params()[].clear()
    req.route_params()[].route_memo = erase_memo(memo[])
    assert_equal(_text(router.serve(req)), "users")
    _ = memo^


def test_a_route_is_for_its_own_request_and_router() raises:
    var router = _router()
    var owned = OwnedRequest("GET", "/users")
    var req = owned.view()
    var memo = OwnedPointer(RouteMemo())
    req.route_params()[].route_memo = erase_memo(memo[])
    _ = router.policy_for(req)
    var found = RouteMatch()
    for row in [("GET", "/userz"), ("POST", "/users"), ("GET", "/users/")]:
        # Middleware may hand on another request with the same storage.
        var changed = OwnedRequest(row[0], row[1])
        changed.view().route_params()[].route_memo = erase_memo(memo[])
        assert_false(recall(changed.view(), router.identity(), found), row[1])
    var inner = _router()
    _ = inner.policy_for(req)
    assert_false(recall(req, inner.identity(), found), "the outer one's stays")
    assert_true(recall(req, router.identity(), found))
    memo[].forget()
    assert_false(recall(req, router.identity(), found))
    _ = memo^
