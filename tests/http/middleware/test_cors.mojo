"""CORS (Fetch Standard section 3.3): preflights, origins, contradictions."""

from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.cors import Cors, CorsPolicy
from flare.http.handler.handler import FnHandler
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true

comptime APP = StaticString("https://app.example.com")


def _hello(req: Request) raises -> Response:
    var response = ok("hello")
    response.headers.set("Vary", "Accept")
    return response^


def _policy() -> CorsPolicy:
    return CorsPolicy(
        [String(APP), "null"],
        methods="GET, PUT",
        exposed="X-Total",
        credentials=True,
        max_age_s=60,
    )


def _ask(
    mut client: TestClient,
    method: StringSpan,
    origin: StringSpan,
    wanted: StringSpan = "",
    fields: StringSpan = "",
) raises -> ClientResponse:
    var request = ClientRequest(String(method), "/")
    if origin.byte_length() > 0:
        request.set_header("Origin", origin)
    if wanted.byte_length() > 0:
        request.set_header("Access-Control-Request-Method", wanted)
    if fields.byte_length() > 0:
        request.set_header("Access-Control-Request-Headers", fields)
    return client.send(request^)


def _field(response: ClientResponse, name: StringSpan) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String("-")


def test_any_origin() raises:
    var client = TestClient(Cors(FnHandler(_hello)))
    var bare = _ask(client, "GET", "")
    # Fetch 3.3.4 "CORS protocol and HTTP caches": what a cache keeps of this
    # answer may go to a page of another origin.
    assert_equal(_field(bare, "access-control-allow-origin"), "*")
    assert_equal(_field(bare, "vary"), "Accept")
    var response = _ask(client, "GET", "https://a.example")
    assert_equal(_field(response, "access-control-allow-origin"), "*")
    assert_equal(_field(response, "access-control-allow-credentials"), "-")
    assert_equal(response.text(), "hello")


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var origin: StaticString
    var allowed: StaticString


def test_origins_are_compared_whole() raises:
    var rows: List[_Row] = [
        _Row("listed", APP, APP),
        _Row("null, if it is listed", "null", "null"),
        _Row("another", "https://evil.example", "-"),
        _Row("longer", "https://app.example.com.evil.example", "-"),
        _Row("shorter", "https://app.example.co", "-"),
        _Row("other scheme", "http://app.example.com", "-"),
        _Row("other port", "https://app.example.com:8443", "-"),
        _Row("other case: browsers send lower", "https://APP.example.com", "-"),
        _Row("star is no origin", "*", "-"),
    ]
    var client = TestClient(Cors(FnHandler(_hello), _policy()))
    for row in rows:
        var response = _ask(client, "GET", row.origin)
        assert_equal(
            _field(response, "access-control-allow-origin"),
            row.allowed,
            row.rule,
        )
        var is_allowed = row.allowed != "-"
        assert_equal(
            _field(response, "access-control-allow-credentials"),
            "true" if is_allowed else "-",
            row.rule,
        )
        assert_equal(
            _field(response, "access-control-expose-headers"),
            "X-Total" if is_allowed else "-",
            row.rule,
        )
        assert_equal(response.text(), "hello", row.rule)
        var vary = String()
        for index in range(len(response.headers)):
            if response.headers.name(index) == "Vary":
                vary.write(response.headers.value(index), ";")
        assert_equal(vary, "Accept;Origin;", row.rule)


def test_several_origins_are_let_in_by_none() raises:
    """RFC 6454 section 7.3: one field at most."""
    var client = TestClient(Cors(FnHandler(_hello), _policy()))
    for method in ["GET", "OPTIONS"]:
        for other in ["https://evil.example", String(APP)]:
            var request = ClientRequest(method, "/")
            request.set_header("Origin", APP)
            request.headers.append("Origin", other)
            request.set_header("Access-Control-Request-Method", "PUT")
            var response = client.send(request^)
            assert_equal(_field(response, "access-control-allow-origin"), "-")
            if method == "OPTIONS":
                assert_equal(response.status.code, 403)


def test_vary_without_an_origin() raises:
    var client = TestClient(Cors(FnHandler(_hello), _policy()))
    var response = _ask(client, "GET", "")
    assert_true("Origin" in String(response.headers))


def test_preflight() raises:
    var client = TestClient(Cors(FnHandler(_hello), _policy()))
    var response = _ask(client, "OPTIONS", APP, "PUT", "x-token")
    assert_equal(response.status.code, 204)
    assert_equal(_field(response, "access-control-allow-origin"), APP)
    assert_equal(_field(response, "access-control-allow-methods"), "GET, PUT")
    assert_equal(_field(response, "access-control-allow-headers"), "x-token")
    assert_equal(_field(response, "access-control-allow-credentials"), "true")
    assert_equal(_field(response, "access-control-max-age"), "60")
    assert_true("Access-Control-Request-Method" in _field(response, "vary"))
    var refused = _ask(client, "OPTIONS", "https://evil.example", "PUT")
    assert_equal(refused.status.code, 403)
    assert_equal(_field(refused, "access-control-allow-origin"), "-")


def test_preflight_of_any_origin() raises:
    var policy = CorsPolicy(["*"], headers="X-A, X-B")
    var client = TestClient(Cors(FnHandler(_hello), policy^))
    var response = _ask(client, "OPTIONS", "https://a.example", "PUT", "x-c")
    assert_equal(_field(response, "access-control-allow-origin"), "*")
    assert_equal(_field(response, "access-control-allow-headers"), "X-A, X-B")


def test_options_that_are_no_preflight_go_through() raises:
    var client = TestClient(Cors(FnHandler(_hello)))
    assert_equal(_ask(client, "OPTIONS", APP).text(), "hello")
    assert_equal(_ask(client, "OPTIONS", "", "PUT").text(), "hello")


def test_contradictions_are_refused() raises:
    with assert_raises(contains="'origins' is empty"):
        _ = Cors(FnHandler(_hello), CorsPolicy())
    with assert_raises(contains="stands alone"):
        _ = Cors(FnHandler(_hello), CorsPolicy(["*", String(APP)]))
    with assert_raises(contains="'credentials' with origin '*'"):
        _ = Cors(FnHandler(_hello), CorsPolicy(["*"], credentials=True))
    for origin in [
        "app.example.com",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://",
        "://app.example.com",
        "https://app.example.com?x",
        "https://app.example.com#x",
        "https://ann@app.example.com",
        "https://app.example.com\\x",
        "https://app.example.com ",
        "https://app.exa\nmple.com",
        "https://app example.com",
        "https://app.example.com:port",
        "https://app.example.com:65536",
        "file:///a",
    ]:
        with assert_raises(contains="is no origin"):
            _ = Cors(FnHandler(_hello), CorsPolicy([String(origin)]))
    # Fetch standard, CORS protocol and credentials.
    for number in range(3):
        var policy = CorsPolicy([String(APP)], credentials=True)
        if number == 0:
            policy.methods = "*"
        elif number == 1:
            policy.headers = " * "
        else:
            policy.exposed = "*"
        with assert_raises(contains="browsers take '*' for a name"):
            _ = Cors(FnHandler(_hello), policy^)
    _ = Cors(FnHandler(_hello), CorsPolicy([String(APP)], headers="*"))


def test_a_star_is_no_part_of_an_origin() raises:
    """Fetch 3.3.3: an origin is compared whole, so that such a one is met by
    none."""
    for origin in ["https://*.example.com", "*://app.example.com", "https://*"]:
        with assert_raises(contains="stands for no origins"):
            _ = Cors(FnHandler(_hello), CorsPolicy([String(origin)]))


def test_a_policy_that_cannot_be_sent() raises:
    # RFC 9110 section 5.5, and section 1.2.2 of RFC 9111 by way of Fetch 3.3.3.
    for number in range(4):
        var policy = CorsPolicy([String(APP)])
        var contains = StaticString("octet")
        if number == 0:
            policy.methods = "GET\r\nX-A: b"
        elif number == 1:
            policy.headers = "X-A\n"
        elif number == 2:
            policy.exposed = "X-A\0"
        else:
            policy.max_age_s = -1
            contains = "'max_age_s' is -1"
        with assert_raises(contains=String(contains)):
            _ = Cors(FnHandler(_hello), policy^)
    _ = Cors(FnHandler(_hello), CorsPolicy([String(APP)], max_age_s=0))
    _ = Cors(FnHandler(_hello), CorsPolicy([String(APP)], max_age_s=Int.MAX))


def _failing(req: Request) raises -> Response:
    raise Error("the secret")


def test_the_answer_to_an_error_is_let_in() raises:
    """Fetch 3.3: a page cannot read a response without the field, and its
    browser would tell of CORS in place of the 500."""
    var client = TestClient(Cors(FnHandler(_failing), _policy()))
    client.hides_errors = True
    for origin, allowed in [
        ("https://app.example.com", "https://app.example.com"),
        ("https://evil.example", "-"),
        ("", "-"),
    ]:
        var response = _ask(client, "GET", origin)
        assert_equal(response.status.code, 500)
        assert_equal(_field(response, "access-control-allow-origin"), allowed)
        assert_equal(_field(response, "vary"), "Origin")
        assert_true("secret" not in response.text())


def test_origins_stand_as_browsers_send_them() raises:
    # RFC 6454 section 6.2: in lower case, without a port that is the default.
    for origin, sent in [
        ("https://App.Example.com", "https://app.example.com"),
        ("HTTP://a.example", "http://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:80", "http://a.example"),
        ("https://a.example:", "https://a.example"),
        ("https://a.example:08443", "https://a.example:8443"),
        # URL Standard section 4.4: hosts have one form each.
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("https://[0:0::1]", "https://[::1]"),
    ]:
        with assert_raises(contains=String("as '", sent, "'")):
            _ = Cors(FnHandler(_hello), CorsPolicy([String(origin)]))
    for origin in [
        "http://a.example:443",
        "https://[::1]:8443",
        "chrome-extension://abcdef",
        "null",
    ]:
        _ = Cors(FnHandler(_hello), CorsPolicy([String(origin)]))


def _allowing(req: Request) raises -> Response:
    var response = Response(304)
    response.headers.set("Access-Control-Allow-Origin", APP)
    return response^


def test_any_origin_stands_once_and_on_every_status() raises:
    var client = TestClient(
        Cors(FnHandler(_allowing), CorsPolicy(["*"], exposed="X-Total"))
    )
    for origin in ["", "https://a.example"]:
        var response = _ask(client, "GET", origin)
        assert_equal(response.status.code, 304)
        assert_equal(
            _field(response, "access-control-expose-headers"), "X-Total"
        )
        var found = String()
        for index in range(len(response.headers)):
            if response.headers.name(index) == "Access-Control-Allow-Origin":
                found.write(response.headers.value(index), ";")
        assert_equal(found, "*;")
