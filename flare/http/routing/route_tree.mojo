"""Route patterns, and the tree that finds the route of a path."""

from flare.bytes.checked import *
from flare.bytes.buffer import unsafe_lend_text
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.http.message.method import Method
from flare.http.message.request import PATH_PARAM_COUNT_MAX, Request
from flare.http.handler.route_memo import Capture, RouteMatch
from flare.url.percent import PERCENT, PercentError, percent_decode
from std.collections.string.string_span import get_static_string
from std.sys.intrinsics import unlikely

comptime ANY_METHOD: UInt8 = 255
"""Stands for all methods of a route."""

comptime _SLASH: UInt8 = 47

comptime BELOW = StaticString("/*_below")
"""What the prefix of a fallback goes on with; the name is given to nobody."""


@fieldwise_init
struct _Leaf(Copyable, Movable):
    var method: UInt8
    var route: Int


struct _Node(Copyable, Movable):
    var param: Int
    var rest: Int
    var leaves: List[_Leaf]

    def __init__(out self):
        self.param = -1
        self.rest = -1
        self.leaves = []


struct RouteTree(Movable):
    """Finds the route of a path.

    At each level text comes before a parameter, and a parameter before a rest;
    where the better choice leads nowhere, the next is tried. Each node is
    visited once at most. Of a pattern's routes, that of the method comes first,
    for HEAD then that of GET, and that of all methods last.
    """

    var _nodes: List[_Node]
    var _table: SegmentTable
    var _patterns: List[String]

    def __init__(out self):
        self._nodes = [_Node()]
        self._patterns = []
        self._table = SegmentTable()

    def add(
        mut self, method: UInt8, pattern: StringSpan
    ) raises RouteError -> Int:
        """Adds a route of a method or of `ANY_METHOD`, if it agrees with those
        that are there. Returns its number: how many were added before.

        These are all the rules for routes, whether a program keeps them when it
        runs (`Router`) or when it is built (`ComptimeRouter`). Raises as `check`
        does, and nothing has changed then.
        """
        var segments = self.check(method, pattern)
        var route = len(self._patterns)
        self._patterns.append(String(pattern))
        self._place(method, segments, route)
        return route

    def check(
        self, method: UInt8, pattern: StringSpan
    ) raises RouteError -> List[Segment]:
        """Checks that `add` would take a route, and gives the segments of its
        pattern. Raises if the method is not registered, the pattern is malformed,
        or another one matches the same paths for the same method; it names the
        patterns."""
        if method == Method.OTHER.number:
            raise _error(
                pattern,
                "unregistered method; write a registered one in its own"
                " letters, such as GET, or register `all` and ask"
                " req.method_name",
            )
        var segments = parse_pattern(pattern)
        var standing = self._standing(method, segments)
        if standing >= 0:
            raise conflict_error(pattern, self._patterns.at(standing))
        return segments^

    def add_fallback(mut self, prefix: StringSpan) raises RouteError -> Int:
        """Adds what answers for a prefix and all paths below it, whatever their
        method is, in a tree of fallbacks. Returns its number. Raises as
        `check_fallback` does."""
        self.check_fallback(prefix)
        var fallback = len(self._patterns)
        self._patterns.append(String(prefix))
        self._place(ANY_METHOD, parse_pattern(prefix), fallback)
        self._place(
            ANY_METHOD, parse_pattern(mounted_pattern(prefix, BELOW)), fallback
        )
        return fallback

    def check_fallback(self, prefix: StringSpan) raises RouteError:
        """Checks that `add_fallback` would take a prefix. Raises if it is
        malformed, or there is a fallback for the same paths; it names both."""
        _ = parse_pattern(mounted_pattern(prefix, BELOW))
        var standing = self._standing(ANY_METHOD, parse_pattern(prefix))
        if standing >= 0:
            raise RouteError(
                Text()
                .add("there are two fallbacks below '")
                .add(prefix)
                .add("' and '")
                .add(self._patterns.at(standing))
                .add("', which match the same paths; keep one")
                .end()
            )

    def _standing(self, method: UInt8, segments: List[Segment]) -> Int:
        """Finds the route of a method whose pattern matches the same paths, or
        -1."""
        var node = 0
        for ref segment in segments:
            node = self._child(node, segment)
            if node < 0:
                return -1
        for leaf in self._nodes.at(node).leaves:
            if leaf.method == method:
                return leaf.route
        return -1

    def _place(mut self, method: UInt8, segments: List[Segment], route: Int):
        """Puts a route where its segments lead."""
        var node = 0
        for ref segment in segments:
            var child = self._child(node, segment)
            if child < 0:
                child = len(self._nodes)
                self._nodes.append(_Node())
                if segment.kind == SEGMENT_STATIC:
                    self._table.add(node, segment.text, child)
                elif segment.kind == SEGMENT_PARAM:
                    self._nodes.at(node).param = child
                else:
                    self._nodes.at(node).rest = child
            node = child
        self._nodes.at(node).leaves.append(_Leaf(method, route))

    def _child(self, node: Int, segment: Segment) -> Int:
        """Finds the node that a segment of a pattern leads to, or -1."""
        if segment.kind == SEGMENT_STATIC:
            return self._table.find(node, segment.text.as_bytes())
        if segment.kind == SEGMENT_PARAM:
            return self._nodes.at(node).param
        return self._nodes.at(node).rest

    def find(
        self, method: Method, path: Span[UInt8, _], mut found: RouteMatch
    ) raises PercentError:
        """Finds the route of a path as sent, with its first slash; `route` of
        the new match is -1 if there is none. Raises if a segment is malformed.
        """
        if len(path) == 0 or path.at(0) != _SLASH:
            return
        if self._descend(0, method, path, 1, found):
            found.allowed = 0

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
        while end < len(path) and path.at(end) != _SLASH:
            is_encoded = is_encoded or path.at(end) == PERCENT
            end += 1
        var child: Int
        if is_encoded:
            var text = percent_decode(path.between(start, end))
            child = self._table.find(node, text.as_bytes())
        else:
            child = self._table.find(node, path.between(start, end))
        if child >= 0 and self._go_on(child, method, path, end, found):
            return True
        var capture_count = found.capture_count
        child = self._nodes.at(node).param
        if child >= 0 and end > start:
            found.push(start, end, is_encoded)
            if self._go_on(child, method, path, end, found):
                return True
            found.capture_count = capture_count
        child = self._nodes.at(node).rest
        if child >= 0:
            var has_percent = PERCENT in path.after(start)
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
        """Takes the route of a method, or notes which methods there are."""
        var any_route = -1
        for leaf in self._nodes.at(node).leaves:
            if leaf.method == method.number:
                found.route = leaf.route
                return True
            if leaf.method == ANY_METHOD:
                any_route = leaf.route
            else:
                found.allowed |= UInt64(1) << UInt64(leaf.method)
        if unlikely(method == Method.HEAD):
            any_route = self._route_of_get(node, any_route)
        if any_route >= 0:
            found.route = any_route
            return True
        return False

    @no_inline
    def _route_of_get(self, node: Int, any_route: Int) -> Int:
        """Finds what answers HEAD where nothing is for it alone: what answers
        GET (RFC 9110 section 9.3.2)."""
        for leaf in self._nodes.at(node).leaves:
            if leaf.method == Method.GET.number:
                return leaf.route
        return any_route


@fieldwise_init
struct _Child(Copyable, Movable):
    var parent: Int
    var text: String
    var node: Int


struct SegmentTable(Movable):
    """Finds the node that a segment leads to from another node."""

    var _children: List[_Child]
    # Indices into `_children`, -1 where there is none; a power of two of them.
    var _places: List[Int]

    def __init__(out self):
        self._children = []
        self._places = List[Int](length=16, fill=-1)

    def add(mut self, parent: Int, var text: String, node: Int):
        """Adds a child that leads to `node`; there must be none for this
        segment yet."""
        self._children.append(_Child(parent, text^, node))
        if len(self._children) * 2 > len(self._places):
            var count = len(self._places) * 2
            self._places = List[Int](length=count, fill=-1)
            for index in range(len(self._children)):
                self._place(index)
        else:
            self._place(len(self._children) - 1)

    def _place(mut self, index: Int):
        ref child = self._children.at(index)
        var mask = len(self._places) - 1
        var place = _hash(child.parent, child.text.as_bytes()) & mask
        while self._places.at(place) >= 0:
            place = (place + 1) & mask
        self._places.at(place) = index

    def find(self, parent: Int, segment: Span[UInt8, _]) -> Int:
        """Finds the node that a child leads to, or -1."""
        var mask = len(self._places) - 1
        var place = _hash(parent, segment) & mask
        while True:
            var index = self._places.at(place)
            if index < 0:
                return -1
            ref child = self._children.at(index)
            if child.parent == parent and same_octets(
                child.text.as_bytes(), segment
            ):
                return child.node
            place = (place + 1) & mask


def _hash(parent: Int, segment: Span[UInt8, _]) -> Int:
    """Mixes a segment; only registered text is in the table, so nobody can
    choose what collides."""
    var hash = UInt64(parent) * 0x9E3779B97F4A7C15 + UInt64(len(segment))
    for octet in segment:
        hash = (hash ^ UInt64(octet)) * 0x100000001B3
    return Int((hash ^ (hash >> 29)) & 0x7FFFFFFF)


@fieldwise_init
struct RouteError(Copyable, Movable, Writable):
    """A route cannot be registered."""

    var reason: String
    """Which pattern, and what is wrong with it."""

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string("route: ")
        writer.write_string(self.reason)


comptime SEGMENT_STATIC: UInt8 = 0
"""Matches one segment with the same text."""
comptime SEGMENT_PARAM: UInt8 = 1
"""Matches any one segment that is not empty: `:name`."""
comptime SEGMENT_REST: UInt8 = 2
"""Matches what is left, slashes included: `*name`."""


@fieldwise_init
struct Segment(Copyable, Movable):
    """One part of a pattern between slashes."""

    var kind: UInt8
    """One of the `SEGMENT_` constants."""
    var text: String
    """The text to match, or the parameter's name."""


def parse_pattern(pattern: StringSpan) raises RouteError -> List[Segment]:
    """Reads a pattern, which begins with `/`; text is compared with decoded
    paths, so it is written without percent-encoding. A slash at the end gives
    an empty segment. Raises if the pattern is malformed or has more than
    `PATH_PARAM_COUNT_MAX` parameters; it says how."""
    var octets = pattern.as_bytes()
    if len(octets) == 0 or octets.at(0) != 47:
        raise _error(pattern, "a pattern begins with '/'")
    for octet in octets:
        if octet < 32 or octet == 127 or octet == 35 or octet == 63:
            raise _error(
                pattern, "a pattern holds no '?', '#' or control octet"
            )
        if octet == 37:
            raise _error(
                pattern, "a pattern is not percent-encoded: write the text"
            )
    var segments = List[Segment]()
    var start = 1
    for end in range(1, len(octets) + 1):
        if end < len(octets) and octets.at(end) != _SLASH:
            continue
        var part = StringSpan(unsafe_from_utf8=octets.between(start, end))
        start = end + 1
        if len(segments) > 0:
            ref last = segments.at(len(segments) - 1)
            if last.kind == SEGMENT_REST:
                raise _error(pattern, "nothing may follow '*name'")
        segments.append(_parse_segment(pattern, part, segments))
    if _param_count(segments) > PATH_PARAM_COUNT_MAX:
        raise _error(
            pattern,
            Text()
            .add("at most ")
            .add(PATH_PARAM_COUNT_MAX)
            .add(" parameters are allowed")
            .end(),
        )
    return segments^


def param_names(pattern: StringSpan) raises RouteError -> List[String]:
    """Lists the names of a pattern's parameters, in order."""
    var names = List[String]()
    for segment in parse_pattern(pattern):
        if segment.kind != SEGMENT_STATIC:
            names.append(segment.text)
    return names^


def _param_count(segments: List[Segment]) -> Int:
    var count = 0
    for segment in segments:
        count += Int(segment.kind != SEGMENT_STATIC)
    return count


def _parse_segment(
    pattern: StringSpan, part: StringSpan, before: List[Segment]
) raises RouteError -> Segment:
    var octets = part.as_bytes()
    if len(octets) == 0:
        return Segment(SEGMENT_STATIC, String())
    var kind: UInt8
    if octets.at(0) == 58:
        kind = SEGMENT_PARAM
    elif octets.at(0) == 42:
        kind = SEGMENT_REST
    else:
        for octet in octets:
            if octet == 58 or octet == 42:
                raise _error(
                    pattern,
                    "':' and '*' stand at the start of a segment only",
                )
        # Other routers' spelling would be a text that no request has.
        var last = octets.at(len(octets) - 1)
        var is_braced = octets.at(0) == 123 and last == 125
        if is_braced or (octets.at(0) == 60 and last == 62):
            raise _error(
                pattern,
                "write ':name' for '{name}' or '<name>', and '*name' for all"
                " that is left",
            )
        return Segment(SEGMENT_STATIC, String(part))
    var name = String(StringSpan(unsafe_from_utf8=octets.after(1)))
    if not _is_name(name):
        raise _error(
            pattern, "a name is letters, digits and '_', no digit first"
        )
    for segment in before:
        if segment.kind != SEGMENT_STATIC and same_octets(
            segment.text.as_bytes(), name.as_bytes()
        ):
            raise _error(pattern, "a name stands once in a pattern")
    return Segment(kind, name^)


def _is_name(name: StringSpan) -> Bool:
    var octets = name.as_bytes()
    if len(octets) == 0 or (octets.at(0) >= 48 and octets.at(0) <= 57):
        return False
    for octet in octets:
        var folded = octet | 0x20
        var is_letter = folded >= 97 and folded <= 122
        var is_digit = octet >= 48 and octet <= 57
        if not is_letter and not is_digit and octet != 95:
            return False
    return True


def _error(pattern: StringSpan, reason: StringSpan) -> RouteError:
    return RouteError(Text().add("'").add(pattern).add("': ").add(reason).end())


def conflict_error(pattern: StringSpan, standing: StringSpan) -> RouteError:
    """Makes the error for a route that conflicts with one that stands, naming
    both."""
    return RouteError(
        Text()
        .add("'")
        .add(pattern)
        .add("' matches the same paths as '")
        .add(standing)
        .add("', which is registered for the same method")
        .end()
    )


def check_prefix(prefix: StringSpan) raises RouteError:
    """Checks a prefix that routes are mounted below, which begins with `/` and
    does not end with it."""
    if prefix.byte_length() < 2 or prefix.endswith("/"):
        raise RouteError(
            Text()
            .add("mount '")
            .add(prefix)
            .add("': write it as '/prefix'")
            .end()
        )


def mounted_pattern(prefix: StringSpan, pattern: StringSpan) -> String:
    """Puts a pattern below a prefix; `/` answers the prefix itself."""
    if pattern == "/":
        return String(prefix)
    return Text().add(prefix).add(pattern).end()


def capture(
    req: Request, found: RouteMatch, names: List[String]
) raises PercentError -> Bool:
    """Stores the values of a route's parameters with the request; False if
    nested routers have captured too many. Raises if a value is not
    percent-encoded as it should."""
    for index in range(found.capture_count):
        # SAFETY: names live in the router, which outlives the handler's call.
        var name = unsafe_lend_text[ImmUntrackedOrigin](
            names.at(index).unsafe_ptr(), names.at(index).byte_length()
        )
        if not _capture_one(req, found.captures.at(index), name):
            return False
    return True


def capture_named[
    NAMES: List[String]
](req: Request, found: RouteMatch) raises PercentError -> Bool:
    """Stores the values of parameters whose names are known at build time;
    False if nested routers have captured too many. Raises if a value is not
    percent-encoded as it should."""
    comptime for index in range(len(NAMES)):
        # SAFETY: the name is a part of the program.
        comptime NAME = get_static_string[NAMES[index]]()
        var name = unsafe_lend_text[ImmUntrackedOrigin](
            NAME.unsafe_ptr(), NAME.byte_length()
        )
        if not _capture_one(req, found.captures[index], name):
            return False
    return True


@always_inline
def _capture_one(
    req: Request, part: Capture, name: StringSpan[ImmUntrackedOrigin]
) raises PercentError -> Bool:
    # SAFETY: values live in the request, which outlives the handler's call.
    ref params = req.route_params()[]
    var value = req.path.as_bytes().between(part.start, part.end)
    if part.is_encoded:
        return params.add_decoded(name, percent_decode(value))
    return params.add(
        name,
        unsafe_lend_text[ImmUntrackedOrigin](value.unsafe_ptr(), len(value)),
    )
