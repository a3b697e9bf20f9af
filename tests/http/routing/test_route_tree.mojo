"""Patterns of routes."""

from flare.http.routing.route_tree import parse_pattern
from tests.support.assertions import assert_equal, assert_true


def _outcome(pattern: StringSpan) -> String:
    var text = String()
    try:
        for segment in parse_pattern(pattern):
            text.write(segment.kind, segment.text, " ")
    except error:
        return String("error: ", error)
    return text^


@fieldwise_init
struct _Row(Copyable, Movable):
    var pattern: StaticString
    var segments: StaticString


def test_accepts() raises:
    var rows: List[_Row] = [
        _Row("/", "0 "),
        _Row("/a", "0a "),
        _Row("/a/", "0a 0 "),
        _Row("/a//b", "0a 0 0b "),
        _Row("/:id", "1id "),
        _Row("/a b", "0a b "),
        _Row("/a/:b/c/*d", "0a 1b 0c 2d "),
        _Row("/ä/a.b~c", "0ä 0a.b~c "),
        _Row("/{a/b}/c{d}", "0{a 0b} 0c{d} "),
    ]
    for row in rows:
        assert_equal(_outcome(row.pattern), row.segments, row.pattern)


def test_refuses_and_names_the_pattern() raises:
    var rows: List[StaticString] = [
        "",
        "a",
        "/a?b",
        "/a#b",
        "/a%20b",
        "/:",
        "/*",
        "/:1a",
        "/:a-b",
        "/a:b",
        "/a*",
        "/*a/b",
        "/:a/:a",
        "/:a/*a",
        "/a\n",
        "/{id}",
        "/a/{path...}/",
        "/{*rest}",
    ]
    for row in rows:
        var outcome = _outcome(row)
        assert_true(
            outcome.startswith(String("error: route: '", row, "': ")), outcome
        )
