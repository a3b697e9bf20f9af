"""The service without a socket: requests go straight to the handler."""

from app.service import service
from flare.testing import TestClient
from std.testing import assert_equal, assert_true

comptime TITLE = "<title>{{name}}</title>"


def test_the_page_has_a_title() raises:
    var client = TestClient(service())
    var response = client.get("/")
    assert_equal(response.status, 200)
    assert_equal(
        response.headers.get("Content-Type").value(), "text/html; charset=utf-8"
    )
    assert_true(TITLE in response.text())


def test_it_greets_by_name() raises:
    var client = TestClient(service())
    assert_equal(client.get("/hello/ann").text(), "hello, ann\n")
    assert_equal(client.get("/hello/J%C3%BCrgen").text(), "hello, Jürgen\n")


def test_what_is_not_there_is_404() raises:
    var client = TestClient(service())
    assert_equal(client.get("/nothing").status, 404)
    assert_equal(client.post("/hello/ann", "").status, 405)


def test_it_tells_that_it_lives() raises:
    var client = TestClient(service())
    assert_equal(client.get("/live").status, 200)
