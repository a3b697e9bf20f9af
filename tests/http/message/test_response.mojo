"""Responses and the short ways to make them."""

from flare.http.message.body import Body
from flare.http.message.response import (
    Response,
    bad_request,
    created,
    forbidden,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_html,
    ok_json,
    redirect,
    unauthorized,
)
from flare.json.value import parse
from std.testing import assert_equal, assert_false, assert_true


def _line(response: Response) raises -> String:
    return String(
        response.status,
        " ",
        response.headers.content_type(),
        " ",
        response.text(),
    )


def test_builders() raises:
    assert_equal(_line(ok("a")), "200 text/plain; charset=utf-8 a")
    assert_equal(_line(ok()), "200 text/plain; charset=utf-8 ")
    assert_equal(_line(ok_json("{}")), "200 application/json {}")
    assert_equal(
        _line(ok_json(parse('{"a" : [1]}'))), '200 application/json {"a":[1]}'
    )
    assert_equal(_line(ok_html("<p>")), "200 text/html; charset=utf-8 <p>")
    assert_equal(_line(created("x")), "201 text/plain; charset=utf-8 x")
    assert_equal(_line(no_content()), "204  ")
    assert_equal(_line(bad_request("why")), "400 text/plain; charset=utf-8 why")
    assert_equal(_line(forbidden()), "403 text/plain; charset=utf-8 forbidden")
    assert_equal(
        _line(not_found("/x")),
        "404 text/plain; charset=utf-8 not found: /x",
    )
    assert_equal(
        _line(internal_error()),
        "500 text/plain; charset=utf-8 internal server error",
    )


def test_octets() raises:
    var octets: List[UInt8] = [0, 255]
    var response = ok(octets^)
    assert_equal(response.headers.content_type(), "application/octet-stream")
    assert_equal(len(response.body), 2)
    assert_equal(Int(response.body.as_bytes()[1]), 255)


def test_unauthorized_challenges() raises:
    var response = unauthorized("who?", 'Basic realm="x"')
    assert_equal(response.status.code, 401)
    assert_equal(response.headers["www-authenticate"], 'Basic realm="x"')


def test_redirect() raises:
    var response = redirect("/there", 303)
    assert_equal(response.status.code, 303)
    assert_equal(response.headers["location"], "/there")
    assert_false("content-type" in response.headers)


def test_redirect_cannot_split_the_response() raises:
    try:
        _ = redirect("/a\r\nSet-Cookie: b=c")
    except error:
        assert_equal(error.offset, 2)
        return
    raise Error("a line end was taken")


def test_copies_share_long_text() raises:
    var page = String("x") * 1000
    var first = Body(page)
    var second = first.copy()
    assert_equal(
        Int(first.as_bytes().unsafe_ptr()), Int(second.as_bytes().unsafe_ptr())
    )
    assert_true(len(second) == 1000)
    _ = first^
    _ = second^
