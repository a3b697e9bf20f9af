"""A router whose routes are checked and compiled when a program is built."""

from flare.bytes.lend import lend_text
from flare.http.message.request import Request
from flare.http.message.response import Response, bad_request, internal_error
from flare.http.routing.allow import answer_without_route
from flare.http.routing.capturing import capture_named
from flare.http.routing.compiled_tree import find_compiled
from flare.http.routing.comptime_route import ComptimeRoute
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    Handler,
    RequestPolicy,
)
from flare.http.routing.operation import Operation
from flare.http.routing.pattern import param_names, parse_pattern
from flare.http.routing.route import operation_of
from flare.http.routing.route_tree import RouteMatch, RouteTree
from flare.http.routing.route_ways import Way
from std.collections.string.string_span import get_static_string


struct ComptimeRouter[ROUTES: List[ComptimeRoute]](
    Handler, TrivialRegisterPassable
):
    """Routes requests as `Router` does, to routes that the compiler knows.

        comptime ROUTES: List[ComptimeRoute] = [
            ComptimeRoute(Method.GET, "/greet/:name", greet),
            ComptimeRoute(Method.POST, "/items", add_item),
        ]
        server.serve_comptime[ComptimeRouter[ROUTES]()]()

    Patterns, priorities and answers are those of `Router`. A malformed pattern,
    a method that is not registered, or two patterns that match the same paths
    fail the build with a message that names them. A path is matched by code
    made for these routes, and handlers are called directly. Each route adds
    some hundredths of a second to the build: beyond a few hundred, take a
    `Router`.

    Parameters:
        ROUTES: The routes.
    """

    comptime _WAYS = _ways(Self.ROUTES)

    @always_inline
    def __init__(out self):
        """Makes the router, which holds nothing at run time."""
        comptime PROBLEM = _problem(Self.ROUTES)
        comptime assert PROBLEM.byte_length() == 0, PROBLEM

    def serve(self, req: Request) raises -> Response:
        """Lets the route of a request answer it.

        Args:
            req: The request.

        Returns:
            The route's response, or 400, 404, 405, 501 or an answer to OPTIONS.

        Raises:
            Error: What the route's handler raises.
        """
        var found = RouteMatch()
        try:
            find_compiled[Self._WAYS](req.method, req.path.as_bytes(), found)
        except error:
            return bad_request(String(error))
        comptime for index in range(len(Self.ROUTES)):
            if found.route == index:
                return _answer[Self.ROUTES, index](req, found)
        return answer_without_route(req, found.allowed)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Asks the request's route how it is to be treated.

        Args:
            req: The request's head.

        Returns:
            Its answer; what the router answers by itself needs no content.
        """
        var found = RouteMatch()
        try:
            find_compiled[Self._WAYS](req.method, req.path.as_bytes(), found)
        except error:
            return RequestPolicy.by_head()
        comptime for index in range(len(Self.ROUTES)):
            comptime LIMIT = Self.ROUTES[index].max_body_size
            comptime MAY_BLOCK = Self.ROUTES[index].may_block
            comptime ASK = Self.ROUTES[index].policy
            if found.route == index:
                var policy = ASK(req)
                comptime if LIMIT != DEFAULT_BODY_LIMIT:
                    policy.max_body_size = LIMIT
                policy.blocks = policy.blocks and MAY_BLOCK
                return policy
        return RequestPolicy.by_head()

    def may_stream(self) -> Bool:
        """Tells whether a route reads content while it arrives.

        Returns:
            True if one does.
        """
        comptime for index in range(len(Self.ROUTES)):
            comptime ASK = Self.ROUTES[index].may_stream
            if ASK():
                return True
        return False

    def operations(self) -> List[Operation]:
        """Tells what the routes take, for documents.

        Returns:
            One operation a route, in their order.
        """
        var operations = List[Operation]()
        comptime for index in range(len(Self.ROUTES)):
            comptime METHOD = Self.ROUTES[index].method.number
            comptime PATTERN = Self.ROUTES[index].pattern
            comptime DESCRIBE = Self.ROUTES[index].describe
            operations.append(
                DESCRIBE(operation_of(METHOD, materialize[PATTERN]()))
            )
        return operations^


def _answer[
    ROUTES: List[ComptimeRoute], INDEX: Int
](req: Request, found: RouteMatch) raises -> Response:
    """Captures parameters and calls a route's handler."""
    comptime NAMES = _names(ROUTES[INDEX].pattern)
    comptime ANSWER = ROUTES[INDEX].answer
    comptime PATTERN = get_static_string[ROUTES[INDEX].pattern]()
    # SAFETY: the pattern is a part of the program.
    req.route_params()[].record.route = lend_text[ImmUntrackedOrigin](
        PATTERN.unsafe_ptr(), PATTERN.byte_length()
    )
    try:
        if not capture_named[NAMES](req, found):
            return internal_error("too many path parameters")
    except error:
        return bad_request(String(error))
    return ANSWER(req)


def _problem(routes: List[ComptimeRoute]) -> String:
    """Says what is wrong with routes; nothing if they are good."""
    var tree = RouteTree()
    try:
        for route in routes:
            _ = tree.add(route.method.number, route.pattern)
    except error:
        return String(error)
    return ""


def _ways(routes: List[ComptimeRoute]) -> List[Way]:
    """Parses the patterns; what is wrong with them is said elsewhere."""
    var ways = List[Way]()
    try:
        for number in range(len(routes)):
            ref route = routes[number]
            var segments = parse_pattern(route.pattern)
            ways.append(Way(segments^, route.method.number, number))
    except:
        return List[Way]()
    return ways^


def _names(pattern: String) -> List[String]:
    try:
        return param_names(pattern)
    except:
        return List[String]()
