"""The router: routes registered when the program runs."""

from flare.bytes.checked import *
from flare.bytes.buffer import unsafe_lend_text
from flare.http.message.method import Method
from flare.http.message.method_registry import METHOD_COUNT, method_name
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    TEXT_PLAIN,
    bad_request,
    internal_error,
    not_found,
    set_field,
)
from flare.http.handler.any_handler import (
    AnyHandler,
    NoHandler,
    find_problem,
)
from flare.http.handler.handler import (
    DEFAULT_BODY_LIMIT,
    Handler,
    HandlerClaims,
    RequestPolicy,
)
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings
from flare.http.routing.route_tree import (
    ANY_METHOD,
    RouteError,
    RouteTree,
    capture,
    check_prefix,
    mounted_pattern,
    param_names,
)
from flare.http.handler.route_memo import recall, remember, RouteMatch
from flare.http.routing.ws_route import WsRoute
from flare.http.websocket.handler import WsConfig, WsHandler
from flare.url.percent import PercentError
from std.memory import ArcPointer, OwnedPointer
from std.sys.intrinsics import likely


struct Router(Handler):
    """Routes requests by method and path.

    A pattern is text, `:name` for one segment, or `*name` at its end for all
    that is left. Text comes before `:name`, and that before `*name`. Paths are
    matched segment by segment after percent-decoding; an empty segment is a
    segment, so `/a` and `/a/` are two paths. HEAD is answered by the route of GET
    where a pattern has none of HEAD, OPTIONS by itself, a path without a route for
    the method with 405, and a path without any with 404.
    """

    # In a box, since a handler that is a word costs least to call.
    var _table: OwnedPointer[RouteTable]

    def __init__(out self):
        """Makes a router without routes."""
        self._table = OwnedPointer(RouteTable())

    @no_inline
    def __deinit__(deinit self):
        return

    def route(
        mut self,
        method: Method,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for a method and a pattern.

        Args:
            method: A registered method.
            pattern: The pattern.
            handler: A plain function or any `Handler`.
            max_body_size: Most content in bytes, in place of the server's
                limit.
            may_block: False if the handler never takes long; see
                `RequestPolicy.blocks`.

        Raises:
            RouteError: If the method is not registered, the pattern is
                malformed, or another pattern matches the same paths.
        """
        self._table[].add(
            method.number, pattern, handler^, max_body_size, may_block
        )

    def get(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for GET; the rest is as for `route`."""
        self._table[].add(
            Method.GET.number, pattern, handler^, max_body_size, may_block
        )

    def get(mut self, pattern: StringSpan, value: NoHandler, *rest: NoHandler):
        """Refuses what is no handler, with the compiler's voice.

        Args:
            value: What is no handler.
            rest: Nothing.
        """
        _ = value

    def head(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for HEAD; the rest is as for `route`."""
        self._table[].add(
            Method.HEAD.number, pattern, handler^, max_body_size, may_block
        )

    def post(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for POST; the rest is as for `route`."""
        self._table[].add(
            Method.POST.number, pattern, handler^, max_body_size, may_block
        )

    def post(mut self, pattern: StringSpan, value: NoHandler, *rest: NoHandler):
        """Refuses what is no handler, with the compiler's voice."""
        _ = value

    def put(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for PUT; the rest is as for `route`."""
        self._table[].add(
            Method.PUT.number, pattern, handler^, max_body_size, may_block
        )

    def put(mut self, pattern: StringSpan, value: NoHandler, *rest: NoHandler):
        """Refuses what is no handler, with the compiler's voice."""
        _ = value

    def patch(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for PATCH; the rest is as for `route`."""
        self._table[].add(
            Method.PATCH.number, pattern, handler^, max_body_size, may_block
        )

    def patch(
        mut self, pattern: StringSpan, value: NoHandler, *rest: NoHandler
    ):
        """Refuses what is no handler, with the compiler's voice."""
        _ = value

    def delete(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for DELETE; the rest is as for `route`."""
        self._table[].add(
            Method.DELETE.number, pattern, handler^, max_body_size, may_block
        )

    def delete(
        mut self, pattern: StringSpan, value: NoHandler, *rest: NoHandler
    ):
        """Refuses what is no handler, with the compiler's voice."""
        _ = value

    def options(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for OPTIONS; the rest is as for `route`."""
        self._table[].add(
            Method.OPTIONS.number, pattern, handler^, max_body_size, may_block
        )

    def all(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for every method that has no route of its own;
        the rest is as for `route`."""
        self._table[].add(
            ANY_METHOD, pattern, handler^, max_body_size, may_block
        )

    def any(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler as `all` does; the rest is as for `route`."""
        self.all(
            pattern, handler^, max_body_size=max_body_size, may_block=may_block
        )

    def ws(
        mut self,
        pattern: StringSpan,
        var handler: Some[WsHandler],
        var config: WsConfig = WsConfig(),
    ) raises:
        """Registers a handler for WebSocket connections (RFC 6455).

        Args:
            handler: Answers messages.
            config: What is allowed.

        Raises:
            Error: If pattern or configuration make no sense.
        """
        self.get(pattern, WsRoute(handler^, config^))

    def fallback(mut self, var handler: AnyHandler):
        """Sets what answers paths without a route, in place of 404. Of a router
        that is mounted it answers those at and below the prefix."""
        self._table[].set_fallback(handler^)

    def mount(
        mut self, prefix: StringSpan, var router: Router
    ) raises RouteError:
        """Takes over another router's routes below a prefix. Its fallback
        answers the prefix itself, and all paths below it, for which no router
        has a route; of several the one with the most specific prefix.

        Args:
            prefix: Begins with `/` and does not end with it; it may have
                parameters, which the fallback gets, too.
            router: The other router.

        Raises:
            RouteError: If the prefix is malformed, a route conflicts, or there
                is a fallback below the same prefix; nothing is taken over then.
        """
        self._table[].mount(prefix, router._table[])

    def operations(self) -> List[Operation]:
        """Gives what the routes take, one operation a route, in the order of
        registration, for documents."""
        ref routes = self._table[].routes
        var operations = List[Operation]()
        for index in range(len(routes)):
            ref route = routes.at(index)
            var operation = operation_of(route.method, route.pattern)
            route.handler.describe(operation)
            operations.append(operation^)
        return operations^

    def serve(self, req: Request) raises -> Response:
        """Lets the route of a request answer it; without one the answer is 400,
        404, 405, 501 or one to OPTIONS, and 500 if routers within each other
        have more parameters than there is room for."""
        ref table = self._table[]
        var found = RouteMatch()
        try:
            if likely(not recall(req, self.identity(), found)):
                table.tree.find(req.method, req.path.as_bytes(), found)
            if found.route >= 0 and not capture(
                req, found, table.routes.at(found.route).names
            ):
                return internal_error("too many path parameters")
        except error:
            return bad_request(String(error))
        if found.route >= 0:
            ref route = table.routes.at(found.route)
            req.route_params()[].record.route = route.lend_pattern()
            return route.handler.serve(req)
        if found.allowed == 0 and table.fallback and not (req.path == "*"):
            return table.fallback.held().serve(req)
        return answer_without_route(req, found.allowed)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets the handler of the request's route finish an answer that the
        server makes, which stays as it is if no route takes what was read."""
        ref table = self._table[]
        var found = RouteMatch()
        if req.path.byte_length() == 0:
            return response^
        try:
            table.tree.find(req.method, req.path.as_bytes(), found)
        except:
            return response^
        if found.route >= 0:
            ref handler = table.routes.at(found.route).handler
            return handler.refuse(req, response^)
        if found.allowed == 0 and table.fallback:
            return table.fallback.held().refuse(req, response^)
        return response^

    @always_inline
    def identity(self) -> UInt64:
        """Gives a number that no other router has at the same time, for routes
        that are kept; not 0."""
        return UInt64(Int(Pointer(to=self._table[])))

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the request's route says; what the router answers by
        itself needs no content."""
        ref table = self._table[]
        var found = RouteMatch()
        try:
            if not recall(req, self.identity(), found):
                table.tree.find(req.method, req.path.as_bytes(), found)
                remember(req, self.identity(), found)
        except error:
            return RequestPolicy.by_head()
        if found.route >= 0:
            ref route = table.routes.at(found.route)
            req.route_params()[].record.route = route.lend_pattern()
            return route.policy_for(req)
        if found.allowed == 0 and table.fallback and not (req.path == "*"):
            return table.fallback.held().policy_for(req)
        return RequestPolicy.by_head()

    def claims(self) -> HandlerClaims:
        """Tells what requests of a route, or of the fallback, may need."""
        ref table = self._table[]
        return _claims_of(table.routes, table.fallback)

    def problem(self, around: Surroundings) -> String:
        """Tells of a handler that takes a path parameter which its route does
        not have, or a state that no `App` around it lends: which route, what it
        has and what its handler takes; empty if all is well."""
        ref table = self._table[]
        return _problem_of(table.routes, "", table.fallback, around)

    def drained(self):
        """Lets the handlers of all routes finish."""
        ref table = self._table[]
        _drain(table.routes, table.fallback)


def with_allow(var response: Response, allowed: UInt64) raises -> Response:
    """Names the allowed methods, a bit each by number, in a response (RFC 9110
    section 10.2.1): HEAD where there is GET, and OPTIONS."""
    var get = UInt64(1) << UInt64(Method.GET.number)
    var methods = allowed | (UInt64(1) << UInt64(Method.OPTIONS.number))
    if (allowed & get) != 0:
        methods |= UInt64(1) << UInt64(Method.HEAD.number)
    var names = String()
    for number in range(1, METHOD_COUNT + 1):
        if (methods >> UInt64(number)) & 1 == 1:
            if names.byte_length() > 0:
                names += ", "
            names += method_name(number)
    set_field(response, "Allow", names)
    return response^


def _everywhere() -> UInt64:
    """Gives what routes may be for, anywhere on this server.

    There are no tunnels (RFC 9110 section 9.3.6), and a TRACE that is answered
    would show a page what its browser hides from it (section 9.3.8).
    """
    var refused = UInt64(1) << UInt64(Method.CONNECT.number)
    refused |= UInt64(1) << UInt64(Method.TRACE.number)
    return UInt64.MAX & ~refused


def answer_without_route(req: Request, allowed: UInt64) raises -> Response:
    """Answers a request for which no route is registered: 404, 405, 501 or an
    answer to OPTIONS (RFC 9110 section 9.3.7). `allowed` has a bit for each
    method that has a route for the path."""
    if req.method == Method.OPTIONS and req.path == "*":
        return with_allow(Response(204), _everywhere())
    if allowed == 0:
        return not_found(req.path)
    if req.method == Method.OPTIONS:
        return with_allow(Response(204), allowed)
    if req.method == Method.OTHER:
        return _told(501, "the server does not know the method\n")
    return with_allow(
        _told(405, "the path does not take the method\n"), allowed
    )


def _told(status: Int, var reason: String) -> Response:
    return Response(status, reason^, content_type=TEXT_PLAIN)


@fieldwise_init
struct Route(Movable):
    """What a router keeps of one registration."""

    var method: UInt8
    """The method's number, or `ANY_METHOD`."""
    var pattern: String
    var names: List[String]
    var handler: AnyHandler
    var max_body_size: Int
    """Most content in bytes, or `DEFAULT_BODY_LIMIT`."""
    var may_block: Bool
    """False if the handler never takes long."""

    @always_inline
    def lend_pattern(self) -> StringSpan[ImmUntrackedOrigin]:
        """Lends the pattern to the records of requests, while the router lives."""
        # SAFETY: the router outlives all requests that it answers.
        return unsafe_lend_text[ImmUntrackedOrigin](
            self.pattern.unsafe_ptr(), self.pattern.byte_length()
        )

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells how a request of this route is to be treated, by its
        registration, or else by the handler."""
        var policy = self.handler.policy_for(req)
        if self.max_body_size != DEFAULT_BODY_LIMIT:
            policy.max_body_size = self.max_body_size
        policy.blocks = policy.blocks and self.may_block
        return policy


def operation_of(method: UInt8, pattern: String) -> Operation:
    """Makes the operation of a route of a method or of `ANY_METHOD`, of whose
    handler nothing is known yet."""
    if method == ANY_METHOD:
        return Operation("*", pattern)
    return Operation(String(method_name(Int(method))), pattern)


struct RouteTable(Movable):
    """Routes in the order of registration, and the tree that finds them."""

    var tree: RouteTree
    var routes: List[Route]
    var fallback: Optional[AnyHandler]
    """What answers paths without a route, if anything does."""
    var fallbacks: Optional[ArcPointer[FallbackTable]]
    """What stands behind `fallback` once a router with a fallback is mounted."""

    def __init__(out self):
        self.tree = RouteTree()
        self.routes = []
        self.fallback = None
        self.fallbacks = None

    def set_fallback(mut self, var handler: AnyHandler):
        """Sets what answers paths without a route, but those below prefixes that
        have a fallback of their own."""
        if self.fallbacks:
            self.fallbacks.held()[].own = handler^
        else:
            self.fallback = handler^

    def add(
        mut self,
        method: UInt8,
        pattern: StringSpan,
        var handler: AnyHandler,
        max_body_size: Int,
        may_block: Bool,
    ) raises RouteError:
        """Adds a route of a method or of `ANY_METHOD`; the most content may be
        `DEFAULT_BODY_LIMIT`. The handler never takes long unless it
        `may_block`. Raises if the method is not registered, the pattern is
        malformed, or another one matches the same paths."""
        var text = String(pattern)
        self._add(Route(method, text^, [], handler^, max_body_size, may_block))

    def _add(mut self, var route: Route) raises RouteError:
        # The tree counts routes as this list does.
        _ = self.tree.add(route.method, route.pattern)
        route.names = param_names(route.pattern)
        self.routes.append(route^)

    def mount(mut self, prefix: StringSpan, mut other: Self) raises RouteError:
        """Takes over another table's routes and fallbacks below a prefix that
        begins with `/` and does not end with it. Raises if the prefix is
        malformed, or a route or fallback conflicts; nothing has changed then."""
        check_prefix(prefix)
        for index in range(len(other.routes)):
            ref route = other.routes.at(index)
            var pattern = mounted_pattern(prefix, route.pattern)
            _ = self.tree.check(route.method, pattern)
        self._mount_fallbacks(prefix, other)
        while len(other.routes) > 0:
            var route = other.routes.pop(0)
            route.pattern = mounted_pattern(prefix, route.pattern)
            self._add(route^)

    def _mount_fallbacks(
        mut self, prefix: StringSpan, mut other: Self
    ) raises RouteError:
        """Takes over another table's fallbacks, all or none."""
        if not other.fallback:
            return
        if not self.fallbacks:
            var table = FallbackTable()
            swap(table.own, self.fallback)
            self.fallbacks = ArcPointer(table^)
            self.fallback = AnyHandler(_Fallbacks(self.fallbacks.held()))
        ref fallbacks = self.fallbacks.held()[]
        if other.fallbacks:
            fallbacks.mount(prefix, other.fallbacks.held()[])
        else:
            var inner = FallbackTable()
            swap(inner.own, other.fallback)
            fallbacks.mount(prefix, inner)


def _claims_of(
    routes: List[Route], fallback: Optional[AnyHandler]
) -> HandlerClaims:
    var claims = HandlerClaims()
    for index in range(len(routes)):
        claims = claims | routes.at(index).handler.claims()
    if fallback:
        claims = claims | fallback.held().claims()
    return claims


def _problem_of(
    routes: List[Route],
    below: StaticString,
    fallback: Optional[AnyHandler],
    around: Surroundings,
) -> String:
    """Tells what is wrong with the first handler that is not put together as it
    should; `below` stands after the patterns of routes."""
    for index in range(len(routes)):
        ref route = routes.at(index)
        var problem = find_problem(
            route.handler,
            operation_of(route.method, route.pattern + below),
            around.with_params(route.names),
        )
        if problem.byte_length() > 0:
            return problem^
    if not fallback:
        return String()
    return find_problem(fallback.held(), operation_of(ANY_METHOD, "/*"), around)


def _drain(routes: List[Route], fallback: Optional[AnyHandler]):
    """Lets all handlers finish."""
    for index in range(len(routes)):
        routes.at(index).handler.drained()
    if fallback:
        fallback.held().drained()


struct FallbackTable(Movable):
    """A router's own fallback, and those of routers that are mounted in it."""

    var own: Optional[AnyHandler]
    """What answers all other paths without a route, if anything does."""
    var _tree: RouteTree
    var mounted: List[Route]
    """Each with its prefix for a pattern, in the order of the tree's numbers."""

    def __init__(out self):
        self.own = None
        self._tree = RouteTree()
        self.mounted = []

    def mount(mut self, prefix: StringSpan, mut other: Self) raises RouteError:
        """Takes over all fallbacks of another table below a prefix. Raises if
        there is one below the same prefix; nothing has changed then."""
        if other.own:
            self._tree.check_fallback(prefix)
        for index in range(len(other.mounted)):
            self._tree.check_fallback(
                mounted_pattern(prefix, other.mounted.at(index).pattern)
            )
        if other.own:
            var own = other.own.take()
            self._add(
                Route(
                    ANY_METHOD,
                    String(prefix),
                    [],
                    own^,
                    DEFAULT_BODY_LIMIT,
                    may_block=True,
                )
            )
        while len(other.mounted) > 0:
            var mounted = other.mounted.pop(0)
            mounted.pattern = mounted_pattern(prefix, mounted.pattern)
            self._add(mounted^)

    def _add(mut self, var mounted: Route) raises RouteError:
        _ = self._tree.add_fallback(mounted.pattern)
        mounted.names = param_names(mounted.pattern)
        self.mounted.append(mounted^)

    def find(self, req: Request, mut found: RouteMatch) raises PercentError:
        """Finds the fallback of a path without a route: its number is `route` of
        the new match, or that is -1 if it is the router's own. Raises if a
        segment is malformed."""
        self._tree.find(req.method, req.path.as_bytes(), found)
        if found.route >= 0:
            # What is left of the path has no name.
            found.capture_count = len(self.mounted.at(found.route).names)


@fieldwise_init
struct _Fallbacks(Handler):
    """A table of fallbacks as the one fallback of its router."""

    var _table: ArcPointer[FallbackTable]

    def serve(self, req: Request) raises -> Response:
        """Lets the fallback of the path answer, or gives 404."""
        ref table = self._table[]
        var found = RouteMatch()
        try:
            table.find(req, found)
            if found.route >= 0 and not capture(
                req, found, table.mounted.at(found.route).names
            ):
                return internal_error("too many path parameters")
        except error:
            return bad_request(String(error))
        if found.route >= 0:
            return table.mounted.at(found.route).handler.serve(req)
        if table.own:
            return table.own.held().serve(req)
        return answer_without_route(req, 0)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        ref table = self._table[]
        var found = RouteMatch()
        try:
            table.find(req, found)
        except:
            return response^
        if found.route >= 0:
            ref handler = table.mounted.at(found.route).handler
            return handler.refuse(req, response^)
        if table.own:
            return table.own.held().refuse(req, response^)
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        ref table = self._table[]
        var found = RouteMatch()
        try:
            table.find(req, found)
        except error:
            return RequestPolicy.by_head()
        if found.route >= 0:
            return table.mounted.at(found.route).handler.policy_for(req)
        if table.own:
            return table.own.held().policy_for(req)
        return RequestPolicy.by_head()

    def claims(self) -> HandlerClaims:
        ref table = self._table[]
        return _claims_of(table.mounted, table.own)

    def problem(self, around: Surroundings) -> String:
        ref table = self._table[]
        return _problem_of(table.mounted, "/*", table.own, around)

    def drained(self):
        ref table = self._table[]
        _drain(table.mounted, table.own)
