"""Who may change things, and who may not."""

from flare.http import BasicAuth
from std.testing import assert_equal, assert_true
from .client import PASSWORD, new_client, signed_in_client

comptime TEA = '{"name": "tea", "price_cents": 250}'


def test_a_stranger_may_look_but_not_change() raises:
    var client = new_client()
    assert_equal(client.get("/api/items").status, 200)
    assert_equal(client.post("/api/items", TEA).status, 401)
    assert_equal(client.put("/api/items/1", TEA).status, 401)
    assert_equal(client.delete("/api/items/1").status, 401)


def test_who_is_refused_is_told_what_is_asked_for() raises:
    # RFC 9110 section 15.5.2: a 401 has a challenge.
    var client = new_client()
    var stranger = client.post("/api/items", TEA)
    assert_equal(stranger.status, 401)
    assert_equal(
        stranger.headers["WWW-Authenticate"],
        'Cookie realm="{{name}}"',
    )
    var guess = client.post("/api/login", "", auth=BasicAuth("admin", "guess"))
    var asked = guess.headers["WWW-Authenticate"]
    assert_true(asked.startswith("Basic "))
    var seen = client.get("/api/items")
    assert_true("WWW-Authenticate" not in seen.headers)


def test_a_wrong_password_begins_no_session() raises:
    var client = new_client()
    var answer = client.post("/api/login", "", auth=BasicAuth("admin", "guess"))
    assert_equal(answer.status, 401)
    assert_equal(client.post("/api/items", TEA).status, 401)


def test_a_session_lasts_until_logout() raises:
    var client = signed_in_client()
    assert_equal(client.post("/api/items", TEA).status, 201)
    assert_equal(client.post("/api/logout", "").status, 204)
    assert_equal(client.post("/api/items", TEA).status, 401)


def test_passwords_cannot_be_tried_at_will() raises:
    var client = new_client()
    for _ in range(10):
        var answer = client.post(
            "/api/login", "", auth=BasicAuth("admin", "guess")
        )
        assert_equal(answer.status, 401)
    var right = client.post("/api/login", "", auth=BasicAuth("admin", PASSWORD))
    assert_equal(right.status, 429)
