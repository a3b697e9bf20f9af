"""Sessions around a handler, as clients with a cookie jar see them."""

from flare.http.client.message.request import ClientRequest
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import PathInt
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.session.session import SessionConfig
from flare.http.session.signing_keys import SigningKeys
from flare.http.middleware.sessions import CurrentSession, Sessions
from flare.http.routing.router import Router
from flare.sys.clock import unix_seconds
from flare.testing.test_client import TestClient
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime _NEW = "new-key-new-key-new-key-new-key-!"
comptime _OLD = "old-key-old-key-old-key-old-key-!"


def _config() -> SessionConfig:
    return SessionConfig("sid", 3_600, is_secure=False)


def _who(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def _login(req: Request) raises -> Response:
    var session = CurrentSession.of(req)
    session[].set("user", req.query_param("user"))
    return ok()


def _logout(req: Request) raises -> Response:
    CurrentSession.of(req)[].clear()
    return ok()


def _fail(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("user", "half done")
    raise Error("no luck")


def _renew(req: Request) raises -> Response:
    CurrentSession.of(req)[].renew()
    return ok()


def _token(req: Request) raises -> Response:
    return ok(CurrentSession.of(req).csrf_token())


def _check(req: Request) raises -> Response:
    var is_good = CurrentSession.of(req).has_csrf_token(
        req.headers["x-csrf-token"]
    )
    return Response(200 if is_good else 403)


def _plain(req: Request) raises -> Response:
    return ok("the same for all")


def test_what_no_session_can_be_kept_by_is_not_served() raises:
    """RFC 6265bis sections 4.1 and 5.7: browsers would not take the cookie."""
    var rows: List[Tuple[SessionConfig, String]] = [
        (SessionConfig(""), "a name is letters"),
        (SessionConfig("my session"), "a name is letters"),
        (SessionConfig("sid\r\nX: y"), "a name is letters"),
        (SessionConfig("__Host-sid", is_secure=False), "__Host- needs Secure"),
        (SessionConfig("__Secure-sid", is_secure=False), "__Secure- needs"),
        (SessionConfig("sid", 0), "max_age_s is 0"),
        (SessionConfig("sid", -1), "max_age_s is -1"),
        (SessionConfig("sid", Int.MAX), "allowed are 1 to 3162240000"),
    ]
    for row in rows:
        with assert_raises(contains=row[1]):
            _ = TestClient(
                Sessions(_router(), SigningKeys(_NEW), row[0].copy())
            )
    for name in ["__Host-sid", "__Secure-sid", "s"]:
        _ = TestClient(
            Sessions(_router(), SigningKeys(_NEW), SessionConfig(name, 1))
        )


def test_a_problem_further_in_is_told_of() raises:
    var router = Router()
    router.get("/users/:id", Extracted[_Other]())
    var keys = SigningKeys(_NEW)
    with assert_raises(contains="takes the path parameter 'idd'"):
        _ = TestClient(Sessions(router^, keys^))


@fieldwise_init
struct _Other(Endpoint):
    var id: PathInt["idd"]

    def serve(self) raises -> Response:
        return ok()


@fieldwise_init
struct _Mine(Endpoint):
    """The session as a field."""

    var session: CurrentSession

    def serve(self) raises -> Response:
        self.session[].set("seen", "yes")
        return ok(self.session[].get("user").or_else("nobody"))


def _router() raises -> Router:
    var router = Router()
    router.get("/who", _who)
    router.get("/login", _login)
    router.get("/logout", _logout)
    router.get("/fail", _fail)
    router.get("/token", _token)
    router.get("/renew", _renew)
    router.get("/check", _check)
    router.get("/plain", _plain)
    router.get("/mine", Extracted[_Mine]())
    return router^


def _client(var keys: SigningKeys) raises -> TestClient:
    return TestClient(Sessions(_router(), keys^, _config()))


def test_cookie_only_if_changed() raises:
    var client = _client(SigningKeys(_NEW))
    var response = client.get("/who")
    assert_equal(response.text(), "nobody")
    assert_false("set-cookie" in response.headers)
    assert_equal(response.headers["vary"], "Cookie")
    response = client.get("/login?user=ann")
    var line = String(response.headers["set-cookie"])
    assert_true(line.startswith("sid="), line)
    for attribute in ["Path=/", "Max-Age=3600", "HttpOnly", "SameSite=Lax"]:
        assert_true(attribute in line, line)
    assert_false("Secure" in line, line)
    response = client.get("/who")
    assert_equal(response.text(), "ann")
    assert_false("set-cookie" in response.headers)
    response = client.get("/plain")
    assert_false("vary" in response.headers)
    assert_false("set-cookie" in response.headers)
    response = client.get("/logout")
    assert_true("Max-Age=0" in response.headers["set-cookie"])
    assert_equal(client.get("/who").text(), "nobody")


def test_an_error_changes_nothing() raises:
    var client = _client(SigningKeys(_NEW))
    _ = client.get("/login?user=ann")
    with assert_raises(contains="no luck"):
        _ = client.get("/fail")
    client.hides_errors = True
    assert_false("set-cookie" in client.get("/fail").headers)
    assert_equal(client.get("/who").text(), "ann")


def test_too_much_for_a_cookie() raises:
    var client = _client(SigningKeys(_NEW))
    var message = String()
    try:
        _ = client.get("/login?user=" + "x" * 5_000)
    except error:
        message = String(error)
    assert_true("4,096 bytes" in message, message)
    # What is in a session is nothing for a log.
    assert_false("eHh4" in message, message)


@fieldwise_init
struct _Row(Copyable, Movable):
    """A cookie, by who has signed it for what and when."""

    var rule: StaticString
    var key: String
    var purpose: StaticString
    var age_s: Int
    var user: StaticString
    var is_renewed: Bool


def test_what_is_believed() raises:
    var rows: List[_Row] = [
        _Row("newest key", _NEW, "sid", 0, "ann", False),
        _Row("older key: signed again", _OLD, "sid", 0, "ann", True),
        _Row("strange key", "x" * 32, "sid", 0, "nobody", False),
        _Row("other purpose", _NEW, "other", 0, "nobody", False),
        _Row("nearly too old", _NEW, "sid", 3_590, "ann", False),
        _Row("too old", _NEW, "sid", 3_610, "nobody", False),
        _Row("too old, older key", _OLD, "sid", 3_610, "nobody", False),
    ]
    for row in rows:
        var signed = SigningKeys(row.key).sign(
            row.purpose, "user=ann", unix_seconds() - row.age_s
        )
        var client = _client(SigningKeys(_NEW, _OLD))
        var request = ClientRequest("GET", "/who")
        request.set_header("Cookie", "sid=" + signed)
        var response = client.send(request^)
        assert_equal(response.text(), row.user, row.rule)
        var is_renewed = "set-cookie" in response.headers
        assert_equal(is_renewed, row.is_renewed, row.rule)
        if is_renewed:
            # The old key may go now.
            var cookie = String(response.headers["set-cookie"])
            var next = _client(SigningKeys(_NEW))
            var again = ClientRequest("GET", "/who")
            again.set_header("Cookie", String(cookie.split(";")[0]))
            assert_equal(next.send(again^).text(), "ann", row.rule)


def test_endpoint() raises:
    var client = _client(SigningKeys(_NEW))
    _ = client.get("/login?user=ann")
    var response = client.get("/mine")
    assert_equal(response.text(), "ann")
    assert_true("set-cookie" in response.headers)
    assert_false("set-cookie" in client.get("/who").headers)
    var bare = TestClient(_router())
    with assert_raises(contains="serve Sessions(router^, keys^)"):
        _ = bare.get("/mine")
    with assert_raises(contains="serve Sessions(router^, keys^)"):
        _ = bare.get("/who")


def _status(mut client: TestClient, token: StringSpan) raises -> Int:
    var request = ClientRequest("GET", "/check")
    request.set_header("X-Csrf-Token", token)
    return client.send(request^).status.code


def test_csrf_tokens() raises:
    var ann = _client(SigningKeys(_NEW))
    assert_equal(_status(ann, "A" * 64), 403)
    _ = ann.get("/login?user=ann")
    var first = ann.get("/token")
    assert_true("set-cookie" in first.headers)
    var second = ann.get("/token")
    assert_false("set-cookie" in second.headers)
    assert_true(first.text() != second.text())
    assert_equal(_status(ann, first.text()), 200)
    assert_equal(_status(ann, second.text()), 200)
    var other = "B" if first.text().startswith("A") else "A"
    assert_equal(_status(ann, String(other, first.text()[byte=1:])), 403)
    var bob = _client(SigningKeys(_NEW))
    _ = bob.get("/login?user=ann")
    _ = bob.get("/token")
    assert_equal(_status(bob, first.text()), 403)
    _ = ann.get("/logout")
    _ = ann.get("/login?user=ann")
    assert_equal(_status(ann, first.text()), 403)


def test_renewed_sessions_have_other_tokens() raises:
    """Who has planted a session on somebody knows tokens of it."""
    var ann = _client(SigningKeys(_NEW))
    _ = ann.get("/login?user=ann")
    var planted = ann.get("/token").text()
    _ = ann.get("/renew")
    assert_equal(_status(ann, planted), 403)
    assert_equal(ann.get("/who").text(), "ann")
    assert_equal(_status(ann, ann.get("/token").text()), 200)


def test_a_cookie_of_another_page_does_not_end_a_session() raises:
    var client = _client(SigningKeys(_NEW))
    _ = client.get("/login?user=ann")
    var octets: List[UInt8] = [120, 61, 0xFF, 59, 32]
    octets.extend(client.cookies.to_request_header().as_bytes())
    var request = ClientRequest("GET", "/who")
    request.set_header("Cookie", StringSpan(unsafe_from_utf8=octets))
    assert_equal(client.send(request^).text(), "ann")
