"""Owned header fields, and what they refuse (RFC 9110 section 5)."""

from flare.http.message.header_map import HEADER_BLOCK_LEN_MAX, HeaderMap
from std.testing import assert_equal, assert_false, assert_true


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


def test_content_type_may_be_repeated_and_is_removed_whole() raises:
    var map = HeaderMap(content_type="a/b")
    map.append("Content-Type", "c/d")
    assert_equal(len(map), 2)
    assert_true(map.remove("content-type"))
    assert_equal(len(map), 0)


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
