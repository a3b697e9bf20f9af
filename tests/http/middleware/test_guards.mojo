"""Basic (RFC 7617) and bearer (RFC 6750) guards."""

from flare.http.client.connect.auth import BasicAuth, BearerAuth
from flare.http.client.message.request import ClientRequest
from flare.http.message.authorization import BasicCredentials
from flare.http.message.extensions import ExtensionScope
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.authentication import (
    KnownToken,
    KnownUsers,
    PasswordCheck,
    RequireBasicAuth,
    RequireBearerAuth,
    TokenCheck,
    principal,
)
from flare.http.middleware.rate_limit import RateLimit
from flare.http.handler.handler import FnHandler, Handler, HeadOnly
from flare.http.routing.router import Router
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _who(req: Request) raises -> Response:
    return ok(principal(req))


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var field: StaticString
    var status: Int
    var told: StaticString


def _check(mut client: TestClient, rows: List[_Row]) raises:
    for row in rows:
        var request = ClientRequest("GET", "/")
        if row.field.byte_length() > 0:
            request.set_header("Authorization", row.field)
        var response = client.send(request^)
        assert_equal(response.status.code, row.status, row.rule)
        if row.status == 200:
            assert_equal(response.text(), row.told, row.rule)
        else:
            assert_equal(
                response.headers["www-authenticate"], row.told, row.rule
            )


def test_basic() raises:
    comptime ASKS = StaticString('Basic realm="the attic", charset="UTF-8"')
    var users = KnownUsers("ann", "secret")
    users.add("bob", "pass:word")
    users.add("zoë", "ü")
    var client = TestClient(
        RequireBasicAuth(FnHandler(_who), users^, "the attic")
    )
    _check(
        client,
        [
            _Row("nothing sent", "", 401, ASKS),
            _Row("ann:secret", "Basic YW5uOnNlY3JldA==", 200, "ann"),
            _Row("scheme in any case", "bAsIc YW5uOnNlY3JldA==", 200, "ann"),
            _Row("a colon in it", "Basic Ym9iOnBhc3M6d29yZA==", 200, "bob"),
            _Row("7617-2.1 UTF-8", "Basic em/DqzrDvA==", 200, "zoë"),
            _Row("ann:secre", "Basic YW5uOnNlY3Jl", 401, ASKS),
            _Row("ann:secrett", "Basic YW5uOnNlY3JldHQ=", 401, ASKS),
            _Row("ann: (empty)", "Basic YW5uOg==", 401, ASKS),
            _Row("bob with ann's", "Basic Ym9iOnNlY3JldA==", 401, ASKS),
            _Row("no colon", "Basic YW5u", 401, ASKS),
            _Row("no base64", "Basic %%%", 401, ASKS),
            _Row("no padding", "Basic YW5uOnNlY3JldA", 401, ASKS),
            _Row("nothing behind", "Basic", 401, ASKS),
            _Row("another scheme", "Bearer YW5uOnNlY3JldA==", 401, ASKS),
            _Row("scheme run on", "BasicYW5uOnNlY3JldA==", 401, ASKS),
        ],
    )


def test_basic_with_the_client() raises:
    var client = TestClient(
        RequireBasicAuth(FnHandler(_who), KnownUsers("ann", "secret"))
    )
    var request = ClientRequest("GET", "/")
    request.auth = BasicAuth("ann", "secret")
    assert_equal(client.send(request^).text(), "ann")


def test_bearer() raises:
    comptime ASKS = StaticString('Bearer realm="restricted"')
    comptime BAD = StaticString(
        'Bearer realm="restricted", error="invalid_token"'
    )
    comptime MALFORMED = StaticString(
        'Bearer realm="restricted", error="invalid_request"'
    )
    var client = TestClient(
        RequireBearerAuth(FnHandler(_who), KnownToken("tok.en-1==", "ci"))
    )
    _check(
        client,
        [
            _Row("6750-3.1 nothing sent, no code", "", 401, ASKS),
            _Row("another scheme", "Basic YW5uOng=", 401, ASKS),
            _Row("good", "Bearer tok.en-1==", 200, "ci"),
            _Row("scheme in any case", "bearer tok.en-1==", 200, "ci"),
            _Row("wrong", "Bearer tok.en-2==", 401, BAD),
            _Row("too short", "Bearer tok.en-1=", 401, BAD),
            _Row("empty", "Bearer", 400, MALFORMED),
            _Row("two words", "Bearer tok en", 400, MALFORMED),
            _Row("token68 has no comma", "Bearer a,b", 400, MALFORMED),
            _Row("= at the end alone", "Bearer a=b", 400, MALFORMED),
        ],
    )
    var request = ClientRequest("GET", "/")
    request.auth = BearerAuth("tok.en-1==")
    assert_equal(client.send(request^).text(), "ci")


def test_two_authorization_fields_are_none() raises:
    """RFC 9110 section 5.3: it is no list, and others may read the other one."""
    var by_name = TestClient(
        RequireBasicAuth(FnHandler(_who), KnownUsers("ann", "secret"))
    )
    var by_token = TestClient(
        RequireBearerAuth(FnHandler(_who), KnownToken("good", "ci"))
    )
    for is_first in [True, False]:
        var ann = ClientRequest("GET", "/")
        var other = ClientRequest("GET", "/")
        var fields: List[String] = ["Basic YW5uOnNlY3JldA==", "Basic eDp5"]
        var tokens: List[String] = ["Bearer good", "Bearer bad"]
        for index in range(2):
            var place = index if is_first else 1 - index
            ann.headers.append("Authorization", fields[place])
            other.headers.append("Authorization", tokens[place])
        assert_equal(by_name.send(ann^).status.code, 401)
        assert_equal(by_token.send(other^).status.code, 401)


def test_realm_between_quotes() raises:
    for realm in ['a"b', "a\\b"]:
        with assert_raises(contains="without quotes"):
            _ = RequireBasicAuth(FnHandler(_who), KnownUsers(), realm)
    with assert_raises(contains="octet 10"):
        _ = RequireBearerAuth(FnHandler(_who), KnownToken("a", "b"), "a\nb")


def test_nobody_is_known_without_a_guard() raises:
    var client = TestClient(_who)
    with assert_raises(contains="RequireBasicAuth"):
        _ = client.get("/")


def _plain(req: Request) raises -> Response:
    return ok("plain")


@fieldwise_init
struct _Slow(PasswordCheck):
    """Must not be asked on the worker's own thread."""

    def allows(self, credentials: BasicCredentials) raises -> Bool:
        raise Error("it was asked")


def _needs_content[H: Handler](handler: H, field: StringSpan) raises -> Bool:
    var owned = OwnedRequest("POST", "/")
    if field.byte_length() > 0:
        owned.add_header("Authorization", field)
    return handler.policy_for(owned.view()).needs_content


def test_content_of_strangers_is_not_needed() raises:
    var basic = RequireBasicAuth(FnHandler(_who), KnownUsers("ann", "secret"))
    assert_true(not _needs_content(basic, ""))
    assert_true(not _needs_content(basic, "Basic ***"))
    assert_true(not _needs_content(basic, "Basic YW5uOnNlY3Jl"))
    assert_true(_needs_content(basic, "Basic YW5uOnNlY3JldA=="))
    var slow = RequireBasicAuth(FnHandler(_who), _Slow())
    assert_true(not _needs_content(slow, ""))
    assert_true(_needs_content(slow, "Basic YW5uOnNlY3Jl"))
    var bearer = RequireBearerAuth(FnHandler(_who), KnownToken("t0k", "ci"))
    assert_true(not _needs_content(bearer, ""))
    assert_true(not _needs_content(bearer, "Bearer t0"))
    assert_true(_needs_content(bearer, "Bearer t0k"))
    var limited = RateLimit(FnHandler(_plain), rate=0.001, burst=1)
    assert_true(_needs_content(limited, ""))
    assert_true(_needs_content(limited, ""), "asking takes no token")
    var owned = OwnedRequest("GET", "/")
    _ = limited.serve(owned.view())
    assert_true(not _needs_content(limited, ""))


@fieldwise_init
struct _SlowToken(TokenCheck):
    """Must not be asked on the worker's own thread."""

    def holder(self, token: StringSpan) raises -> Optional[String]:
        raise Error("it was asked")


def _is_asked_on_a_thread[
    H: Handler
](handler: H, field: StringSpan) raises -> Bool:
    var owned = OwnedRequest("POST", "/nowhere")
    owned.add_header("Authorization", field)
    var policy = handler.policy_for(owned.view())
    return policy.blocks and policy.needs_content


def test_slow_check_never_runs_on_the_loop() raises:
    """A stranger may ask for what the inner handler answers at once."""
    var slow = RequireBasicAuth(Router(), _Slow())
    assert_true(_is_asked_on_a_thread(slow, "Basic YW5uOnNlY3Jl"))
    var token = RequireBearerAuth(Router(), _SlowToken())
    assert_true(_is_asked_on_a_thread(token, "Bearer t0k"))
    # Without credentials it is not asked, and a quick one may be.
    assert_true(not _is_asked_on_a_thread(slow, "Basic ***"))
    assert_true(not _is_asked_on_a_thread(token, "Basic YW5uOnNlY3Jl"))
    var quick = RequireBasicAuth(Router(), KnownUsers("ann", "secret"))
    assert_true(not _is_asked_on_a_thread(quick, "Basic YW5uOnNlY3JldA=="))


def test_guard_refuses_what_was_refused_before_its_content() raises:
    """It might let the request pass now; the handler would miss the content."""
    var basic = RequireBasicAuth(FnHandler(_who), KnownUsers("ann", "secret"))
    var bearer = RequireBearerAuth(FnHandler(_who), KnownToken("t0k", "ci"))
    var limited = RateLimit(FnHandler(_plain), rate=0.001, burst=9)
    assert_equal(_by_head(basic, "Basic YW5uOnNlY3JldA=="), 401)
    assert_equal(_by_head(bearer, "Bearer t0k"), 401)
    assert_equal(_by_head(limited, ""), 429)


def _by_head[H: Handler](handler: H, field: StringSpan) raises -> Int:
    var owned = OwnedRequest("POST", "/")
    owned.add_header("Authorization", field)
    var request = owned.view()
    var note = HeadOnly()
    var scope = ExtensionScope(request.extensions(), note)
    var status = handler.serve(request).status.code
    scope^.end()
    return Int(status)
