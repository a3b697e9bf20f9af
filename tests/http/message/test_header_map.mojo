"""Owned header fields, and what they refuse (RFC 9110 section 5)."""

from flare.http.message.header_map import (
    HEADER_BLOCK_LEN_MAX,
    HeaderMap,
    add_vary,
    check_field,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


def test_set_get_append_remove() raises:
    var map = HeaderMap()
    assert_equal(len(map), 0)
    map.set("X-A", "one")
    map.append("x-a", "two")
    map.set("Content-Type", " text/html ")
    assert_equal(len(map), 3)
    assert_equal(map["x-A"], "one")
    assert_equal(map.get("content-type").value(), "text/html")
    assert_equal(map.value(map.find("x-a", map.find("x-a") + 1)), "two")
    map.set("x-a", "three")
    assert_equal(len(map), 2)
    assert_equal(map["X-A"], "three")
    assert_true(map.remove("CONTENT-TYPE"))
    assert_false(map.remove("content-type"))
    assert_false("content-type" in map)
    assert_equal(String(map), "x-a: three\n")


def test_all_values_and_all_lines_in_order() raises:
    # RFC 9110 section 5.3: lines of one name are in the order in which they
    # were set; Set-Cookie (RFC 6265 section 3) is never joined.
    var map = HeaderMap()
    map.append("Set-Cookie", "a=1")
    map.set("X-A", "one")
    map.append("set-cookie", "b=2")
    map.set("Content-Type", "text/html")
    var cookies = map.get_all("SET-COOKIE")
    assert_equal(len(cookies), 2)
    assert_equal(cookies[0], "a=1")
    assert_equal(cookies[1], "b=2")
    assert_equal(map.get("set-cookie", "none"), "a=1")
    assert_equal(map.get("x-b", "none"), "none")
    assert_equal(len(map.get_all("content-type")), 1)
    assert_equal(len(map.get_all("x-b")), 0)
    var lines = String()
    for field in map:
        lines.write(field.name, "=", field.value, ";")
    assert_equal(
        lines,
        "Content-Type=text/html;Set-Cookie=a=1;X-A=one;set-cookie=b=2;",
    )
    for field in HeaderMap():
        raise Error("an empty map has a field ", field.name)


def test_content_type_may_be_repeated_and_is_removed_whole() raises:
    var map = HeaderMap(content_type="a/b")
    map.append("Content-Type", "c/d")
    assert_equal(len(map), 2)
    assert_true(map.remove("content-type"))
    assert_equal(len(map), 0)


def test_a_cleared_map_has_no_content_type_whatever_its_copies_have() raises:
    # Short, in room of its own, and too long for its room to be kept.
    for length in [1, 30, 500]:
        var map = HeaderMap()
        map.set("Content-Type", "a/" + "b" * length)
        map.set("X", "y")
        var copy = map.copy()
        map.clear()
        assert_equal(len(map), 0)
        assert_false("content-type" in map)
        assert_equal(map.content_type(), "")
        map.append("Content-Type", "c/" + "d" * 28)
        assert_equal(map.content_type(), "c/" + "d" * 28)
        assert_equal(copy.content_type(), "a/" + "b" * length)
        map.set("Content-Type", "e/f")
        assert_equal(map.content_type(), "e/f")


def test_a_literal_content_type_is_not_written_into() raises:
    var map = HeaderMap(content_type="text/plain; charset=utf-8")
    map.clear()
    map.append("Content-Type", "image/png; something=else")
    assert_equal(map.content_type(), "image/png; something=else")
    map = HeaderMap(content_type="text/plain; charset=utf-8")
    assert_equal(map.content_type(), "text/plain; charset=utf-8")


def test_missing_field() raises:
    var map = HeaderMap()
    assert_false(map.get("x").__bool__())
    try:
        _ = map["x"]
    except error:
        assert_true("no field 'x'" in String(error))
        return
    raise Error("a missing field was found")


@fieldwise_init
struct _Bad(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var value: StaticString
    var part: StaticString
    var offset: Int


def _offset(mut map: HeaderMap, row: _Bad, mut part: String) -> Int:
    try:
        map.set(row.name, row.value)
    except error:
        part = String(error.part)
        return error.offset
    return -1


def test_refuses_what_would_break_the_message() raises:
    var rows: List[_Bad] = [
        _Bad("5.5 CR LF", "X", "a\r\nB: c", "field value", 1),
        _Bad("5.5 CR", "X", "\ra", "field value", 0),
        _Bad("5.5 LF", "X", "ab\n", "field value", 2),
        _Bad("5.5 NUL", "X", "a\0", "field value", 1),
        _Bad("5.5 DEL", "X", "a\x7f", "field value", 1),
        _Bad("5.1 empty", "", "a", "field name", 0),
        _Bad("5.1 space", "A B", "a", "field name", 1),
        _Bad("5.1 colon", "A:", "a", "field name", 1),
        _Bad("5.1 CR LF", "A\r\nB", "a", "field name", 1),
        _Bad("5.1 not ASCII", "Ä", "a", "field name", 0),
    ]
    for row in rows:
        var map = HeaderMap()
        var part = String()
        assert_equal(_offset(map, row, part), row.offset, row.rule)
        assert_equal(part, row.part, row.rule)
        assert_equal(len(map), 0, row.rule)


def test_accepts_htab_and_obs_text() raises:
    var map = HeaderMap()
    map.set("X", "a\tb ä")
    assert_equal(map["x"], "a\tb ä")


def test_the_block_has_a_limit() raises:
    var map = HeaderMap()
    map.set("X", String("a") * 60_000)
    try:
        map.set("Y", String("a") * 10_000)
    except error:
        assert_equal(error.part, "header block")
        assert_true(len(map.lines_octets()) < HEADER_BLOCK_LEN_MAX)
        return
    raise Error("the block grew over its limit")


def _refusal(name: StringSpan, value: StringSpan) -> String:
    """Gives which part was refused, and at which offset."""
    try:
        check_field(name, value)
    except error:
        return String(error.part, " ", error.offset)
    return ""


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var value: StaticString
    var refusal: StaticString


def test_rows() raises:
    var rows: List[_Row] = [
        _Row("9110-5.1 a name is a token", "X-a_1.~", "v", ""),
        _Row("9110-5.1 a token has an octet", "", "v", "field name 0"),
        _Row("9110-5.6.2 no space", "X a", "v", "field name 1"),
        _Row("9110-5.6.2 no colon", "Xa:", "v", "field name 2"),
        _Row("9110-5.6.2 ASCII alone", "Xä", "v", "field name 1"),
        _Row("9110-5.5 a value may be empty", "a", "", ""),
        _Row("9110-5.5 HTAB and obs-text", "a", "\tä b\t", ""),
        _Row("9110-5.5 no CR", "a", "b\r\nc: d", "field value 1"),
        _Row("9110-5.5 no LF", "a", "b\nc", "field value 1"),
        _Row("9110-5.5 no NUL", "a", "b\0", "field value 1"),
        _Row("9110-5.5 no DEL", "a", "\x7f", "field value 0"),
        _Row("the name comes first", "a b", "c\r", "field name 1"),
        _Row(
            "HTAB ends a block, not the check",
            "a",
            "0123456789\t12345 a whole block follows\n.",
            "field value 38",
        ),
    ]
    for row in rows:
        assert_equal(_refusal(row.name, row.value), row.refusal, row.rule)


def test_every_octet() raises:
    """A value takes HTAB, and what is neither below a space nor DEL."""
    var token = StaticString(
        "!#$%&'*+-.^_`|~0123456789"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    for octet in range(256):
        var text: List[UInt8] = [UInt8(octet)]
        var span = StringSpan(unsafe_from_utf8=Span(text))
        var is_token = UInt8(octet) in token.as_bytes()
        assert_equal(
            _refusal(span, ""),
            "" if is_token else "field name 0",
            String(octet),
        )
        var is_plain = octet == 9 or (octet >= 32 and octet != 127)
        assert_equal(
            _refusal("a", span),
            "" if is_plain else "field value 0",
            String(octet),
        )


def test_every_place_in_and_beyond_a_block() raises:
    """Values are checked sixteen octets at a time, from the first on; what is
    behind the last block, one by one. The value ends where memory does."""
    for length in range(1, 50):
        for place in range(length):
            for octet in [0, 10, 13, 31, 127]:
                var text = List[UInt8](length=length, fill=97)
                text[place] = UInt8(octet)
                var guarded = GuardedBytes(text)
                assert_equal(
                    _refusal("a", StringSpan(unsafe_from_utf8=guarded.span())),
                    String("field value ", place),
                    String(length, " octets"),
                )
        var plain = List[UInt8](length=length, fill=0xFF)
        plain[length // 2] = 9
        var guarded = GuardedBytes(plain)
        assert_equal(
            _refusal("a", StringSpan(unsafe_from_utf8=guarded.span())), ""
        )


def test_a_map_that_is_filled_anew_beside_its_copies() raises:
    # Each time it is the copy's room, or one of its own, and never a larger one
    # for each copy: that ended a process at the 30th.
    for type in ["a/b", "application/octet-stream", "text/html; charset=utf-8"]:
        var map = HeaderMap()
        var copies = List[HeaderMap]()
        for round in range(64):
            map.clear()
            map.append("Content-Type", type)
            map.append("X-Round", String(round))
            copies.append(map.copy())
        for round in range(64):
            assert_equal(copies[round]["content-type"], type)
            assert_equal(copies[round]["x-round"], String(round))


@fieldwise_init
struct _VaryRow(Copyable, Movable):
    var before: StaticString
    var after: StaticString


def test_add_vary() raises:
    var rows: List[_VaryRow] = [
        _VaryRow("", "Vary: Origin\n"),
        _VaryRow("Accept", "Vary: Accept\nVary: Origin\n"),
        _VaryRow("accept , ORIGIN", "Vary: accept , ORIGIN\n"),
        _VaryRow("*", "Vary: *\n"),
        _VaryRow("Original", "Vary: Original\nVary: Origin\n"),
    ]
    for row in rows:
        var headers = HeaderMap()
        if row.before.byte_length() > 0:
            headers.set("Vary", row.before)
        add_vary(headers, "Origin")
        assert_equal(String(headers), row.after)
        add_vary(headers, "origin")
        assert_equal(String(headers), row.after)
