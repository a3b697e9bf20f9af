"""What a request looks like on its way: URLs, credentials, heads."""

from flare.bytes.buffer import Buffer
from flare.http.client.exchange.attempt import Attempt
from flare.http.client.connect.auth import BasicAuth, BearerAuth, Credentials
from flare.http.client.exchange.exchange import write_head
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.request import (
    ClientRequest,
    RequestBody,
    parse_request_url,
    request_url,
)
from flare.http.client.message.response import ClientResponse
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig, accept_codings
from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    ClientError,
    Phase,
    TooManyRedirects,
)
from flare.http.client.connect.proxy import Proxy
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderMap
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


def _config() -> ClientConfig:
    var config = ClientConfig()
    config.headers = HeaderMap()
    return config^


def _call(
    method: String, url: String, var body: RequestBody = RequestBody()
) raises -> PreparedRequest:
    var request = ClientRequest(method, url, body^)
    return PreparedRequest(request^, Url.parse(url), Upload(), _config())


def _head(call: PreparedRequest) raises -> String:
    var out = Buffer()
    write_head(call, out, _config())
    return String(StringSpan(unsafe_from_utf8=out.span()))


@fieldwise_init
struct _Joined(Copyable, Movable):
    var base: StaticString
    var url: StaticString
    var whole: StaticString


def test_urls_are_appended_to_the_base() raises:
    var rows: List[_Joined] = [
        _Joined("http://a", "/b", "http://a/b"),
        _Joined("http://a/", "/b", "http://a/b"),
        _Joined("http://a/v1", "/b?c", "http://a/v1/b?c"),
        _Joined("http://a/v1/", "b", "http://a/v1/b"),
        _Joined("http://a/v1", "", "http://a/v1"),
        _Joined("http://a/v1", "?c", "http://a/v1?c"),
        _Joined("http://a/v1", "//evil/b", "http://a/v1//evil/b"),
        _Joined("http://a/v1", "javascript:x", "http://a/v1/javascript:x"),
        _Joined("http://a/v1", "/b?u=http://c", "http://a/v1/b?u=http://c"),
        _Joined("http://u:p@a/v1", "/b", "http://a/v1/b"),
        _Joined("http://a/v1", "https://c/d", "https://c/d"),
    ]
    for row in rows:
        var base = Optional(Url.parse(row.base))
        var url = request_url(base, ClientRequest("GET", String(row.url)))
        assert_equal(String(url), row.whole, row.url)


def test_a_base_url_that_leads_nowhere_is_refused_when_it_is_given() raises:
    # RFC 3986 section 3.1: what stands before the first colon is the scheme.
    for row in [
        (
            "localhost:8080",
            "the scheme is 'localhost'; allowed are http, https and http+unix,"
            " as in http://localhost:8080",
        ),
        (
            "ws://a/b",
            "the scheme is 'ws'; allowed are http, https and http+unix, as in"
            " http://localhost:8080",
        ),
    ]:
        var said = String()
        try:
            _ = ClientBase(row[0], Credentials())
        except error:
            assert_true(error.kind == BadUrl, row[0])
            said = String(error)
        assert_true(said.endswith(row[1]), said)
        assert_true(row[0] in said, said)
    _ = ClientBase("http+unix://%2Frun%2Fx.sock/v1", Credentials())
    _ = ClientBase("", Credentials())


def test_query_is_appended() raises:
    var request = ClientRequest("GET", "http://a/b?c=d#e")
    request.add_query("x y", "1&2")
    request.add_query("z", "\u00e4")
    assert_equal(
        String(request_url(None, request)),
        "http://a/b?c=d&x+y=1%262&z=%C3%A4#e",
    )
    request.url = "http://a"
    assert_equal(
        String(request_url(None, request)), "http://a/?x+y=1%262&z=%C3%A4"
    )


def test_a_query_is_appended_to_one_without_octets() raises:
    # RFC 3986 sections 3.4 and 3.5: the query ends where the fragment begins,
    # and either may be there without an octet.
    for row in [
        ("http://a/b?", "http://a/b?p=2"),
        ("http://a/b#", "http://a/b?p=2#"),
        ("http://a/b?#", "http://a/b?p=2#"),
        ("http://a/b?c#", "http://a/b?c&p=2#"),
        ("http://a/b?#d?e", "http://a/b?p=2#d?e"),
        ("http://a/b#d?e", "http://a/b?p=2#d?e"),
    ]:
        var request = ClientRequest("GET", row[0])
        request.add_query("p", "2")
        assert_equal(String(request_url(None, request)), row[1], row[0])


def test_what_is_no_url() raises:
    for bad in ["/b", "http://", "http://a:x/", "http://u:secret@[x/", ""]:
        try:
            _ = request_url(None, ClientRequest("GET", bad))
        except error:
            assert_true(error.kind == BadUrl, bad)
            assert_true("secret" not in String(error), bad)
            continue
        raise Error(bad, " was taken")


def test_endpoints() raises:
    var endpoint = Endpoint.of(Url.parse("http://Example.COM/a"))
    assert_equal(endpoint.name(), "example.com:80")
    endpoint = Endpoint.of(Url.parse("https://[::1]:8443/"))
    assert_equal(endpoint.name(), "[::1]:8443")
    assert_true(endpoint.is_tls)
    endpoint = Endpoint.of(Url.parse("http+unix://%2Frun%2Fa%20b.sock/x?y"))
    assert_equal(endpoint.host, "/run/a b.sock")
    assert_true(endpoint.is_unix)
    for bad in ["ftp://a/", "ws://a/", "mailto:a", "http+unix:///x"]:
        try:
            _ = _endpoint(bad)
        except error:
            assert_true(error.kind == BadUrl, bad)
            continue
        raise Error(bad, " was taken")


def _endpoint(text: String) raises ClientError -> Endpoint:
    return Endpoint.of(parse_request_url(text))


def test_heads() raises:
    assert_equal(
        _head(_call("GET", "http://a:81/b?c#d")),
        "GET /b?c HTTP/1.1\r\nHost: a:81\r\n\r\n",
    )
    assert_equal(
        _head(_call("POST", "http://a")),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    )
    assert_equal(
        _head(_call("GET", "http+unix://%2Frun%2Fx/y")),
        "GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    var call = _call("GET", "http://u:p@a/")
    call.set_credentials(Credentials())
    assert_equal(
        _head(call),
        "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dTpw\r\n\r\n",
    )


def test_content_says_what_it_is() raises:
    var form = FormData()
    form.add("a", "b c")
    var bodies: List[RequestBody] = [
        RequestBody('{"k": 1}'),
        RequestBody(StaticString('{"k": 1}')),
        RequestBody([UInt8(1), 2]),
        RequestBody(form),
    ]
    var types: List[String] = [
        "application/json",
        "application/json",
        "application/octet-stream",
        "application/x-www-form-urlencoded",
    ]
    for index in range(len(bodies)):
        var call = _call("PUT", "http://a/", bodies[index].copy())
        call.set_content_type()
        var head = _head(call)
        assert_true(String("Content-Type: ", types[index], "\r\n") in head)
        var length = String("Content-Length: ", len(bodies[index].content))
        assert_true(length in head, head)
    var own = _call("PUT", "http://a/", bodies[0].copy())
    own.headers.set("content-type", "text/x")
    own.set_content_type()
    assert_true("Content-Type: text/x\r\n" in _head(own))


def test_credentials() raises:
    var call = _call("GET", "http://a/")
    call.set_credentials(BearerAuth("tok"))
    assert_true("Authorization: Bearer tok\r\n" in _head(call))
    # The request's own field wins.
    call = _call("GET", "http://a/")
    call.headers.set("authorization", "Own x")
    call.set_credentials(BasicAuth("Aladdin", "open sesame"))
    assert_true("authorization: Own x\r\n" in _head(call))
    # RFC 7617 section 2.
    call = _call("GET", "http://a/")
    call.set_credentials(BasicAuth("Aladdin", "open sesame"))
    assert_true("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n" in _head(call))
    try:
        call = _call("GET", "http://a/")
        call.set_credentials(BearerAuth("tok\r\nX: y"))
    except error:
        assert_true("tok" not in String(error), String(error))
        return
    raise Error("a line end was taken")


def test_a_name_with_a_colon_is_refused() raises:
    # RFC 7617 section 2: the server would take what follows for the password.
    var refused = 0
    try:
        _ = HttpClient("http://a", BasicAuth("me:you", "secret"))
    except error:
        assert_true(error.kind == BadRequest)
        assert_true("colon" in error.reason and "me" in error.reason)
        assert_true("secret" not in String(error))
        refused += 1
    try:
        var call = _call("GET", "http://me%3Ayou:secret@a/")
        call.set_credentials(Credentials())
    except error:
        assert_true("colon" in String(error))
        refused += 1
    try:
        _ = Proxy("http://me%3ayou:secret@proxy:3128")
    except error:
        assert_true("colon" in String(error))
        refused += 1
    assert_equal(refused, 3)
    # In a password it means nothing.
    _ = HttpClient("http://a", BasicAuth("me", "a:b"))


def test_connect_is_no_request() raises:
    # RFC 9110 section 9.3.6: what follows its response is not HTTP.
    var config = _config()
    for method in ["CONNECT", "connect"]:
        var is_refused = False
        try:
            _ = prepare_request(
                ClientRequest(String(method), "http://a/"),
                Upload(),
                ClientBase(),
                Pointer(to=config),
            )
        except error:
            assert_true(error.kind == BadRequest)
            assert_true("proxy" in error.reason, error.reason)
            is_refused = True
        # Methods are case-sensitive (RFC 9110 section 9.1).
        assert_equal(is_refused, method == "CONNECT")


def test_a_range_is_of_content_as_it_is() raises:
    """RFC 9110 section 14.1.2: it counts octets of the coded content."""
    var config = ClientConfig()
    accept_codings(config)
    assert_true("Accept-Encoding: " in _head_with("GET", "", "", config))
    assert_false(
        "Accept-Encoding: " in _head_with("Range", "bytes=1-", "", config)
    )
    # What the caller asks for is asked for.
    var head = _head_with("Range", "bytes=1-", "gzip", config)
    assert_true("Accept-Encoding: gzip\r\n" in head, head)
    config = ClientConfig()
    config.headers.set("Accept-Encoding", "br")
    accept_codings(config)
    head = _head_with("Range", "bytes=1-", "", config)
    assert_true("Accept-Encoding: br\r\n" in head, head)
    config = ClientConfig()
    config.headers.set("Range", "bytes=1-")
    accept_codings(config)
    assert_false("accept-encoding" in config.headers)


def _head_with(
    name: String, value: String, coding: String, config: ClientConfig
) raises -> String:
    var request = ClientRequest("GET", "http://a/")
    if value != "":
        request.headers.set(name, value)
    if coding != "":
        request.headers.set("Accept-Encoding", coding)
    var call = PreparedRequest(
        request^, Url.parse("http://a/"), Upload(), config
    )
    var out = Buffer()
    write_head(call, out, config)
    return String(StringSpan(unsafe_from_utf8=out.span()))


def test_417_is_answered_without_expect() raises:
    """RFC 9110 section 10.1.1."""
    var response = ClientResponse(Url.parse("http://a/"))
    response.status = 417
    var request = ClientRequest("POST", "http://a/", "{}")
    request.expects_continue = True
    var call = PreparedRequest(
        request.copy(), Url.parse("http://a/"), Upload(), _config()
    )
    assert_true(call.will_stop_expecting(response, 0))
    # Content in memory is there again, also if it was sent.
    assert_true(call.will_stop_expecting(response, 2))
    response.status = 413
    assert_false(call.will_stop_expecting(response, 0))
    response.status = 417
    call.expects_continue = False
    assert_false(call.will_stop_expecting(response, 0))
    var streamed = PreparedRequest(
        request^, Url.parse("http://a/"), Upload(5), _config()
    )
    assert_true(streamed.will_stop_expecting(response, 0))
    assert_false(streamed.will_stop_expecting(response, 1))
    var empty = ClientRequest("POST", "http://a/")
    empty.expects_continue = True
    var nothing = PreparedRequest(
        empty^, Url.parse("http://a/"), Upload(), _config()
    )
    assert_false(nothing.will_stop_expecting(response, 0))


def test_proxies_get_the_absolute_form() raises:
    var config = _config()
    config.proxy = Proxy("http://u:p@proxy:3128")
    var request = ClientRequest("GET", "http://a/b?c#d")
    var call = PreparedRequest(
        request^, Url.parse("http://x:y@a/b?c#d"), Upload(), config
    )
    var out = Buffer()
    write_head(call, out, config)
    assert_equal(
        String(StringSpan(unsafe_from_utf8=out.span())),
        "GET http://a/b?c HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic dTpw\r\n\r\n",
    )
    assert_equal(call.endpoint.proxy, "proxy:3128")


def _redirect(location: String, status: Int) raises -> ClientResponse:
    var response = ClientResponse(Url.parse("http://a/"))
    response.status = status
    response.headers.set("Location", location)
    return response^


def test_redirections_within_an_origin_keep_credentials() raises:
    var call = _call("POST", "http://a/b", '{"k": 1}')
    call.set_content_type()
    call.set_credentials(BearerAuth("tok"))
    var response = _redirect("/c", 307)
    assert_true(call.will_follow(response.status, response.headers))
    call.follow(response, _config(), 0)
    var head = _head(call)
    assert_true(head.startswith("POST /c HTTP/1.1\r\nHost: a\r\n"), head)
    assert_true("Bearer tok" in head and "Content-Length: 8" in head, head)
    call.follow(_redirect("/d", 303), _config(), 0)
    head = _head(call)
    assert_equal(
        head,
        "GET /d HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tok\r\n\r\n",
    )
    assert_equal(call.redirect_count, 2)


def test_credentials_never_leave_their_origin() raises:
    for location in ["http://b/", "https://a/", "http://a:81/", "//b"]:
        var call = _call("GET", "http://a/")
        call.headers.set("Cookie", "a=b")
        call.headers.set("Host", "own")
        call.set_credentials(BearerAuth("tok"))
        call.follow(_redirect(location, 302), _config(), 0)
        var head = _head(call)
        assert_true("tok" not in head and "a=b" not in head, head)
        assert_true("own" not in head, head)
        # They do not come back with the origin.
        call.follow(_redirect("http://a/", 302), _config(), 0)
        assert_true("tok" not in _head(call))


def test_the_clients_credentials_never_leave_their_origin() raises:
    # RFC 9110 section 15.4: fields of the configuration are no exception.
    var config = _config()
    config.headers.set("Authorization", "Bearer tok")
    config.headers.set("Cookie", "a=b")
    config.headers.set("X-Own", "z")
    for own in ["", "X-Request"]:
        var call = _call("GET", "http://a/")
        if own != "":
            call.headers.set(own, "1")
        call.follow(_redirect("/c", 302), config, 0)
        var within = Buffer()
        write_head(call, within, config)
        var head = String(StringSpan(unsafe_from_utf8=within.span()))
        assert_true("Bearer tok" in head and "a=b" in head, head)
        call.follow(_redirect("http://b/", 302), config, 0)
        var beyond = Buffer()
        write_head(call, beyond, config)
        head = String(StringSpan(unsafe_from_utf8=beyond.span()))
        assert_true("tok" not in head and "a=b" not in head, head)
        assert_true("X-Own: z\r\n" in head, head)


def test_too_many_redirections() raises:
    var config = _config()
    config.max_redirects = 2
    var request = ClientRequest("GET", "http://a/")
    var call = PreparedRequest(
        request^, Url.parse("http://a/"), Upload(), config
    )
    var response = _redirect("/", 302)
    call.follow(response, config, 0)
    call.follow(response, config, 0)
    try:
        call.follow(response, config, 0)
    except error:
        assert_true(error.kind == TooManyRedirects)
        assert_true(error.phase == Phase.REDIRECT)
        return
    raise Error("a third one was followed")


def test_streamed_content_goes_out_once() raises:
    var request = ClientRequest("PUT", "http://a/")
    var call = PreparedRequest(
        request^, Url.parse("http://a/"), Upload(5), _config()
    )
    assert_true("Content-Length: 5\r\n" in _head(call))
    var attempt = Attempt()
    for end in [AttemptEnd.LOST, AttemptEnd.UNTOUCHED]:
        # The head may have left alone.
        attempt.outgoing.sent_count = 1
        attempt.content_len = 0
        assert_true(call.describe(attempt, end, False).is_kept)
        attempt.content_len = 1
        assert_false(call.describe(attempt, end, False).is_kept)
    var kept = _redirect("/b", 307)
    # Nobody has read from the source (RFC 9110 section 10.1.1).
    call.follow(kept, _config(), 0)
    assert_true("Content-Length: 5\r\n" in _head(call))
    try:
        call.follow(kept, _config(), 1)
    except error:
        assert_true(error.kind == BadRequest)
        call.follow(_redirect("/b", 303), _config(), 1)
        assert_equal(_head(call), "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        return
    raise Error("the content was sent again")
