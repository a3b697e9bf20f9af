"""Security headers: defaults, choices, what the handler says wins."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.security_headers import (
    SecurityHeaders,
    SecurityPolicy,
)
from flare.http.handler.handler import FnHandler
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _hello(req: Request) raises -> Response:
    var response = ok("hello")
    response.headers.set("X-Frame-Options", "SAMEORIGIN")
    return response^


def _plain(req: Request) raises -> Response:
    return ok("plain")


def test_defaults() raises:
    var client = TestClient(SecurityHeaders(FnHandler(_hello)))
    var headers = client.get("/").headers.copy()
    assert_equal(headers["x-content-type-options"], "nosniff")
    assert_true("default-src 'self'" in headers["content-security-policy"])
    assert_equal(headers["referrer-policy"], "strict-origin-when-cross-origin")
    assert_equal(headers["cross-origin-opener-policy"], "same-origin")
    # The handler's own stays, and stands once.
    assert_equal(headers["x-frame-options"], "SAMEORIGIN")
    assert_equal(headers.find("x-frame-options", 2), -1)
    var plain = TestClient(SecurityHeaders(FnHandler(_plain)))
    assert_equal(plain.get("/").headers["x-frame-options"], "DENY")
    assert_true("strict-transport-security" not in headers)
    assert_true("permissions-policy" not in headers)


def test_choices() raises:
    var policy = SecurityPolicy(
        content_security_policy="",
        referrer_policy="no-referrer",
        frame_options="SAMEORIGIN",
        permissions_policy="camera=()",
        opener_policy="unsafe-none",
        transport_max_age_s=31_536_000,
    )
    var client = TestClient(SecurityHeaders(FnHandler(_plain), policy))
    var headers = client.get("/").headers.copy()
    assert_true("content-security-policy" not in headers)
    assert_equal(headers["referrer-policy"], "no-referrer")
    assert_equal(headers["x-frame-options"], "SAMEORIGIN")
    assert_equal(headers["permissions-policy"], "camera=()")
    assert_equal(headers["cross-origin-opener-policy"], "unsafe-none")
    assert_equal(headers["strict-transport-security"], "max-age=31536000")


def test_a_text_that_splits_is_refused() raises:
    with assert_raises(contains="octet 13 at byte 1"):
        _ = SecurityHeaders(
            FnHandler(_hello), SecurityPolicy(referrer_policy="a\r\nX: y")
        )
