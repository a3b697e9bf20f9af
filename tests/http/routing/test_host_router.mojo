"""The router by host: which handler a request's host leads to."""

from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.host_router import HostRouter
from flare.http.routing.router import Router
from flare.testing.test_client import TestClient
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Named(Handler):
    """Answers with its name, which is its body limit, too."""

    var name: String

    def serve(self, req: Request) raises -> Response:
        return ok(self.name)

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(max_body_size=self.name.byte_length())

    def refuse(self, req: Request, var response: Response) raises -> Response:
        return response^.with_header("X-By", self.name)


@fieldwise_init
struct _Claims(Handler):
    """Says all that a handler may say, and counts its end."""

    var end_count: ArcPointer[Int]

    def serve(self, req: Request) raises -> Response:
        return ok("")

    def claims(self) -> HandlerClaims:
        return HandlerClaims(streams=True, defers=True, upgrades=True)

    def drained(self):
        self.end_count[] += 1


def _hosts() raises -> HostRouter:
    var hosts = HostRouter()
    hosts.add("example.org", _Named("exact"))
    hosts.add("*.example.org", _Named("below"))
    hosts.add("*.deep.Example.org", _Named("deeper"))
    hosts.add("api.deep.example.org", _Named("api"))
    hosts.add("xn--bcher-kva.example", _Named("books"))
    hosts.add("under_score.example.", _Named("underscore"))
    hosts.add("localhost", _Named("local"))
    hosts.add("192.0.2.1", _Named("v4"))
    hosts.add("[2001:DB8:0::1]", _Named("v6"))
    return hosts^


@fieldwise_init
struct _Row(Copyable):
    var host: StaticString
    var name: StaticString
    """Empty if nothing answers."""


comptime _ROWS = [
    _Row("example.org", "exact"),
    # RFC 9110 section 4.2.3: the host is case-insensitive, a port is another
    # part.
    _Row("EXAMPLE.Org", "exact"),
    _Row("example.org:8080", "exact"),
    _Row("example.org:", "exact"),
    # RFC 3986 section 3.2.2: a dot at the end stands for the root.
    _Row("example.org.", "exact"),
    _Row("example.org.:80", "exact"),
    # `*.` is one label or more, never none.
    _Row("www.example.org", "below"),
    _Row("a.b.c.example.org", "below"),
    _Row("www.Example.ORG:443", "below"),
    # The longest `*` counts, an exact name before it.
    _Row("x.deep.example.org", "deeper"),
    _Row("deep.example.org", "below"),
    _Row("api.deep.example.org", "api"),
    _Row("v1.api.deep.example.org", "deeper"),
    _Row("notexample.org", ""),
    _Row("example.org.evil.net", ""),
    _Row("org", ""),
    # An empty label is no label.
    _Row(".example.org", ""),
    _Row("a..example.org", ""),
    _Row("example.org..", ""),
    _Row(".", ""),
    # A-labels are ASCII.
    _Row("XN--Bcher-KVA.example", "books"),
    _Row("under_score.example", "underscore"),
    _Row("localhost:3000", "local"),
    _Row("192.0.2.1:80", "v4"),
    _Row("192.0.2.10", ""),
    # Addresses are compared as such (RFC 5952 section 4).
    _Row("[2001:db8::1]", "v6"),
    _Row("[2001:db8:0:0:0:0:0:1]:8443", "v6"),
    _Row("[2001:db8::2]", ""),
    _Row("[::192.0.2.1", ""),
    _Row("[192.0.2.1]", ""),
    # RFC 3986 section 3.2.2: a reg-name has more than names of the DNS have,
    # and encoded octets, which are not decoded.
    _Row("%65xample.org", ""),
    _Row("%67ate.example.org", ""),
    _Row("%2A.example.org", ""),
    _Row("a,b.example.org", ""),
    _Row("a!b.example.org", ""),
    _Row("a~b.example.org", ""),
    _Row("*.example.org", ""),
    _Row("'a'.example.org:80", ""),
    _Row("a;x=(1).example.org", ""),
    _Row("a.b$&+.deep.example.org", ""),
    _Row("_x-1.example.org", "below"),
    # RFC 1035 section 2.3.4: 63 octets to a label, 253 to a name.
    _Row(
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example.org",
        "below",
    ),
    _Row(
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example.org",
        "",
    ),
]


def _asked(hosts: HostRouter, host: StringSpan) raises -> String:
    """Gives status and content."""
    var owned = OwnedRequest("GET", "/")
    owned.add_header("Host", host)
    var response = hosts.serve(owned.view())
    return String(response.status.code, " ", response.body)


def test_hosts_lead_to_their_handlers() raises:
    var hosts = _hosts()
    for row in materialize[_ROWS]():
        var expected = String("200 ", row.name)
        if row.name.byte_length() == 0:
            expected = "421 this server has no such host\n"
        assert_equal(_asked(hosts, row.host), expected, String(row.host))


def test_a_fallback_answers_for_all_others() raises:
    var hosts = _hosts()
    hosts.fallback(_Named("first"))
    hosts.fallback(_Named("other"))
    for row in materialize[_ROWS]():
        var name = row.name if row.name.byte_length() > 0 else "other"
        var expected = String("200 ", name)
        assert_equal(_asked(hosts, row.host), expected, String(row.host))


def test_an_absolute_target_outranks_host() raises:
    """RFC 9112 section 3.2.2."""
    var hosts = _hosts()
    var owned = OwnedRequest("GET", "http://localhost:80/x")
    owned.add_header("Host", "example.org")
    assert_equal(String(hosts.serve(owned.view()).body), "local")


def test_a_request_without_host() raises:
    """HTTP/1.0 alone has such."""
    var hosts = _hosts()
    var owned = OwnedRequest("GET", "/")
    assert_equal(hosts.serve(owned.view()).status.code, 421)
    assert_false(hosts.policy_for(owned.view()).needs_content)
    hosts.fallback(_Named("other"))
    assert_equal(String(hosts.serve(owned.view()).body), "other")


def test_policies_and_refusals_are_those_of_the_host() raises:
    var hosts = _hosts()
    var owned = OwnedRequest("POST", "/")
    owned.add_header("Host", "www.example.org")
    assert_equal(hosts.policy_for(owned.view()).max_body_size, 5)
    var response = hosts.refuse(owned.view(), Response(413))
    assert_equal(response.headers["X-By"], "below")
    var unknown = OwnedRequest("POST", "/")
    unknown.add_header("Host", "elsewhere.net")
    response = hosts.refuse(unknown.view(), Response(413))
    assert_false("X-By" in response.headers)
    var policy = hosts.policy_for(unknown.view())
    assert_false(policy.needs_content)
    assert_false(policy.blocks)


def test_claims_are_those_of_any_handler() raises:
    var hosts = HostRouter()
    hosts.add("a.example", _Named("a"))
    var claims = hosts.claims()
    assert_false(claims.streams or claims.defers or claims.upgrades)
    var end_count = ArcPointer(0)
    hosts.add("b.example", _Claims(end_count.copy()))
    hosts.fallback(_Claims(end_count.copy()))
    claims = hosts.claims()
    assert_true(claims.streams and claims.defers and claims.upgrades)
    hosts.drained()
    assert_equal(end_count[], 2)


def test_routers_stand_within() raises:
    var one = Router()
    one.get("/who/:name", _Named("one"))
    var two = Router()
    two.get("/:all", _Named("two"))
    var hosts = HostRouter()
    hosts.add("one.example", one^)
    hosts.add("two.example", two^)
    var client = TestClient(hosts^)
    assert_equal(client.get("http://one.example/who/7").text(), "one")
    assert_equal(client.get("http://two.example/x").text(), "two")
    assert_equal(client.get("http://one.example/x").status.code, 404)
    assert_equal(client.get("http://two.example/who/7").status.code, 404)
    assert_equal(client.get("http://three.example/x").status.code, 421)


def _refusal(mut hosts: HostRouter, pattern: StringSpan) -> String:
    """Gives why a pattern is not registered; empty if it is."""
    try:
        hosts.add(pattern, _Named("more"))
        return String()
    except error:
        return String(error)


def test_patterns_that_stand_for_the_same_hosts() raises:
    comptime rows = [
        _Row("Example.ORG", "example.org"),
        _Row("example.org.", "example.org"),
        _Row("*.EXAMPLE.org", "*.example.org"),
        _Row("*.deep.example.org", "*.deep.Example.org"),
        _Row("192.0.2.1", "192.0.2.1"),
        _Row("[2001:db8::0:1]", "[2001:DB8:0::1]"),
    ]
    var hosts = _hosts()
    for row in materialize[rows]():
        assert_equal(
            _refusal(hosts, row.host),
            String(
                "route: the host '",
                row.host,
                "' is the same as '",
                row.name,
                "', which has a handler; mount both routers into one",
            ),
        )
    assert_equal(_refusal(hosts, "*.localhost"), "")


def test_malformed_patterns() raises:
    comptime rows = [
        _Row("", "it is empty"),
        _Row(".", "it is empty"),
        _Row("*", "only letters"),
        _Row("*.", "it is empty"),
        _Row("*.*.org", "only letters"),
        _Row("a.*.org", "only letters"),
        _Row("*example.org", "only letters"),
        _Row("example.org:80", "only letters"),
        _Row("http://example.org", "only letters"),
        _Row("example.org/", "only letters"),
        _Row("a..org", "a label is empty"),
        _Row("*..org", "a label is empty"),
        _Row("-a.org", "a label starts with '-'"),
        _Row("bücher.example", "xn--"),
        _Row("127.1", "the last label is a number"),
        _Row("*.0.2.1", "the last label is a number"),
        _Row("[::1", "is no IPv6 address"),
        _Row("[::1]:80", "is no IPv6 address"),
        _Row("[127.0.0.1]", "is no IPv6 address"),
        # RFC 3986 section 3.2.2: without brackets it ends at its first colon.
        _Row("::1", "write it as '[::1]'"),
        _Row("2001:db8::1", "write it as '[2001:db8::1]'"),
    ]
    var hosts = HostRouter()
    for row in materialize[rows]():
        var refusal = _refusal(hosts, row.host)
        assert_true(row.name in refusal, String("'", row.host, "': ", refusal))
        assert_true(String("'", row.host, "'") in refusal, refusal)
