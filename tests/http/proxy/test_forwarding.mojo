"""What is sent on of a request, and back of a response (RFC 9110 section 7.6, RFC 7239)."""

from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request, Version
from flare.http.message.response import Response, ok
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.client.message.request import ClientRequest
from flare.http.proxy.rules.forwarding import (
    FINAL_RECIPIENT,
    ClientFields,
    ForwardedRequest,
    ForwardingRules,
    HostRule,
)
from flare.http.proxy.rules.response_rewriting import UpstreamNames
from flare.http.proxy.rules.target_path import PathPrefixes
from flare.http.handler.handler import FnHandler
from flare.net.ip import IpNetwork
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_false, assert_true


def _request(
    fields: StringSpan, url: StringSpan = "/a", method: StringSpan = "GET"
) raises -> OwnedRequest:
    """A request with `name: value` lines parted by `|`."""
    var request = OwnedRequest(method, url)
    request.peer = SocketAddr.parse("203.0.113.9:4711")
    for line in fields.split("|"):
        if line.byte_length() == 0:
            continue
        var colon = line.find(": ")
        request.add_header(
            line[byte=0:colon], line[byte = colon + 2 : line.byte_length()]
        )
    return request^


def _sent(rules: ForwardingRules, request: OwnedRequest) -> String:
    """The fields that are sent, as `name: value|`, or the refusal's status."""
    var out = ForwardedRequest()
    try:
        rules.forward_request(request.view(), "up:80", out)
    except error:
        return String(error.status)
    return _lines(out.headers)


def _lines(headers: HeaderMap) -> String:
    var text = String()
    for index in range(len(headers)):
        text.write(headers.name(index), ": ", headers.value(index), "|")
    return text^


def _plain() raises -> ForwardingRules:
    """Rules that tell nothing of the client."""
    var rules = ForwardingRules()
    rules.client_fields = ClientFields.NONE
    return rules^


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var received: StaticString
    var sent: StaticString


def test_hop_by_hop_fields_go() raises:
    var rows: List[_Row] = [
        _Row("9110-7.6.1 end to end", "A: 1|B: 2", "A: 1|B: 2|"),
        _Row(
            "9110-5.3 order and repetition", "A: 1|B: 2|A: 3", "A: 1|B: 2|A: 3|"
        ),
        _Row("9110-5.5 empty values", "A: ", "A: |"),
        _Row("9110-7.6.1 Connection", "Connection: close|A: 1", "A: 1|"),
        _Row("named", "Connection: x-a, X-B|X-A: 1|x-b: 2|X-C: 3", "X-C: 3|"),
        _Row(
            "named in a second line",
            "Connection: close|X-A: 1|Connection: x-a",
            "",
        ),
        _Row("Keep-Alive", "Keep-Alive: timeout=5", ""),
        _Row("Proxy-Connection", "Proxy-Connection: keep-alive", ""),
        _Row(
            "9110-11.7.2 Proxy-Authorization",
            "Proxy-Authorization: Basic eA==",
            "",
        ),
        _Row("9110-10.1.4 TE", "TE: trailers, gzip|Connection: TE", ""),
        _Row("9112-6.1 Transfer-Encoding", "Transfer-Encoding: chunked", ""),
        _Row("9110-8.6 framing is written anew", "Content-Length: 3", ""),
        _Row("9110-7.2 Host is written anew", "Host: h", ""),
        _Row("9110-7.8 Upgrade without Connection", "Upgrade: x", ""),
        _Row(
            "h2c",
            "Upgrade: h2c|HTTP2-Settings: A|Connection: Upgrade, HTTP2-Settings",
            "",
        ),
        _Row("9110-10.1.1 Expect", "Expect: 100-continue", ""),
        _Row(
            "CGI makes one variable of both",
            "Transfer_Encoding: chunked|content_length: 5",
            "",
        ),
        _Row(
            "CGI makes one variable of both, for one connection",
            "Keep_Alive: 5|Proxy_Connection: x|HTTP2_Settings: A",
            "",
        ),
        _Row(
            "CGI makes one variable of both, credentials",
            "PROXY_authorization: Basic eA==",
            "",
        ),
        _Row(
            "another octet is another name", "Keep.Alive: 5", "Keep.Alive: 5|"
        ),
        _Row("httpoxy", "Proxy: http://evil", ""),
        _Row("9110-6.6.2 Trailer stays", "Trailer: X-Sum", "Trailer: X-Sum|"),
        _Row(
            "credentials for the origin stay",
            "Authorization: Bearer x|Cookie: a=b",
            "Authorization: Bearer x|Cookie: a=b|",
        ),
        _Row(
            "Content-Type",
            "Content-Type: text/plain|A: 1",
            "Content-Type: text/plain|A: 1|",
        ),
    ]
    var rules = _plain()
    for row in rows:
        assert_equal(
            _sent(rules, _request(row.received)),
            String(row.sent, "Via: 1.1 flare|"),
            String(row.rule),
        )


def test_via_is_added_behind_others() raises:
    var rules = _plain()
    rules.via = "edge"
    assert_equal(
        _sent(rules, _request("Via: 1.0 fred|A: 1")),
        "Via: 1.0 fred|A: 1|Via: 1.1 edge|",
    )
    var request = _request("")
    request.version = Version(1, 0)
    assert_equal(_sent(rules, request), "Via: 1.0 edge|")
    request.version = Version(2, 0)
    assert_equal(_sent(rules, request), "Via: 2 edge|")


def test_a_loop_ends() raises:
    var rules = _plain()
    rules.via = "edge"
    var few = String("Via: 1.1 edge, 1.1 other, 1.1 edge")
    assert_equal(_sent(rules, _request(few)), few + "|Via: 1.1 edge|")
    for _ in range(6):
        few += ", 1.1 edge"
    assert_equal(_sent(rules, _request(few)), "508")


def test_what_a_client_says_of_itself_is_not_believed() raises:
    var made_up = StaticString(
        "X-Forwarded-For: 10.0.0.1|X-Forwarded-Proto: https|"
        "X-Forwarded-Host: admin|X-Forwarded-Port: 1|Forwarded: for=10.0.0.1|"
        "X-Real-IP: 10.0.0.1|X_Forwarded_For: 10.0.0.1|Host: shop"
    )
    var rules = ForwardingRules()
    var x_fields = String(
        "Via: 1.1 flare|X-Forwarded-For: 203.0.113.9|X-Forwarded-Proto:"
        " http|X-Forwarded-Host: shop|"
    )
    assert_equal(_sent(rules, _request(made_up)), x_fields)
    rules.client_fields = ClientFields.FORWARDED
    assert_equal(
        _sent(rules, _request(made_up)),
        "Via: 1.1 flare|Forwarded: for=203.0.113.9;proto=http;host=shop|",
    )
    rules.client_fields = ClientFields.BOTH
    assert_equal(
        _sent(rules, _request(made_up)),
        x_fields + "Forwarded: for=203.0.113.9;proto=http;host=shop|",
    )
    rules.client_fields = ClientFields.NONE
    assert_equal(_sent(rules, _request(made_up)), "Via: 1.1 flare|")


def test_naming_a_field_in_connection_does_not_drop_the_gateways() raises:
    var rules = ForwardingRules()
    assert_equal(
        _sent(
            rules, _request("Connection: X-Forwarded-For, Via, Host|Host: a")
        ),
        "Via: 1.1 flare|X-Forwarded-For: 203.0.113.9|X-Forwarded-Proto:"
        " http|X-Forwarded-Host: a|",
    )


def test_a_trusted_proxy_is_added_to() raises:
    var rules = ForwardingRules()
    rules.trusted_proxies = [IpNetwork.parse("203.0.113.0/24")]
    var told = StaticString(
        "X-Forwarded-For: 1.2.3.4|X-Forwarded-For: 5.6.7.8|"
        "X-Forwarded-Proto: https|X-Forwarded-Host: shop|X-Real-IP:"
        " 1.2.3.4|Forwarded: for=1.2.3.4;proto=https"
    )
    assert_equal(
        _sent(rules, _request(told)),
        "X-Real-IP: 1.2.3.4|Via: 1.1 flare|X-Forwarded-For: 1.2.3.4, 5.6.7.8,"
        " 203.0.113.9|X-Forwarded-Proto: https|X-Forwarded-Host: shop|",
    )
    rules.client_fields = ClientFields.FORWARDED
    assert_equal(
        _sent(rules, _request(told)),
        "Via: 1.1 flare|Forwarded: for=1.2.3.4;proto=https,"
        " for=203.0.113.9;proto=http|",
    )
    # One in the next network is not.
    var stranger = _request(told)
    stranger.peer = SocketAddr.parse("203.0.114.9:1")
    assert_equal(
        _sent(rules, stranger),
        "Via: 1.1 flare|Forwarded: for=203.0.114.9;proto=http|",
    )


def test_addresses_as_7239_writes_them() raises:
    var rules = ForwardingRules()
    rules.client_fields = ClientFields.BOTH
    var request = _request("Host: [2001:db8::2]:8080")
    request.peer = SocketAddr.parse("[2001:db8::1]:4711")
    assert_equal(
        _sent(rules, request),
        "Via: 1.1 flare|X-Forwarded-For: 2001:db8::1|X-Forwarded-Proto:"
        " http|X-Forwarded-Host: [2001:db8::2]:8080|Forwarded:"
        ' for="[2001:db8::1]";proto=http;host="[2001:db8::2]:8080"|',
    )
    # Over a Unix socket there is no address (RFC 7239 section 6.2).
    request.peer = SocketAddr.parse("0.0.0.0:0")
    assert_equal(
        _sent(rules, request),
        "Via: 1.1 flare|X-Forwarded-Proto:"
        " http|X-Forwarded-Host: [2001:db8::2]:8080|Forwarded:"
        ' for=unknown;proto=http;host="[2001:db8::2]:8080"|',
    )


def _tell(req: Request) raises -> Response:
    return ok(_sent_of(req))


def _sent_of(req: Request) raises -> String:
    var out = ForwardedRequest()
    ForwardingRules().forward_request(req, "up:80", out)
    return String(
        out.headers["x-forwarded-for"],
        " ",
        out.headers["x-forwarded-proto"],
        " ",
        out.headers["x-forwarded-host"],
    )


def test_behind_trusted_proxies_what_they_tell_is_told_on() raises:
    var client = TestClient(
        TrustedProxies(
            FnHandler(_tell),
            [IpNetwork.parse("10.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        )
    )
    client.peer = SocketAddr.parse("10.0.0.1:1")
    var request = ClientRequest("GET", "/")
    request.headers.set("X-Forwarded-For", "6.6.6.6, 1.2.3.4")
    request.headers.set("X-Forwarded-Proto", "https")
    request.headers.set("X-Forwarded-Host", "shop.example")
    assert_equal(client.send(request^).text(), "1.2.3.4 https shop.example")


def test_host_rules() raises:
    var out = ForwardedRequest()
    var rules = ForwardingRules()
    rules.forward_request(_request("Host: shop:8080").view(), "up:80", out)
    assert_equal(out.host(), "shop:8080")
    # An absolute target outranks Host (RFC 9112 section 3.2.2).
    rules.forward_request(
        _request("Host: other", "http://shop/a?b").view(), "up:80", out
    )
    assert_equal(out.host(), "shop")
    assert_equal(out.target(), "/a?b")
    # HTTP/1.0 may have none.
    rules.forward_request(_request("").view(), "up:80", out)
    assert_equal(out.host(), "up:80")
    rules.host = HostRule.UPSTREAM
    rules.forward_request(_request("Host: shop").view(), "up:80", out)
    assert_equal(out.host(), "up:80")
    rules.host = HostRule.FIXED
    rules.fixed_host = "inner.example"
    rules.forward_request(_request("Host: shop").view(), "up:80", out)
    assert_equal(out.host(), "inner.example")


def test_targets_are_sent_as_they_came() raises:
    var rules = ForwardingRules()
    var out = ForwardedRequest()
    for url in ["/", "/a?", "/a??b", "/%7Ea/%2f?x=%zz&y", "//a", "/a;b=c"]:
        rules.forward_request(_request("", url).view(), "up:80", out)
        assert_equal(out.target(), url)
    rules.forward_request(_request("", "*", "OPTIONS").view(), "up:80", out)
    assert_equal(out.target(), "*")
    rules.forward_request(
        _request("", "http://shop", "OPTIONS").view(), "up:80", out
    )
    assert_equal(out.target(), "*")
    rules.forward_request(_request("", "http://shop?q").view(), "up:80", out)
    assert_equal(out.target(), "/?q")


def test_what_is_not_sent_on() raises:
    var rules = ForwardingRules()
    assert_equal(_sent(rules, _request("", "/a/../b")), "400")
    assert_equal(_sent(rules, _request("", "h:443", "CONNECT")), "501")
    rules.paths = PathPrefixes(strip="/api", add="/v2")
    assert_equal(_sent(rules, _request("", "/b")), "404")
    var out = ForwardedRequest()
    rules.forward_request(_request("", "/api/x?y=1").view(), "up:80", out)
    assert_equal(out.target(), "/v2/x?y=1")


def test_max_forwards() raises:
    var rules = _plain()
    var field = StaticString("Max-Forwards: ")
    for method in ["OPTIONS", "TRACE"]:
        var request = _request(String(field, "5"), "/", method)
        assert_equal(_sent(rules, request), "Max-Forwards: 4|Via: 1.1 flare|")
        request = _request(String(field, "0"), "/", method)
        assert_equal(_sent(rules, request), String(FINAL_RECIPIENT))
        for bad in ["x", "-1", "", "1|Max-Forwards: 1", "12345678901"]:
            request = _request(String(field, bad), "/", method)
            assert_equal(_sent(rules, request), "400", bad)
    # To other methods it means nothing (RFC 9110 section 7.6.2).
    assert_equal(_sent(rules, _request("Max-Forwards: 0")), "Via: 1.1 flare|")


def test_a_trace_has_no_content() raises:
    """RFC 9110 section 9.3.8: a client must not send any, and to the upstream the
    gateway is the client."""
    var rules = _plain()
    for method, sent in [
        ("TRACE", "400"),
        ("OPTIONS", "Via: 1.1 flare|"),
        ("GET", "Via: 1.1 flare|"),
    ]:
        var request = _request("Content-Length: 1", "/", method)
        request.body = [120]
        assert_equal(_sent(rules, request), sent, method)
    assert_equal(_sent(rules, _request("", "/", "TRACE")), "Via: 1.1 flare|")
    assert_equal(
        _sent(rules, _request("Content-Length: 0", "/", "TRACE")),
        "Via: 1.1 flare|",
    )


def test_upgrade_and_te() raises:
    var rules = ForwardingRules()
    var out = ForwardedRequest()
    var asked = _request("Connection: keep-alive, Upgrade|Upgrade: websocket")
    rules.forward_request(asked.view(), "up:80", out)
    assert_equal(out.upgrade, "websocket")
    # 9113-3.1 has no h2c; behind it nothing would be judged.
    for other in ["h2c", "H2C", "TLS/1.0", "x"]:
        rules.forward_request(
            _request(String("Connection: upgrade|Upgrade: ", other)).view(),
            "up:80",
            out,
        )
        assert_equal(out.upgrade, "")
    rules.upgrade_protocols = []
    rules.forward_request(asked.view(), "up:80", out)
    assert_equal(out.upgrade, "")
    rules.upgrade_protocols = ["a", "b", "WebSocket"]
    rules.forward_request(asked.view(), "up:80", out)
    assert_equal(out.upgrade, "websocket")
    for several in ["a, b", "a|Upgrade: b"]:
        rules.forward_request(
            _request(String("Connection: upgrade|Upgrade: ", several)).view(),
            "up:80",
            out,
        )
        assert_equal(out.upgrade, "")
    # RFC 9110 sections 7.8 and 10.1.1: a client of HTTP/1.0 is given neither,
    # nor any 1xx (section 15.2).
    var old = _request("Connection: upgrade|Upgrade: a|Expect: 100-continue")
    rules.forward_request(old.view(), "up:80", out)
    assert_equal(out.upgrade, "a")
    assert_true(out.expects_continue)
    old.version = Version.HTTP_1_0
    rules.forward_request(old.view(), "up:80", out)
    assert_equal(out.upgrade, "")
    assert_false(out.expects_continue)
    rules.forward_request(
        _request("TE: gzip;q=0.5, Trailers|Expect: 100-Continue").view(),
        "up:80",
        out,
    )
    assert_true(out.accepts_trailers)
    assert_true(out.expects_continue)
    rules.forward_request(_request("TE: gzip").view(), "up:80", out)
    assert_false(out.accepts_trailers)
    assert_false(out.expects_continue)


def test_fields_of_the_configuration() raises:
    var rules = _plain()
    rules.request_fields.set("X-Key", "1")
    rules.removed_request_fields = ["Cookie"]
    assert_equal(
        _sent(rules, _request("x-key: 9|cookie: a=b|A: 1")),
        "A: 1|Via: 1.1 flare|X-Key: 1|",
    )


def test_what_a_server_takes_for_a_field_of_the_configuration_goes() raises:
    """RFC 3875 section 4.1.18: CGI makes one variable of `-` and `_`."""
    var rules = _plain()
    rules.request_fields.set("X-User", "ann")
    rules.request_fields.set("x_role", "guest")
    rules.removed_request_fields = ["X-Own-Key"]
    var received = StaticString(
        "X_User: eve|x_user: eve|X-Role: admin|X_Own_Key: 1|x-own_key: 2"
        "|X.User: 3|XUser: 4"
    )
    assert_equal(
        _sent(rules, _request(received)),
        "X.User: 3|XUser: 4|Via: 1.1 flare|X-User: ann|x_role: guest|",
    )


def test_what_is_set_stands_in_place_of_what_the_gateway_tells() raises:
    """Such as the scheme of clients, where TLS ends before the gateway: with two
    lines nobody knows which of them holds."""
    var rules = ForwardingRules()
    rules.request_fields.set("x-forwarded-proto", "https")
    rules.request_fields.set("X-Real-IP", "unknown")
    rules.removed_request_fields = ["X-Forwarded-Host"]
    var sent = String(
        "Via: 1.1 flare|X-Forwarded-For: 203.0.113.9|x-forwarded-proto: https"
        "|X-Real-IP: unknown|"
    )
    var received = StaticString("Host: shop|X-Real-IP: 1.2.3.4")
    assert_equal(_sent(rules, _request(received)), sent)
    rules.trusted_proxies = [IpNetwork.parse("203.0.113.0/24")]
    assert_equal(_sent(rules, _request(received)), sent)
    rules.client_fields = ClientFields.NONE
    assert_equal(
        _sent(rules, _request(received)),
        "Via: 1.1 flare|x-forwarded-proto: https|X-Real-IP: unknown|",
    )


def test_a_block_that_is_too_large() raises:
    var rules = _plain()
    rules.request_fields.set("X-Long", "x" * 65_000)
    assert_equal(_sent(rules, _request(String("A: ", "y" * 1_000))), "431")


def _answered(rules: ForwardingRules, fields: StringSpan) raises -> String:
    var request = _request(fields)
    var out = HeaderMap()
    rules.forward_response(
        request.view().headers,
        UpstreamNames("10.0.0.5:8080", "shop.example"),
        out,
    )
    return _lines(out)


def test_response_fields() raises:
    var rows: List[_Row] = [
        _Row(
            "end to end",
            "A: 1|Set-Cookie: a=b|Set-Cookie: c=d",
            "A: 1|Set-Cookie: a=b|Set-Cookie: c=d|",
        ),
        _Row(
            "9110-7.6.1",
            "Connection: x-a|X-A: 1|Keep-Alive: timeout=1|Transfer-Encoding: chunked|Proxy-Connection: close",
            "",
        ),
        _Row(
            "9110-11.7.1",
            "Proxy-Authenticate: Basic|Proxy-Authentication-Info: x",
            "",
        ),
        _Row("Upgrade is the connection's", "Upgrade: h2c", ""),
        _Row(
            "9110-8.6 a length may be announced",
            "Content-Length: 5",
            "Content-Length: 5|",
        ),
        _Row(
            "as it is without a rule",
            "Location: http://10.0.0.5:8080/a",
            "Location: http://10.0.0.5:8080/a|",
        ),
    ]
    for row in rows:
        assert_equal(
            _answered(ForwardingRules(), row.received),
            String(row.sent),
            String(row.rule),
        )


def test_where_a_response_leads_to() raises:
    var rules = ForwardingRules()
    rules.paths = PathPrefixes(strip="/api", add="/v2")
    rules.response.rewrites_location = True
    var rows: List[_Row] = [
        _Row("to the upstream", "http://10.0.0.5:8080/v2/a?b#c", "/api/a?b#c"),
        _Row(
            "by the Host it was asked for",
            "https://Shop.Example/v2/a",
            "/api/a",
        ),
        _Row("its root", "http://10.0.0.5:8080", "http://10.0.0.5:8080"),
        _Row("a path", "/v2/a", "/api/a"),
        _Row("a path that is not reached", "/v3/a", "/v3/a"),
        _Row("relative", "a/b", "a/b"),
        _Row(
            "elsewhere",
            "http://10.0.0.6:8080/v2/a",
            "http://10.0.0.6:8080/v2/a",
        ),
        _Row(
            "a name that begins so",
            "http://shop.example.org/v2/",
            "http://shop.example.org/v2/",
        ),
        _Row("without a scheme", "//shop.example/v2/a", "/api/a"),
        _Row(
            "no path that is a host",
            "http://shop.example//evil/v2",
            "http://shop.example//evil/v2",
        ),
        _Row(
            "another scheme",
            "ftp://shop.example/v2/a",
            "ftp://shop.example/v2/a",
        ),
        _Row("empty", "", ""),
        _Row("9110-4.2.3", "http://shop.example:80/v2/a", "/api/a"),
        _Row("9110-4.2.3 https", "HTTPS://shop.example:443/v2/a", "/api/a"),
        _Row(
            "the port of another scheme",
            "http://shop.example:443/v2/a",
            "http://shop.example:443/v2/a",
        ),
        _Row(
            "another port",
            "https://shop.example:8443/v2/a",
            "https://shop.example:8443/v2/a",
        ),
        _Row(
            "a port without a scheme",
            "//shop.example:80/v2/a",
            "//shop.example:80/v2/a",
        ),
    ]
    for row in rows:
        assert_equal(
            _answered(rules, String("Location: ", row.received)),
            String("Location: ", row.sent, "|"),
            String(row.rule),
        )
    rules.paths = PathPrefixes()
    assert_equal(
        _answered(rules, "Content-Location: http://shop.example"),
        "Content-Location: /|",
    )


def test_no_prefix_leaves_a_host_behind() raises:
    """WHATWG URL section 4.4: what begins with two slashes, be they backslashes
    or a tab between them, leads to another host."""
    var rules = ForwardingRules()
    rules.paths = PathPrefixes(strip="", add="/v2")
    rules.response.rewrites_location = True
    for path in ["//evil/", "/\\evil/", "/\t/evil/"]:
        for start in ["", "http://shop.example"]:
            var received = String(start, "/v2", path)
            assert_equal(
                _answered(rules, String("Location: ", received)),
                String("Location: ", received, "|"),
                received,
            )
    assert_equal(_answered(rules, "Location: /v2/a//b"), "Location: /a//b|")


def test_whom_cookies_are_for() raises:
    var rules = ForwardingRules()
    rules.paths = PathPrefixes(strip="/api", add="/v2")
    rules.response.rewrites_cookies = True
    var rows: List[_Row] = [
        _Row("plain", "a=b; Secure", "a=b; Secure"),
        _Row("path", "a=b; Path=/v2/x; HttpOnly", "a=b; Path=/api/x; HttpOnly"),
        _Row("another path", "a=b; path=/x", "a=b; path=/x"),
        _Row(
            "its own domain", "a=b; Domain=10.0.0.5; Path=/v2", "a=b; Path=/api"
        ),
        _Row("with a dot", "a=b; domain=.10.0.0.5", "a=b"),
        _Row(
            "the client's",
            "a=b; Domain=shop.example",
            "a=b; Domain=shop.example",
        ),
        _Row("a value is no attribute", "path=/v2; x", "path=/v2; x"),
    ]
    for row in rows:
        assert_equal(
            _answered(rules, String("Set-Cookie: ", row.received)),
            String("Set-Cookie: ", row.sent, "|"),
            String(row.rule),
        )


def test_cookies_for_all_of_an_upstream_are_for_all_of_its_prefix() raises:
    """RFC 6265 section 5.1.4: the path `/api/` does not match `/api`."""
    var rules = ForwardingRules()
    rules.response.rewrites_cookies = True
    rules.paths = PathPrefixes(strip="/api")
    assert_equal(
        _answered(rules, "Set-Cookie: a=b; Path=/; Secure"),
        "Set-Cookie: a=b; Path=/api; Secure|",
    )
    assert_equal(
        _answered(rules, "Set-Cookie: a=b; path=/x/"),
        "Set-Cookie: a=b; Path=/api/x/|",
    )
    rules.paths = PathPrefixes()
    assert_equal(
        _answered(rules, "Set-Cookie: a=b; Path=/"),
        "Set-Cookie: a=b; Path=/|",
    )


def test_response_fields_of_the_configuration() raises:
    var rules = ForwardingRules()
    rules.response.fields.set("Server", "gateway")
    rules.response.removed_fields = ["X-Powered-By"]
    assert_equal(
        _answered(rules, "server: upstream|x-powered-by: php|A: 1"),
        "A: 1|Server: gateway|",
    )


def test_interim_responses_have_none_of_the_fields_that_are_set() raises:
    """RFC 9110 section 15.2: what is set is said once, with the final response."""
    var rules = ForwardingRules()
    rules.response.fields.set("Server", "gateway")
    rules.response.fields.set("Set-Cookie", "a=b")
    rules.response.removed_fields = ["X-Powered-By"]
    var received = _request("server: upstream|x-powered-by: php|Link: </a>")
    var out = HeaderMap()
    var names = UpstreamNames("10.0.0.5:8080", "shop.example")
    rules.forward_interim(received.view().headers, names, out)
    assert_equal(_lines(out), "Link: </a>|")
