"""Patterns of routes."""

from flare.http.handler.route_memo import RouteMatch
from flare.http.message.method import Method
from flare.http.routing.route_tree import RouteTree, parse_pattern
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
        "/<id>",
    ]
    for row in rows:
        var outcome = _outcome(row)
        assert_true(
            outcome.startswith(String("error: route: '", row, "': ")), outcome
        )


def test_an_unregistered_method_is_refused_with_what_to_do() raises:
    # RFC 9110 section 9.1: method names are case-sensitive.
    for name in ["PURGE", "get", "GTE", ""]:
        var told = String()
        var tree = RouteTree()
        try:
            _ = tree.add(Method(StringSpan(name)).number, "/cache")
        except error:
            told = String(error)
        assert_equal(
            told,
            (
                "route: '/cache': unregistered method; write a registered one"
                " in its own letters, such as GET, or register `all` and ask"
                " req.method_name"
            ),
            name,
        )


@fieldwise_init
struct _Sought(Copyable, Movable):
    var method: Method
    var path: StaticString
    var route: Int
    var allowed: List[Method]


def test_names_the_methods_of_a_path_only_where_none_answers() raises:
    var tree = RouteTree()
    _ = tree.add(Method.GET.number, "/a/:id")
    _ = tree.add(Method.POST.number, "/a/b")
    _ = tree.add(Method.PUT.number, "/a/b")
    var rows: List[_Sought] = [
        _Sought(Method.GET, "/a/x", 0, []),
        # RFC 9110 section 9.3.2: HEAD is answered as GET is.
        _Sought(Method.HEAD, "/a/x", 0, []),
        # On the way to the route of GET, those of others are passed by.
        _Sought(Method.GET, "/a/b", 0, []),
        _Sought(Method.HEAD, "/a/b", 0, []),
        _Sought(Method.PUT, "/a/b", 2, []),
        # RFC 9110 section 15.5.6: all that the path could be asked for.
        _Sought(
            Method.DELETE, "/a/b", -1, [Method.GET, Method.POST, Method.PUT]
        ),
        _Sought(Method.DELETE, "/a/x", -1, [Method.GET]),
        _Sought(Method.GET, "/c", -1, []),
        _Sought(Method.GET, "", -1, []),
    ]
    for row in rows:
        var found = RouteMatch()
        tree.find(row.method, row.path.as_bytes(), found)
        var allowed = UInt64(0)
        for method in row.allowed:
            allowed |= UInt64(1) << UInt64(method.number)
        assert_equal(found.route, row.route, row.path)
        assert_equal(found.allowed, allowed, row.path)
