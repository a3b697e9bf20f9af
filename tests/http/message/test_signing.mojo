"""Signed cookies, sessions and CSRF tokens."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.session.session import (
    Session,
    SessionConfig,
    has_csrf_token,
    issue_csrf_token,
)
from flare.http.session.signing_keys import SigningKeys
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _NEW = "new-key-new-key-new-key-new-key-!"
comptime _OLD = "old-key-old-key-old-key-old-key-!"
comptime _NOW_S = 1_800_000_000


def test_round_trip() raises:
    var keys = SigningKeys(_NEW)
    for text in ["", "a", "user=7&role=admin", 'ä; "\\,\n\0']:
        var signed = keys.sign("session", text, _NOW_S)
        for octet in signed.as_bytes():
            assert_true(octet > 32 and octet < 127 and octet != 59)
        var back = keys.verify("session", signed.as_bytes(), _NOW_S, 0)
        assert_equal(back.value(), text)


def test_every_changed_octet_is_refused() raises:
    var keys = SigningKeys(_NEW)
    var signed = keys.sign("session", "user=7", _NOW_S)
    for index in range(signed.byte_length()):
        for change in [UInt8(1), UInt8(3), UInt8(32), UInt8(128)]:
            var octets = List[UInt8]()
            octets.extend(signed.as_bytes())
            octets[index] ^= change
            assert_false(keys.verify("session", octets, _NOW_S, 60))
        var cut = signed.as_bytes()[:index]
        assert_false(keys.verify("session", cut, _NOW_S, 60))


def test_purpose_and_age() raises:
    var keys = SigningKeys(_NEW)
    var signed = keys.sign("session", "x", _NOW_S)
    assert_false(keys.verify("sessio", signed.as_bytes(), _NOW_S, 60))
    assert_false(keys.verify("", signed.as_bytes(), _NOW_S, 60))
    var octets = signed.as_bytes()
    assert_true(keys.verify("session", octets, _NOW_S + 60, 60))
    assert_false(keys.verify("session", octets, _NOW_S + 61, 60))
    # Clocks of two servers may differ.
    assert_true(keys.verify("session", octets, _NOW_S - 5, 60))


def test_rotation() raises:
    var old = SigningKeys(_OLD)
    var signed = old.sign("session", "x", _NOW_S)
    var octets = signed.as_bytes()
    assert_true(SigningKeys(_NEW, _OLD).verify("session", octets, _NOW_S, 9))
    assert_false(SigningKeys(_NEW).verify("session", octets, _NOW_S, 9))
    assert_false(SigningKeys(_NEW).open("session", octets, _NOW_S, 9))
    var both = SigningKeys(_NEW, _OLD).open("session", octets, _NOW_S, 9)
    assert_false(both.value().is_by_newest)
    assert_true(old.open("session", octets, _NOW_S, 9).value().is_by_newest)
    var renewed = SigningKeys(_NEW, _OLD).sign("session", "x", _NOW_S)
    assert_false(old.verify("session", renewed.as_bytes(), _NOW_S, 9))


def _refused(key: String) -> Int:
    try:
        _ = SigningKeys(_NEW, key)
    except error:
        return error.index
    return -2


def test_short_keys_are_refused() raises:
    assert_equal(_refused("short"), 1)
    assert_equal(_refused(_OLD), -2)


def test_session() raises:
    var keys = SigningKeys(_NEW)
    var config = SessionConfig()
    var request = OwnedRequest("GET", "/")
    var session = Session.read(request.view().headers, keys, config, _NOW_S)
    assert_false(session.is_changed())
    session.set("user", "7")
    session.set("user", "8")
    session.set("theme", "dark & plain")
    assert_true(session.is_changed())
    var cookie = session.cookie(keys, config, _NOW_S)
    assert_true(cookie.http_only and cookie.secure)
    request.add_header(
        "Cookie", String("other=1; ", cookie.name, "=", cookie.value)
    )
    var back = Session.read(request.view().headers, keys, config, _NOW_S + 9)
    assert_equal(back.get("user").value(), "8")
    assert_equal(back.get("theme").value(), "dark & plain")
    assert_false(back.is_changed())
    back.remove("user")
    assert_true(back.is_changed())
    assert_false(back.get("user"))
    back.clear()
    assert_equal(back.cookie(keys, config, _NOW_S).max_age.value(), 0)
    var late = _NOW_S + config.max_age_s + 1
    var expired = Session.read(request.view().headers, keys, config, late)
    assert_false(expired.get("theme"))


def test_forged_session_is_empty() raises:
    var config = SessionConfig(is_secure=False)
    var session = Session()
    session.set("user", "1")
    var cookie = session.cookie(SigningKeys(_OLD), config, _NOW_S)
    assert_false(cookie.secure)
    var request = OwnedRequest("GET", "/")
    request.add_header("Cookie", String(cookie.name, "=", cookie.value))
    var found = Session.read(
        request.view().headers, SigningKeys(_NEW), config, _NOW_S
    )
    assert_false(found.get("user"))


def test_csrf_token() raises:
    var keys = SigningKeys(_NEW)
    var random = Array[UInt8, 16](fill=7)
    var token = issue_csrf_token(keys, "session-1", random)
    assert_equal(token.byte_length(), 64)
    assert_true(has_csrf_token(keys, "session-1", token.as_bytes()))
    assert_false(has_csrf_token(keys, "session-2", token.as_bytes()))
    var rotated = SigningKeys(_OLD, _NEW)
    assert_true(has_csrf_token(rotated, "session-1", token.as_bytes()))
    random[0] = 8
    assert_true(issue_csrf_token(keys, "session-1", random) != token)
    for index in range(64):
        var octets = List[UInt8]()
        octets.extend(token.as_bytes())
        octets[index] ^= 1
        assert_false(has_csrf_token(keys, "session-1", octets))
        assert_false(
            has_csrf_token(keys, "session-1", token.as_bytes()[:index])
        )
