"""Fuzzes route patterns and paths: a pattern that is taken matches itself, and a
path finds what a plain look at all patterns finds."""

from flare.http.message.method import Method
from flare.http.routing.route_tree import (
    RouteTree,
    SEGMENT_PARAM,
    SEGMENT_REST,
    Segment,
    parse_pattern,
)
from flare.http.handler.route_memo import RouteMatch
from flare.url.percent import percent_decode
from fuzz.engine import Target, fuzz_main

comptime _PATTERN_COUNT_MAX = 12
comptime _PATH_COUNT_MAX = 12
# The plain look takes patterns times paths.


@fieldwise_init
struct RoutesTarget(Target):
    """Registers patterns, a line each, and looks each up."""

    def seeds(self) -> List[String]:
        """Lists sets of patterns."""
        return ["/a/:b\n/a/c\n/*d", "/\n//\n/:x/:y/*z", "/a b/ä\n/a%20b"]

    def tokens(self) -> List[String]:
        """Lists what patterns are made of."""
        return ["/", ":", "*", "\n", "/:a", "/*b", "%2F", "%", "//"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Checks each line as a pattern and as a path."""
        var text = String(from_utf8_lossy=input)
        var tree = RouteTree()
        var plain = List[List[Segment]]()
        for line in text.split("\n"):
            try:
                _ = tree.add(Method.GET.number, line)
            except:
                continue
            plain.append(parse_pattern(line))
            var found = RouteMatch()
            tree.find(Method.GET, line.as_bytes(), found)
            if found.route < 0:
                raise Error("'", line, "' does not match itself")
        var left = _PATH_COUNT_MAX if len(plain) <= _PATTERN_COUNT_MAX else 0
        for line in text.split("\n"):
            var found = RouteMatch()
            try:
                tree.find(Method.HEAD, line.as_bytes(), found)
            except:
                continue
            left -= 1
            if left >= 0:
                _check(line, plain, found)


def _check(
    path: StringSpan, plain: List[List[Segment]], found: RouteMatch
) raises:
    """Compares what the tree has found with a look at each pattern by itself."""
    var best = _Fit(-1, "9", "")
    for route in range(len(plain)):
        var fit = _fit(path, plain[route], route)
        if fit and fit.value().rank < best.rank:
            best = fit.value().copy()
    var captures = String()
    for index in range(found.capture_count):
        ref capture = found.captures[index]
        captures.write(capture.start, "-", capture.end, " ")
    if found.route != best.route:
        raise Error("'", path, "': ", found.route, ", not ", best.route)
    if best.route >= 0 and captures != best.captures:
        raise Error("'", path, "': ", captures, "not ", best.captures)


@fieldwise_init
struct _Fit(Copyable, Movable):
    """How a path fits to a pattern."""

    var route: Int
    var rank: String
    """A digit for each segment: text stands before a parameter, and that before a
    rest; the least of two ranks is preferred."""
    var captures: String


def _fit(
    path: StringSpan, pattern: List[Segment], route: Int
) -> Optional[_Fit]:
    var fit = _Fit(route, "", "")
    if not path.startswith("/"):
        return None
    var start = 1
    for segment in pattern:
        if start > path.byte_length():
            return None
        fit.rank.write(segment.kind)
        if segment.kind == SEGMENT_REST:
            fit.captures.write(start, "-", path.byte_length(), " ")
            return fit^
        var end = path.find("/", start)
        if end < 0:
            end = path.byte_length()
        if segment.kind == SEGMENT_PARAM:
            if end == start:
                return None
            fit.captures.write(start, "-", end, " ")
        elif not _is_text(path.as_bytes()[start:end], segment.text):
            return None
        start = end + 1
    if start <= path.byte_length():
        return None
    return fit^


def _is_text(octets: Span[UInt8, _], text: String) -> Bool:
    try:
        return percent_decode(octets) == text
    except:
        return False


def main() raises:
    """Runs the target."""
    fuzz_main("routes", RoutesTarget())
