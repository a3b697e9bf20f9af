"""Fuzzes paths: routes known at build time match as those of a tree do."""

from flare.http.message.method import Method
from flare.http.routing.comptime_router import Way, find_compiled
from flare.http.routing.route_tree import RouteTree, parse_pattern
from flare.http.handler.route_memo import RouteMatch
from fuzz.engine import Target, fuzz_main

comptime PATTERNS = StaticString(
    "/a/:b /a/c /a/c/:d/e /ab/c /ac/c /bb/c /bc/c /ä / // /:x/:y/*z /f/*rest"
    " /f/:g/h"
)
comptime WAYS = _ways()


def _ways() -> List[Way]:
    """Makes every third a route for POST."""
    var ways = List[Way]()
    try:
        for pattern in PATTERNS.split(" "):
            var number = len(ways)
            var method = Method.GET if number % 3 > 0 else Method.POST
            ways.append(Way(parse_pattern(pattern), method.number, number))
    except:
        return List[Way]()
    return ways^


def _outcome[
    is_compiled: Bool
](tree: RouteTree, path: Span[UInt8, _]) -> String:
    """Writes what is found for a path, with all that is captured."""
    var found = RouteMatch()
    try:
        comptime if is_compiled:
            find_compiled[WAYS](Method.HEAD, path, found)
        else:
            tree.find(Method.HEAD, path, found)
    except error:
        return String(error)
    var text = String(found.route, " ", found.allowed)
    for index in range(found.capture_count):
        var part = found.captures[index]
        text.write(" ", part.start, "-", part.end, part.is_encoded)
    return text^


struct CompiledRoutesTarget(Target):
    """Looks each path up twice."""

    var tree: RouteTree

    def __init__(out self) raises:
        """Fills the tree with the same routes."""
        self.tree = RouteTree()
        var patterns = PATTERNS.split(" ")
        for way in materialize[WAYS]():
            _ = self.tree.add(way.method, patterns[way.route])

    def seeds(self) -> List[String]:
        """Lists paths."""
        return ["/a/c/x/e", "/a%20b/%c3%a4", "/f/1/h", "/x/y/z/", "/ab/c"]

    def tokens(self) -> List[String]:
        """Lists what paths are made of."""
        return ["/", "a", "/c", "/f", "/e", "%61", "%2F", "%", "//", "h"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares both outcomes."""
        var wanted = _outcome[False](self.tree, input)
        var got = _outcome[True](self.tree, input)
        if got != wanted:
            raise Error("compiled: ", got, "; the tree: ", wanted)


def main() raises:
    """Runs the target."""
    fuzz_main("compiled_routes", CompiledRoutesTarget())
