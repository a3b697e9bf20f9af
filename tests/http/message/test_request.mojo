"""Requests as handlers see them."""

from flare.bytes.buffer import unsafe_lend_text
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request, RequestLine, TlsPeer, Version
from flare.http.message.response import Response, ok
from flare.http.routing.router import Router
from tests.support.assertions import assert_equal, assert_false, assert_true


def _post() raises -> OwnedRequest:
    var owned = OwnedRequest("POST", "/a%20b?x=1&y=a%20b+c&x=2")
    owned.add_header("Host", "example.com")
    owned.add_header("Cookie", "a=b; c=d")
    owned.add_header("Cookie", "e=f")
    owned.body.extend('{"k": [1, "two"]}'.as_bytes())
    return owned^


def test_parts() raises:
    var owned = _post()
    var req = owned.view()
    assert_true(req.method == "POST")
    assert_true(req.url == "/a%20b?x=1&y=a%20b+c&x=2")
    assert_equal(req.path, "/a%20b")
    assert_equal(req.query_param("x"), "1")
    assert_equal(req.query_param("y"), "a b c")
    assert_equal(req.query_param("z"), "")
    assert_equal(len(req.query_params().get_all("x")), 2)
    assert_equal(req.headers["host"], "example.com")
    assert_equal(req.headers.get("HOST", "none"), "example.com")
    assert_equal(req.headers.get("origin", "none"), "none")
    assert_equal(req.host(), "example.com")
    assert_equal(req.text(), '{"k": [1, "two"]}')
    assert_equal(req.json()["k"][1].string_value(), "two")
    var lines = String()
    for field in req.headers:
        lines.write(field.name, "=", field.value, ";")
    assert_equal(lines, "Host=example.com;Cookie=a=b; c=d;Cookie=e=f;")
    assert_equal(len(req.cookies()), 3)
    assert_equal(req.cookies()[2].name, "e")
    assert_equal(req.param("none"), "")


def test_what_is_missing_is_told_from_what_is_empty() raises:
    var owned = OwnedRequest("GET", "/?a=1&empty=&bare&a=2&n%20m=x%20y")
    owned.add_header("X-A", "1")
    owned.add_header("X-Empty", "")
    owned.add_header("Cookie", "c=1; C=2; empty=; bare; =none")
    owned.add_header("Cookie", 'c=3; d="4" ;e=a=b')
    var req = owned.view()
    assert_equal(req.query_param_or("a", "-"), "1")
    assert_equal(req.query_param_or("n m", "-"), "x y")
    assert_equal(req.query_param_or("empty", "-"), "")
    assert_equal(req.query_param_or("bare", "-"), "")
    assert_equal(req.query_param_or("none", "-"), "-")
    assert_equal(req.opt_query_param("empty").value(), "")
    assert_false(Bool(req.opt_query_param("none")))

    assert_equal(req.header("x-a"), "1")
    assert_equal(req.header("x-none"), "")
    assert_equal(req.opt_header("x-empty").value(), "")
    assert_false(Bool(req.opt_header("x-none")))

    # RFC 6265 section 5.4: names are case-sensitive; the first one wins.
    assert_equal(req.cookie("c"), "1")
    assert_equal(req.cookie("C"), "2")
    assert_equal(req.cookie("d"), '"4"')
    assert_equal(req.cookie("e"), "a=b")
    assert_equal(req.cookie("none"), "")
    assert_equal(req.opt_cookie("empty").value(), "")
    assert_false(Bool(req.opt_cookie("bare")))
    assert_false(Bool(req.opt_cookie("none")))
    assert_false(Bool(req.opt_cookie("")))

    assert_equal(req.param("none"), "")
    assert_false(Bool(req.opt_param("none")))


def _rest(req: Request) raises -> Response:
    var rest = req.opt_param("rest")
    return ok(String("[", rest.value(), "]") if rest else String("none"))


def test_a_parameter_may_be_empty() raises:
    var router = Router()
    router.get("/a/*rest", _rest)
    router.get("/b", _rest)
    assert_equal(router.serve(OwnedRequest("GET", "/a/").view()).text(), "[]")
    assert_equal(
        router.serve(OwnedRequest("GET", "/a/%20/").view()).text(), "[ /]"
    )
    assert_equal(router.serve(OwnedRequest("GET", "/b").view()).text(), "none")


def test_a_cookie_is_found_as_the_list_has_it() raises:
    # `cookie` walks the field without a list: both must tell the same.
    for field in ["a=1", "a=1;", ";a=1", " a = 1 ;b", "a=1;a=2", "b=;a=1", "a"]:
        var owned = OwnedRequest("GET", "/")
        owned.add_header("Cookie", field)
        var listed = String("none")
        for cookie in owned.view().cookies():
            if cookie.name == "a":
                listed = cookie.value
                break
        var found = owned.view().opt_cookie("a")
        assert_equal(String(found.value()) if found else "none", listed, field)


def test_form() raises:
    var owned = OwnedRequest("POST", "/")
    owned.body.extend("a=1&b=x+y%21".as_bytes())
    assert_equal(owned.view().form().get("b").value(), "x y!")


def test_absolute_target_outranks_host() raises:
    var owned = OwnedRequest("GET", "http://other:81/p?q")
    owned.add_header("Host", "example.com")
    assert_equal(owned.view().host(), "other:81")
    assert_equal(owned.view().path, "/p")
    assert_equal(owned.view().query, "q")
    assert_equal(OwnedRequest("GET", "http://h?q").view().path, "/")
    assert_equal(OwnedRequest("OPTIONS", "http://h").view().path, "*")
    assert_equal(OwnedRequest("CONNECT", "h:1").view().path, "")
    assert_equal(OwnedRequest("GET", "odd").view().path, "")


def test_a_target_ends_where_it_ends() raises:
    """A scan for the end of an authority stops at the octet behind it, which was
    whatever the memory had been used for before."""
    for length in range(1, 100):
        var host = String("h") * length
        var owners = List[OwnedRequest]()
        for _ in range(8):
            owners.append(OwnedRequest("GET", String("x") * (length + 40)))
        owners.clear()
        var owned = OwnedRequest("OPTIONS", String("http://", host))
        assert_equal(owned._url.unsafe_base()[len(owned._url)], 0)
        assert_equal(owned.view().host(), host)


def _keep(req: Request) raises -> Response:
    var kept = OwnedRequest(copy_of=req)
    var view = kept.view()
    var text = String(view.method_name, " ", view.url, " ", view.param("id"))
    text.write(" ", view.headers["x-a"], " ", view.text(), " ", view.peer)
    return ok(text^)


def test_a_copy_has_everything() raises:
    var router = Router()
    router.put("/users/:id", _keep)
    var owned = OwnedRequest("PUT", "/users/a%20b")
    owned.add_header("X-A", "y")
    owned.body.extend("content".as_bytes())
    assert_equal(
        router.serve(owned.view()).text(),
        "PUT /users/a%20b a b y content 127.0.0.1:0",
    )


def _kept_with_authority[
    o: ImmOrigin
](req: Request[o], authority: StaticString) -> OwnedRequest:
    """Keeps a request as one over HTTP/2 is: its `:authority` is in neither
    the target nor a field."""
    var line = RequestLine[o](
        method=req.method,
        method_name=req.method_name,
        url=req.url,
        path=req.path,
        query=req.query,
        authority=unsafe_lend_text[o](
            authority.unsafe_ptr(), authority.byte_length()
        ),
        version=Version(2, 0),
    )
    return OwnedRequest(
        copy_of=Request[o](
            line,
            req.headers,
            req.body,
            req.trailers,
            peer=req.peer,
            params=req.route_params(),
        )
    )


def test_a_copy_is_for_the_same_host() raises:
    var owned = OwnedRequest("GET", "/a")
    var kept = _kept_with_authority(owned.view(), "h.example:81")
    assert_equal(kept.view().host(), "h.example:81")
    assert_equal(kept.view().url, "/a")
    var again = OwnedRequest(copy_of=kept.view())
    assert_equal(again.view().host(), "h.example:81")
    var absolute = OwnedRequest("GET", "http://other:81/p?q")
    absolute.add_header("Host", "h")
    assert_equal(
        OwnedRequest(copy_of=absolute.view()).view().host(), "other:81"
    )


def test_what_tls_tells() raises:
    var owned = OwnedRequest("GET", "/")
    assert_false(owned.view().is_tls())
    assert_equal(owned.view().scheme(), "http")
    assert_false(Bool(owned.view().peer_certificate()))
    owned.tls = TlsPeer()
    assert_true(owned.view().is_tls())
    assert_equal(owned.view().scheme(), "https")
    assert_false(Bool(owned.view().peer_certificate()))
    owned.tls = TlsPeer("CN=a client of some length,O=flare")
    var kept = OwnedRequest(copy_of=owned.view())
    owned.tls = None
    assert_equal(
        kept.view().peer_certificate().value(),
        "CN=a client of some length,O=flare",
    )


def test_bad_headers_are_refused() raises:
    var owned = OwnedRequest("GET", "/")
    try:
        owned.add_header("X", "a\nb")
    except error:
        assert_equal(error.offset, 1)
        return
    raise Error("a line feed was taken")


def test_content_that_is_no_text() raises:
    var owned = OwnedRequest("GET", "/")
    owned.body.append(0xFF)
    var failed = False
    try:
        _ = owned.view().text()
    except:
        failed = True
    assert_true(failed)
    assert_false(owned.view().headers.get("x").__bool__())
