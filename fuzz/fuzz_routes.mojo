"""Fuzzes route patterns and paths: a pattern that is taken matches itself."""

from flare.http.message.method import Method
from flare.http.routing.route_tree import RouteTree
from flare.http.handler.route_memo import RouteMatch
from fuzz.engine import Target, fuzz_main


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
        for line in text.split("\n"):
            try:
                _ = tree.add(Method.GET.number, line)
            except:
                continue
            var found = RouteMatch()
            tree.find(Method.GET, line.as_bytes(), found)
            if found.route < 0:
                raise Error("'", line, "' does not match itself")
        for line in text.split("\n"):
            var found = RouteMatch()
            try:
                tree.find(Method.HEAD, line.as_bytes(), found)
            except:
                continue


def main() raises:
    """Runs the target."""
    fuzz_main("routes", RoutesTarget())
