"""Responses and the short ways to make them."""

from flare.http.message.body import Body
from flare.http.message.cookie import Cookie
from flare.http.message.response import (
    Response,
    accepted,
    bad_request,
    conflict,
    created,
    forbidden,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_html,
    ok_json,
    redirect,
    service_unavailable,
    too_many_requests,
    unauthorized,
    unprocessable,
)
from flare.json.value import parse
from tests.support.assertions import assert_equal, assert_false, assert_true


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


def test_builders_of_statuses_beside_200() raises:
    assert_equal(_line(accepted("soon")), "202 text/plain; charset=utf-8 soon")
    assert_equal(_line(accepted()), "202 text/plain; charset=utf-8 ")
    assert_equal(_line(conflict()), "409 text/plain; charset=utf-8 conflict")
    assert_equal(
        _line(unprocessable("age")), "422 text/plain; charset=utf-8 age"
    )
    assert_equal(
        _line(unprocessable()),
        "422 text/plain; charset=utf-8 unprocessable content",
    )
    assert_equal(
        _line(too_many_requests()),
        "429 text/plain; charset=utf-8 too many requests",
    )
    assert_equal(
        _line(service_unavailable()),
        "503 text/plain; charset=utf-8 service unavailable",
    )


def test_retry_after() raises:
    # RFC 9110 section 10.2.3: a number of seconds, at least 0.
    assert_false("retry-after" in too_many_requests().headers)
    assert_false("retry-after" in service_unavailable().headers)
    var limited = too_many_requests(retry_after_s=30)
    assert_equal(limited.headers["retry-after"], "30")
    var busy = service_unavailable("busy", retry_after_s=-1)
    assert_equal(busy.headers["retry-after"], "0")
    assert_equal(busy.text(), "busy")


def test_a_status_with_any_builder() raises:
    assert_equal(
        _line(ok_json("{}").with_status(201)), "201 application/json {}"
    )
    assert_equal(
        _line(ok_html("<p>").with_status(404)),
        "404 text/html; charset=utf-8 <p>",
    )


def test_fields_and_cookies_in_one_expression() raises:
    var response = (
        ok("a")
        .with_header("X-A", "1")
        .with_header("x-a", "2")
        .with_status(202)
        .with_cookie(Cookie("s", "1"))
        .with_cookie(Cookie("t", "2"))
    )
    assert_equal(response.status.code, 202)
    assert_equal(response.headers["x-a"], "2")
    # Content-Type, X-A, and a line for each cookie.
    assert_equal(len(response.headers), 4)
    assert_equal(response.text(), "a")


def test_a_field_in_one_expression_cannot_split_the_response() raises:
    try:
        _ = ok().with_header("X-A", "a\r\nSet-Cookie: b=c")
    except error:
        assert_equal(error.offset, 1)
        return
    raise Error("a line end was taken")


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
