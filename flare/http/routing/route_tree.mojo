"""A tree of patterns, a segment a level."""

from flare.http.message.method import Method
from flare.http.routing.pattern import (
    RouteError,
    SEGMENT_PARAM,
    SEGMENT_STATIC,
    conflict_error,
    parse_pattern,
)
from flare.http.routing.segment_table import SegmentTable
from flare.http.message.request import PATH_PARAM_COUNT_MAX
from flare.url.percent import PERCENT, PercentError, percent_decode

comptime ANY_METHOD: UInt8 = 255
"""Stands for all methods of a route."""

comptime _SLASH: UInt8 = 47


struct _Leaf(Copyable, Movable):
    var method: UInt8
    var route: Int

    def __init__(out self, method: UInt8, route: Int):
        self.method = method
        self.route = route


struct _Node(Copyable, Movable):
    var param: Int
    var rest: Int
    var leaves: List[_Leaf]

    def __init__(out self):
        self.param = -1
        self.rest = -1
        self.leaves = []


@fieldwise_init
struct Capture(TrivialRegisterPassable):
    """Where a captured value stands in the path."""

    var start: Int
    """Its first octet."""
    var end: Int
    """Behind its last octet."""
    var is_encoded: Bool
    """True if it has a `%`."""


struct RouteMatch(Movable):
    """What a path and a method lead to."""

    var route: Int
    """The route's number, or -1."""
    var allowed: UInt64
    """A bit for each method that a route has for this path, by number."""
    var captures: Array[Capture, PATH_PARAM_COUNT_MAX]
    """The values of the route's parameters, in order; `capture_count` of them.
    """
    var capture_count: Int
    """How many captures there are."""

    def __init__(out self):
        """Makes a match of nothing."""
        self.route = -1
        self.allowed = 0
        # On the stack and not cleared: only what is counted is read.
        self.captures = Array[Capture, PATH_PARAM_COUNT_MAX](uninitialized=True)
        self.capture_count = 0

    @always_inline
    def push(mut self, start: Int, end: Int, is_encoded: Bool):
        """Captures a value.

        Args:
            start: Its first octet in the path.
            end: Behind its last octet.
            is_encoded: True if it has a `%`.
        """
        # A pattern has at most PATH_PARAM_COUNT_MAX names.
        self.captures[self.capture_count] = Capture(start, end, is_encoded)
        self.capture_count += 1


struct RouteTree(Movable):
    """Finds the route of a path.

    At each level text comes before a parameter, and a parameter before a rest;
    where the better choice leads nowhere, the next is tried. Each node is
    visited once at most.
    """

    var _nodes: List[_Node]
    var _table: SegmentTable
    var _patterns: List[String]

    def __init__(out self):
        """Makes an empty tree."""
        self._nodes = [_Node()]
        self._patterns = []
        self._table = SegmentTable()

    def add(
        mut self, method: UInt8, pattern: StringSpan
    ) raises RouteError -> Int:
        """Adds a route, if it agrees with those that are there.

        These are all the rules for routes, whether a program keeps them when
        it runs (`Router`) or when it is built (`ComptimeRouter`).

        Args:
            method: A method's number, or `ANY_METHOD`.
            pattern: The pattern.

        Returns:
            The route's number: how many were added before.

        Raises:
            RouteError: If the method is not registered, the pattern is
                malformed, or another one matches the same paths for the same
                method; it names the patterns.
        """
        if method == Method.OTHER.number:
            raise RouteError(String("'", pattern, "': unregistered method"))
        var node = 0
        for segment in parse_pattern(pattern):
            if segment.kind == SEGMENT_STATIC:
                var child = self._table.find(node, segment.text.as_bytes())
                if child < 0:
                    child = self._new_node()
                    self._table.add(node, segment.text, child)
                node = child
            elif segment.kind == SEGMENT_PARAM:
                if self._nodes[node].param < 0:
                    var child = self._new_node()
                    self._nodes[node].param = child
                node = self._nodes[node].param
            else:
                if self._nodes[node].rest < 0:
                    var child = self._new_node()
                    self._nodes[node].rest = child
                node = self._nodes[node].rest
        for leaf in self._nodes[node].leaves:
            if leaf.method == method:
                raise conflict_error(pattern, self._patterns[leaf.route])
        var route = len(self._patterns)
        self._nodes[node].leaves.append(_Leaf(method, route))
        self._patterns.append(String(pattern))
        return route

    def _new_node(mut self) -> Int:
        self._nodes.append(_Node())
        return len(self._nodes) - 1

    def find(
        self, method: Method, path: Span[UInt8, _], mut found: RouteMatch
    ) raises PercentError:
        """Finds the route of a path.

        Args:
            method: The request's method; HEAD takes a GET route if there is
                none of its own.
            path: The path as sent, with its first slash.
            found: A new match, filled; `route` is -1 if there is none.

        Raises:
            PercentError: If a segment is malformed.
        """
        if len(path) == 0 or path[0] != _SLASH:
            return
        _ = self._descend(0, method, path, 1, found)
        if found.route < 0 and method == Method.HEAD:
            var allowed = found.allowed
            _ = self._descend(0, Method.GET, path, 1, found)
            found.allowed |= allowed

    def _descend(
        self,
        node: Int,
        method: Method,
        path: Span[UInt8, _],
        start: Int,
        mut found: RouteMatch,
    ) raises PercentError -> Bool:
        """Matches the path from `start` on below a node."""
        var end = start
        var is_encoded = False
        while end < len(path) and path[end] != _SLASH:
            is_encoded = is_encoded or path[end] == PERCENT
            end += 1
        var child: Int
        if is_encoded:
            var text = percent_decode(path[start:end])
            child = self._table.find(node, text.as_bytes())
        else:
            child = self._table.find(node, path[start:end])
        if child >= 0 and self._go_on(child, method, path, end, found):
            return True
        var capture_count = found.capture_count
        child = self._nodes[node].param
        if child >= 0 and end > start:
            found.push(start, end, is_encoded)
            if self._go_on(child, method, path, end, found):
                return True
            found.capture_count = capture_count
        child = self._nodes[node].rest
        if child >= 0:
            var has_percent = PERCENT in path[start:]
            found.push(start, len(path), has_percent)
            if self._choose(child, method, found):
                return True
            found.capture_count = capture_count
        return False

    def _go_on(
        self,
        child: Int,
        method: Method,
        path: Span[UInt8, _],
        end: Int,
        mut found: RouteMatch,
    ) raises PercentError -> Bool:
        if end == len(path):
            return self._choose(child, method, found)
        return self._descend(child, method, path, end + 1, found)

    def _choose(self, node: Int, method: Method, mut found: RouteMatch) -> Bool:
        """Takes the route of a method, and notes which methods there are."""
        var any_route = -1
        for leaf in self._nodes[node].leaves:
            if leaf.method == method.number:
                found.route = leaf.route
                return True
            if leaf.method == ANY_METHOD:
                any_route = leaf.route
            else:
                found.allowed |= UInt64(1) << UInt64(leaf.method)
        if any_route >= 0:
            found.route = any_route
            return True
        return False
