"""The routes of a router, found by method and path."""

from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.operation import Operation
from flare.http.routing.pattern import (
    RouteError,
    check_prefix,
    mounted_pattern,
    param_names,
)
from flare.http.routing.route import Route
from flare.http.routing.route_tree import RouteTree


struct RouteTable(Movable):
    """Routes in the order of registration, and the tree that finds them."""

    var tree: RouteTree
    """Finds a route's index."""
    var routes: List[Route]
    """The routes."""
    var fallback: Optional[AnyHandler]
    """What answers paths without a route, if anything does."""

    def __init__(out self):
        """Makes an empty table."""
        self.tree = RouteTree()
        self.routes = []
        self.fallback = None

    def add(
        mut self,
        method: UInt8,
        pattern: StringSpan,
        var handler: AnyHandler,
        max_body_size: Int,
        may_block: Bool,
    ) raises RouteError:
        """Adds a route.

        Args:
            method: The method's number, or `ANY_METHOD`.
            pattern: The pattern.
            handler: What answers.
            max_body_size: Most content in bytes, or `DEFAULT_BODY_LIMIT`.
            may_block: False if the handler never takes long.

        Raises:
            RouteError: If the method is not registered, the pattern is
                malformed, or another one matches the same paths.
        """
        # The tree counts routes as this list does.
        _ = self.tree.add(method, pattern)
        var names = param_names(pattern)
        self.routes.append(
            Route(method, pattern, names^, handler^, max_body_size, may_block)
        )

    def mount(mut self, prefix: StringSpan, mut other: Self) raises RouteError:
        """Takes over another table's routes, not its fallback, below a prefix.

        Args:
            prefix: Begins with `/` and does not end with it.
            other: The other table, without routes afterwards.

        Raises:
            RouteError: If the prefix is malformed, or a route conflicts.
        """
        check_prefix(prefix)
        while len(other.routes) > 0:
            var route = other.routes.pop(0)
            var pattern = mounted_pattern(prefix, route.pattern)
            var method = route.method
            var limit = route.max_body_size
            var blocks = route.may_block
            self.add(method, pattern, route^.take_handler(), limit, blocks)

    def may_stream(self) -> Bool:
        """Tells whether a route reads content while it arrives.

        Returns:
            True if one does, or the fallback.
        """
        for index in range(len(self.routes)):
            if self.routes[index].handler.may_stream():
                return True
        return self.fallback.__bool__() and self.fallback.value().may_stream()

    def operations(self) -> List[Operation]:
        """Tells what the routes take.

        Returns:
            One operation a route, in the order of registration.
        """
        var operations = List[Operation]()
        for index in range(len(self.routes)):
            operations.append(self.routes[index].operation())
        return operations^
